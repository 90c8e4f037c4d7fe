"""Random programs that donate: what the rules say of them, and what JAX does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests import records
from tests.differential.donation_compare import Totals, compared
from tests.differential.donation_programs import random_program
from tests.differential.donation_record import SUFFIX, DonationRecord, as_json, read
from tests.marks import RUNS_PROGRAMS

if TYPE_CHECKING:
    from pathlib import Path

_MANY = 500
_RECORDED = 5000
_ONLY_POSSIBLE = 0.1
"""The share of uses that may be reported on demand only: what may be gone behind another `if`."""
_LIKELY_FALSE = 0.2
"""The share of likely findings that may be on lines which raise in none of a few runs."""


def test_a_program_of_a_number_is_always_the_same() -> None:
    assert random_program(7) == random_program(7) != random_program(8)


def test_the_counts_of_a_record_are_read_as_they_were_written(tmp_path: Path) -> None:
    totals = Totals(8, 5, [(1, "print(a)")], [], [], 3, [(2, "b = a"), (3, "b = a")])
    record = DonationRecord(3, totals, "2026-01-31", 7.5, 2, {"jax": "0.10.2"}, "0123456789abcdef")
    found = read(records.write(as_json(record), record.date, SUFFIX, tmp_path))
    assert (found["seed"], found["programs"], found["uses"], found["likely"]) == (3, 8, 5, 3)
    assert (found["missed"], found["likely_on_no_line_that_raised"]) == (1, 2)


def test_the_newest_record_has_no_false_alarm_and_nothing_missed() -> None:
    path = records.newest(SUFFIX, records.RECORDS)
    if path is None:
        pytest.skip("no record: python -m tests.differential.donation_record --record makes one")
    found = read(path)
    assert found["programs"] >= _RECORDED
    assert found["false_definite"] == 0
    assert found["missed"] == 0
    assert found["only_possible"] <= found["uses"] * _ONLY_POSSIBLE
    assert found["likely_on_no_line_that_raised"] <= found["likely"] * _LIKELY_FALSE


class TestOnJax:
    pytestmark = RUNS_PROGRAMS

    def test_sample(self) -> None:
        _agree(compared(range(17, 25)))

    @pytest.mark.every
    @pytest.mark.timeout(1800)
    def test_many(self) -> None:
        _agree(compared(range(_MANY)))


def _agree(totals: Totals) -> None:
    assert totals.errors == {}
    assert totals.false == []
    assert totals.uses > totals.programs / 3
    assert totals.missed == []
