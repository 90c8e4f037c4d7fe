"""The stopwatch, with a clock of its own."""

from __future__ import annotations

import contextlib
import time

import pytest

from placement_lint import timing
from placement_lint.report.times import table
from placement_lint.timing import FILTER, PARSING, RULES, WAITING, apart, rows, timed, watch


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(timing, "_WATCHES", [timing.Stopwatch()])
    return now


def test_a_part_within_another_stops_it(clock: list[float]) -> None:
    watch().start()
    clock[0] += 1
    with timed(RULES):
        clock[0] += 2
        with timed(PARSING):
            clock[0] += 4
        clock[0] += 8
    assert watch().stop() == 15
    assert watch().seconds == {timing.ELSE: 1, RULES: 10, PARSING: 4}
    assert [*rows(watch().seconds)] == [(PARSING, 4), (RULES, 10), (timing.ELSE, 1)]


def test_nothing_is_measured_before_anyone_asks(clock: list[float]) -> None:
    with timed(RULES):
        clock[0] += 1
    assert watch().seconds == {}
    watch().stop()
    assert watch().seconds == {}


def test_a_part_ends_with_an_error(clock: list[float]) -> None:
    watch().start()
    with contextlib.suppress(ValueError), timed(RULES):
        clock[0] += 1
        int("x")
    clock[0] += 2
    watch().stop()
    assert watch().seconds == {timing.ELSE: 2, RULES: 1}


def test_what_is_measured_apart_counts_once_it_is_added(clock: list[float]) -> None:
    watch().start()
    with timed(RULES):
        clock[0] += 1
        with apart() as own:
            clock[0] += 2
            with timed(PARSING):
                clock[0] += 4
        clock[0] += 8
    assert watch().stop() == 15
    assert watch().seconds == {timing.ELSE: 0, RULES: 9}
    assert own.seconds == {timing.ELSE: 2, PARSING: 4}
    watch().add(own.seconds)
    assert watch().seconds == {timing.ELSE: 2, RULES: 9, PARSING: 4}


def test_the_table() -> None:
    assert table(2.5, {PARSING: 3.0, FILTER: 1.0, WAITING: 2.0}).split("\n") == [
        "time in seconds:",
        "  filter                          1.000    25%",
        "  parsing                         3.000    75%",
        "  waiting for other processes     2.000",
        "  the whole run                   2.500",
    ]
