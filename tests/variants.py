"""The same program, written another way: what is found in it must be the same."""

import io
import symtable
import tokenize
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

Place = tuple[int, int | None]
"""A line and, where it is still known, a column."""

INDENT = "    "
_STRING_STARTS = {"FSTRING_START", "TSTRING_START"}
_STRING_ENDS = {"FSTRING_END", "TSTRING_END"}


@dataclass(frozen=True)
class Variant:
    """A text, and where in it a place of the original is."""

    text: str
    move: Callable[[int, int | None], Place]

    def then(self, other: "Variant") -> "Variant":
        """Give the text of another way to write this variant's, with the places of the original."""
        return Variant(other.text, lambda line, column: other.move(*self.move(line, column)))


class Layout:
    """Which lines of a text belong together."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))

    @cached_property
    def inside_strings(self) -> set[int]:
        """The lines that begin inside a string."""
        inside: set[int] = set()
        opened: list[int] = []
        for token in self.tokens:
            name = tokenize.tok_name[token.type]
            if name in _STRING_STARTS:
                opened.append(token.start[0])
            elif name in _STRING_ENDS:
                inside.update(range(opened.pop() + 1, token.end[0] + 1))
            elif token.type == tokenize.STRING:
                inside.update(range(token.start[0] + 1, token.end[0] + 1))
        return inside

    @cached_property
    def logical_lines(self) -> list[range]:
        """The lines of each statement or header."""
        found: list[range] = []
        first: int | None = None
        skipped = {tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT}
        for token in self.tokens:
            if first is None and token.type not in skipped:
                first = token.start[0]
            if token.type == tokenize.NEWLINE and first is not None:
                found.append(range(first, token.start[0] + 1))
                first = None
        return found

    def logical_line(self, line: int) -> range:
        """Give the lines of the statement or header that a line belongs to, or the line alone."""
        alone = range(line, line + 1)
        return next((lines for lines in self.logical_lines if line in lines), alone)

    def takes_comment(self, line: int) -> bool:
        """Tell whether a comment can stand at the end of a line."""
        if line + 1 in self.inside_strings:
            return False
        return not self.text.split("\n")[line - 1].endswith("\\")

    @property
    def indent(self) -> str:
        """One step of indentation, as the first block has it."""
        steps = (token.string for token in self.tokens if token.type == tokenize.INDENT)
        return next(steps, INDENT)

    @property
    def comments(self) -> list[str]:
        """Every comment, in order."""
        return [token.string for token in self.tokens if token.type == tokenize.COMMENT]


def wrapped(text: str, header: str) -> Variant:
    """Put a text below a header, indented by its own step, but not inside strings."""
    layout = Layout(text)
    inside, step = layout.inside_strings, layout.indent
    lines = [
        line if not line or number in inside else step + line
        for number, line in enumerate(text.split("\n"), 1)
    ]

    def move(line: int, column: int | None) -> Place:
        shift = 0 if line in inside else len(step)
        return line + 1, None if column is None else column + shift

    return Variant(f"{header}\n" + "\n".join(lines), move)


def is_whole_in_a_class(text: str) -> bool:
    """Tell whether a program means the same in the body of a class.

    It does not where a function reads a name that the program binds at its top: a function does
    not see the names of its class.
    """
    top = symtable.symtable(text, "case.py", "exec")
    bound = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_local()}
    pending = top.get_children()
    while pending:
        scope = pending.pop()
        pending += scope.get_children()
        if scope.get_type() == "function" and any(
            symbol.is_global() and symbol.is_referenced() and symbol.get_name() in bound
            for symbol in scope.get_symbols()
        ):
            return False
    return True


def with_crlf(text: str) -> Variant:
    """End every line with CR LF."""
    return Variant(text.replace("\n", "\r\n"), lambda line, column: (line, column))


def with_comment(text: str, line: int, comment: str) -> str:
    """Put a comment behind a line, or behind the last one of its statement if it takes none."""
    layout = Layout(text)
    if not layout.takes_comment(line):
        line = layout.logical_line(line)[-1]
    lines = text.split("\n")
    lines[line - 1] += f"  {comment}"
    return "\n".join(lines)
