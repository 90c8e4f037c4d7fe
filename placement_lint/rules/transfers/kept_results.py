"""What becomes of a value that the host reads in a loop: kept, shown, or needed to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.rules.transfers.tested_names import names_tested
from placement_lint.rules.transfers.written_files import is_file
from placement_lint.syntax.dotted import dotted, whole_of

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.rules.transfers.jitted_calls import Loop

    Around = Loop | cst.FunctionDef

CONVERTING = frozenset({
    "builtins.float", "builtins.int", "jax.device_get", "numpy.array", "numpy.asarray",
})  # fmt: skip
_COLLECTING_METHODS = frozenset(
    "add add_scalars log_dict log_metric log_scalar measure observe record report track update "
    "write_metrics write_scalar write_scalars".split()
)
"""What keeps a value too, in an object that decides nothing in the loop."""
_KEEPING_METHODS = frozenset(
    "add_scalar append debug extend info log log_metrics print scalar set_description set_postfix "
    "warning write writerow".split()
)
_SHOWING = frozenset({
    "builtins.print", "mlflow.log_metric", "mlflow.log_metrics", "rich.print", "swanlab.log",
    "tqdm.tqdm.write", "wandb.log",
})  # fmt: skip
_PASSING_ON = frozenset({
    "builtins.dict", "builtins.float", "builtins.int", "builtins.round", "builtins.str",
    "numpy.array", "numpy.asarray", "numpy.max", "numpy.mean", "numpy.min", "numpy.sum",
})  # fmt: skip
_MORE_OF_NUMPY = frozenset(
    "astype copy flatten item max mean min ravel round squeeze std sum tolist".split()
)
"""Methods of what was read, which is an array of NumPy then."""


def is_kept(node: cst.CSTNode, loop: Around, ctx: Context, depth: int = 3) -> bool:
    """Return whether what an expression gives is surely only kept or shown."""
    if depth == 0:
        return False
    child = node
    for parent in ctx.ancestors(node):
        if parent is loop and not isinstance(parent, cst.For | cst.While):
            return isinstance(parent, cst.ListComp | cst.DictComp)
        if isinstance(parent, cst.Expr):
            return _keeps(child, ctx)
        if isinstance(parent, cst.Call) and parent.func is not child:
            if _keeps(parent, ctx) or _collects(parent, loop, ctx):
                return isinstance(ctx.parent(parent), cst.Expr)
            if ctx.called(parent) not in _PASSING_ON:
                return False
        elif isinstance(parent, cst.Attribute):
            if parent.attr.value not in _MORE_OF_NUMPY:
                return False
        elif isinstance(parent, cst.AugAssign):
            return _target_is_kept(parent.target, parent, loop, ctx, depth)
        elif isinstance(parent, cst.Assign):
            return all(
                _target_is_kept(each.target, parent, loop, ctx, depth) for each in parent.targets
            )
        elif isinstance(parent, cst.Subscript) and child is not parent.value:
            # A mask takes a part of what was read with it; an index may choose what to do next.
            if ctx.called(parent.value) not in CONVERTING:
                return False
        elif not isinstance(
            parent,
            cst.Arg
            | cst.BinaryOperation
            | cst.Call
            | cst.Comparison
            | cst.ComparisonTarget
            | cst.Dict
            | cst.DictComp
            | cst.DictElement
            | cst.Element
            | cst.FormattedString
            | cst.FormattedStringExpression
            | cst.Index
            | cst.List
            | cst.ListComp
            | cst.Subscript
            | cst.SubscriptElement
            | cst.Tuple,
        ):
            return False
        child = parent
    return False


def _keeps(call: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a call only stores or shows what it is given."""
    if not isinstance(call, cst.Call):
        return False
    name = ctx.called(call)
    if name is not None:
        return name in _SHOWING or name.startswith(("absl.logging.", "logging."))
    return isinstance(call.func, cst.Attribute) and call.func.attr.value in _KEEPING_METHODS


def _collects(call: cst.Call, loop: Around, ctx: Context) -> bool:
    """Return whether a call keeps what it is given in an object that decides nothing in the loop:
    all else that the loop does with it is to call it as a statement, or in one.
    """
    if not isinstance(call.func, cst.Attribute) or ctx.called(call) is not None:
        return False
    is_collecting = call.func.attr.value in _COLLECTING_METHODS
    return is_collecting and is_only_called(call.func.value, loop, ctx)


def is_only_called(receiver: cst.BaseExpression, loop: Around, ctx: Context) -> bool:
    """Return whether all that a loop does with an object is to call it, in statements."""
    name = dotted(receiver)
    if name is None:
        return False
    head = name.partition(".")[0]
    uses = (
        each
        for each in ctx.tree.every(cst.Attribute, cst.Name, below=loop)
        if dotted(each) == name and not isinstance(ctx.parent(each), cst.NameItem)
    )
    return head not in names_tested(loop, ctx) - {"self"} and all(
        isinstance(ctx.statement(each), cst.Expr) for each in uses
    )


def _target_is_kept(
    target: cst.BaseExpression,
    statement: cst.CSTNode,
    loop: Around,
    ctx: Context,
    depth: int,
) -> bool:
    """Return whether what is assigned to a target decides nothing in the loop."""
    if isinstance(target, cst.Subscript):
        return isinstance(target.value, cst.Name) and not is_file(target.value, ctx)
    if isinstance(target, cst.Attribute):
        return _attribute_is_kept(target, statement, loop, ctx, depth)
    if not isinstance(target, cst.Name):
        return False
    owner = ctx.names.owner(target.value, ctx.names.scope(target))
    return all(
        is_kept(each, loop, ctx, depth - 1)
        for each in ctx.tree.descendants(loop)
        if isinstance(each, cst.Name)
        and each.value == target.value
        and ctx.names.owner(each.value, ctx.names.scope(each)) is owner
        and not ctx.tree.is_inside(each, statement)
        and not is_target(each, ctx)
    )


def _attribute_is_kept(
    target: cst.Attribute, statement: cst.CSTNode, loop: Around, ctx: Context, depth: int
) -> bool:
    """Return whether what a method adds to `self.total` decides nothing in the method.

    What a loop itself sets, others may look at meanwhile.
    """
    name, whole = dotted(target), whole_of(target)
    if not isinstance(loop, cst.FunctionDef) or not name:
        return False
    if not isinstance(whole, cst.Name) or _is_tested(whole.value, loop, ctx):
        return False
    return all(
        is_kept(each, loop, ctx, depth - 1)
        for each in ctx.tree.every(cst.Attribute, below=loop)
        if dotted(each) == name
        and not ctx.tree.is_inside(each, statement)
        and not is_target(each, ctx)
    )


def _is_tested(name: str, loop: Around, ctx: Context) -> bool:
    """Return whether a loop tests an object, perhaps by a method, and not just a part of it."""
    for each in ctx.tree.every(cst.If, cst.IfExp, cst.While, cst.Assert, below=loop):
        for part in ctx.tree.every(cst.Name, below=each.test):
            parent = ctx.parent(part)
            if part.value != name or (isinstance(parent, cst.Attribute) and parent.attr is part):
                continue
            around = None if parent is None else ctx.parent(parent)
            is_part = isinstance(parent, cst.Attribute) and parent.value is part
            if not is_part or (isinstance(around, cst.Call) and around.func is parent):
                return True
    return False


def is_target(name: cst.Name | cst.Attribute, ctx: Context) -> bool:
    """Return whether a name is assigned to here: by `+=`, or in an unpacking."""
    child: cst.CSTNode = name
    for parent in ctx.ancestors(name):
        if isinstance(parent, cst.AugAssign):
            return parent.target is child
        if isinstance(parent, cst.AssignTarget):
            return True
        if not isinstance(parent, cst.Tuple | cst.List | cst.Element):
            return False
        child = parent
    return False
