"""Parsing a text again of which most is what it was: only the statements that are new are parsed.

To parse is a third of all the work on a file, and whoever types changes one statement of it. The
top-level statements of a text are found with Python's own parser, which takes a tenth of the time
of LibCST's; each is parsed by itself, and those are kept. The module that is put together is the
one that `cst.parse_module` gives, node for node: where that is not sure, it is what is called.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.files.python_tree import parsed

if TYPE_CHECKING:
    import ast

    Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement

_FEWEST_LINES = 100
"""A shorter text is parsed at once."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """A part of a module, and where its nodes stand in it, by their addresses."""

    text: str
    length: int
    outer: dict[int, tuple[int, int]]
    inner: dict[int, tuple[int, int]]
    comments: list[tuple[int, int]]


class Pieces:
    """The top-level statements of one text, each of which was parsed by itself."""

    def __init__(self) -> None:
        """Hold no statements yet."""
        self.statements: dict[str, list[list[Statement]]] = {}
        """By what was parsed: one text may stand in a file several times."""
        self.stretches: dict[int, tuple[cst.CSTNode, Stretch]] = {}
        """What `placement_lint.syntax.positions` knows of statements, by their addresses."""


def parse(text: str, before: Pieces | None) -> tuple[cst.Module, Pieces | None]:
    """Parse a text in pieces, with the nodes of those that the text before it had, too.

    Without pieces where it cannot be cut. Raises what `cst.parse_module` raises.
    """
    try:
        found = _assembled(text, before or Pieces())
    except Exception:  # of one piece; the text as a whole says what is wrong, and where
        found = None
    return found or (cst.parse_module(text), None)


def _assembled(text: str, before: Pieces) -> tuple[cst.Module, Pieces] | None:
    cuts = _Cuts.of(text)
    if cuts is None:
        return None
    known = {piece: [*statements] for piece, statements in before.statements.items()}
    now = Pieces()
    now.stretches = before.stretches
    body: list[Statement] = []
    first, *middle, last = cuts.pieces
    # In front of every other piece, so that it is read as in the middle of a file, with the
    # indentation and the line ends of this one.
    lead = f"if x:{cuts.newline}{cuts.indent}pass{cuts.newline}pass{cuts.newline}"
    head = cst.parse_module(first)
    if head.footer:
        return None
    body += head.body
    for piece in middle:
        # One text may stand in a file twice: its nodes may not.
        ready = known.get(lead + piece)
        statements = ready.pop() if ready else None
        if statements is None:
            parsed = cst.parse_module(lead + piece)
            if parsed.footer:
                return None
            statements = [*parsed.body[2:]]
        now.statements.setdefault(lead + piece, []).append(statements)
        body += statements
    tail = cst.parse_module(lead + last)
    module = head.with_changes(
        body=[*body, *tail.body[2:]],
        footer=tail.footer,
        default_indent=cuts.indent,
        has_trailing_newline=tail.has_trailing_newline,
    )
    return module, now


class _Cuts:
    """A text, cut between its top-level statements."""

    def __init__(self, pieces: list[str], indent: str, newline: str) -> None:
        self.pieces = pieces
        self.indent = indent
        self.newline = newline

    @classmethod
    def of(cls, text: str) -> _Cuts | None:
        """Cut a text; None where it is short, or is anything but plain."""
        if text.count("\n") < _FEWEST_LINES or "\x0c" in text:
            return None
        if text.count("\r") != text.count("\r\n"):
            return None
        tree = parsed(text)
        if tree is None or len(tree.body) < 3:
            return None
        statements = tree.body
        lines = text.splitlines(keepends=True) if text.isascii() else _split(text)
        ends = _ends(statements, lines)
        if ends is None or len(ends) < 3:
            return None
        starts = [0, *ends[:-1]]
        pieces = ["".join(lines[start:end]) for start, end in zip(starts, ends, strict=True)]
        newline = "\r\n" if lines[0].endswith("\r\n") else "\n"
        indent = _indent(statements, lines)
        return None if indent is None else cls(pieces, indent, newline)


def _split(text: str) -> list[str]:
    pieces = text.split("\n")
    return [*(f"{piece}\n" for piece in pieces[:-1]), *pieces[-1:]]


def _ends(statements: list[ast.stmt], lines: list[str]) -> list[int] | None:
    """Return behind which lines to cut; the last is the number of lines."""
    ends: list[int] = []
    for one, other in itertools.pairwise(statements):
        end, start = one.end_lineno or one.lineno, _first_line(other)
        if end >= start:
            continue  # on one line
        if lines[end - 1].rstrip().endswith("\\"):
            return None
        # What is indented behind a block is the block's.
        between = range(start - 2, end - 1, -1)
        indented = next((line for line in between if lines[line][0] in " \t"), end - 1)
        ends.append(indented + 1)
    return [*ends, len(lines)]


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)])


def _indent(statements: list[ast.stmt], lines: list[str]) -> str | None:
    """Return the first indentation of a text, which LibCST takes for its own; None: not sure."""
    for statement in statements:
        blocks = getattr(statement, "body", None) or getattr(statement, "cases", None)
        if not isinstance(blocks, list):
            continue
        inner = blocks[0]
        if not hasattr(inner, "col_offset"):
            return None  # a `match`, whose cases stand in no place of their own
        text = lines[_first_line(inner) - 1]
        indent = text[: len(text) - len(text.lstrip(" \t"))]
        if inner.col_offset == len(indent) > 0:
            return indent
        if any(getattr(statement, name, None) for name in ("orelse", "handlers", "finalbody")):
            return None
    return "    "
