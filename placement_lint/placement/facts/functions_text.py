"""What the text of a module says of its functions: which names it uses, what they configure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from placement_lint.placement.facts.module import Module


def used_names(module: Module) -> frozenset[str]:
    """Return the names that are used in a module, other than to define what they stand for.

    What has such a name may be called, also by another name that it is given.
    """
    defining = {id(node.name) for node in module.tree.every(cst.ClassDef, cst.FunctionDef)}
    named = {node.value for node in module.tree.every(cst.Name) if id(node) not in defining}
    imported = module.tree.every(cst.Attribute)
    return frozenset(named | {n.attr.value for n in imported if module.names.qualified(n)})


def enters_default_in_function(module: Module) -> bool:
    """Return whether a function in a module enters a default device."""
    return any(
        module.names.qualified(node.func) == "jax.default_device"
        and any(isinstance(ancestor, cst.FunctionDef) for ancestor in module.tree.ancestors(node))
        for node in module.tree.every(cst.Call)
    )
