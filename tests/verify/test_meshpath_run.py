"""The mesh path: what is judged, what is said of it, and the whole of it on virtual devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from placement_lint.verify import report
from placement_lint.verify.meshpath_run import (
    LABELS,
    MUST_EXCEED,
    MeshPathResult,
    judge_meshpath,
    ratio_of_calls,
    run_meshpath,
)
from placement_lint.verify.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Iterator

MB = 2**20


def measured(way: str, **changed: Any) -> dict[str, Any]:
    """Give what is measured of a way in theory, but for what is changed."""
    whole, copies = 64 * MB, way == "half-sharded"
    value = {
        "way": way,
        "first_call_seconds": 1.0,
        "fastest_call_seconds": 1.0 if copies else 0.01,
        "bytes": whole,
        "copies_parameters": copies,
        "bytes_by_device": [whole] + [whole if way == "sharded" else 0] * 7,
        "devices_at_work": 1 if way == "unsharded" else 8,
    }
    return {**value, **changed}


ALL = [measured(way) for way in LABELS]


@pytest.fixture
def runner() -> Iterator[Runner]:
    with Runner() as made:
        yield made


def test_what_is_expected_holds() -> None:
    assert judge_meshpath(ALL) == []
    assert ratio_of_calls(ALL) == 100


@pytest.mark.parametrize(
    ("way", "changed", "problem"),
    [
        ("half-sharded", {"copies_parameters": False}, "a call does not copy parameters"),
        ("sharded", {"copies_parameters": True}, "a call copies parameters"),
        ("sharded", {"bytes_by_device": [64 * MB] + [0] * 7}, "not every device has"),
        ("unsharded", {"bytes_by_device": [64 * MB] * 8}, "8 devices have the parameters"),
        ("unsharded", {"devices_at_work": 8}, "8 of 8 devices compute"),
        ("half-sharded", {"devices_at_work": 1}, "1 of 8 devices compute"),
        ("half-sharded", {"fastest_call_seconds": 0.02}, "costs only 2 times more"),
    ],
)
def test_what_does_not_hold_is_said(way: str, changed: dict[str, Any], problem: str) -> None:
    found = judge_meshpath([measured(each, **(changed if each == way else {})) for each in LABELS])
    assert len(found) == 1
    assert problem in found[0]


def test_a_way_that_is_missing_is_a_problem() -> None:
    assert judge_meshpath(ALL[:1]) == ["half-sharded: not measured", "sharded: not measured"]
    assert ratio_of_calls(ALL[:1]) is None


def test_the_table() -> None:
    lines = report.meshpath_text(MeshPathResult(tuple(ALL), 100.0, ("a problem",))).splitlines()
    head, names, unsharded, half, sharded, ratio, problem = lines
    assert head.startswith("meshpath  FAILED")
    assert names.split()[-3:] == ["bytes", "by", "device"]
    assert unsharded.endswith("64 MiB, others 0 B")
    assert "64 MiB   8 of 8" in half
    assert "nothing" in sharded
    assert f"must exceed {MUST_EXCEED:g}" in ratio
    assert problem == "  ! a problem"


def test_processes_that_do_not_answer_are_a_failure_each() -> None:
    with Runner(python="false") as runner:
        result = run_meshpath(runner)
    assert not result.ok
    assert result.ratio is None
    assert "unsharded: ended with status 1 and no answer" in result.problems[0]


@pytest.mark.every
@pytest.mark.usefixtures("needs_jax")
def test_the_mesh_path(runner: Runner) -> None:
    result = run_meshpath(runner)
    assert result.problems == ()
    assert [way["way"] for way in result.ways] == list(LABELS)
    assert result.ratio is not None
    assert result.ratio > MUST_EXCEED
