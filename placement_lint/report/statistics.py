"""How often each rule found something, for an overview."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from placement_lint.findings import Applicability

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
        if self.count and self.safe == self.count:
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


def render(
    findings: Iterable[Finding], colours: Colours, before: Iterable[Finding] | None = None
) -> str:
    found = counts(findings)
    earlier = _earlier(found, before)
    legend = _LEGEND if any(count.mark.strip() for count in found) else ""
    if earlier is None:
        width = max((len(str(count.count)) for count in found), default=1)
        return (
            "".join(f"{count.count:>{width}}  {_rule(count, colours)}\n" for count in found)
            + legend
        )
    if not found:
        return ""
    lines = [
        f"{count.count:>5}  {earlier[count.code]:>6}  {_change(count, earlier):>6}  "
        f"{_rule(count, colours)}\n"
        for count in found
    ]
    return "  now  before  change\n" + "".join(lines) + legend


def _rule(count: Count, colours: Colours) -> str:
    return f"{colours.link(colours.bad(count.code), count.code)}  {count.mark} {count.name}"


def _change(count: Count, earlier: Mapping[str, int]) -> str:
    change = count.count - earlier[count.code]
    return f"{change:+}" if change else "0"


def _earlier(found: list[Count], before: Iterable[Finding] | None) -> dict[str, int] | None:
    """Return how often each rule found something before; adds the rules that do so no longer."""
    if before is None:
        return None
    known = {count.code for count in found}
    earlier = dict.fromkeys(known, 0)
    for count in counts(before):
        earlier[count.code] = count.count
        if count.code not in known:
            found.append(Count(count.code, count.name, count.severity))
    return earlier


def render_json(findings: Iterable[Finding], before: Iterable[Finding] | None = None) -> str:
    found = counts(findings)
    earlier = _earlier(found, before)
    rows: list[dict[str, Any]] = [
        {
            "code": count.code,
            "name": count.name,
            "severity": count.severity,
            "count": count.count,
            "fixable": count.safe,
            "fixable_unsafely": count.unsafe,
            **({} if earlier is None else {"before": earlier[count.code]}),
        }
        for count in found
    ]
    return json.dumps({"version": VERSION, "statistics": rows}, indent=2) + "\n"
