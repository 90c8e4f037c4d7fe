"""Memory kinds as code names them, and operations on arrays that are in the memory of the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.prefilter.conditions import AllOf, AnyOf, AnyWord, Pattern
from placement_lint.rules.commitment.combining import COMBINING, COMBINING_TREES
from placement_lint.rules.commitment.putting import TREE_MAPS
from placement_lint.semantic.enclosing import failure_is_expected, is_caught
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context

KINDS = ("device", "pinned_host", "unpinned_host")
"""The memory kinds that there are, on one backend or another (0.4.35 to 0.12.0.1)."""
WORDS = (b"memory_kind", b"with_memory_kind", b"TransferToMemoryKind")
_HOST = frozenset({"Host", "pinned_host"})
"""What a file says that puts arrays into the memory of the host."""
SAYS_MEMORY = AllOf(
    AnyWord(*_HOST),
    AnyOf(Pattern(rb"pinned_host", word=b"pinned_host"), Pattern(rb"memory", word=b"memory")),
)
"""Code that may put an array into the memory of the host: comments and docstrings do not."""
_NAMING = {
    "jax.NamedSharding": (None, "memory_kind"),
    "jax.sharding.NamedSharding": (None, "memory_kind"),
    "jax.sharding.SingleDeviceSharding": (None, "memory_kind"),
    "jax.sharding.TransferToMemoryKind": (0, "memory_kind"),
    "jax._src.sharding_impls.TransferToMemoryKind": (0, "memory_kind"),
}
_METHOD, _OWN_METHOD = "with_memory_kind", b"def with_memory_kind"
_OPERATORS = frozenset(f"operator.{name}" for name in "add sub mul truediv".split())
_FAILURES = frozenset({"builtins.BaseException", "builtins.Exception", "builtins.ValueError"})


def named_kind(call: cst.Call, ctx: Context) -> cst.BaseExpression | None:
    """Return the argument of a call that is the name of a memory kind."""
    position, keyword = _NAMING.get(ctx.called(call) or "", (0, ""))
    if not keyword:
        method = call.func
        if not isinstance(method, cst.Attribute) or method.attr.value != _METHOD:
            return None
        module = ctx.module
        if module.says(_OWN_METHOD) or module.run.mentions(module.path, _OWN_METHOD):
            # The object may be one of the program's own.
            return None
        keyword = "kind"
    arguments = Arguments(call)
    return None if arguments.is_open else arguments.get(position, keyword)


def may_fail(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a ValueError is expected at a node, or caught."""
    return failure_is_expected(node, ctx) or is_caught(node, ctx, _FAILURES)


def on_host_memory(
    ctx: Context, *, of_trees: bool = False
) -> Iterator[tuple[cst.CSTNode, frozenset[tuple[tuple[int, Value], ...]]]]:
    """Yield the operations on arrays in the memory of the host, with the operands of each
    execution, in source order. `of_trees`: those on the leaves of trees as well.
    """
    if not ctx.may_say(_HOST):
        return
    seen = ctx.flow.record.sharded_calls.on_host_memory
    for index in sorted(seen):
        node = ctx.tree.nodes[index]
        if _computes(node, ctx) or (of_trees and combines_trees(node, ctx)):
            yield node, frozenset(seen[index])


def _computes(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a node is one operation on all of its operands: no call of the program's."""
    if isinstance(node, cst.BinaryOperation | cst.AugAssign | cst.UnaryOperation):
        return True
    if isinstance(node, cst.Comparison):
        return not any(isinstance(c.operator, cst.In | cst.NotIn) for c in node.comparisons)
    if not isinstance(node, cst.Call):
        return False
    name = ctx.called(node) or ""
    return name in COMBINING or name.startswith("jax.numpy.")


def combines_trees(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a call computes with each leaf of a tree, and the same leaf of another one:
    `jax.tree.map(jnp.add, totals, grads)`, and an optimizer with its state.
    """
    if not isinstance(node, cst.Call):
        return False
    called = ctx.called(node)
    if called in TREE_MAPS:
        name = ctx.name(node.args[0].value) if len(node.args) > 2 else None
        return name is not None and (name in COMBINING or name in _OPERATORS)
    return called in COMBINING_TREES or _is_update(node)


def _is_update(call: cst.Call) -> bool:
    """Return whether a call may be of `tx.update`, of which the interpreter knows more."""
    return isinstance(call.func, cst.Attribute) and call.func.attr.value == "update"
