"""What starts the backend: JAX agrees with all that is said of it."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from placement_lint.jaxmodel.backend_start import (
    DOES_NOT_START_BACKEND,
    ENTERING_STARTS_BACKEND,
    JITTED_METHODS_THAT_START,
    STARTS_BACKEND,
    starts_backend,
)
from placement_lint.jaxmodel.transfer import ROWS, Effect
from tests.jaxmodel.backend_start_calls import CALLS, OF_JITTED
from tests.jaxmodel.environments import Environment, each_environment, environment, run_module
from tests.marks import NEEDS_JAX

if TYPE_CHECKING:
    from pathlib import Path

MAKING_FUNCTIONS = {Effect.TRANSFORM, Effect.SAMPLER, Effect.INITIALISE}
FUNCTION_MAKERS = {row.name for row in ROWS if row.effect in MAKING_FUNCTIONS}
IS_POSIX = hasattr(os, "fork")


def disagreements(python: Path | str) -> list[str]:
    report = json.loads(run_module(python, "tests.jaxmodel.backend_start_child", time_limit=280))
    assert report["alone"].keys() == report["trapped"].keys()
    wrong = []
    for title, (started, error) in report["alone"].items():
        name, _, expression = title.partition(": ")
        says = expected(name, expression)
        if started is not says or (error and not says):
            wrong.append(f"{title}: {error or started}; expected {says}")
        if report["trapped"][title][0] is not started and name != "jax.extend.backend.backends":
            wrong.append(f"{title}: the trap says {not started}")
    for name, calls in report["rows"].items():
        # What these give is called by their recipes, too.
        if name not in FUNCTION_MAKERS:
            wrong += row_disagreements(name, calls)
    return [f"{text} on {report['jax']}" for text in wrong]


def expected(name: str, expression: str) -> bool | None:
    for method, of_jitted in OF_JITTED.items():
        if expression == of_jitted:
            return method in JITTED_METHODS_THAT_START
    if expression.endswith(".__enter__()"):
        return name in ENTERING_STARTS_BACKEND
    if name in ENTERING_STARTS_BACKEND:
        return False
    return starts_backend(name)


def row_disagreements(name: str, calls: list[Any]) -> list[str]:
    says = starts_backend(name)
    ran = [started for _, started, error in calls if not error]
    if says is not None and name not in CALLS and not ran:
        return [f"{name}: it was not executed: {calls}"]
    return [f"{name}: {started}; expected {says}" for started in ran if says not in {started, None}]


@NEEDS_JAX
@pytest.mark.every
@pytest.mark.skipif(not IS_POSIX, reason="each call is made in a fork, which this system has not")
def test_jax_agrees_with_what_is_said() -> None:
    assert disagreements(sys.executable) == []


@pytest.mark.matrix
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not IS_POSIX, reason="each call is made in a fork, which this system has not")
@each_environment
def test_other_versions_agree(wanted: Environment) -> None:
    assert disagreements(environment(wanted)) == []


def test_what_is_said_is_said_once() -> None:
    assert not STARTS_BACKEND & DOES_NOT_START_BACKEND
    assert not ENTERING_STARTS_BACKEND & (STARTS_BACKEND | DOES_NOT_START_BACKEND)


def test_every_name_is_called() -> None:
    rows = {row.name for row in ROWS} - FUNCTION_MAKERS
    said = STARTS_BACKEND | DOES_NOT_START_BACKEND | ENTERING_STARTS_BACKEND
    assert said - rows == said & set(CALLS) - rows
    assert set(CALLS) <= said | {"jax.block_until_ready"}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("jax.numpy.zeros", True),
        ("jax.random.key", True),
        ("jax.devices", True),
        ("jax.jit", False),
        ("jax.default_device", False),
        ("jax.numpy.reshape", None),
        ("torch.zeros", None),
    ],
)
def test_what_is_not_known_is_not_said(name: str, says: bool | None) -> None:
    assert starts_backend(name) is says
