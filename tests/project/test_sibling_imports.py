"""Scripts in packages: what their plain imports of the modules beside them lead to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.counting import counted
from tests.project.test_modules import project, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.project.project import Project

SCRIPT = {
    "pkg/__init__.py": "",
    "pkg/data.py": "import jax\n",
    "pkg/train.py": "import data\n",
}


def found(folder: Path, files: dict[str, str], importer: str = "pkg/train.py") -> str | None:
    """Return the file that `data` leads to in a file."""
    modules: Project = project(write(folder, files))
    located = modules.module_of(str(folder / importer), "data.load")
    assert located is None or located[1] == "load"
    ways = modules.modules_run_by(str(folder / importer), "data")
    assert ways == ([] if located is None else [located[0]])
    return None if located is None else str(Path(located[0]).relative_to(folder))


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"pkg/train.py": "from data import load\n"},
        {"pkg/train.py": "def main():\n    import data.more\n"},
        # What the package binds is nothing to a script.
        {"pkg/__init__.py": "data = None\n"},
        {"pkg/__init__.py": "import train_of_others as data\n"},
        {"pkg/train.py": "import data, os, numpy, flax\n"},
        # A package beside it.
        {"pkg/data/__init__.py": "import jax\n", "pkg/data.py": ""},
        # Other scripts do the same, in other folders too.
        {"pkg/eval.py": "import data\n", "two/__init__.py": "", "two/data.py": "import jax\n",
         "two/train.py": "import data\n"},
        # Members of the package may use what the script does, by its name in the package.
        {"pkg/net.py": "from . import data\n", "tests/test_data.py": "import pkg.data\n"},
        # Others of the same name in folders that the script is not in.
        {"a/data.py": "import jax\n", "b/data.py": "import jax\n"},
        {"other/train.py": "", "other/run.py": "from . import train\n", "other/__init__.py": ""},
    ],
)  # fmt: skip
def test_a_script_imports_what_lies_beside_it(tmp_path: Path, files: dict[str, str]) -> None:
    expected = "pkg/data/__init__.py" if "pkg/data/__init__.py" in files else "pkg/data.py"
    assert found(tmp_path, SCRIPT | files) == expected


@pytest.mark.parametrize(
    "files",
    [
        # It is a member of its package by what it imports itself, or by what imports it.
        {"pkg/train.py": "import data\nfrom . import net\n", "pkg/net.py": ""},
        {"pkg/train.py": "import data\nfrom pkg import net\n", "pkg/net.py": ""},
        {"pkg/train.py": "import data\nimport pkg.net as net\n", "pkg/net.py": ""},
        {"run.py": "from pkg import train\n"},
        {"run.py": "import pkg.train\n"},
        {"tests/test_train.py": "from pkg.train import main\n"},
        {"pkg/__init__.py": "from .train import main\n"},
        {"pkg/cli/__init__.py": "", "pkg/cli/run.py": "from .. import train\n"},
        # The name is one of an installed package: others import it where nothing lies beside them.
        {"run.py": "import data\n"},
        {"other/__init__.py": "", "other/a.py": "from data.sets import x\n"},
        {"pkg/sub/__init__.py": "", "pkg/sub/a.py": "import data\n"},
        {"pkg/net.py": "import data\nfrom . import train_state\n", "pkg/train_state.py": ""},
        # It is a part of another name.
        {"pkg/train.py": "from numpy import data\nfrom other.data import load\n"},
        # What lies beside it means that package.
        {"pkg/data.py": "import jax\nimport data\n"},
    ],
)
def test_a_member_of_a_package_does_not(tmp_path: Path, files: dict[str, str]) -> None:
    assert found(tmp_path, SCRIPT | files) is None


def test_a_stub_is_not_run(tmp_path: Path) -> None:
    files = SCRIPT | {"pkg/data.pyi": SCRIPT["pkg/data.py"]}
    del files["pkg/data.py"]
    assert found(tmp_path, files) is None


def test_a_module_of_the_source_roots_goes_before(tmp_path: Path) -> None:
    assert found(tmp_path, SCRIPT | {"data.py": "import jax\n"}) == "data.py"


def test_each_file_has_its_own_answer(tmp_path: Path) -> None:
    files = SCRIPT | {"pkg/net.py": "import data\nfrom . import train_state\n"}
    assert found(tmp_path, files | {"pkg/net.py": "from . import data\n"}) == "pkg/data.py"
    assert found(tmp_path, files, "pkg/net.py") is None


@pytest.mark.parametrize("name", ["queue", "types", "random", "jax", "safetensors"])
def test_modules_of_python_and_of_the_roots_are_themselves(tmp_path: Path, name: str) -> None:
    files = {
        "pkg/__init__.py": "",
        f"pkg/{name}.py": "import os\n",
        "pkg/train.py": f"import {name}\n",
    }
    modules = project(write(tmp_path, files | {"jx.py": "import jax\n"}))
    assert modules.module_of(str(tmp_path / "pkg/train.py"), f"{name}.load") is None


def test_names_of_the_roots_come_through(tmp_path: Path) -> None:
    files = SCRIPT | {"pkg/data.py": "import jax.numpy as jnp\n", "pkg/net.py": "import data\n"}
    modules = project(write(tmp_path, files))
    train, net = str(tmp_path / "pkg/train.py"), str(tmp_path / "pkg/net.py")
    assert modules.resolver(train)("data.jnp.zeros") == "jax.numpy.zeros"
    assert modules.candidates(train)("data.jnp.zeros") == {"jax.numpy.zeros"}
    assert modules.reexported(train, "import data\ndata.jnp.zeros(3)\n") == "jax.numpy"
    assert modules.may_bring_names(train)
    assert {
        (net, str(tmp_path / "pkg/data.py"), ""),
        (train, str(tmp_path / "pkg/data.py"), ""),
    } <= {*modules.imports}
    # Of a member of the same folder the same name stands for nothing.
    files["pkg/net.py"] += "from . import train_state\n"
    modules = project(write(tmp_path, files))
    assert modules.resolver(net)("data.jnp.zeros") is None


def calls_made(folder: Path, files: dict[str, str]) -> int:
    modules = project(write(folder, files | {"jx.py": "import jax\n"}))
    importers = [path for path in modules.paths if not path.endswith("__init__.py")]
    with counted() as calls:
        for path in importers:
            for way in range(4):
                modules.module_of(path, f"m{way:04}.load")
    return calls.made


def in_one_package(size: int) -> dict[str, str]:
    every = range(size)
    scripts = {f"pkg/m{i:04}.py": f"import m{(i + 1) % size:04}\n" for i in every}
    return {"pkg/__init__.py": "", **scripts}


def in_many_packages(size: int) -> dict[str, str]:
    files: dict[str, str] = {}
    for i in range(size):
        names = {
            "__init__": "",
            "m0000": "",
            "train": "import m0000\n",
            "net": "from . import train\n",
        }
        files |= {f"p{i:04}/{name}.py": text for name, text in names.items()}
    return files


@pytest.mark.parametrize("shape", [in_one_package, in_many_packages])
def test_the_time_to_find_them_grows_with_the_files(
    tmp_path: Path, shape: Callable[[int], dict[str, str]]
) -> None:
    calls_made(tmp_path / "first", shape(4))
    small = calls_made(tmp_path / "small", shape(16))
    assert calls_made(tmp_path / "large", shape(64)) <= 4**1.2 * small
