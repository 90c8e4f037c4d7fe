"""The format for people: each finding with its line, its related places, and its fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Applicability, Confidence
from placement_lint.report.change import change
from placement_lint.report.colour import Colours
from placement_lint.report.escape import escape, escape_path
from placement_lint.report.frame import frame, gutter_width
from placement_lint.report.text import place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from placement_lint.files.source import Source
    from placement_lint.findings import Edit, Finding, Fix

_HOW = {
    Applicability.SAFE: "--fix",
    Applicability.UNSAFE: "--fix --unsafe-fixes",
    Applicability.DISPLAY: "by hand",
}


def render(
    findings: Iterable[Finding],
    source_of: Callable[[str], Source | None],
    colours: Colours | None = None,
) -> str:
    """Return each finding in full. `source_of` returns None where a text cannot be shown."""
    paint = colours or Colours()
    return "".join(_finding(finding, source_of, paint) + "\n" for finding in findings)


def _finding(finding: Finding, source_of: Callable[[str], Source | None], paint: Colours) -> str:
    sure = finding.confidence is Confidence.DEFINITE
    doubt = "" if sure else f" ({finding.confidence.value})"
    level = finding.severity.value
    head = paint.link(paint.level(level, f"{level}[{finding.code}]"), finding.code)
    lines = [f"{head}: {paint.bold(escape(finding.message))}{doubt}"]
    gutter = gutter_width(finding.span, *(related.span for related in finding.related))
    arrow = " " * gutter + paint.frame("-->")
    lines.append(f"{arrow} {place(finding.path, finding.span, finding.cell)}")
    source = source_of(finding.path)
    if source is not None:
        lines += frame(source, finding.span, paint, cell=finding.cell, gutter=gutter)
    for related in finding.related:
        lines.append(f"{paint.help('note:')} {escape(related.message)}")
        lines.append(f"{arrow} {place(related.path, related.span, related.cell)}")
        source = source_of(related.path)
        if source is not None:
            cell = related.cell
            lines += frame(source, related.span, paint, cell=cell, mark="-", gutter=gutter)
    if finding.fix is not None:
        lines += _fix(finding.fix, source_of, paint)
    elif finding.advice:
        lines.append(f"{paint.help('help:')} {escape(finding.advice)}")
    return "\n".join(lines) + "\n"


def _fix(fix: Fix, source_of: Callable[[str], Source | None], paint: Colours) -> list[str]:
    lines = [f"{paint.help('help:')} {escape(fix.message)} ({_HOW[fix.applicability]})"]
    by_place: dict[tuple[str, int | None], list[Edit]] = {}
    for edit in fix.edits:
        by_place.setdefault((edit.path, edit.cell), []).append(edit)
    for (path, cell), edits in by_place.items():
        source = source_of(path)
        if source is None:
            continue
        if len(by_place) > 1:
            lines.append(f"  {escape_path(path)}" + ("" if cell is None else f":cell {cell}"))
        lines += change(source, edits, paint)
    return lines
