"""What becomes of what an operation gives that runs on the host: whether it stays an array."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.jaxmodel.transfer import Effect
from placement_lint.placement.domain import contents, program_values, values
from placement_lint.placement.domain.places import (
    Place,
)
from placement_lint.rules.commitment.loop_copies import elements_of
from placement_lint.syntax.collection_methods import STORING
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

_READING = frozenset(
    f"builtins.{name}" for name in "bool complex float format int print repr str".split()
)
_TAKING = frozenset(f"jax.{name}" for name in "debug.callback debug.print numpy.save".split())
_PLACING = frozenset({
    "jax.device_get", "jax.device_put", "numpy.array", "numpy.asarray",
})  # fmt: skip
_FOLLOWED = (
    program_values.Class, program_values.Function, program_values.Instance, values.Computation,
    values.Method, values.Partial,
)  # fmt: skip
_KEEPING = STORING | {"get", "items", "pop", "values"}
"""Methods of containers: what they are given, or hold, is still the same array."""
_WHERE_IT_IS = frozenset({"committed", "device", "sharding"})
"""Attributes that a program reads to see where an array is: then that is known to its author."""


class Results:
    """Where the program has arrays that came of operations which run on the host."""

    def __init__(self, ctx: Context) -> None:
        """Search the values of all expressions of the program."""
        self._ctx = ctx
        self._found: dict[Place, list[Place]] = {}
        for path, module in ctx.flow.program.modules.items():
            for node, held in module.record.values.items():
                operations = {place for array in contents.arrays(held) for place in array.via}
                for place in operations:
                    self._found.setdefault(place, []).append(Place(path, node))

    def are_taken(self, operation: Place) -> bool:
        """Return whether something reads them: into NumPy, a file, a text, or by a call which
        nobody follows; or puts them elsewhere.
        """
        return any(
            _is_taken(there.tree.nodes[place.node], there)
            for place, there in self._places(operation)
        )

    def _places(self, operation: Place) -> Iterator[tuple[Place, Context]]:
        for place in self._found.get(operation, ()):
            there = self._ctx.beside(place.module)
            if there is not None:
                yield place, there


def _is_taken(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether what is around an expression takes the array that it is out of JAX."""
    parent = ctx.parent(node)
    if isinstance(parent, cst.Arg):
        call = ctx.parent(parent)
        return isinstance(call, cst.Call) and _takes(call, ctx)
    if isinstance(parent, cst.Attribute) and parent.value is node:
        return _method_takes(parent, ctx)
    if isinstance(parent, cst.FormattedStringExpression | cst.BooleanOperation):
        return True
    if isinstance(parent, cst.UnaryOperation):
        return isinstance(parent.operator, cst.Not)
    return isinstance(parent, cst.If | cst.While | cst.Assert | cst.IfExp) and parent.test is node


def _method_takes(attribute: cst.Attribute, ctx: Context) -> bool:
    """Return whether a method or an attribute of an array reads it."""
    name = attribute.attr.value
    call = ctx.parent(attribute)
    if not isinstance(call, cst.Call) or call.func is not attribute:
        return name in _WHERE_IT_IS
    if name == "block_until_ready":
        return isinstance(ctx.parent(call), cst.Expr)
    return name in transfer.HOST_METHODS or name == "to_device"


def _takes(call: cst.Call, ctx: Context) -> bool:
    """Return whether a call takes an array that it is given out of JAX."""
    name = ctx.called(call)
    row = ctx.names.table.get(name or "")
    if name == "jax.block_until_ready":
        # To wait, and no more, is what a benchmark does.
        return isinstance(ctx.parent(call), cst.Expr)
    if name in _TAKING:
        return True
    if row is not None:
        return row.effect in {Effect.COMMIT, Effect.HOST}
    if name is not None and name.startswith("builtins."):
        return name in _READING
    if name is not None and name.startswith("numpy."):
        return name not in transfer.NUMPY_DISPATCHING
    if name is not None and name.startswith("jax."):
        return False
    held = ctx.flow.value(call.func)
    if held and all(isinstance(atom, _FOLLOWED) for atom in held):
        return False
    if isinstance(call.func, cst.Attribute):
        receiver = ctx.flow.value(call.func.value)
        if call.func.attr.value in _KEEPING and any(
            isinstance(atom, values.Sequence | values.Mapping) for atom in receiver
        ):
            return False
        if any(isinstance(atom, values.Array) for atom in receiver):
            return False
    return True


# -- by names -------------------------------------------------------------------------------------


def is_replaced(operand: int, operation: cst.CSTNode, ctx: Context) -> bool:
    """Return whether the name of an operand is bound again to something made of the result.

    By the statements of the function, whatever the calls in them are: `grads = grad(params, batch)`
    and then `params = update(params, grads)`.
    """
    root = _root(ctx.tree.nodes[operand])
    bindings = ctx.module.fact(_Bindings).around(operation, ctx)
    pending = [
        target
        for binding in bindings.all
        if ctx.tree.is_inside(operation, binding.value)
        for target in binding.targets
    ]
    made: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in made:
            made.add(name)
            pending += [t for binding in bindings.using.get(name, ()) for t in binding.targets]
    return not made.isdisjoint(_prefixes(root))


@dataclass(frozen=True)
class _Binding:
    """One assignment: what it binds, and the expression that it binds that to."""

    targets: frozenset[str]
    value: cst.BaseExpression


@dataclass
class _InFunction:
    """The assignments of one function, or of the module's own code."""

    all: list[_Binding] = field(default_factory=list)
    using: dict[str, list[_Binding]] = field(default_factory=dict)
    """By the dotted names in what they bind, and each first part of those."""


class _Bindings:
    """The assignments of one file, by the function that they are in."""

    def __init__(self, facts: ModuleFacts) -> None:
        self._tree = facts.tree
        self._found: dict[int, _InFunction] = {}
        for node in facts.tree.every(cst.Assign, cst.AnnAssign, cst.AugAssign, cst.NamedExpr):
            if node.value is None or self._places(node.value, facts):
                continue
            targets = (
                [each.target for each in node.targets]
                if isinstance(node, cst.Assign)
                else [node.target]
            )
            names = frozenset(map(_root, elements_of(targets))) - {""}
            binding = _Binding(names, node.value)
            function = self._found.setdefault(self._function(node), _InFunction())
            function.all.append(binding)
            for name in self._names(node.value):
                function.using.setdefault(name, []).append(binding)

    def around(self, node: cst.CSTNode, ctx: Context) -> _InFunction:
        return self._found.get(id(ctx.function(node)), _InFunction())

    def _function(self, node: cst.CSTNode) -> int:
        for ancestor in self._tree.ancestors(node):
            if isinstance(ancestor, cst.FunctionDef | cst.Lambda):
                return id(ancestor)
        return id(None)

    def _places(self, value: cst.BaseExpression, facts: ModuleFacts) -> bool:
        """Return whether an expression puts something on a device, or reads it."""
        for node in (value, *self._tree.descendants(value)):
            if isinstance(node, cst.Call) and (
                facts.names.qualified(node.func) in _PLACING
                or (isinstance(node.func, cst.Attribute) and node.func.attr.value == "to_device")
            ):
                return True
        return False

    def _names(self, value: cst.BaseExpression) -> set[str]:
        return {
            name
            for node in (value, *self._tree.descendants(value))
            if isinstance(node, cst.Name | cst.Attribute)
            for name in _prefixes(dotted(node))
        }


def _root(node: cst.CSTNode) -> str:
    """Return the dotted name that a target or an operand is, or is an item of."""
    while isinstance(node, cst.Subscript):
        node = node.value
    return dotted(node)


def _prefixes(name: str) -> set[str]:
    """Return `self.state` and `self.state.params` of the latter; a bare `self` is too much."""
    parts = name.split(".")
    found = {".".join(parts[: end + 1]) for end in range(len(parts))}
    return found - {"", "self", "cls"}
