"""The dispatch table: which method of which rule wants to see which type of node."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import libcst as cst

if TYPE_CHECKING:
    from placement_lint.rules.base import Rule

Visitor: TypeAlias = Callable[[Any, Any], None]
Table: TypeAlias = "dict[type[cst.CSTNode], list[tuple[int, Visitor]]]"


@functools.lru_cache(maxsize=512)
def dispatch_table(rules: tuple[type[Rule], ...]) -> Table:
    """Give, for each node type, the visitors in the order of the rules, each with its rule's place.

    Raises AttributeError where a rule's method names no LibCST node type.
    """
    table: Table = {}
    for position, rule in enumerate(rules):
        for node_type, visit in _visitors(rule):
            table.setdefault(node_type, []).append((position, visit))
    return table


_KNOWN: dict[type[Rule], list[tuple[type[cst.CSTNode], Visitor]]] = {}
"""The visitors of each rule: the tables of many sets of rules share them."""


def _visitors(rule: type[Rule]) -> list[tuple[type[cst.CSTNode], Visitor]]:
    if rule not in _KNOWN:
        instance = rule()
        _KNOWN[rule] = [
            (getattr(cst, name.removeprefix("visit_")), getattr(instance, name))
            for name in dir(rule)
            if name.startswith("visit_")
        ]
    return _KNOWN[rule]
