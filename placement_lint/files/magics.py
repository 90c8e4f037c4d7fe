"""What only IPython understands, `%magic`, `!command`, `help?`: masked by Python as long."""

from __future__ import annotations

import ast
import re

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
# Cell magics that run the rest of the cell as Python in the notebook's own namespace.
_PYTHON_CELL_MAGICS = frozenset(
    {"capture", "debug", "ipytest", "memit", "mprun", "prun", "time", "timeit"}
)
# `%time statement` and `%timeit -n 10 statement` run Python too: only the magic itself is masked.
_TIMED = re.compile(r"%(?:time|timeit)(?:[ ]+-(?:[nrp][ ]*\d+|[tcqo]))*[ ]+(?=[^\s-])")
_ESCAPE = re.compile(r"[ \t]*(?:%|!|\?|,|;|/)")
_HELP = re.compile(r"[ \t]*[%!]{0,2}[\w.*\[\]]+\?{1,2}[ \t]*\Z")
_ASSIGNED = re.compile(r"[ \t]*[^\W\d][^=!<>%]*=[ \t]*(?=(?:!|%(?!=))\S)")
_EMPTY = re.compile(r"\s*(?:#|\Z)")
_STRING_START = re.compile(r"\"\"\"|'''|\"|'")


def mask(text: str) -> str:
    """Mask what only IPython understands in the text of one cell."""
    return "".join(_mask_cell(lines_of(text)))


def commented_out(text: str) -> str:
    """Return the text of a cell as comments of the same length, that no parser stops at."""
    return "".join(map(_comment, lines_of(text.replace("\0", " "))))


def lines_of(text: str) -> list[str]:
    """Return the lines of a text with their ends."""
    return [line for line in _LINE.findall(text) if line]


def _mask_cell(lines: list[str]) -> list[str]:
    """Mask what only IPython understands in one cell.

    Comments may stand above a cell magic: the first lines of a form in Colab, as `#@title Install`.
    """
    first = next((index for index, line in enumerate(lines) if not _EMPTY.match(line)), len(lines))
    if first < len(lines) and lines[first].startswith("%%"):
        words = lines[first][2:].split(maxsplit=1)
        if not words or words[0] not in _PYTHON_CELL_MAGICS:
            return lines[:first] + [_comment(line) for line in lines[first:]]
        return [*lines[:first], _comment(lines[first]), *_mask_lines(lines[first + 1 :])]
    return _mask_lines(lines)


def _mask_lines(lines: list[str]) -> list[str]:
    masked = []
    state = _MaskState()
    continued_escape = False
    for line in lines:
        body = line.rstrip("\r\n")
        if continued_escape:
            masked.append(_comment(line))
        else:
            replacement = None if state.inside else _masked_line(line)
            masked.append(line if replacement is None else replacement)
            state.feed(masked[-1])
            continued_escape = replacement is not None
        continued_escape = continued_escape and body.endswith("\\")
    return masked


def _masked_line(line: str) -> str | None:
    """Return a line at the start of a statement as Python. None: it is Python already."""
    body = line.rstrip("\r\n")
    indent = body[: len(body) - len(body.lstrip(" \t"))]
    timed = _TIMED.match(body, len(indent))
    if timed and _is_simple(body[timed.end() :]):
        width = timed.end() - len(indent)
        return f"{indent}{'0;'.ljust(width)}{line[timed.end() :]}"
    if _ESCAPE.match(body) or _HELP.match(body):
        return _filler(line, len(indent))
    assigned = _ASSIGNED.match(body)
    if assigned and not _is_simple(body.strip()):
        # A name that nothing binds: IPython's own value is anybody's guess.
        return f"{assigned.group()}{'_'.ljust(len(body) - assigned.end())}{line[len(body) :]}"
    return None


def _filler(line: str, indent: int) -> str:
    body = line.rstrip("\r\n")
    if not indent:
        return _comment(line)
    # An indented one may be all there is in its block.
    return f"{line[:indent]}{'0'.ljust(len(body) - indent)}{line[len(body) :]}"


def _comment(line: str) -> str:
    body = line.rstrip("\r\n")
    return f"#{line[1:]}" if body else line


def _is_simple(code: str) -> bool:
    """Return whether a text is whole Python statements that may follow a semicolon."""
    try:
        ast.parse(f"0; {code}")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


class _MaskState:
    """Whether the next line goes on with a string, a bracket or a line before it."""

    def __init__(self) -> None:
        self.quote = ""
        self.depth = 0
        self.continued = False

    @property
    def inside(self) -> bool:
        return bool(self.quote) or self.depth > 0 or self.continued

    def feed(self, line: str) -> None:
        at = 0
        body = line.rstrip("\r\n")
        self.continued = False
        while at < len(body):
            if self.quote:
                at = self._string(body, at)
                continue
            char = body[at]
            opening = _STRING_START.match(body, at)
            if opening:
                self.quote = opening.group()
                at = opening.end()
            elif char == "#":
                return
            elif char == "\\" and at == len(body) - 1:
                self.continued = True
                at += 1
            else:
                self.depth = max(self.depth + (char in "([{") - (char in ")]}"), 0)
                at += 1
        if len(self.quote) == 1 and not self.continued:
            # A string of one line that is never closed is a mistake of that line alone.
            self.quote = ""

    def _string(self, body: str, at: int) -> int:
        """Read on in a string; give the place behind it, or the end of the line."""
        while at < len(body):
            if body[at] == "\\":
                if at == len(body) - 1:
                    self.continued = True
                at += 2
            elif body.startswith(self.quote, at):
                at += len(self.quote)
                self.quote = ""
                return at
            else:
                at += 1
        return at
