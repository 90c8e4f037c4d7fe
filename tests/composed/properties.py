"""What fixing any file must keep to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from placement_lint.files.opening import decode
from placement_lint.findings import Applicability
from placement_lint.lint.file_results import FileOptions, Sight
from placement_lint.lint.fixes.apply import FixResult, fix_source
from placement_lint.rules.registry import all_rules
from tests.composed.files import compiles
from tests.variants import Layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.files.source import Source
    from tests.composed.files import Composed

_DIRECTIVE = re.compile(r"#\s*(noqa:\s?([A-Z]+[0-9]+[, ]*)+|placement-lint: .*)", re.IGNORECASE)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_APPLIED = {False: {Applicability.SAFE}, True: {Applicability.SAFE, Applicability.UNSAFE}}


def fix(source: Source, *, unsafe: bool) -> FixResult:
    """Fix a file with all rules, the pedantic ones too."""
    return fix_source(source, FileOptions(all_rules(), sight=Sight.WHOLE), unsafe=unsafe)


def problems(composed: Composed, *, unsafe: bool) -> Iterator[str]:
    """Give what fixing a file breaks."""
    source = decode("composed.py", composed.data)
    if source.encode(source.text) != composed.data:
        yield "the bytes of the file are not those of its text"
    first = fix(source, unsafe=unsafe)
    yield from (finding.message for finding in first.result.findings if finding.code == "JDP903")
    yield from (
        f"left, though it has a fix: {finding.code} in line {finding.span.line}"
        for finding in first.result.findings
        if finding.fix is not None and finding.fix.applicability in _APPLIED[unsafe]
    )
    if first.text == source.text:
        return
    again = fix(decode("composed.py", source.encode(first.text)), unsafe=unsafe)
    if again.text != first.text:
        yield "a second run changes more"
    if compiles(source.text) and not compiles(first.text):
        yield "it does not compile any more"
    if said(first.text) != said(source.text):
        yield "comments are lost, new or elsewhere"
    yield from _strange_line_ends(source.text, first.text)
    yield from _changed_without_cause(composed, source, first)


def said(text: str) -> list[str]:
    """Give what the comments say, in order, beside silencing rules."""
    layout = Layout(re.sub(r"\r\n?", "\n", text))
    comments = (_DIRECTIVE.sub("", comment).strip("# ") for comment in layout.comments)
    return [comment for comment in comments if comment]


def _strange_line_ends(before: str, after: str) -> Iterator[str]:
    ends = set(re.findall(r"\r\n|\r|\n", before))
    strange = set(re.findall(r"\r\n|\r|\n", after)) - ends
    if strange:
        yield f"line ends {strange} in a file that has {ends}"


def _changed_without_cause(composed: Composed, source: Source, result: FixResult) -> Iterator[str]:
    """Find parts that are about nothing, and are not there any more as they were."""
    lines = _LINE.findall(source.text)
    spoken_of = {
        line
        for finding in result.original.findings
        for span in (finding.span, *(related.span for related in finding.related))
        for line in range(span.line, span.end_line + 1)
    } | {
        line
        for finding in result.original.findings
        if finding.fix
        for edit in finding.fix.edits
        for line in range(edit.span.line, edit.span.end_line + 1)
    }
    for part in composed.parts:
        if part.case.kind != "clean":
            # What mends another part may make a mistake of it, and then mend that.
            continue
        if spoken_of.isdisjoint(range(part.first, part.last + 1)):
            text = "".join(lines[part.first - 1 : part.last]).rstrip("\r\n")
            if text not in result.text:
                yield f"{part.case.id} was changed, and nothing was found in it"
