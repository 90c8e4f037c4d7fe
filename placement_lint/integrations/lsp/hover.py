"""What is shown for a place: what is known of a name, and the page of a rule; as Markdown."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from lsprotocol.types import (
    Hover,
    InlayHint,
    InlayHintKind,
    MarkupContent,
    MarkupKind,
)

from placement_lint.findings import Applicability, Span
from placement_lint.integrations.lsp.diagnostics import address
from placement_lint.rules.pages import find_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.findings import Finding
    from placement_lint.integrations.lsp.analysis import Snapshot
    from placement_lint.integrations.lsp.positions import Places
    from placement_lint.lint.lookup import NameInfo
    from placement_lint.rules.pages import Page

_HEADING = re.compile(r"^##(?= )", re.MULTILINE)


def page_of(code: str) -> str | None:
    """Return a rule's page as Markdown; None where there is no such rule."""
    page = find_page(code)
    return None if page is None else _markdown(page)


def _markdown(page: Page) -> str:
    fix = "no fix" if page.fix is None else f"{page.fix} fix"
    return f"# {page.code} `{page.name}`\n\n*{page.severity}, {fix}*\n\n{page.text}\n"


def about(finding: Finding) -> str:
    """Return what was found, and why that matters."""
    said = [f"**{finding.code}** `{finding.name}`: {finding.message}"]
    fix = finding.fix
    if fix is not None:
        does = {
            Applicability.SAFE: "Fix",
            Applicability.UNSAFE: "Unsafe fix",
            Applicability.DISPLAY: "Suggestion",
        }[fix.applicability]
        said.append(f"{does}: {fix.message}")
    elif finding.advice:
        said.append(f"Help: {finding.advice}")
    page = find_page(finding.code)
    if page is not None:
        # Smaller headings: what was found is the head of this.
        said.append(_HEADING.sub("####", page.text))
    return "\n\n".join(said)


def hover(
    told: NameInfo | None, findings: list[Finding], places: Places, lines_before: int
) -> Hover | None:
    """Return what is known of a name, and what was found there.

    What is known is told by lines of all cells of a notebook; that many are before this one's.
    """
    said = [] if told is None else [f"`{told.name}`: {told.description}"]
    said += [about(each) for each in findings]
    if not said:
        return None
    span = findings[0].span if findings else None
    if told is not None:
        first, last = told.span.line - lines_before, told.span.end_line - lines_before
        span = Span(first, told.span.column, last, told.span.end_column)
    contents = MarkupContent(MarkupKind.Markdown, "\n\n---\n\n".join(said))
    return Hover(contents, None if span is None else places.range(span))


def linked(snapshot: Snapshot) -> Callable[[str, int], str]:
    """Return what writes a line of a file as a link to it."""

    def where(path: str, line: int) -> str:
        return f"[{os.path.basename(path)}:{line}]({address(snapshot, path)}#L{line})"

    return where


def hint(told: NameInfo, lines_before: int, places: Places) -> InlayHint:
    """Mark a name that is bound to an uncommitted array."""
    span = told.span
    return InlayHint(
        position=places.position(span.end_line - lines_before, span.end_column),
        label=f": {told.description}",
        kind=InlayHintKind.Type,
        tooltip="Nothing holds this array there: what is computed of it goes to the default "
        "device, and all of it is copied there each time. `jax.device_put` commits it.",
    )
