"""Environments with other versions of JAX, each made from PyPI when it is first wanted.

They are kept in the folder that PLACEMENT_LINT_JAX_ENVIRONMENTS names, or else in pytest's cache.
Pythons are found by name: `python3.11`, or the one that runs the tests.
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
_SHOW = "import sys; print('%d.%d' % sys.version_info[:2])"


@dataclass(frozen=True)
class Environment:
    """A version of JAX, the Pythons that have it, and what else is installed."""

    name: str
    requirement: str
    pythons: tuple[str, ...]
    packages: tuple[str, ...] = ("safetensors",)


ENVIRONMENTS = [
    Environment("0.4.30", "jax[cpu]==0.4.30", ("3.10", "3.11", "3.12")),
    Environment("0.5.3", "jax[cpu]==0.5.3", ("3.11", "3.10", "3.12", "3.13")),
    Environment("0.6.2", "jax[cpu]==0.6.2", ("3.11", "3.10", "3.12", "3.13")),
    Environment("0.7.2", "jax[cpu]==0.7.2", ("3.11", "3.12", "3.13")),
    Environment("0.10.2", "jax[cpu]==0.10.2", ("3.11", "3.12", "3.13", "3.14")),
    Environment("0.12.0.1", "jax[cpu]==0.12.0.1", ("3.13", "3.12", "3.14")),
    Environment(
        "newest",
        "jax[cpu]",
        ("3.14", "3.13", "3.12"),
        ("safetensors", "flax", "optax", "orbax-checkpoint", "equinox"),
    ),
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


def environment(wanted: Environment, config: pytest.Config) -> Path:
    """Give the Python of an environment, which is made or brought up to date.

    Skips the test, saying which Pythons were sought, where there is none.
    """
    named = os.environ.get(FOLDER_VARIABLE)
    folder = Path(named) if named else Path(_cache(config).mkdir("jax_environments"))
    folder.mkdir(parents=True, exist_ok=True)
    return _made(wanted, folder)


@functools.cache
def _made(wanted: Environment, folder: Path) -> Path:
    place = folder / f"jax-{wanted.name}"
    inside = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not inside.exists():
        python = _python(wanted.pythons)
        subprocess.run([python, "-m", "venv", str(place)], check=True)
    subprocess.run(
        [str(inside), "-m", "pip", "install", "-q", "--upgrade", "--disable-pip-version-check",
         wanted.requirement, *wanted.packages],
        check=True,
    )  # fmt: skip
    return inside


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
    pytest.skip(f"none of these was found: {', '.join(f'python{v}' for v in versions)}")


def _cache(config: pytest.Config) -> pytest.Cache:
    cache = config.cache
    assert cache is not None, f"pytest's cache is off: name a folder in {FOLDER_VARIABLE}"
    return cache
