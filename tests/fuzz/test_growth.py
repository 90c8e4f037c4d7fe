"""What there is ever more of takes no more work than its share.

All of it, with the time: `python -m tests.fuzz.growth`; a record of that with `--record`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from placement_lint.cli import main
from tests.fuzz import growth
from tests.fuzz.constructs import DIMENSIONS, HEAD, REPETITION, Growing

SAMPLE = (
    "assignment, file size",
    pytest.param("assignment, number of files", marks=pytest.mark.every),
    pytest.param("assignment, nesting", marks=pytest.mark.every),
    "row of attributes, repetition",
)


def test_there_are_enough_constructs_in_each_dimension() -> None:
    counted = Counter(growing.dimension for growing in growth.numbered())
    assert all(counted[dimension] >= 60 for dimension in DIMENSIONS)


@pytest.mark.parametrize("name", SAMPLE)
def test_work_grows_with_the_size(name: str) -> None:
    """For some; for all of them with `pytest -m every tests/fuzz/test_growth.py`."""
    (growing,) = (growing for growing in growth.numbered() if growing.name == name)
    assert growth.by_calls(growing).problem is None


@pytest.mark.every
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(16))
def test_all_work_grows_with_the_size(subtests: pytest.Subtests, part: int) -> None:
    for growing in growth.numbered()[part::16]:
        with subtests.test(growing.name):
            assert growth.by_calls(growing).problem is None


# -- what is seen ---------------------------------------------------------------------------------


@pytest.mark.every
def test_what_grows_too_fast_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def more(text: object) -> int:
        return sum(len(str(number)) for number in range((len(str(text)) // 2) ** 2))

    growing = Growing("lines", REPETITION, lambda n: {"a.py": HEAD + "x = 1\n" * n})
    assert growth.by_calls(growing).problem is None
    real = main

    def slow(arguments: list[str]) -> int:
        more(Path("a.py").read_text(encoding="utf-8"))
        return real(arguments)

    monkeypatch.setattr(growth, "command", slow)
    monkeypatch.setattr(growth, "least_of", growth.least_of.__wrapped__)
    found = growth.by_calls(growing)
    assert found.exponent > 1.3
    assert "lines, repetition: exponent" in str(found.problem)


def test_a_run_that_fails_is_no_measurement() -> None:
    growing = Growing("lines", REPETITION, lambda n: {"a.py": HEAD + "x = 1\n" * n})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth, "_ARGUMENTS", ("--no-such-option",))
        with pytest.raises(AssertionError):
            growth.by_calls(growing)
