"""Programs that take as much as they may: a few here, all of them by `python -m tests.bombs`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from tests.bombs import record
from tests.bombs.kinds import KINDS
from tests.bombs.running import FILE_SECONDS, MEGABYTES, Outcome, every, explode

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = [
    ("containers", "a list added to itself"),
    ("nesting", "calls, 5000 deep, 1 times"),
    ("prefilter", "10 000 dots"),
    ("calls", "donations under conditions"),
    ("imports", "20 files in a circle"),
    ("imports", "60 files, each imports the three before it by star"),
]
GOOD = Outcome("loops", "300 loops", 1, 4000, 3.5, 400, 1, (), "")


def shortcomings(whole: dict[str, Any]) -> list[str]:
    """Say in what a record does not show what is asked for."""
    bombs = whole["bombs"]
    found = [] if len(bombs) >= 200 else [f"{len(bombs)} bombs"]
    found += [f"no {kind}" for kind in KINDS if all(each["kind"] != kind for each in bombs)]
    found += [f"{each['kind']}: {each['name']}" for each in bombs if not each["within"]]
    return found


@pytest.mark.parametrize(("kind", "name"), SAMPLE, ids=lambda text: text)
def test_a_bomb_takes_no_more_than_it_may(kind: str, name: str) -> None:
    outcome = explode(kind, name)
    assert outcome.lost == ()
    assert outcome.wrong == ""
    assert outcome.megabytes <= MEGABYTES


def test_there_are_enough_of_them() -> None:
    assert len(KINDS) >= 6
    assert len(every()) >= 200
    assert set(SAMPLE) <= {*every()}


def test_the_newest_record_shows_what_is_asked_for() -> None:
    assert shortcomings(record.newest()) == []


@pytest.mark.parametrize(
    ("change", "is_within"),
    [
        ({}, True),
        ({"seconds": 1.2 * FILE_SECONDS + 1}, True),
        ({"seconds": 1.2 * FILE_SECONDS + 1.1}, False),
        ({"megabytes": MEGABYTES + 1}, False),
        ({"lost": ("train.py:3 JDP201",)}, False),
        ({"wrong": "exit code 2"}, False),
    ],
)
def test_what_is_too_much_is_said(tmp_path: Path, change: dict[str, Any], is_within: bool) -> None:
    outcome = dataclasses.replace(GOOD, **change)
    assert outcome.is_within == is_within
    assert ("TOO MUCH" in record.line(outcome)) == (not is_within)
    record.write([outcome], tmp_path)
    assert record.outcomes(record.newest(tmp_path)) == {("loops", "300 loops"): outcome}
    assert shortcomings(record.newest(tmp_path)) == [
        "1 bombs",
        *(f"no {kind}" for kind in KINDS if kind != "loops"),
        *([] if is_within else ["loops: 300 loops"]),
    ]
