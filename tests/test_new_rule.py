"""What `python -m tests.new_rule` writes is a rule that only has to be filled in."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

from placement_lint.rules.base import SECTIONS
from placement_lint.rules.registry import all_rules
from placement_lint.verify.proofs import Proof
from tests import new_rule
from tests.fixture_cases import all_cases


def test_the_files_are_where_the_tests_look_for_them(tmp_path: Path) -> None:
    written = new_rule.write("JDP499", "array-made-twice", tmp_path)
    assert sorted(path.relative_to(tmp_path).as_posix() for path in written) == [
        "fixtures/JDP499/clean.py",
        "fixtures/JDP499/hazards.py",
        "fixtures/JDP499/proof.py",
        "placement_lint/rules/transfers/array_made_twice.py",
    ]
    cases = all_cases(tmp_path / "fixtures")
    assert {(case.kind, len(case.before.findings)) for case in cases} == {
        ("hazards", 1),
        ("clean", 0),
    }
    Proof("JDP499", tmp_path / "fixtures/JDP499/proof.py").check()


def test_the_rule_is_one_as_far_as_it_goes() -> None:
    (text,) = [
        text for path, text in new_rule.files_of("JDP199", "array-made-twice").items()
        if path.parts[0] == "placement_lint"
    ]  # fmt: skip
    (rule,) = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    assert rule.name == "ArrayMadeTwice"
    page = inspect.cleandoc(ast.get_docstring(rule) or "")
    assert tuple(re.findall(r"^## (.+)$", page, re.MULTILINE)) == SECTIONS


def test_every_rule_that_there_is_stands_where_this_would_write_it() -> None:
    for rule in all_rules():
        module = Path(*rule.__module__.split(".")).with_suffix(".py")
        assert module in new_rule.files_of(rule.code, rule.name)


@pytest.mark.parametrize(
    ("code", "name"), [("JDP4", "some-name"), ("JDP099", "some-name"), ("JDP499", "Some-Name")]
)
def test_what_is_no_code_or_name_is_refused(code: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is no"):
        new_rule.write(code, name, tmp_path)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (first, *_) = new_rule.write("JDP499", "some-name", tmp_path)
    first.write_text("mine")
    with pytest.raises(FileExistsError, match="there already"):
        new_rule.write("JDP499", "some-name", tmp_path)
    assert first.read_text() == "mine"
