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


def test_fixtures_are_handed_on_by_imports_and_plugins(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/conftest.py": (
            "from .support import *\n\npytest_plugins: list[str] = [\n"
            "    'pkg.plugins',  # of this package\n    'pytester',\n]\n"
        ),
        "pkg/support/__init__.py": "from .arrays import table\nfrom .plain import rows\n",
        "pkg/support/arrays.py": "from pytest import fixture as fx\n@fx()\ndef table(): return 1\n",
        "pkg/support/plain.py": "def rows(): return 1\n",
        "pkg/plugins.py": "import pytest\n@pytest.fixture\ndef mesh(table): return 2\n",
        "pkg/other.py": "import pytest\n@pytest.fixture\ndef weights(): return 2\n",
        "pkg/test_a.py": "def test_a(table, rows, mesh, weights): pass",
    }
    assert links(tmp_path, files) == {
        ("pkg/conftest.py", "pkg/plugins.py", "*"),
        ("pkg/test_a.py", "pkg/conftest.py", "mesh"),
        ("pkg/test_a.py", "pkg/conftest.py", "table"),
        ("pkg/test_a.py", "pkg/plugins.py", "mesh"),
        ("pkg/test_a.py", "pkg/support/arrays.py", "table"),
    }


def test_many_files_that_import_one_another_are_read_once(tmp_path: Path) -> None:
    files = {
        f"m{number}.py": f"from m{(number + 1) % 90} import *\nfrom m{(number * 7) % 90} import *\n"
        "import pytest\n@pytest.fixture\ndef table(): return 1\n"
        for number in range(90)
    }
    files["conftest.py"] = "from m0 import *\n"
    files["test_a.py"] = "def test_a(table): pass"
    assert 2 <= len(links(tmp_path, files)) <= 52
