"""Where the analyser and JAX disagree about a program with meshes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tests.differential.analysis import bare
from tests.differential.compare import Disagreement, compare

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.differential.analysis import Analysis, Span
    from tests.differential.mesh_client import MeshRun
    from tests.differential.oracle_client import Use
    from tests.differential.seats import Seat

ELSEWHERE = "an array is not where it is said to be"
NOT_SPREAD = "an operand is said to be copied to a mesh, and is not"
MISSED = "a copy to a mesh that is not known"


@dataclass
class MeshComparison:
    """The outcome for one program."""

    disagreements: list[Disagreement] = field(default_factory=list)
    places: int = 0
    """Expressions that gave arrays, each counted once for a program."""
    unknown: int = 0
    """Of these: those of which the analyser does not say where their arrays are."""
    on_meshes: int = 0
    """Those that gave an array on several devices."""
    known_meshes: int = 0
    """Of these: those of which the analyser says which mesh it is on."""
    known_specs: int = 0
    """Of these: those of which it says how it is split."""
    copies: int = 0
    """Operands that JAX copied to all devices of a mesh."""
    found: int = 0
    """Of these: those of which the analyser says so."""
    unsure: int = 0
    """Those of which it does not know."""
    runs: int = 0
    cut: int = 0
    errors: Counter[str] = field(default_factory=Counter)


def compare_meshes(
    modules: dict[str, str], analysis: Analysis, runs: list[MeshRun]
) -> MeshComparison:
    """Compare what the analyser says of a program with what JAX did when it ran."""
    # What goes to a mesh is judged here, also where it goes there by way of the default device.
    alone = [replace(each.run, uses=_elsewhere(each.run.uses)) for each in runs]
    single = compare(modules, analysis, alone)
    result = MeshComparison(runs=len(runs), cut=single.cut, errors=single.errors)
    result.disagreements += single.disagreements
    _compare_places(modules, analysis, runs, result)
    _compare_copies(modules, analysis, runs, result)
    return result


def _elsewhere(uses: Iterable[Use]) -> tuple[Use, ...]:
    """Return the uses of operands that the same operation does not take to a mesh."""
    every = [*uses]
    spread = {(use.module, use.operation, use.operands) for use in every if use.to_mesh}
    return tuple(u for u in every if (u.module, u.operation, u.operands) not in spread)


def _compare_places(
    modules: dict[str, str], analysis: Analysis, runs: list[MeshRun], result: MeshComparison
) -> None:
    actual: dict[tuple[str, Span], set[Seat]] = {}
    for run in runs:
        for module, span, seat in run.seats:
            actual.setdefault((module, bare(modules[module], span)), set()).add(seat)
    for where, seats in actual.items():
        result.places += 1
        said = analysis.seats.get(where)
        meshed = any(seat.device is None for seat in seats)
        result.on_meshes += meshed
        if not said:
            result.unknown += where[0] not in analysis.skipped
            continue
        if meshed:
            result.known_meshes += all(s.device is not None or s.axes is not None for s in said)
            result.known_specs += all(s.device is not None or s.spec is not None for s in said)
        wrong = [seat for seat in seats if not any(each.admits(seat) for each in said)]
        if wrong:
            here, there = " or ".join(map(str, said)), str(wrong[0])
            _disagree(result, modules, f"{ELSEWHERE} ({here}, but {there})", where)


def _compare_copies(
    modules: dict[str, str], analysis: Analysis, runs: list[MeshRun], result: MeshComparison
) -> None:
    copied: dict[tuple[str, Span], bool] = {}
    on_the_way = {
        (use.module, use.operation)
        for run in runs
        for use in run.run.uses
        if not use.known and use.moved and use.to_mesh
    }
    """Operations that copied what JAX had made of an operand first, as `jnp.stack` does."""
    by_way: set[tuple[str, Span]] = set()
    for run in runs:
        for use in run.run.uses:
            if use.known and not use.small:
                for place in use.operands:
                    where = (use.module, bare(modules[use.module], place))
                    if (use.module, use.operation) in on_the_way:
                        by_way.add(where)
                    copied[where] = copied.get(where, False) or (use.moved and use.to_mesh)
    for where, really in copied.items():
        said = analysis.spread.get(where, frozenset({None}))
        if really:
            result.copies += 1
            result.found += True in said
            if said == {False} and where not in analysis.undecided:
                _disagree(result, modules, MISSED, where)
            elif True not in said:
                result.unsure += 1
        elif said == {True} and where not in by_way:
            _disagree(result, modules, NOT_SPREAD, where)


def _disagree(
    result: MeshComparison, modules: dict[str, str], what: str, where: tuple[str, Span]
) -> None:
    module, span = where
    line = modules[module].split("\n")[span[0] - 1].strip()
    result.disagreements.append(Disagreement(what, module, span, line))
