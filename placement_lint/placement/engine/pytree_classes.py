"""Which classes are trees to JAX, and which of their fields are no leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.donation import STATIC_FIELDS
from placement_lint.placement.facts.decorators import decorator_name
from placement_lint.placement.facts.static_fields import meta_fields, static_fields
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.engine.protocols import Interpreter
    from placement_lint.placement.facts.module import Module

_DECORATORS = frozenset({
    "chex.dataclass", "flax.nnx.dataclass", "flax.struct.dataclass",
    "jax.tree_util.register_dataclass", "jax.tree_util.register_pytree_node_class",
    "jax.tree_util.register_pytree_with_keys_class", "jax_dataclasses.pytree_dataclass",
    "tree_math.struct",
})  # fmt: skip
_BASES = frozenset({
    "equinox.Module", "flax.nnx.Module", "flax.nnx.Pytree", "flax.struct.PyTreeNode",
    "flax.training.train_state.TrainState", "typing.NamedTuple",
})  # fmt: skip
_REGISTERING = frozenset({
    "jax.tree_util.register_dataclass", "jax.tree_util.register_pytree_node",
    "jax.tree_util.register_pytree_with_keys",
})  # fmt: skip
_NO_TREE = frozenset({"dataclasses.dataclass", "typing.final", "functools.total_ordering"})
"""Decorators that leave a class as it is: no tree."""
_NO_TREE_BASES = frozenset({
    "abc.ABC", "builtins.object", "flax.linen.Module", "typing.Generic", "typing.Protocol",
})  # fmt: skip
_REPLACING = frozenset({"chex.dataclass", "flax.struct.dataclass"})
"""Decorators that give a class a method `replace`."""


class Pytrees:
    """What is known of the classes of a program as trees."""

    def __init__(self, program: Interpreter) -> None:
        self._program = program
        self._known: dict[Place, bool | None] = {}
        self._static: dict[Place, frozenset[str]] = {}
        self._registered: dict[str, dict[str, cst.Call]] = {}

    def is_tree(self, cls: Place) -> bool | None:
        """Return whether objects of a class are trees to JAX; None where that is not known."""
        if cls not in self._known:
            verdicts = [self._is_tree(place) for place in self._program.classes.bases(cls)]
            # A subclass is registered by itself, but where the base class does it for it.
            self._known[cls] = True if True in verdicts else None if None in verdicts else False
        return self._known[cls]

    def _is_tree(self, place: Place) -> bool | None:
        module, node = self._program.module_of(place), self._program.node(place)
        if not isinstance(node, cst.ClassDef):
            return None
        if node.name.value in self._registrations(module):
            return True
        decorators = {decorator_name(module, each) for each in node.decorators}
        if not _DECORATORS.isdisjoint(decorators):
            return True
        bases = {_name(module, each.value) for each in node.bases}
        if not _BASES.isdisjoint(bases):
            return True
        others = (self._program.node(other) for other in self._program.classes.bases(place))
        own = {each.name.value for each in others if isinstance(each, cst.ClassDef)}
        foreign = {name for name in bases if name.rpartition(".")[2] not in own}
        return False if decorators <= _NO_TREE and foreign <= _NO_TREE_BASES else None

    def _registrations(self, module: Module) -> dict[str, cst.Call]:
        """Return the calls in a module that make a class a tree, by the name of the class."""
        found = self._registered.get(module.name)
        if found is None:
            found = self._registered[module.name] = {}
            for call in module.tree.every(cst.Call):
                if module.names.qualified(call.func) in _REGISTERING and call.args:
                    found[dotted(call.args[0].value)] = call
        return found

    def static_fields(self, cls: Place) -> frozenset[str]:
        """Return the fields of a class that are no part of the tree."""
        if cls not in self._static:
            found: set[str] = set()
            for place in self._program.classes.bases(cls):
                module, node = self._program.module_of(place), self._program.node(place)
                if isinstance(node, cst.ClassDef):
                    found |= self._static_of(module, node)
            library = self._program.classes.library_class(cls)
            found |= STATIC_FIELDS.get(library or "", frozenset())
            self._static[cls] = frozenset(found)
        return self._static[cls]

    def _static_of(self, module: Module, node: cst.ClassDef) -> set[str]:
        found = static_fields(node)
        call = self._registrations(module).get(node.name.value)
        return found if call is None else found | meta_fields(call)

    def has_replace(self, cls: Place) -> bool:
        """Return whether `x.replace(name=value)` gives another object of a class, like `x`."""
        for place in self._program.classes.bases(cls):
            module, node = self._program.module_of(place), self._program.node(place)
            if isinstance(node, cst.ClassDef) and (
                any(decorator_name(module, each) in _REPLACING for each in node.decorators)
                or any(
                    module.names.qualified(each.value) == "flax.struct.PyTreeNode"
                    for each in node.bases
                )
            ):
                return True
        return False


def is_flatten_method(node: cst.CSTNode) -> bool:
    """Return whether a method takes an object apart for JAX."""
    return isinstance(node, cst.FunctionDef) and node.name.value.startswith("tree_flatten")


def _name(module: Module, node: cst.BaseExpression) -> str:
    """Return the name of a base class; `Generic[T]` is `Generic`."""
    if isinstance(node, cst.Subscript):
        node = node.value
    return module.names.qualified(node) or dotted(node)
