"""Arrays that are put elsewhere in another part of the program than the one that makes them.

What becomes of them is asked of the interpreter: they may be returned, stored in objects, passed to
functions of other files, and taken out of containers, before they are put.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from placement_lint.jaxmodel.effects import Effect
from placement_lint.placement.domain import contents, values
from placement_lint.rules.transfers.array_sizes import element_count, is_one_for_each_of_few
from placement_lint.rules.transfers.creations import Creation, is_small, known_count
from placement_lint.rules.transfers.put_targets import is_elsewhere, is_sharding
from placement_lint.rules.transfers.put_trees import target_of_leaves
from placement_lint.rules.transfers.putting_later import creator_of
from placement_lint.rules.transfers.staged_fixes import CONVERTING
from placement_lint.semantic.enclosing import is_in_test
from placement_lint.semantic.spread_options import passed_by
from placement_lint.syntax.calls import Arguments, elements_or_self, integer_value

if TYPE_CHECKING:
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.values import Array, Value
    from placement_lint.placement.lifetimes import Lifetime
    from placement_lint.rules.context import Context
    from placement_lint.rules.transfers.putting_functions import Putting
    from placement_lint.semantic.model import ModuleFacts

_READING = CONVERTING | {Effect.LOAD}
_MOST_STEPS = 4
"""Operations between what makes an array and what puts it."""


class Staged(NamedTuple):
    """An array that is made on the default device, and that nothing is done with but to put it."""

    creation: Creation
    place: Place
    """The expression that gives it."""


def may_stage(ctx: Context) -> bool:
    """Return whether it is worth executing a file to know what becomes of the arrays in it.

    It may not depend on whether something else has the file executed.
    """
    return ctx.module.has_siblings or ctx.module.fact(_makes_arrays)


def _makes_arrays(facts: ModuleFacts) -> bool:
    """Return whether a file makes an array anywhere but in the call that puts it."""
    for call in facts.tree.every(cst.Call):
        name = facts.names.qualified(call.func) or ""
        if name.startswith(("jax.numpy.", "jax.random.")) and facts.names.table.get(name):
            return True
    return False


def staged_apart(operand: cst.BaseExpression, put: Putting, ctx: Context) -> Staged | None:
    """Return what makes an array of an operand that a call puts elsewhere, or passes on to what
    does, if that is all that becomes of it.
    """
    if ctx.flow.is_traced(operand) or put.there.flow.is_traced(put.call):
        return None
    if any(isinstance(atom, values.Plain) for atom in ctx.flow.value(operand)):
        # It is None where an array could not be made.
        return None
    for leaf in contents.leaves_of(ctx.flow.tree_of(operand)):
        found = [_staged(atom, operand, put, ctx) for atom in leaf]
        first = found[0] if found and None not in found else None
        if first is not None:
            return first
    return None


def _staged(
    atom: values.Atom, operand: cst.BaseExpression, put: Putting, ctx: Context
) -> Staged | None:
    """Return what makes an array that is only put, if it is worth a finding."""
    if not isinstance(atom, values.Array) or atom.committed or atom.is_small:
        return None
    if atom.origin is None or not _is_only_put(atom, operand, ctx):
        return None
    created = atom.origin.created
    found = _maker(created, operand, ctx)
    if found is None:
        return None
    made, there = found
    name = there.called(made)
    if name is None or there.names.table.get(name) is None or there.flow.is_traced(made):
        return None
    if not there.flow.runs_on_system_default(made):
        return None
    creation = Creation(made, made, name, there, is_spread=is_sharding(put.target, put.of))
    if creation.is_large is None:
        return None
    count = element_count(made, there)
    if count is None:
        count = known_count(operand, ctx)
    if count is None:
        count = _count_passed(made, operand, there)
    is_read = there.names.table[name].effect in _READING
    if count is None and not creation.is_spread and not is_read:
        # What a function makes of sizes that it is given may be small, as in an example.
        return None
    if is_small(count, operand, ctx) or is_small(count, made, there):
        return None
    if is_one_for_each_of_few(made, there) or not is_elsewhere(put.target, made, put.of, there):
        return None
    return Staged(creation, created)


def _count_passed(made: cst.Call, operand: cst.BaseExpression, there: Context) -> int | None:
    """Return the number of elements of an array whose sides are what a call passes, `start(16, 8)`.

    `there`: the file of the function that makes it.
    """
    function = there.tree.around(made, cst.FunctionDef)
    shape = Arguments(made).get(0, "shape")
    if function is None or shape is None or not isinstance(operand, cst.Call):
        return None
    passed = passed_by(operand, function, there)
    sides = [
        integer_value(passed.get(side.value, side) if isinstance(side, cst.Name) else side)
        for side in elements_or_self(shape)
    ]
    known = [side for side in sides if side is not None]
    return math.prod(known) if len(known) == len(sides) else None


def _maker(
    created: Place, operand: cst.BaseExpression, ctx: Context
) -> tuple[cst.Call, Context] | None:
    """Return the call that makes an array, below what leaves its size alone, and its file.

    What it is computed of is made for nothing else, or may be what is put itself.
    """
    for _ in range(_MOST_STEPS):
        node, there = ctx.node_at(created) or (None, ctx)
        if node is None or not isinstance(node, cst.BaseExpression):
            return None
        made = creator_of(node, there)
        if isinstance(made, cst.Call):
            return made, there
        only = values.sole(there.flow.value(made))
        if not isinstance(made, cst.Name) or not isinstance(only, values.Array):
            return None
        if (
            only.committed
            or only.origin is None
            or not (_is_read_once(only, made, there) or _is_only_put(only, operand, ctx))
        ):
            return None
        created = only.origin.created
    return None


def _is_read_once(array: Array, read: cst.Name, ctx: Context) -> bool:
    """Return whether nothing becomes of an array but that one expression reads it."""
    lives = ctx.flow.lifetimes(array, read)
    place = ctx.flow.module.place(read)
    return bool(lives) and all(each.uses == {place} for each in lives)


def _is_only_put(array: Array, operand: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an array is put once, and nothing else is done with it."""
    lives = ctx.flow.lifetimes(array, operand)
    return bool(lives) and all(
        len(each.uses) == 1 and all(_puts(use, ctx) for use in each.uses) and _is_new(each, ctx)
        for each in lives
    )


def _puts(use: Place, ctx: Context) -> bool:
    """Return whether an expression is what a call puts, or a tree of which it puts each leaf."""
    node, there = ctx.node_at(use) or (None, ctx)
    argument = None if node is None else there.parent(node)
    call = there.parent(argument) if isinstance(argument, cst.Arg) else None
    if not isinstance(call, cst.Call):
        return False
    given = Arguments(call)
    if there.is_call(call, "jax.device_put"):
        return given.get(0, "x") is node and given.get(1, "device") is not None
    return target_of_leaves(call, there) is not None and given.positional[1] is node


def _is_new(life: Lifetime, ctx: Context) -> bool:
    """Return whether no loop reads an array that was made before it: each iteration may put it
    to another device.
    """
    for place in life.held:
        node, there = ctx.node_at(place) or (None, ctx)
        if not isinstance(node, cst.Name) or not _is_array(there.flow.value(node)):
            continue
        if is_in_test(node, there) or _is_from_before(node, there):
            return False
    return True


def _is_array(held: Value) -> bool:
    return any(isinstance(atom, values.Array) and not atom.committed for atom in held)


def _is_from_before(name: cst.Name, ctx: Context) -> bool:
    """Return whether a name that a loop, or a function within, reads is bound before it."""
    owner = ctx.names.owner(name.value, ctx.names.scope(name))
    if owner is not None and _function_of(owner.node, ctx) is not ctx.function(name):
        return True
    bindings = [each.node for each in ctx.names.bindings(name) if ctx.tree.contains(each.node)]
    for around in ctx.ancestors(name):
        if isinstance(around, cst.FunctionDef | cst.Lambda | cst.ClassDef):
            return False
        if isinstance(around, _loops()) and not any(
            ctx.tree.is_inside(each, around) for each in bindings
        ):
            return True
    return False


def _function_of(scope: cst.CSTNode, ctx: Context) -> cst.CSTNode | None:
    """Return the function that a scope is, or is in."""
    is_function = isinstance(scope, cst.FunctionDef | cst.Lambda)
    return scope if is_function else ctx.function(scope)


@functools.cache
def _loops() -> tuple[type[cst.CSTNode], ...]:
    """Return what runs what is in it repeatedly: LibCST is loaded where that is asked."""
    return (cst.For, cst.While, cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)
