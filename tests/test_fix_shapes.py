"""Every rule's fixes on statements of every shape: right, or not offered.

`python -m tests.test_fix_shapes [CODE ...]` puts every case into every shape, not one for each.
"""

import sys
import textwrap
from collections import Counter
from collections.abc import Iterator

import pytest

from placement_lint.findings import Applicability, Finding
from placement_lint.lint.fixes.apply import FixResult
from tests.fixture_cases import Case
from tests.shapes import STATEMENTS, TEXTS, reshaped
from tests.share import Share
from tests.test_fixtures import FIXABLE, compiles, fix, lint, said
from tests.variants import Layout

SHAPES = (*STATEMENTS, *TEXTS)
CODES = sorted({case.code for case in FIXABLE})
_WRONG_VALUE = frozenset({"JDP108"})
"""What a shape may bring about that a fix then shows: `update("jax_default_device", (0, d))`."""

_DISSOLVED = frozenset({"try:", "finally:"})
"""What a block takes the place of."""


def in_shape(case: Case, shape: str) -> str | None:
    """Give the text of a case in another shape; None where it does not have such a one."""
    text = case.before.text
    if shape in TEXTS:
        return TEXTS[shape](text)
    return reshaped(text, places(lint(text, case.code)), STATEMENTS[shape])


def places(findings: list[Finding]) -> list[tuple[int, int]]:
    """Give what a fix may edit: where findings are, and where the arrays in them were made."""
    fixable = [finding for finding in findings if finding.fix is not None]
    spans = [finding.span for finding in fixable]
    spans += [related.span for finding in fixable for related in finding.related]
    return [(span.line, span.column) for span in spans]


def problem(text: str, code: str) -> str | None:
    """Say what is wrong with what fixing makes of a text; None where nothing is."""
    for unsafe in (False, True):
        first = fix(text, code, unsafe=unsafe)
        taken_back = [f.message for f in first.result.findings if f.code == "JDP903"]
        if taken_back:
            return taken_back[0]
        if first.text == text:
            continue
        if not compiles(first.text):
            return f"does not compile:\n{first.text}"
        if said(first.text) != said(text):
            return f"has other comments:\n{first.text}"
        again = fix(first.text, code, unsafe=unsafe)
        if again.text != first.text:
            return f"is changed once more:\n{first.text}\n-- to --\n{again.text}"
        wrong = _findings_left(first, unsafe=unsafe) or _lines_lost(text, first)
        if wrong:
            return f"{wrong}:\n{first.text}"
    return None


def _findings_left(fixed: FixResult, *, unsafe: bool) -> str | None:
    applied = {Applicability.SAFE} | ({Applicability.UNSAFE} if unsafe else set())
    if any(f.fix and f.fix.applicability in applied for f in fixed.result.findings):
        return "has a fix left"
    before = Counter(finding.code for finding in fixed.original.findings)
    after = Counter(finding.code for finding in fixed.result.findings)
    announced = _WRONG_VALUE | (_announced(fixed) if unsafe else frozenset())
    for code, count in after.items():
        if count > max(before[code] - fixed.counts.get(code, 0), 0) and code not in announced:
            return f"still has {code}, or has it now"
    return None


def _announced(fixed: FixResult) -> frozenset[str]:
    """Give the rules of which unsafe fixes say that they bring up findings."""
    fixes = (found.fix for found in fixed.original.findings)
    said = (fix.message.partition(", which brings up ")[2] for fix in fixes if fix is not None)
    return frozenset(code for text in said for code in text.split(" and ") if code)


def _lines_lost(text: str, fixed: FixResult) -> str | None:
    """Name the lines that are gone though no finding or edit begins or ends on them."""
    layout = Layout(text.replace("\r\n", "\n"))
    touched: set[int] = set()
    for finding in fixed.original.findings:
        spans = [finding.span, *(related.span for related in finding.related)]
        touched.update(line for span in spans for line in range(span.line, span.end_line + 1))
        for edit in finding.fix.edits if finding.fix else ():
            span = edit.span
            touched |= {span.line, span.end_line, max(span.line, span.end_line - 1)}
    touched |= {each for line in touched for each in layout.logical_line(line)}
    left = [line.strip() for line in fixed.text.splitlines()]
    lost: list[str] = []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        wanted = line.strip()
        if number in touched or not wanted or wanted in _DISSOLVED:
            continue
        if wanted in left:
            left = left[left.index(wanted) + 1 :]
        else:
            lost.append(line)
    return f"has lost the lines {lost}" if lost else None


def _chosen(code: str, *, every: bool) -> Iterator[tuple[Case, str, str]]:
    """Give for each shape one case of a rule that has it, another one for each.

    Of the shapes, give one in twelve by default, in turn with those of the other rules.
    """
    cases = [
        case for case in FIXABLE if case.code == code and sys.version_info >= case.needs_python
    ]
    for number, shape in enumerate(SHAPES):
        if not Share(number + CODES.index(code), every=every).one_in(18):
            continue
        start = number % len(cases)
        for case in cases[start:] + cases[:start]:
            text = in_shape(case, shape)
            if text is not None and text != case.before.text and compiles(text):
                yield case, shape, text
                break


def check_shapes(subtests: pytest.Subtests, code: str, *, every: bool) -> None:
    chosen = [*_chosen(code, every=every)]
    assert len(chosen) > len(TEXTS) / (2 if every else 36)
    for case, shape, text in chosen:
        with subtests.test(f"{case.id} as {shape}"):
            wrong = problem(text, code)
            assert wrong is None, f"{text}\n-- {wrong}"


every_code = pytest.mark.parametrize("code", CODES)


@every_code
def test_fixes_suit_their_shapes(subtests: pytest.Subtests, code: str) -> None:
    """One in eighteen of each rule; `pytest -m every tests/test_fix_shapes.py` tries all."""
    check_shapes(subtests, code, every=False)


@pytest.mark.every
@every_code
def test_fixes_suit_every_shape(subtests: pytest.Subtests, code: str) -> None:
    check_shapes(subtests, code, every=True)


def test_a_shape_moves_the_statement_alone() -> None:
    text = 'def f():\n    x = g("""a\n  b""")\n    y = 1\n'
    for name, shape in STATEMENTS.items():
        new = reshaped(text, [(2, 9)], shape)
        assert new is None or ("\n    y = 1\n" in new and new.startswith("def f():\n")), name
    walrus = reshaped("x = f(1)\n", [(1, 5)], STATEMENTS["walrus"])
    assert walrus == "x = (shape_w := f(1))\n"
    commented = reshaped("x = f(1, (2,))\n", [(1, 5)], STATEMENTS["commented"])
    assert commented is not None
    assert said(commented) == ["said 0", "said 1", "said 2", "said 3"]


def main(codes: list[str]) -> int:
    """Put every case into every shape."""
    count = failed = 0
    for case in FIXABLE:
        if (codes and case.code not in codes) or sys.version_info < case.needs_python:
            continue
        for shape in SHAPES:
            text = in_shape(case, shape)
            if text is None or text == case.before.text or not compiles(text):
                continue
            count += 1
            wrong = problem(text, case.code)
            if wrong is not None:
                failed += 1
                print(f"== {case.id} as {shape}\n{text}\n-- {textwrap.indent(wrong, '   ')}")
    print(f"{count} texts, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
