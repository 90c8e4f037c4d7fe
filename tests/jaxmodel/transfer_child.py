"""Executes every row of the transfer table on the JAX that is installed, and compares.

Run as a program: `python -m tests.jaxmodel.transfer_child OUT [WORD …]`, where words select rows as
transfer_run says. It writes one JSON object to OUT: the versions, and for each row what was called,
what came of it, and what disagrees with the row.

What is called how, and in which situations: see `placement_lint/verify/transfers/`.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import sys
import tempfile
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.compile_fast import unfused


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


_FLAGS = ["--xla_force_host_platform_device_count=4", "--xla_backend_optimization_level=0"]
os.environ["XLA_FLAGS"] = " ".join([*_FLAGS, *unfused(importlib.metadata.version("jax"))])
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import numpy as np  # noqa: E402

from placement_lint.jaxmodel.transfer import ROWS, Row  # noqa: E402
from placement_lint.verify.transfers.bench import (  # noqa: E402
    GUARD,
    AbsentError,
    Bench,
    resolve,
    write_samples,
)
from placement_lint.verify.transfers.calls import (  # noqa: E402
    GENERIC,
    HOME,
    OUTSIDE,
    Recipe,
)
from placement_lint.verify.transfers.claims import CallOutcome, disagreements  # noqa: E402
from tests.jaxmodel.transfer_recipes import (  # noqa: E402
    recipes_of,
    situations_of,
    with_device,
)
from tests.jaxmodel.transfer_run import is_selected  # noqa: E402

_PACKAGES = (
    "jax", "jaxlib", "numpy", "scipy", "safetensors", "flax", "optax", "orbax-checkpoint",
    "equinox",
)  # fmt: skip


_ON_ONE_DEVICE = re.compile(
    r"^ *sdy\.mesh @empty_mesh .*\n"
    r"| ?\{?sdy\.sharding = #sdy\.sharding<@empty_mesh, \[[^]]*\]>\}?"
    r'| ?\{?mhlo\.sharding = "\{replicated\}"\}?',
    re.MULTILINE,
)
"""What a program for committed arrays says more than one for others."""


def spare_the_lowering() -> None:
    """Let all programs be lowered in one MLIR context, without where they come from.

    JAX makes a context for each, which takes as long as all else of the lowering.
    """
    mlir: Any = importlib.import_module("jax._src.interpreters.mlir")
    mlir.make_ir_context = functools.cache(mlir.make_ir_context)
    jax.config.update("jax_traceback_in_locations_limit", 0)
    jax.config.update("jax_traceback_filtering", "off")


def compile_once() -> None:
    """Let each program be compiled once for each device.

    JAX compiles the same program again for committed arguments, and under another name.
    """
    compiler: Any = importlib.import_module("jax._src.compiler")
    original = compiler.compile_or_get_cached
    compiled: dict[tuple[str, str], Any] = {}

    def remembered(
        backend: Any, program: Any, devices: Any, options: Any, callbacks: Any, *rest: Any
    ) -> Any:
        _, _, text = _ON_ONE_DEVICE.sub("", str(program)).partition("{")
        key = (text, str([device.id for device in devices.flat]))
        if callbacks or "callback" in text or devices.size > 1:
            return original(backend, program, devices, options, callbacks, *rest)
        if key not in compiled:
            compiled[key] = original(backend, program, devices, options, callbacks, *rest)
        return compiled[key]

    compiler.compile_or_get_cached = remembered


@dataclass
class Execution:
    """One row, one of its recipes, and what came of its calls."""

    row: Row
    recipe: Recipe
    function: Any
    outcomes: dict[str, CallOutcome] = field(default_factory=dict)


class Run:
    """All rows, once."""

    def __init__(self, bench: Bench, words: tuple[str, ...]) -> None:
        self.bench = bench
        self.version = _numbers(jax.__version__)
        self.rows = [row for row in ROWS if is_selected(row.name, words)]
        self.reports: list[dict[str, Any]] = []

    def all_rows(self) -> None:
        """Execute what is there, in two rounds, and report on each row."""
        in_range = {row.name for row in self.rows if self._is_in_range(row)}
        planned: list[list[Execution]] = []
        for row in self.rows:
            self.reports.append({
                "name": row.name, "effect": row.effect.name, "calls": [], "absent": "", "wrong": [],
            })  # fmt: skip
            planned.append(self._first_calls(row, self.reports[-1], in_range))
        jax.config.update(GUARD, "allow")
        for executions, report in zip(planned, self.reports, strict=True):
            for execution in executions:
                self._second_calls(execution)
                self._judge(execution, report)

    def _is_in_range(self, row: Row) -> bool:
        after = row.since is None or _numbers(row.since) <= self.version
        return after and (row.until is None or self.version <= _numbers(row.until))

    def _first_calls(self, row: Row, report: dict[str, Any], in_range: set[str]) -> list[Execution]:
        try:
            function = self._function(row)
        except ModuleNotFoundError as error:
            report["absent"] = f"{error.name} is not installed"
            return []
        except AbsentError:
            report["absent"] = f"not in JAX {jax.__version__} with NumPy {np.__version__}"
            if self._is_in_range(row) and not row.name.startswith("numpy."):
                report["wrong"].append("it is not there")
            return []
        if not self._is_in_range(row):
            report["absent"] = f"of JAX {row.since or ''}..{row.until or ''}"
            if row.name not in in_range and self._works(row, function):
                report["wrong"].append("it works, outside of the row's versions")
            return []
        executions = [Execution(row, recipe, function) for recipe in recipes_of(row)]
        if not executions:
            executions = self._generic(row, function)
        device = with_device(row)
        if device is not None:
            executions.append(Execution(row, device, function))
        for execution in executions:
            for situation in situations_of(row, execution.recipe):
                outcome = self.bench.run(execution.recipe, situation, function)
                execution.outcomes[situation] = outcome
        if not any(execution.outcomes for execution in executions):
            report["wrong"].append("it was not executed: it has no recipe that runs")
        return executions

    def _function(self, row: Row) -> Any:
        """Give what a row names; of arrays it names methods and attributes."""
        for prefix, holder in (
            ("jax.jit.", None),
            ("jax.numpy.asarray.", None),
            ("jax.grad.", None),
            ("jax.hessian.", None),
            ("jax.Array.at.", self.bench.operands[HOME]["x"].at[0]),
            ("jax.Array.", type(self.bench.operands[HOME]["x"])),
        ):
            if row.name.startswith(prefix):
                if holder is not None and not hasattr(holder, row.name.removeprefix(prefix)):
                    raise AbsentError(row.name)
                return None
        return resolve(row.name)

    def _works(self, row: Row, function: Any) -> bool:
        recipes = recipes_of(row) or [Recipe(expression) for expression in GENERIC]
        return any(not self.bench.run(recipe, HOME, function).error for recipe in recipes)

    def _generic(self, row: Row, function: Any) -> list[Execution]:
        for expression in GENERIC:
            execution = Execution(row, Recipe(expression), function)
            if not self.bench.run(execution.recipe, HOME, function).error:
                return [execution]
        return []

    def _second_calls(self, execution: Execution) -> None:
        """Make the calls again that were refused because they move an operand."""
        for situation, outcome in execution.outcomes.items():
            if outcome.moved:
                again = self.bench.run(execution.recipe, situation, execution.function)
                staged = outcome.staged or again.staged
                execution.outcomes[situation] = replace(again, moved=True, staged=staged)

    def _judge(self, execution: Execution, report: dict[str, Any]) -> None:
        row, recipe, found = execution.row, execution.recipe, execution.outcomes
        report["calls"].append(
            {"expression": recipe.expression, **{key: str(one) for key, one in found.items()}}
        )
        device = row.device
        if device is not None and recipe == with_device(row):
            outcome = found[OUTSIDE]
            if device.since is not None and self.version < _numbers(device.since):
                if "unexpected keyword argument" not in outcome.error:
                    report["wrong"].append(f"{recipe.expression}: {outcome}; expected TypeError")
                return
            until = device.stages_until
            stages = device.stages and (until is None or self.version <= _numbers(until))
            if stages is not outcome.staged:
                report["wrong"].append(
                    f"{recipe.expression}: built {'where it belongs' if stages else 'on D first'}"
                )
        report["wrong"] += disagreements(row, recipe.effect or row.effect, recipe, found)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def main(target: Path, words: tuple[str, ...]) -> None:
    """Execute the rows and write what came of them."""
    warnings.simplefilter("ignore")
    jax.config.update(GUARD, "disallow")
    spare_the_lowering()
    compile_once()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_samples(folder)
        run = Run(Bench(folder), words)
        run.all_rows()
    report = {
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "rows": run.reports,
    }
    target.write_text(json.dumps(report, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), tuple(sys.argv[2:]))
