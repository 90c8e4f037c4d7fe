"""Specs that a program takes from a table, one after the other or the one that fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.rules.commitment.putting import TREE_MAPS
from placement_lint.semantic.loops import loop_around, runs_in_each_iteration
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    from placement_lint.placement.domain.sharding import Spec
    from placement_lint.rules.context import Context

_SPECS = frozenset({"jax.P", "jax.sharding.PartitionSpec"})
_VIEWS = frozenset({"items", "values"})


def meets_each(call: cst.Call, ctx: Context) -> bool:
    """Return whether a call is given all specs of a table in turn: what one may be, one surely is.

    `{name: NamedSharding(mesh, spec) for name, spec in SPECS.items()}`, or the same in a loop.
    """
    spec = Arguments(call).get(1, "spec")
    if not isinstance(spec, cst.Name):
        return False
    tree = _mapped_over(call, spec.value, ctx)
    if tree is not None:
        return _is_closed(tree, ctx)
    loop = loop_around(call, ctx)
    if loop is None or isinstance(loop, cst.While):
        return False
    clause = loop if isinstance(loop, cst.For) else loop.for_in
    targets = (clause.target, *ctx.tree.every(cst.Name, below=clause.target))
    is_target = any(isinstance(each, cst.Name) and each.value == spec.value for each in targets)
    return is_target and _is_closed(clause.iter, ctx) and runs_in_each_iteration(call, loop, ctx)


def _mapped_over(call: cst.Call, name: str, ctx: Context) -> cst.BaseExpression | None:
    """Return the tree of which a call is given each leaf, as `jax.tree.map(lambda spec: …, tree)`
    does.
    """
    function = ctx.parent(call)
    given = ctx.parent(function) if isinstance(function, cst.Lambda) else None
    mapping = None if given is None else ctx.parent(given)
    if not isinstance(function, cst.Lambda) or not isinstance(mapping, cst.Call):
        return None
    parameters = [each.name.value for each in function.params.params]
    arguments = Arguments(mapping)
    trees = arguments.positional[1:]
    is_mapped = ctx.is_call(mapping, *TREE_MAPS) and arguments.get(0, "f") is function
    return trees[0] if is_mapped and parameters == [name] and len(trees) == 1 else None


def _is_closed(iterated: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether all is known that a loop takes one after the other."""
    from placement_lint.placement.domain.values import Mapping, Sequence, sole

    function = iterated.func if isinstance(iterated, cst.Call) else None
    if isinstance(function, cst.Attribute) and function.attr.value in _VIEWS:
        iterated = function.value
    table = sole(ctx.flow.value(iterated))
    if isinstance(table, Mapping):
        return bool(table.items) and not table.element
    return isinstance(table, Sequence) and bool(table.items)


def leaves_some_out(call: cst.Call, ctx: Context) -> bool:
    """Return whether a loop around a call may choose for which rows of a table it runs.

    A row that fits a name, `if re.search(pattern, name):`, is what the table is for.
    """
    spec = Arguments(call).get(1, "spec")
    loop = loop_around(call, ctx)
    while loop is not None:
        whole = loop if isinstance(loop, cst.For | cst.While) else loop.for_in
        tests = [each.test for each in ctx.tree.every(cst.If, cst.CompIf, below=whole)]
        parts = [part for test in tests for part in (test, *ctx.tree.descendants(test))]
        named = [part.value for part in parts if isinstance(part, cst.Name)]
        if isinstance(spec, cst.Name) and spec.value in named:
            return True
        if any(isinstance(part, cst.Comparison) for part in parts):
            return True
        loop = loop_around(loop, ctx)
    return False


def is_of_table(spec: Spec, ctx: Context) -> bool:
    """Return whether a spec is written in a table of several, of which a program takes one.

    `[("attention/.*", P("data")), ("mlp/.*", P("model"))]`: each is there to be taken.
    """
    placed = ctx.node_at(spec.made)
    if placed is None:
        return False
    made, there = placed
    table: cst.CSTNode | None = None
    for around in there.ancestors(made):
        if isinstance(around, cst.Tuple | cst.List | cst.Dict):
            table = around
        elif not isinstance(around, cst.Element | cst.DictElement):
            break
    bound = None if table is None else there.parent(table)
    if table is None or not isinstance(bound, cst.Assign | cst.AnnAssign | cst.Return):
        return False
    calls = there.tree.every(cst.Call, below=table)
    return sum(there.called(call) in _SPECS for call in calls) > 1
