"""What `python -m tests.new_overlay` writes is a model that only has to be filled in.

`pytest -m every tests/test_new_overlay.py` fills one in, in a copy of the repository.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests import new_overlay
from tests.marks import RUNS_PROGRAMS

if TYPE_CHECKING:
    from pathlib import Path

NAME = "secrets.choice"
SKELETON = """\
    held = call.values()
    raise NotImplementedError("TODO: what it does with arrays, and what it returns; else UNKNOWN")
"""
MODEL = """\
    held = call.values()
    return element_of(held[0]) if held else UNKNOWN
"""
IMPORT = "from placement_lint.placement.domain.contents import element_of\n"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the code and of the tests, with what Python has compiled of them."""
    for name in ("placement_lint", "tests"):
        ignored = shutil.ignore_patterns("records", "corpus")
        shutil.copytree(new_overlay.TOP / name, tmp_path / name, ignore=ignored)
    shutil.copy(new_overlay.TOP / "pyproject.toml", tmp_path)
    return tmp_path


def run_its_case(top: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
         "-o", "addopts=", "tests/placement/overlays", "-k", f"{NAME} or every_model"],
        cwd=top, env={**os.environ, "PYTHONPATH": str(top)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


@pytest.mark.every
@pytest.mark.parametrize("mark", [pytest.param("", marks=RUNS_PROGRAMS)])
def test_it_fails_until_it_is_filled_in(copy: Path, mark: str) -> None:
    model, cases = new_overlay.write(NAME, top=copy)
    failed = run_its_case(copy)
    assert failed.returncode == 1, failed.stdout
    assert "NotImplementedError" in failed.stdout
    text = model.read_text(encoding="utf-8")
    assert SKELETON in text
    text = text.replace("import annotations\n\n", f"import annotations\n\n{IMPORT}", 1)
    model.write_text(text.replace(SKELETON, MODEL), encoding="utf-8")
    todo, _, _ = cases.read_text(encoding="utf-8").rpartition("made = ")
    cases.write_text(f"{todo}{NAME}([x, x]) + 1\n", encoding="utf-8")
    passed = run_its_case(copy)
    assert passed.returncode == 0, passed.stdout
    assert "3 passed" in passed.stdout


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("builtins.reversed", "builtins"),
        ("secrets.choice", "stdlib"),
        ("jax.numpy.todo", "jax_transfer"),
        ("more_itertools.chunked", "more_itertools"),
    ],
)
def test_the_module_is_that_of_the_library(name: str, module: str) -> None:
    assert new_overlay.module_of(name) == module


def test_a_new_library_has_a_module_of_its_own(tmp_path: Path) -> None:
    added = new_overlay.changes("more_itertools.chunked", "more_itertools", tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in added] == [
        "placement_lint/placement/overlays/more_itertools.py",
        "tests/placement/overlays/more_itertools.txt",
    ]
    for path, text in added.items():
        assert text.startswith(('"""Models', "Models"))
        if path.suffix == ".py":
            compile(text, str(path), "exec")


@pytest.mark.parametrize(
    ("name", "what"),
    [("choice", "no qualified name"), ("a b.c", "no qualified name"),
     ("itertools.tee", "already"), ("jax.numpy.ones", "already"),
     ("random.teed", "has a function")],
)  # fmt: skip
def test_what_cannot_be_begun_is_refused(name: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        new_overlay.changes(name, new_overlay.module_of(name), new_overlay.TOP)
