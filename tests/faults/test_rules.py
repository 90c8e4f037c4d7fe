"""A rule that fails on a file is a finding of that file: all else is as though it were not asked.

Each rule fails at once, at the file that is named after it, in everything that is asked of a rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from placement_lint.rules.registry import all_rules
from tests.faults.injection import LEAK, RAISING, Fault
from tests.faults.program import ABOUT_COMMENTS, TEXTS, Said, hazards, run, texts_in, write

if TYPE_CHECKING:
    from pathlib import Path

    from tests.faults.program import Place

EVERY = pytest.mark.every
JOBS = [1, pytest.param(2, marks=EVERY)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "run", {**hazards(), **TEXTS})


@pytest.fixture(scope="module")
def well(tmp_path_factory: pytest.TempPathFactory) -> Said:
    """Give what is found where nothing fails."""
    top = tmp_path_factory.mktemp("well")
    return run(write(top / "run", {**hazards(), **TEXTS}), "--no-cache")


def code_of(path: str) -> str:
    """Give the rule that a file is named after."""
    return path.removesuffix(".py").upper()


def without_their_own(places: list[Place]) -> list[Place]:
    """Leave out what rules find in the files that are named after them, and what is said of
    comments there: nobody knows of what use they are where a rule failed.
    """
    named = {code.lower() + ".py" for code in (rule.code for rule in all_rules())}
    return [
        place
        for place in places
        if place[3] != code_of(place[0]) and not (place[0] in named and place[3] in ABOUT_COMMENTS)
    ]


def assert_each_failed(said: Said, codes: set[str]) -> None:
    """Check that there is one complaint for each rule, in its own file, with its place."""
    assert said.code == 2
    assert {code_of(path) for path in said.failed} == codes
    for path, (message, *more) in said.failed.items():
        assert more == []
        assert code_of(path) in message
        assert ".py:" in message
        assert LEAK not in message
    assert LEAK not in said.errors


def visiting() -> set[str]:
    return {
        rule.code for rule in all_rules() if any(name.startswith("visit_") for name in dir(rule))
    }


def test_every_rule_that_looks_at_nodes_has_a_file_in_which_to_fail() -> None:
    assert visiting() <= {code_of(name) for name in hazards()}
    assert len(visiting()) > 40


@pytest.mark.parametrize("jobs", JOBS)
@pytest.mark.parametrize(
    "kind",
    ["unexpected", pytest.param("memory", marks=EVERY), pytest.param("recursion", marks=EVERY)],
)
def test_at_a_node(folder: Path, well: Said, kind: str, jobs: int) -> None:
    said = run(folder, "--no-cache", faults=(Fault("visitors", kind),), jobs=jobs)
    assert_each_failed(said, visiting())
    assert without_their_own(said.places()) == without_their_own(well.places())


@pytest.mark.parametrize("jobs", JOBS)
def test_in_a_fix(folder: Path, well: Said, jobs: int) -> None:
    said = run(folder, "--no-cache", faults=(Fault("fixes"),), jobs=jobs)
    mending = {code_of(each["path"]) for each in well.findings if each["fix"]}
    failed = {code_of(path) for path in said.failed}
    assert len(failed) > 20
    assert failed <= visiting()
    assert_each_failed(said, failed)
    assert failed & mending, "those that have one"
    # The findings stand without their fixes.
    assert said.places(but=ABOUT_COMMENTS) == well.places(but=ABOUT_COMMENTS)
    own = [each for each in said.findings if each["code"] == code_of(each["path"])]
    assert {each["code"] for each in own if each["fix"]} <= ABOUT_COMMENTS


@EVERY
@pytest.mark.parametrize("jobs", [1, 2])
def test_in_what_is_reported(folder: Path, well: Said, jobs: int) -> None:
    said = run(folder, "--no-cache", faults=(Fault("places"),), jobs=jobs)
    assert_each_failed(said, visiting())
    assert without_their_own(said.places()) == without_their_own(well.places())


@EVERY
@pytest.mark.parametrize("jobs", [1, 2])
def test_in_what_it_needs(folder: Path, well: Said, jobs: int) -> None:
    """Then it looks at the file, whatever that holds: nothing is lost at all."""
    said = run(folder, "--no-cache", faults=(Fault("needs"),), jobs=jobs)
    assert said.code == 2
    assert {code_of(path) for path in said.failed} >= visiting() - {"JDP201"}
    assert said.places() == well.places()


@pytest.mark.parametrize("jobs", JOBS)
def test_fixes_of_the_others_go_on(folder: Path, tmp_path: Path, jobs: int) -> None:
    """What is written is what is written where the rule is not asked."""
    other = write(tmp_path / "other", {**hazards(), **TEXTS})
    ignored = [f"--per-file-ignores={name}:{code_of(name)}" for name in hazards()]
    expected = run(other, "--no-cache", "--fix", *ignored)
    assert expected.code == 1
    said = run(folder, "--no-cache", "--fix", faults=(Fault("visitors"),), jobs=jobs)
    assert_each_failed(said, visiting())
    wrong = {
        name for name, text in texts_in(folder).items()
        if text != texts_in(other)[name] and code_of(name) not in ABOUT_COMMENTS
    }  # fmt: skip
    assert wrong == set()
    assert texts_in(folder)["z_last.py"] != TEXTS["z_last.py"]


@EVERY
@pytest.mark.parametrize("kind", RAISING)
def test_whatever_is_raised(folder: Path, well: Said, kind: str) -> None:
    said = run(folder, "--no-cache", faults=(Fault("visitors", kind),))
    assert_each_failed(said, visiting())
    assert without_their_own(said.places()) == without_their_own(well.places())


def test_what_failed_is_not_remembered(tmp_path: Path) -> None:
    """The next run, with the fault mended, finds all that there is."""
    few = dict([*hazards().items()][:3])
    folder = write(tmp_path / "run", {**few, **TEXTS})
    assert len(run(folder, faults=(Fault("visitors"),)).failed) == len(few)
    after = run(folder)
    assert after.places() == run(folder, "--no-cache").places()
    assert {code_of(name) for name in few} <= {place[3] for place in after.places()}
