"""The report as JSON: stable, versioned, for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from placement_lint.trace.join import FindingState, Judgement
from placement_lint.trace.text import REPORT_IT
from placement_lint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from placement_lint.findings import Finding
    from placement_lint.trace.join import Joined, SeenFinding, SeenLine, SeenRun
    from placement_lint.trace.record import HostRun, Move, Recompilation, TracedPlace

VERSION = 1
"""Goes up when a field changes its meaning or goes; fields may be added without."""


def render(
    joined: Joined,
    *,
    command: Sequence[str],
    devices: str,
    status: int,
    seconds: float,
    show: Callable[[str], str],
) -> str:
    """Return a whole run. `show` returns a path as it is shown; `status` is as `subprocess`
    has it.
    """
    record = joined.record
    report = {
        "version": VERSION,
        "tool": {"name": "placement-lint", "version": __version__},
        "program": {
            "command": list(command),
            "exit_code": status if status >= 0 else None,
            "signal": -status if status < 0 else None,
            "seconds": round(seconds, 3),
        },
        "environment": {
            "python": record.python,
            "jax": record.jax,
            "devices": devices,
            "stage": record.stage,
        },
        "lines": [_line(line, show) for line in joined.lines],
        "host_runs": [_seen_run(seen, show) for seen in joined.host_runs],
        "recompilations": [_recompilation(each, show) for each in joined.record.recompilations],
        "findings": [_finding(seen, show) for seen in joined.findings],
        "not_covered": [
            {"what": what, "at": _place(place, show)} for what, place in record.elsewhere
        ],
        "skipped": [{"path": show(path), "reason": reason} for path, reason in joined.skipped],
        "failed": record.failed,
        "summary": {
            "copies": sum(line.count for line in _main(joined)),
            "bytes": sum(line.bytes for line in _main(joined)),
            "seconds": round(sum(line.seconds for line in _main(joined)), 6),
            "confirmed": len(joined.with_state(FindingState.CONFIRMED)),
            "reached": len(joined.with_state(FindingState.REACHED)),
            "not_reached": len(joined.with_state(FindingState.NOT_REACHED)),
            "unknown": len(joined.with_state(FindingState.UNKNOWN)),
            "not_flagged": joined.not_flagged,
            "host_runs": sum(seen.count for seen in joined.host_runs),
            "host_seconds": round(sum(seen.seconds for seen in joined.host_runs), 6),
            "recompilations": sum(each.count for each in joined.record.recompilations),
            "compile_seconds": round(sum(each.seconds for each in joined.record.recompilations), 6),
        },
    }
    return json.dumps(report, indent=2) + "\n"


def _main(joined: Joined) -> list[SeenLine]:
    return [line for line in joined.lines if line.judgement is not Judgement.BESIDE]


def _line(line: SeenLine, show: Callable[[str], str]) -> dict[str, Any]:
    return {
        "at": _place(line.site, show),
        "kind": line.kind,
        "judgement": line.judgement.value,
        **_amount(line),
        "arrays": [_move(move, show) for move in line.moves],
        "help": REPORT_IT if line.judgement is Judgement.NOT_FLAGGED else None,
    }


def _amount(of: SeenLine | SeenRun | Move | HostRun) -> dict[str, Any]:
    return {"count": of.count, "bytes": of.bytes, "seconds": round(of.seconds, 6)}


def _move(move: Move, show: Callable[[str], str]) -> dict[str, Any]:
    return {
        "shape": None if move.shape is None else list(move.shape),
        "dtype": move.dtype,
        "from": list(move.source),
        "to": list(move.target),
        **_amount(move),
        "made": _place(move.made, show),
        "made_exactly": move.exact,
        "again": move.again,
    }


def _seen_run(seen: SeenRun, show: Callable[[str], str]) -> dict[str, Any]:
    return {
        "at": _place(seen.site, show),
        "judgement": seen.judgement.value,
        **_amount(seen),
        "computations": [_host_run(each, show) for each in seen.host_runs],
        "help": REPORT_IT if seen.judgement is Judgement.NOT_FLAGGED else None,
    }


def _host_run(host_run: HostRun, show: Callable[[str], str]) -> dict[str, Any]:
    return {
        "function": host_run.function,
        "device": host_run.device,
        **_amount(host_run),
        "after": _place(host_run.after, show),
        "because": {
            "shape": list(host_run.shape),
            "dtype": host_run.dtype,
            "made": _place(host_run.made, show),
            "made_exactly": host_run.exact,
        },
    }


def _recompilation(again: Recompilation, show: Callable[[str], str]) -> dict[str, Any]:
    return {
        "at": _place(again.site, show),
        "function": again.function,
        "count": again.count,
        "seconds": round(again.seconds, 6),
        "because": {
            "shape": list(again.shape),
            "dtype": again.dtype,
            "before": again.before,
            "after": again.after,
            "made": _place(again.made, show),
            "other_operands": again.others,
        },
    }


def _finding(seen: SeenFinding, show: Callable[[str], str]) -> dict[str, Any]:
    finding: Finding = seen.finding
    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "path": show(finding.path),
        "line": finding.span.line,
        "column": finding.span.column,
        "speaks_of_moves": seen.is_about_moves,
        "state": seen.state.value,
        "count": sum(move.count for move in seen.moves),
        "bytes": sum(move.bytes for move in seen.moves),
        "seconds": round(sum(move.seconds for move in seen.moves), 6),
        "host_runs": sum(run.count for run in seen.host_runs),
        "host_seconds": round(sum(run.seconds for run in seen.host_runs), 6),
        "recompilations": sum(each.count for each in seen.recompilations),
        "compile_seconds": round(sum(each.seconds for each in seen.recompilations), 6),
    }


def _place(place: TracedPlace | None, show: Callable[[str], str]) -> dict[str, Any] | None:
    if place is None:
        return None
    return {
        "path": show(place.path),
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
        "function": place.function,
    }
