"""What callers may leave out of an object: None by default, and its methods ask whether it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.calls import Arguments, is_none
from placement_lint.syntax.definitions import INITIALIZERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.syntax.tree import Tree


def asked_attributes(cls: cst.ClassDef, tree: Tree) -> frozenset[str]:
    """Return the attributes of `self` that methods of a class compare with None, or take as true.

    What an initializer asks, it has an answer to.
    """
    methods = (each for each in cls.body.body if isinstance(each, cst.FunctionDef))
    return frozenset(
        node.attr.value
        for method in methods
        if method.name.value not in INITIALIZERS
        for node in tree.every(cst.Attribute, below=method.body)
        if isinstance(node.value, cst.Name) and node.value.value == "self" and _is_asked(node, tree)
    )


def optional_parameters(function: cst.FunctionDef) -> Iterator[str]:
    """Yield the parameters of a function that are None where nobody passes them."""
    params = function.params
    for each in (*params.posonly_params, *params.params, *params.kwonly_params):
        if each.default is not None and is_none(each.default):
            yield each.name.value


def is_left_out(default: cst.BaseExpression | None) -> bool:
    """Return whether a field of a dataclass is None where nobody passes it."""
    if isinstance(default, cst.Call):
        default = Arguments(default).keywords.get("default")
    return default is not None and is_none(default)


def _is_asked(node: cst.Attribute, tree: Tree) -> bool:
    parent = tree.parent(node)
    if isinstance(parent, cst.Comparison):
        only = parent.comparisons[0]
        return isinstance(only.operator, cst.Is | cst.IsNot) and is_none(only.comparator)
    if isinstance(parent, cst.If | cst.IfExp | cst.While):
        return parent.test is node
    return isinstance(parent, cst.BooleanOperation) or (
        isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not)
    )
