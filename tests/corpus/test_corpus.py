"""The check of packages sees what changes, and says nothing where nothing does."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.corpus import __main__ as command
from tests.corpus import packages, record
from tests.corpus.look import look

if TYPE_CHECKING:
    from collections.abc import Callable

HAZARD = "import jax\n\n\ndef f(x, d):\n    jax.device_put(x, d)\n    return x\n"
MENDED = HAZARD.replace("    jax.device_put", "    x = jax.device_put")


@pytest.fixture
def wheel(tmp_path: Path) -> Callable[[str], None]:
    def write(code: str) -> None:
        with zipfile.ZipFile(tmp_path / "mine-1.0-py3-none-any.whl", "w") as archive:
            archive.writestr("mine/a.py", code)
            archive.writestr("mine/b.py", "x = 1\n")
            archive.writestr("mine/pyproject.toml", "[tool.placement-lint]\nselect = []\n")

    return write


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    (tmp_path / "corpus.toml").write_text(
        '[[package]]\nname = "mine"\nversion = "1.0"\nquick = true\n', encoding="utf-8"
    )
    kept = tmp_path / "corpus.json"
    monkeypatch.setattr(
        command, "read_packages", lambda: packages.read_packages(tmp_path / "corpus.toml")
    )
    monkeypatch.setattr(command, "read_record", lambda: record.read_record(kept))
    monkeypatch.setattr(command, "write_record", lambda it: record.write_record(it, kept))
    rounds = iter(range(99))

    def run(*arguments: str) -> int:
        work = str(tmp_path / f"work{next(rounds)}")
        return command.main([*arguments, "--work", work, "--wheels", str(tmp_path)])

    return run


def test_what_was_accepted_is_silent_and_what_changes_is_said(
    wheel: Callable[[str], None], run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    wheel(HAZARD)
    assert run() == 1
    first = capsys.readouterr().out
    assert "nothing was accepted for this version yet" in first
    assert "+ mine/mine/a.py:5:5: JDP204" in first
    assert run("--accept") == 0
    capsys.readouterr()

    assert run("--quick") == 0
    assert capsys.readouterr().out == "mine==1.0: 2 files, 1 findings, 1 files fixed\n"

    # A line above moves a finding, and makes no other of it.
    wheel("# more\n" + HAZARD)
    assert run() == 1
    said = capsys.readouterr().out
    assert "~ mine/mine/a.py is fixed otherwise" in said
    assert "    + " not in said
    assert "    - " not in said

    wheel(MENDED)
    assert run() == 1
    said = capsys.readouterr().out
    assert "- mine/mine/a.py:5 JDP204" in said
    assert "~ mine/mine/a.py is not fixed any more" in said


def test_the_record_holds_no_code(
    wheel: Callable[[str], None], run: Callable[..., int], tmp_path: Path
) -> None:
    wheel(HAZARD)
    assert run("--accept") == 0
    kept = (tmp_path / "corpus.json").read_text(encoding="utf-8")
    assert "device_put" not in kept
    (looked,) = json.loads(kept).values()
    assert list(looked) == ["files", "findings", "fixes", "left", "parsed"]
    assert list(looked["findings"].values()) == ["mine/mine/a.py:5 JDP204"]
    assert looked["left"] == 0


def test_a_name_that_is_not_in_the_list_is_an_error(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("yours") == 2
    assert "not in corpus.toml: yours" in capsys.readouterr().err


def test_looking_reads_no_settings_and_leaves_the_folder_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(HAZARD, encoding="utf-8")
    (tmp_path / "placement-lint.toml").write_text("select = []\n", encoding="utf-8")
    before = Path.cwd()
    looked, messages = look(tmp_path)
    assert len(looked.findings) == 1
    assert list(messages) == list(looked.findings)
    assert Path.cwd() == before
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == HAZARD
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "placement-lint.toml"]


def test_the_list_names_enough_packages_each_once_and_accepted() -> None:
    listed = packages.read_packages()
    accepted = record.read_record()
    assert len(listed) >= 25
    assert len({package.name for package in listed}) == len(listed)
    assert {package.requirement for package in listed} == set(accepted)
    quick = [accepted[package.requirement] for package in listed if package.quick]
    assert len(quick) >= 5
    assert all(looked["findings"] for looked in quick), "a quick one without findings shows little"
