"""What happened beside what was foretold: the moves of a run, and the findings in its files.

A finding of a rule that speaks of moves is *confirmed* where the array of its line was copied,
*reached* where the line ran and nothing moved, *not reached* where it never ran. A line that an
array was dragged from the host at, and of which no rule speaks, is *not flagged*: a missed alarm.
"""

from __future__ import annotations

import ast
import enum
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from placement_lint.config.settings import Settings
from placement_lint.lint.examined import Request
from placement_lint.lint.file import FileOptions
from placement_lint.lint.run import check_files
from placement_lint.rules.selection import select_rules
from placement_lint.trace.record import source_of
from placement_lint.trace.recorder import DRAGGED, SPREAD, STAGED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from placement_lint.findings import Finding
    from placement_lint.trace.record import Move, Place, Record

MOVED_BY = {
    "JDP201": frozenset({DRAGGED, SPREAD}),
    "JDP202": frozenset({DRAGGED, SPREAD}),
    "JDP402": frozenset({STAGED}),
}
"""The rules that a move can confirm, and the kinds of moves that each speaks of."""

_ALWAYS_SEEN = frozenset({"JDP201", "JDP202"})
"""Of these every move is seen. What JDP402 finds may also be sent on by an explicit `device_put`,
which is not recorded: that nothing was seen says nothing."""


class State(enum.Enum):
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
    """An array was dragged from the host, and no rule speaks of it."""
    BESIDE = "beside"
    """No rule is meant to speak of this: indices, scalars, keys, arrays of the default device."""


@dataclass(frozen=True)
class SeenFinding:
    """A finding, and what became of it."""

    finding: Finding
    state: State
    moves: tuple[Move, ...] = ()

    @property
    def speaks_of_moves(self) -> bool:
        """Whether the run can tell if it was right; of others only the line can be watched."""
        return self.state is State.CONFIRMED or self.finding.code in _ALWAYS_SEEN


@dataclass(frozen=True)
class SeenLine:
    """All moves of one sort at one place of the program."""

    site: Place | None
    kind: str
    judgement: Judgement
    moves: tuple[Move, ...]

    @property
    def count(self) -> int:
        """How many copies."""
        return sum(move.count for move in self.moves)

    @property
    def bytes(self) -> int:
        """How much they copied."""
        return sum(move.bytes for move in self.moves)

    @property
    def seconds(self) -> float:
        """How long they took."""
        return sum(move.seconds for move in self.moves)


@dataclass(frozen=True)
class Joined:
    """A run and its findings, set side by side."""

    record: Record
    findings: tuple[SeenFinding, ...]
    """In the order of every report."""
    lines: tuple[SeenLine, ...]
    """What took the most bytes first."""
    skipped: tuple[tuple[str, str], ...] = ()
    """Files that could not be linted, and why."""

    def with_state(self, *states: State) -> list[SeenFinding]:
        """Give the findings about moves that are in these states."""
        return [each for each in self.findings if each.speaks_of_moves and each.state in states]

    def judged(self, judgement: Judgement) -> list[SeenLine]:
        """Give the lines of which this is to be said."""
        return [line for line in self.lines if line.judgement is judgement]


def join(record: Record, display: Callable[[str], str] = str) -> Joined:
    """Lint the files that ran and set what is found beside what happened.

    `display` gives the path under which a file of the record is linted.
    """
    files = {*record.lines}
    files.update(move.site.path for move in record.moves if move.site is not None)
    readable = sorted(path for path in files if path.endswith(".py") and source_of(path))
    options = FileOptions(select_rules(Settings(), ""), respect_suppressions=False)
    outcome = check_files([display(path) for path in readable], lambda _: Request(options))
    real = {display(path): path for path in readable}
    skipped = [(skip.path, skip.reason) for skip in outcome.skipped]
    skipped += [(display(path), "not a Python file") for path in files - {*readable}]
    return match(record, outcome.findings, real, skipped)


def match(
    record: Record,
    findings: Sequence[Finding],
    real: dict[str, str],
    skipped: Iterable[tuple[str, str]] = (),
) -> Joined:
    """Set findings beside a record. `real` gives the record's path for that of a finding."""
    confirmed: dict[int, list[Move]] = {}
    lines: dict[tuple[Place | None, str, Judgement], list[Move]] = {}
    for move in record.moves:
        about = _findings_about(move, findings, real)
        for index in about:
            confirmed.setdefault(index, []).append(move)
        if about:
            judgement = Judgement.FLAGGED
        elif move.kind == DRAGGED and move.site is not None:
            judgement = Judgement.NOT_FLAGGED
        else:
            judgement = Judgement.BESIDE
        lines.setdefault((move.site, move.kind, judgement), []).append(move)
    seen = [
        SeenFinding(finding, State.CONFIRMED, tuple(confirmed[index]))
        if index in confirmed
        else SeenFinding(finding, _reached(record, finding, real))
        for index, finding in enumerate(findings)
    ]
    rows = [SeenLine(*key, tuple(moves)) for key, moves in lines.items()]
    rows.sort(key=lambda row: (-row.bytes, row.site is None, row.site or 0, row.kind))
    return Joined(record, tuple(seen), tuple(rows), tuple(sorted(skipped)))


def _findings_about(move: Move, findings: Sequence[Finding], real: dict[str, str]) -> list[int]:
    """Find what was said of a move: at its place, else in its statement; there, of its array."""
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


def _is_within(finding: Finding, site: Place) -> bool:
    """Tell whether a finding begins inside of the operation that is at a place."""
    span = finding.span
    if site.column is None or site.end_column is None:
        return site.line <= span.line <= site.end_line
    start, end = (site.line, site.column), (site.end_line, site.end_column)
    return start <= (span.line, span.column) < end


def _is_made_at(finding: Finding, made: Place, real: dict[str, str]) -> bool:
    return any(
        real.get(related.path, related.path) == made.path
        and made.line <= related.span.end_line
        and related.span.line <= made.end_line
        for related in finding.related[:1]
    )


def _reached(record: Record, finding: Finding, real: dict[str, str]) -> State:
    path = real.get(finding.path, finding.path)
    ran = record.lines.get(path, set())
    line = finding.span.line
    first, last = statement_lines(path, line)
    # An expression over several lines may have no instruction on its first one.
    if line in ran or any(first <= each <= last for each in ran):
        return State.REACHED
    return State.NOT_REACHED if record.all_lines else State.UNKNOWN


def statement_lines(path: str, line: int) -> tuple[int, int]:
    """Give the lines of the smallest statement at a line: of one with a body, the header's."""
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
    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(
        (node.lineno, _last_line(node)) for node in ast.walk(tree) if isinstance(node, ast.stmt)
    )


def _last_line(node: ast.stmt) -> int:
    body: list[ast.stmt] | None = getattr(node, "body", None)
    if body:
        return max(node.lineno, body[0].lineno - 1)
    return node.end_lineno or node.lineno
