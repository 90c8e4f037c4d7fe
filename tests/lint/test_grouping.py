"""Grouping by example: which files are interpreted together, because a placement gets there."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from placement_lint.config.settings import Settings
from placement_lint.lint import check_program
from placement_lint.lint.linter import Linter
from placement_lint.placement.engine import linking
from placement_lint.project import small_programs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.lint.check_program import Component, ComponentCheck
    from placement_lint.placement.facts.module import Module
    from placement_lint.placement.interpreter import Program

DATA = """\
import jax
import jax.numpy as jnp
with jax.default_device(jax.devices("cpu")[0]):
    rows = jnp.ones((3, 4))
SIZE = 3
def twice(x):
    return 2 * x
def load():
    return rows
def show():
    print(rows[0])
def save(path):
    jnp.save(path, rows)
def each(callback):
    callback(rows)
class Store:
    def __init__(self):
        self.rows = load()
class Loader:
    def __init__(self, path):
        self.path = path
        self.kept = None
    def read(self):
        with jax.default_device(jax.devices("cpu")[0]):
            return jnp.ones((3, 4))
    def first(self):
        return self.read()[0]
    def keep(self):
        self.kept = self.read()
    def size(self):
        return len(self.path)
"""
GROUPS = [
    ("an array is imported", {"b": "from data import rows\nrows[0]"}, "b data"),
    ("a function that gives one is", {"b": "from data import load\nload()[0]"}, "b data"),
    ("the module is, and the array used", {"b": "import data\ndata.rows[0]"}, "b data"),
    ("the module is, and something else used", {"b": "import data\ndata.SIZE"}, "data"),
    ("something else is imported", {"b": "from data import SIZE, twice\ntwice(SIZE)"}, "data"),
    ("all names are", {"b": "from data import *\nrows[0]"}, "b data"),
    (
        "it is handed on",
        {"b": "from data import rows\n", "c": "from b import rows\nrows[0]"},
        "b c data",
    ),
    (
        "it is handed on under another name",
        {"b": "from data import load\nkept = load()", "c": "from b import kept\nkept[0]"},
        "b c data",
    ),
    (
        "it ends in a file that another imports",
        {"b": "from data import rows\nN = len(rows)", "c": "from b import N\nprint(N)"},
        "b data",
    ),
    ("a function that copies what it placed is", {"b": "from data import show\nshow()"}, "b data"),
    ("one that gives it to a library is", {"b": "from data import save\nsave('rows')"}, "data"),
    (
        "one that gives it to its caller's function is",
        {"b": "from data import each\neach(lambda rows: rows[0])"},
        "b data",
    ),
    (
        "a class that holds one is only named as a type",
        {"b": "from data import Store\ndef f(s: Store) -> Store:\n    return s"},
        "data",
    ),
    (
        "a class that holds one is called",
        {"b": "from data import Store\ndef f():\n    return Store().rows[0]"},
        "b data",
    ),
    (
        "a class is called of which only a method places",
        {"b": "from data import Loader\nLoader('x').size()"},
        "data",
    ),
    (
        "the method that places is called",
        {"b": "from data import Loader\nLoader('x').read()[0]"},
        "b data",
    ),
    (
        "one that calls it is",
        {"b": "from data import Loader\nLoader('x').first()"},
        "b data",
    ),
    (
        "one that stores it in the object is",
        {"b": "from data import Loader\nl = Loader('x')\nl.keep()\nl.kept[0]"},
        "b data",
    ),
    (
        "what others have stored in the object is read",
        {"b": "from data import Loader\nclass Mine(Loader):\n  def f(self): return self.kept[0]"},
        "b data",
    ),
    (
        "it is named in a text",
        {"b": "from data import Loader\ngetattr(Loader('x'), 'read')()[0]"},
        "b data",
    ),
    (
        "a subclass is made that nobody calls so",
        {
            "b": "from data import Loader\nclass Mine(Loader): ...",
            "c": "from b import Mine\nMine('x')",
        },
        "data",
    ),
    (
        "it is called in a third file",
        {
            "b": "from data import Loader\nclass Mine(Loader): ...",
            "c": "from b import Mine\nMine('x').read()[0]",
            "d": "from b import Mine\nMine('x').size()",
        },
        "b c data",
    ),
    (
        "it is called in a block's head",
        {"b": "from data import Loader\nfor row in Loader('x').read(): print(row)"},
        "b data",
    ),
    (
        "a function that only passes on what it is given",
        {
            "b": "from data import rows\nfrom same import same\nsame(rows)",
            "same": "def same(x):\n    return x",
            "c": "from same import same\nsame(1)",
        },
        "b data",
    ),
]


@pytest.mark.parametrize(
    ("files", "expected"), [case[1:] for case in GROUPS], ids=[case[0] for case in GROUPS]
)
def test_files_of_a_program(
    files: dict[str, str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members: set[str] = set()
    group = check_program._group

    def recorded(component: Component, together: ComponentCheck) -> ComponentCheck:
        done = group(component, together)
        members.update(Path(path).stem for path in done.members)
        return done

    monkeypatch.setattr(check_program, "_group", recorded)
    monkeypatch.setattr(small_programs, "MOST_FILES", 0)
    for name, text in {"data": DATA, **files}.items():
        (tmp_path / f"{name}.py").write_text(f"{text}\n", encoding="utf-8")
    Linter(lambda _: Settings(), folders=True).check([str(path) for path in tmp_path.iterdir()])
    assert sorted(members) == expected.split()


def test_a_program_that_is_executed_again_is_freed_without_a_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a large one that takes seconds, and two at a time take too much memory."""
    programs: list[weakref.ref[Program]] = []
    alive: list[int] = []
    interpreted = check_program.ComponentCheck.interpreted

    def watched(
        self: ComponentCheck, members: Iterable[str], *, follows: bool | None = None
    ) -> dict[str, Module] | None:
        alive.append(sum(each() is not None for each in programs))
        found = interpreted(self, members, follows=follows)
        assert self.program is not None
        programs.append(weakref.ref(self.program))
        return found

    monkeypatch.setattr(check_program.ComponentCheck, "interpreted", watched)
    monkeypatch.setattr(gc, "collect", lambda *_: 0)
    monkeypatch.setattr(small_programs, "MOST_FILES", 0)
    texts = {"data": DATA, "b": "from data import load\nkept = load()", "c": "from b import kept"}
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(f"{text}\nprint(kept[0])\n", encoding="utf-8")
    gc.disable()
    try:
        Linter(lambda _: Settings(), folders=True).check([str(each) for each in tmp_path.iterdir()])
    finally:
        gc.enable()
    assert len(alive) > 1
    assert not any(alive)


def _rounds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of files of each round of a run, as they begin."""
    rounds: list[int] = []
    interpreted = check_program.ComponentCheck.interpreted

    def counted(
        self: ComponentCheck, members: Iterable[str], *, follows: bool | None = None
    ) -> dict[str, Module] | None:
        rounds.append(len({*members}))
        return interpreted(self, members, follows=follows)

    monkeypatch.setattr(check_program.ComponentCheck, "interpreted", counted)
    return rounds


@pytest.mark.parametrize(("most", "expected"), [(31, [1, 31]), (5, [1])])
def test_a_program_of_many_files_is_executed_in_two_rounds(
    most: int, expected: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each round executes all files: those that a placement gets to later join at once."""
    rounds = _rounds(monkeypatch)
    monkeypatch.setattr(check_program, "_MOST_MEMBERS", most)
    texts = {"data": DATA}
    for number in range(10):
        texts[f"kept{number}"] = "from data import load\nkept = load()"
        texts[f"taken{number}"] = f"from kept{number} import kept\nbatch = {{'x': kept}}"
        texts[f"used{number}"] = f"from taken{number} import batch\nprint(batch['x'][0])"
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(f"{text}\n", encoding="utf-8")
    outcome = Linter(lambda _: Settings(), folders=True).check(
        [str(path) for path in tmp_path.iterdir()]
    )
    assert rounds == expected
    found = {Path(finding.path).stem for finding in outcome.findings}
    assert (found >= {f"used{number}" for number in range(10)}) == (len(rounds) == 2)


def test_what_is_made_under_a_default_device_joins_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before its arguments are known, a function gives no placed array: its callers join with
    those to which a placement surely gets, and so do the files to which these hand it on.
    """
    rounds = _rounds(monkeypatch)
    monkeypatch.setattr(small_programs, "MOST_FILES", 0)
    monkeypatch.setattr(linking, "_MOST_FOLLOWED", 0)
    initialize = """
def initialize(model):
    with jax.default_device(jax.devices("cpu")[0]):
        return model.init()
class Model:
    def init(self):
        return jnp.ones((3, 4))
"""
    texts = {
        "data": DATA + initialize,
        "made": "from data import initialize, Model\nrows = initialize(Model())",
        "late": "from made import rows\nprint(rows[0])",
        "used": "from data import *\nprint(load()[0], initialize(Model())[0])",
    }
    for number in range(9):
        texts[f"kept{number}"] = "from data import load\nkept = load()"
        texts[f"size{number}"] = "from data import SIZE\nprint(SIZE)"
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(f"{text}\n", encoding="utf-8")
    outcome = Linter(lambda _: Settings(), folders=True).check(
        [str(path) for path in tmp_path.iterdir()]
    )
    assert rounds == [1, 13]
    assert "late" in {Path(finding.path).stem for finding in outcome.findings}


def test_packages_that_hand_names_on_join_with_the_files_to_which_names_are_passed_on() -> None:
    members = {f"member{number}" for number in range(10)}
    importing = {f"importing{number}" for number in range(10)}
    importers = {"member0": {*importing, "likely", "pkg/__init__.py"}, "sure": {"likely"}}
    surely, likely = {"sure"}, {"sure", "likely"}
    expected = check_program._expected(members, surely, likely, importers)
    assert expected == {"sure", "likely", "pkg/__init__.py"}
    few = {"member0": {"likely", "importing0", "pkg/__init__.py"}}
    every = check_program._expected(members, surely, likely, few)
    assert every >= {"importing0", "pkg/__init__.py"}


def test_what_a_placement_surely_gets_to_is_executed_next() -> None:
    members = {f"m{number}.py" for number in range(20)}
    surely = {"a.py", "b.py"}
    importers = {"m0.py": {"a.py", "b.py", *(f"u{number}.py" for number in range(50))}}
    for likely in (set[str](), {"u0.py"}, {f"u{number}.py" for number in range(50)}):
        assert surely <= check_program._expected(members, surely, likely, importers)


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (40, [(False, 3), (True, 5)]),
        (5, [(False, 3), (True, 5)]),
        (4, [(False, 3), (True, 4)]),
        (3, [(False, 3)]),
    ],
)
def test_calls_into_other_files_are_followed_in_programs_of_few_files(
    most: int, expected: list[tuple[bool, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each round says whether it follows them, and how many files it has in the end."""
    rounds: list[tuple[bool, int]] = []
    interpreted = check_program.ComponentCheck.interpreted

    def noted(
        self: ComponentCheck, members: Iterable[str], *, follows: bool | None = None
    ) -> dict[str, Module] | None:
        modules = interpreted(self, members, follows=follows)
        if len(self.members) > 1 and self.program is not None:
            rounds.append((bool(follows), len(self.program.modules)))
        return modules

    monkeypatch.setattr(check_program.ComponentCheck, "interpreted", noted)
    monkeypatch.setattr(linking, "_MOST_FOLLOWED", most)
    monkeypatch.setattr(small_programs, "MOST_FILES", 0)
    texts = {
        "data": "import jax\ndef load():\n    return jax.device_put(1.0, jax.devices('cpu')[0])",
        "deep": "import jax.numpy as jnp\ndef ones():\n    return jnp.ones(8)",
        "made": "from deep import ones\ndef make():\n    return ones()",
        "kept": "from data import load\nkept = load()\nprint(kept + 1)",
        "used": """
import jax
from data import load
from made import make
step = jax.jit(lambda x, y: x + y)
step(load(), make())
""",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(f"{text}\n", encoding="utf-8")
    Linter(lambda _: Settings(), folders=True).check([str(path) for path in tmp_path.iterdir()])
    assert rounds == expected


@pytest.mark.parametrize(("first", "found"), [("", 1), ("import jax\n", 0)])
def test_text_without_jax_counts_for_less(
    first: str, found: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_programs, "MOST_CHARACTERS", 1000)
    texts = {
        "axes": 'AXES = {"rows": "fsdp"}',
        "settings": f"{first}import axes\nWORDS = '{'x' * 900}'",
        "train": """
import axes
import jax
import numpy as np
import settings
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(axes.AXES["rows"]))
""",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(f"{text}\n", encoding="utf-8")
    linter = Linter(lambda _: Settings(select=("JDP701",)), folders=True)
    report = linter.check([str(path) for path in tmp_path.iterdir()])
    assert [each.code for each in report.findings] == ["JDP701"] * found
