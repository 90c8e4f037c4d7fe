"""A run in a sentence, for the end of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from placement_lint.findings import Applicability
from placement_lint.report.escape import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from placement_lint.findings import Finding
    from placement_lint.lint.run import FixedFile, Outcome


def summary(outcome: Outcome) -> str:
    """Say what was found, what was mended, and what could be."""
    findings = outcome.findings
    files = _count(outcome.files, "file")
    mended = sum(sum(file.counts.values()) for file in outcome.fixed)
    if mended:
        left = f"{len(findings)} left" if findings else "none left"
        start = (
            f"Mended {_count(mended, 'finding')} in {_count(len(outcome.fixed), 'file')}, {left}."
        )
    elif findings:
        places = len({finding.path for finding in findings})
        start = f"Found {_count(len(findings), 'finding')} in {places} of {files}."
    else:
        return f"No findings in {files}."
    return f"{start}{_fixable(findings)}"


def would_fix(fixed: Sequence[FixedFile]) -> str:
    """Say what `--fix` would do."""
    mended = sum(sum(file.counts.values()) for file in fixed)
    if not mended:
        return "There is nothing to mend."
    return f"{_count(mended, 'finding')} would be mended in {_count(len(fixed), 'file')}."


def fixes(fixed: Iterable[FixedFile], names: Mapping[str, str]) -> str:
    """List what was mended, by file and rule; `names` gives each code's name."""
    lines = []
    for file in fixed:
        lines.append(f"{escape(file.path)}:")
        lines += [
            f"  {count} x {code}" + (f" ({names[code]})" if code in names else "")
            for code, count in sorted(file.counts.items())
        ]
    return "".join(f"{line}\n" for line in lines)


def _fixable(findings: Iterable[Finding]) -> str:
    levels = Counter(finding.fix.applicability for finding in findings if finding.fix is not None)
    safe, unsafe = levels[Applicability.SAFE], levels[Applicability.UNSAFE]
    if safe and unsafe:
        return f" {safe} fixable with --fix ({unsafe} more with --unsafe-fixes)."
    if safe:
        return f" {safe} fixable with --fix."
    if unsafe:
        return f" {unsafe} fixable with --fix --unsafe-fixes."
    return ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
