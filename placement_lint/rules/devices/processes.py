"""What code knows of the processes that it runs in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.rules.surroundings import passed_exits

if TYPE_CHECKING:
    from placement_lint.rules.context import Context

INITIALIZE = "jax.distributed.initialize"

_QUESTIONS = frozenset({
    "jax.distributed.is_initialized", "jax.host_count", "jax.host_id", "jax.process_count",
    "jax.process_index",
})  # fmt: skip
_WORDS = ("process", "rank", "host_id", "hosts", "distributed", "multihost")


def depends_on_process(node: cst.CSTNode, ctx: Context) -> bool:
    """Tell whether code runs only after a question for the process, or how many there are."""
    child = node
    for ancestor in ctx.ancestors(node):
        if (
            isinstance(ancestor, cst.If | cst.IfExp)
            and child is not ancestor.test
            and _asks(ancestor.test, ctx)
        ):
            return True
        child = ancestor
    return any(_asks(each.test, ctx) for each in passed_exits(node, ctx))


def _asks(test: cst.CSTNode, ctx: Context) -> bool:
    for node in (test, *ctx.tree.descendants(test)):
        if isinstance(node, cst.Call) and ctx.called(node) in _QUESTIONS:
            return True
        if isinstance(node, cst.Name) and any(word in node.value.lower() for word in _WORDS):
            return True
        if isinstance(node, cst.Attribute) and any(
            word in node.attr.value.lower() for word in _WORDS
        ):
            return True
    return False
