"""A part of the analysis that fails at one file costs what is found in that one.

Files that import from it may lose what they have from it, and nothing else; what is said of them
then is never more than what is said where nothing fails.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import libcst as cst
import pytest

from placement_lint.cli import main
from tests.faults.injection import EVERYWHERE, LEAK, Fault, injected
from tests.faults.program import TEXTS, USERS, Said, texts_in, understood, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.faults.program import Place

    Check = Callable[..., Said]

VICTIMS = ("names.py", "data.py", "started.py", "main.py", "alone.py", "train.py", "z_last.py")
RAISED = ("unexpected", "memory", "io")
PARTS = (
    "placement_lint.files.store:read_bytes",
    "placement_lint.files.opening:decode",
    "placement_lint.files.opening:masked",
    "placement_lint.lint.select_files:Selection._sort",
    "placement_lint.lint.select_files:passes_filter",
    "placement_lint.lint.select_files:imported_names",
    "placement_lint.lint.select_files:meanings",
    "placement_lint.lint.select_files:with_imports",
    "placement_lint.lint.select_files:with_meanings",
    "placement_lint.project.imported_names:text_of_source",
    "placement_lint.syntax.parse:parse",
    "placement_lint.syntax.parse:guard",
    "placement_lint.lint.check_file:text_of_source",
    "placement_lint.lint.check_file:Analysis.__init__",
    "placement_lint.lint.check_file:Analysis._visit",
    "placement_lint.lint.check_file:Analysis._reported",
    "placement_lint.lint.check_file:Analysis._about_comments",
    "placement_lint.lint.check_file:lint_source",
    "placement_lint.lint.schedule:_rules_to_run",
    "placement_lint.lint.schedule:_with_sight",
    "placement_lint.files.store:FileStore.source",
    "placement_lint.files.store:FileStore.text",
    "placement_lint.syntax.parse:names_of",
    "placement_lint.project.modules:Modules._found_ways",
    "placement_lint.project.modules:Modules.resolver",
    "placement_lint.project.modules:Modules.may_bring_names",
    "placement_lint.project.modules:Modules._imports_of",
    "placement_lint.project.modules:Modules._known",
    "placement_lint.project.modules:Modules._locate",
    "placement_lint.project.modules:Modules.module_of",
    "placement_lint.project.bindings:read_bindings",
    "placement_lint.project.queries:TrackedQueries.__init__",
    "placement_lint.project.program_view:WholeRun._found",
    "placement_lint.project.program_view:WholeRun._line_of_call",
    "placement_lint.project.program_view:WholeRun.importing",
    "placement_lint.lint.suppressions.comments:Suppressions.__init__",
    "placement_lint.lint.suppressions.comments:Suppressions.apply",
    "placement_lint.project.target:ProjectMetadata.target",
    "placement_lint.lint.check_program:ComponentCheck.load",
    "placement_lint.lint.check_program:ComponentCheck.find",
    "placement_lint.lint.fixes.finalize:offer",
    "placement_lint.placement.flow:interpret_alone",
    "placement_lint.placement.interpreter:Program.import_module",
    "placement_lint.placement.uncalled:UncalledCode.run_functions",
    "placement_lint.semantic.model:ModuleFacts.__init__",
    "placement_lint.semantic.model:ModuleFacts.line_of",
    "placement_lint.semantic.model:ModuleFacts.flow",
    "placement_lint.syntax.edits:Editor.span",
    "placement_lint.syntax.parse:_parsed",
)
"""What is asked about one file."""

TOGETHER = (
    "placement_lint.project.modules:Modules.imports",
    "placement_lint.lint.select_files:Selection.pin",
    "placement_lint.lint.select_files:Selection.components",
    "placement_lint.lint.select_files:Selection.recalled",
    "placement_lint.lint.check_program:group",
    "placement_lint.lint.check_program:ComponentCheck.interpret",
    "placement_lint.lint.check_program:ComponentCheck.lint",
    "placement_lint.lint.schedule:component_task",
    "placement_lint.project.program_view:WholeRun._graph",
)
"""What is asked about several."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = write(tmp_path / "run", TEXTS)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def check(folder: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    """Give the command, in this process."""

    def run(*arguments: str, faults: tuple[Fault, ...] = ()) -> Said:
        with injected(*faults):
            code = main(
                [
                    *("--isolated", "--select", "ALL", "--output-format", "json", "-j", "1"),
                    *(arguments or ("--no-cache",)),
                ]
            )
        return understood(code, *capsys.readouterr())

    return run


@functools.cache
def _well() -> dict[str, Said]:
    return {}


@pytest.fixture
def well(check: Check) -> Said:
    """Give what is found where nothing fails."""
    known = _well()
    if not known:
        known["well"] = check()
        assert known["well"].code == 1
    return known["well"]


def of_others(places: list[Place], victim: str) -> list[Place]:
    apart = {victim, *USERS.get(victim, ())}
    return [place for place in places if place[0] not in apart]


def assert_isolated(said: Said, well: Said, victim: str) -> None:
    """Check that nothing is lost that does not depend on the victim, and nothing is invented."""
    assert of_others(said.places(), victim) == of_others(well.places(), victim)
    assert {*said.places(but=["JDP900", "JDP901"])} <= {*well.places()}
    lost = {*well.places()} - {*said.places()}
    told = {
        each["path"] for each in said.findings if each["code"] in {"JDP900", "JDP901", "JDP903"}
    }
    if lost:
        assert told, "something is lost, and nobody says so"
    if said.failed:
        assert said.code == 2
    assert set(said.failed) <= {victim, *USERS.get(victim, ())} | {min(TEXTS)}
    assert LEAK not in str(said.findings) + said.errors


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize(("number", "part"), [*enumerate(PARTS)])
def test_at_one_file(check: Check, well: Said, number: int, part: str) -> None:
    victim = VICTIMS[number % len(VICTIMS)]
    assert_isolated(check(faults=(Fault(part, file=victim),)), well, victim)


@pytest.mark.every
@pytest.mark.parametrize("kind", RAISED)
@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("part", PARTS)
def test_at_each_file(check: Check, well: Said, part: str, victim: str, kind: str) -> None:
    for after in (0, 2):
        fault = Fault(part, kind, victim, after)
        assert_isolated(check(faults=(fault,)), well, victim)


@pytest.mark.every
@pytest.mark.parametrize("part", [*PARTS, *TOGETHER])
def test_each_part_is_asked(check: Check, part: str) -> None:
    """Otherwise that it fails would show nothing."""
    assert check(faults=(Fault(part, "memory"),)).failed


@pytest.mark.parametrize("part", TOGETHER)
def test_of_several_files(check: Check, well: Said, part: str) -> None:
    """What is found in a file alone is found."""
    said = check(faults=(Fault(part),))
    assert said.code == 2
    alone = {"alone.py", "names.py", "z_last.py"}
    assert {place for place in said.places() if place[0] in alone} == {
        place for place in well.places() if place[0] in alone
    }
    assert {*said.places()} <= {*well.places()}


@pytest.mark.every
@pytest.mark.parametrize("part", PARTS)
def test_fixes(check: Check, folder: Path, part: str) -> None:
    """What is written is what was right without the fault, or nothing."""
    victim = "z_last.py"
    check("--fix", "--no-cache")
    mended = texts_in(folder)
    assert mended != TEXTS
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    check("--fix", "--no-cache", faults=(Fault(part, file=victim),))
    after = texts_in(folder)
    assert after.pop(victim) in {TEXTS[victim], mended.pop(victim)}
    assert after == mended


def test_what_python_itself_does_not_recurse_into(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is what Python 3.12 and 3.13 do with long chains, whatever the stack."""
    real = cst.Module._codegen

    def refuse(self: cst.Module, state: Any, **options: Any) -> None:
        if "device_put" in str(self.body):
            raise RecursionError
        real(self, state, **options)

    monkeypatch.setattr(cst.Module, "_codegen", refuse)
    said = check()
    assert said.failed == {}
    assert said.code == 1
    refused = {place for place in said.places() if place[3] == "JDP901"}
    assert {place[0] for place in refused} >= {"names.py", "main.py", "z_last.py"}
    assert all("too deeply for Python 3." in place[4] for place in refused)
    assert ("alone.py", 6, "JDP201") in {
        (path, line, code) for path, line, _, code, _ in said.places()
    }


def test_everything_fails(check: Check) -> None:
    """Then every file says so."""
    for part in (
        "syntax.parse:parse",
        "lint.select_files:Selection._sort",
        "placement.interpreter:Program.run",
    ):
        said = check(faults=(Fault(f"placement_lint.{part}", file=EVERYWHERE),))
        assert said.code == 2
        assert {"alone.py", "names.py", "data.py", "main.py", "z_last.py"} <= set(said.failed)
