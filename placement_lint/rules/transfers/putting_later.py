"""Arrays that one statement makes and a later one puts elsewhere."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement import values
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.rules.module import ModuleFacts


def made_before(operand: cst.Name, put: cst.Call, ctx: Context) -> cst.Call | None:
    """Give the call that makes what a name stands for, if being put is all that becomes of it.

    It is assigned to the name in the same block, nothing reads the name between, and afterwards
    the name stands for what was put, or is not used.
    """
    made = _reaching(operand, ctx)
    line = None if made is None else ctx.statement_line(made)
    end = ctx.statement_line(put)
    if made is None or line is None or end is None:
        return None
    assignment, scope = ctx.statement(made), ctx.names.scope(operand)
    if (
        ctx.parent(made) is not assignment
        or not _assigns(assignment, operand.value)
        or ctx.parent(line) is not _block_around(end, ctx)
        or ctx.names.scope(made) is not scope
    ):
        return None
    rebinds = _assigns(ctx.statement(put), operand.value)
    first, last = ctx.tree.index(line), ctx.tree.ends[ctx.tree.index(end)]
    uses = ctx.names.uses(operand.value, scope)
    before, after = (bisect_left(uses, place, key=ctx.tree.index) for place in (first, last))
    if any(use is not operand and not _is_target(use, ctx) for use in uses[before:after]):
        return None
    is_read_elsewhere = before > 0 or after < len(uses)
    if is_read_elsewhere and (not rebinds or _first_from_inside(operand, ctx) < first):
        return None
    return made


def is_put_later(made: cst.Call, ctx: Context) -> bool:
    """Tell whether being put is all that becomes of what a call makes and a statement assigns."""
    statement = ctx.parent(made)
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0].target
    if not isinstance(target, cst.Name):
        return False
    uses = ctx.names.uses(target.value, ctx.names.scope(made))
    after = bisect_left(uses, ctx.tree.index(made), key=ctx.tree.index)
    # What is put is the next use, or the next but one where the name is assigned anew.
    for use in uses[after : after + 2]:
        argument = ctx.parent(use)
        put = ctx.parent(argument) if isinstance(argument, cst.Arg) else None
        if (
            isinstance(put, cst.Call)
            and ctx.is_call(put, "jax.device_put")
            and Arguments(put).get(0, "x") is use
            and len(put.args) > 1
            and made_before(use, put, ctx) is made
        ):
            return True
    return False


def _is_target(use: cst.Name, ctx: Context) -> bool:
    return isinstance(ctx.parent(use), cst.AssignTarget | cst.AnnAssign)


def _first_from_inside(name: cst.Name, ctx: Context) -> int:
    """Give the place of the first use of a variable in another scope than this one."""
    scope = ctx.names.scope(name)
    key = (id(ctx.names.owner(name.value, scope)), name.value, id(scope))
    known = ctx.module.fact(_first_uses)
    if key not in known:
        known[key] = next(
            (
                ctx.tree.index(use)
                for use in ctx.names.uses(name.value, scope)
                if ctx.names.scope(use) is not scope
            ),
            len(ctx.tree.nodes),
        )
    return known[key]


def _first_uses(_facts: ModuleFacts) -> dict[tuple[int, str, int], int]:
    """Make the store of one file."""
    return {}


def _reaching(name: cst.Name, ctx: Context) -> cst.Call | None:
    """Give the one call that made all that a name may stand for."""
    pending = list(ctx.flow.value(name))
    places = set()
    while pending:
        atom = pending.pop()
        if isinstance(atom, values.Array) and atom.origin is not None:
            created = atom.origin.created
            places.add(created.node if created.module == ctx.flow.module.name else None)
        elif isinstance(atom, values.Mapping) and atom.element:
            pending += atom.element
        else:
            return None
    (place,) = places if len(places) == 1 else {None}
    made = None if place is None else ctx.tree.nodes[place]
    return made if isinstance(made, cst.Call) else None


def _assigns(statement: cst.CSTNode, name: str) -> bool:
    """Tell whether a statement assigns to a name, and to nothing else."""
    if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        target = statement.targets[0].target
    elif isinstance(statement, cst.AnnAssign):
        target = statement.target
    else:
        return False
    return isinstance(target, cst.Name) and target.value == name


def _block_around(line: cst.CSTNode, ctx: Context) -> cst.CSTNode | None:
    """Give the block that a line is in, or its `with` statements: what always runs with it."""
    block = ctx.parent(line)
    while block is not None and isinstance(around := ctx.parent(block), cst.With):
        block = ctx.parent(around)
    return block
