"""The table of old APIs: JAX agrees with every row of it, and it is sound in itself."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from placement_lint.jaxmodel.removed import OLD_APIS, OLD_NAMES, Access, OldApi, Status
from tests.jaxmodel.environments import Environment, each_environment, environment, run_module
from tests.marks import NEEDS_JAX

if TYPE_CHECKING:
    from pathlib import Path

WORDS = {Status.CURRENT: "silent", Status.DEPRECATED: "warns", Status.REMOVED: "fails"}


def disagreements(python: Path | str) -> list[str]:
    report = json.loads(run_module(python, "tests.jaxmodel.removed_child", time_limit=120))
    version, rows = report["jax"], report["rows"]
    assert set(rows) == {api.name for api in OLD_APIS}
    wrong = []
    for api in OLD_APIS:
        seen, has_replacement = rows[api.name]
        state = api.state(version)
        expected = "fails" if state is Status.UNKNOWN else WORDS[state]
        if seen.partition(":")[0] != expected:
            wrong.append(f"{api.name} on {version}: {seen}; expected that it {expected}")
        if has_replacement is not bool(api.replacement_for(version)):
            wrong.append(
                f"{api.name} on {version}: {api.replacement} is {'' if has_replacement else 'not '}"
                "there"
            )
    return wrong


@NEEDS_JAX
def test_jax_agrees_with_every_row() -> None:
    assert disagreements(sys.executable) == []


@pytest.mark.matrix
@pytest.mark.timeout(3600)
@each_environment
def test_other_versions_agree_with_every_row(wanted: Environment) -> None:
    assert disagreements(environment(wanted)) == []


def test_every_row_says_what_to_do() -> None:
    for api in OLD_APIS:
        assert api.replacement or api.advice, api
        assert api.deprecated or api.removed, api


def test_no_name_has_two_rows() -> None:
    assert len({(api.name, api.use) for api in OLD_APIS}) == len(OLD_APIS)
    by_name = [api for api in OLD_APIS if api.use in {Access.NAME, Access.CALL, Access.MODULE}]
    assert len(OLD_NAMES) == len(by_name)


API = OldApi(
    "jax.old",
    Access.NAME,
    "0.5.0",
    "0.6.0",
    "0.7.0",
    replacement="jax.new",
    replacement_since="0.6.1",
)


@pytest.mark.parametrize(
    ("version", "state", "replacement"),
    [
        ("0.4.38", Status.UNKNOWN, None),
        ("0.5.0", Status.CURRENT, None),
        ("0.5.3", Status.CURRENT, None),
        ("0.6.0", Status.DEPRECATED, None),
        ("0.6.2", Status.DEPRECATED, "jax.new"),
        ("0.7.0", Status.REMOVED, "jax.new"),
        ("0.10.0.1", Status.REMOVED, "jax.new"),
    ],
)
def test_releases_are_told_apart(version: str, state: Status, replacement: str | None) -> None:
    assert API.state(version) is state
    assert API.replacement_for(version) == replacement
