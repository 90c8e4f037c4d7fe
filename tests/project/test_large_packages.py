"""Which packages are too large to follow what they import of their own modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from placement_lint.config.settings import Settings
from placement_lint.lint.linter import Linter
from placement_lint.project import large_packages
from placement_lint.project.modules import Modules

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "pkg/__init__.py": "from pkg import data\n",
    "pkg/data.py": """\
import jax
import jax.numpy as jnp

with jax.default_device(jax.devices("cpu")[0]):
    table = jnp.ones((1000, 1000))
""",
    "pkg/train.py": "import jax\nimport pkg\n\nfor i in range(9):\n    print(pkg.data.table[i])\n",
    "pkg/more/__init__.py": "",
    "alone.py": "import jax\n",
}


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [str(tmp_path / name) for name in FILES]


@pytest.mark.parametrize(("most", "is_large"), [(4, False), (3, True)])
def test_modules_of_the_outermost_package_are_counted(
    paths: list[str], monkeypatch: pytest.MonkeyPatch, most: int, is_large: bool
) -> None:
    monkeypatch.setattr(large_packages, "MOST_MODULES", most)
    found = large_packages.large_packages(Modules(paths, paths))
    assert found == ({paths[0]} if is_large else frozenset())


@pytest.mark.parametrize(("most", "codes"), [(4, ["JDP201"]), (3, [])])
def test_names_behind_a_large_package_are_unknown(
    paths: list[str], monkeypatch: pytest.MonkeyPatch, most: int, codes: list[str]
) -> None:
    monkeypatch.setattr(large_packages, "MOST_MODULES", most)
    found = Linter(lambda _: Settings(select=("JDP201",))).check(paths).findings
    assert [each.code for each in found] == codes
