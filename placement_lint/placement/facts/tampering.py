"""What makes a program other than its text: `exec`, `globals()[…] = …`, functions replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.config_states import CONFIG_CONTEXTS
from placement_lint.syntax.calls import Arguments, string_value
from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.pytest_fixtures import pytest_fixture

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


def replaced_name(call: cst.Call, names: Names) -> str | None:
    """Return the qualified name of what a call replaces by `setattr`, `monkeypatch`, `mock.patch`.

    None for any other call, and where that is not known.
    """
    if dotted(call.func).rpartition(".")[2] not in {"setattr", "patch", "object"}:
        return None
    arguments = Arguments(call)
    first = arguments.get(0, "target")
    name = None if first is None else string_value(first) or names.qualified(first)
    attribute = string_value(arguments.get(1, "name", "attribute"))
    return f"{name}.{attribute}" if name is not None and attribute else name


class Replacements:
    """What a file puts in the place of functions of JAX, as tests do, and where that holds."""

    def __init__(self, tree: Tree, names: Names) -> None:
        """Find what `mock.patch`, `monkeypatch.setattr` and `setattr` replace."""
        self._tree = tree
        self._regions: dict[str, list[cst.CSTNode]] = {}
        for call in tree.every(cst.Call):
            name = replaced_name(call, names)
            if name is not None:
                self._regions.setdefault(name, []).append(_region(call, tree, names))

    def hold_for(self, name: str, node: cst.CSTNode) -> bool:
        """Return whether a name, or what it is in, may stand for something else where a node is."""
        if not self._regions:
            return False
        parts = name.split(".")
        wholes = (".".join(parts[:end]) for end in range(2, len(parts) + 1))
        return any(
            self._tree.is_inside(node, region)
            for whole in wholes
            for region in self._regions.get(whole, ())
        )


def _region(call: cst.Call, tree: Tree, names: Names) -> cst.CSTNode:
    """Return where a replacement is in effect: in its `with`, in what it decorates, else in the
    test that it is in. What prepares tests does so for all of them.
    """
    for ancestor in tree.ancestors(call):
        if isinstance(ancestor, cst.WithItem | cst.Decorator):
            return tree.parent(ancestor) or tree.module
        if isinstance(ancestor, cst.FunctionDef):
            is_test = ancestor.name.value.startswith("test")
            is_alone = is_test and pytest_fixture(ancestor, names) is None
            return ancestor if is_alone else tree.module
    return tree.module


def _is_jax(name: str) -> bool:
    """Return whether a name is of JAX; its configuration is no function that is replaced."""
    if name in CONFIG_CONTEXTS or name.startswith("jax.config."):
        return False
    return name.startswith(_JAX)
