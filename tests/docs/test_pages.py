"""What the pages show is so: examples are linted, and commands are run."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import tomli

from placement_lint import lint_paths
from placement_lint.cli import _COMMANDS
from tests import warm
from tests.docs.pages import DOCS, PAGES, all_blocks, blocks
from tests.docs.terminal import Terminal, commands, comparable, shown
from tests.marks import COLUMNS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.docs.pages import Block

PYTHON = [block for block in all_blocks() if block.language == "python"]
SHELL = [block for block in all_blocks() if block.language == "bash"]
DATA = [block for block in all_blocks() if block.language in {"toml", "yaml"}]
SHOWING = [page for page in PAGES if any(block.language == "console" for block in blocks(page))]
OF_TIME = {"fixes.md", "quick-start.md", "trace.md", "verify.md"}
"""The pages whose commands take the most: most of what they do starts JAX, or lints many times."""
MARKS = {"flagged", "silent", "not run", "numbers vary", "needs"}
_OPTION = re.compile(r"(?<![\w-])(--?[a-zA-Z][a-z-]*)")
_SAID = re.compile(r"`(placement-lint(?: [^`]*)?)`")


def name_of(block: Block) -> str:
    return block.name


def name_of_page(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


@pytest.mark.parametrize("block", PYTHON, ids=name_of)
def test_every_example_is_flagged_or_silent_as_it_says(block: Block, tmp_path: Path) -> None:
    if not {"flagged", "silent"} & block.marks.keys():
        # Then it is a file of a program, and a command below it shows what is found.
        assert block.title is not None
        assert block.page in SHOWING
        return
    (tmp_path / "example.py").write_text(block.text, encoding="utf-8")
    found = {finding.code for finding in lint_paths([str(tmp_path)])}
    assert found == set(block.marks.get("flagged", "").replace(",", " ").split())


def test_there_are_examples_of_both_kinds() -> None:
    assert sum("flagged" in block.marks for block in PYTHON) >= 5
    assert sum("silent" in block.marks for block in PYTHON) >= 3


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.every) if page.name in OF_TIME else page
        for page in SHOWING
    ],
    ids=name_of_page,
)
def test_every_command_shows_what_the_page_says(page: Path, tmp_path: Path) -> None:
    """What differs is written anew by `python -m tests.docs`.

    Not for all pages; for the others with `pytest -m every tests/docs`.
    """
    if page.name == "trace.md" and not COLUMNS:
        pytest.skip("instructions have no columns before Python 3.11")
    installed = ["jax"] if importlib.util.find_spec("jax") else []
    found = shown(page, Terminal(tmp_path), installed)
    for block in blocks(page):
        if block.line in found:
            assert comparable(block, found[block.line]) == comparable(block, block.text)


def test_every_command_is_run_or_says_why_not() -> None:
    assert SHOWING
    for block in all_blocks():
        assert block.marks.keys() <= MARKS, block.name
        if block.language == "bash":
            assert block.marks.get("not run"), f"{block.name}: not run, for no reason"
        if block.language == "console":
            assert commands(block), block.name


@pytest.mark.parametrize("block", DATA, ids=name_of)
def test_settings_of_other_tools_are_valid(block: Block, tmp_path: Path) -> None:
    assert block.title is not None
    path = tmp_path / block.title
    path.write_text(block.text, encoding="utf-8")
    if block.language == "toml":
        assert tomli.loads(block.text)
        # Ruff reads the file itself, and refuses what it does not know.
        line = ["ruff", "check", "--no-cache", "--config", str(path), str(tmp_path)]
    else:
        assert block.title == ".pre-commit-config.yaml"
        line = ["pre_commit", "validate-config", str(path)]
    run = subprocess.run(
        [sys.executable, "-m", *line], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("block", SHELL, ids=name_of)
def test_a_command_that_is_not_run_is_one(block: Block) -> None:
    assert subprocess.run(["bash", "-n", "-c", block.text], check=False).returncode == 0
    for line in block.text.split("\n"):
        if "placement-lint " in line and "pip " not in line:
            _check(line.partition("placement-lint ")[2].partition("#")[0])


@pytest.mark.parametrize("page", PAGES, ids=name_of_page)
def test_every_command_in_the_text_is_one(page: Path) -> None:
    for said in _SAID.findall(page.read_text(encoding="utf-8")):
        _check(said.partition(" ")[2])


def test_a_command_that_is_none_is_seen() -> None:
    with pytest.raises(AssertionError):
        _check("--fixx")
    with pytest.raises(AssertionError):
        _check("verify --fix")


def _check(rest: str) -> None:
    """Check that the options of a command line are options of its command."""
    words = rest.split()
    command = words[0] if words and words[0] in _COMMANDS else "check"
    known = set(_OPTION.findall(_help(command).replace("--[no-]", "--"))) | {"-m"}
    asked = set(_OPTION.findall(rest))
    assert asked <= known, f"placement-lint {rest}"


_helps: dict[str, str] = {}


def _help(command: str) -> str:
    if command not in _helps:
        line = warm.command("placement_lint", command, "--help")
        run = subprocess.run(line, capture_output=True, text=True, check=True)
        _helps[command] = run.stdout
    return _helps[command]
