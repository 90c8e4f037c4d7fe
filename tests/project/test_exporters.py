"""Which modules pass on names of JAX: those that asking each of them finds, and few are asked."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from placement_lint.project.modules import Modules, _NameIn
from placement_lint.project.project import Project
from placement_lint.project.roots import mentions_roots
from tests.counting import counted
from tests.project.test_program_view import write

PLAIN = "import json\nfrom logging import getLogger\n\nlog = getLogger(json.__name__)\n"


def project_of(paths: list[str]) -> Project:
    return Project(paths, [path for path in paths if mentions_roots(Path(path).read_bytes())])


def naive(project: Project) -> dict[str, set[str]]:
    """Return from each exporting module the names that lead to JAX, by asking all of them."""
    exporting: dict[str, set[str]] = {}
    others: list[tuple[str, str, set[str]]] = []
    for module in project.places.by_place.values():
        for head, (names, places) in project._exported_by(module).items():
            if names:
                exporting.setdefault(module, set()).add(head)
            elif places:
                others.append((module, head, places))
    above = project._exporters._above
    while True:
        leading = {place for module in exporting for place in above(module)}
        before = {module: {*heads} for module, heads in exporting.items()}
        for module, head, places in others:
            if not leading.isdisjoint(places):
                exporting.setdefault(module, set()).add(head)
        if exporting == before:
            return exporting


def may_bring(project: Project, path: str) -> bool:
    """Return whether a file may have a name of JAX by its imports, by following all of them."""
    above = project._exporters._above
    leading = {place for module in naive(project) for place in above(module)}
    ways = [way for found in project._ways_of(path).values() for way in found if way.is_import]
    ends = [
        project._ends(_NameIn(path, way.target))
        for way in ways
        if project.may_be_of_run(way.target)
    ]
    return any(names or not places.isdisjoint(leading) for names, places in ends)


def program(seed: int) -> dict[str, str]:
    """Return packages whose modules import from one another in every way."""
    chance = random.Random(seed)  # noqa: S311
    names = ["a", "b", "c", "d"]
    files: dict[str, str] = {}
    places = [f"{p}/{m}" for p in names for m in ("__init__", "x", "y")]
    places += [f"{p}/sub/{m}" for p in names[:2] for m in ("__init__", "x", "z")]
    places += ["main", "other"]
    for place in places:
        if place.endswith("__init__") and chance.random() < 0.2:
            continue
        lines = ["import json"]
        for _ in range(chance.randint(0, 3)):
            package, module = chance.choice(names), chance.choice(["x", "y", "sub", "jnp"])
            name = chance.choice(["jnp", "jax", "x", "tool", "*"])
            ways = [
                f"from {package}.{module} import {name}",
                f"from .{module} import {name}",
                f"from . import {name}",
                f"from .. import {name}",
                f"from ..{package} import {name}",
                f"import {package}.{module}",
                f"import {package} as tool",
                f"from {package} import {name}",
            ]
            lines.append(chance.choice(ways))
        if chance.random() < 0.15:
            lines.append("import jax.numpy as jnp")
        if chance.random() < 0.3:
            lines.append("tool = x.y")
        files[f"{place}.py"] = "\n".join(lines) + "\n"
    return files


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("seed", range(40))
def test_the_same_modules_are_found_as_by_asking_all(tmp_path: Path, seed: int) -> None:
    paths = write(tmp_path, program(seed))
    project = project_of(paths)
    assert project._exporters.heads == naive(project_of(paths))
    for path in paths:
        assert project.may_bring_names(path) == may_bring(project_of(paths), path)


def monorepo(files: int) -> dict[str, str]:
    """Return many files, of which a few have to do with JAX; and half are copies of others."""
    found = {f"apps/p{n % 7}/m{n}.py": f"{PLAIN}from m{n + 1} import log\n" for n in range(files)}
    for n in range(files):
        found[f"copies/c{n}/lib/__init__.py"] = PLAIN
        found[f"copies/c{n}/use.py"] = "from lib import log\nimport lib.missing\n"
    found["core/compat.py"] = "import jax.numpy as jnp\n"
    found["core/again.py"] = "from compat import jnp\n"
    found["core/user.py"] = "from again import jnp\n"
    return found


def test_few_files_are_read_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = write(tmp_path, monorepo(12))
    project = project_of(paths)
    read: Counter[str] = Counter()
    real = Modules._found_ways

    def counting(self: Modules, path: str, text: str | None) -> object:
        read[path.rpartition("/")[2]] += 1
        return real(self, path, text)

    monkeypatch.setattr(Modules, "_found_ways", counting)
    bringing = [path.rpartition("/")[2] for path in paths if project.may_bring_names(path)]
    assert sorted(bringing) == ["again.py", "user.py"]
    assert read == {"compat.py": 1, "again.py": 1, "user.py": 1}


def test_more_files_take_their_share(tmp_path: Path) -> None:
    made = []
    for size in (10, 40):
        paths = write(tmp_path / str(size), monorepo(size))
        project = project_of(paths)
        with counted() as calls:
            assert project.exports_roots
            assert sum(map(project.may_bring_names, paths)) == 2
            assert len(project.imports) > size
        made.append(calls.made)
    assert made[1] <= 4.6 * made[0]
