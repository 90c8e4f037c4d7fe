"""Moves and findings set side by side."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from placement_lint.findings import Finding, Related, Severity, Span
from placement_lint.trace.join import FindingState, Judgement, join, match, statement_lines
from placement_lint.trace.record import HostRun, Move, Recompilation, TracedPlace, TraceRecord
from placement_lint.trace.recorder import DRAGGED, FOLLOWED, PULLED, SMALL, SPREAD, STAGED

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXT = """\
import jax, jax.numpy as jnp
with jax.default_device(jax.devices("cpu")[0]):
    a = jnp.ones((8, 4))
    b = jnp.ones((8, 4))
c = jnp.add(a, b)
d = (a[0],
     b[0])
if c[0, 0] > 0:
    e = a[
        0
    ]
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "program.py"
    file.write_text(TEXT)
    return str(file)


def finding(path: str, line: int, column: int, *, made: int = 3, code: str = "JDP201") -> Finding:
    related = (Related("made here", path, Span(made, 9, made, 24)),)
    span = Span(line, column, line, column + 1)
    return Finding(code, code.lower(), "it moves", path, span, Severity.WARNING, related=related)


def move(
    path: str,
    line: int,
    columns: tuple[int, int] | None,
    *,
    made: int | None = 3,
    kind: str = DRAGGED,
    end_line: int | None = None,
    count: int = 1,
) -> Move:
    first, last = columns or (None, None)
    return Move(
        TracedPlace(path, line, end_line or line, first, last, "<module>"),
        None if made is None else TracedPlace(path, made, made, 9, 24, "<module>"),
        True, kind, (8, 4), "float32", ("cpu:1",), ("cpu:0",), count, 128 * count, 0.001 * count,
    )  # fmt: skip


def recompilation(
    path: str, line: int, *, made: int | None, others: int = 0, before: str = "cpu:0"
) -> Recompilation:
    return Recompilation(
        TracedPlace(path, line, line, 6, 10, "<module>"), "jit(step)", (8, 4), "float32", before,
        "P('data') on 8 devices", others,
        None if made is None else TracedPlace(path, made, made, 9, 24, "<module>"), 1, 128, 0.2,
    )  # fmt: skip


def host_run(
    path: str,
    line: int,
    columns: tuple[int, int],
    *,
    count: int,
    copied: int = 0,
    after: int | None = None,
    made: int | None = 3,
) -> HostRun:
    """Return computations on the host; `after`: the line where their operands were computed."""
    site = TracedPlace(path, line, line, *columns, "<module>")
    first = {6: site} if line == 6 else {line: site, 6: TracedPlace(path, 6, 6, 1, 10, "<module>")}
    return HostRun(
        site, "jit(step)", "cpu:1", None if after is None else first[after], (16,), "float32",
        None if made is None else TracedPlace(path, made, made, 9, 24, "<module>"),
        True, count, copied, 0.01 * count,
    )  # fmt: skip


def record(
    path: str,
    *moves: Move,
    compiled: Sequence[Recompilation] = (),
    lines: set[int] | None = None,
    all_lines: bool = True,
) -> TraceRecord:
    ran = defaultdict(set, {path: set(range(1, 12)) if lines is None else lines})
    return TraceRecord(
        "3.13.0", "0.12.0", moves=list(moves), recompilations=list(compiled), lines=ran,
        all_lines=all_lines,
    )  # fmt: skip


def states(joined: object) -> list[str]:
    return [seen.state.value for seen in joined.findings]  # type: ignore[attr-defined]


def test_at_its_place_a_finding_is_confirmed(path: str) -> None:
    first, second = finding(path, 6, 6), finding(path, 7, 6, made=4)
    joined = match(record(path, move(path, 6, (6, 10), count=3)), [first, second], {})
    assert states(joined) == ["confirmed", "reached"]
    assert [seen.moves[0].count for seen in joined.findings if seen.moves] == [3]
    (line,) = joined.lines
    assert (line.judgement, line.count, line.bytes) == (Judgement.FLAGGED, 3, 384)
    assert line.seconds == pytest.approx(0.003)


def test_two_arrays_of_one_operation_are_told_apart_by_their_creation(path: str) -> None:
    both = [finding(path, 5, 13, code="JDP202"), finding(path, 5, 16, made=4, code="JDP202")]
    assert states(match(record(path, move(path, 5, (5, 18), made=4)), both, {})) == [
        "reached", "confirmed",
    ]  # fmt: skip
    # With no creation, or another one, both may be meant.
    for made in (None, 9):
        joined = match(record(path, move(path, 5, (5, 18), made=made)), both, {})
        assert states(joined) == ["confirmed", "confirmed"]


def test_without_columns_the_statement_decides(path: str) -> None:
    findings = [finding(path, 9, 9)]
    for line, columns in ((9, None), (11, None), (10, (9, 10))):
        joined = match(record(path, move(path, line, columns)), findings, {})
        assert states(joined) == ["confirmed"], line
    joined = match(record(path, move(path, 8, None)), findings, {})
    assert states(joined) == ["reached"]


@pytest.mark.parametrize(
    ("lines", "all_lines", "expected"),
    [
        ({1, 6, 7}, True, FindingState.REACHED),
        ({1, 7}, True, FindingState.REACHED),  # another line of the statement
        ({1, 5, 8}, True, FindingState.NOT_REACHED),
        ({1, 5, 8}, False, FindingState.UNKNOWN),
    ],
)
def test_what_did_not_move(
    path: str, lines: set[int], all_lines: bool, expected: FindingState
) -> None:  # fmt: skip
    joined = match(record(path, lines=lines, all_lines=all_lines), [finding(path, 6, 6)], {})
    assert [seen.state for seen in joined.findings] == [expected]
    assert joined.with_state(expected) == list(joined.findings)


@pytest.mark.parametrize(
    ("kind", "judgement"),
    [
        (DRAGGED, Judgement.NOT_FLAGGED),
        (FOLLOWED, Judgement.BESIDE),
        (SMALL, Judgement.BESIDE),
        (SPREAD, Judgement.BESIDE),
        (STAGED, Judgement.BESIDE),
    ],
)
def test_what_no_rule_spoke_of(path: str, kind: str, judgement: Judgement) -> None:
    joined = match(record(path, move(path, 5, (5, 18), kind=kind)), [finding(path, 8, 4)], {})
    assert [line.judgement for line in joined.lines] == [judgement]
    assert states(joined) == ["reached"]


def test_a_rule_is_confirmed_by_its_own_kind_of_move_only(path: str) -> None:
    for code, kind, expected in (
        ("JDP201", DRAGGED, "confirmed"), ("JDP202", SPREAD, "confirmed"),
        ("JDP402", STAGED, "confirmed"), ("JDP402", DRAGGED, "reached"),
        ("JDP707", SPREAD, "confirmed"), ("JDP707", DRAGGED, "reached"),
        ("JDP201", FOLLOWED, "reached"), ("JDP204", DRAGGED, "reached"),
    ):  # fmt: skip
        joined = match(
            record(path, move(path, 6, (6, 10), kind=kind)), [finding(path, 6, 6, code=code)], {}
        )
        assert states(joined) == [expected], (code, kind)
        assert joined.findings[0].is_about_moves is (
            code not in {"JDP204", "JDP402"} or expected == "confirmed"
        )


def test_a_move_outside_of_all_files(path: str) -> None:
    stray = Move(None, None, False, DRAGGED, (8,), "int8", ("cpu:1",), ("cpu:0",), 1, 8, 0.0)
    joined = match(record(path, stray), [finding(path, 6, 6)], {})
    assert [line.judgement for line in joined.lines] == [Judgement.BESIDE]


def test_the_most_bytes_come_first(path: str) -> None:
    moves = [
        move(path, 5, (5, 18)),
        move(path, 6, (6, 10), count=9),
        move(path, 8, (4, 11), count=2),
    ]
    joined = match(record(path, *moves), [], {})
    assert [line.site.line for line in joined.lines if line.site] == [6, 8, 5]


def test_the_files_that_ran_are_linted_suppressed_or_not(path: str) -> None:
    Path(path).write_text(TEXT.replace("jnp.add(a, b)", "jnp.add(a, b)  # noqa: JDP202"))
    seen = record(path, move(path, 5, (5, 18)), lines={1, 2, 3, 4, 5})
    joined = join(seen, lambda _: "shown.py")
    # The name under which it is shown is the one under which it is linted: there is no such file.
    assert [each.finding.code for each in joined.findings] == ["JDP900"]
    joined = join(seen)
    found = {
        (each.finding.span.line, each.finding.span.column): each.state for each in joined.findings
    }
    assert found[5, 13] is FindingState.CONFIRMED
    assert found[5, 16] is FindingState.REACHED
    assert found[9, 9] is FindingState.NOT_REACHED


def test_what_is_no_file_is_said_to_be_skipped(path: str) -> None:
    seen = record(path, lines={1})
    seen.lines["/no/such.py"] = {1}
    assert join(seen).skipped == (("/no/such.py", "not a Python file"),)


def test_statements(path: str) -> None:
    assert [statement_lines(path, line) for line in (1, 3, 6, 7, 8, 10)] == [
        (1, 1), (3, 3), (6, 7), (6, 7), (8, 8), (9, 11),
    ]  # fmt: skip
    assert statement_lines("/no/such.py", 4) == (4, 4)


def test_a_computation_on_the_host_confirms_where_nothing_moved(path: str) -> None:
    findings = [finding(path, 6, 6, code="JDP208"), finding(path, 7, 6, code="JDP201")]
    seen = record(path)
    seen.host_runs.append(host_run(path, 6, (6, 10), count=3, after=6))
    joined = match(seen, findings, {})
    assert states(joined) == ["confirmed", "reached"]
    assert joined.findings[0].moves == ()
    assert [run.count for run in joined.findings[0].host_runs] == [3]
    (place,) = joined.host_runs
    assert (place.judgement, place.count) == (Judgement.FLAGGED, 3)
    assert joined.not_flagged == 0


def test_only_what_comes_back_is_a_missed_alarm(path: str) -> None:
    seen = record(path, move(path, 5, (5, 18), kind=PULLED))
    seen.host_runs += [
        host_run(path, 5, (5, 18), count=1, copied=128),
        host_run(path, 8, (4, 11), count=4, after=6),
    ]
    joined = match(seen, [], {})
    assert {place.judgement for place in joined.host_runs} == {Judgement.BESIDE}
    assert [line.judgement for line in joined.lines] == [Judgement.BESIDE]
    seen.host_runs.append(host_run(path, 5, (5, 18), count=1, after=5))
    joined = match(seen, [], {})
    # The first time, too, although nothing had come back then.
    assert [(p.judgement, p.count) for p in joined.host_runs] == [
        (Judgement.BESIDE, 4),
        (Judgement.NOT_FLAGGED, 2),
    ]
    assert joined.not_flagged == 1
