"""The recorded runs: the newest one must show what is asked for, and records can be read again."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests import records
from tests.differential.compare import FALSE_DEFINITE, MISSED, Comparison, Disagreement
from tests.differential.programs import LEVELS
from tests.differential.record import (
    Level,
    Record,
    Shown,
    as_json,
    newest,
    read,
    seeds_of,
    summary,
    write,
)
from tests.records import RECORDS, ChangedError, circumstances, source

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = 10_000
UNKNOWN = 0.10
"""How much of the hardest level may be unknown."""


def shortcomings(record: Record) -> list[str]:
    """Say in what a record does not show what is asked for."""
    found = []
    if record.programs < PROGRAMS:
        found.append(f"{record.programs} programs")
    if {level.level for level in record.levels} != set(LEVELS):
        found.append("not every level")
    for level in record.levels:
        wrong = {
            name: getattr(level, name)
            for name in ("false_definite", "not_always", "missed", "misplaced", "failed")
            if getattr(level, name)
        }
        if wrong or level.disagreeing:
            found.append(f"level {level.level}: {level.disagreeing} disagree, {wrong}")
        # Programs in which nothing moves, or that end at once, would prove nothing.
        if level.moves < level.programs / 4:
            found.append(f"level {level.level}: only {level.moves} moves")
        if level.cut > level.runs / 2:
            found.append(f"level {level.level}: {level.cut} of {level.runs} runs cut")
        if level.unattributed > level.moves / 100:
            found.append(f"level {level.level}: {level.unattributed} moves without an operand")
    hardest = max(record.levels, key=lambda level: level.level)
    if hardest.unknown_share > UNKNOWN:
        found.append(f"level {hardest.level}: {hardest.unknown_share:.1%} unknown")
    return found


def test_the_newest_record_shows_what_is_asked_for() -> None:
    path = newest()
    if path is None:
        pytest.skip(f"no record in {RECORDS}: python -m tests.differential --record makes one")
    assert shortcomings(read(path)) == []


def good_record() -> Record:
    levels = [
        Level(
            number, programs=2000, uses=9000, unknown=300, moves=900, found=880, by_choice=20,
            alarms=950, false_likely=4, runs=6000, cut=400, errors=Counter({"ValueError": 400}),
        )
        for number in LEVELS
    ]  # fmt: skip
    return Record(3, levels, [], "2026-01-31", 700.5, 2, {"python": "3.11.7"}, "0123456789abcdef")


def test_a_good_record_has_no_shortcomings() -> None:
    assert shortcomings(good_record()) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"programs": 100}, "programs"),
        ({"false_definite": 1}, "false_definite"),
        ({"missed": 2}, "missed"),
        ({"misplaced": 1}, "misplaced"),
        ({"disagreeing": 1}, "1 disagree"),
        ({"unknown": 901}, "unknown"),
        ({"moves": 10}, "only 10 moves"),
        ({"cut": 3001}, "runs cut"),
        ({"unattributed": 10}, "without an operand"),
    ],
)
def test_what_is_wanting_is_said(change: dict[str, int], said: str) -> None:
    record = good_record()
    for name, value in change.items():
        setattr(record.levels[-1], name, value)
    (found,) = shortcomings(record)
    assert said in found


def test_a_level_that_is_not_there_is_said() -> None:
    record = good_record()
    del record.levels[0]
    assert shortcomings(record) == ["8000 programs", "not every level"]


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    record = good_record()
    record.disagreements.append(Shown(5, 17, "missed move: main:1:1: `x`"))
    path = write(record, tmp_path / "new")
    assert path.name == "2026-01-31-random-programs.json"
    assert read(path) == record
    assert as_json(read(path)) == path.read_text(encoding="utf-8")
    assert len(list(summary(record))) == 1 + len(LEVELS)


def test_the_newest_is_the_last_by_date(tmp_path: Path) -> None:
    assert newest(tmp_path) is None
    write(good_record(), tmp_path)
    later = write(dataclasses.replace(good_record(), date="2026-02-01", seed=1), tmp_path)
    assert newest(tmp_path) == later


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [("version", 2, "version 2"), ("programs", 11_000, "11000"), ("levels", 0.5, "share")],
)
def test_what_does_not_add_up_is_refused(tmp_path: Path, key: str, value: float, said: str) -> None:
    path = write(good_record(), tmp_path)
    whole = json.loads(path.read_text())
    if key == "levels":
        whole["levels"][0]["unknown_share"] = value
    else:
        whole[key] = value
    path.write_text(json.dumps(whole))
    with pytest.raises(ValueError, match=said):
        read(path)


def test_a_level_counts_what_a_comparison_found() -> None:
    level = Level(4, uses=1)
    span = (1, 0, 1, 1)
    found = [Disagreement(what, "main", span, "x") for what in (MISSED, FALSE_DEFINITE)]
    errors = Counter({"KeyError": 1})
    level.add(Comparison(found, uses=5, unknown=3, moves=2, runs=3, errors=errors))
    assert (level.level, level.uses, level.unknown, level.moves) == (4, 6, 3, 2)
    assert level.errors == {"KeyError": 1}
    assert level.unknown_share == 0.5


def test_a_program_is_run_with_three_inputs() -> None:
    assert seeds_of(0) == [0, 1, 2]
    assert seeds_of(5_000_007) == [0, 1, 9]


def test_a_run_during_which_the_analyser_is_edited_is_not_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(records, "_sources_begun_with", ["as it was"])
    with pytest.raises(ChangedError, match="start it from a copy"):
        circumstances(0.0, 1)
    monkeypatch.setattr(records, "_sources_begun_with", [source()])
    assert circumstances(0.0, 1)["source"] == source()
