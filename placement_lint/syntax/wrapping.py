"""Lines that a fix makes too long, split in their brackets as formatters do."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from placement_lint.findings import Edit, Span
from placement_lint.syntax.code_text import STRING
from placement_lint.syntax.edits import applied, offsets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.syntax.edits import Editor


_TOKEN = re.compile(
    rf"(?P<string>[rRbBuUfFtT]*(?:{STRING}))"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<comma>,)|(?P<other>[;\#\\])|(?P<word>\w+)|.",
    re.DOTALL,
)


def within(edits: Sequence[Edit], editor: Editor, limit: int) -> list[Edit]:
    """Split the lines that some edits of one file make longer than a limit.

    Only where the line kept to the limit before, and has brackets of its own, which begin and end
    on it. What cannot be split is left as long as it is: the edits are given back.
    """
    # Lines that are put above another one stay by themselves: other fixes may need them too.
    kept = [edit for edit in edits if _inserts_lines(edit)]
    by_line: dict[int, list[Edit]] = {}
    for edit in edits:
        if not _inserts_lines(edit):
            by_line.setdefault(edit.span.line, []).append(edit)
    for line, own in by_line.items():
        is_one = all(edit.span.end_line == line for edit in own)
        if not is_one or not editor.is_code_alone(line):
            kept += own
            continue
        split = _split_line(line, own, editor, limit)
        kept += own if split is None else [split]
    return kept


def _inserts_lines(edit: Edit) -> bool:
    return edit.span.column == 1 and edit.text.endswith(("\n", "\r"))


def _split_line(line: int, edits: Sequence[Edit], editor: Editor, limit: int) -> Edit | None:
    source = editor.source
    start = source.line_starts[line - 1]
    before = source.line_text(line)
    if width(before) > limit or before != source.shown_line(line):
        return None
    if all(offsets(source, edit)[1] == start for edit in edits):
        # What is put in front of a whole line leaves the line what it was.
        return None
    try:
        after = applied(source, edits, start, start + len(before))
    except ValueError:
        # They overlap, which is for whoever applies them to say.
        return None
    lines = after.split(source.newline)
    step = editor.tree.module.default_indent
    new = [wrapped(each, limit, step) for each in lines]
    if new == lines:
        return None
    text = source.newline.join(source.newline.join(each.split("\n")) for each in new)
    return Edit(source.path, Span(line, 1, line, len(before) + 1), text)


def width(line: str) -> int:
    """Return how wide a line is, as ruff counts it: a tab goes to the next multiple of four."""
    return len(line.expandtabs(4))


def wrapped(line: str, limit: int, step: str) -> str:
    """Split one line of code into several, ended by line feeds, that keep to a limit.

    What is in the widest brackets goes on a line of its own, or on one for each element. A line
    that cannot be split so is given back as it is.
    """
    if width(line) <= limit:
        return line
    margin = line[: len(line) - len(line.lstrip(" \t"))]
    pairs = _brackets(line)
    for opening, closing, commas in sorted(pairs, key=lambda pair: pair[0] - pair[1]):
        head, body, tail = line[: opening + 1], line[opening + 1 : closing], line[closing:]
        if not body.strip() or width(head) > limit or width(margin + tail) > limit:
            continue
        inner = f"{margin}{step}{body.strip()}"
        if width(inner) <= limit:
            return f"{head}\n{inner}\n{margin}{tail}"
        elements = _elements(body, [comma - opening - 1 for comma in commas])
        lines = [wrapped(f"{margin}{step}{each},", limit, step) for each in elements]
        if len(elements) > 1 and all(
            width(part) <= limit for each in lines for part in each.split("\n")
        ):
            return "\n".join([head, *lines, f"{margin}{tail}"])
    return line


def _brackets(line: str) -> list[tuple[int, int, list[int]]]:
    """Return the outermost brackets of a line, and the commas in each; none for what is no code."""
    found: list[tuple[int, int, list[int]]] = []
    depth, start = 0, 0
    commas: list[int] = []
    is_list = True
    for token in _TOKEN.finditer(line):
        kind = token.lastgroup
        if kind == "other":
            return []
        if kind == "open":
            if depth == 0:
                start, commas, is_list = token.start(), [], True
            depth += 1
        elif kind == "close":
            depth -= 1
            if depth == 0:
                found.append((start, token.start(), commas if is_list else []))
        elif kind == "comma" and depth == 1:
            commas.append(token.start())
        elif kind == "word" and depth == 1 and token.group() in {"for", "lambda"}:
            # A generator takes no comma behind it, and the commas of a lambda are its own.
            is_list = False
        if depth < 0:
            return []
    return found if depth == 0 else []


def _elements(body: str, commas: Sequence[int]) -> list[str]:
    edges = [-1, *commas, len(body)]
    parts = [body[first + 1 : last].strip() for first, last in itertools.pairwise(edges)]
    return [part for part in parts if part]
