"""Where a test has put something else in the place of a function of JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.placement.facts.replaced_functions import ReplacedFunctions

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.semantic.model import ModuleFacts


def is_replaced(name: str, node: cst.CSTNode, facts: ModuleFacts) -> bool:
    """Return whether a name of JAX may stand for something else where a node is."""
    return facts.fact(_replaced).holds_for(name, node)


def _replaced(facts: ModuleFacts) -> ReplacedFunctions:
    return ReplacedFunctions(facts.tree, facts.names)
