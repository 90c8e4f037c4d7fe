"""What makes a program other than its text: `exec`, `globals()[…] = …`, functions replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.config_states import CONFIG_CONTEXTS
from placement_lint.placement.facts.replaced_functions import replaced_name

if TYPE_CHECKING:
    from placement_lint.placement.facts.module import Module
    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree

_REBINDING = frozenset({"builtins.exec", "builtins.globals"})
_MESHES = frozenset({"jax.set_mesh", "jax.sharding.set_mesh", "jax.sharding.use_mesh"})
_PRECISIONS = frozenset({
    "jax.enable_x64", "jax.experimental.disable_x64", "jax.experimental.enable_x64",
})  # fmt: skip
_JAX = ("jax.", "numpy.", "safetensors.")


def tampers(tree: Tree, names: Names) -> bool:
    """Return whether a module changes variables by their names, or replaces functions of JAX."""
    kinds = (cst.AnnAssign, cst.AssignTarget, cst.AugAssign, cst.Call)
    return any(_tampers(node, names) for node in tree.every(*kinds))


def sets_mesh(tree: Tree, names: Names) -> bool:
    """Return whether a module sets a mesh: then operations refuse what is committed elsewhere.

    Measured on JAX 0.10.2: under `jax.set_mesh(mesh)` an array that is committed to a device
    outside of the mesh is an error, an uncommitted one is moved into it.
    """
    return any(names.qualified(node.func) in _MESHES for node in tree.every(cst.Call))


def changes_precision(module: Module) -> bool:
    """Return whether a module turns 64-bit types on or off for a block only.

    What is made inside keeps its type outside; what NumPy hands back there does not (measured).
    """
    return any(
        module.names.qualified(node.func) in _PRECISIONS for node in module.tree.every(cst.Call)
    )


def _tampers(node: cst.CSTNode, names: Names) -> bool:
    if isinstance(node, cst.Call):
        if names.qualified(node.func) in _REBINDING:
            return True
        replaced = replaced_name(node, names)
        return replaced is not None and _is_jax(replaced)
    if isinstance(node, cst.AssignTarget | cst.AnnAssign | cst.AugAssign):
        target = node.target
        name = names.qualified(target) if isinstance(target, cst.Attribute) else None
        return name is not None and _is_jax(name)
    return False


def _is_jax(name: str) -> bool:
    """Return whether a name is of JAX; its configuration is no function that is replaced."""
    if name in CONFIG_CONTEXTS or name.startswith("jax.config."):
        return False
    return name.startswith(_JAX)
