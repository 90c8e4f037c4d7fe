"""Where in a settings file something stands that is wrong."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from placement_lint.regular import MOST_OF_SETTINGS, read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from placement_lint.config.values import SettingsError

_LONGEST = 200
_OURS = re.compile(r"placement.?lint", re.IGNORECASE)


class SettingsPlace(NamedTuple):
    """A line of a settings file, and what is wrong in it; both count from 1."""

    line: int
    column: int
    length: int
    text: str
    """The line itself."""


def place_of(error: SettingsError) -> SettingsPlace | None:
    """Return where an error stands in its file; None if it is about none, or it cannot be read."""
    if error.path is None:
        return None
    try:
        text = read_regular(error.path, MOST_OF_SETTINGS).decode("utf-8-sig", "replace")
    except OSError:
        return None
    lines = text.split("\n")
    if error.place is not None:
        line, column = error.place
        shown = lines[line - 1] if line <= len(lines) else ""
        return SettingsPlace(line, column, 1, shown.rstrip("\r"))
    is_project = os.path.basename(error.path) == "pyproject.toml"
    return _place_of_word(lines, error.key, is_project=is_project)


def _place_of_word(
    lines: Sequence[str], word: str | None, *, is_project: bool
) -> SettingsPlace | None:
    """Return the first place of a key or of a string in our tables of a file."""
    ours = [*_our_lines(lines)] if is_project else [*enumerate(lines, 1)]
    for find in (_find_key, _find_string, _find_header) if word and len(word) <= _LONGEST else ():
        for number, line in ours:
            column = find(line, word or "")
            if column >= 0:
                return SettingsPlace(number, column + 1, len(word or ""), line.rstrip("\r"))
    for number, line in ours:
        found = _OURS.search(line)
        if found is not None:
            return SettingsPlace(number, found.start() + 1, len(found[0]), line.rstrip("\r"))
    return None


def _find_key(line: str, word: str) -> int:
    start = len(line) - len(line.lstrip())
    start += line[start : start + 1] in {"'", '"'}
    behind = line[start + len(word) :].lstrip("'\"").lstrip()
    return start if line.startswith(word, start) and behind[:1] in {"=", "."} else -1


def _find_string(line: str, word: str) -> int:
    return max(line.find(f"{quote}{word}{quote}") + 1 for quote in ("'", '"')) or -1


def _find_header(line: str, word: str) -> int:
    return line.find(word) if line.lstrip().startswith("[") else -1


def _our_lines(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines of our tables in a file that has others, numbered."""
    is_ours = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("["):
            is_ours = _OURS.search(line) is not None
        if is_ours:
            yield number, line
