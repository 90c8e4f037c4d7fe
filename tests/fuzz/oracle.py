"""What must hold for a file, whatever is in it."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from placement_lint.config.settings import Settings
from placement_lint.files.notebook import is_notebook
from placement_lint.files.store import FileStore
from placement_lint.findings import Applicability
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import ABOUT_COMMENTS
from placement_lint.lint.linter import Linter
from placement_lint.lint.results import FixMode
from placement_lint.lint.run import request_for
from tests.composed.files import compiles
from tests.composed.properties import said

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.files.source import Source
    from placement_lint.findings import Finding
    from placement_lint.lint.results import Outcome

SETTINGS = Settings(select=("ALL",), target_jax="0.12")
"""With a JAX that they are linted for, so that a newer one on the machine changes nothing."""
SECONDS = 4.0
SECONDS_PER_BYTE = 0.001
"""What looking at a file may take of the processor's time: many times what it does take."""
_APPLIED = {False: {Applicability.SAFE}, True: {Applicability.SAFE, Applicability.UNSAFE}}
_OUR_FAULT = "JDP903"
_UNREAD = {"JDP900", "JDP901"}
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Input:
    """A file: its name, of which the ending counts, what is in it, and what makes it again."""

    name: str
    data: bytes
    origin: str = ""


@dataclass(frozen=True)
class Verdict:
    """What came of a file."""

    problems: tuple[str, ...]
    parsed: bool = False
    found: int = 0
    """How many findings there are, beside those about the file as such."""
    fixed: bool = False
    """Whether fixing changes it."""


def judge(given: Input) -> Verdict:
    """Look at a file in every way, and give what is wrong with what comes of it."""
    name, data = given.name, given.data
    problems: list[str] = []
    started = time.process_time()
    first, _ = Linter(lambda _: SETTINGS).check_text(name, data)
    problems += _too_slow("looking", started, len(data))
    problems += _faults(first.findings)
    again, _ = Linter(lambda _: SETTINGS).check_text(name, data)
    if (again.findings, again.suppressed) != (first.findings, first.suppressed):
        problems.append("something else is found the second time")
    source = FileStore({name: data}).source_if_readable(name)
    if source is not None:
        problems += _lost_by_the_filter(source, first)
    fixed = False
    if first.findings or first.suppressed:
        for unsafe in (False, True):
            changed, wrong = _fixed(given, source, first, unsafe=unsafe)
            fixed = fixed or changed
            problems += wrong
    found = sum(finding.code not in _UNREAD for finding in first.findings)
    return Verdict(tuple(dict.fromkeys(problems)), bool(first.parsed), found, fixed)


def _too_slow(what: str, started: float, size: int, times: int = 1) -> Iterator[str]:
    seconds = time.process_time() - started
    if seconds > times * (SECONDS + SECONDS_PER_BYTE * size):
        yield f"{what} took {seconds:.1f} s for {size} bytes"


def _faults(findings: Iterable[Finding]) -> Iterator[str]:
    return (finding.message for finding in findings if finding.code == _OUR_FAULT)


def _lost_by_the_filter(source: Source, first: Outcome) -> Iterator[str]:
    """Find what every rule finds, if all of them are let to look, and was not found."""
    options = request_for(SETTINGS, source.path).options
    everything = lint_source(source, options).findings
    # What is said of comments depends on what there is beside the file, which is not asked here.
    # What cannot be parsed is no concern where nothing could be found in it.
    apart = {rule.code for rule in ABOUT_COMMENTS} | ({"JDP901"} if not first.parsed else set())
    there = {finding for finding in first.findings if finding.code not in apart}
    for finding in everything:
        if finding.code not in apart and finding not in there:
            yield f"only without the filter: {finding.code} in line {finding.span.line}"
    if first.parsed and len(there) > sum(each.code not in apart for each in everything):
        yield "less is found without the filter"


def _fixed(
    given: Input, source: Source | None, first: Outcome, *, unsafe: bool
) -> tuple[bool, list[str]]:
    """Give whether fixing changes a file, and what is wrong with what it makes of it."""
    name, data = given.name, given.data
    settings = replace(SETTINGS, unsafe_fixes=unsafe)
    started = time.process_time()
    outcome, after = Linter(lambda _: settings, fix=FixMode.DIFF).check_text(name, data)
    problems = [*_too_slow("fixing", started, len(data), 8), *_faults(outcome.findings)]
    assert after is not None
    if not outcome.skipped:
        problems += (
            f"left, though it has a fix: {finding.code}"
            for finding in outcome.findings
            if finding.fix is not None and finding.fix.applicability in _APPLIED[unsafe]
        )
    if after == data:
        if outcome.findings != first.findings:
            problems.append("something else is found where fixing changes nothing")
        return False, problems
    assert source is not None
    now = FileStore({name: after}).source_if_readable(name)
    if now is None:
        return True, [*problems, "what fixing makes of it cannot be read"]
    problems += _damage(source, now, name)
    if {f.code for f in outcome.findings} & _UNREAD - {f.code for f in first.findings}:
        problems.append("what fixing makes of it does not parse")
    repeated, last = Linter(lambda _: settings, fix=FixMode.DIFF).check_text(name, after)
    if last != after:
        problems.append("fixing a second time changes more")
    elif repeated.findings != outcome.findings:
        problems.append("after fixing, something else is found")
    return True, problems


def _damage(before: Source, after: Source, name: str) -> Iterator[str]:
    """Find what fixing may not change."""
    if (before.encoding, before.bom) != (after.encoding, after.bom):
        yield "fixing changes the encoding"
    ends = {*_LINE_END.findall(before.content)}
    strange = {*_LINE_END.findall(after.content)} - ends
    if strange and ends:
        yield f"fixing brings line ends {strange}"
    if is_notebook(name):
        if [cell.number for cell in before.cells] != [cell.number for cell in after.cells]:
            yield "fixing changes which cells there are"
    elif compiles(before.text):
        if not compiles(after.text):
            yield "what fixing makes of it does not compile"
        elif said(before.text) != said(after.text):
            yield "fixing loses comments, or brings new ones"
