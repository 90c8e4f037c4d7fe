"""Run the mesh path, each way in its own subprocess, and judge what was measured."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from placement_lint.verify.datapath_run import ratio_of_fastest
from placement_lint.verify.proofs import MESH
from placement_lint.verify.runner import ChildError, Runner

LABELS = {
    "unsharded": "nothing is put anywhere",
    "half-sharded": "only the batch is split",
    "sharded": "the batch split, parameters on each",
}
SLOW, GOOD = "half-sharded", "sharded"
MUST_EXCEED = 5.0
"""How much dearer a call must be seen to be that copies the parameters to seven more devices."""


@dataclass(frozen=True)
class MeshPathResult:
    """What was measured for each way, and what is wrong with it (nothing if it holds).

    `ways` has for each way what `placement_lint.verify.meshpath.measure` returned.
    """

    ways: tuple[Mapping[str, Any], ...]
    ratio: float | None
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.problems


def run_meshpath(runner: Runner) -> MeshPathResult:
    """Measure the ways one after the other, on virtual devices, and judge."""
    measured: list[Mapping[str, Any]] = []
    problems: list[str] = []
    for way in LABELS:
        with tempfile.TemporaryDirectory(prefix="placement-lint-") as folder:
            task = {"task": "meshpath", "way": way}
            try:
                value, _ = runner.run(task, devices=MESH, folder=Path(folder))
            except ChildError as error:
                problems.append(f"{way}: {error}")
            else:
                measured.append(value)
    problems += judge_meshpath(measured)
    return MeshPathResult(tuple(measured), ratio_of_calls(measured), tuple(problems))


def ratio_of_calls(measured: Sequence[Mapping[str, Any]]) -> float | None:
    """Time of a call that copies the parameters by that of one that does not; None: one is missing.

    The fastest call of each: what else the machine does makes calls slower, never faster.
    """
    return ratio_of_fastest(measured, "fastest_call_seconds", SLOW, GOOD)


def judge_meshpath(measured: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what does not hold of the claim, given what was measured for each way."""
    by_way = {str(value["way"]): value for value in measured}
    problems = [f"{way}: not measured" for way in LABELS if way not in by_way]
    for way, value in by_way.items():
        copies, held = bool(value["copies_parameters"]), list(value["bytes_by_device"])
        if copies != (way == SLOW):
            problems.append(f"{way}: a call {'copies' if copies else 'does not copy'} parameters")
        has_all = [each >= value["bytes"] for each in held]
        if way == GOOD and not all(has_all):
            problems.append(f"{way}: not every device has the parameters")
        if way != GOOD and sum(has_all) != 1:
            problems.append(f"{way}: {sum(has_all)} devices have the parameters, not one")
        at_work = int(value["devices_at_work"])
        if at_work != (1 if way == "unsharded" else len(held)):
            problems.append(f"{way}: {at_work} of {len(held)} devices compute")
    ratio = ratio_of_calls(measured)
    if ratio is not None and ratio <= MUST_EXCEED:
        problems.append(
            f"a call that copies the parameters costs only {ratio:.3g} times more; expected > "
            f"{MUST_EXCEED:g}"
        )
    return problems
