"""The report as text: a line for each thing seen, or in full for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from placement_lint.findings import Span
from placement_lint.trace import words
from placement_lint.trace.join import MADE_BY, FindingState, Judgement
from placement_lint.trace.recorder import FOLLOWED, PULLED, SMALL, SPREAD, STAGED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.trace.join import Joined, SeenFinding, SeenLine, SeenRun
    from placement_lint.trace.record import HostRun, Move, Recompilation, TracedPlace

REPORT_IT = (
    "if you did not ask for this, it is a missed alarm: please report this line, and the one "
    "that makes the array, to placement-lint's issue tracker"
)
_BESIDE = {
    FOLLOWED: "an array of the default device was copied to where it was used",
    SPREAD: "an array of one device was copied to several",
    STAGED: "an array was built on one device and then copied to the one that was asked for",
    SMALL: "a scalar or a key was copied",
}
_SHOWN_BESIDE = 10


class TextStyle(Protocol):
    """How the command line shows things."""

    def path(self, path: str) -> str:
        """Return a path as it is shown."""

    def escape(self, text: str) -> str:
        """Write out what a terminal would obey."""

    def bad(self, text: str) -> str:
        """Paint what went wrong."""

    def good(self, text: str) -> str:
        """Paint what is well."""

    def bold(self, text: str) -> str:
        """Paint what is to be read first."""

    def help(self, text: str) -> str:
        """Paint what can be done."""

    def frame(self, path: str, span: Span, mark: str) -> list[str]:
        """Return the lines of a file with a span of them underlined."""


def short(joined: Joined, look: TextStyle, run: float | None = None) -> str:
    """Return a line for each thing seen: `path:line:column: what`; `run`: as in `summary`."""
    lines = [
        f"{_at_finding(seen, look)}: {_said(seen)}: {_short_finding(seen, look)}"
        for seen in joined.findings
        if seen.is_about_moves
    ]
    lines += [
        f"{at(line.site, look)}: not flagged: {_measured(line)}"
        f"{_made_short(line.moves, look)}; {REPORT_IT}"
        for line in joined.judged(Judgement.NOT_FLAGGED)
    ]
    lines += [
        f"{at(run.site, look)}: {_short_run(run, look)}"
        for judgement in (Judgement.NOT_FLAGGED, Judgement.BESIDE)
        for run in joined.on_host(judgement)
    ]
    lines += recompiled(joined, look)
    lines += [
        f"{at(line.site, look)}: beside: {_BESIDE.get(line.kind, line.kind)}: {_measured(line)}"
        for line in _beside(joined)
    ]
    lines += notes(joined, look)
    lines.append(summary(joined, run))
    return "\n".join(lines) + "\n"


def full(joined: Joined, look: TextStyle, run: float | None = None) -> str:
    """Return each thing seen with its lines of code, and where its array was made.

    `run`: as in `summary`.
    """
    blocks: list[list[str]] = [head(joined, look)]
    for state in (
        FindingState.CONFIRMED,
        FindingState.REACHED,
        FindingState.UNKNOWN,
        FindingState.NOT_REACHED,
    ):
        blocks += [full_finding(seen, look) for seen in joined.with_state(state)]
    blocks += [full_line(line, look) for line in joined.judged(Judgement.NOT_FLAGGED)]
    blocks += [full_run(run, look) for run in joined.on_host(Judgement.NOT_FLAGGED)]
    for name, lines in (
        ("Also ran on the host:", other_host_runs(joined, look)),
        ("Compiled again:", recompiled(joined, look)),
        ("Outside of the scope of the rules:", beside(joined, look)),
    ):
        if lines:
            block = [look.bold(name), *(f"  {line}" for line in lines)]
            blocks.append(_first(block, "place"))
    blocks.append([*notes(joined, look), look.bold(summary(joined, run))])
    return "\n".join("\n".join(block) + "\n" for block in blocks)


def other_host_runs(joined: Joined, look: TextStyle) -> list[str]:
    """Return a line for each place at which something ran on the host that no rule is about."""
    runs = joined.on_host(Judgement.BESIDE)
    return [f"{at(run.site, look)}: {_ran_and_copied(run, look)}" for run in runs]


def recompiled(joined: Joined, look: TextStyle) -> list[str]:
    """Return a line for each compilation because of a place that no rule is about."""
    return [f"{at(each.site, look)}: {_compiled(each, look)}" for each in joined.recompilations]


def beside(joined: Joined, look: TextStyle) -> list[str]:
    """Return a line for each place with copies that are outside of the scope of the rules."""
    return [
        f"{at(line.site, look)}: {_BESIDE.get(line.kind, line.kind)}: {_measured(line)}"
        for line in _beside(joined)
    ]


def _beside(joined: Joined) -> list[SeenLine]:
    """Return the lines that are outside of the scope of the rules.

    What a computation on the host copies there is reported with the computation.
    """
    return [line for line in joined.judged(Judgement.BESIDE) if line.kind != PULLED]


def _first(block: list[str], what: str) -> list[str]:
    """Return a heading and the first lines below it."""
    more = len(block) - 1 - _SHOWN_BESIDE
    if more <= 0:
        return block
    return [*block[: 1 + _SHOWN_BESIDE], f"  and {words.many(more, what)} more"]


def summary(joined: Joined, run: float | None = None) -> str:
    """Return how much was copied, and what became of the findings.

    `run` is how many seconds the program ran: the share of them is reported.
    """
    main = [*joined.judged(Judgement.FLAGGED), *joined.judged(Judgement.NOT_FLAGGED)]
    if joined.record.jax is None:
        said = "the program never imported JAX"
    elif not main:
        said = "nothing moved"
        beside = sum(line.bytes for line in joined.judged(Judgement.BESIDE))
        if beside:
            said = f"nothing moved in the scope of the rules ({words.size(beside)} outside)"
    else:
        copied = copies(joined)
        said = (
            f"{copied} at {words.many(len(main), 'place')}: "
            f"{words.size(sum(line.bytes for line in main))} "
            f"in {words.seconds(sum(line.seconds for line in main))}"
            f"{_share(sum(line.seconds for line in main), run)}"
        )
    if joined.host_runs:
        count = sum(seen.count for seen in joined.host_runs)
        on_host = sum(seen.seconds for seen in joined.host_runs)
        said += (
            f"; {words.many(count, 'computation')} on the host because of a committed operand at "
            f"{words.many(len(joined.host_runs), 'place')}: "
            f"{words.seconds(on_host)}{_share(on_host, run)}"
        )
    again = joined.record.recompilations
    if again:
        compiling = sum(each.seconds for each in again)
        times = words.many(sum(each.count for each in again), "compilation")
        said += (
            f"; {times} because of a changed sharding: "
            f"{words.seconds(compiling)}{_share(compiling, run)}"
        )
    tail = [
        f"{len(joined.with_state(FindingState.CONFIRMED))} confirmed",
        f"{len(joined.with_state(FindingState.REACHED))} did not move",
        f"{len(joined.with_state(FindingState.NOT_REACHED, FindingState.UNKNOWN))} not reached",
        f"{joined.not_flagged} not flagged",
    ]
    return f"{said} ({', '.join(tail)})"


def copies(joined: Joined) -> str:
    """Return how many copies there were in the scope of the rules; empty where there was none."""
    lines = [*joined.judged(Judgement.FLAGGED), *joined.judged(Judgement.NOT_FLAGGED)]
    count = sum(line.count for line in lines)
    return words.many(count, "implicit copy", "implicit copies") if count else ""


def _share(part: float, run: float | None) -> str:
    """Return `, 12.5% of the run`; empty where the whole is not known."""
    if not run:
        return ""
    return f", {min(part / run, 1):.1%} of the run"


def notes(joined: Joined, look: TextStyle) -> list[str]:
    record = joined.record
    said = []
    for what, place in record.elsewhere:
        said.append(f"not covered: {what}, started at {at(place, look)}")
    for path, reason in joined.skipped:
        said.append(f"{look.path(path)} was not linted: {reason}")
    if record.failed:
        said.append(f"watching ended early: {record.failed}; please report this")
    return [f"note: {look.escape(text)}" for text in said]


def head(joined: Joined, look: TextStyle) -> list[str]:
    record = joined.record
    jax = "no JAX" if record.jax is None else f"JAX {record.jax}"
    lines = [look.bold(f"placement-lint trace: Python {record.python}, {jax}")]
    lines += [look.escape(text) for text in record.stage]
    if any("for the accelerator" in text for text in record.stage):
        lines.append("times are those of a simulated accelerator")
    return lines


def _said(seen: SeenFinding) -> str:
    code = seen.finding.code
    return {
        FindingState.CONFIRMED: f"confirmed {code}",
        FindingState.REACHED: f"did not move {code}",
        FindingState.NOT_REACHED: f"not reached {code}",
        FindingState.UNKNOWN: f"not seen to run {code}",
    }[seen.state]


def _short_finding(seen: SeenFinding, look: TextStyle) -> str:
    if seen.state is not FindingState.CONFIRMED:
        return look.escape(seen.finding.message)
    said = [_ran(seen.host_runs, look)] if seen.host_runs else []
    if seen.moves:
        said.append(f"{_measured_moves(seen.moves)}{_made_short(seen.moves, look)}")
    said += [f"{_compiled(each, look)}, at {at(each.site, look)}" for each in seen.recompilations]
    return "; ".join(said)


def full_finding(seen: SeenFinding, look: TextStyle) -> list[str]:
    finding = seen.finding
    confirmed = seen.state is FindingState.CONFIRMED
    paint = look.bad if confirmed else look.bold
    lines = [f"{paint(_said(seen))} {look.escape(finding.message)}"]
    lines.append(f"--> {_at_finding(seen, look)}")
    lines += look.frame(finding.path, finding.span, "^")
    if confirmed:
        lines += _ran_on_host(seen.host_runs, look)
        lines += _copied(seen.moves, look, finding.code in MADE_BY)
        for each in seen.recompilations:
            lines.append(f"{look.bad('compiled again')} {_why_compiled(each)}")
            lines += _shown("compiled here", each.site, look)
    return lines


def full_line(line: SeenLine, look: TextStyle) -> list[str]:
    what = "an array of the host was copied"
    if line.kind == SPREAD:
        what = "the same array was copied to several devices more than once"
    head = f"{look.bad('not flagged')} {what}, and no rule reported it"
    lines = [head, f"--> {at(line.site, look)}"]
    if line.site is not None:
        lines += look.frame(line.site.path, _span(line.site), "^")
    return [*lines, *_copied(line.moves, look), f"{look.help('help:')} {REPORT_IT}"]


def full_run(run: SeenRun, look: TextStyle) -> list[str]:
    head = (
        f"{look.bad('not flagged')} a computation ran on the host repeatedly, on its own "
        "earlier results, and no rule reported it"
    )
    lines = [head, f"--> {at(run.site, look)}"]
    if run.site is not None:
        lines += look.frame(run.site.path, _span(run.site), "^")
    return [*lines, *_ran_on_host(run.host_runs, look), f"{look.help('help:')} {REPORT_IT}"]


def _ran_on_host(runs: Sequence[HostRun], look: TextStyle) -> list[str]:
    if not runs:
        return []
    lines = [f"{look.bad('ran on the host')} {_measured_runs(runs)}"]
    return [
        *lines,
        *_origins([(run.made, run.exact) for run in runs], "committed to the host here", look),
    ]


def _copied(moves: Sequence[Move], look: TextStyle, with_sites: bool = False) -> list[str]:
    """Return a line for each move. `with_sites`: show where, for a finding about another line."""
    lines = [f"{look.bad('copied')} {words_of(move)}" for move in moves]
    if with_sites:
        for site in dict.fromkeys(move.site for move in moves):
            lines += _shown("copied here", site, look)
        return lines
    return [*lines, *_origins([(move.made, move.exact) for move in moves], "made here", look)]


def _shown(what: str, place: TracedPlace | None, look: TextStyle) -> list[str]:
    if place is None:
        return []
    lines = [f"{look.help('note:')} {what}", f"--> {at(place, look)}"]
    return [*lines, *look.frame(place.path, _span(place), "-")]


def _compiled(again: Recompilation, look: TextStyle) -> str:
    """`compiled again once, 1.2 s: …; made at a.py:3`."""
    made = "" if again.made is None else f"; made at {at(again.made, look)}"
    return f"compiled again {_why_compiled(again)}{made}"


def _why_compiled(again: Recompilation) -> str:
    """`jit_step once, 1.2 s: float32[512] was on cpu:0 before, and is P('data') on 8 devices`."""
    more = f" (and {words.many(again.others, 'other operand')})" if again.others else ""
    return (
        f"{again.function} {words.times(again.count)}, {words.seconds(again.seconds)}: "
        f"{words.array(again)}{more} was {_on(again.before)} before, and is {_on(again.after)}"
    )


def _on(placement: str) -> str:
    """`on cpu:0`, `NumPy`, `P('data') on 8 devices`."""
    return placement if " " in placement or ":" not in placement else f"on {placement}"


def _origins(
    places: Sequence[tuple[TracedPlace | None, bool]], what: str, look: TextStyle
) -> list[str]:
    """Show where arrays come from, each place once."""
    lines: list[str] = []
    certain: dict[TracedPlace, bool] = {}
    for place, exact in places:
        if place is not None:
            certain[place] = certain.get(place, False) or exact
    for place, exact in certain.items():
        doubt = "" if exact else ", or where another one like it was"
        lines += _shown(f"{what}{doubt}", place, look)
    return lines


def words_of(move: Move) -> str:
    """`3 times, 2.4 MB in 26 ms: uint16[64,6,1024], 786.4 kB, from cpu:1 to cpu:0`."""
    each = move.bytes // move.count if move.count else 0
    return (
        f"{words.times(move.count)}, {words.size(move.bytes)} in {words.seconds(move.seconds)}: "
        f"{words.array(move)}, {words.size(each)}, from {words.route(move)}"
    )


def _measured(line: SeenLine) -> str:
    return _measured_moves(line.moves)


def _measured_moves(moves: Sequence[Move]) -> str:
    count = sum(move.count for move in moves)
    total = sum(move.bytes for move in moves)
    time = sum(move.seconds for move in moves)
    arrays = sorted({words.array(move) for move in moves})
    what = arrays[0] if len(arrays) == 1 else f"{len(arrays)} kinds of arrays"
    route = min({words.route(move) for move in moves})
    return (
        f"{what} copied {words.times(count)}, {total:,} bytes in {words.seconds(time)}, "
        f"from {route}"
    )


def _short_run(run: SeenRun, look: TextStyle) -> str:
    if run.judgement is Judgement.NOT_FLAGGED:
        return f"not flagged: {_ran_and_copied(run, look)}; {REPORT_IT}"
    return f"beside: {_ran_and_copied(run, look)}"


def _ran_and_copied(run: SeenRun, look: TextStyle) -> str:
    copied = f"; {words.size(run.bytes)} copied there" if run.bytes else ""
    return f"{_ran(run.host_runs, look)}{copied}"


def _ran(runs: Sequence[HostRun], look: TextStyle) -> str:
    """`jit_step ran on cpu:1 100 times, 1.2 s, because of float32[16] committed at a.py:3`."""
    made = sorted({run.made for run in runs if run.made is not None})
    after = sorted({run.after for run in runs if run.after not in {None, run.site}}, key=str)
    where = f" at {' and '.join(at(place, look) for place in made[:3])}" if made else ""
    follows = f", after {' and '.join(at(place, look) for place in after[:3])}" if after else ""
    return f"{_measured_runs(runs)}{where}{follows}"


def _measured_runs(runs: Sequence[HostRun]) -> str:
    """`jit_step 100 times, 1.2 s, on cpu:1, because of float32[16,256] committed there`."""
    functions = sorted({run.function for run in runs})
    what = functions[0] if len(functions) == 1 else f"{len(functions)} functions"
    because = sorted({words.array(run) for run in runs})
    arrays = because[0] if len(because) == 1 else f"{len(because)} kinds of arrays"
    return (
        f"{what} {words.times(sum(run.count for run in runs))}, "
        f"{words.seconds(sum(run.seconds for run in runs))}, on {runs[0].device}, because of "
        f"{arrays} committed there"
    )


def _made_short(moves: Sequence[Move], look: TextStyle) -> str:
    places = sorted({move.made for move in moves if move.made is not None})
    if not places:
        return ""
    return f"; made at {' and '.join(at(place, look) for place in places[:3])}"


def at(place: TracedPlace | None, look: TextStyle) -> str:
    if place is None:
        return "outside of your files"
    column = "" if place.column is None else f":{place.column}"
    return f"{look.path(place.path)}:{place.line}{column}"


def _at_finding(seen: SeenFinding, look: TextStyle) -> str:
    span = seen.finding.span
    return f"{look.path(seen.finding.path)}:{span.line}:{span.column}"


def _span(place: TracedPlace) -> Span:
    if place.column is None or place.end_column is None:
        return Span(place.line, 1, place.line, 10**6)
    return Span(place.line, place.column, place.end_line, place.end_column)
