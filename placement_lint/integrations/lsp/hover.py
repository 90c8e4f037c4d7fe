"""What is shown for a place: what is known of a name, and of a finding; as Markdown."""

from __future__ import annotations

import os
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

MOST_LINES = 10
"""Of one hover: editors cover the code with it, and show what is longer in a box that scrolls."""
_LINE_END = "  \n"
"""Ends a line of Markdown within a paragraph."""
_DOES = {
    Applicability.SAFE: "Fix",
    Applicability.UNSAFE: "Unsafe fix",
    Applicability.DISPLAY: "Suggestion",
}


def about(finding: Finding, link: str | None, *, reason: bool) -> list[str]:
    """Return what was found, in at most four lines; why it matters only with `reason`."""
    lines = [f"**{finding.code}** `{finding.name}`: {_in_one_line(finding.message)}"]
    page = find_page(finding.code) if reason else None
    why = "" if page is None else first_sentence(page.section("Why is this bad?"))
    if why:
        lines.append(f"Why: {why}")
    fix = finding.fix
    if fix is not None:
        lines.append(f"{_DOES[fix.applicability]}: {_in_one_line(fix.message)}")
    elif finding.advice:
        lines.append(f"Help: {_in_one_line(finding.advice)}")
    if link is not None:
        lines.append(f"[More about {finding.code}]({link})")
    return lines


def first_sentence(text: str) -> str:
    """Return the first sentence of the first paragraph of a page's section, in one line."""
    sentence, full_stop, _ = _in_one_line(text.strip().split("\n\n")[0]).partition(". ")
    return sentence + full_stop.strip()


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def hover(
    info: NameInfo | None,
    findings: list[Finding],
    places: Places,
    lines_before: int,
    link: Callable[[str], str | None],
) -> Hover | None:
    """Return what is known of a name, and what was found there, in at most MOST_LINES lines.

    `link` gives the URL of the page of a rule, which has the rest. The lines of a NameInfo are
    those of all cells of a notebook; `lines_before` are in the cells before this one.
    """
    paragraphs = [] if info is None else [[f"`{info.name}`: {_in_one_line(info.description)}"]]
    paragraphs += _paragraphs(findings, link, MOST_LINES - 2 * len(paragraphs))
    if not paragraphs:
        return None
    span = findings[0].span if findings else None
    if info is not None:
        first, last = info.span.line - lines_before, info.span.end_line - lines_before
        span = Span(first, info.span.column, last, info.span.end_column)
    contents = "\n\n".join(_LINE_END.join(lines) for lines in paragraphs)
    markup = MarkupContent(MarkupKind.Markdown, contents)
    return Hover(markup, None if span is None else places.range(span))


def _paragraphs(
    findings: list[Finding], link: Callable[[str], str | None], room: int
) -> list[list[str]]:
    """Return a paragraph for each finding that there is room for, and how many there are beside."""
    said: list[list[str]] = []
    for left, finding in zip(range(len(findings), 0, -1), findings, strict=True):
        lines = about(finding, link(finding.code), reason=len(findings) == 1)
        # The blank line before it, and the line that may have to follow the last one.
        needed = len(lines) + bool(said) + (left > 1)
        if needed > room:
            said[-1].append(f"… and {left} more finding{'s' * (left > 1)} here")
            break
        room -= len(lines) + bool(said)
        said.append(lines)
    return said


def linked(snapshot: Snapshot) -> Callable[[str, int], str]:
    """Return what writes a line of a file as a link to it."""

    def where(path: str, line: int) -> str:
        return f"[{os.path.basename(path)}:{line}]({address(snapshot, path)}#L{line})"

    return where


def hint(info: NameInfo, lines_before: int, places: Places) -> InlayHint:
    """Mark a name that is bound to an uncommitted array, or to one on a mesh."""
    span = info.span
    tooltip = (
        "This array is committed to all devices of the mesh: computations with it run there."
        if info.is_on_mesh
        else "Nothing holds this array there: what is computed of it goes to the default device, "
        "and all of it is copied there each time. `jax.device_put` commits it."
    )
    return InlayHint(
        position=places.position(span.end_line - lines_before, span.end_column),
        label=f": {info.description}",
        kind=InlayHintKind.Type,
        tooltip=tooltip,
    )
