"""The oracle for programs with meshes, as the tests ask it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.differential.mesh_oracle import ACCELERATORS
from tests.differential.oracle_client import OracleClient, OracleDiedError, Run, decoded, place
from tests.differential.seats import Seat

if TYPE_CHECKING:
    from tests.differential.analysis import Span


@dataclass(frozen=True)
class MeshRun:
    """What the oracle saw of one execution."""

    run: Run
    seats: tuple[tuple[str, Span, Seat], ...]
    """Where the arrays were that each expression gave."""


class MeshClient(OracleClient):
    """A subprocess with nine virtual devices that runs programs."""

    module = "tests.differential.mesh_oracle"
    devices = ACCELERATORS + 1

    def watch(self, modules: dict[str, str], seeds: list[int]) -> list[MeshRun]:
        """Run a program once for each seed. Raises OracleError.

        An oracle that dies is asked again: XLA ends a process whose devices wait for one another
        for longer than 40 s, which happens on a machine with much else to do.
        """
        request = {"modules": modules, "seeds": seeds}
        try:
            runs = self.ask(request)
        except OracleDiedError:
            runs = self.ask(request)
        return [
            MeshRun(
                decoded(run),
                tuple(
                    (module, place(where), _seat(seat))
                    for module, where, seat in run["seats"]
                    if seat
                ),
            )
            for run in runs
        ]


def _seat(seat: dict[str, Any]) -> Seat:
    if "device" in seat:
        return Seat(**seat)
    axes, spec = seat["axes"], seat["spec"]
    return Seat(
        axes=None if axes is None else tuple((name, size) for name, size in axes),
        spec=None if spec is None else tuple(map(tuple, spec)),
    )
