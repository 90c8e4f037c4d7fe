"""The text of a module: its tree, where the tree's nodes stand, and how it is edited."""

from __future__ import annotations

import ast
import bisect
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from tests.metamorphic.scopes import Scopes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class NotApplicableError(Exception):
    """A transformation has nothing to do in a program, or would change what it means."""


@dataclass(frozen=True, order=True)
class Edit:
    """A stretch of the text, and what stands there instead; insertions keep their order."""

    start: int
    end: int
    text: str = field(compare=False)


class Text:
    """One module."""

    def __init__(self, text: str) -> None:
        """Parse it. Raises NotApplicableError for what this Python does not read."""
        self.text = text
        try:
            self.tree = ast.parse(text)
        except SyntaxError as error:
            raise NotApplicableError(f"does not parse: {error.msg}") from None
        self.parents: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
            if getattr(node, "type_params", None):
                raise NotApplicableError("it has type parameters")

    # -- places ----------------------------------------------------------------------------------

    @cached_property
    def _starts(self) -> list[int]:
        starts, position = [], 0
        for line in self.text.split("\n"):
            starts.append(position)
            position += len(line) + 1
        return starts

    def offset(self, line: int, column: int) -> int:
        """Turn a place of `ast`, which counts bytes, into an offset."""
        start = self._starts[line - 1]
        end = self.text.find("\n", start)
        whole = self.text[start : end if end >= 0 else len(self.text)]
        if whole.isascii():
            return start + column
        return start + len(whole.encode()[:column].decode())

    def line_at(self, offset: int) -> int:
        """Give the line, from 1, of an offset."""
        return bisect.bisect_right(self._starts, offset)

    def line_start(self, line: int) -> int:
        """Give where a line begins; of the line after the last, where the text ends."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.text)

    def start(self, node: ast.AST) -> int:
        """Give where a node begins; decorators are part of it."""
        first: ast.AST = node
        for decorator in getattr(node, "decorator_list", ()):
            line = decorator.lineno
            return self.text.index("@", self.line_start(line))
        return self.offset(first.lineno, first.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        """Give where a node ends."""
        return self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def of(self, node: ast.AST) -> str:
        """Give a node's text."""
        return self.text[self.start(node) : self.end(node)]

    def indent(self, node: ast.stmt) -> str:
        """Give the blanks before a statement."""
        return " " * node.col_offset

    def first_line(self, node: ast.stmt) -> int:
        """Give the line on which a statement begins, with its decorators."""
        return self.line_at(self.start(node))

    def owns_lines(self, node: ast.stmt) -> bool:
        """Tell whether nothing but comments stands beside a statement on its lines."""
        before = self.text[self.line_start(self.first_line(node)) : self.start(node)]
        behind = self.text[self.end(node) : self.line_start((node.end_lineno or 0) + 1)]
        return not before.strip() and (not behind.strip() or behind.strip().startswith("#"))

    # -- structure -------------------------------------------------------------------------------

    @cached_property
    def scopes(self) -> Scopes:
        """What each name in it is."""
        return Scopes(self)

    def bodies(self) -> Iterator[list[ast.stmt]]:
        """Give every list of statements; an `elif` is none that stands on lines of its own."""
        for node in ast.walk(self.tree):
            for name in ("body", "orelse", "finalbody"):
                body = getattr(node, name, None)
                if isinstance(body, list) and body and not self._is_elif(body[0]):
                    yield body

    def _is_elif(self, node: ast.AST) -> bool:
        return isinstance(node, ast.If) and self.text.startswith("elif", self.start(node))

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Give the parent, its parent, and so on."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def statement(self, node: ast.AST) -> ast.stmt:
        """Give the statement that a node is a part of."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def imports_end(self) -> int:
        """Give the line after the docstring and the first imports."""
        line = 1
        for position, statement in enumerate(self.tree.body):
            is_docstring = (
                position == 0
                and isinstance(statement, ast.Expr)
                and isinstance(statement.value, ast.Constant)
            )
            if not is_docstring and not isinstance(statement, ast.Import | ast.ImportFrom):
                break
            line = (statement.end_lineno or 0) + 1
        return line

    def edited(self, edits: Iterable[Edit]) -> str:
        """Give the text after edits that do not overlap. Raises NotApplicableError if they do."""
        pieces: list[str] = []
        position = 0
        for edit in sorted(edits):
            if edit.start < position:
                raise NotApplicableError("two changes at one place")
            pieces += (self.text[position : edit.start], edit.text)
            position = edit.end
        return "".join([*pieces, self.text[position:]])
