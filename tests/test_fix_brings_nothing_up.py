"""A safe fix brings up nothing: no finding of any rule that was not there, and no second fix.

Each case of the fixtures and each program is fixed with all rules selected, pedantic ones too.
`pytest -m every tests/test_fix_brings_nothing_up.py` tries all; by default a sample.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from placement_lint.config.settings import Settings
from placement_lint.lint.linter import Linter
from placement_lint.lint.results import FixMode
from placement_lint.rules.registry import all_rules
from tests.test_fixtures import FOLDERS, fix
from tests.test_programs import PROGRAMS, inside, read, write

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from placement_lint.findings import Finding
    from placement_lint.lint.results import Outcome
    from tests.fixture_cases import Case
    from tests.program_cases import ProgramCase

_ABOUT_COMMENTS = frozenset({"JDP902", "JDP904"})
"""What is suppressed may be fixed: then the comment is unused."""


def brought_up(
    before: Iterable[Finding], after: Iterable[Finding], fixed: Mapping[str, int]
) -> dict[str, int]:
    """Count the findings by code that were not there before, in all files together."""
    known, now = (Counter(each.code for each in findings) for findings in (before, after))
    return {
        code: count
        for code, count in sorted(now.items())
        if code not in _ABOUT_COMMENTS and count > max(known[code] - fixed.get(code, 0), 0)
    }


@pytest.mark.sampled(one_in=24)
@pytest.mark.parametrize("folder", [each for each in FOLDERS if each.endswith("/hazards")])
def test_of_one_file(folder: str, subtests: pytest.Subtests) -> None:
    for case in FOLDERS[folder]:
        with subtests.test(case.id):
            check_case(case)


def check_case(case: Case) -> None:
    rules = all_rules()
    text = case.before.text
    first = fix(text, case.code, unsafe=False, rules=rules)
    if first.text == text:
        return
    new = brought_up(first.original.findings, first.result.findings, first.counts)
    assert new == {}, f"{text}\n-- fixed:\n{first.text}"
    assert fix(first.text, case.code, unsafe=False, rules=rules).text == first.text


@pytest.mark.sampled(one_in=60)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.id)
def test_of_a_program(program: ProgramCase, tmp_path: Path) -> None:
    paths = write(tmp_path, program.texts())
    before = lint(paths)
    if not any(found.fix for found in before.findings):
        return
    after = lint(paths, fix=FixMode.APPLY)
    if not after.fixed:
        return
    texts = read(tmp_path, program)
    for path, text in texts.items():
        compile(text, path, "exec", dont_inherit=True)
    fixed = Counter[str]()
    for each in after.fixed:
        fixed.update(each.counts)
    new = brought_up(before.findings, after.findings, fixed)
    assert new == {}, [
        f"{inside(tmp_path, each.path)}:{each.span.line} {each.code} {each.message}"
        for each in after.findings
        if each.code in new
    ]
    assert not lint(paths, fix=FixMode.APPLY).fixed
    assert read(tmp_path, program) == texts


def lint(paths: list[str], *, fix: FixMode = FixMode.NONE) -> Outcome:
    return Linter(lambda _: Settings(select=("ALL",)), fix=fix, folders=True).check(paths)
