"""TOML, read in time in proportion to its length."""

from __future__ import annotations

import re
import sys
from typing import Any

_MOST_PARTS = 100
"""Of one key: the parser looks up each beginning of it, which takes time with their square."""

_STRING_OR_COMMENT = re.compile(
    r'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*(?:"""|\\?\Z)|"[^"\\\n]*(?:\\.[^"\\\n]*)*(?:"|(?=\n)|\\?\Z)'
    r"|'''[^']*(?:'(?!'')[^']*)*(?:'''|\Z)|'[^'\n]*(?:'|(?=\n)|\Z)"
    r"|#[^\n]*",
    re.DOTALL,
)
_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")
_KEY = re.compile(r"[\w\"-]+(?:[ \t]*\.[ \t]*[\w\"-]+)*")


def loads(text: str) -> dict[str, Any]:
    """Parse a text. Raises ValueError where it is no TOML, RecursionError where it is too deep."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    if text.count(".") >= _MOST_PARTS:
        _demand_short_keys(text)
    return tomllib.loads(text)


def place_of(error: ValueError) -> tuple[int, int] | None:
    """Return the line and column of an error of `loads`, from 1; None if it has no place.

    Before Python 3.14 they are in the message only.
    """
    found = _PLACE.search(str(error))
    return None if found is None else (int(found[1]), int(found[2]))


def _demand_short_keys(text: str) -> None:
    # Lines are kept: a string over several of them is no part of a key anyway.
    bare = _STRING_OR_COMMENT.sub(lambda match: '"' if match.group()[0] != "#" else "", text)
    for key in _KEY.finditer(bare):
        if key.group().count(".") >= _MOST_PARTS:
            message = f"a key of more than {_MOST_PARTS} parts: {key.group()[:20]}…"
            raise ValueError(message)
