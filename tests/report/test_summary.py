from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from placement_lint.findings import Applicability, Finding, Fix
from placement_lint.lint.results import FixedFile, Outcome
from placement_lint.report.summary import fixes, summary, would_fix

if TYPE_CHECKING:
    from collections.abc import Callable

SAFE = Fix(Applicability.SAFE, "m", ())
UNSAFE = Fix(Applicability.UNSAFE, "m", ())
DISPLAY = Fix(Applicability.DISPLAY, "m", ())


@pytest.mark.parametrize(
    ("levels", "text"),
    [
        ([], "No findings in 3 files."),
        ([None], "Found 1 finding in 1 of 3 files."),
        ([SAFE], "Found 1 finding in 1 of 3 files. 1 fixable with `--fix`."),
        (
            [UNSAFE, DISPLAY],
            "Found 2 findings in 1 of 3 files. 1 fixable with `--fix --unsafe-fixes`.",
        ),
        (
            [SAFE, SAFE, UNSAFE],
            "Found 3 findings in 1 of 3 files. "
            "2 fixable with `--fix` (1 more with `--unsafe-fixes`).",
        ),
    ],
)
def test_summary(
    levels: list[Fix | None],
    text: str,
    make_finding: Callable[..., Finding],
    make_outcome: Callable[..., Outcome],
) -> None:
    findings = tuple(make_finding(fix=fix) for fix in levels)
    assert summary(make_outcome(findings=findings, files=3)) == text


def test_notebooks_are_fixable(
    make_finding: Callable[..., Finding], make_outcome: Callable[..., Outcome]
) -> None:
    findings = (make_finding(fix=SAFE, cell=2),)
    assert summary(make_outcome(findings=findings)) == (
        "Found 1 finding in 1 of 1 file. 1 fixable with `--fix`."
    )


def test_after_fixing(
    make_finding: Callable[..., Finding], make_outcome: Callable[..., Outcome]
) -> None:
    fixed = (FixedFile("a", "", "x", {"JDP204": 2, "JDP101": 1}), FixedFile("b", "", "x", {"A": 1}))
    assert summary(make_outcome(fixed=fixed)) == ("Found 4 findings (4 fixed, 0 remaining).")
    outcome = make_outcome(fixed=fixed[1:], findings=(make_finding(fix=UNSAFE),))
    assert summary(outcome) == (
        "Found 2 findings (1 fixed, 1 remaining). 1 fixable with `--unsafe-fixes`."
    )


def test_before_fixing(make_finding: Callable[..., Finding]) -> None:
    fixed = (FixedFile("a", "", "x", {"JDP204": 2, "JDP101": 1}), FixedFile("b", "", "x", {"A": 1}))
    unsafe, none = make_finding(fix=UNSAFE), make_finding()
    assert would_fix(fixed, ()) == "Would fix 4 findings (0 remaining)."
    assert would_fix(fixed, (unsafe, unsafe, none)) == (
        "Would fix 4 findings (3 remaining). 2 fixable with `--unsafe-fixes`."
    )
    assert would_fix((), (none,)) == "Nothing to fix."
    assert would_fix((), (unsafe,)) == "Nothing to fix. 1 fixable with `--unsafe-fixes`."


def test_what_was_fixed_is_listed() -> None:
    fixed = (FixedFile("a", "", "x", {"JDP204": 2, "JDP101": 1}), FixedFile("b", "", "x", {"A": 1}))
    assert fixes(fixed, {"JDP204": "device-put-discarded"}) == (
        "a:\n  1 x JDP101\n  2 x JDP204 (device-put-discarded)\nb:\n  1 x A\n"
    )
