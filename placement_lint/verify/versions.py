"""Ranges of versions, as a proof declares them: `">=0.4.31"`, `">=0.4.36,<0.10"`."""

import re
from itertools import zip_longest

_CLAUSE = re.compile(r"\s*(>=|<=|<|>|==|!=)\s*(\d+(?:\.\d+)*)\s*")
_RELEASE = re.compile(r"\d+(?:\.\d+)*")


def parse_range(text: str) -> list[tuple[str, tuple[int, ...]]]:
    """Give the clauses of a range; raises ValueError, with a message, for what is none."""
    clauses = []
    for clause in text.split(","):
        match = _CLAUSE.fullmatch(clause)
        if match is None:
            msg = f"{text!r} is not a range of versions; write it like '>=0.4.31,<0.10'"
            raise ValueError(msg)
        clauses.append((match[1], release(match[2])))
    return clauses


def release(version: str) -> tuple[int, ...]:
    """Give the release numbers of a version; what follows them (`.dev1`, `rc0`) does not count.

    Raises ValueError when it does not begin with a number.
    """
    match = _RELEASE.match(version)
    if match is None:
        msg = f"{version!r} is not a version"
        raise ValueError(msg)
    return tuple(map(int, match[0].split(".")))


def is_within(version: str, text: str) -> bool:
    """Tell whether a version is in a range; raises ValueError where one of them cannot be read."""
    here = release(version)
    return all(_holds(_compared(here, bound), how) for how, bound in parse_range(text))


def _compared(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    """-1, 0 or 1: 0.10 and 0.10.0 are the same version."""
    for one, other in zip_longest(left, right, fillvalue=0):
        if one != other:
            return -1 if one < other else 1
    return 0


def _holds(order: int, how: str) -> bool:
    return {
        ">=": order >= 0,
        "<=": order <= 0,
        ">": order > 0,
        "<": order < 0,
        "==": order == 0,
        "!=": order != 0,
    }[how]
