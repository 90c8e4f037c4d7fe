"""A run in a sentence, for the end of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from placement_lint.findings import Applicability
from placement_lint.report.escape import escape_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from placement_lint.findings import Finding
    from placement_lint.lint.results import FixedFile, Outcome


def summary(outcome: Outcome) -> str:
    """Say what was found, what was mended, and what could be."""
    findings = outcome.findings
    files = _count(outcome.files, "file")
    mended = _mended(outcome.fixed)
    if mended:
        return (
            f"Found {_count(mended + len(findings), 'finding')}, mended {mended} in "
            f"{_count(len(outcome.fixed), 'file')}, {_left(findings)}."
        )
    if findings:
        places = len({finding.path for finding in findings})
        found = f"Found {_count(len(findings), 'finding')} in {places} of {files}."
        return f"{found}{_fixable(findings)}"
    return f"No findings in {files}."


def would_fix(fixed: Sequence[FixedFile], left: Sequence[Finding]) -> str:
    """Say what `--fix` would do; `left` is what would be found after it."""
    mended = _mended(fixed)
    if not mended:
        return f"There is nothing to mend{_with_unsafe_fixes(left, ' ({} with --unsafe-fixes)')}."
    return (
        f"{_count(mended, 'finding')} would be mended in {_count(len(fixed), 'file')}, "
        f"{_left(left)}."
    )


def fixes(fixed: Iterable[FixedFile], names: Mapping[str, str]) -> str:
    """List what was mended, by file and rule; `names` gives each code's name."""
    lines = []
    for file in fixed:
        lines.append(f"{escape_path(file.path)}:")
        lines += [
            f"  {count} x {code}" + (f" ({names[code]})" if code in names else "")
            for code, count in sorted(file.counts.items())
        ]
    return "".join(f"{line}\n" for line in lines)


def _mended(fixed: Iterable[FixedFile]) -> int:
    return sum(sum(file.counts.values()) for file in fixed)


def _left(findings: Sequence[Finding]) -> str:
    """Say what is found after fixing."""
    left = f"{len(findings)} left" if findings else "none left"
    return f"{left}{_with_unsafe_fixes(findings, ' ({} more with --unsafe-fixes)')}"


def _with_unsafe_fixes(findings: Iterable[Finding], form: str) -> str:
    unsafe = _levels(findings)[Applicability.UNSAFE]
    return form.format(unsafe) if unsafe else ""


def _fixable(findings: Iterable[Finding]) -> str:
    levels = _levels(findings)
    safe, unsafe = levels[Applicability.SAFE], levels[Applicability.UNSAFE]
    if safe and unsafe:
        return f" {safe} fixable with --fix ({unsafe} more with --unsafe-fixes)."
    if safe:
        return f" {safe} fixable with --fix."
    if unsafe:
        return f" {unsafe} fixable with --fix --unsafe-fixes."
    return ""


def _levels(findings: Iterable[Finding]) -> Counter[Applicability]:
    return Counter(finding.fix.applicability for finding in findings if finding.fix is not None)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
