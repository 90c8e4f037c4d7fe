"""`placement-lint verify --models`: whether the models of the settings say what JAX does."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from placement_lint.verify.proofs import MESH
from placement_lint.verify.runner import Environment, Runner

_JSON_VERSION = 1
_SITUATIONS = {
    "away": "uncommitted arrays on another device than the default",
    "home": "uncommitted arrays on the default device of a `with` block",
    "outside": "uncommitted arrays, outside of the block that made them",
    "committed": "arrays committed to another device than the default",
    "numpy": "NumPy arrays",
}


@dataclass(frozen=True)
class ModelResult:
    """What the function of one model did."""

    name: str
    effect: str
    example: str
    calls: Mapping[str, str]
    """What it did, in words, by the situation in which it was called."""
    wrong: tuple[str, ...]
    """Where JAX disagrees with the model."""
    absent: str
    """Why it was not called; empty: it was."""


def execute_models(
    runner: Runner, models: Mapping[str, Mapping[str, str]], directory: Path
) -> list[ModelResult]:
    """Execute models in one process, which can import what is in the directory.

    Raises ChildError where the process gives no answer.
    """
    task = {
        "task": "models",
        "models": {name: dict(model) for name, model in models.items()},
        "directory": str(directory),
    }
    with tempfile.TemporaryDirectory(prefix="placement-lint-") as folder:
        value, _ = runner.run(task, devices=MESH, folder=Path(folder))
    return [
        ModelResult(
            str(model["name"]),
            str(model["effect"]),
            str(model["example"]),
            dict(model["calls"]),
            tuple(model["wrong"]),
            str(model["absent"]),
        )
        for model in value["models"]
    ]


def models_text(
    results: Sequence[ModelResult], version: str, environment: Environment, *, verbose: bool
) -> str:
    """Return what was seen, for people."""
    lines = [f"placement-lint {version} verify --models: JAX {environment.jax}", ""]
    for result in results:
        verdict = "skipped" if result.absent else "FAILED" if result.wrong else "ok"
        called = f"  {result.example}" if result.example else ""
        lines.append(f"{result.name}  {verdict}  {result.effect}{called}")
        if result.absent:
            lines.append(f"  {result.absent}")
        lines += [f"  {text}" for text in result.wrong]
        if verbose and result.calls:
            lines += [
                f"  {_SITUATIONS[situation]}: {text}" for situation, text in result.calls.items()
            ]
    failed = sum(bool(result.wrong) for result in results)
    skipped = sum(bool(result.absent) for result in results)
    counts = f"{len(results)} models: {len(results) - failed - skipped} ok, {failed} failed"
    if verbose:
        lines += ["", "0U: uncommitted on device 0; 1C: committed to device 1"]
    return "\n".join([*lines, "", f"{counts}, {skipped} skipped"])


def models_as_json(
    results: Sequence[ModelResult], version: str, environment: Environment
) -> dict[str, Any]:
    """Return what was seen, as data."""
    return {
        "version": _JSON_VERSION,
        "placement_lint": version,
        "jax": environment.jax,
        "models": [
            {
                "name": result.name,
                "effect": result.effect,
                "example": result.example,
                "calls": dict(result.calls),
                "wrong": [*result.wrong],
                "skipped": result.absent,
            }
            for result in results
        ],
    }
