"""What the interpreter knows of small programs: `known/*.txt`, as `known_cases.py` reads them."""

from __future__ import annotations

import pytest

from tests.placement.known_cases import FOLDER, Case, Known, read_cases

CASES = [case for path in sorted(FOLDER.glob("*.txt")) for case in read_cases(path)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_known(case: Case) -> None:
    assert Known(case).lines() == case.said


def test_names_are_used_once() -> None:
    assert len({case.name for case in CASES}) == len(CASES) > 10
