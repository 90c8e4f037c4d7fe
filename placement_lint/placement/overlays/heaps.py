"""Functions that keep a list in order: `heapq.heappush(heap, item)`, `bisect.insort(xs, x)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.placement.domain.containers import with_more, without_item
from placement_lint.placement.domain.contents import element_of
from placement_lint.placement.domain.values import (
    NONE,
    NOTHING,
    UNKNOWN,
    Sequence,
    Value,
    join,
    value,
)
from placement_lint.placement.overlays.registry import LibraryCall, models

if TYPE_CHECKING:
    from placement_lint.placement.domain.values import Container

_PUSHING = frozenset(
    {"heappush", "heappushpop", "heapreplace", "insort", "insort_left", "insort_right"}
)
_POPPING = frozenset({"heappop", "heappushpop", "heapreplace"})


@models(
    "heapq.heapify", "heapq.heappop", "heapq.heappush", "heapq.heappushpop", "heapq.heapreplace",
    "bisect.insort", "bisect.insort_left", "bisect.insort_right",
)  # fmt: skip
def changed(call: LibraryCall) -> Value:
    """Add an item to a list, take one out, or both; which one is where is not known then."""
    name = call.name.rpartition(".")[2]
    heap = call.arguments.get(0, "heap", "a")
    if heap is None or call.arguments.is_open:
        for each in call.values():
            call.on.escapes(each, call.state)
        return UNKNOWN
    given = {id(each.value): call.argument(each.value) for each in call.node.args}
    held, pushed = given[id(heap)], call.arguments.get(1, "item", "x")
    item = NOTHING if pushed is None or name not in _PUSHING else given[id(pushed)]

    def change(container: Container) -> Container:
        return without_item(with_more(container, None, item, None), None)

    taken = element_of(held)
    call.on.targets.change(heap, held, change, call.state)
    if name not in _POPPING:
        return NONE
    return join(taken, item) if name == "heappushpop" else taken or UNKNOWN


@models("heapq.nlargest", "heapq.nsmallest", "heapq.merge")
def chosen(call: LibraryCall) -> Value:
    """Return items of what is iterated over, in another order."""
    first = 0 if call.name.endswith("merge") else 1
    elements: list[Value] = []
    for position, argument in enumerate(call.node.args):
        held = call.argument(argument.value)
        if argument.keyword is None and (position >= first if not first else position == first):
            elements.append(UNKNOWN if argument.star else call.iterated(argument.value, held))
    return value(Sequence(None, join(*elements) if elements else UNKNOWN))
