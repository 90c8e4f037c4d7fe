"""What stands for the code of a text: a digest that comments, empty lines and docstrings leave."""

from __future__ import annotations

import re

from placement_lint.files.store import digest

_PIECES = re.compile(
    r"""
    (?P<string>
        [A-Za-z]{0,2}
        (?: '''(?:[^\\]|\\.)*?(?:(?P<end_1>''')|\\?\Z)
          | \"""(?:[^\\]|\\.)*?(?:(?P<end_2>\""")|\\?\Z)
          | '(?:[^\\'\n]|\\.)*(?:(?P<end_3>')|(?=\n)|\\?\Z)
          | "(?:[^\\"\n]|\\.)*(?:(?P<end_4>")|(?=\n)|\\?\Z)
        )
    )
  | (?P<comment> \#[^\n]* )
    """,
    re.DOTALL | re.VERBOSE,
)
"""A string that is not closed goes on to the end: else each quote in it would be tried in turn."""
_ENDS = ("end_1", "end_2", "end_3", "end_4")
_TELLING = re.compile(
    r"#!|noqa|placement|reveal|type:|coding|flake8|ruff|%%|codecell|In\[", re.IGNORECASE
)
"""What comments have that something is decided by: suppressions, cells, what runs the file."""
_OPENED = re.compile(r"\n([ \t]*(?:async[ \t]+def|def|class)\b[^\n#]*:)[ \t]*\n\s*$")
_MOST_ABOVE = 300
"""Characters above a docstring in which the line that it belongs to is looked for."""
_SHIFTING = ("\r", "\f", "\x0b", "\u2028")


def code_digest(text: str) -> str:
    """Return a digest of a text: two texts that have the same one have the same code.

    Its tokens are the same then, each in the same column, and on one line with the same others. It
    leaves out comments but those that decide something, lines without anything else, and the text
    of docstrings.
    """
    lines = _code_lines(text)
    return _digest(text if lines is None else "\n".join(line for line in lines if line))


def layout_digest(text: str) -> str:
    """Return a digest of a text: two texts that have the same one differ only in what comments and
    docstrings say.

    All else of them is the same, on the same lines, and each comment begins in the same place.
    """
    # Nobody takes a null byte, and a backslash joins the next line only where no comment is.
    lines = None if "\0" in text else _code_lines(text, keeps_lines=True)
    if lines is None or any(line.endswith("\\") for line in lines):
        return _digest(text)
    return _digest("\n".join(lines))


def decides_something(line: str) -> bool:
    """Return whether a comment on a line may decide something."""
    return _TELLING.search(line) is not None


def ends_between_lines(text: str) -> bool:
    """Return whether lines that have no code may follow a text without being a part of a string,
    of an expression in brackets, or of the line before.
    """
    depth, at = 0, 0
    for piece in _PIECES.finditer(text):
        is_comment = piece.lastgroup == "comment"
        if not is_comment and not any(piece.group(*_ENDS)):
            return False
        depth += _opened(text[at : piece.start()])
        at = piece.end()
    return depth + _opened(text[at:]) == 0 and not text.endswith("\\\n")


def _opened(code: str) -> int:
    """Return how many more brackets are opened in code than closed."""
    return sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))


def _code_lines(text: str, *, keeps_lines: bool = False) -> list[str] | None:
    """Return the lines of a text without what comments and docstrings say; None: not known.

    `keeps_lines`: with a mark for each comment, and all lines of docstrings; and with what comments
    in brackets say, since a message may quote an expression.
    """
    if any(each in text for each in _SHIFTING):
        return None
    kept: list[str] = []
    at = 0
    is_first = True
    depth = 0
    for piece in _PIECES.finditer(text):
        kept.append(text[at : piece.start()])
        if keeps_lines:
            depth += _opened(kept[-1])
        is_first = is_first and not kept[-1].strip()
        at = piece.end()
        found = piece.group()
        if piece.lastgroup == "comment":
            is_kept = depth > 0 or _TELLING.search(found)
            kept.append(found if is_kept else "#" if keeps_lines else "")
        elif not any(piece.group(*_ENDS)):
            return None
        elif "{" in found and _is_formatted(found) and found.count("{") != found.count("}"):
            # From Python 3.12 on, it may hold strings with the same quotes.
            return None
        elif _is_docstring(text, piece.start(), at, is_first=is_first):
            is_first = False
            if not keeps_lines:
                kept.append('"""\0"""')
            elif "\\" in found:
                # It may be no string at all.
                kept.append(found)
            else:
                kept.append('"""\0' + "\n" * found.count("\n") + '"""')
        else:
            is_first = False
            # The ends of lines in a string are no ends of lines of code.
            kept.append(found.replace("\n", "\0"))
    kept.append(text[at:])
    return [line.rstrip() for line in "".join(kept).split("\n")]


def _digest(text: str) -> str:
    return digest(text.encode("utf-8", "surrogatepass"))


def _is_formatted(string: str) -> bool:
    return "f" in string[:2].lower() or "t" in string[:2].lower()


def _is_docstring(text: str, start: int, end: int, *, is_first: bool) -> bool:
    """Return whether a string is alone on its lines, first in a module, a class or a function."""
    if text[start] not in "'\"rR" or text[end : end + 1] not in {"\n", ""}:
        return False
    line = text.rfind("\n", 0, start) + 1
    if text[line:start].strip():
        return False
    if is_first:
        return True
    above = max(0, line - _MOST_ABOVE)
    opened = _OPENED.search(text[above:line] if above else "\n" + text[:line])
    return opened is not None and all(
        opened[1].count(one) == opened[1].count(other) for one, other in ("()", "[]", "{}")
    )
