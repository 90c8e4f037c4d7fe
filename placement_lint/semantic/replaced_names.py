"""Where a test has put something else in the place of a function of JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.facts.tampering import replaced_name
from placement_lint.syntax.pytest_fixtures import pytest_fixture

if TYPE_CHECKING:
    from placement_lint.semantic.model import ModuleFacts


def is_replaced(name: str, node: cst.CSTNode, facts: ModuleFacts) -> bool:
    """Return whether a name of JAX may stand for something else where a node is."""
    regions = facts.fact(_replaced).get(name, ())
    return any(facts.tree.is_inside(node, region) for region in regions)


def _replaced(facts: ModuleFacts) -> dict[str, list[cst.CSTNode]]:
    """Find what `mock.patch`, `monkeypatch.setattr` and `setattr` replace, and in which nodes."""
    found: dict[str, list[cst.CSTNode]] = {}
    for call in facts.tree.every(cst.Call):
        name = replaced_name(call, facts.names)
        if name is not None:
            found.setdefault(name, []).append(_region(call, facts))
    return found


def _region(call: cst.Call, facts: ModuleFacts) -> cst.CSTNode:
    """Return where a replacement is in effect: in its `with`, in what it decorates, else in the
    test that it is in. What prepares tests does so for all of them.
    """
    for ancestor in facts.tree.ancestors(call):
        if isinstance(ancestor, cst.WithItem | cst.Decorator):
            return facts.tree.parent(ancestor) or facts.tree.module
        if isinstance(ancestor, cst.FunctionDef):
            is_test = ancestor.name.value.startswith("test")
            is_alone = is_test and pytest_fixture(ancestor, facts.names) is None
            return ancestor if is_alone else facts.tree.module
    return facts.tree.module
