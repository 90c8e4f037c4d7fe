"""How often each rule found something, for an overview."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from placement_lint.findings import Applicability

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.findings import Finding
    from placement_lint.report.colour import Colours

VERSION = 1

_LEGEND = "[*] fixable with `--fix`, [-] partly, or with `--unsafe-fixes`\n"


@dataclass
class Count:
    """What one rule found."""

    code: str
    name: str
    severity: str
    count: int = 0
    safe: int = 0
    """How many of the findings have a safe fix."""
    unsafe: int = 0

    @property
    def mark(self) -> str:
        if self.safe == self.count:
            return "[*]"
        return "[-]" if self.safe or self.unsafe else "   "


def counts(findings: Iterable[Finding]) -> list[Count]:
    """Count by rule; what is found most often comes first."""
    found: dict[str, Count] = {}
    for finding in findings:
        severity = finding.severity.value
        count = found.setdefault(finding.code, Count(finding.code, finding.name, severity))
        count.count += 1
        if finding.fix is not None:
            count.safe += finding.fix.applicability is Applicability.SAFE
            count.unsafe += finding.fix.applicability is Applicability.UNSAFE
    return sorted(found.values(), key=lambda count: (-count.count, count.code))


def render(findings: Iterable[Finding], colours: Colours) -> str:
    found = counts(findings)
    width = max((len(str(count.count)) for count in found), default=1)
    lines = [
        f"{count.count:>{width}}  {colours.link(colours.bad(count.code), count.code)}  "
        f"{count.mark} {count.name}\n"
        for count in found
    ]
    return "".join(lines) + (_LEGEND if any(count.mark.strip() for count in found) else "")


def render_json(findings: Iterable[Finding]) -> str:
    rows: list[dict[str, Any]] = [
        {
            "code": count.code,
            "name": count.name,
            "severity": count.severity,
            "count": count.count,
            "fixable": count.safe,
            "fixable_unsafely": count.unsafe,
        }
        for count in counts(findings)
    ]
    return json.dumps({"version": VERSION, "statistics": rows}, indent=2) + "\n"
