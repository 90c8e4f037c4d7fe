"""The same files give the same bytes: whatever the hash seed, the processes, the order in which
paths are named, what is remembered of earlier runs, and the line ends.

`pytest -m every tests/test_determinism.py` tries every seed with every number of processes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[1] / "fixtures"
SEEDS = range(10)
JOBS = (1, 2)
PROGRAM = """
import sys
from placement_lint.cli import main
from placement_lint.lint import run

run.PARALLEL_BYTES = 0  # processes are worth it
sys.exit(main())
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a part of what the rules find something in."""
    top = tmp_path_factory.mktemp("top") / "tree"
    for folder in sorted(path for path in FIXTURES.iterdir() if path.is_dir())[::72]:
        shutil.copytree(folder, top / folder.name)
    shutil.copytree(FIXTURES / "seeds", top / "seeds", dirs_exist_ok=True)
    return top


@pytest.fixture(scope="module")
def expected(tree: Path) -> bytes:
    found = run(tree)
    assert found.count(b"\n") > 60
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with everything in which the rules find something."""
    top = tmp_path_factory.mktemp("whole") / "tree"
    shutil.copytree(FIXTURES, top)
    return top


@pytest.fixture(scope="module")
def all_of_it(whole: Path) -> bytes:
    found = run(whole)
    assert found.count(b"\n") > 500
    return found


def run(
    tree: Path, *, seed: int = 0, jobs: int = 1, form: str = "flake8", cache: str | None = None
) -> bytes:
    """Give what the command prints, with the folders named in an order that the seed chooses."""
    paths = sorted(str(path.relative_to(tree)) for path in tree.glob("*") if path.is_dir())
    paths.sort(key=lambda path: hashlib.sha256(f"{seed} {path}".encode()).digest())
    remembering = ["--no-cache"] if cache is None else ["--cache-dir", cache]
    done = subprocess.run(
        [
            *(sys.executable, "-c", PROGRAM, "check", *paths, "--isolated", "--select", "ALL"),
            *("--output-format", form, "-q", "-j", str(jobs), *remembering),
        ],
        cwd=tree,
        env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(FIXTURES.parent)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr.decode()
    return done.stdout


def test_another_seed_other_processes_and_another_order(tree: Path, expected: bytes) -> None:
    """See `test_every_seed` for all of them."""
    assert run(tree, seed=os.getpid(), jobs=2) == expected


@pytest.mark.every
@pytest.mark.parametrize("jobs", JOBS)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_seed(whole: Path, all_of_it: bytes, seed: int, jobs: int) -> None:
    assert run(whole, seed=seed, jobs=jobs) == all_of_it


@pytest.mark.every
def test_what_is_remembered(tree: Path, expected: bytes, tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    assert run(tree, cache=cache, jobs=2) == expected, "cold"
    assert run(tree, cache=cache, seed=1) == expected, "warm"
    touched = tree / "seeds" / "commitment.py"
    before = touched.read_bytes()
    touched.write_bytes(b"import jax\n" + before)
    assert run(tree, cache=cache, seed=2) != expected
    touched.write_bytes(before)
    assert run(tree, cache=cache, seed=3, jobs=2) == expected, "as it was"


def test_line_ends(tree: Path, expected: bytes, tmp_path: Path) -> None:
    """What stands where does not depend on how lines end: flake8's lines say no more than that."""
    windows = tmp_path / "tree"
    shutil.copytree(tree, windows)
    for path in windows.rglob("*.py"):
        data = path.read_bytes()
        if b"\r" not in data:
            path.write_bytes(data.replace(b"\n", b"\r\n"))
    assert run(windows) == expected
