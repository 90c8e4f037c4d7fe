"""What does not come to an end is a finding of its file: all else is as though it were not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults.injection import Fault
from tests.faults.program import TEXTS, USERS, Said, hazards, run, texts_in, write

if TYPE_CHECKING:
    from pathlib import Path

EVERY = pytest.mark.every
LIMIT = ("--file-time-limit", "1")
RULE = "placement_lint.rules.commitment.device_put_discarded:DevicePutDiscarded.visit_Expr"
PARSE = "placement_lint.syntax.parse:parse"
FOLLOW = "placement_lint.lint.check_program:ComponentCheck._read"
ALONE = "not checked to the end: it took more than 1 s of CPU time (`file-time-limit`)"


def unfinished(said: Said) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in said.findings:
        if each["code"] == "JDP900":
            found.setdefault(each["path"], []).append(each["message"])
    return found


def test_the_steps_of_the_sample_exist() -> None:
    assert STEPS.keys() >= FEW


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=EVERY)])
def test_a_rule(folder: Path, well: Said, jobs: int) -> None:
    """What others found in the file by then stands."""
    (folder / "z_last.py").write_text(
        "import jax\n\njax.default_device = jax.devices('cpu')[0]\n" + TEXTS["z_last.py"][11:],
        encoding="utf-8",
    )
    fault = Fault(RULE, "endless", "z_last.py")
    said = run(folder, "--no-cache", *LIMIT, faults=(fault,), jobs=jobs)
    assert said.code == 1
    assert unfinished(said) == {"z_last.py": [ALONE]}
    others = [place for place in said.places() if place[0] != "z_last.py"]
    assert others == [place for place in well.places() if place[0] != "z_last.py"]
    assert "JDP101" in {each["code"] for each in said.findings if each["path"] == "z_last.py"}
    assert said.failed == {}


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=EVERY)])
def test_a_file_as_a_whole(folder: Path, well: Said, jobs: int) -> None:
    fault = Fault(PARSE, "endless", "alone.py")
    said = run(folder, "--no-cache", *LIMIT, faults=(fault,), jobs=jobs)
    assert unfinished(said) == {"alone.py": [ALONE]}
    assert [p for p in said.places() if p[0] != "alone.py"] == [
        place for place in well.places() if place[0] != "alone.py"
    ]


WITHOUT = "checked without `{}`, which is not checked to the end: findings may be missing"


def test_files_as_one_program(folder: Path, well: Said) -> None:
    """The others are analysed without it, and what has to do with it is named."""
    said = run(folder, "--no-cache", *LIMIT, faults=(Fault(FOLLOW, "endless", "data.py"),))
    assert unfinished(said) == {"data.py": [ALONE], "train.py": [WITHOUT.format("data.py")]}
    assert [place for place in said.places() if place[3] != "JDP900"] == [
        place for place in well.places() if place[:2] != ("train.py", 4)
    ]


def test_a_neighbour_keeps_its_findings(folder: Path) -> None:
    text = "from data import table as other\n\nb = other[0]\n"
    (folder / "bad.py").write_text(text, encoding="utf-8")
    well = run(folder, "--no-cache")
    said = run(folder, "--no-cache", *LIMIT, faults=(Fault(FOLLOW, "endless", "bad.py"),))
    assert unfinished(said) == {"bad.py": [ALONE], "data.py": [WITHOUT.format("bad.py")]}
    assert ("train.py", "JDP201") in {(place[0], place[3]) for place in said.places()}
    assert said.places(but=["JDP900"]) == [place for place in well.places() if place[0] != "bad.py"]


STEPS = {
    "placement_lint.lint.select_files:Selection._sort": "data.py",
    "placement_lint.project.modules:Modules._found_ways": "data.py",
    "placement_lint.project.modules:Modules._imports_of": "data.py",
    "placement_lint.project.bindings:read_bindings": "names.py",
    "placement_lint.project.program_view:WholeRun._summed_up": "started.py",
    "placement_lint.lint.select_files:Selection._gains": "uses.py",
    "placement_lint.lint.suppressions.comments:Suppressions.apply": "names.py",
    "placement_lint.lint.schedule:_rules_to_run": "z_last.py",
}
"""What there is to do about a file, and one about which there is."""
FEW = {
    "placement_lint.project.bindings:read_bindings",
    "placement_lint.lint.select_files:Selection._gains",
    "placement_lint.lint.suppressions.comments:Suppressions.apply",
}


@pytest.mark.parametrize(
    "step", [step if step in FEW else pytest.param(step, marks=EVERY) for step in STEPS]
)
def test_each_step(folder: Path, well: Said, step: str) -> None:
    """It is at the expense of the file that it is about: only what depends on that is lost.

    For some steps; for all of them with `pytest -m every tests/faults`.
    """
    name = STEPS[step]
    started = children_seconds()
    said = run(folder, "--no-cache", *LIMIT, faults=(Fault(step, "endless", name),))
    seconds = children_seconds() - started
    users = USERS.get(name, set())
    assert unfinished(said)[name] == [ALONE]
    assert unfinished(said).keys() <= {name} | users
    lost = {place[0] for place in {*well.places()} - {*said.places()}}
    assert lost <= {name} | users
    assert seconds < 4
    assert said.code == 1


def test_the_run_as_a_whole(folder: Path, well: Said) -> None:
    """What was found by then stands, and all that was not checked is named."""
    fault = Fault(RULE, "endless", "main.py")
    limits = ("--file-time-limit", "0", "--time-limit", "2")
    said = run(folder, "--no-cache", *limits, faults=(fault,))
    over = "not checked to the end: the run took more than 2 s of CPU time (`time-limit`)"
    assert unfinished(said)["main.py"] == [over]
    assert {message for messages in unfinished(said).values() for message in messages} == {over}
    assert {*said.places(but=["JDP900"])} <= {*well.places()}
    checked = {place[0] for place in well.places()} - unfinished(said).keys()
    assert "data.py" not in unfinished(said)
    for path in checked:
        assert [p for p in said.places() if p[0] == path] == [
            p for p in well.places() if p[0] == path
        ]


@EVERY
def test_the_run_as_a_whole_in_processes(folder: Path, well: Said) -> None:
    limits = ("--file-time-limit", "0", "--time-limit", "4")
    faults = (Fault(RULE, "endless", "main.py"), Fault(RULE, "endless", "z_last.py"))
    started = children_seconds()
    said = run(folder, "--no-cache", *limits, faults=faults, jobs=2)
    assert {"main.py", "z_last.py"} <= unfinished(said).keys()
    assert {*said.places(but=["JDP900"])} <= {*well.places()}
    assert children_seconds() - started < 8


def children_seconds() -> float:
    """Give the processor time of the processes that were started and have ended."""
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_fixes_of_other_files_go_on(folder: Path, well: Said) -> None:
    fault = Fault(RULE, "endless", "z_last.py")
    said = run(folder, "--no-cache", "--fix", *LIMIT, faults=(fault,))
    assert unfinished(said) == {"z_last.py": [ALONE]}
    texts = texts_in(folder)
    assert texts["z_last.py"] == TEXTS["z_last.py"]
    assert texts["alone.py"] != TEXTS["alone.py"]


@pytest.mark.parametrize(
    ("step", "file"),
    [(FOLLOW, "data.py"), pytest.param(RULE, "z_last.py", marks=EVERY)],
)
def test_it_is_not_remembered(
    folder: Path, tmp_path: Path, well: Said, step: str, file: str
) -> None:
    """In what a program is followed by; also in a rule with `pytest -m every tests/faults`."""
    cache = ("--cache-dir", str(tmp_path / file))
    assert unfinished(run(folder, *cache, *LIMIT, faults=(Fault(step, "endless", file),)))
    said = run(folder, *cache, *LIMIT)
    assert unfinished(said) == {}
    assert said.places() == well.places()


def test_as_long_as_it_likes(folder: Path, well: Said) -> None:
    assert run(folder, "--no-cache", "--file-time-limit", "0").places() == well.places()


@EVERY
@pytest.mark.parametrize("jobs", [1, 2])
def test_each_rule(tmp_path: Path, jobs: int) -> None:
    folder = write(tmp_path / "all", {**hazards(), **TEXTS})
    usual = run(folder, "--no-cache")
    said = run(folder, "--no-cache", *LIMIT, faults=(Fault("visitors", "endless"),), jobs=jobs)
    named = {f"{code.lower()}.py" for code in {each["code"] for each in usual.findings}}
    assert len(unfinished(said)) > 40
    assert unfinished(said).keys() <= named
    others = [place for place in said.places() if place[0] not in named]
    assert others == [place for place in usual.places() if place[0] not in named]
