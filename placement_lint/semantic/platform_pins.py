"""Whether a file pins the program to the CPU before the backend starts: later it has no effect."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from placement_lint.placement.facts.cpu_pin import offers_cpu, pins_cpu
from placement_lint.semantic.execution_order import timeline
from placement_lint.semantic.module_summary import Kind

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.semantic.model import ModuleFacts


def pins_in_time(facts: ModuleFacts) -> bool:
    """Return whether a file pins the program to the CPU. See `ModuleFacts.pins_cpu`."""
    return pins_cpu(facts.tree, facts.names, is_late=functools.partial(_is_late, facts))


def offered_in_time(facts: ModuleFacts) -> frozenset[str]:
    """Return the functions of a file that pin the program to the CPU where others call them."""
    return offers_cpu(facts.tree, facts.names, is_late=functools.partial(_is_late, facts))


def _is_late(facts: ModuleFacts, node: cst.CSTNode, is_variable: bool, /) -> bool:
    kind = Kind.IMPORTS if is_variable else Kind.STARTS
    return timeline(facts).before(node, kind) is not None
