"""Random programs that donate: what the rules say of them, and what JAX does."""

from __future__ import annotations

import pytest

from tests.differential.donation_compare import Totals, compared
from tests.differential.donation_programs import random_program
from tests.marks import RUNS_PROGRAMS

_MANY = 500
_MISSED = 0.2
"""The share of uses that may be missed: what may be gone behind another `if` is never reported."""


def test_a_program_of_a_number_is_always_the_same() -> None:
    assert random_program(7) == random_program(7) != random_program(8)


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
    assert len(totals.missed) <= totals.uses * _MISSED
