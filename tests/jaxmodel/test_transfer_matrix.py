"""The transfer table on other versions of JAX, each in an environment of its own.

Environments are made from PyPI, and kept in the folder that PLACEMENT_LINT_JAX_ENVIRONMENTS names,
or else in pytest's cache. Pythons are found by name: `python3.11`, or the one that runs the tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.jaxmodel.transfer_run import run

FOLDER_VARIABLE = "PLACEMENT_LINT_JAX_ENVIRONMENTS"
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


def _python(versions: tuple[str, ...]) -> str:
    """Give a Python of one of the versions; skip, saying which were sought, where there is none."""
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


def _environment(wanted: Environment, folder: Path) -> Path:
    """Make an environment, or bring the one that is there up to date; give its Python."""
    python = _python(wanted.pythons)
    place = folder / f"jax-{wanted.name}"
    inside = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not inside.exists():
        subprocess.run([python, "-m", "venv", str(place)], check=True)
    subprocess.run(
        [str(inside), "-m", "pip", "install", "-q", "--upgrade", "--disable-pip-version-check",
         wanted.requirement, *wanted.packages],
        check=True,
    )  # fmt: skip
    return inside


@pytest.mark.matrix
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("wanted", ENVIRONMENTS, ids=lambda wanted: wanted.name)
def test_jax_agrees_with_every_row(
    wanted: Environment, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    named = os.environ.get(FOLDER_VARIABLE)
    folder = Path(named) if named else Path(_cache(pytestconfig).mkdir("jax_environments"))
    folder.mkdir(parents=True, exist_ok=True)
    report = run(_environment(wanted, folder), time_limit=3000)
    with capsys.disabled():
        print(f"\n{report.summary()}")
    assert report.disagreements == []
    assert report.unexecuted == []


def _cache(config: pytest.Config) -> pytest.Cache:
    cache = config.cache
    assert cache is not None, f"pytest's cache is off: name a folder in {FOLDER_VARIABLE}"
    return cache
