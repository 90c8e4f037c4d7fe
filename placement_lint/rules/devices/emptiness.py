"""Where code asks whether a list of devices is empty."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.enclosing import is_caught
from placement_lint.semantic.followed import bound_before
from placement_lint.syntax.calls import integer_value
from placement_lint.syntax.collection_methods import ADDING

if TYPE_CHECKING:
    from placement_lint.rules.context import Context

_MOST_USES = 8
"""Uses of a variable that are looked at after it is assigned, where it is assigned again."""
_MOST_OF_ALL = 64
"""Uses of a variable beyond which it is taken to be asked for emptiness."""
_COPIES = tuple(f"builtins.{name}" for name in "frozenset iter list set sorted tuple".split())
_FAILURES = frozenset(
    f"builtins.{name}"
    for name in (
        *("BaseException", "Exception", "IndexError", "KeyError", "LookupError", "NameError"),
        *("RuntimeError", "StopIteration", "TypeError", "UnboundLocalError", "ValueError"),
    )
)
"""What taking something of an empty list may raise, with what catches it."""


@dataclass(frozen=True)
class EmptinessQuestion:
    """A list of devices whose truth or length is looked at."""

    is_truth_only: bool
    """Nothing but its truth: a comparison does as well."""
    is_bound: bool = False
    """It has a name there, or something else comes in its place: it is used as well."""


def question_of(node: cst.CSTNode, ctx: Context) -> EmptinessQuestion | None:
    """Return how an expression is tested for emptiness, if it is."""
    is_asked, is_bound = False, False
    child, parent = node, ctx.parent(node)
    while isinstance(parent, cst.BooleanOperation | cst.NamedExpr):
        is_bound |= isinstance(parent, cst.NamedExpr)
        is_asked |= isinstance(parent, cst.BooleanOperation) and child is parent.left
        child, parent = parent, ctx.parent(parent)
    if isinstance(parent, cst.CompFor) and child is parent.iter and child is node:
        return _question_of_parts(parent, ctx)
    if parent is not None and is_condition(parent, child, ctx):
        return EmptinessQuestion(is_truth_only=not is_bound, is_bound=is_bound)
    if is_asked or (child is node and parent is not None and _is_counted(parent, child, ctx)):
        return EmptinessQuestion(is_truth_only=False, is_bound=is_asked)
    return None


def _question_of_parts(drawing: cst.CompFor, ctx: Context) -> EmptinessQuestion | None:
    """Return how what a comprehension makes of the list is tested: `any(… for d in devices)`."""
    made = ctx.parent(drawing)
    argument = None if made is None else ctx.parent(made)
    if isinstance(made, cst.ListComp | cst.SetComp) and argument is not None:
        asked = is_condition(argument, made, ctx) or _is_counted(argument, made, ctx)
        return EmptinessQuestion(is_truth_only=False) if asked else None
    is_any = isinstance(argument, cst.Arg) and ctx.is_call(ctx.parent(argument), "builtins.any")
    return EmptinessQuestion(is_truth_only=False) if is_any else None


def question_of_variable(call: cst.Call, ctx: Context) -> EmptinessQuestion | None:
    """Return how a variable that holds a list, and nothing else there, is tested for emptiness.

    How many there are is no such test: that is asked by code that needs them.
    """
    statement = ctx.parent(call)
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0].target
    if not isinstance(target, cst.Name):
        return None
    uses = ctx.names.uses(target.value, ctx.names.scope(target))
    is_only = ctx.names.sole_value(target) is call
    if not is_only:
        after = bisect_right(uses, ctx.tree.index(target), key=ctx.tree.index)
        uses = uses[after : after + _MOST_USES]
    for node in uses:
        is_it = is_only or bound_before(node, ctx) is call
        if node is not target and is_it and is_asked_for_emptiness(node, ctx):
            return EmptinessQuestion(is_truth_only=False)
    return None


def is_asked_for_emptiness(name: cst.Name, ctx: Context) -> bool:
    argument = ctx.parent(name)
    if not isinstance(argument, cst.Arg) or not ctx.is_call(ctx.parent(argument), "builtins.len"):
        return question_of(name, ctx) is not None
    length = ctx.parent(argument)
    compared = None if length is None else ctx.parent(length)
    if isinstance(compared, cst.ComparisonTarget):
        compared = ctx.parent(compared)
    if isinstance(compared, cst.Comparison) and len(compared.comparisons) == 1:
        operator, right = compared.comparisons[0].operator, compared.comparisons[0].comparator
        on_the_right = right is length
        bound = integer_value(compared.left if on_the_right else right)
        with_one = isinstance(
            operator,
            cst.GreaterThan | cst.LessThanEqual
            if on_the_right
            else cst.LessThan | cst.GreaterThanEqual,
        )
        return bound == 0 or (bound == 1 and with_one)
    return length is not None and compared is not None and is_condition(compared, length, ctx)


def is_condition(parent: cst.CSTNode, child: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a node uses nothing of its child but the truth."""
    if isinstance(parent, cst.Assert | cst.CompIf | cst.If | cst.IfExp | cst.While):
        return child is parent.test
    if isinstance(parent, cst.UnaryOperation):
        return isinstance(parent.operator, cst.Not)
    if isinstance(parent, cst.MatchCase):
        return child is parent.guard
    if isinstance(parent, cst.GeneratorExp | cst.ListComp | cst.SetComp):
        # What `any` and `all` ask of each.
        argument = ctx.parent(parent) if child is parent.elt else None
        return isinstance(argument, cst.Arg) and ctx.is_call(
            ctx.parent(argument), "builtins.all", "builtins.any"
        )
    return isinstance(parent, cst.Arg) and ctx.is_call(ctx.parent(parent), "builtins.bool")


def _is_counted(parent: cst.CSTNode, child: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a list is counted, or compared with the empty list."""
    if isinstance(parent, cst.Arg):
        return not parent.star and ctx.is_call(ctx.parent(parent), "builtins.any", "builtins.len")
    if isinstance(parent, cst.ComparisonTarget):
        comparison = ctx.parent(parent)
        return isinstance(comparison, cst.Comparison) and _is_empty_list(comparison.left)
    return (
        isinstance(parent, cst.Comparison)
        and child is parent.left
        and isinstance(parent.comparisons[0].operator, cst.Equal | cst.NotEqual)
        and _is_empty_list(parent.comparisons[0].comparator)
    )


def _is_empty_list(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.List | cst.Tuple) and not node.elements


# -- what is done where there are none --------------------------------------------------------


def goes_on_without(devices: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether code may go on where a list of devices is empty, and do something else then.

    It asks whether there are any, has something else in their place, or catches what is raised.
    """
    node: cst.CSTNode = devices
    while True:
        argument = ctx.parent(node)
        call = ctx.parent(argument) if isinstance(argument, cst.Arg) else None
        if not isinstance(call, cst.Call) or not ctx.is_call(call, *_COPIES):
            break
        node = call
    if is_caught(devices, ctx, _FAILURES) or question_of(node, ctx) is not None:
        return True
    parent = ctx.parent(node)
    if isinstance(parent, cst.Arg):
        call = ctx.parent(parent)
        return isinstance(call, cst.Call) and _has_default(call, ctx)
    if isinstance(parent, cst.NamedExpr):
        return _is_doubted(parent.target, ctx)
    if isinstance(parent, cst.AnnAssign):
        return _is_doubted(parent.target, ctx)
    return isinstance(parent, cst.Assign) and any(
        _is_doubted(each.target, ctx) for each in parent.targets
    )


def _has_default(call: cst.Call, ctx: Context) -> bool:
    """Return whether a call has a value for where there is none: `next(devices, None)`."""
    is_given = len(call.args) > 1 and ctx.is_call(call, "builtins.next")
    return is_given or any(
        argument.keyword is not None and argument.keyword.value == "default"
        for argument in call.args
    )


def _is_doubted(target: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a variable is asked whether anything is in it, or may turn out to be empty."""
    if not isinstance(target, cst.Name):
        return False
    uses = ctx.names.uses(target.value, ctx.names.scope(target))
    return len(uses) > _MOST_OF_ALL or any(
        is_asked_for_emptiness(use, ctx) or is_caught(use, ctx, _FAILURES) or _is_drawn(use, ctx)
        for use in uses
        if use is not target
    )


def _is_drawn(use: cst.Name, ctx: Context) -> bool:
    argument = ctx.parent(use)
    call = ctx.parent(argument) if isinstance(argument, cst.Arg) else None
    return isinstance(call, cst.Call) and _has_default(call, ctx)


def loop_goes_on_without(loop: cst.For, kept: cst.If, ctx: Context) -> bool:
    """Return whether code may go on where a loop keeps no device by a statement of its body.

    Or where what the loop leaves in its variable is read.
    """
    if loop.orelse is not None or is_caught(loop, ctx, _FAILURES):
        return True
    if any(isinstance(each, cst.NamedExpr) for each in ctx.tree.descendants(kept.test)):
        return True
    if isinstance(loop.target, cst.Name) and _is_left_behind(loop.target, loop, ctx):
        return True
    return any(_is_optional(node, loop, ctx) for node in ctx.tree.descendants(kept.body))


def _is_optional(node: cst.CSTNode, loop: cst.For, ctx: Context) -> bool:
    """Return whether what a statement of a loop keeps may be missing after the loop."""
    if isinstance(node, cst.Return):
        return not isinstance(_following(loop, ctx), cst.Raise)
    if isinstance(node, cst.Assign):
        return not all(_is_bound_here_alone(each.target, ctx) for each in node.targets)
    if isinstance(node, cst.AnnAssign):
        return node.value is not None and not _is_bound_here_alone(node.target, ctx)
    if isinstance(node, cst.AugAssign):
        return True
    if isinstance(node, cst.Attribute) and node.attr.value in ADDING:
        return _is_doubted(node.value, ctx)
    return False


def _following(loop: cst.For, ctx: Context) -> cst.CSTNode | None:
    """Return the small statement that follows a loop in its block."""
    block = ctx.parent(loop)
    body = list(block.body) if isinstance(block, cst.IndentedBlock | cst.Module) else []
    after = body[body.index(loop) + 1 :][:1] if loop in body else []
    line = after[0] if after else None
    return line.body[0] if isinstance(line, cst.SimpleStatementLine) else None


def _is_bound_here_alone(target: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a variable has no value but that of one assignment."""
    return isinstance(target, cst.Name) and len(ctx.names.bindings(target)) == 1


def _is_left_behind(target: cst.Name, loop: cst.For, ctx: Context) -> bool:
    """Return whether what a loop leaves in its variable may be read."""
    scope = ctx.names.scope(target)
    owner = ctx.names.owner(target.value, scope)
    if owner is not scope or (
        scope.parent is None and ctx.module.run.importer(ctx.module.path) is not None
    ):
        return True
    uses = ctx.names.uses(target.value, scope)
    return len(uses) > _MOST_OF_ALL or any(
        not ctx.tree.is_inside(use, loop) and not _is_bound_again(use, ctx) for use in uses
    )


def _is_bound_again(use: cst.Name, ctx: Context) -> bool:
    """Return whether a name is bound or deleted, or is that of another loop, in its body."""
    parent = ctx.parent(use)
    if isinstance(parent, cst.AssignTarget | cst.Del | cst.For | cst.CompFor):
        return not isinstance(parent, cst.For | cst.CompFor) or parent.target is use
    return any(
        isinstance(each, cst.For)
        and isinstance(each.target, cst.Name)
        and each.target.value == use.value
        and not ctx.tree.is_inside(use, each.iter)
        for each in ctx.ancestors(use)
    )
