"""What certainly happened on the way to a place: the events of nodes that are executed in turn."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import libcst as cst

    from placement_lint.semantic.execution_steps import Event
    from placement_lint.semantic.module_summary import (
        Kind,
    )


class Parts:
    """Nodes that are executed one after the other, and what happens in those asked for so far."""

    def __init__(self, nodes: Sequence[cst.CSTNode]) -> None:
        self.nodes = nodes
        self.places = {id(node): place for place, node in enumerate(nodes)}
        self.events: list[Event] = []
        self.kinds: dict[Kind, list[int]] = {}
        """The places of the events of each kind."""
        self.ends = [0]
        """How many events there are in the first so many nodes."""


@dataclass(frozen=True)
class EventsBefore:
    """The first events of several."""

    parts: Parts
    count: int

    def first(self, kind: Kind) -> Event | None:
        places = self.parts.kinds.get(kind)
        return self.parts.events[places[0]] if places and places[0] < self.count else None

    def last(self, kinds: Iterable[Kind]) -> Event | None:
        latest = -1
        for kind in kinds:
            places = self.parts.kinds.get(kind, [])
            number = bisect_left(places, self.count)
            latest = max(latest, places[number - 1] if number else -1)
        return self.parts.events[latest] if latest >= 0 else None
