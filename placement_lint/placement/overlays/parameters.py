"""What the libraries of neural networks do with parameters: make them, compute with them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.contents import arrays
from placement_lint.placement.domain.program_values import External
from placement_lint.placement.domain.values import (
    ANYTHING,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Anything,
    AnyTree,
    Array,
    Sequence,
    Value,
    join,
    value,
)
from placement_lint.placement.engine.pytrees import tree_of

if TYPE_CHECKING:
    from placement_lint.placement.engine.arguments import Operand
    from placement_lint.placement.overlays.registry import ObjectCall


def drawn(call: ObjectCall, keys: Value | None, *, all_drawn: bool = False) -> Value:
    """Return what each parameter is that is made with a key: on the default device, uncommitted.

    With a committed key, what is drawn is where that is, and constant ones, of which there are
    none where `all_drawn`, are on the default device (measured with flax, haiku and equinox).
    """
    key = PLAIN if keys is None else keys
    made = call.created(certain=not any(isinstance(a, Anything | External) for a in key))
    committed = frozenset(
        Array(array.device, committed=True, via=array.via, supposed=array.supposed)
        for array in arrays(key)
        if array.committed
    )
    if not committed:
        return made
    return committed if all_drawn and is_committed(key) else join(made, committed)


def constants_like(call: ObjectCall, leaves: Value) -> Value:
    """Return what each constant is that is made of the shape of an array.

    It is on the default device; where a committed array is, is that of its shape.
    """
    committed = frozenset(
        Array(atom.device, committed=True, via=atom.via, supposed=atom.supposed)
        for atom in leaves
        if isinstance(atom, Array) and atom.committed
    )
    if committed and all(isinstance(atom, Array) and atom.committed for atom in leaves):
        return committed
    return committed | call.created(certain=not any(isinstance(a, Anything) for a in leaves))


def placed(call: ObjectCall) -> list[Operand] | None:
    """Return the arguments of a call, each with its place; None where some are unpacked."""
    given = call.arguments
    if given.rest is not None or given.more is not None:
        return None
    every = [*given.positional, *given.keywords.values()]
    nodes = call.node.args if isinstance(call.node, cst.Call) else ()
    if len(nodes) != len(every):
        return [(call.on.index(call.node), held) for held in every]
    ordered = sorted(nodes, key=lambda node: node.keyword is not None)
    return [(call.on.index(node.value), held) for node, held in zip(ordered, every, strict=True)]


def is_open(held: Value) -> bool:
    """Return whether a value may be anything: a committed array too."""
    return any(isinstance(atom, External) or atom == ANYTHING for atom in held)


def is_committed(held: Value) -> bool:
    """Return whether a value certainly is committed arrays."""
    return bool(held) and all(isinstance(atom, Array) and atom.committed for atom in held)


def applied(call: ObjectCall, parameters: Value = NOTHING) -> Value:
    """Compute with parameters and the arguments of a call, and return the trees that it gives.

    Some of the parameters may not be used.
    """
    given = [(receiver_place(call), parameters)] if parameters else []
    made = call.computed([*given, *call.operands], certain=False)
    return tree_of(made)


def of_layer(call: ObjectCall) -> Value:
    """Return what calling a layer gives: it computes with its parameters, if it has any.

    One without parameters may hand back what it is given.
    """
    if isinstance(call.receiver, AnyTree) and call.receiver.leaf:
        return applied(call, call.receiver.leaf)
    call.escapes(*(held for _, held in call.operands))
    return UNKNOWN


def receiver_place(call: ObjectCall) -> int:
    """Return the place of the object whose method is called."""
    node = call.node
    if isinstance(node, cst.Call):
        function = node.func
        is_method = isinstance(function, cst.Attribute) and not call.name.endswith(".__call__")
        node = function.value if is_method and isinstance(function, cst.Attribute) else function
    return call.on.index(node)


def receiver_of(call: ObjectCall) -> Value:
    """Return the object whose method is called."""
    return UNKNOWN if call.receiver is None else value(call.receiver)


def replaced(call: ObjectCall, tree: Value, operands: list[Operand]) -> Value:
    """Return a tree like another one, of what is computed of it and the operands."""
    made = call.computed(operands, certain=False)
    leaves = call.arrays_of(tree)
    if not leaves or is_open(leaves):
        return tree_of(made) if made and not is_open(leaves) else UNKNOWN
    return call.rebuilt(tree, lambda _: made)


def several(*items: Value) -> Value:
    """Return a tuple."""
    return value(Sequence(items, join(*items)))


def held_by(cls: str, leaves: Value) -> Value:
    """Return an object of a class of a library, whose arrays are these."""
    if not leaves:
        return value(AnyTree(NOTHING, cls))
    return frozenset(
        replace(atom, cls=cls) if isinstance(atom, AnyTree) else atom for atom in tree_of(leaves)
    )


def in_an_object(leaves: Value) -> Value:
    """Return arrays that are made in an object which `jax.device_put` may refuse."""
    return frozenset(
        replace(atom, origin=replace(atom.origin, is_apart=False))
        if isinstance(atom, Array) and atom.origin is not None
        else atom
        for atom in leaves
    )
