"""Which files may place arrays: by their bytes, and by what of these is code."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from placement_lint.config.settings import Settings
from placement_lint.files.python_tree import parsed
from placement_lint.files.store import FileStore
from placement_lint.lint.linter import Linter
from placement_lint.project import small_programs
from placement_lint.project.placing_files import Placing, importing_jax
from placement_lint.syntax import python_parser

if TYPE_CHECKING:
    import ast
    from pathlib import Path

CARRYING = [
    "import jax\nwith jax.default_device(d): pass",
    "from jax import default_device as on",
    'import jax\njax.config.update("jax_default_device", d)',
    "import jax\njax.config.jax_default_device = d",
    'import jax\ngetattr(jax, "default_device")',
    "def f(default_device): pass",
    "Trainer(default_device=d)",
    "from jax.dlpack import from_dlpack",
    "import jax\nx = jax.dlpack.from_dlpack(y)",
    'import jax\ncpu = jax.devices("cpu")[0]',
    "import jax\ncpu = jax.local_devices(backend='cpu')[0]",
    "import jax\nlast = jax.devices()[-1]",
    "import jax\nwith jax.default_device(d) print(1)",
]
INERT = [
    "",
    "import jax",
    'TABLE = {"jax.default_device": 1}',
    "# with jax.default_device(d):",
    '"""Use `jax.default_device`."""\nimport jax',
    "import jax\nTEXT = \"jax.devices('cpu')\"",
    "import jax\nfirst = jax.devices()[0]",
    'from glob import devices\ndevices("cpu")',
    'import jax\nNAME = "from_dlpack"',
]


def placing(data: bytes) -> Placing:
    return Placing("a.py", data, FileStore({"a.py": data}))


@pytest.mark.parametrize("text", CARRYING)
def test_it_may_place_arrays(text: str) -> None:
    assert placing(text.encode()).carries


@pytest.mark.parametrize("text", INERT)
def test_it_places_nothing(text: str) -> None:
    assert not placing(text.encode()).carries


def test_it_may_commit_arrays_to_the_default_device() -> None:
    assert placing(b"import jax\njax.device_put(x, jax.devices()[0])").commits
    assert placing(b"from jax import device_put, devices\ndevice_put(x, devices()[0])").commits
    assert not placing(b"import jax\nTEXT = 'jax.device_put(x, jax.devices()[0])'").commits
    assert not placing(b"import jax\njax.device_put(x, d)").commits


def test_only_what_has_jax_from_somewhere_can_place_arrays(tmp_path: Path) -> None:
    texts = {
        "direct.py": "import os, jax.numpy",
        "lazy.py": 'jax = importlib.import_module("jax")',
        "nested.py": "def f():\n    from jax import devices",
        "broken.py": "import jax\nprint 1",
        "further.py": "from handed import jax",
        "handed.py": "from direct import jax",
        "round.py": "import about",
        "about.py": "import round",
        "table.py": 'NAMES = {"jax.numpy": "import jax"}',
        "others.py": "import jaxtyping_extra\nfrom . import table",
        "relative.py": "from .jax import default_device",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    imports = {
        "further.py": {"handed.py"},
        "handed.py": {"direct.py"},
        "round.py": {"about.py"},
        "about.py": {"round.py"},
        "others.py": {"table.py"},
    }
    paths = {str(tmp_path / name) for name in texts}
    edges = {
        str(tmp_path / name): {str(tmp_path / other) for other in others}
        for name, others in imports.items()
    }
    found = {
        path.rpartition("/")[2]
        for path in importing_jax(paths, edges, {}, FileStore(), nullcontext)
    }
    assert found == {
        "direct.py", "lazy.py", "nested.py", "broken.py", "further.py", "handed.py",
    }  # fmt: skip
    alone = importing_jax([str(tmp_path / "further.py")], edges, {}, FileStore(), nullcontext)
    assert alone == {str(tmp_path / "further.py")}


def test_what_the_bytes_tell_of_imports_is_not_read_again(tmp_path: Path) -> None:
    importing, other = placing(b"import jax\njax.default_device(d)"), placing(b"default_device(d)")
    assert (importing.imports_jax, other.imports_jax) == (True, False)
    assert placing(b"import jax\n!ls").imports_jax is None
    there = tmp_path / "unknown.py"
    there.write_text("# %%\nimport jax\n!ls\n", encoding="utf-8")
    known = {"gone.py": True, "other.py": False, str(there): None}
    assert importing_jax(known, {}, known, FileStore(), nullcontext) == {"gone.py", str(there)}


def test_a_file_with_both_kinds_of_words_is_parsed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "import jax\nNAME = 'default_device'\n"
        "def first(x):\n    return jax.device_put(x, jax.devices()[0])\n"
        "def last(x, default_device=None):\n    return x\n"
    )
    asked: list[str] = []

    def counted(text: str) -> ast.Module | None:
        asked.append(text)
        return parsed(text)

    monkeypatch.setattr(python_parser, "parsed", counted)
    monkeypatch.setattr(small_programs, "MOST_FILES", 0)
    one = placing(text.encode())
    assert (one.carries, one.commits, one.imports_jax) == (True, True, True)
    assert asked == [text]
    path = tmp_path / "both.py"
    path.write_text(text, encoding="utf-8")
    (tmp_path / "train.py").write_text("import both\n", encoding="utf-8")
    paths = [str(path), str(tmp_path / "train.py")]
    Linter(lambda _: Settings(select=("JDP201",))).check(paths)
    assert asked == [text, text]
