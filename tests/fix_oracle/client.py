"""The judge's side of the process that runs programs."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.differential.oracle_client import OracleClient, OracleError
from tests.fix_oracle.watch import DEVICES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.differential.instrument import Place

    Asked = Iterable[tuple[str, Place]]
    Modules = dict[str, str]

TIME_LIMIT = 60.0


@dataclass(frozen=True)
class Operand:
    """One array that a computation was given."""

    serial: int
    """The number by which the array is known in this run."""
    devices: tuple[int, ...]
    committed: bool
    moved: bool
    """JAX copied it to other devices for this computation."""
    small: bool
    """A PRNG key or a scalar."""
    known: bool
    """An expression of the program gave it; else JAX made it on the way."""
    nbytes: int
    origin: int
    """The array that it was taken from by indexing alone; its own number if it was not."""
    origin_devices: tuple[int, ...]
    origin_committed: bool
    passed: tuple[tuple[int, ...], ...]
    """Where that array was, the parts on the way, and itself: each place once."""
    made_in: str | None
    """The module of the expression that gave it first; None where none did."""


@dataclass(frozen=True)
class Event:
    """One computation that JAX executed for the program."""

    module: str
    place: Place
    statement: Place | None
    name: str
    indexing: bool
    devices: tuple[int, ...]
    operands: tuple[Operand, ...]


@dataclass(frozen=True)
class Put:
    """One explicit `jax.device_put`."""

    module: str
    place: Place
    sizes: tuple[int, ...]
    """The bytes of each array that was put."""


@dataclass(frozen=True)
class Left:
    """One array that outlives the program."""

    kind: str
    """Its type, as `float32[4, 2] weak`."""
    devices: tuple[int, ...]
    committed: bool
    digest: str
    first: tuple[str, Place] | None
    """The expression that gave it first."""
    serial: int


@dataclass(frozen=True)
class Watched:
    """What was seen of one run."""

    printed: str
    error: str | None
    error_places: tuple[tuple[str, int], ...]
    steps: int
    whole: bool
    """All computations were noted; else there were too many."""
    events: tuple[Event, ...]
    puts: tuple[Put, ...]
    left: dict[str, Left]
    """By the path on which a module of the program reaches it."""
    given: dict[tuple[str, Place], frozenset[int]]
    """The arrays that the asked expressions gave."""


class WatchClient(OracleClient):
    """A subprocess with virtual devices: several accelerators, and hosts."""

    module = "tests.fix_oracle.watch"
    devices = DEVICES

    def watch(self, modules: Modules, seeds: list[int], asked: Asked = ()) -> list[Watched]:
        """Run a program once for each seed. Raises OracleError, also where it never ends."""
        timer = threading.Timer(TIME_LIMIT, self._process.kill)
        timer.start()
        try:
            runs = self.ask({"modules": modules, "seeds": seeds, "asked": sorted(asked)})
        except BrokenPipeError:
            raise OracleError("the oracle died before it was asked") from None
        finally:
            timer.cancel()
        return [_decoded(run) for run in runs]


def _decoded(run: dict[str, Any]) -> Watched:
    events = [
        Event(
            module, _place(place), None if statement is None else _place(statement), name,
            indexing, tuple(devices), tuple(map(_operand, operands)),
        )
        for module, place, statement, name, indexing, devices, operands in run["events"]
    ]  # fmt: skip
    puts = [Put(module, _place(place), tuple(sizes)) for module, place, sizes in run["puts"]]
    left = {
        path: Left(
            kind, tuple(devices), committed, digest,
            None if first is None else (first[0], _place(first[1])), serial,
        )
        for path, kind, devices, committed, digest, first, serial in run["left"]
    }  # fmt: skip
    return Watched(
        run["printed"], run["error"], tuple((module, line) for module, line in run["error_places"]),
        run["steps"], run["whole"], tuple(events), tuple(puts), left,
        {(module, _place(place)): frozenset(found) for module, place, found in run["given"]},
    )  # fmt: skip


def _operand(found: list[Any]) -> Operand:
    serial, devices, committed, moved, small, known, nbytes, source, made_in = found
    origin, where, held, passed = source
    return Operand(
        serial,
        tuple(devices),
        committed,
        moved,
        small,
        known,
        nbytes,
        origin,
        tuple(where),
        held,
        tuple(map(tuple, passed)),
        made_in,
    )


def _place(numbers: list[int]) -> Place:
    line, column, end_line, end_column = numbers
    return (line, column, end_line, end_column)
