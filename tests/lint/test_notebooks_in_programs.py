"""Notebooks that import files of the run: they are parts of the program, which nothing imports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from placement_lint.config.settings import Settings
from placement_lint.lint.incremental.cache import cache_for
from placement_lint.lint.linter import Linter
from placement_lint.lint.results import FixMode
from tests.rules.helpers import notebook

if TYPE_CHECKING:
    from placement_lint.lint.results import Outcome

STARS = """\
import jax
import jax.numpy as jnp
import numpy as np


def cpu():
    return jax.devices("cpu")[0]


def windows(path):
    with jax.default_device(cpu()):
        return jnp.asarray(np.load(path))


def held(path):
    return jax.device_put(np.load(path), cpu())


class Survey:
    def __init__(self, path):
        self.rows = windows(path)
"""
SURVEYS = """\
from stars import Survey


class Indexed(Survey):
    def first(self):
        return self.rows[0]
"""
IN_FIRST = ("surveys.py", None, 6, "JDP201")
JAX = "import jax\nimport jax.numpy as jnp\nimport numpy as np"

HAZARDS = {
    "a function that places": ("from stars import windows", "rows = windows('w')", "rows[0]"),
    "below a module": ("import stars", "rows = stars.windows('w')", "%timeit rows[0]"),
    "a device": (
        f"{JAX}\nfrom stars import cpu",
        "with jax.default_device(cpu()):\n    rows = jnp.load('w')\n    print(rows[1])",
        "rows[0]",
    ),
    "an attribute": ("from stars import Survey", "survey = Survey('w')", "print(survey.rows[0])"),
}
CLEAN = {
    "committed there": ("from stars import held", "rows = held('w')", "rows[0]"),
    "read on the host": (
        f"{JAX}\nfrom stars import windows",
        "rows = windows('w')",
        "np.asarray(rows)[0], rows.shape, len(rows)",
    ),
    "in the same block": (
        f"{JAX}\nfrom stars import cpu, windows",
        "with jax.default_device(cpu()):\n    rows = windows('w')\n    print(rows[0])",
    ),
    "the name of another cell's": (
        f"{JAX}\nfrom stars import windows",
        "rows = windows('w')",
        "rows = np.asarray(rows)",
        "rows[0]",
    ),
}


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("stars.py").write_text(STARS, encoding="utf-8")


def check(*, keeps: bool = False, fix: FixMode = FixMode.NONE) -> Outcome:
    paths = sorted(map(str, (*Path().rglob("*.py"), *Path().rglob("*.ipynb"))))
    settings = Settings(unsafe_fixes=True)
    cache = cache_for(".", ["."]) if keeps else None
    here = settings if keeps else None
    return Linter(lambda _: settings, cache=cache, here=here, folders=True, fix=fix).check(paths)


def rows(outcome: Outcome) -> list[tuple[str, int | None, int, str]]:
    return sorted(
        (found.path, found.cell, found.span.line, found.code) for found in outcome.findings
    )


@pytest.mark.parametrize("cells", HAZARDS.values(), ids=HAZARDS)
def test_placed_by_what_it_imports(cells: tuple[str, ...]) -> None:
    Path("n.ipynb").write_bytes(notebook(*cells))
    assert rows(check()) == [("n.ipynb", 3, 1, "JDP201")]


@pytest.mark.parametrize("cells", CLEAN.values(), ids=CLEAN)
def test_nothing_to_find(cells: tuple[str, ...]) -> None:
    Path("n.ipynb").write_bytes(notebook(*cells))
    assert not rows(check())


def test_a_method_that_only_a_notebook_calls() -> None:
    Path("surveys.py").write_text(SURVEYS, encoding="utf-8")
    made = "s = surveys.Indexed('w')"
    Path("n.ipynb").write_bytes(notebook("import surveys", made, "s.first()"))
    assert rows(check()) == [IN_FIRST]
    within = "import jax\nfrom stars import cpu\nwith jax.default_device(cpu()):\n    s.first()"
    Path("n.ipynb").write_bytes(notebook("import surveys", made, within))
    assert not rows(check())


def test_related_places_and_fixes_in_other_files() -> None:
    Path("n.ipynb").write_bytes(notebook(*HAZARDS["a function that places"]))
    (found,) = check().findings
    assert [(place.path, place.cell, place.span.line) for place in found.related] == [
        ("stars.py", None, 12),
        ("n.ipynb", 2, 1),
    ]
    fixed = check(fix=FixMode.APPLY)
    assert not fixed.findings
    assert "jax.device_put(jnp.asarray(np.load(path)), cpu())" in Path("stars.py").read_text()


def test_a_notebook_in_another_language_is_left_out() -> None:
    text = '{"cells": [], "metadata": {"language_info": {"name": "julia"}}}'
    Path("n.ipynb").write_text(text, encoding="utf-8")
    assert not rows(check())


@pytest.mark.parametrize("pinned", [False, True])
def test_a_platform_for_a_program_is_not_for_notebooks(*, pinned: bool) -> None:
    """One that a file chooses when it is imported is."""
    where = "" if pinned else "if __name__ == '__main__':\n    "
    update = f'{where}jax.config.update("jax_platforms", "cpu")\n'
    Path("stars.py").write_text(f"{STARS}\n\n{update}", encoding="utf-8")
    Path("n.ipynb").write_bytes(notebook(*HAZARDS["a device"]))
    found = [row for row in rows(check()) if row[-1] == "JDP201"]
    assert found == ([] if pinned else [("n.ipynb", 3, 1, "JDP201")])


def test_nothing_imports_a_notebook() -> None:
    Path("held.ipynb").write_bytes(notebook("from stars import windows", "rows = windows('w')"))
    Path("main.py").write_text("from held import rows\nprint(rows[0])\n", encoding="utf-8")
    assert not rows(check())


def test_after_edits() -> None:
    """What is kept of a run is what a run without a cache finds."""
    Path("n.ipynb").write_bytes(notebook(*HAZARDS["a function that places"]))
    before = rows(check(keeps=True))
    assert before == rows(check(keeps=True)) == [("n.ipynb", 3, 1, "JDP201")]
    Path("n.ipynb").write_bytes(
        notebook(
            "# Windows.\nfrom stars import windows", "\nrows = windows('w')\n\n", "1", "rows[0]"
        )
    )
    assert rows(check(keeps=True)) == rows(check()) == [("n.ipynb", 4, 1, "JDP201")]
    Path("stars.py").write_text(f"# Stars.\n{STARS}", encoding="utf-8")
    assert rows(check(keeps=True)) == rows(check()) == [("n.ipynb", 4, 1, "JDP201")]
    Path("stars.py").write_text(
        STARS.replace("jnp.asarray(np.load(path))", "np.load(path)"), encoding="utf-8"
    )
    assert rows(check(keeps=True)) == rows(check()) == []
