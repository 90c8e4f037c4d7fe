"""What a traced process left behind, read back."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from placement_lint.files.opening import decode
from placement_lint.files.source import Source, UnreadableError
from placement_lint.files.store import read_bytes
from placement_lint.trace.ledger import COUNTERS, EVENTS, SLOT
from placement_lint.trace.recorder import PULLED

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, order=True)
class TracedPlace:
    """A place in a file, as in a `Span`: from 1, columns in code points; None where not known."""

    path: str
    line: int
    end_line: int
    column: int | None = None
    end_column: int | None = None
    function: str = ""


@dataclass(frozen=True)
class Move:
    """Copies of one kind of array from one line of the program."""

    site: TracedPlace | None
    """None: no line of the user's was on the way, as in a thread of a library."""
    made: TracedPlace | None
    exact: bool
    """Whether this very array was seen to be made there; else it was one just like it."""
    kind: str
    shape: tuple[int, ...] | None
    """None: arrays of many shapes, counted together."""
    dtype: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    count: int
    bytes: int
    seconds: float
    again: bool = False
    """Whether these very arrays were copied to several devices before."""


@dataclass(frozen=True)
class Recompilation:
    """Compilations of one function, at one line of the program, that are there because an operand
    is placed otherwise than when it was compiled before.
    """

    site: TracedPlace | None
    function: str
    """What JAX calls it: `jit_step`."""
    shape: tuple[int, ...]
    """Of the largest operand with another place."""
    dtype: str
    before: str
    """`cpu:0`, `P('data') on 8 devices`, `NumPy`."""
    after: str
    others: int
    """How many other operands have another place as well."""
    made: TracedPlace | None
    """Where the operand was made that it was compiled for before."""
    count: int
    bytes: int
    seconds: float


@dataclass(frozen=True)
class HostRun:
    """Computations of one kind that ran on the host, at one line of the program, because an operand
    was committed there.
    """

    site: TracedPlace | None
    function: str
    """What JAX calls it: `jit_step`."""
    device: str
    after: TracedPlace | None
    """Where its operands were computed on the host before, when they left the accelerator; None:
    here they leave it."""
    shape: tuple[int, ...]
    """Of the operand that was committed to the host, or of the one at `after`."""
    dtype: str
    made: TracedPlace | None
    """Where that was committed there."""
    exact: bool
    """Whether this very array was seen to be; else it was one just like it."""
    count: int
    bytes: int
    """What was copied to the host for them."""
    seconds: float
    """How long they ran there, without the copies."""

    @property
    def kind(self) -> str:
        return PULLED


@dataclass
class TraceRecord:
    """All that was seen of one run."""

    python: str = ""
    jax: str | None = None
    """None: the program never imported JAX."""
    stage: list[str] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    host_runs: list[HostRun] = field(default_factory=list)
    recompilations: list[Recompilation] = field(default_factory=list)
    lines: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """The lines that ran, by file."""
    all_lines: bool = True
    """Whether every line that ran is there; on Python 3.10 and 3.11 some may have run unseen."""
    elsewhere: list[tuple[str, TracedPlace | None]] = field(default_factory=list)
    """Processes that were started, and where."""
    refused: str | None = None
    """Why the program was not run to its end."""
    failed: str | None = None
    """Why the watching ended before the program did: a mistake of ours."""


def read(folder: Path) -> TraceRecord:
    record = TraceRecord()
    try:
        text = (folder / EVENTS).read_bytes()
        counters = (folder / COUNTERS).read_bytes()
    except FileNotFoundError:
        return record
    for line in text.split(b"\n"):
        if line:
            _add(record, json.loads(line), counters)
    return record


def _add(record: TraceRecord, event: dict[str, Any], counters: bytes) -> None:
    kind = event["event"]
    if kind == "line":
        record.lines[event["path"]].add(event["line"])
    elif kind == "move":
        move = _move(event, counters)
        if move.count:
            record.moves.append(move)
    elif kind == "host":
        host_run = _host_run(event, counters)
        if host_run.count:
            record.host_runs.append(host_run)
    elif kind == "compiled":
        record.recompilations.append(_recompilation(event, counters))
    elif kind == "unwatched":
        record.all_lines = False
    elif kind == "stage":
        record.stage.append(event["text"])
    elif kind == "elsewhere":
        record.elsewhere.append((event["what"], _place(event["site"])))
    elif kind == "jax":
        record.jax = event["version"]
    elif kind == "start":
        record.python = event["python"]
    elif kind == "failed":
        record.failed = event["reason"]
    elif kind == "refused":
        record.refused = event["reason"]


def _move(event: dict[str, Any], counters: bytes) -> Move:
    count, size, nanoseconds = SLOT.unpack_from(counters, event["slot"] * SLOT.size)
    if event.get("overflow"):
        return Move(None, None, False, "small", None, "", (), (), count, size, nanoseconds / 1e9)
    return Move(
        _place(event["site"]),
        _place(event["made"]),
        event["exact"],
        event["kind"],
        tuple(event["shape"]),
        event["dtype"],
        tuple(event["source"]),
        tuple(event["target"]),
        count,
        size,
        nanoseconds / 1e9,
        event["again"],
    )


def _recompilation(event: dict[str, Any], counters: bytes) -> Recompilation:
    count, size, nanoseconds = SLOT.unpack_from(counters, event["slot"] * SLOT.size)
    return Recompilation(
        _place(event["site"]),
        event["function"],
        tuple(event["shape"]),
        event["dtype"],
        event["before"],
        event["after"],
        event["others"],
        _place(event["made"]),
        count,
        size,
        nanoseconds / 1e9,
    )


def _host_run(event: dict[str, Any], counters: bytes) -> HostRun:
    count, size, nanoseconds = SLOT.unpack_from(counters, event["slot"] * SLOT.size)
    return HostRun(
        _place(event["site"]),
        event["function"],
        event["device"],
        _place(event["after"]),
        tuple(event["shape"]),
        event["dtype"],
        _place(event["made"]),
        event["exact"],
        count,
        size,
        nanoseconds / 1e9,
    )


def _place(site: list[Any] | None) -> TracedPlace | None:
    if site is None:
        return None
    path, line, end_line, column, end_column, function = site
    return TracedPlace(
        path,
        line,
        end_line,
        _code_points(path, line, column),
        _code_points(path, end_line, end_column),
        function,
    )


def _code_points(path: str, line: int, column: int | None) -> int | None:
    """Return a column from 1, in code points, for one from 0 in bytes of UTF-8."""
    if column is None:
        return None
    source = source_of(path)
    if source is None or line > len(source.line_starts):
        return column + 1
    text = source.text[source.line_starts[line - 1] :][: column + 1]
    return len(text.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore")) + 1


@lru_cache(maxsize=64)
def source_of(path: str) -> Source | None:
    """Return the text of a file; None where it cannot be read any more."""
    try:
        return decode(path, read_bytes(path))
    except UnreadableError:
        return None
