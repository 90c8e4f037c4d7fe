"""A few files are passed over without importing a rule only where no rule would find anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from placement_lint.cli import main
from placement_lint.files.store import FileStore
from placement_lint.prefilter import quick_look
from placement_lint.prefilter.quick_look import nothing_can_fire
from placement_lint.rules.registry import all_rules
from tests.fixture_cases import all_cases

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
    return nothing_can_fire(paths, FileStore())


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
    assert not nothing_can_fire([str(tmp_path / "gone.py")], FileStore())


def test_no_case_with_a_finding_is_passed_over(tmp_path: Path) -> None:
    store = FileStore()
    pedantic = {rule.code for rule in all_rules() if rule.pedantic}
    flagged = [case for case in all_cases() if case.before.findings and case.code not in pedantic]
    assert len(flagged) > 500
    for case in flagged:
        path = str(tmp_path / "case.py")
        store.replace({path: case.before.text.encode()})
        assert not nothing_can_fire([path], store), case.name


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

    monkeypatch.setattr(quick_look, "nothing_can_fire", never)
    assert main(["quiet.py", "--isolated", "--no-cache", "--select", "ALL"]) in {0, 1}
    assert main(["quiet.py", "--isolated", "--no-cache", "--ignore", "JDP201"]) == 0
    assert main(["quiet.py", "--isolated", "--reveal"]) == 0
    capsys.readouterr()
