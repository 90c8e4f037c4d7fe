"""flake8's format, one line a finding: `path:line:column: CODE message`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.report.escape import escape, escape_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.findings import Finding, Span


def render(findings: Iterable[Finding]) -> str:
    return "".join(
        f"{place(finding.path, finding.span, finding.cell)}: "
        f"{finding.code} {escape(finding.message)}\n"
        for finding in findings
    )


def place(path: str, span: Span, cell: int | None = None) -> str:
    """Name the start of a span, in a form that editors and terminals can follow."""
    inside = "" if cell is None else f"cell {cell}:"
    return f"{escape_path(path)}:{inside}{span.line}:{span.column}"
