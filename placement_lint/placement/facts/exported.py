"""What of a module others may get at: import by a public name, or close over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.state import variable

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.state import Variable
    from placement_lint.placement.facts.module import Module


def may_be_imported(module: Module, node: cst.CSTNode) -> bool:
    """Return whether others may import, by a public name, what a node defines."""
    if not module.is_open or not isinstance(node, cst.FunctionDef | cst.ClassDef):
        return False
    around = [node, *module.tree.ancestors(node)]
    if any(isinstance(each, cst.FunctionDef | cst.Lambda) for each in around[1:]):
        return False
    named = [each for each in around if isinstance(each, cst.FunctionDef | cst.ClassDef)]
    return all(is_public(each.name.value) for each in named)


def is_public(name: str) -> bool:
    """Return whether a name is for others, as those of Python's own protocols are."""
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def closed_over(module: Module, scopes_of: Callable[[Place], Container[int]]) -> Iterator[Variable]:
    """Yield the variables that decorated functions which JAX traces take from outside; not
    `jax.jit`, which makes constants of that.

    `scopes_of` returns the scopes of a function itself.
    """
    for function in module.tree.every(cst.FunctionDef):
        if function not in module.traced or module.traced.is_only_jitted(function):
            continue
        own = scopes_of(module.place(function))
        for node in module.tree.every(cst.Name, below=function):
            owner = module.names.owner(node.value, module.names.scope(node))
            if owner is not None and id(owner) not in own:
                yield variable(owner, node.value)
