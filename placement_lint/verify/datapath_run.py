"""Run the data path, each way in its own subprocess, and judge what was measured."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from placement_lint.verify.runner import ChildError, Runner
from placement_lint.verify.sizes import format_size

WAYS = ("as-is", "assigned", "in-block", "committed")
SLOW, GOOD = "in-block", "committed"
DEFAULT_SIZE = 256 * 2**20
SMALLEST_SIZE = 2**20
# What the hidden copy must cost at DEFAULT_SIZE, against an item of the committed dataset. The
# copy grows with the dataset, so for other sizes the bar does too.
RATIO_AT_DEFAULT_SIZE = 100.0
_EXPECTED = {
    "as-is": ("accelerator", False),
    "assigned": ("accelerator", False),
    "in-block": ("host", False),
    "committed": ("host", True),
}
_SECONDS_PER_GB = 120.0


class DataPathError(Exception):
    """The data path cannot be run here; the message says why."""


@dataclass(frozen=True)
class DataPathResult:
    """What was measured for each way, and what is wrong with it (nothing when it holds)."""

    size: int
    items: int
    stage: str
    ways: tuple[Mapping[str, Any], ...]
    ratio: float | None
    bar: float
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether every way was measured and the claim was seen."""
        return not self.problems


def run_datapath(runner: Runner, *, size: int, devices: str) -> DataPathResult:
    """Write a token file of size bytes, measure the four ways one after the other, and judge.

    Raises DataPathError when the file does not fit where temporary files go.
    """
    measured: list[Mapping[str, Any]] = []
    problems: list[str] = []
    items = 0
    limit = 60 + _SECONDS_PER_GB * max(1.0, size / 2**30)
    with tempfile.TemporaryDirectory(prefix="placement-lint-") as name:
        folder = Path(name)
        free = shutil.disk_usage(folder).free
        if free < size + 2**26:
            msg = (
                f"a token file of {format_size(size)} does not fit in {folder.parent}: "
                f"{format_size(free)} free (set TMPDIR, or give a smaller --size)"
            )
            raise DataPathError(msg)
        task = {"task": "datapath", "file": str(folder / "train.safetensors"), "size": size}
        for way in ("write", *WAYS):
            place = folder / way
            place.mkdir()
            try:
                value, _ = runner.run(
                    {**task, "way": way}, devices=devices, folder=place, time_limit=limit
                )
            except ChildError as error:
                problems.append(f"{way}: {error}")
                if way == "write":
                    break
                continue
            if way == "write":
                items = int(value["items"])
            else:
                measured.append(value)
    stage = str(measured[0]["stage"]) if measured else ""
    bar = ratio_bar(size)
    ratio = ratio_of(measured)
    problems.extend(judge_datapath(measured, bar))
    return DataPathResult(size, items, stage, tuple(measured), ratio, bar, tuple(problems))


def ratio_bar(size: int) -> float:
    """How much dearer an item of the uncommitted dataset must be seen to be, at least."""
    return max(2.0, RATIO_AT_DEFAULT_SIZE * size / DEFAULT_SIZE)


def ratio_of(measured: Sequence[Mapping[str, Any]]) -> float | None:
    """Time of an item in the slow way by that in the good way; None when one is missing."""
    seconds = {str(value["way"]): float(value["item_seconds"]) for value in measured}
    if not seconds.get(GOOD) or not seconds.get(SLOW):
        return None
    return seconds[SLOW] / seconds[GOOD]


def judge_datapath(measured: Sequence[Mapping[str, Any]], bar: float) -> list[str]:
    """Return what does not hold of the claim, given what was measured for each way."""
    by_way = {str(value["way"]): value for value in measured}
    problems = [f"{way}: not measured" for way in WAYS if way not in by_way]
    for way, value in by_way.items():
        on, committed = _EXPECTED[way]
        if (value["on"], value["committed"]) != (on, committed):
            problems.append(
                f"{way}: the dataset is on the {value['on']}, {commitment(value['committed'])}; "
                f"expected on the {on}, {commitment(committed)}"
            )
    problems.extend(_judge_bytes(by_way))
    ratio = ratio_of(measured)
    if ratio is None:
        problems.append("no ratio: an item's time is missing")
    # The bar must be exceeded, not met.
    elif ratio <= bar:
        problems.append(
            f"an item costs only {ratio:.3g} times more uncommitted; expected > {bar:g}"
        )
    return problems


def _judge_bytes(by_way: Mapping[str, Mapping[str, Any]]) -> list[str]:
    problems = []
    for way, copies in ((SLOW, True), (GOOD, False)):
        value = by_way.get(way)
        # Where the system cannot say how much was moved, times alone must do.
        if value is None or value["bytes_moved_by_an_item"] is None:
            continue
        moved, whole = int(value["bytes_moved_by_an_item"]), int(value["bytes"])
        if copies and moved < whole * 0.75:
            problems.append(f"{way}: an item moved {format_size(moved)}, not the whole dataset")
        if not copies and moved > max(whole * 0.25, 2**20):
            problems.append(f"{way}: an item moved {format_size(moved)}")
    return problems


def commitment(committed: object) -> str:
    """Give `committed` or `uncommitted`."""
    return "committed" if committed else "uncommitted"
