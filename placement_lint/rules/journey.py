"""The way of an array to a finding, as places that the report shows in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import libcst as cst

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.values import Array
    from placement_lint.rules.context import Context

MADE_HERE = "made here under a default device, uncommitted"
COMMITTED_HERE = "committed to the host here"
_MOST_PLACES = 8
"""Of a longer way, the middle is left out."""
_MOST_MADE = 3
_LAST = 3


def journey_of(
    arrays: Iterable[Array], use: cst.CSTNode, ctx: Context
) -> list[tuple[cst.CSTNode, str, str]]:
    """Return the way to a use of arrays that are committed to the host, or else of all others."""
    found = list(arrays)
    committed = {place for array in found for place in array.via}
    if committed:
        return journey(committed, use, ctx, COMMITTED_HERE)
    made = {array.origin.created for array in found if array.origin is not None}
    return journey(made, use, ctx, MADE_HERE)


def committed_at(arrays: Iterable[Array], ctx: Context) -> list[Place]:
    """Return the expressions that committed arrays to the host."""
    return committing({place for array in arrays for place in array.via}, ctx)


def committing(places: Iterable[Place], ctx: Context) -> list[Place]:
    """Return what committed something to the host, without the operations that followed it."""
    modules = ctx.flow.program.modules
    return [
        place
        for place in sorted(places)
        if place.node not in modules[place.module].record.pulls.found
    ]


def journey(
    made: Iterable[Place], use: cst.CSTNode, ctx: Context, text: str
) -> list[tuple[cst.CSTNode, str, str]]:
    """Return where arrays were made, or committed, and the way from there to a use of them.

    `text` says what happens where they were made.
    """
    origins = sorted(set(made))
    begin = [(place, text) for place in origins[:_MOST_MADE]]
    more = len(origins) - len(begin)
    if more:
        begin[-1] = (begin[-1][0], f"{text}; {more} more {'is' if more == 1 else 'are'} not shown")
    steps = [
        (each.place, each.text) for each in (ctx.flow.journey(origins, use) if origins else ())
    ]
    found = [
        (there.tree.nodes[place.node], place.module, message)
        for place, message in _merged([*begin, *steps])
        if (there := ctx.beside(place.module)) is not None
    ]
    left_out = len(found) - _MOST_PLACES
    if left_out > 0:
        head, tail = found[: _MOST_PLACES - _LAST], found[-_LAST:]
        node, path, message = head[-1]
        many = "1 step" if left_out == 1 else f"{left_out} steps"
        found = [*head[:-1], (node, path, f"{message}; {many} after it left out"), *tail]
    return found


def _merged(steps: Iterable[tuple[Place, str]]) -> list[tuple[Place, str]]:
    """Return the steps with those in one that follow one another at one place."""
    merged: list[tuple[Place, str]] = []
    for place, text in steps:
        if merged and merged[-1][0] == place:
            merged[-1] = (place, f"{merged[-1][1]}, {text.replace(' here', '', 1)}")
        else:
            merged.append((place, text))
    return merged
