"""Findings that no format must stumble over."""

from __future__ import annotations

from hypothesis import strategies as st

from placement_lint.findings import (
    Applicability,
    Confidence,
    Edit,
    Finding,
    Fix,
    Related,
    Severity,
    Span,
)
from placement_lint.lint.results import Outcome, Skipped, Suppressed

NASTY = (
    *("a.py", "a b.py", "ü/ж.py", "a\nb.py", "a\r\nb.py", "a\tb.py", "::error::x.py", "100%.py"),
    *("a%0Ab.py", "a,b:c.py", "a\x1b[31mb.py", "a\x00b.py", "\udcff.py", "a]]>b.py", "<&\"'>.py"),
    *("\ufffe\uffff.py", "\u2028\u202e.py", "-.py", "[x](y).py", "\\.py", "a\\nb.py", "x" * 3000),
    *("\x85.py", "#?.py", "{0}.py", "\U0001d54f.py", "a:1:2: JDP101 b.py", " .py"),
    *(
        "##vso[task.x y=z]b.py",
        "x ##[add-matcher]b.py",
        "##teamcity[x].py",
        " ::stop-commands::x.py",
    ),
    *("\u200b::error::x.py", "\xa0::error::x.py", "\U000e0041.py", "\u2060\ufeff.py", "###[x].py"),
)
paths = st.sampled_from(NASTY) | st.text(st.characters(), min_size=1, max_size=20).filter(
    lambda path: "/" not in path and path not in {".", ".."}
)
texts = st.sampled_from([*NASTY, "", "see [this](1) and ](2"]) | st.text(
    st.characters(), max_size=30
)
numbers = st.integers(1, 10**6)
spans = st.builds(
    lambda line, column, lines, columns: Span(
        line, column, line + lines, columns if lines else column + columns
    ),
    numbers,
    numbers,
    st.integers(0, 2),
    st.integers(1, 100),
)
cells = st.none() | st.integers(1, 50)
fixes = st.builds(
    Fix,
    st.sampled_from(Applicability),
    texts,
    st.lists(st.builds(Edit, paths, spans, texts, cells), max_size=3).map(tuple),
)
findings = st.builds(
    Finding,
    st.sampled_from(["JDP201", "JDP204", "JDP901", "JDP903"]),
    st.just("some-name"),
    texts,
    paths,
    spans,
    st.sampled_from(Severity),
    st.sampled_from(Confidence),
    st.lists(st.builds(Related, texts, paths, spans), max_size=2).map(tuple),
    st.none() | fixes,
    cells,
)
skipped = st.builds(Skipped, paths, st.sampled_from(["excluded", "a link to nothing"]) | texts)


def _outcome(
    found: list[Finding], silent: list[Finding], passed: list[Skipped], reason: str
) -> Outcome:
    return Outcome(
        findings=tuple(sorted(found, key=lambda finding: finding.sort_key)),
        skipped=tuple(sorted(passed, key=lambda skip: (skip.path, skip.reason))),
        files=9,
        parsed=1,
        cached=2,
        seconds=0.5,
        fixed=(),
        sources=lambda _: None,
        suppressed=tuple(Suppressed(finding, reason) for finding in silent),
    )


outcomes = st.builds(
    _outcome,
    st.lists(findings, max_size=4),
    st.lists(findings, max_size=2),
    st.lists(skipped, max_size=2),
    texts,
)
