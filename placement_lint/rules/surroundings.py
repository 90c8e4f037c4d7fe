"""What stands around a node: whether its failure is expected, or caught."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context
    from placement_lint.rules.module import ModuleFacts

_EXPECTS_FAILURE = (
    "pytest.raises",
    "pytest.warns",
    "pytest.deprecated_call",
    "unittest.TestCase.assertRaises",
)
_ASSERTING_METHODS = frozenset({
    "assertRaises", "assertRaisesRegex", "assertWarns", "assertWarnsRegex",
})  # fmt: skip


def failure_is_expected(node: cst.CSTNode, ctx: Context) -> bool:
    """Tell whether a statement is there to fail: in `pytest.raises`, or in a test's `try`."""
    if is_asserted_to_fail(node, ctx):
        return True
    return is_in_test(node, ctx) and any(True for _ in enclosing_tries(node, ctx))


def is_in_test(node: cst.CSTNode, ctx: Context) -> bool:
    """Tell whether a node belongs to a test: by the file, or by a function around it."""
    return ctx.module.is_test or any(
        isinstance(ancestor, cst.FunctionDef) and ancestor.name.value.startswith("test")
        for ancestor in ctx.ancestors(node)
    )


def is_asserted_to_fail(node: cst.CSTNode, ctx: Context) -> bool:
    """Tell whether a node stands in `with pytest.raises(…)` or `with self.assertRaises(…)`."""
    return any(
        ctx.is_call(item.item, *_EXPECTS_FAILURE) or _is_asserting_method(item.item)
        for item in ctx.with_items(node)
    )


def _is_asserting_method(context: cst.BaseExpression) -> bool:
    return (
        isinstance(context, cst.Call)
        and isinstance(context.func, cst.Attribute)
        and context.func.attr.value in _ASSERTING_METHODS
    )


def enclosing_tries(node: cst.CSTNode, ctx: Context) -> Iterator[cst.Try | cst.TryStar]:
    """Give every `try` whose body a node stands in, innermost first, up to its function."""
    for child, ancestor in ancestors_in_function(node, ctx):
        if isinstance(ancestor, cst.Try | cst.TryStar) and child is ancestor.body:
            yield ancestor


def ancestors_in_function(
    node: cst.CSTNode, ctx: Context
) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """Give each ancestor with its child on the way, up to the function whose body holds the node.

    Decorators and default values belong to what is around the function.
    """
    child = node
    for ancestor in ctx.ancestors(node):
        if isinstance(ancestor, cst.FunctionDef | cst.Lambda) and child is ancestor.body:
            return
        yield child, ancestor
        child = ancestor


def catches(
    handler: cst.ExceptHandler | cst.ExceptStarHandler, ctx: Context, exceptions: frozenset[str]
) -> bool:
    """Tell whether an `except` catches one of these exceptions; a bare one catches them all."""
    if handler.type is None:
        return True
    kinds = (
        [element.value for element in handler.type.elements]
        if isinstance(handler.type, cst.Tuple)
        else [handler.type]
    )
    return any(ctx.name(kind) in exceptions for kind in kinds)


def leaves(body: cst.BaseSuite) -> bool:
    """Tell whether a body ends by leaving what is around it: what follows is its other case."""
    last: cst.CSTNode = body.body[-1]
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    return isinstance(last, cst.Return | cst.Raise | cst.Continue | cst.Break)


def passed_exits(node: cst.CSTNode, ctx: Context) -> Iterator[cst.If]:
    """Give every `if` above a node, in a block around it, whose body leaves that block.

    What the node does is done only where their conditions are false.
    """
    child = node
    for ancestor in ctx.ancestors(node):
        for exit_ in ctx.module.fact(_exits).get(id(ancestor), ()):
            if ctx.tree.index(exit_) >= ctx.tree.index(child):
                break
            yield exit_
        child = ancestor


def _exits(facts: ModuleFacts) -> dict[int, list[cst.If]]:
    """Give the `if` statements whose body leaves, by the block that they stand in."""
    found: dict[int, list[cst.If]] = {}
    for statement in facts.tree.every(cst.If):
        if leaves(statement.body):
            found.setdefault(id(facts.tree.parent(statement)), []).append(statement)
    return found


def is_caught(node: cst.CSTNode, ctx: Context, exceptions: frozenset[str]) -> bool:
    """Tell whether one of these exceptions, raised by a node, is caught around it.

    The names are qualified (`builtins.RuntimeError`); a bare `except` catches them all.
    """
    for statement in enclosing_tries(node, ctx):
        if any(catches(handler, ctx, exceptions) for handler in statement.handlers):
            return True
    return any(
        isinstance(item.item, cst.Call)
        and ctx.called(item.item) == "contextlib.suppress"
        and any(ctx.name(argument.value) in exceptions for argument in item.item.args)
        for item in ctx.with_items(node)
    )
