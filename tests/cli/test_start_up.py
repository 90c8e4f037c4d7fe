"""What a command imports before it does anything: counted, for modules are the same everywhere.

Milliseconds are not, so the bars of start-up time are measured by `benchmarks/`, not here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from placement_lint.cli import check_options

TOP = str(Path(__file__).parents[2])
COUNT = """\
import os, sys  # with `site`, every Python has imported `os` by now
sys.path[:0] = {paths!r}
before = set(sys.modules)
from placement_lint.cli import main
status = main({arguments!r})
loaded = set(sys.modules) - before
import json
print(json.dumps([status, sorted(loaded)]))
"""
HEAVY = {
    *("argparse", "ast", "dataclasses", "difflib", "enum", "inspect", "multiprocessing", "pathlib"),
    *("re", "subprocess", "tokenize", "tomllib", "typing"),
}
"""Modules of the standard library that take a tenth of the start of Python each, or more."""


def imported_by(*arguments: str) -> set[str]:
    """Give what a command imports beside what a Python without `site` starts with."""
    # Without `site`, what else is installed has no say; where the packages are is told by us.
    paths = [TOP, *(path for path in sys.path if path.endswith("site-packages"))]
    code = COUNT.format(paths=paths, arguments=list(arguments))
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    status, loaded = json.loads(run.stdout.splitlines()[-1])
    assert status in {0, 1}
    return set(loaded)


def argparse_needs() -> set[str]:
    """Give what argparse imports to say what a command takes: with 3.14, its colours as well."""
    code = "import argparse, json, sys; argparse.ArgumentParser().format_help(); "
    code += "print(json.dumps([*sys.modules]))"
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    return set(json.loads(run.stdout))


def ours(loaded: set[str]) -> set[str]:
    return {name for name in loaded if name.split(".")[0] == "placement_lint"}


@pytest.mark.parametrize("option", ["--version", "--help", "-h"])
def test_version_and_help_need_no_parser_of_options(option: str) -> None:
    loaded = imported_by(option)
    core = {"placement_lint", "placement_lint.cli", "placement_lint.cli.streams"}
    assert core <= ours(loaded) <= {*core, "placement_lint.cli.help", "placement_lint.version"}
    assert loaded - ours(loaded) <= {"__future__"}


@pytest.mark.parametrize("word", ["JDP204", "device-put-discarded"])
def test_a_page_needs_no_rule(word: str) -> None:
    loaded = imported_by("rule", word)
    assert ours(loaded) == {
        "placement_lint",
        "placement_lint.cli",
        "placement_lint.cli.rule",
        "placement_lint.cli.streams",
        "placement_lint.prefilter",
        "placement_lint.report",
        "placement_lint.report.colour",
        "placement_lint.rules",
        "placement_lint.rules.pages",
        "placement_lint.rules.proof_records",
        "placement_lint.rules.proved",
    }
    assert not loaded & HEAVY
    assert len(loaded - ours(loaded)) <= 14


@pytest.mark.parametrize("arguments", [["rule"], ["rule", "--all"], ["rule", "JDP2", "--help"]])
def test_the_other_ways_to_ask_for_rules_import_none(arguments: list[str]) -> None:
    loaded = imported_by(*arguments)
    assert not {name for name in ours(loaded) if name.count(".") > 2}
    assert not (loaded - argparse_needs()) & {"libcst", "dataclasses", "typing"}


def test_the_parser_of_options_needs_little(tmp_path: Path) -> None:
    loaded = imported_by("--help", "--quiet")
    assert not (loaded - argparse_needs()) & HEAVY
    assert len(ours(loaded)) <= 15


def test_the_text_of_help_is_what_the_parser_says() -> None:
    shipped = Path(check_options.__file__).with_name("help.txt").read_text(encoding="utf-8")
    assert shipped == check_options.help_text(), "run: python -m placement_lint.cli.help"


def test_requirements_are_compared_only_where_the_versions_count(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["jax>=0.5"]\n')
    file = tmp_path / "code.py"
    file.write_text("import json\n")
    command = [str(file), "--cache-dir", str(tmp_path / "cache")]
    assert "packaging" not in imported_by(*command)
    file.write_text("import jax\n\njax.device_put(1)\n")
    assert "packaging" in imported_by(*command)
    warm = imported_by(*command)
    assert "packaging" not in warm
    assert "libcst" not in warm


def test_no_rule_is_imported_where_none_can_find_anything(tmp_path: Path) -> None:
    file = tmp_path / "code.py"
    file.write_text("import jax\nimport jax.numpy as jnp\n\nstep = jax.jit(jnp.tanh)\n")
    for more in (["--no-cache"], ["--cache-dir", str(tmp_path / "cache")]):
        loaded = imported_by(str(file), "--isolated", *more)
        parts = {".".join(name.split(".")[:2]) for name in ours(loaded)}
        assert not parts & {"placement_lint.placement", "placement_lint.rules"}
        assert "placement_lint.jaxmodel.transfer" not in loaded
        assert "libcst" not in loaded
        assert len(ours(loaded)) <= 79
    assert "libcst" not in loaded


def test_only_rules_that_can_find_something_are_imported(tmp_path: Path) -> None:
    """A commit hook waits for the import of each of them."""
    file = tmp_path / "code.py"
    file.write_text("import jax\n\njax.device_put(1)\n")
    for more in (["--no-cache"], ["--cache-dir", str(tmp_path / "cache")]):
        loaded = imported_by(str(file), "--isolated", *more)
        assert "placement_lint.rules.commitment.device_put_discarded" in loaded
        assert not {name for name in loaded if name.startswith("placement_lint.rules.donation.")}
        assert len([name for name in loaded if name.startswith("placement_lint.rules.")]) <= 40
