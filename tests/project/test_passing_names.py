"""By which names files pass on what they have from others, as their text says it."""

from pathlib import Path

import pytest

from placement_lint.files.store import FileStore
from placement_lint.placement.engine.reach import Ways
from placement_lint.project.passing_names import PassingNames
from placement_lint.syntax.deep_stack import run_deep

FILES = {
    "model.py": "from host import load\nclass Model:\n    def f(self):\n        self.w = load()\n",
    "build.py": "from model import Model as M\ntry:\n    made = M()\nexcept OSError:\n    pass\n",
    "store.py": "import model\nkept = {}\nkept['m'] = model.Model()\ndef other():\n    return 1\n",
    "one.py": "from build import made\nprint(made)\n",
    "two.py": "from store import kept\n",
    "three.py": "from store import other\nother()\n",
    "four.py": "from model import *\nm = Model()\n",
    "broken.py": "from model import Model\ndef (:\n",
}
IMPORTERS = {
    "model.py": [("build.py", "Model"), ("store.py", ""), ("four.py", "*"), ("broken.py", "Model")],
    "build.py": [("one.py", "made")],
    "store.py": [("two.py", "kept"), ("three.py", "other")],
    "broken.py": [("three.py", "Model")],
}


def reached(folder: Path, entering: dict[str, dict[str, Ways]]) -> set[str]:
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    where = {name: str(folder / name) for name in FILES}
    importers = {
        where[path]: [(where[importer], name) for importer, name in every]
        for path, every in IMPORTERS.items()
    }
    passing = PassingNames(FileStore(), importers)
    found = run_deep(passing.reached, {where[path]: names for path, names in entering.items()})
    return {Path(path).name for path in found}


def test_a_name_is_followed_through_what_is_bound_to_it(tmp_path: Path) -> None:
    found = reached(tmp_path, {"model.py": {"load": None}})
    assert found == {
        "model.py", "build.py", "store.py", "one.py", "two.py", "four.py", "broken.py",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["unheard", "other"])
def test_what_no_statement_names_goes_no_further(tmp_path: Path, name: str) -> None:
    assert reached(tmp_path, {"model.py": {name: None}}) == {"model.py"}


def test_two_files_that_import_one_another_come_to_an_end(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from b import g\ndef f():\n    return g()\n", encoding="utf-8")
    (tmp_path / "b.py").write_text("from a import f\ndef g():\n    return f()\n", encoding="utf-8")
    a, b = str(tmp_path / "a.py"), str(tmp_path / "b.py")
    passing = PassingNames(FileStore(), {a: [(b, "f")], b: [(a, "g")]})
    assert run_deep(passing.reached, {a: {"g": None}}) == {a, b}


@pytest.mark.parametrize(
    ("way", "files"),
    [("read", set()), ("M", {"build.py"}), ("print", {"build.py", "one.py"})],
)
def test_only_files_on_the_way_to_what_names_an_attribute_are_reached(
    tmp_path: Path, way: str, files: set[str]
) -> None:
    assert reached(tmp_path, {"build.py": {"Model": frozenset({way})}}) == files


LATER = {
    "init.py": """\
import jax
from contextlib import contextmanager
def initialize(model):
    with jax.default_device(jax.devices("cpu")[0]):
        return model.init()
@contextmanager
def on_host():
    with jax.default_device(jax.devices("cpu")[0]):
        yield
""",
    "state.py": """\
from dataclasses import dataclass
from flax import struct
@struct.dataclass
class State:
    params: dict
@dataclass
class Config:
    size: int
""",
    "train.py": """\
from init import initialize
from state import Config, State
def train(model):
    return State(initialize(model)), Config(1)
""",
    "step.py": "from state import State\ndef step(state):\n    return State(state.params)\n",
    "typed.py": "from state import State\ndef norm(state: State):\n    return 1\n",
    "size.py": "from state import Config\nprint(Config(2))\n",
    "host.py": "from init import on_host\nwith on_host():\n    x = 1\n",
}
IMPORTERS_LATER = {
    "init.py": [("train.py", "initialize"), ("host.py", "on_host")],
    "state.py": [
        ("train.py", "Config"), ("train.py", "State"), ("step.py", "State"),
        ("typed.py", "State"), ("size.py", "Config"),
    ],
}  # fmt: skip


def later(folder: Path) -> tuple[PassingNames, dict[str, str]]:
    for name, text in LATER.items():
        (folder / name).write_text(text, encoding="utf-8")
    where = {name: str(folder / name) for name in LATER}
    importers = {
        where[path]: [(where[importer], name) for importer, name in every]
        for path, every in IMPORTERS_LATER.items()
    }
    return PassingNames(FileStore(), importers), where


@pytest.mark.parametrize(("most", "expected"), [(9, {"train.py", "step.py"}), (0, set())])
def test_what_a_function_under_a_default_device_probably_gives_is_followed(
    most: int, expected: set[str], tmp_path: Path
) -> None:
    """And an object that holds it, but none of a class that only says how large something is."""
    passing, where = later(tmp_path)
    found = run_deep(passing.expected, [where["init.py"]], most)
    assert {Path(path).name for path in found} == expected
    assert not run_deep(passing.expected, [where["state.py"]], most)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("state.py", "@dataclass\n", "@struct.dataclass\n"),
        ("train.py", "State(initialize(model))", "initialize(model)"),
    ],
)
def test_a_change_of_what_is_probable_is_seen(
    name: str, before: str, after: str, tmp_path: Path
) -> None:
    passing, where = later(tmp_path)
    run_deep(passing.expected, [where["init.py"]], 9)
    followed, path = frozenset(passing.followed), where[name]
    assert path in passing.read
    known = run_deep(passing.does_with, path, followed)
    Path(path).write_text(LATER[name].replace(before, after), encoding="utf-8")
    now = run_deep(PassingNames(FileStore(), {}).does_with, path, followed)
    assert now != known
