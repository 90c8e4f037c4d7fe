"""Classes that one module of a program has Flax trace, and another one defines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.lifted_classes import lifted_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from placement_lint.placement.facts.module import Module


def note_lifted(
    modules: Mapping[str, Module], find: Callable[[str, str], tuple[str, str] | None]
) -> None:
    """Note, in the modules that define them, which classes others give to `nn.remat` and its like.

    `find` returns the module that a name in another one leads into, and the rest of the name.
    """
    for module in modules.values():
        for name in lifted_names(module.tree, module.names):
            found = find(module.name, name)
            there = None if found is None else modules.get(found[0])
            if found is None or there is None:
                continue
            only = there.names.module_scope.sole_binding(found[1])
            if only is not None and isinstance(only.node, cst.ClassDef):
                there.traced.lift(only.node)
