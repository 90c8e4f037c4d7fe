"""Of a few files it is known, before a rule is imported, which rules may find something in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from placement_lint.cli import main
from placement_lint.config.settings import Settings
from placement_lint.files.store import FileStore
from placement_lint.lint.linter import Linter
from placement_lint.lint.results import FixMode, Outcome
from placement_lint.prefilter import quick_look
from placement_lint.prefilter.quick_look import candidates
from placement_lint.rules.registry import all_rules, rule_by_code
from tests.fixture_cases import Case, all_cases

QUIET = """\
import jax
import jax.numpy as jnp


def loss(params, batch):
    return jnp.mean((batch["x"] @ params["w"] - batch["y"]) ** 2)


print(jax.jit(jax.grad(loss)))
"""
LOUD = """\
import jax

cpu = jax.devices("cpu")[0]


def load(x):
    jax.device_put(x, cpu)
"""


def nothing(folder: Path, **texts: str | bytes) -> bool:
    paths = []
    for name, text in texts.items():
        path = folder / f"{name}.py"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        paths.append(str(path))
    return candidates(paths, FileStore()) == frozenset()


def test_what_uses_nothing_of_the_rules_is_passed_over(tmp_path: Path) -> None:
    assert nothing(tmp_path, a=QUIET)
    assert nothing(tmp_path, a=QUIET, b="import json\n", c=QUIET)
    assert nothing(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        LOUD,
        QUIET + "def f(:\n",  # nobody can parse it
        b"# coding: latin-1\n" + QUIET.encode(),
        QUIET.encode() + b"# \xff\n",
        QUIET + "x = 1  # noqa: JDP201\n",
        QUIET + "x = " + "(" * 5000 + ")" * 5000,
        "%%time\n" + QUIET,
    ],
)
def test_what_has_to_be_looked_at_is(tmp_path: Path, text: str | bytes) -> None:
    assert not nothing(tmp_path, a=text)
    assert not nothing(tmp_path, a=QUIET, b=text)


def test_files_that_import_from_one_another_are_looked_at(tmp_path: Path) -> None:
    assert not nothing(tmp_path, a=QUIET, b="from a import jnp\n")
    assert not nothing(tmp_path, a=QUIET, b="from . import a\n")
    assert not nothing(tmp_path, a=QUIET, b=f"import {tmp_path.name}.a\n")


def test_many_files_and_long_ones_are_worth_remembering(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert nothing(tmp_path, a=QUIET, b=QUIET)
    monkeypatch.setattr(quick_look, "MOST_BYTES", 2 * len(QUIET) - 1)
    assert not nothing(tmp_path, a=QUIET, b=QUIET)
    monkeypatch.setattr(quick_look, "MOST_FILES", 0)
    assert not nothing(tmp_path, a=QUIET)


def test_what_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    assert candidates([str(tmp_path / "gone.py")], FileStore()) is None


def flagged_cases() -> list[Case]:
    pedantic = {rule.code for rule in all_rules() if rule.pedantic}
    cases = [case for case in all_cases() if case.before.findings and case.code not in pedantic]
    assert len(cases) > 500
    return cases


def test_what_finds_something_in_a_case_is_a_candidate(tmp_path: Path) -> None:
    store = FileStore()
    path = str(tmp_path / "case.py")
    for case in flagged_cases():
        store.replace({path: case.before.text.encode()})
        found = candidates([path], store)
        module = rule_by_code(case.code).__module__
        assert found is None or module in found, case.name


@pytest.mark.parametrize("one_in", [44, pytest.param(11, marks=pytest.mark.every)])
def test_candidates_find_what_all_rules_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_in: int
) -> None:
    """The findings, and with them the fixes, the places that are named and the suppressions.

    Of one case in 44; of four times as many with `pytest -m every tests/prefilter`.
    """
    path = str(tmp_path / "case.py")

    def outcome(text: str) -> Outcome:
        Path(path).write_text(text)
        return Linter(lambda _: Settings()).check([path])

    restricted = 0
    for case in flagged_cases()[::one_in]:
        found = outcome(case.before.text)
        known = candidates([path], FileStore())
        restricted += known is not None and len(known) < 40
        with monkeypatch.context() as patch:
            patch.setattr(quick_look, "MOST_FILES", 0)
            assert found.findings == outcome(case.before.text).findings, case.name
    assert restricted * one_in > 440


def test_what_a_comment_silences_is_asked_of_all_rules(tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    path.write_text(LOUD + "    return x  # noqa: JDP101\n")
    found = Linter(lambda _: Settings()).check([str(path)]).findings
    assert [finding.code for finding in found] == ["JDP204", "JDP902"]


def test_what_a_fix_writes_is_checked_by_all_rules(tmp_path: Path) -> None:
    asked: list[int] = []

    def requests(mode: FixMode) -> int:
        path = tmp_path / "code.py"
        path.write_text(LOUD)
        linter = Linter(lambda _: Settings(), fix=mode)
        linter.check([str(path)])
        ((_, request),) = linter._requests.values()
        return len(request.options.rules)

    asked += [requests(FixMode.NONE), requests(FixMode.DIFF)]
    by_default = [rule for rule in all_rules() if not rule.pedantic]
    assert asked[0] < len(by_default) == asked[1]


@pytest.mark.parametrize("options", [["--no-cache"], ["--no-cache", "--diff"], []])
def test_a_run_says_what_it_always_says(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("quiet.py").write_text(QUIET)
    command = ["quiet.py", "--isolated", *options]
    fast = main(command), capsys.readouterr()
    monkeypatch.setattr(quick_look, "MOST_FILES", 0)
    assert (main(command), capsys.readouterr()) == fast
    assert fast[0] == 0


def test_rules_that_are_asked_for_are_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("quiet.py").write_text(QUIET)

    def never(*_: object) -> bool:
        raise AssertionError

    monkeypatch.setattr(quick_look, "candidates", never)
    assert main(["quiet.py", "--isolated", "--no-cache", "--select", "ALL"]) in {0, 1}
    assert main(["quiet.py", "--isolated", "--no-cache", "--ignore", "JDP201"]) == 0
    Path("pyproject.toml").write_text("[tool.placement-lint]\nselect = []\n")
    Path("loud.py").write_text(LOUD)
    assert main(["loud.py", "--no-cache"]) == 0
    assert main(["quiet.py", "--isolated", "--reveal"]) == 0
    capsys.readouterr()
