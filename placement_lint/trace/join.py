"""What happened, joined with what was reported: the moves of a run, and the findings in its files.

A finding of a rule about moves is *confirmed* where the array of its line was copied,
*reached* where the line ran and nothing moved, *not reached* where it never ran. A line that an
array was dragged from the host at, or copied to several devices a second time, and which no rule
reports, is *not flagged*: a missed alarm. So is one at which a computation runs on the host, again
and again, of what it gave there itself.
"""

from __future__ import annotations

import abc
import ast
import enum
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from placement_lint.config.settings import Settings
from placement_lint.files.python_tree import parsed
from placement_lint.lint.file_results import FileOptions
from placement_lint.lint.run import check_files
from placement_lint.lint.tasks import Request
from placement_lint.rules.selection import select_rules
from placement_lint.trace.record import source_of
from placement_lint.trace.recorder import DRAGGED, PULLED, SMALL, SPREAD, STAGED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from placement_lint.findings import Finding
    from placement_lint.trace.record import (
        HostRun,
        Move,
        Recompilation,
        TracedPlace,
        TraceRecord,
    )

MOVED_BY = {
    "JDP201": frozenset({DRAGGED, SPREAD}),
    "JDP202": frozenset({DRAGGED, SPREAD}),
    "JDP208": frozenset({PULLED}),
    "JDP402": frozenset({STAGED}),
    "JDP707": frozenset({SPREAD}),
}
"""The rules that a move can confirm, and the kinds of moves that each is about."""

MADE_BY = frozenset({"JDP706"})
"""The rules about lines that make on one device what belongs on a mesh. A copy to several devices
of an array that was made there confirms them, or a compilation because of its place."""

_TO_A_MESH = frozenset({SPREAD, SMALL})
"""The kinds of moves that bring an array to several devices: numbers and keys are `SMALL`."""

_ALWAYS_SEEN = frozenset({"JDP201", "JDP202", "JDP208", "JDP707"})
"""Of these every move is seen. What JDP402 finds may also be sent on by an explicit `device_put`,
which is not recorded: that nothing was seen says nothing."""


class FindingState(enum.Enum):
    """What the run says of a finding."""

    CONFIRMED = "confirmed"
    REACHED = "reached"
    """Its line ran; no array of it was copied."""
    NOT_REACHED = "not-reached"
    UNKNOWN = "unknown"
    """Nothing moved there; whether its line ran was not watched to the end."""


class Judgement(enum.Enum):
    """What the findings say of a line that something moved at."""

    FLAGGED = "flagged"
    NOT_FLAGGED = "not-flagged"
    """An array was dragged from the host, or copied to several devices again, and no rule reports
    it.
    """
    BESIDE = "beside"
    """It is outside of the scope of the rules: indices, scalars, keys, arrays of the
    default device.
    """


@dataclass(frozen=True)
class SeenFinding:
    """A finding, and what became of it."""

    finding: Finding
    state: FindingState
    moves: tuple[Move, ...] = ()
    host_runs: tuple[HostRun, ...] = ()
    recompilations: tuple[Recompilation, ...] = ()

    @property
    def is_about_moves(self) -> bool:
        """Whether the run can tell if it was right; of others only the line can be watched."""
        return self.state is FindingState.CONFIRMED or self.finding.code in _ALWAYS_SEEN


class _AddedUp(abc.ABC):
    """What was seen at one place of the program, added up."""

    @property
    @abc.abstractmethod
    def seen(self) -> Sequence[Move | HostRun]:
        """What is added up."""

    @property
    def count(self) -> int:
        """How many copies or computations there were."""
        return sum(each.count for each in self.seen)

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.seen)

    @property
    def seconds(self) -> float:
        """How long they took: computations without the copies made for them."""
        return sum(each.seconds for each in self.seen)


@dataclass(frozen=True)
class SeenLine(_AddedUp):
    """All moves of one sort at one place of the program."""

    site: TracedPlace | None
    kind: str
    judgement: Judgement
    moves: tuple[Move, ...]

    @property
    def seen(self) -> Sequence[Move]:
        return self.moves


@dataclass(frozen=True)
class SeenRun(_AddedUp):
    """What ran on the host at one place of the program, because an operand was committed there."""

    site: TracedPlace | None
    judgement: Judgement
    host_runs: tuple[HostRun, ...]

    @property
    def seen(self) -> Sequence[HostRun]:
        return self.host_runs


@dataclass(frozen=True)
class Joined:
    """A run and its findings, set side by side."""

    record: TraceRecord
    findings: tuple[SeenFinding, ...]
    """In the order of every report."""
    lines: tuple[SeenLine, ...]
    """What took the most bytes first."""
    host_runs: tuple[SeenRun, ...] = ()
    """What took the most time first."""
    recompilations: tuple[Recompilation, ...] = ()
    """Of which no finding is; what took the most time first."""
    skipped: tuple[tuple[str, str], ...] = ()
    """Files that could not be linted, and why."""

    def with_state(self, *states: FindingState) -> list[SeenFinding]:
        """Return the findings about moves that are in these states."""
        return [each for each in self.findings if each.is_about_moves and each.state in states]

    def judged(self, judgement: Judgement) -> list[SeenLine]:
        """Return the lines that something moved at of which this is to be said."""
        return [line for line in self.lines if line.judgement is judgement]

    def on_host(self, judgement: Judgement) -> list[SeenRun]:
        """Return the places where the host computed of which this is to be said."""
        return [run for run in self.host_runs if run.judgement is judgement]

    @property
    def not_flagged(self) -> int:
        """How many places no rule reported, and should have."""
        return sum(len(found(Judgement.NOT_FLAGGED)) for found in (self.judged, self.on_host))


def join(record: TraceRecord, display: Callable[[str], str] = str) -> Joined:
    """Lint the files that ran and join the findings with what happened.

    `display` returns the path under which a file of the record is linted.
    """
    files = {*record.lines}
    seen: list[Move | HostRun] = [*record.moves, *record.host_runs]
    files.update(each.site.path for each in seen if each.site is not None)
    readable = sorted(path for path in files if path.endswith(".py") and source_of(path))
    options = FileOptions(select_rules(Settings(), ""), respect_suppressions=False)
    outcome = check_files([display(path) for path in readable], lambda _: Request(options))
    real = {display(path): path for path in readable}
    skipped = [(skip.path, skip.reason) for skip in outcome.skipped]
    skipped += [(display(path), "not a Python file") for path in files - {*readable}]
    return match(record, outcome.findings, real, skipped)


def match(
    record: TraceRecord,
    findings: Sequence[Finding],
    real: dict[str, str],
    skipped: Iterable[tuple[str, str]] = (),
) -> Joined:
    """Join findings with a record. `real` returns the record's path for that of a finding."""
    confirmed, rows = _joined_moves(record, findings, real)
    compiled, not_found = _joined_compilations(record, findings, real)
    ran, runs = _joined_runs(record, findings, real)
    seen = [
        SeenFinding(
            finding,
            FindingState.CONFIRMED,
            tuple(confirmed.get(index, ())),
            tuple(ran.get(index, ())),
            tuple(compiled.get(index, ())),
        )
        if index in confirmed or index in ran or index in compiled
        else SeenFinding(finding, _reached(record, finding, real))
        for index, finding in enumerate(findings)
    ]
    return Joined(
        record,
        tuple(seen),
        tuple(rows),
        tuple(runs),
        tuple(not_found),
        tuple(sorted(skipped)),
    )


def _joined_moves(
    record: TraceRecord, findings: Sequence[Finding], real: dict[str, str]
) -> tuple[dict[int, list[Move]], list[SeenLine]]:
    """Return the moves that confirm findings, by their index, and all moves by line."""
    confirmed: dict[int, list[Move]] = {}
    lines: dict[tuple[TracedPlace | None, str, Judgement], list[Move]] = {}
    again = {_same_copies(move) for move in record.moves if move.again}
    for move in record.moves:
        about = _findings_about(move, findings, real)
        if move.kind in _TO_A_MESH and move.exact:
            about += _findings_at(move.made, findings, real)
        for index in about:
            confirmed.setdefault(index, []).append(move)
        if about:
            judgement = Judgement.FLAGGED
        elif move.site is not None and (move.kind == DRAGGED or _same_copies(move) in again):
            judgement = Judgement.NOT_FLAGGED
        else:
            judgement = Judgement.BESIDE
        lines.setdefault((move.site, move.kind, judgement), []).append(move)
    rows = [SeenLine(*key, tuple(moves)) for key, moves in lines.items()]
    rows.sort(key=lambda row: (-row.bytes, row.site is None, row.site or 0, row.kind))
    return confirmed, rows


def _joined_compilations(
    record: TraceRecord, findings: Sequence[Finding], real: dict[str, str]
) -> tuple[dict[int, list[Recompilation]], list[Recompilation]]:
    """Return the compilations that confirm findings, by their index, and those of no finding."""
    compiled: dict[int, list[Recompilation]] = {}
    not_found: list[Recompilation] = []
    for recompilation in record.recompilations:
        about = _findings_at(recompilation.made, findings, real)
        for index in about:
            compiled.setdefault(index, []).append(recompilation)
        if not about:
            not_found.append(recompilation)
    not_found.sort(key=lambda each: (-each.seconds, each.site is None, each.site or 0))
    return compiled, not_found


def _joined_runs(
    record: TraceRecord, findings: Sequence[Finding], real: dict[str, str]
) -> tuple[dict[int, list[HostRun]], list[SeenRun]]:
    """Return the runs on the host that confirm findings, by their index, and all of them."""
    ran: dict[int, list[HostRun]] = {}
    places: dict[tuple[TracedPlace | None, Judgement], list[HostRun]] = {}
    coming_back = {run.site for run in record.host_runs if run.site and run.after == run.site}
    for host_run in record.host_runs:
        about = _findings_about(host_run, findings, real)
        for index in about:
            ran.setdefault(index, []).append(host_run)
        comes_back = host_run.site in coming_back and host_run.after in {None, host_run.site}
        judgement = Judgement.NOT_FLAGGED if comes_back else Judgement.BESIDE
        places.setdefault((host_run.site, Judgement.FLAGGED if about else judgement), []).append(
            host_run
        )
    runs = [SeenRun(*key, tuple(host_runs)) for key, host_runs in places.items()]
    runs.sort(key=lambda run: (-run.seconds, run.site is None, run.site or 0))
    return ran, runs


def _same_copies(move: Move) -> tuple[object, ...]:
    """Return what the first and later copies of an array to several devices share."""
    return (move.kind, move.site, move.made, move.shape, move.dtype, move.source, move.target)


def _findings_at(
    made: TracedPlace | None, findings: Sequence[Finding], real: dict[str, str]
) -> list[int]:
    """Return the findings about the line that makes an array."""
    if made is None:
        return []
    first, last = statement_lines(made.path, made.line)
    return [
        index
        for index, finding in enumerate(findings)
        if finding.code in MADE_BY
        and real.get(finding.path, finding.path) == made.path
        and first <= finding.span.line <= last
    ]


def _findings_about(
    move: Move | HostRun, findings: Sequence[Finding], real: dict[str, str]
) -> list[int]:
    """Return the findings about a move: at its place, else in its statement; there, of its
    array.
    """
    site = move.site
    if site is None:
        return []
    here = [
        (index, finding)
        for index, finding in enumerate(findings)
        if move.kind in MOVED_BY.get(finding.code, ())
        and real.get(finding.path, finding.path) == site.path
    ]
    within = [(index, finding) for index, finding in here if _is_within(finding, site)]
    if not within:
        first, last = statement_lines(site.path, site.line)
        within = [(index, f) for index, f in here if first <= f.span.line <= last]
    made = move.made
    if made is not None:
        same = [(index, f) for index, f in within if _is_made_at(f, made, real)]
        within = same or within
    return [index for index, _ in within]


def _is_within(finding: Finding, site: TracedPlace) -> bool:
    """Return whether a finding begins inside of the operation that is at a place."""
    span = finding.span
    if site.column is None or site.end_column is None:
        return site.line <= span.line <= site.end_line
    start, end = (site.line, site.column), (site.end_line, site.end_column)
    return start <= (span.line, span.column) < end


def _is_made_at(finding: Finding, made: TracedPlace, real: dict[str, str]) -> bool:
    return any(
        real.get(related.path, related.path) == made.path
        and made.line <= related.span.end_line
        and related.span.line <= made.end_line
        for related in finding.related[:1]
    )


def _reached(record: TraceRecord, finding: Finding, real: dict[str, str]) -> FindingState:
    path = real.get(finding.path, finding.path)
    ran = record.lines.get(path, set())
    line = finding.span.line
    first, last = statement_lines(path, line)
    # An expression over several lines may have no instruction on its first one.
    if line in ran or any(first <= each <= last for each in ran):
        return FindingState.REACHED
    return FindingState.NOT_REACHED if record.all_lines else FindingState.UNKNOWN


def statement_lines(path: str, line: int) -> tuple[int, int]:
    """Return the lines of the smallest statement at a line: of one with a body, the header's."""
    found = (line, line)
    smallest = None
    for first, last in _statements(path):
        if first <= line <= last and (smallest is None or last - first <= smallest):
            found, smallest = (first, last), last - first
    return found


@lru_cache(maxsize=64)
def _statements(path: str) -> tuple[tuple[int, int], ...]:
    source = source_of(path)
    if source is None:
        return ()
    tree = parsed(source.text)
    if tree is None:
        return ()
    return tuple(
        (node.lineno, _last_line(node)) for node in ast.walk(tree) if isinstance(node, ast.stmt)
    )


def _last_line(node: ast.stmt) -> int:
    body: list[ast.stmt] | None = getattr(node, "body", None)
    if body:
        return max(node.lineno, body[0].lineno - 1)
    return node.end_lineno or node.lineno
