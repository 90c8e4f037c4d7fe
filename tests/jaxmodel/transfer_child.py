"""Executes every row of the transfer table on the JAX that is installed, and compares.

Run as a program: `python -m tests.jaxmodel.transfer_child OUT [WORD …]`, where words select rows as
transfer_run says. It writes one JSON object to OUT: the versions, and for each row what was called,
what came of it, and what disagrees with the row.

There are four virtual CPU devices; 0 is the system default. Each call is made in some of these
situations: with arrays of device 2 that are not committed, inside a block of device 1 ("away");
with such arrays of device 1, inside that block ("home") and outside of it ("outside"); with arrays
committed to device 1, outside of any block ("committed"); with NumPy arrays inside the block of
device 1 ("numpy"). So nearly all is computed on device 1, for which it is compiled once.

All calls are first made while JAX forbids implicit copies between devices, which shows whether an
operand is moved; those that were refused are made again without that, which shows what they give.
The guard is on from the start, since it does not see a call that once went through without it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.metadata
import importlib.util
import io
import json
import os
import platform
import re
import sys
import tempfile
import traceback
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


_FLAGS = ["--xla_force_host_platform_device_count=4", "--xla_backend_optimization_level=0"]
if (0, 5, 3) <= _numbers(importlib.metadata.version("jax")) <= (0, 10, 2):
    # Halves the time of a compilation; other versions do not know it.
    _FLAGS.append("--xla_cpu_use_fusion_emitters=false")
os.environ["XLA_FLAGS"] = " ".join(_FLAGS)
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

from placement_lint.jaxmodel.transfer import ROWS, Row  # noqa: E402
from tests.jaxmodel.transfer_claims import Outcome, disagreements  # noqa: E402
from tests.jaxmodel.transfer_recipes import (  # noqa: E402
    AWAY,
    COMMITTED,
    GENERIC,
    HOME,
    NUMPY,
    OUTSIDE,
    Recipe,
    recipes_of,
    situations_of,
    with_device,
)
from tests.jaxmodel.transfer_run import is_selected  # noqa: E402

_PACKAGES = (
    "jax", "jaxlib", "numpy", "scipy", "safetensors", "flax", "optax", "orbax-checkpoint",
    "equinox",
)  # fmt: skip
_GUARD = "jax_transfer_guard_device_to_device"
_REFUSED = "Disallowed device-to-device transfer"


class AbsentError(Exception):
    """What a row names is not there."""


def place_of(array: Any) -> tuple[tuple[int, ...], bool]:
    """Give the devices of an array, and whether it is committed."""
    committed = getattr(array, "committed", None)
    return (
        tuple(sorted(device.id for device in array.devices())),
        bool(array._committed if committed is None else committed),
    )


class Bench:
    """Operands of every kind, and the calls upon them."""

    def __init__(self, folder: Path) -> None:
        self.devices = jax.devices()
        self.folder = folder
        square = np.array(
            [
                [4.0, 1.0, 0.5, 0.2],
                [1.0, 3.0, 0.3, 0.1],
                [0.5, 0.3, 2.0, 0.4],
                [0.2, 0.1, 0.4, 1.5],
            ],
            np.float32,
        )
        self.values: dict[str, Any] = {
            "x": square,
            "v": np.array([0.15, 0.2, 0.3, 0.35], np.float32),
            "p": np.array([0.1, 0.2, 0.3, 0.4], np.float32),
            "n": np.array([3, 1, 2, 0], np.int32),
            "m": np.array([True, False, True, True]),
            "z": (square + 1j * square.T).astype(np.complex64),
            "b": np.array([1, 2, 3, 4], np.uint8),
            "s": np.full((), 0.5, np.float32),
            "i": np.full((), 1, np.int32),
            "image": np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4),
            "signal": np.sin(np.arange(64, dtype=np.float32)),
        }
        self.operands = {
            AWAY: self._uncommitted(2),
            HOME: self._uncommitted(1),
            COMMITTED: jax.tree_util.tree_map(
                lambda array: jax.device_put(array, self.devices[1]), self._uncommitted(1)
            ),
            NUMPY: dict(self.values),
        }
        self.operands[OUTSIDE] = self.operands[HOME]
        for operands in self.operands.values():
            operands["t"] = {"w": operands["x"], "b": (operands["v"],)}
        self._staged: list[Any] = []
        self._watch_staging()

    def _uncommitted(self, device: int) -> dict[str, Any]:
        with jax.default_device(self.devices[device]):
            made = {name: jnp.asarray(value) for name, value in self.values.items()}
            return {**made, "k": jax.random.key(0), "raw": jax.random.PRNGKey(0)}

    def _own(self, situation: str, dtype: Any) -> Any:
        """Give an operand that nothing else uses."""
        value = np.ones(4, jnp.dtype(dtype))
        if situation == NUMPY:
            return value
        with jax.default_device(self.devices[2 if situation == AWAY else 1]):
            made = jnp.asarray(value)
        return jax.device_put(made, self.devices[1]) if situation == COMMITTED else made

    def _watch_staging(self) -> None:
        """Note the arrays from which others, on a device that was asked for, are filled."""
        module: Any = importlib.import_module("jax._src.array")
        original = module.make_array_from_callback

        def watched(shape: Any, sharding: Any, data_callback: Any, *rest: Any, **more: Any) -> Any:
            def callback(index: Any) -> Any:
                shard = data_callback(index)
                if isinstance(shard, jax.Array):
                    self._staged.append(shard)
                return shard

            return original(shape, sharding, callback, *rest, **more)

        module.make_array_from_callback = watched

    def run(self, recipe: Recipe, situation: str, function: Any) -> Outcome:
        """Call as the recipe says."""
        names = {
            "f": function,
            "jax": jax,
            "jnp": jnp,
            "np": np,
            "d0": self.devices[0],
            "d1": self.devices[1],
            "d2": self.devices[2],
            "d3": self.devices[3],
            "folder": self.folder,
            "load": importlib.import_module,
            "own": lambda dtype: self._own(situation, dtype),
            "silent": io.StringIO(),
            **self.operands[situation],
        }
        block: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
        if situation in {AWAY, HOME, NUMPY}:
            block = jax.default_device(self.devices[1])
        self._staged.clear()
        outcome = Outcome()
        try:
            with block, contextlib.redirect_stdout(io.StringIO()):
                result = eval(recipe.expression, names)  # noqa: S307
                leaves = jax.tree_util.tree_leaves(result)
            outcome.is_array = isinstance(result, jax.Array)
            outcome.places = {place_of(leaf) for leaf in leaves if isinstance(leaf, jax.Array)}
        except Exception as error:  # whatever a call raises is reported of it
            if any(_REFUSED in str(each) for each in _chain(error)):
                outcome.moved = True
            else:
                place = traceback.extract_tb(error.__traceback__)[-1].name
                outcome.error = f"{type(error).__name__}: {str(error)[:200]} (in {place})"
        outcome.staged = bool(self._staged)
        return outcome


def _chain(error: BaseException | None) -> list[BaseException]:
    found = []
    while error is not None:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


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


def resolve(name: str) -> Any:
    """Give what a qualified name names.

    Raises AbsentError where there is no such thing, ModuleNotFoundError where there is no such
    package.
    """
    parts = name.split(".")
    importlib.import_module(parts[0])
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            try:
                found = getattr(found, part)
            except AttributeError:
                raise AbsentError(name) from None
        return found
    raise AbsentError(name)


@dataclass
class Execution:
    """One row, one of its recipes, and what came of its calls."""

    row: Row
    recipe: Recipe
    function: Any
    outcomes: dict[str, Outcome] = field(default_factory=dict)


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
        jax.config.update(_GUARD, "allow")
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
    jax.config.update(_GUARD, "disallow")
    spare_the_lowering()
    compile_once()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.ones(4).tofile(folder / "raw.bin")
        np.save(folder / "array.npy", np.ones(4))
        (folder / "text.txt").write_text("1 2 3\n", encoding="utf-8")
        if importlib.util.find_spec("safetensors") is not None:
            file = importlib.import_module("safetensors.numpy")
            file.save_file({"a": np.ones(4)}, folder / "one.safetensors")
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
