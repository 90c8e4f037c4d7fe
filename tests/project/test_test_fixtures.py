"""Which tests get the values of which fixtures of a `conftest.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.project.project import Project
from placement_lint.project.test_fixtures import fixture_links

if TYPE_CHECKING:
    from pathlib import Path

ABOVE = """
import pytest
from pytest import fixture

@pytest.fixture
def table():
    return 1

@pytest.fixture(
    scope="session",
)
@other
def mesh():
    return 2

@fixture(name="weights")
async def weights_fixture():
    return 3

def helper():
    return 4
"""


def links(folder: Path, files: dict[str, str]) -> set[tuple[str, str, str]]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    paths = [str(folder / name) for name in files]
    project = Project(paths, frozenset(paths))
    within = len(str(folder)) + 1
    return {(who[within:], by[within:], name) for who, by, name in fixture_links(project)}


def test_tests_below_are_served_by_name(tmp_path: Path) -> None:
    files = {
        "pkg/conftest.py": ABOVE,
        "pkg/test_a.py": "def test_a(table, helper): pass",
        "pkg/deep/er/b_test.py": "def test_b(mesh, weights): pass",
        "pkg/deep/conftest.py": "import pytest\n@pytest.fixture\ndef rows(table): return table",
        "pkg/model.py": "table = 1",
        "test_c.py": "def test_c(table): pass",
    }
    assert links(tmp_path, files) == {
        ("pkg/test_a.py", "pkg/conftest.py", "table"),
        ("pkg/deep/er/b_test.py", "pkg/conftest.py", "mesh"),
        ("pkg/deep/er/b_test.py", "pkg/conftest.py", "weights"),
        ("pkg/deep/conftest.py", "pkg/conftest.py", "table"),
    }


def test_without_fixtures_nothing_is_read(tmp_path: Path) -> None:
    files = {"conftest.py": "import pytest", "test_a.py": "def test_a(pytest): pass"}
    assert links(tmp_path, files) == set()
