"""Executes the models that settings have for functions of other packages."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax

from placement_lint.jaxmodel.effects import Effect
from placement_lint.jaxmodel.own_models import rows_of
from placement_lint.verify.transfers.bench import (
    GUARD,
    AbsentError,
    Bench,
    resolve,
    write_samples,
)
from placement_lint.verify.transfers.calls import (
    AWAY,
    COMMITTED,
    GENERIC,
    HOME,
    NUMPY,
    OUTSIDE,
    Recipe,
)
from placement_lint.verify.transfers.claims import CallOutcome, disagreements

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from placement_lint.jaxmodel.effects import Row

_TRIED = {
    Effect.CREATE: ("f((4,))", "f(4)", "f()"),
    Effect.KEY: ("f(k)", "f(0)"),
    Effect.LOAD: (),
    Effect.SAMPLE: ("f(k)", "f(k, (4,))"),
}
"""What is tried where a model has no example; of other effects, the calls that are generic."""
_NOT_OF_NUMPY = {Effect.HOST, Effect.IDENTITY, Effect.KEY, Effect.PLAIN, Effect.SAMPLE}


def execute(models: Mapping[str, Mapping[str, str]], folder: Path) -> list[dict[str, Any]]:
    """Call each function that a model describes; return what it did, and what was wrong.

    `folder` is an empty directory for the files that calls read.
    """
    write_samples(folder)
    examples = {name: model.get("example", "") for name, model in models.items()}
    rows = rows_of(models)
    reports: list[dict[str, Any]] = []
    functions: dict[str, Any] = {}
    for row in rows:
        report = {"name": row.name, "effect": row.effect.name.lower(), "example": ""}
        reports.append({**report, "calls": {}, "wrong": [], "absent": ""})
        functions[row.name] = _function(row, reports[-1])
    jax.config.update(GUARD, "disallow")
    bench = Bench(folder)
    first = {
        row.name: _first_calls(bench, row, examples[row.name], functions[row.name], report)
        for row, report in zip(rows, reports, strict=True)
        if functions[row.name] is not None
    }
    jax.config.update(GUARD, "allow")
    for row, report in zip(rows, reports, strict=True):
        if row.name in first:
            _second_calls(bench, row, functions[row.name], *first[row.name], report)
    return reports


def _function(row: Row, report: dict[str, Any]) -> Any:
    """Return what a model is of; None where it is not there."""
    package = row.name.partition(".")[0]
    try:
        importlib.import_module(package)
        return resolve(row.name)
    except ModuleNotFoundError as error:
        report["absent"] = f"{error.name} is not installed"
    except AbsentError:
        report["absent"] = f"there is no {row.name}"
    return None


def _first_calls(
    bench: Bench, row: Row, example: str, function: Any, report: dict[str, Any]
) -> tuple[Recipe, dict[str, CallOutcome]]:
    tried = (example,) if example else _TRIED.get(row.effect, GENERIC)
    recipe = Recipe(tried[0] if tried else "")
    if not tried:
        report["absent"] = "give an `example`, such as \"f(folder / 'array.npy')\""
        return recipe, {}
    for expression in tried:
        recipe = Recipe(expression)
        outcome = bench.run(recipe, HOME, function)
        if not outcome.error:
            break
    else:
        if not example:
            report["absent"] = f"give an `example`: {', '.join(tried)} all fail"
            return recipe, {}
    report["example"] = recipe.expression
    found = {each: bench.run(recipe, each, function) for each in _situations(row, recipe)}
    return recipe, found


def _situations(row: Row, recipe: Recipe) -> tuple[str, ...]:
    if not recipe.takes_arrays:
        return (OUTSIDE, HOME)
    numpy = () if recipe.takes_keys or row.effect in _NOT_OF_NUMPY else (NUMPY,)
    return (AWAY, HOME, COMMITTED, *numpy)


def _second_calls(
    bench: Bench,
    row: Row,
    function: Any,
    recipe: Recipe,
    found: dict[str, CallOutcome],
    report: dict[str, Any],
) -> None:
    """Make the calls again that were refused because they move an operand, and compare."""
    for situation, outcome in found.items():
        if outcome.moved:
            found[situation] = replace(bench.run(recipe, situation, function), moved=True)
    report["calls"] = {situation: str(outcome) for situation, outcome in found.items()}
    report["wrong"] = disagreements(row, row.effect, recipe, found)
