"""Which expressions surely have another value in each process, by what they are computed of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.rules.devices.queries import followed
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from placement_lint.rules.context import Context

_INDEX = frozenset({"jax.host_id", "jax.process_index", "os.getpid"})
_UNSEEDED = frozenset({"numpy.random.default_rng", "numpy.random.RandomState"})
"""Generators that begin anywhere unless they are given a seed."""
_KEEPING = (
    "builtins.float", "builtins.int", "builtins.str", "jax.numpy.", "jax.random.", "numpy.",
)  # fmt: skip
"""Functions, or modules of them, whose result is computed of what they are given."""
_SAME = frozenset({
    "jax.numpy.empty_like", "jax.numpy.ones_like", "jax.numpy.zeros_like", "numpy.empty_like",
    "numpy.ones_like", "numpy.zeros_like", "jax.numpy.shape", "numpy.shape", "numpy.ndim",
    "numpy.save",
})  # fmt: skip
"""Functions whose result says nothing of the values that they are given."""
_METADATA = frozenset({"dtype", "ndim", "shape", "size"})
_MOST = 100


def differs_between_processes(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a value surely depends on the index of the process, or on chance."""
    return _Sources().differs(node, ctx, {})


class _Sources:
    """One question, and what was asked on the way to its answer."""

    def __init__(self) -> None:
        self._asked = 0

    def differs(
        self, node: cst.BaseExpression, ctx: Context, given: Mapping[str, bool]
    ) -> bool:  # fmt: skip
        """`given`: which parameters of the function around the node differ."""
        self._asked += 1
        if self._asked > _MOST:
            return False
        if isinstance(node, cst.Name):
            value = followed(node, ctx)
            if value is not node:
                return self.differs(value, ctx, given)
            return self._is_of_parameter(node, ctx, given)
        if isinstance(node, cst.BinaryOperation):
            return self.differs(node.left, ctx, given) or self.differs(node.right, ctx, given)
        if isinstance(node, cst.UnaryOperation):
            return self.differs(node.expression, ctx, given)
        if isinstance(node, cst.Subscript):
            return self.differs(node.value, ctx, given) or self._index(node, ctx, given)
        if isinstance(node, cst.Attribute):
            return node.attr.value not in _METADATA and self.differs(node.value, ctx, given)
        if isinstance(node, cst.List | cst.Tuple):
            return any(
                isinstance(each, cst.Element) and self.differs(each.value, ctx, given)
                for each in node.elements
            )
        return isinstance(node, cst.Call) and self._is_called(node, ctx, given)

    def _index(self, node: cst.Subscript, ctx: Context, given: Mapping[str, bool]) -> bool:
        """Return whether another part is taken in each process: `rows[process_index::count]`."""
        parts: list[cst.BaseExpression | None] = []
        for each in node.slice:
            if isinstance(each.slice, cst.Index):
                parts.append(each.slice.value)
            elif isinstance(each.slice, cst.Slice):
                parts += [each.slice.lower, each.slice.upper]
        return any(part is not None and self.differs(part, ctx, given) for part in parts)

    def _is_called(self, node: cst.Call, ctx: Context, given: Mapping[str, bool]) -> bool:
        called = ctx.called(node) or ""
        arguments = [each.value for each in node.args]
        if called in _INDEX:
            return not arguments
        if called in _UNSEEDED and not arguments:
            return True
        if called in _SAME:
            return False
        if called.startswith(_KEEPING):
            return any(self.differs(each, ctx, given) for each in arguments)
        function = _function(node, ctx)
        if function is not None:
            return self._is_returned(function, node, ctx, given)
        if called or not isinstance(node.func, cst.Attribute):
            return False
        # A method: what it gives is of its object, `rng.normal(size=8)`, if not of an argument.
        return self.differs(node.func.value, ctx, given)

    def _is_returned(
        self,
        function: cst.FunctionDef,
        call: cst.Call,
        ctx: Context,
        given: Mapping[str, bool],
    ) -> bool:
        """Return whether each result of a function of the file differs, for what it is given."""
        arguments = Arguments(call)
        if arguments.is_open:
            return False
        names = [each.name.value for each in function.params.params]
        passed = dict(zip(names, arguments.positional, strict=False)) | arguments.keywords
        differing = {name: self.differs(value, ctx, given) for name, value in passed.items()}
        returned = [
            each.value
            for each in ctx.tree.every(cst.Return, below=function)
            if ctx.function(each) is function
        ]
        return bool(returned) and all(
            value is not None and self.differs(value, ctx, differing) for value in returned
        )

    def _is_of_parameter(self, node: cst.Name, ctx: Context, given: Mapping[str, bool]) -> bool:
        """Return whether a name is a parameter that differs, and is bound nowhere else."""
        bindings = ctx.names.bindings(node)
        is_parameter = len(bindings) == 1 and isinstance(bindings[0].node, cst.Param)
        return is_parameter and given.get(node.value, False)


def _function(call: cst.Call, ctx: Context) -> cst.FunctionDef | None:
    """Return the function of the file that a call is of, by its name."""
    if not isinstance(call.func, cst.Name):
        return None
    bindings = ctx.names.bindings(call.func)
    node = bindings[0].node if len(bindings) == 1 else None
    return node if isinstance(node, cst.FunctionDef) else None
