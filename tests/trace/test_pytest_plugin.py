"""`pytest --placement-trace`: whoever copies fails, and nobody else."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tests.marks import NEEDS_JAX
from tests.trace.running import environment

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = NEEDS_JAX

TESTS = """\
import jax
import jax.numpy as jnp
import pytest

cpu = jax.devices("cpu")[0]
with jax.default_device(cpu):
    tokens = jnp.ones((64, 8))
committed = jax.device_put(tokens, cpu)
tokens[0]  # while tests are collected


@pytest.fixture
def batch():
    return tokens[1]


def test_copies():
    for step in range(3):
        tokens[step]


def test_commits():
    committed[0]


def test_fixture_copies(batch):
    pass


@pytest.mark.allow_implicit_copies
def test_is_allowed(batch):
    tokens[0]


@pytest.mark.xfail
def test_is_expected_to_fail():
    tokens[0]


def test_fails_by_itself():
    tokens[0]
    assert tokens is None


def test_is_not_blamed_for_others():
    pass
"""


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "placement_lint.trace.pytest_plugin",
            "-rA",
            *options,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**environment(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        check=False,
    )


def test_implicit_copies_fail_the_test_that_made_them(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS, encoding="utf-8")
    done = run(tmp_path, "--placement-trace", "--strict-markers")
    assert done.returncode == 1, done.stdout + done.stderr
    outcomes = {
        line.split("::")[1].split()[0]: line.split()[0]
        for line in done.stdout.splitlines()
        if line.startswith(("PASSED ", "FAILED ", "ERROR ", "XFAIL "))
    }
    assert outcomes == {
        "test_copies": "FAILED",
        "test_commits": "PASSED",
        "test_fixture_copies": "ERROR",
        "test_is_allowed": "PASSED",
        "test_is_expected_to_fail": "XFAIL",
        "test_fails_by_itself": "FAILED",
        "test_is_not_blamed_for_others": "PASSED",
    }
    assert "JAX made 3 implicit copies (placement-lint trace):" in done.stdout
    copied = "float32[64,8] copied 3 times, 6.1 kB, from cpu:1 to cpu:0; made at test_it.py:7"
    assert f"test_it.py:19: {copied}" in done.stdout
    assert "assert tokens is None" in done.stdout


def test_without_the_option_nothing_is_imported(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n\n\ndef test_it():\n"
        "    assert 'placement_lint.trace.pytest_session' not in sys.modules\n"
        "    assert not {'jax', 'libcst'} & {*sys.modules}\n",
        encoding="utf-8",
    )
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout
