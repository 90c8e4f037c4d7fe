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
    """Summarise what was found, what was fixed, and what could be."""
    findings = outcome.findings
    files = counted(outcome.files, "file")
    fixed = _fixed(outcome.fixed)
    if fixed:
        return (
            f"Found {counted(fixed + len(findings), 'finding')} "
            f"({fixed} fixed, {len(findings)} remaining).{_fixable_unsafely(findings)}"
        )
    if findings:
        places = len({finding.path for finding in findings})
        found = f"Found {counted(len(findings), 'finding')} in {places} of {files}."
        return f"{found}{_fixable(findings)}"
    return f"No findings in {files}."


def would_fix(fixed: Sequence[FixedFile], left: Sequence[Finding]) -> str:
    """Summarise what `--fix` would do; `left` is what would be found after it."""
    number = _fixed(fixed)
    done = (
        f"Would fix {counted(number, 'finding')} ({len(left)} remaining)."
        if number
        else "Nothing to fix."
    )
    return f"{done}{_fixable_unsafely(left)}"


def fixes(fixed: Iterable[FixedFile], names: Mapping[str, str]) -> str:
    """List what was fixed, by file and rule; `names` gives each code's name."""
    lines = []
    for file in fixed:
        lines.append(f"{escape_path(file.path)}:")
        lines += [
            f"  {count} x {code}" + (f" ({names[code]})" if code in names else "")
            for code, count in sorted(file.counts.items())
        ]
    return "".join(f"{line}\n" for line in lines)


def _fixed(fixed: Iterable[FixedFile]) -> int:
    return sum(sum(file.counts.values()) for file in fixed)


def _fixable_unsafely(findings: Iterable[Finding]) -> str:
    unsafe = _levels(findings)[Applicability.UNSAFE]
    return f" {unsafe} fixable with `--unsafe-fixes`." if unsafe else ""


def _fixable(findings: Iterable[Finding]) -> str:
    levels = _levels(findings)
    safe, unsafe = levels[Applicability.SAFE], levels[Applicability.UNSAFE]
    if safe and unsafe:
        return f" {safe} fixable with `--fix` ({unsafe} more with `--unsafe-fixes`)."
    if safe:
        return f" {safe} fixable with `--fix`."
    if unsafe:
        return f" {unsafe} fixable with `--fix --unsafe-fixes`."
    return ""


def _levels(findings: Iterable[Finding]) -> Counter[Applicability]:
    return Counter(finding.fix.applicability for finding in findings if finding.fix is not None)


def counted(number: int, noun: str) -> str:
    """Return a number with what is counted, in the plural where there is not one."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
