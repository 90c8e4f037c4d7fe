"""What importing does, against what Python does; in circles, and whoever asks first."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from placement_lint.project.import_effects import Importing
from placement_lint.project.project import Project
from placement_lint.semantic.module_summary import Does, Either, Imports, Kind, Perhaps, Summary
from placement_lint.semantic.program_queries import NOTHING, EffectOrigin, ImportEffects

if TYPE_CHECKING:
    from pathlib import Path

JAX = Does(Kind.IMPORTS, "import jax", 1)
START = Does(Kind.STARTS, "jax.devices()", 2)
RESET = Does(Kind.RESETS, "jax.clear_backends()", 3)


def sets(name: str) -> Does:
    return Does(Kind.SETS, name, 1)


def flat(modules: dict[str, Summary], packages: dict[str, list[str]] | None = None) -> Importing:
    """Modules that are named as they are imported, each in its own file."""
    return Importing(
        modules.__getitem__,
        lambda _, name: [name] if name in modules else [],
        lambda path: (packages or {}).get(path, []),
    )


def did(modules: dict[str, Summary], asker: str, name: str) -> ImportEffects:
    return flat(modules).effects(asker, name)


def test_in_order_and_each_once() -> None:
    modules: dict[str, Summary] = {
        "main": (),
        "a": (Imports("b"), sets("A"), Imports("c"), START),
        "b": (sets("B"), sets("A")),
        "c": (Imports("b"), JAX),
    }
    effects = did(modules, "main", "a")
    assert effects.imports_jax == EffectOrigin("c", 1, "import jax")
    assert effects.starts_backend == EffectOrigin("a", 2, "jax.devices()")
    assert {name: origin.path for name, origin in effects.sets_variables.items()} == {
        "A": "b", "B": "b",
    }  # fmt: skip
    assert did(modules, "main", "absent") is NOTHING


@pytest.mark.parametrize(
    ("steps", "started"),
    [
        ((START,), True),
        ((START, RESET), False),
        ((RESET, START), True),
        ((Imports("starts"), RESET), False),
        ((Imports("starts"), Imports("resets")), False),
        ((Imports("starts"), Imports("resets"), Imports("starts")), False),
        ((Imports("resets"), Imports("starts")), True),
        ((Imports("starts"), Imports("resets"), Imports("also")), False),
        ((Either((START,), (START,)),), True),
        ((Either((START,), (JAX,)),), False),
        ((START, Either((RESET,), (JAX,))), False),
        ((START, Either((RESET, START), (JAX,))), True),
        ((Either((Imports("starts"),), (START,)),), True),
        ((Either((Either((START,), (START,)),), (START,)),), True),
        ((Perhaps(("starts",)),), False),
        ((START, Either((RESET,), (RESET,))), False),
        ((START, Either((RESET, START), (RESET,))), False),
        ((START, Either((RESET, START), (RESET, START))), True),
        ((Either((Perhaps(("starts",)),), (START,)),), False),
        ((Either((START, Perhaps(("resets",))), (START,)),), True),
        ((Either((Imports("starts"),), (JAX,)), Either((Imports("starts"),), (START,))), True),
        ((Perhaps(("absent",)), Imports("absent"), START), True),
    ],
)
def test_a_backend_that_is_given_up(steps: Summary, *, started: bool) -> None:
    modules: dict[str, Summary] = {
        "a": steps,
        "starts": (START,),
        "resets": (RESET,),
        "also": (Imports("starts"),),
    }
    assert (did(modules, "main", "a").starts_backend is not None) is started


def test_variables_that_both_branches_set() -> None:
    one, other = (sets("A"), sets("B"), sets("C")), (sets("C"), sets("A"))
    modules: dict[str, Summary] = {"a": (sets("C"), Either(one, other), sets("D"))}
    assert [*did(modules, "main", "a").sets_variables] == ["C", "A", "D"]
    either: dict[str, Summary] = {"a": (Either((sets("A"),), (sets("B"),)),)}
    assert did(either, "main", "a") is NOTHING


CIRCLE: dict[str, Summary] = {
    "a": (Imports("b"), JAX),
    "b": (Imports("a"),),
    "main": (Imports("b"),),
}


def test_a_file_that_asks_is_being_executed() -> None:
    """`a` imports jax only after what it imports has come back to it."""
    assert did(CIRCLE, "a", "b") == NOTHING
    assert did(CIRCLE, "main", "b").imports_jax == EffectOrigin("a", 1, "import jax")
    assert did(CIRCLE, "b", "a").imports_jax == EffectOrigin("a", 1, "import jax")


PACKAGE: dict[str, Summary] = {
    "pkg": (sets("EARLY"), Imports("x"), JAX),
    "x": (sets("X1"), Imports("f"), sets("X2")),
    "f": (Imports("pkg"), Imports("x")),
    "late": (Imports("pkg"), Imports("x")),
}


def test_the_packages_of_a_file_have_come_to_it() -> None:
    """An import of a module of a package begins with the package, which may lead to the module."""
    within = flat(PACKAGE, {"f": ["pkg"], "x": ["pkg"], "late": ["pkg"]})
    assert [*within.effects("f", "pkg").sets_variables] == ["EARLY"]
    assert within.effects("f", "pkg").imports_jax is None
    assert [*within.effects("f", "x").sets_variables] == ["X1"]
    assert [*within.effects("late", "x").sets_variables] == ["X1", "EARLY", "X2"]
    assert within.effects("late", "pkg").imports_jax is not None


def test_a_package_that_perhaps_leads_to_a_file() -> None:
    modules: dict[str, Summary] = {
        "pkg": (sets("EARLY"), Perhaps(("f",)), sets("LATE"), Imports("f")),
        "f": (Imports("pkg"),),
    }
    effects = flat(modules, {"f": ["pkg"]}).effects("f", "pkg")
    assert [*effects.sets_variables] == ["EARLY"]


def test_branches_in_a_circle() -> None:
    modules: dict[str, Summary] = {
        "a": (Either((Imports("b"), JAX), (Imports("b"), Imports("c"), JAX)), Imports("d")),
        "b": (Imports("a"), sets("B")),
        "c": (Imports("a"), sets("C")),
        "d": (sets("D"),),
    }
    effects = did(modules, "main", "a")
    assert sorted(effects.sets_variables) == ["B", "D"]
    assert effects.imports_jax is not None


@pytest.mark.parametrize("closes", [False, True])
def test_a_long_chain(*, closes: bool) -> None:
    count = 5000
    modules: dict[str, Summary] = {str(n): (Imports(str(n + 1)), sets("X")) for n in range(count)}
    modules[str(count)] = (*([Imports("0")] if closes else []), JAX)
    effects = did(modules, "main", "0")
    assert effects.imports_jax == EffectOrigin(str(count), 1, "import jax")
    assert effects.sets_variables == {"X": EffectOrigin(str(count - 1), 1, "X")}


def test_many_in_one_circle_that_all_ask() -> None:
    count = 300
    modules: dict[str, Summary] = {
        str(n): (*(Imports(str((n + k) % count)) for k in (1, 7, 50)), sets(f"V{n}"), JAX)
        for n in range(count)
    }
    importing = flat(modules)
    for n in range(count):
        effects = importing.effects(str(n), str((n + 1) % count))
        assert f"V{n}" not in effects.sets_variables
        assert len(effects.sets_variables) == count - 1


# -- whoever asks first -----------------------------------------------------------------------


def graph(seed: int, *, branches: bool) -> dict[str, list[object]]:
    """Make up modules in packages that import each other: by file, what each does in turn.

    A number is an event, a string a statement, a pair two branches.
    """
    chance = random.Random(seed)  # noqa: S311
    names = ["top", "other", "pkg", "pkg.a", "pkg.b", "pkg.c", "pkg.sub", "pkg.sub.x", "pkg.sub.y"]
    number = itertools.count()
    files: dict[str, list[object]] = {}
    for name in names:
        is_package = name in {"pkg", "pkg.sub"}
        place = name.replace(".", "/") + ("/__init__.py" if is_package else ".py")

        def statement(name: str = name, *, is_package: bool = is_package) -> str:
            other = chance.choice([each for each in names if each != name])
            parent, _, last = other.rpartition(".")
            package = name if is_package else name.rpartition(".")[0]
            if parent and parent == package and chance.random() < 0.5:
                return f"from . import {last}"
            if parent and chance.random() < 0.5:
                return f"from {parent} import {last}"
            return f"import {other}"

        steps: list[object] = []
        for _ in range(chance.randint(1, 4)):
            steps.append(next(number))
            steps.append(statement())
            if branches and chance.random() < 0.3:
                steps.append(([next(number), statement()], [next(number), statement()]))
        steps.append(next(number))
        files[place] = steps
    return files


def summed_up(steps: list[object]) -> Summary:
    found: list[Does | Either | Imports] = []
    for step in steps:
        if isinstance(step, int):
            found.append(sets(str(step)))
        elif isinstance(step, str):
            found.append(Imports(imported(step)))
        else:
            assert isinstance(step, tuple)
            found.append(Either(*map(summed_up, step)))
    return tuple(found)


def imported(statement: str) -> str:
    if statement.startswith("import "):
        return statement.removeprefix("import ")
    _, package, _, name = statement.split()
    return f"{package}{name}" if package == "." else f"{package}.{name}"


def written(steps: list[object], indent: str = "") -> str:
    """Write a module that notes what happens, and when each import of it begins and ends."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"{indent}events.log.append({step})\n"
        elif isinstance(step, str):
            text += (
                f"{indent}events.log.append([__name__, {step!r}, 0])\n{indent}{step}\n"
                f"{indent}events.log.append([__name__, {step!r}, 1])\n"
            )
        else:
            assert isinstance(step, tuple)
            text += f"{indent}if events.flip():\n{written(step[0], indent + '    ')}"
            text += f"{indent}else:\n{written(step[1], indent + '    ')}"
    return text if indent else f"import events\n{text}"


RUNNER = """
import importlib, json, random, sys
import events
results = []
for folder, names in json.load(sys.stdin):
    sys.path.insert(0, folder)
    for name in names:
        for seed in range(4):
            events.log = log = []
            events.flip = lambda chance=random.Random(seed): chance.random() < 0.5
            importlib.invalidate_caches()
            try:
                importlib.import_module(name)
            except ImportError as error:
                log = str(error)
            results.append(log)
            for loaded in [*sys.modules]:
                if loaded.split(".")[0] in {"top", "other", "pkg"}:
                    del sys.modules[loaded]
    sys.path.remove(folder)
print(json.dumps(results))
"""


def during(log: list[object], name: str, statement: str) -> tuple[set[str], set[str]] | None:
    """Return what had happened when an import was done, and what of it while it was under way."""
    if [name, statement, 1] not in log:
        return None
    start, end = log.index([name, statement, 0]), log.index([name, statement, 1])
    happened = {str(event) for event in log[:end] if isinstance(event, int)}
    return happened, {str(event) for event in log[start:end] if isinstance(event, int)}


@pytest.mark.parametrize("branches", [False, True])
def test_as_python_does(tmp_path: Path, *, branches: bool) -> None:
    """Nothing is claimed that did not happen; without branches, nothing is missed that did."""
    (tmp_path / "events.py").write_text("log = []\n")
    count = 20
    asked = []
    for seed in range(count):
        files = graph(seed, branches=branches)
        for place, steps in files.items():
            path = tmp_path / str(seed) / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(written(steps))
        asked.append((str(tmp_path / str(seed)), [*map(module_name, files)]))
    ran = subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=json.dumps(asked), capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    logs = iter(json.loads(ran.stdout))
    compared = 0
    for seed in range(count):
        files = graph(seed, branches=branches)
        folder = tmp_path / str(seed)
        importing = importing_in(folder, files)
        for place, steps in files.items():
            runs = [next(logs) for _ in range(4)]
            for statement in {step for step in steps if isinstance(step, str)}:
                claims = {
                    *importing.effects(str(folder / place), imported(statement)).sets_variables
                }
                for log in runs:
                    seen = during(log, module_name(place), statement)
                    if isinstance(log, str) or seen is None:
                        continue
                    happened, meanwhile = seen
                    compared += 1
                    assert claims <= happened, (seed, place, statement)
                    if not branches:
                        assert meanwhile <= claims, (seed, place, statement)
    assert compared > count


def importing_in(folder: Path, files: dict[str, list[object]]) -> Importing:
    paths = [str(folder / place) for place in files]
    project = Project(paths, paths)
    summaries = {str(folder / place): summed_up(steps) for place, steps in files.items()}
    return Importing(summaries.__getitem__, project.modules_run_by, project.packages_above)


def module_name(place: str) -> str:
    return place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@pytest.mark.parametrize("seed", range(20))
def test_whoever_asks_first(tmp_path: Path, seed: int) -> None:
    files = graph(seed, branches=True)
    for place, steps in files.items():
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(written(steps))
    questions = [
        (str(tmp_path / place), imported(step))
        for place, steps in files.items()
        for step in steps
        if isinstance(step, str)
    ]
    alone = {each: importing_in(tmp_path, files).effects(*each) for each in questions}
    for number in range(5):
        chance = random.Random(number)  # noqa: S311
        order = chance.sample(questions, len(questions))
        shuffled = dict(chance.sample([*files.items()], len(files)))
        importing = importing_in(tmp_path, shuffled)
        assert {each: importing.effects(*each) for each in order} == alone
