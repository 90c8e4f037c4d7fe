"""What names imported from other files of the run stand for, and that the filter knows of it."""

from __future__ import annotations

import pickle
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from placement_lint.files.source import Source
from placement_lint.lint.check_file import lint_source, passes_filter
from placement_lint.prefilter.conditions import FileText
from placement_lint.project.project import Project
from placement_lint.project.roots import mentions_roots
from tests.lint.helpers import DevicesFlagged, PutFlagged, check, options, places

if TYPE_CHECKING:
    from placement_lint.prefilter.name_scan import Exports


def write(folder: Path, files: dict[str, str]) -> list[str]:
    """Write files; give their paths as the command line would."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return sorted(str(folder / name) for name in files)


def project(paths: list[str]) -> Project:
    return Project(paths, [path for path in paths if mentions_roots(Path(path).read_bytes())])


def resolved(folder: Path, files: dict[str, str], importer: str, name: str) -> str | None:
    paths = write(folder, files)
    return project(paths).resolver(str(folder / importer))(name)


PACKAGE = {
    "pkg/__init__.py": "from .compat import jnp as numpy_of_jax\nfrom . import deep\n",
    "pkg/compat.py": "import jax\nimport jax.numpy as jnp\nfrom jax import device_put as put\n",
    "pkg/deep/__init__.py": "from ..compat import put as move, jax\n",
    "pkg/deep/er.py": "from .. import deep\nfrom . import move\nimport pkg.compat as c\n",
}


@pytest.mark.parametrize(
    ("importer", "name", "expected"),
    [
        ("pkg/train.py", ".compat.jnp", "jax.numpy"),
        ("pkg/train.py", ".compat.jnp.load", "jax.numpy.load"),
        ("pkg/train.py", ".compat.jax.numpy.load", "jax.numpy.load"),
        ("pkg/train.py", ".numpy_of_jax.load", "jax.numpy.load"),
        ("pkg/train.py", ".deep.move", "jax.device_put"),
        ("pkg/train.py", ".deep.er.move", "jax.device_put"),
        ("pkg/train.py", ".deep.er.deep.move", "jax.device_put"),
        ("pkg/train.py", ".deep.er.c.put", "jax.device_put"),
        ("pkg/deep/other.py", "..compat.jnp.load", "jax.numpy.load"),
        ("pkg/deep/other.py", ".move", "jax.device_put"),
        ("pkg/deep/__init__.py", "..compat.put", "jax.device_put"),
        ("pkg/__init__.py", ".compat.put", "jax.device_put"),
        ("pkg/__init__.py", ".deep.move", "jax.device_put"),
        ("train.py", "pkg.compat.put", "jax.device_put"),
        ("train.py", "pkg.numpy_of_jax.load", "jax.numpy.load"),
        ("train.py", "pkg.deep.jax.devices", "jax.devices"),
        ("pkg/train.py", "pkg.compat.put", "jax.device_put"),
        ("elsewhere/train.py", "pkg.compat.put", "jax.device_put"),
        ("train.py", "pkg", None),
        ("train.py", "pkg.compat", None),
        ("train.py", "pkg.compat.nothing", None),
        ("train.py", "pkg.nothing.jnp", None),
        ("train.py", "other.compat.jnp", None),
        ("train.py", "jax.numpy.load", None),
        ("train.py", "numpy.load", None),
        ("train.py", "builtins.print", None),
        ("pkg/train.py", "compat.jnp", None),
        ("pkg/train.py", "...compat.jnp", None),
        ("pkg/train.py", ".", None),
        ("pkg/train.py", "..", None),
        ("train.py", "", None),
    ],
)
def test_names_in_a_package(tmp_path: Path, importer: str, name: str, expected: str | None) -> None:
    files = {importer: "", **PACKAGE}
    assert resolved(tmp_path, files, importer, name) == expected


def test_src_layout(tmp_path: Path) -> None:
    files = {f"src/{name}": text for name, text in PACKAGE.items()} | {"tests/test_x.py": ""}
    assert resolved(tmp_path, files, "tests/test_x.py", "pkg.compat.jnp") == "jax.numpy"
    # From inside, too.
    assert resolved(tmp_path, files, "src/pkg/deep/er.py", "pkg.compat.jnp") == "jax.numpy"


def test_scripts_side_by_side(tmp_path: Path) -> None:
    files = {"data.py": "from jax import numpy as jnp\n", "train.py": "", "other/eval.py": ""}
    assert resolved(tmp_path, files, "train.py", "data.jnp") == "jax.numpy"
    assert resolved(tmp_path, files, "other/eval.py", "data.jnp") == "jax.numpy"


def test_script_in_another_folder_is_not_guessed(tmp_path: Path) -> None:
    files = {"one/data.py": "from jax import numpy as jnp\n", "two/train.py": ""}
    assert resolved(tmp_path, files, "two/train.py", "data.jnp") is None


def test_folders_without_init(tmp_path: Path) -> None:
    files = {"lib/sub/compat.py": "import jax.numpy as jnp\n", "train.py": "", "lib/a.py": ""}
    assert resolved(tmp_path, files, "train.py", "lib.sub.compat.jnp") == "jax.numpy"
    assert resolved(tmp_path, files, "lib/a.py", ".sub.compat.jnp") == "jax.numpy"


def test_two_projects_with_one_name(tmp_path: Path) -> None:
    files = {
        "a/common/__init__.py": "import jax.numpy as xp\n",
        "b/common/__init__.py": "import numpy as xp\n",
        "a/train.py": "",
        "b/train.py": "",
        "train.py": "",
    }
    assert resolved(tmp_path, files, "a/train.py", "common.xp") == "jax.numpy"
    assert resolved(tmp_path, files, "b/train.py", "common.xp") is None
    assert resolved(tmp_path, files, "train.py", "common.xp") is None


def test_init_that_is_not_part_of_the_run(tmp_path: Path) -> None:
    paths = write(tmp_path, {"pkg/compat.py": "import jax.numpy as jnp\n", "pkg/train.py": ""})
    (tmp_path / "pkg/__init__.py").touch()
    resolve = project(paths).resolver(str(tmp_path / "pkg/train.py"))
    assert resolve("pkg.compat.jnp") == "jax.numpy"
    # A package's folder is not on the path.
    assert resolve("compat.jnp") is None


def test_stub_beside_its_module(tmp_path: Path) -> None:
    files = {"c.py": "import jax.numpy as jnp\n", "c.pyi": "import numpy as jnp\n", "t.py": ""}
    assert resolved(tmp_path, files, "t.py", "c.jnp") == "jax.numpy"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import jax.numpy as x", "jax.numpy"),
        ("from jax import (\n    lax,  # )\n    numpy as x,\n)", "jax.numpy"),
        ("from jax \\\n    import \\\n    numpy as x", "jax.numpy"),
        ("from jax import lax, numpy \\\n    as x", "jax.numpy"),
        ("import os; from jax import numpy as x; y = 1", "jax.numpy"),
        ("if True: import jax.numpy as x", "jax.numpy"),
        ("try:\n    import jax.numpy as x\nexcept ImportError:\n    x = None", "jax.numpy"),
        ("try:\n    from jax import numpy as x\nexcept E:\n    import jax.numpy as x", "jax.numpy"),
        ("import jax\nx = jax.numpy", "jax.numpy"),
        ("import jax\nx: object = jax.numpy  # yes", "jax.numpy"),
        ("import jax as j\r\nx = j.numpy\r\n", "jax.numpy"),
        ("from safetensors.flax import load_file as x", "safetensors.flax.load_file"),
        # What is not sure is not known.
        ("try:\n    import jax.numpy as x\nexcept E:\n    import numpy as x", None),
        ("import jax.numpy as x\nx = 1", None),
        ("import jax.numpy as x\ndef x(): pass", None),
        ("import jax.numpy as x\nfor x in y: pass", None),
        ("def f():\n    import jax.numpy as x", None),
        ("class C:\n    import jax.numpy as x", None),
        ("'''\nimport jax.numpy as x\n'''", None),
        ("# import jax.numpy as x", None),
        ("from jax.numpy import *", None),
        ("import jax.numpy as x\ny = (", None),
        ("import jax.numpy as x\ny = " + "(" * 3_000, None),
        ("import numpy as x  # not jax", None),
        ("from .c import x  # of jax", None),
    ],
)
def test_ways_of_binding(tmp_path: Path, text: str, expected: str | None) -> None:
    (tmp_path / "c.py").write_text(text, newline="")
    (tmp_path / "t.py").touch()
    paths = [str(tmp_path / name) for name in ("c.py", "t.py")]
    assert project(paths).resolver(paths[1])("c.x") == expected


def test_file_that_cannot_be_read_exports_nothing(tmp_path: Path) -> None:
    (tmp_path / "c.py").write_bytes(b"import jax.numpy as x  # \xff\n")
    paths = [str(tmp_path / name) for name in ("c.py", "t.py")]
    assert project(paths[:1]).resolver(paths[1])("c.x") is None


def test_circles(tmp_path: Path) -> None:
    files = {
        "a.py": "from b import x, y\nfrom jax import numpy as z\n",
        "b.py": "from a import x, z\ntry:\n    from a import y\nexcept E:\n    import jax as y\n",
        "t.py": "",
    }
    for name, expected in {"x": None, "y": None, "z": "jax.numpy"}.items():
        for module in "ab":
            assert resolved(tmp_path, files, "t.py", f"{module}.{name}") == expected


def test_long_chain(tmp_path: Path) -> None:
    files = {f"m{n}.py": f"from m{n + 1} import x\n" for n in range(40)}
    files |= {"m40.py": "import jax.numpy as x\n", "t.py": ""}
    assert resolved(tmp_path, files, "t.py", "m0.x") == "jax.numpy"


def test_hostile_chain_ends(tmp_path: Path) -> None:
    lines = "".join(f"x = x.a{n}\nfrom c import x as x\n" for n in range(200))
    files = {"c.py": f"import jax\n{lines}", "t.py": ""}
    assert resolved(tmp_path, files, "t.py", "c.x.y") is None


def test_the_roots_are_not_looked_into(tmp_path: Path) -> None:
    files = {
        "jax/__init__.py": "from jax._src.api import device_put as device_put\n",
        "jax/_src/__init__.py": "",
        "jax/_src/api.py": "def device_put(x): pass\n",
        "train.py": "",
    }
    paths = write(tmp_path, files)
    resolve = project(paths).resolver(str(tmp_path / "train.py"))
    assert resolve("jax.device_put") is None


def test_project_without_jax_asks_nothing(tmp_path: Path) -> None:
    paths = write(tmp_path, {"a.py": "import os as x\n", "t.py": "from a import x\n"})
    nothing = project(paths)
    assert not nothing.exports_roots
    assert nothing.reexported(paths[1], "from a import x\n") == ""
    assert nothing.resolver(paths[1])("a.x") is None


def test_travels_to_another_process(tmp_path: Path) -> None:
    paths = write(tmp_path, {**PACKAGE, "train.py": ""})
    before = project(paths)
    path = str(tmp_path / "train.py")
    assert before.resolver(path)("pkg.compat.put") == "jax.device_put"
    after = pickle.loads(pickle.dumps(before))  # noqa: S301 - our own
    assert after.resolver(path)("pkg.compat.put") == "jax.device_put"


USES = {
    "from .compat import put\nput(1)": "pkg/a.py",
    "from .deep import move\nmove(1)": "pkg/a.py",
    "from pkg import deep\ndeep.move(1)": "a.py",
    "from pkg.deep import er\ner.c.put(1)": "a.py",
    "import pkg\npkg.compat.put(1)": "a.py",
    "import pkg.deep.er\npkg.deep.er.deep.move(1)": "a.py",
    "import pkg.deep as d\nd.move(1)": "a.py",
    "from . import compat as k\nk.put(1)": "pkg/a.py",
    "def f():\n    from ..compat import put as p\n    p(1)": "pkg/deep/a.py",
    "from pkg.deep import (\n    move as m,\n)\nm(1)": "elsewhere/a.py",
}


def lets_through(text: str, imported: str = "", exports: Exports | None = None) -> bool:
    said = FileText(text.encode(), jax=bool(imported), imported=imported, exports=exports)
    return passes_filter(said, (PutFlagged,))


@pytest.mark.parametrize(("text", "importer"), USES.items())
def test_file_without_the_word_is_let_through(tmp_path: Path, text: str, importer: str) -> None:
    assert "jax" not in text
    assert "device_put" not in text
    paths = write(tmp_path, {**PACKAGE, importer: text})
    path = str(tmp_path / importer)
    whole = project(paths)
    assert not lets_through(text)
    names = whole.reexported(path, text)
    assert lets_through(text, names, whole.candidates(path))
    result = lint_source(Source(path, text), options(PutFlagged), whole.resolver(path))
    assert [finding.code for finding in result.findings] == ["JDP801"]
    outcome = check(paths, PutFlagged)
    assert places(outcome) == [("a.py", text.count("\n") + 1, "JDP801")]


def test_file_that_imports_nothing_of_the_kind_is_not_parsed(tmp_path: Path) -> None:
    files = {
        **PACKAGE,
        "pkg/plain.py": "x = 1\n",
        "a.py": "from pkg.plain import x\nimport os\nmove(1)\n",
        "b.py": "import pkg\nx = 1\n",
    }
    whole = project(write(tmp_path, files))
    for name in ("a.py", "b.py"):
        assert whole.reexported(str(tmp_path / name), files[name]) == ""


def test_everything_that_resolves_passes_the_filter(tmp_path: Path) -> None:
    """Three modules, each with one of many ways to have and pass on a name, in every order."""
    forms = [
        "import jax\nfrom jax import device_put as n\n",
        "import jax as n0\nn = n0.device_put\n",
        "from .{} import n\n",
        "from . import {} as q\nn = q.n\n",
        "import jax\nfrom . import {} as q\nn = q.n\n",
        "from pkg.{} import n as m\nfrom .{} import n\n",
    ]
    users = [
        "from pkg.m0 import n\nn(1)\n",
        "import pkg.m0\npkg.m0.n(1)\n",
        "from pkg import m0 as k\nk.n(1)\n",
        "from pkg import m0 as k\nk.q.n(1)\n",
        "from pkg.m0 import q\nq.n(1)\n",
    ]
    found = 0
    for number, chosen in enumerate(permutations(forms, 3)):
        folder = tmp_path / str(number)
        files = {
            f"pkg/m{index}.py": form.format(f"m{index + 1}", f"m{index + 1}")
            for index, form in enumerate(chosen)
        }
        files |= {"pkg/__init__.py": ""} | {f"u{n}.py": text for n, text in enumerate(users)}
        paths = write(folder, files)
        whole = project(paths)
        for index, text in enumerate(users):
            path = str(folder / f"u{index}.py")
            result = lint_source(Source(path, text), options(PutFlagged), whole.resolver(path))
            if result.findings:
                found += 1
                names = whole.reexported(path, text)
                assert lets_through(text, names, whole.candidates(path))
    assert found > 100


def test_words_of_the_file_and_of_what_it_imports_add_up(tmp_path: Path) -> None:
    files = {
        "compat.py": "import jax\n",
        "a.py": "from compat import jax as j\nj.devices()\n",
        "b.py": "from compat import jax as j\nj.other()\n",
    }
    paths = write(tmp_path, files)
    outcome = check(paths, DevicesFlagged)
    assert outcome.parsed == 1


def test_modules_that_come_by_a_star(tmp_path: Path) -> None:
    files = {
        "base.py": "import jax\nimport jax.numpy as jnp\nfrom jax.numpy import *\n_lax = jax.lax\n",
        "lib/__init__.py": "from .names import *\nfrom math import *\n",
        "lib/names.py": "from jax import lax\nfrom base import *\n",
        "t.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    resolve = project([str(tmp_path / name) for name in files]).resolver(str(tmp_path / "t.py"))
    assert resolve("lib.jnp") == "jax.numpy"
    assert resolve("lib.jnp.ones") == "jax.numpy.ones"
    assert resolve("lib.lax.add") == "jax.lax.add"
    assert resolve("lib._lax") is None
    assert resolve("lib.sin") is None
