"""Which mutants are tried, and how what came of them is counted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.mutants import PARTS, ROOT, judged, known, outcome_of, sampled

if TYPE_CHECKING:
    from pathlib import Path


def test_each_part_has_files() -> None:
    for beginnings in PARTS.values():
        for beginning in beginnings:
            path = ROOT / "placement_lint" / beginning
            assert path.is_dir() if beginning.endswith("/") else path.is_file(), beginning


def test_a_sample_is_the_same_for_the_same_seed() -> None:
    names = [f"m{number}" for number in range(100)]
    assert sampled(names, 10, 1) == sampled(reversed(names), 10, 1)
    assert sampled(names, 10, 1) != sampled(names, 10, 2)
    assert set(sampled(names, 10, 1)) < set(sampled(names, 20, 1))


def test_mutants_are_those_of_their_part(tmp_path: Path) -> None:
    for name, codes in {
        "placement/flow.py.meta": {"a": 1, "b": None},
        "files/write.py.meta": {"c": 0},
        "files/other.py.meta": {"d": 0},
    }.items():
        path = tmp_path / "placement_lint" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"exit_code_by_key": codes}), encoding="utf-8")
    assert known(tmp_path) == {"interpreter": {"a": 1, "b": None}, "names": {}, "fixes": {"c": 0}}


def test_what_came_of_them_is_counted() -> None:
    codes = {"a": 1, "b": 0, "c": 33, "d": -9, "e": None, "f": 36, "g": 0}
    result = judged(codes, ["a", "b", "c", "d", "e", "f"])
    assert (result["mutants"], result["tried"]) == (7, 5)
    assert (result["killed"], result["timeout"], result["share"]) == (2, 1, 0.6)
    assert result["survivors"] == ["b", "c"]


def test_a_process_that_died_has_seen_it() -> None:
    assert outcome_of(-11) == "killed"
    assert outcome_of(0) == "survived"
