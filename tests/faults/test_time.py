"""What does not come to an end is a finding of its file: all else is as though it were not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults.injection import Fault
from tests.faults.program import TEXTS, Said, hazards, run, texts_in, write

if TYPE_CHECKING:
    from pathlib import Path

EVERY = pytest.mark.every
LIMIT = ("--file-time-limit", "1")
RULE = "placement_lint.rules.commitment.device_put_discarded:DevicePutDiscarded.visit_Expr"
PARSE = "placement_lint.lint.file:parse"
FOLLOW = "placement_lint.lint.together:Together.load"
ALONE = "not checked to the end: it took more than 1 s of processor time (`file-time-limit`)"


def unfinished(said: Said) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in said.findings:
        if each["code"] == "JDP900":
            found.setdefault(each["path"], []).append(each["message"])
    return found


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


def test_files_as_one_program(folder: Path, well: Said) -> None:
    """Each of them is still checked alone."""
    said = run(folder, "--no-cache", *LIMIT, faults=(Fault(FOLLOW, "endless", "data.py"),))
    message = ALONE.replace("to the end", "together with what imports it")
    assert unfinished(said) == {"data.py": [message]}
    assert [place for place in said.places() if place[3] != "JDP900"] == [
        place for place in well.places() if place[:2] != ("train.py", 4)
    ]


def test_fixes_of_other_files_go_on(folder: Path, well: Said) -> None:
    fault = Fault(RULE, "endless", "z_last.py")
    said = run(folder, "--no-cache", "--fix", *LIMIT, faults=(fault,))
    assert unfinished(said) == {"z_last.py": [ALONE]}
    texts = texts_in(folder)
    assert texts["z_last.py"] == TEXTS["z_last.py"]
    assert texts["alone.py"] != TEXTS["alone.py"]


def test_it_is_not_remembered(folder: Path, tmp_path: Path, well: Said) -> None:
    for fault in (Fault(RULE, "endless", "z_last.py"), Fault(FOLLOW, "endless", "data.py")):
        cache = ("--cache-dir", str(tmp_path / fault.file))
        assert unfinished(run(folder, *cache, *LIMIT, faults=(fault,)))
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
