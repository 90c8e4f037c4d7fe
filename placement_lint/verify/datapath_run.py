"""Run the data path, each way in its own subprocess, and judge what was measured."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from placement_lint.verify.runner import ChildError, Runner
from placement_lint.verify.sizes import format_size


@dataclass(frozen=True)
class LoadingWay:
    """One way of loading a dataset, and where it is expected to leave it."""

    name: str
    label: str
    on: str
    committed: bool | None
    """None: a NumPy array, which is on no JAX device."""


WAYS = (
    LoadingWay("as-is", "load_file(path)", "accelerator", committed=False),
    LoadingWay("assigned", "jax.default_device = cpu before", "accelerator", committed=False),
    LoadingWay("in-block", "with jax.default_device(cpu):", "host", committed=False),
    LoadingWay("committed", "... and jax.device_put(..., cpu)", "host", committed=True),
    LoadingWay("mapped", "memory-mapped, prefetched", "host", committed=None),
)
LABELS = {way.name: way.label for way in WAYS}
SLOW, GOOD, BEST = "in-block", "committed", "mapped"

DEFAULT_SIZE = 256 * 2**20
SMALLEST_SIZE = 2**20
FIRST_OF_MANY = 16 * 2**20
STEP = 4
# Virtual devices share the memory of the machine, and show the same growth further on.
MOST_VIRTUAL, MOST_REAL = 2**30, 2**33
# What the hidden copy must cost at DEFAULT_SIZE, against an item of the committed dataset. The
# copy grows with the dataset, so for other sizes the bar does too.
RATIO_AT_DEFAULT_SIZE = 100.0
_SECONDS_PER_GB = 120.0
# A load_file holds the file's pages, its bytes and the array: three times the dataset (measured).
_COPIES_OF_A_LOAD = 4
_RESERVE = 2**26


class DataPathError(Exception):
    """The data path cannot be run here; the message says why."""


@dataclass(frozen=True)
class DataPathResult:
    """What was measured for each way at one size, and what is wrong with it (nothing if it holds).

    `ways` has for each way what `placement_lint.verify.measure` returned.
    """

    size: int
    rows: int
    stage: str
    ways: tuple[Mapping[str, Any], ...]
    ratio: float | None
    bar: float
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.problems


def sizes_that_fit(devices_memory: int | None = None) -> list[int]:
    """Sizes from 16 MiB on, in steps of four, to what fits in the memory and on the disk here.

    devices_memory: bytes of the accelerator; None for virtual devices.
    """
    most = MOST_VIRTUAL if devices_memory is None else min(MOST_REAL, devices_memory * 2 // 5)
    free = shutil.disk_usage(tempfile.gettempdir()).free - _RESERVE
    most = min([most, free, *(memory // _COPIES_OF_A_LOAD for memory in _available_memory())])
    sizes = [FIRST_OF_MANY]
    while sizes[-1] * STEP <= most:
        sizes.append(sizes[-1] * STEP)
    return sizes


def _available_memory() -> list[int]:
    """Bytes of memory that this machine has left, as one number; none where it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return []
    return [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]


def run_sizes(runner: Runner, sizes: Iterable[int], *, devices: str) -> Iterator[DataPathResult]:
    """Run the data path at each of these sizes, in turn; raises as `run_datapath` does."""
    for size in sizes:
        yield run_datapath(runner, size=size, devices=devices)


def run_datapath(runner: Runner, *, size: int, devices: str) -> DataPathResult:
    """Write a token file of size bytes, measure the ways one after the other, and judge.

    Raises DataPathError when the file does not fit where temporary files go.
    """
    measured: list[Mapping[str, Any]] = []
    problems: list[str] = []
    rows = 0
    limit = 60 + _SECONDS_PER_GB * max(1.0, size / 2**30)
    with tempfile.TemporaryDirectory(prefix="placement-lint-") as name:
        folder = Path(name)
        free = shutil.disk_usage(folder).free
        if free < size + _RESERVE:
            msg = (
                f"a token file of {format_size(size)} does not fit in {folder.parent}: "
                f"{format_size(free)} free (set TMPDIR, or give a smaller size)"
            )
            raise DataPathError(msg)
        task = {"task": "datapath", "file": str(folder / "train.safetensors"), "size": size}
        for way in ("write", *LABELS):
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
                rows = int(value["rows"])
            else:
                measured.append(value)
    stage = str(measured[0]["stage"]) if measured else ""
    bar = ratio_bar(size)
    ratio = ratio_of(measured)
    problems.extend(judge_datapath(measured, bar))
    return DataPathResult(size, rows, stage, tuple(measured), ratio, bar, tuple(problems))


def ratio_bar(size: int) -> float:
    """How much dearer an item of the uncommitted dataset must be seen to be, at least."""
    return max(2.0, RATIO_AT_DEFAULT_SIZE * size / DEFAULT_SIZE)


def ratio_of(measured: Sequence[Mapping[str, Any]]) -> float | None:
    """Time of an item in the slow way by that in the good way; None when one is missing.

    The fastest item of each: what else the machine does makes items slower, never faster.
    """
    return ratio_of_fastest(measured, "fastest_item_seconds", SLOW, GOOD)


def ratio_of_fastest(
    measured: Sequence[Mapping[str, Any]], key: str, slow: str, good: str
) -> float | None:
    """Seconds of one way, under a key of what was measured, by those of another; None: one is
    missing.
    """
    seconds = {str(value["way"]): float(value[key]) for value in measured}
    if not seconds.get(good) or not seconds.get(slow):
        return None
    return seconds[slow] / seconds[good]


def judge_datapath(measured: Sequence[Mapping[str, Any]], bar: float) -> list[str]:
    """Return what does not hold of the claim, given what was measured for each way."""
    by_way = {str(value["way"]): value for value in measured}
    problems = [f"{way}: not measured" for way in LABELS if way not in by_way]
    for way in WAYS:
        value = by_way.get(way.name)
        if value is not None and (value["on"], value["committed"]) != (way.on, way.committed):
            problems.append(
                f"{way.name}: the dataset is on the {value['on']}, "
                f"{commitment(value['committed'])}; "
                f"expected on the {way.on}, {commitment(way.committed)}"
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
    """Compare what an item copies, and what the process then grows by, with the dataset's size."""
    problems = []
    for way, copies in ((SLOW, True), (GOOD, False), (BEST, False)):
        value = by_way.get(way)
        for name in ("bytes_moved_by_an_item", "peak_bytes_of_process_by_an_item"):
            # Where the system cannot say how much was moved, times alone must do.
            if value is None or value[name] is None:
                continue
            moved, whole = int(value[name]), int(value["bytes"])
            if copies and moved < whole * 0.75:
                problems.append(f"{way}: an item moved {format_size(moved)}, not the whole dataset")
            if not copies and moved > max(whole * 0.25, 2**20):
                problems.append(f"{way}: an item moved {format_size(moved)}")
    return problems


def judge_growth(results: Sequence[DataPathResult]) -> list[str]:
    """Return what does not hold of the claim over several sizes: one way grows, two do not.

    Says nothing of sizes that are less than 16 times apart: timing is not that exact.
    """
    whole = sorted((result for result in results if result.ways), key=lambda result: result.size)
    if len(whole) < 2 or whole[-1].size < 16 * whole[0].size:
        return []
    apart = whole[-1].size / whole[0].size
    problems = []
    for way in (SLOW, GOOD, BEST):
        seconds = [
            float(value["fastest_item_seconds"])
            for result in (whole[0], whole[-1])
            for value in result.ways
            if value["way"] == way
        ]
        if len(seconds) < 2:
            continue
        grown = seconds[1] / seconds[0]
        if way == SLOW and grown < apart / 4:
            problems.append(
                f"{way}: an item costs only {grown:.3g} times more at {apart:g} times the size"
            )
        if way != SLOW and grown > max(4.0, apart / 8):
            problems.append(
                f"{way}: an item costs {grown:.3g} times more at {apart:g} times the size"
            )
    return problems


def commitment(committed: object) -> str:
    """Return `committed` or `uncommitted`; `in NumPy` for None."""
    return "in NumPy" if committed is None else "committed" if committed else "uncommitted"
