import itertools
from typing import Any

import pytest

from placement_lint.verify.datapath_run import (
    DEFAULT_SIZE,
    LABELS,
    DataPathError,
    DataPathResult,
    judge_datapath,
    judge_growth,
    ratio_bar,
    ratio_of,
    run_datapath,
    sizes_that_fit,
)
from placement_lint.verify.environment import VIRTUAL
from placement_lint.verify.runner import Runner

MB = 2**20


def measured(**changes: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a run at 256 MiB measures, changed as given for each way."""
    whole: dict[str, dict[str, Any]] = {
        "as-is": {"on": "accelerator", "committed": False, "bytes_moved_by_an_item": 4096},
        "assigned": {"on": "accelerator", "committed": False, "bytes_moved_by_an_item": 4096},
        "in-block": {"on": "host", "committed": False, "bytes_moved_by_an_item": 256 * MB},
        "committed": {"on": "host", "committed": True, "bytes_moved_by_an_item": 8192},
        "mapped": {"on": "host", "committed": None, "bytes_moved_by_an_item": 0},
    }
    values = []
    for way, value in whole.items():
        seconds = 0.16 if way == "in-block" else 0.0001
        peak = {"peak_bytes_of_process_by_an_item": value["bytes_moved_by_an_item"]}
        base = {"way": way, "bytes": 256 * MB, "fastest_item_seconds": seconds, **value, **peak}
        values.append({**base, **changes.get(way.replace("-", "_"), {})})
    return values


def test_what_is_expected_holds() -> None:
    assert judge_datapath(measured(), 100) == []
    assert ratio_of(measured()) == pytest.approx(1600)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"in_block": {"fastest_item_seconds": 0.005}}, "an item costs only 50 times more"),
        ({"in_block": {"fastest_item_seconds": 0.01}}, "an item costs only 100 times more"),
        ({"committed": {"fastest_item_seconds": 0.16}}, "an item costs only 1 times more"),
        ({"committed": {"fastest_item_seconds": 0.0}}, "no ratio"),
        ({"committed": {"committed": False}}, "committed: the dataset is on the host, uncommitted"),
        ({"in_block": {"on": "accelerator"}}, "in-block: the dataset is on the accelerator"),
        ({"assigned": {"on": "host"}}, "assigned: the dataset is on the host"),
        ({"in_block": {"bytes_moved_by_an_item": 4096}}, "not the whole dataset"),
        ({"committed": {"bytes_moved_by_an_item": 256 * MB}}, "committed: an item moved 256 MiB"),
        ({"mapped": {"bytes_moved_by_an_item": 256 * MB}}, "mapped: an item moved 256 MiB"),
        ({"mapped": {"committed": True}}, "expected on the host, in NumPy"),
        ({"in_block": {"peak_bytes_of_process_by_an_item": 0}}, "an item moved 0 B, not the whole"),
    ],
)
def test_each_thing_that_does_not_hold_is_said(
    changes: dict[str, dict[str, Any]], problem: str
) -> None:
    problems = judge_datapath(measured(**changes), 100)
    assert len(problems) == 1
    assert problem in problems[0]


@pytest.mark.parametrize("way", LABELS)
def test_a_way_that_was_not_measured_fails(way: str) -> None:
    without = [value for value in measured() if value["way"] != way]
    assert f"{way}: not measured" in judge_datapath(without, 100)


def test_nothing_measured_fails() -> None:
    assert len(judge_datapath([], 100)) == len(LABELS) + 1


def test_bytes_that_the_system_cannot_tell_are_not_held_against_it() -> None:
    unknown = {"bytes_moved_by_an_item": None, "peak_bytes_of_process_by_an_item": None}
    assert judge_datapath(measured(in_block=unknown, committed=unknown), 100) == []


def test_the_bar_is_100_at_256_mb_and_grows_with_the_dataset() -> None:
    assert ratio_bar(DEFAULT_SIZE) == 100
    assert ratio_bar(4 * DEFAULT_SIZE) == 400
    assert ratio_bar(DEFAULT_SIZE // 4) == 25
    assert ratio_bar(MB) == 2


def at(size: int, slow: float, good: float, best: float) -> DataPathResult:
    seconds = {"in-block": slow, "committed": good, "mapped": best}
    ways = tuple({"way": way, "fastest_item_seconds": value} for way, value in seconds.items())
    return DataPathResult(size * MB, 0, "", ways, None, 0.0, ())


@pytest.mark.parametrize(
    ("results", "problems"),
    [
        ([at(16, 0.01, 1e-4, 5e-5), at(1024, 0.6, 1.3e-4, 4e-5)], 0),
        # Any order; noise; too near to say; nothing to compare with.
        ([at(1024, 0.2, 3e-4, 2e-4), at(16, 0.01, 1e-4, 5e-5)], 0),
        ([at(16, 0.01, 1e-4, 5e-5), at(64, 0.01, 1e-2, 5e-3)], 0),
        ([at(1024, 0.01, 1e-4, 5e-5)], 0),
        ([], 0),
        ([at(16, 0.01, 1e-4, 5e-5), at(1024, 0.1, 1e-4, 5e-5)], 1),
        ([at(16, 0.01, 1e-4, 5e-5), at(1024, 0.6, 1e-3, 5e-5)], 1),
        ([at(16, 0.01, 1e-4, 5e-5), at(1024, 0.6, 1e-4, 5e-3)], 1),
    ],
)
def test_over_the_sizes_one_way_grows_and_two_do_not(
    results: list[DataPathResult], problems: int
) -> None:
    assert len(judge_growth(results)) == problems


def test_the_sizes_that_fit() -> None:
    sizes = sizes_that_fit()
    assert sizes[0] == 16 * MB
    assert [later // sooner for sooner, later in itertools.pairwise(sizes)] == [4] * (
        len(sizes) - 1
    )
    assert sizes[-1] <= 1024 * MB
    assert sizes_that_fit(200 * MB)[-1] <= 64 * MB
    assert sizes_that_fit(1) == [16 * MB]


def test_a_file_that_does_not_fit_is_refused(runner: Runner) -> None:
    with pytest.raises(DataPathError, match=r"1024 TiB does not fit in .* free"):
        run_datapath(runner, size=2**50, devices=VIRTUAL)


@pytest.mark.every
@pytest.mark.usefixtures("needs_jax")
def test_the_data_path_at_a_small_size(runner: Runner) -> None:
    result = run_datapath(runner, size=64 * MB, devices=VIRTUAL)
    assert result.problems == ()
    assert result.ok
    assert [way["way"] for way in result.ways] == list(LABELS)
    assert result.rows == 64 * MB // 2048
    assert result.ratio is not None
    assert result.ratio > result.bar == 25
    assert result.stage.startswith("virtual")
    assert {way["bytes"] for way in result.ways} == {64 * MB}


def test_processes_that_do_not_answer_are_a_failure_each(monkeypatch: pytest.MonkeyPatch) -> None:
    with Runner(python="false") as runner:
        result = run_datapath(runner, size=MB, devices=VIRTUAL)
    assert not result.ok
    assert "write: ended with status 1 and no answer" in result.problems[0]
    assert result.ratio is None
