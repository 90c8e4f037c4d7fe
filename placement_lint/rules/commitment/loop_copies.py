"""Whether a use copies an array on every iteration, or only before something else comes in
its place.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain import contents, program_values, values
from placement_lint.semantic.enclosing import ancestors_in_function
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.placement.domain.record import Use
    from placement_lint.placement.domain.values import Array
    from placement_lint.rules.context import Context


def copied_once(use: Use, ctx: Context) -> set[Array]:
    """Return the arrays, of those that a use copies, that it is given once: `params =
    step(params)`.

    What comes after that was computed of them, and is not copied; or is nothing that is known.
    """
    return {*ctx.flow.replaced(use), *_rebound(use, ctx)}


def copied_in_first_iteration(use: Use, ctx: Context) -> set[Array]:
    """Return those of them that the first iteration of a loop copies, and none after it."""
    nodes = ctx.tree.nodes
    loops = list(loops_around(ctx.tree.nodes[use.node], ctx))
    first = _rebound(use, ctx)
    for array, results in ctx.flow.replaced(use).items():
        made = [nodes[place.node] for place in results if place.module == ctx.module.path]
        if any(ctx.tree.is_inside(result, loop) for result in made for loop in loops):
            first.add(array)
    return first


class ItemsInLoops:
    """The trees that loops set items of: `shadow[name] = decay * shadow[name] + new`.

    Such a loop copies each item once, whatever it may be after that.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._known: dict[cst.CSTNode, set[str]] = {}

    def is_part_of(self, node: cst.CSTNode) -> bool:
        """Return whether an expression is an item of such a tree, in the loop that sets it."""
        names = set(_names(node))
        for loop in loops_around(node, self._ctx):
            if isinstance(loop, cst.For) and names & self._names_below(loop.target):
                names |= self._names_below(loop.iter)
            if names & self._set_in(loop):
                return True
        return False

    def _names_below(self, node: cst.CSTNode) -> set[str]:
        below = self._ctx.tree.every(cst.Name, cst.Attribute, below=node)
        return {name for each in below if (name := dotted(each))}

    def _set_in(self, loop: cst.CSTNode) -> set[str]:
        known = self._known.get(loop)
        if known is None:
            known = self._known[loop] = {
                name
                for target in targets_in(loop, self._ctx)
                if isinstance(target, cst.Subscript)
                for name in _names(target)
            }
        return known


def _rebound(use: Use, ctx: Context) -> set[Array]:
    """Return the arrays from outside of a loop whose name is bound to something else in it.

    Or the name of the tree that they are of: `s` of `s["w"]` and `s.w`. A loop that binds the name
    itself, `for x in arrays: x = f(x)`, goes on with the next array, wherever that is.
    """
    names = set(_names(ctx.tree.nodes[use.node]))
    if use.always or not names:
        return set()
    found: set[Array] = set()
    for loop in loops_around(ctx.tree.nodes[use.node], ctx):
        if isinstance(loop, cst.For) and names & {*map(dotted, elements_of([loop.target]))}:
            break
        stored = [ctx.flow.value(bound) for name in names for bound in _stored_in(loop, name, ctx)]
        if stored and not any(map(_has_other, stored)):
            inside = {array for array in use.moved if is_made_in(array, loop, ctx)}
            found |= use.moved.difference(inside, *map(contents.arrays, stored))
    return found


def _names(node: cst.CSTNode) -> Iterator[str]:
    """Yield the name that an expression is, and those of what it is a part of."""
    while True:
        if name := dotted(node):
            yield name
        if not isinstance(node, cst.Attribute | cst.Subscript):
            return
        node = node.value


def _has_other(held: values.Value) -> bool:
    """Return whether there may be arrays in a value beside those that are seen in it."""
    return any(isinstance(atom, program_values.Instance) for atom in held)


def is_made_in(array: Array, loop: cst.CSTNode, ctx: Context) -> bool:
    made = None if array.origin is None else array.origin.created
    return (
        made is not None
        and made.module == ctx.module.path
        and ctx.tree.is_inside(ctx.tree.nodes[made.node], loop)
    )


def loops_around(node: cst.CSTNode, ctx: Context) -> Iterator[cst.For | cst.While]:
    """Yield the loops of the same function that execute an expression again and again."""
    for child, around in ancestors_in_function(node, ctx):
        if isinstance(around, cst.For | cst.While) and child is not getattr(around, "iter", None):
            yield around


def _stored_in(loop: cst.CSTNode, name: str, ctx: Context) -> Iterator[cst.BaseExpression]:
    """Yield what assignments in a loop bind of a name."""
    stored = ctx.module.stored.get(name, [])
    top = ctx.tree.index(loop)
    for number in range(bisect_left(stored, top, key=ctx.tree.index), len(stored)):
        if not ctx.tree.is_inside(stored[number], loop):
            return
        yield stored[number]


def targets_in(loop: cst.CSTNode, ctx: Context) -> Iterator[cst.BaseExpression]:
    """Yield what the assignments in a loop bind, tuples by element."""
    return elements_of(
        [
            *(bound.target for bound in ctx.tree.every(cst.AssignTarget, below=loop)),
            *(bound.target for bound in ctx.tree.every(cst.AugAssign, below=loop)),
            *(bound.target for bound in ctx.tree.every(cst.AnnAssign, below=loop)),
        ]
    )


def elements_of(targets: Iterable[cst.BaseExpression]) -> Iterator[cst.BaseExpression]:
    """Yield what assignments bind, tuples by element."""
    pending = [*targets]
    while pending:
        target = pending.pop()
        if isinstance(target, cst.Tuple | cst.List):
            pending += [element.value for element in target.elements]
        else:
            yield target
