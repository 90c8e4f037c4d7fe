from __future__ import annotations

import sys
import time

from placement_lint.rules.tool.internal_error import InternalError


def test_a_recursion_without_end_is_told_at_once() -> None:
    def deeper(count: int) -> None:
        if count:
            deeper(count - 1)
        raise KeyError(count)

    limit = sys.getrecursionlimit()
    try:
        deeper(limit // 2)
    except KeyError as error:
        started = time.process_time()
        told = InternalError.describe(None, error)
        seconds = time.process_time() - started
    line = deeper.__code__.co_firstlineno + 3
    assert f"KeyError at test_internal_error.py:{line})" in told
    assert seconds < 0.1


def test_an_error_that_was_never_raised_has_no_place() -> None:
    assert "KeyError)" in InternalError.describe(None, KeyError())
