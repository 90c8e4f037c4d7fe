"""Environments with other versions of JAX, each made from PyPI when it is first wanted.

They are kept in the folder that PLACEMENT_LINT_JAX_ENVIRONMENTS names, or else in
`.jax_environments`. Pythons are found by name: `python3.11`, or the one that runs. What is
installed is locked in `locks`, made by `uv pip compile`; only "newest" takes whatever is newest.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDER_VARIABLE = "PLACEMENT_LINT_JAX_ENVIRONMENTS"
ROOT = Path(__file__).resolve().parents[2]
_LOCKS = Path(__file__).with_name("locks")
_NEWEST = "jax[cpu] safetensors flax optax orbax-checkpoint equinox".split()
_SHOW = "import sys; print('%d.%d' % sys.version_info[:2])"


class NoPythonError(Exception):
    """None of the Pythons that an environment can be made of is there."""


@dataclass(frozen=True)
class Environment:
    """A version of JAX, and the Pythons for which it and the locked packages are."""

    name: str
    pythons: tuple[str, ...]


ENVIRONMENTS = [
    Environment("0.4.30", ("3.10", "3.11", "3.12")),
    Environment("0.5.3", ("3.11", "3.12", "3.13")),
    Environment("0.6.2", ("3.11", "3.12", "3.13")),
    Environment("0.7.2", ("3.11", "3.12", "3.13")),
    Environment("0.10.2", ("3.11", "3.12", "3.13", "3.14")),
    Environment("0.12.0.1", ("3.13", "3.12", "3.14")),
    Environment("newest", ("3.14", "3.13", "3.12")),
]

each_environment = pytest.mark.parametrize("wanted", ENVIRONMENTS, ids=lambda wanted: wanted.name)


def run_module(python: Path | str, module: str, *arguments: str, time_limit: float) -> str:
    """Run a module of the tests, and give what it prints.

    Raises CalledProcessError where it fails, TimeoutExpired where it takes longer.
    """
    finished = subprocess.run(
        [str(python), "-m", module, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=time_limit,
    )
    return finished.stdout


def environment(wanted: Environment) -> Path:
    """Give the Python of an environment; skip the test, saying why, where it cannot be made."""
    try:
        return make(wanted)
    except NoPythonError as error:
        pytest.skip(str(error))


@functools.cache
def make(wanted: Environment) -> Path:
    """Give the Python of an environment, which is made, or brought up to date.

    Raises NoPythonError, CalledProcessError where pip fails.
    """
    named = os.environ.get(FOLDER_VARIABLE)
    place = (Path(named) if named else ROOT / ".jax_environments") / f"jax-{wanted.name}"
    inside = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    lock = _LOCKS / f"{wanted.name}.txt"
    done = place / "installed.txt"
    if lock.exists():
        if not done.exists() or done.read_text() != lock.read_text():
            _new(inside, place, wanted.pythons)
            _pip(inside, "--no-deps", "--requirement", str(lock))
            shutil.copyfile(lock, done)
    else:
        if not inside.exists():
            _new(inside, place, wanted.pythons)
            _pip(inside, "--upgrade", "pip")
        _pip(inside, "--upgrade", *_NEWEST)
    return inside


def _new(inside: Path, place: Path, versions: tuple[str, ...]) -> None:
    subprocess.run([_python(versions), "-m", "venv", "--clear", str(place)], check=True)
    assert inside.exists(), inside


def _pip(inside: Path, *arguments: str) -> None:
    subprocess.run(
        [str(inside), "-m", "pip", "install", "-q", "--disable-pip-version-check", *arguments],
        check=True,
    )


def _python(versions: tuple[str, ...]) -> str:
    for version in versions:
        for candidate in (sys.executable, shutil.which(f"python{version}")):
            if candidate is None:
                continue
            # A launcher of that name may be there without a Python behind it.
            shown = subprocess.run(
                [candidate, "-c", _SHOW], capture_output=True, text=True, check=False
            )
            if shown.returncode == 0 and shown.stdout.strip() == version:
                return candidate
    raise NoPythonError(f"none was found of {', '.join(f'python{v}' for v in versions)}")
