"""The record of a day: how many inputs of which kind were tried, and what was wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests import records

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.fuzz.running import Tally

VERSION = 1
_SUFFIX = "-fuzzing.json"
_TOOLS = ("libcst", "hypothesis", "hypothesmith", "atheris")
_EMPTY: dict[str, Any] = {"version": VERSION, "made": "fuzzing", "runs": []}


def line(tally: Tally) -> str:
    """Say what came of the inputs of a kind."""
    return (
        f"{tally.kind}: {tally.inputs} inputs from {tally.first} on, {tally.size / 1e6:.1f} MB, in "
        f"{tally.seconds:.0f} s; {tally.parsed} parsed, {tally.with_findings} with findings, "
        f"{tally.fixed} fixed; {tally.memory / 1e3:.0f} MB of memory; "
        f"{len(tally.problems)} problems at {len(tally.places)} places"
    )


def run_of(tally: Tally) -> dict[str, Any]:
    """Give the figures of one run."""
    return {
        "kind": tally.kind,
        "first": tally.first,
        "numbers": tally.numbers,
        "inputs": tally.inputs,
        "bytes": tally.size,
        "parsed": tally.parsed,
        "with_findings": tally.with_findings,
        "fixed": tally.fixed,
        "seconds": round(tally.seconds, 1),
        "peak_memory_kb": tally.memory,
        "problems": dict(sorted(tally.places.items())),
    }


def add(tallies: Iterable[Tally], folder: Path) -> Path:
    """Add runs to the record of today; give where that is."""
    return add_runs([run_of(tally) for tally in tallies], folder)


def add_runs(runs: list[dict[str, Any]], folder: Path) -> Path:
    """Add the figures of runs to the record of today; give where that is."""
    path = folder / f"{records.today()}{_SUFFIX}"
    whole = records.read(path, VERSION) if path.exists() else _EMPTY
    made = records.tools(_TOOLS)
    added = [*whole["runs"], *({**run, "tools": made} for run in runs)]
    return records.write(
        records.as_text({**whole, "runs": added}), records.today(), _SUFFIX, folder
    )
