"""Files that a program reads and that are no members of it: what is found where it never looks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from placement_lint.config.settings import Settings
from placement_lint.lint import run, uncalled
from placement_lint.lint.incremental.cache import cache_for
from placement_lint.lint.linter import Linter
from placement_lint.lint.results import FixMode
from placement_lint.project import small_programs
from placement_lint.rules.meshes.mesh_axis_unknown import MeshAxisUnknown

if TYPE_CHECKING:
    from placement_lint.lint.results import Outcome

PROGRAM = {
    "data": """\
import jax
import jax.numpy as jnp
with jax.default_device(jax.devices("cpu")[0]):
    rows = jnp.ones((3, 4))
""",
    "main": """\
from data import rows
import helpers
helpers.show(rows)
""",
}
HELPERS = """\
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

AXES = ("a",)
MESH = Mesh(np.array(jax.devices()[:1]), AXES)


class Kept:
    axes = ("a",)


def show(x):
    for step in range(3):
        print(x + step)  # found
"""
UNKNOWN_AXIS = 'NamedSharding(MESH, P("b"))'
TWICE = 'NamedSharding(MESH, P("a", "a"))'
ADDED = [
    ("a function", f"def unused():\n    return {UNKNOWN_AXIS}  # JDP701\n"),
    ("an async function", f"async def unused():\n    return {UNKNOWN_AXIS}  # JDP701\n"),
    ("a method", f"class C:\n    def unused(self):\n        return {UNKNOWN_AXIS}  # JDP701\n"),
    (
        "one in another",
        "def unused():\n    def inner():\n"
        f"        return {UNKNOWN_AXIS}  # JDP701\n    return inner\n",
    ),
    (
        "beside what the program finds there by the text",
        "def unused(x):\n"
        '    jax.lax.with_sharding_constraint(x, NamedSharding(MESH, P("a")))  # JDP716\n'
        f"    return {UNKNOWN_AXIS}  # JDP701\n",
    ),
]
"""What follows in the file is found there."""
SILENT = [
    (
        "it is executed, and the variable is another one by then",
        "def make():\n    return NamedSharding(MESH, P('b'))\n",
        "helpers.MESH = jax.sharding.Mesh(jax.devices()[:1], ('b',))\nhelpers.make()\n",
    ),
    (
        "the program replaces a variable that it reads",
        f"def unused():\n    return {UNKNOWN_AXIS}\n",
        "helpers.MESH = jax.sharding.Mesh(jax.devices()[:1], ('b',))\n",
    ),
    (
        "it replaces the attribute of a class that it reads",
        "def unused():\n    return NamedSharding(Mesh(jax.devices()[:1], Kept.axes), P('b'))\n",
        "helpers.Kept.axes = ('b',)\n",
    ),
    (
        "it replaces functions of JAX",
        f"def unused():\n    return {UNKNOWN_AXIS}\n",
        "jax.sharding.PartitionSpec = print\n",
    ),
]


def check(
    folder: Path,
    helpers: str,
    main: str = "",
    *,
    fix: FixMode = FixMode.NONE,
) -> Outcome:
    texts = {**PROGRAM, "helpers": HELPERS + "\n\n" + helpers}
    texts["main"] = "import jax\n" + texts["main"] + main
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    linter = Linter(lambda _: Settings(unsafe_fixes=True), folders=True, fix=fix)
    return linter.check([str(path) for path in sorted(folder.glob("*.py"))])


def found(outcome: Outcome) -> list[tuple[int, str]]:
    return [
        (each.span.line, each.code)
        for each in outcome.findings
        if Path(each.path).stem == "helpers"
    ]


@pytest.fixture(autouse=True)
def _large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read files on demand, as in a large program."""
    monkeypatch.setattr(small_programs, "MOST_FILES", 0)


@pytest.mark.parametrize("helpers", [case[1] for case in ADDED], ids=[case[0] for case in ADDED])
def test_what_is_not_executed_is_checked(helpers: str, tmp_path: Path) -> None:
    got = found(check(tmp_path, helpers))
    lines = (tmp_path / "helpers.py").read_text(encoding="utf-8").splitlines()
    due = [
        (number, line.partition("  # ")[2])
        for number, line in enumerate(lines, 1)
        if "  # JDP" in line
    ]
    shown = lines.index("        print(x + step)  # found") + 1
    assert [each for each in got if each[0] != shown] == due
    assert any(line == shown for line, _ in got)


@pytest.mark.parametrize(
    ("helpers", "main"), [case[1:] for case in SILENT], ids=[case[0] for case in SILENT]
)
def test_what_the_program_knows_better_is_not_found(
    helpers: str, main: str, tmp_path: Path
) -> None:
    assert found(check(tmp_path, helpers, main)) == found(check(tmp_path, "", main))


OTHER_WAYS = [
    ("the default device is set for good", "jax.config.update('jax_default_device', None)\n"),
    ("the function is given to what compiles it", "jax.jit(helpers.unused)\n"),
]


@pytest.mark.parametrize("main", [case[1] for case in OTHER_WAYS], ids=[c[0] for c in OTHER_WAYS])
def test_nothing_more_is_found_where_other_files_decide(main: str, tmp_path: Path) -> None:
    helpers = f"def unused():\n    return {UNKNOWN_AXIS}\n"
    assert (19, "JDP701") not in found(check(tmp_path, helpers, main))


def test_under_a_mesh_that_is_set_only_what_is_so_on_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helpers = f"def unused():\n    return {UNKNOWN_AXIS}\n"
    assert (19, "JDP701") in found(check(tmp_path, helpers, "jax.set_mesh(None)\n"))
    monkeypatch.setattr(MeshAxisUnknown, "holds_on_any_mesh", False)
    assert (19, "JDP701") not in found(check(tmp_path, helpers, "jax.set_mesh(None)\n"))
    assert (19, "JDP701") in found(check(tmp_path, helpers))


def test_what_runs_where_a_function_is_defined_is_the_program_s(tmp_path: Path) -> None:
    main = "helpers.AXES = ('b',)\n"
    helpers = f"def unused(spec={UNKNOWN_AXIS}):\n    return spec\n"
    assert found(check(tmp_path, helpers)) == [(15, "JDP202"), (18, "JDP701")]
    nested = f"def called():\n    def inner():\n        return {UNKNOWN_AXIS}\n    return 1\n"
    assert found(check(tmp_path, nested, "helpers.called()\n" + main)) == [(15, "JDP202")]


def test_comments_are_judged_by_all_that_is_found(tmp_path: Path) -> None:
    helpers = (
        f"def unused():\n    return {UNKNOWN_AXIS}  # placement-lint: ignore[JDP701]\n"
        f"def other():\n    return {TWICE}  # placement-lint: ignore[JDP701]\n"
    )
    outcome = check(tmp_path, helpers)
    assert found(outcome) == [(15, "JDP202"), (21, "JDP702"), (21, "JDP902")]
    assert [each.finding.code for each in outcome.suppressed] == ["JDP701"]


def test_fixes_edit_nothing_that_is_executed(tmp_path: Path) -> None:
    helpers = 'AXIS = ("a", None)\n\n\ndef unused():\n    return NamedSharding(MESH, ("a", None))\n'
    outcome = check(tmp_path, helpers, fix=FixMode.APPLY)
    text = (tmp_path / "helpers.py").read_text(encoding="utf-8")
    assert text == f"{HELPERS}\n\n{helpers.replace('MESH, (', 'MESH, P(')}"
    assert "device_put" in (tmp_path / "data.py").read_text(encoding="utf-8")
    assert not outcome.findings


def test_a_fix_is_not_offered_that_edits_what_is_executed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helpers = (
        'BATCHES = Mesh(np.array(jax.devices()[:1]), ("batch",))\n'
        'def unused():\n    return NamedSharding(BATCHES, P("batsh"))\n'
    )
    (*_, last) = check(tmp_path, helpers).findings
    assert last.code == "JDP701"
    assert last.fix is not None
    monkeypatch.setattr(uncalled, "_is_in", lambda *_: False)
    (*_, again) = check(tmp_path, helpers).findings
    assert again == replace(last, fix=None, advice=again.advice)
    assert again.advice


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_next_run_finds_the_same(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "PARALLEL_BYTES", 0)
    monkeypatch.chdir(tmp_path)
    texts = {**PROGRAM, "helpers": f"{HELPERS}\n\ndef unused():\n    return {UNKNOWN_AXIS}\n"}
    for name, text in texts.items():
        Path(f"{name}.py").write_text(text, encoding="utf-8")
    paths = sorted(f"{name}.py" for name in texts)
    for more in ("", "", "import helpers\nhelpers.AXES = ('b',)\n"):
        with Path("main.py").open("a", encoding="utf-8") as file:
            file.write(more)
        cache = cache_for(".", ["."])
        again, whole = (
            Linter(lambda _: Settings(), folders=True, jobs=jobs, cache=each).check(paths)
            for each in (cache, None)
        )
        assert again.findings == whole.findings
        assert found(again) == [(15, "JDP202"), (19, "JDP701")][: 1 if more else 2]
