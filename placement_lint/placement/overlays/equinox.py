"""Models of equinox: layers, and trees of modules that are filtered and put together."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from placement_lint.jaxmodel.libraries.equinox import LAYERS
from placement_lint.placement.domain.program_values import External, Function, Instance
from placement_lint.placement.domain.values import (
    NONE,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Anything,
    AnyTree,
    Array,
    Host,
    Plain,
    Value,
    join,
    sole,
    value,
)
from placement_lint.placement.engine.pytrees import tree_of
from placement_lint.placement.overlays.parameters import (
    drawn,
    held_by,
    in_an_object,
    is_open,
    of_layer,
    several,
)
from placement_lint.placement.overlays.registry import ObjectCall, objects

_MODULE = "equinox.Module"
_BY_TYPE = frozenset({
    "equinox.is_array", "equinox.is_array_like", "equinox.is_inexact_array",
    "equinox.is_inexact_array_like",
})  # fmt: skip
"""Tests that take the parameters of a module: all of its arrays."""


@objects(*(f"equinox.nn.{name}" for name in LAYERS))
def layer(call: ObjectCall) -> Value:
    """`eqx.nn.Linear(4, 4, key=key)`: its parameters, and functions."""
    if call.name.endswith(".Embedding") and call.argument(2, "weight") is not None:
        return UNKNOWN
    return held_by(_MODULE, in_an_object(drawn(call, call.argument(None, "key"))))


@objects("equinox.nn.Sequential")
def layers(call: ObjectCall) -> Value:
    """`eqx.nn.Sequential([first, second])`: the arrays of all of them."""
    held = call.argument(0, "layers")
    return UNKNOWN if held is None else held_by(_MODULE, call.arrays_of(held))


@objects("equinox.nn.Dropout", "equinox.nn.Identity", "equinox.nn.Lambda")
def without_parameters(call: ObjectCall) -> Value:
    """`eqx.nn.Lambda(f)`: a module without arrays."""
    call.escapes(*(held for _, held in call.operands))
    return value(AnyTree(NOTHING, _MODULE))


@objects(f"{_MODULE}.__call__")
def called(call: ObjectCall) -> Value:
    """`layer(x)`: computes with its parameters."""
    return of_layer(call)


@objects("equinox.filter")
def filtered(call: ObjectCall) -> Value:
    """`eqx.filter(tree, eqx.is_array)`: the tree with nothing else in it."""
    return _parts(call)[0]


@objects("equinox.partition")
def partitioned(call: ObjectCall) -> Value:
    """`eqx.partition(tree, eqx.is_array)`: what passes the test, and what does not."""
    return several(*_parts(call))


def _parts(call: ObjectCall) -> tuple[Value, Value]:
    tree = call.argument(0, "pytree") or UNKNOWN
    call.program.objects.take_apart(tree, call.state)
    leaves = call.arrays_of(tree)
    if not leaves or is_open(leaves):
        return UNKNOWN, UNKNOWN
    if call.named(1, "filter_spec") in _BY_TYPE:
        return call.rebuilt(tree, lambda leaf: leaf), UNKNOWN
    return tree_of(leaves), UNKNOWN


@objects("equinox.combine")
def combined(call: ObjectCall) -> Value:
    """`eqx.combine(arrays, others)`: of each place of the trees what is there in one of them."""
    given = [held for _, held in call.operands]
    if not given or call.arguments.rest is not None:
        return UNKNOWN
    known = [held for held in given if not all(isinstance(a, Anything) for a in held)]
    if len(known) != 1:
        leaves = join(*map(call.arrays_of, given))
        return tree_of(leaves) if leaves else UNKNOWN
    return call.rebuilt(known[0], lambda leaf: leaf)


@objects("equinox.tree_at")
def replaced_at(call: ObjectCall) -> Value:
    """`eqx.tree_at(where, tree, new)`: the tree with other leaves in some places.

    In which one a lambda says that only reads attributes of the objects of the program. Else
    nothing is known of leaves that may be elsewhere than they were.
    """
    tree = call.argument(1, "pytree")
    if tree is None:
        return UNKNOWN
    call.program.objects.take_apart(tree, call.state)
    old = call.arrays_of(tree)
    new, changes = call.argument(2, "replace"), call.argument(3, "replace_fn")
    if changes is not None:
        new = call.called(changes, old or UNKNOWN)
    if new is None:
        return UNKNOWN
    call.program.objects.take_apart(new, call.state)
    path = None if changes is not None else _attributes_read(call)
    if path and (made := _with_attribute(call, tree, path, new)) is not None:
        return made
    others: Value = frozenset(a for a in call.arrays_of(new) if isinstance(a, _DATA)) - NONE
    if not any(isinstance(atom, Array | Host) for atom in old):
        return call.rebuilt(tree, lambda leaf: leaf) if others <= PLAIN else UNKNOWN

    def replaced(leaf: Value) -> Value:
        if not _is_array(leaf):
            return leaf
        is_where_it_was = _places(others) <= _places(leaf)
        return join(leaf, others) if is_where_it_was else join(leaf, others, UNKNOWN)

    return call.rebuilt(tree, replaced)


def _attributes_read(call: ObjectCall) -> list[str]:
    """Return the attributes by which `where` comes to what it gives: of `lambda m: m.a.b`."""
    only = sole(call.argument(0, "where") or UNKNOWN)
    node = call.program.node(only.place) if isinstance(only, Function) else None
    if not isinstance(node, cst.Lambda) or len(node.params.params) != 1:
        return []
    found: list[str] = []
    read = node.body
    while isinstance(read, cst.Attribute):
        found.insert(0, read.attr.value)
        read = read.value
    name = node.params.params[0].name.value
    return found if isinstance(read, cst.Name) and read.value == name else []


def _with_attribute(call: ObjectCall, tree: Value, path: list[str], new: Value) -> Value | None:
    """Return a tree with another attribute of an object in it; None where that is no object."""
    made = call.rebuilt(tree, lambda leaf: leaf)
    held, owner, name, is_within = made, sole(made), path[0], False
    for step in path:
        within = sole(held)
        if isinstance(within, Instance):
            owner, name = within, step
            held = call.program.classes.attribute(held, step, call.state)
        elif isinstance(within, AnyTree):
            is_within = True
        else:
            return None
    if not isinstance(owner, Instance):
        return None
    if isinstance(layer := sole(held), AnyTree) and is_within:
        # Of the parameters of a layer, some are others.
        new = value(replace(layer, leaf=join(layer.leaf, *map(call.arrays_of, [new]))))
    call.on.targets.set_attribute(
        owner, name, new, call.state, surely=not call.on.repeats, is_plain=True
    )
    return made


_DATA = (Anything, Array, External, Host, Plain)


def _places(leaves: Value) -> set[object]:
    """Return where arrays are, and what else there is."""
    return {(a.device, a.committed) if isinstance(a, Array) else type(a) for a in leaves}


def _is_array(leaf: Value) -> bool:
    return any(isinstance(atom, Array | Host) for atom in leaf)


@objects("equinox.nn.inference_mode", "equinox.tree_inference")
def same(call: ObjectCall) -> Value:
    """`eqx.nn.inference_mode(model)`: of the same arrays."""
    held = call.argument(0, "pytree")
    return UNKNOWN if held is None else call.rebuilt(held, lambda leaf: leaf)
