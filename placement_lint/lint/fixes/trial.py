"""What is found in a file as a fix would leave it, for fixes by which something takes effect.

Where an assignment sets nothing, a fix makes it do what it says. What comes of that, nothing in the
file has shown before: arrays are then on the host that computations copy, or a function is compiled
that the context does not reach. So the file is checked once more with the fixes applied, and a fix
that brings up a finding which no safe fix gets rid of is not safe.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from placement_lint.findings import Applicability
from placement_lint.syntax.edits import edited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from placement_lint.files.source import Source
    from placement_lint.findings import Edit, Finding, Fix

    Check = Callable[[Source, bool], Sequence[Finding]]

MOST_TRIALS = 8
"""Fixes of one file that are tried one by one, where all of them together bring up something."""


def tried(
    findings: Sequence[Finding], codes: frozenset[str], source: Source, check: Check
) -> list[Finding]:
    """Return findings with those fixes of some rules made unsafe that bring up other findings.

    `check` returns what is found in a source; its second argument says whether with fixes.
    """
    trials = _Trials(source, check)
    wanted = [each for each in findings if each.code in codes and trials.is_possible(each.fix)]
    if not wanted or not trials.brought_up(each.fix for each in wanted):
        return [*findings]
    judged = {id(each): each for each in wanted[MOST_TRIALS:]}
    left = {key: _unsafe(each) for key, each in judged.items()}
    for each in wanted[:MOST_TRIALS]:
        brought = trials.brought_up([each.fix])
        if brought:
            left[id(each)] = _unsafe(each, brought)
    return [left.get(id(each), each) for each in findings]


def not_tried(findings: Sequence[Finding], codes: frozenset[str]) -> list[Finding]:
    """Return findings with the fixes of some rules made unsafe: there is no time to try them."""
    return [_unsafe(each) if each.code in codes else each for each in findings]


def _unsafe(finding: Finding, brought: Sequence[str] = ()) -> Finding:
    fix = finding.fix
    if fix is None or fix.applicability is not Applicability.SAFE:
        return finding
    what = f", which brings up {' and '.join(brought)}" if brought else ""
    unsafe = replace(fix, applicability=Applicability.UNSAFE, message=fix.message + what)
    return replace(finding, fix=unsafe)


class _Trials:
    """What is found in one file, as it is and as fixes would leave it."""

    def __init__(self, source: Source, check: Check) -> None:
        self._source = source
        self._check = check
        self._known: Counter[str] | None = None

    def is_possible(self, fix: Fix | None) -> bool:
        """Return whether a fix is safe so far, and edits nothing but the file."""
        return (
            fix is not None
            and fix.applicability is Applicability.SAFE
            and all(edit.path == self._source.path for edit in fix.edits)
        )

    def brought_up(self, fixes: Iterable[Fix | None]) -> list[str]:
        """Return the codes of what is found with some fixes applied, and was not before.

        But for what a safe fix gets rid of.
        """
        edits: dict[Edit, None] = {}
        for fix in fixes:
            edits.update(dict.fromkeys(() if fix is None else fix.edits))
        try:
            after = edited(self._source, [*edits])
        except ValueError:
            # They overlap: each is tried by itself.
            return ["others"]
        if self._known is None:
            self._known = Counter(each.code for each in self._check(self._source, False))
        left = Counter(each.code for each in self._check(after, True) if not _is_fixed(each))
        return sorted(code for code, count in left.items() if count > self._known[code])


def _is_fixed(finding: Finding) -> bool:
    return finding.fix is not None and finding.fix.applicability is Applicability.SAFE
