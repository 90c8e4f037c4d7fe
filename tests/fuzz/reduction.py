"""Make an input small that shows a problem: by taking away what it can do without."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.fuzz.kinds import KINDS, verdict_of_reader, verdict_on
from tests.fuzz.readers import READERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fuzz.running import Problem

_SECONDS = 120
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_TOKEN = re.compile(rb"\w+|\s+|.", re.DOTALL)


def reduced(problem: Problem) -> bytes:
    """Give the smallest input found that shows the same problem."""
    given = problem.given
    reader = given.name.partition(".")[2]

    def shows(data: bytes) -> bool:
        if reader in READERS:
            verdict = verdict_of_reader(READERS[reader], data)
        else:
            verdict = verdict_on(replace(given, data=data))
        return problem.place in {replace(problem, what=what).place for what in verdict.problems}

    if not given.data or problem.kind not in KINDS or not shows(given.data):
        # What one input alone does not show is left as it is.
        return given.data
    data = given.data
    until = time.monotonic() + _SECONDS
    for pattern in (_LINE, _TOKEN):
        data = _without(pattern.findall(data), shows, until)
    return data


def _without(pieces: list[bytes], shows: Callable[[bytes], bool], until: float) -> bytes:
    """Take runs of pieces away, long ones first, as long as the rest shows the problem."""
    size = max(len(pieces) // 2, 1)
    while size:
        start = 0
        shorter = False
        while start < len(pieces) and time.monotonic() < until:
            rest = pieces[:start] + pieces[start + size :]
            if shows(b"".join(rest)):
                pieces, shorter = rest, True
            else:
                start += size
        size = size if shorter and size == 1 else size // 2
    return b"".join(pieces)
