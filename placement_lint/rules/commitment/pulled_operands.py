"""What the arrays are that an operation copies to the host: how large, and what for."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.transfer import LIKE_CREATORS, Effect
from placement_lint.placement.domain import contents, values
from placement_lint.rules.transfers.array_sizes import (
    element_count,
    is_supposed,
    literal_count,
)
from placement_lint.syntax.calls import Arguments, string_value
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.placement.domain.values import Array, Value
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

_MAX_STEPS = 6
"""Expressions that are followed from an array to what says how large it is."""

_INDICES = frozenset({
    "jax.lax.argmax", "jax.lax.argmin", "jax.lax.iota", "jax.numpy.arange", "jax.numpy.argmax",
    "jax.numpy.argmin", "jax.numpy.argpartition", "jax.numpy.argsort", "jax.numpy.argwhere",
    "jax.numpy.digitize", "jax.numpy.flatnonzero", "jax.numpy.indices", "jax.numpy.lexsort",
    "jax.numpy.nonzero", "jax.numpy.searchsorted", "jax.random.randint",
})  # fmt: skip
_DRAWN_OF = frozenset({"jax.random.choice", "jax.random.permutation"})
"""Of a number, they give indices."""
_INDEX_METHODS = frozenset({"argmax", "argmin", "argpartition", "argsort", "nonzero"})
_TO_NUMBER = frozenset(
    "all any average count_nonzero max mean median min nanmax nanmean nanmin nanstd nansum prod "
    "ptp std sum trace var".split()
)
"""Functions of jax.numpy, and methods, that give one number without an `axis`."""
_KEEPING_SIZE = frozenset("astype clip conj conjugate copy flatten ravel reshape transpose".split())
_KEEPING_ATTRIBUTES = frozenset({"T", "imag", "mT", "real"})
_ITEM_SIZES = {
    "bool": 1, "bool_": 1, "int8": 1, "uint8": 1,
    "bfloat16": 2, "float16": 2, "int16": 2, "uint16": 2,
    "float32": 4, "int32": 4, "uint32": 4, "complex64": 8,
}  # fmt: skip


class OperandRole(enum.Enum):
    """What an array is for, as far as its maker says."""

    DATA = enum.auto()
    SMALL = enum.auto()
    """A number or a key."""
    INDEX = enum.auto()
    """Positions in other arrays."""
    UNKNOWN = enum.auto()
    """It is made of something of which nothing is known: perhaps a number."""


@dataclass(frozen=True)
class ArrayExtent:
    """What is known of the size of an array."""

    role: OperandRole = OperandRole.DATA
    count: int | None = None
    """Elements; None: the source does not say."""
    item_size: int | None = None
    """Bytes of an element; None: it does not say that."""

    @property
    def bytes(self) -> int | None:
        """Bytes of the array; None: the source does not say."""
        if self.count is None or self.item_size is None:
            return None
        return self.count * self.item_size


_NUMBER = ArrayExtent(OperandRole.SMALL, 1)
_FIELDS = ("role", "count", "item_size")


def extent(array: Array, ctx: Context, steps: int = _MAX_STEPS) -> ArrayExtent:
    """Return what the expression that made an array says of its size."""
    if array.is_small:
        return _NUMBER
    node, there = ctx.node_at(None if array.origin is None else array.origin.created) or (None, ctx)
    return _made(node, there, steps) if isinstance(node, cst.BaseExpression) else ArrayExtent()


def _made(node: cst.BaseExpression, ctx: Context, steps: int) -> ArrayExtent:
    if isinstance(node, cst.BinaryOperation):
        return _broadcast([_held(part, ctx, steps - 1) for part in (node.left, node.right)])
    if isinstance(node, cst.UnaryOperation):
        return _held(node.expression, ctx, steps - 1)
    if isinstance(node, cst.Comparison):
        parts = [node.left, *(each.comparator for each in node.comparisons)]
        return _part(_broadcast([_held(part, ctx, steps - 1) for part in parts]))
    if isinstance(node, cst.Subscript):
        return _part(_held(node.value, ctx, steps - 1))
    if isinstance(node, cst.Attribute):
        whole = _held(node.value, ctx, steps - 1)
        return whole if node.attr.value in _KEEPING_ATTRIBUTES else _part(whole)
    if isinstance(node, cst.Call):
        name = ctx.called(node)
        return _method(node, ctx, steps) if name is None else _called(node, name, ctx, steps)
    return ArrayExtent()


def _called(node: cst.Call, name: str, ctx: Context, steps: int) -> ArrayExtent:
    row = ctx.names.table.get(name)
    arguments = Arguments(node)
    first = arguments.get(0, "a", "x", "object")
    module, _, last = name.rpartition(".")
    if row is not None and row.effect is Effect.KEY:
        return _NUMBER
    if name in _INDICES:
        return ArrayExtent(OperandRole.INDEX, element_count(node, ctx), 4)
    if name in _DRAWN_OF and len(arguments.positional) > 1:
        drawn = _held(arguments.positional[1], ctx, steps - 1)
        return (
            ArrayExtent(OperandRole.INDEX, drawn.count, 4)
            if drawn.role is OperandRole.SMALL
            else _part(drawn)
        )
    if last in _TO_NUMBER and module == "jax.numpy" and len(node.args) == 1:
        return _NUMBER
    if name in LIKE_CREATORS and first is not None:
        like = _held(first, ctx, steps - 1)
        return ArrayExtent(like.role, like.count, like.item_size if len(node.args) == 1 else None)
    if row is not None and row.effect in {Effect.CONVERT, Effect.COPY} and first is not None:
        count = literal_count(first, ctx)
        given = ctx.flow.value(first)
        if count is None and any(True for _ in contents.arrays(given)):
            return _held(first, ctx, steps - 1)
        if count is None and not all(isinstance(atom, values.Host) for atom in given):
            plain = all(isinstance(atom, values.Plain) for atom in given)
            return _NUMBER if plain else ArrayExtent(OperandRole.UNKNOWN)
        return _sized(count, node, ctx)
    count = element_count(node, ctx)
    if count is not None:
        return _sized(count, node, ctx)
    if row is not None and row.effect is Effect.COMPUTE and module == "jax.numpy":
        parts = [_held(each, ctx, steps - 1) for each in arguments.positional]
        if parts and all(part.role is OperandRole.SMALL for part in parts):
            return _NUMBER
    return ArrayExtent()


def _method(node: cst.Call, ctx: Context, steps: int) -> ArrayExtent:
    if not isinstance(node.func, cst.Attribute):
        return ArrayExtent()
    name = node.func.attr.value
    if name in _TO_NUMBER and not node.args:
        return _NUMBER
    whole = _held(node.func.value, ctx, steps - 1)
    if name in _INDEX_METHODS:
        return ArrayExtent(OperandRole.INDEX)
    if name == "astype":
        kind = Arguments(node).get(0, "dtype")
        return ArrayExtent(whole.role, whole.count, None if kind is None else _named_size(kind))
    return whole if name in _KEEPING_SIZE else ArrayExtent()


def _sized(count: int | None, node: cst.Call, ctx: Context) -> ArrayExtent:
    if count == 1:
        return _NUMBER
    # How much it is, is said of what is written out only.
    width = None if count is not None and is_supposed(node, ctx) else _item_size(node, ctx)
    return ArrayExtent(OperandRole.DATA, count, width)


def _held(node: cst.BaseExpression, ctx: Context, steps: int) -> ArrayExtent:
    if steps <= 0:
        return ArrayExtent()
    return _of_value(ctx.flow.value(node), ctx, steps)


def _of_value(held: Value, ctx: Context, steps: int) -> ArrayExtent:
    found = [extent(array, ctx, steps) for array in contents.arrays(held)]
    if found:
        return _either(found)
    plain = bool(held) and all(isinstance(atom, values.Plain) for atom in held)
    return _NUMBER if plain else ArrayExtent()


def _broadcast(parts: list[ArrayExtent]) -> ArrayExtent:
    """Return the extent of what is computed of several arrays, element by element."""
    larger = [part for part in parts if part.role is not OperandRole.SMALL]
    if not larger:
        return _NUMBER
    roles = {part.role for part in larger}
    counts = [part.count for part in larger]
    sizes = [part.item_size for part in larger]
    return ArrayExtent(
        roles.pop() if len(roles) == 1 else OperandRole.DATA,
        None if None in counts else max(each or 0 for each in counts),
        None if None in sizes else max(each or 0 for each in sizes),
    )


def _either(ways: list[ArrayExtent]) -> ArrayExtent:
    """Return the extent of what is one of several arrays, or holds them."""
    roles, counts, sizes = ({getattr(each, name) for each in ways} for name in _FIELDS)
    return ArrayExtent(
        roles.pop() if len(roles) == 1 else OperandRole.DATA,
        counts.pop() if len(counts) == 1 else None,
        sizes.pop() if len(sizes) == 1 else None,
    )


def _part(whole: ArrayExtent) -> ArrayExtent:
    """Return the extent of a part: of keys one is a key, of indices an index."""
    return ArrayExtent(whole.role)


# -- bytes ----------------------------------------------------------------------------------------

_TYPE_AT = {
    "arange": 3, "array": 1, "asarray": 1, "empty": 1, "eye": 3, "full": 2, "identity": 1,
    "linspace": 5, "normal": 2, "ones": 1, "uniform": 2, "zeros": 1,
}  # fmt: skip
"""Creators, and the position of their parameter `dtype`."""


def _item_size(node: cst.Call, ctx: Context) -> int | None:
    """Return the bytes of an element of what a creator makes; None where that is not
    written out.
    """
    arguments = Arguments(node)
    last = (ctx.called(node) or "").rpartition(".")[2]
    if last not in _TYPE_AT or arguments.is_open or ctx.module.fact(_may_be_wide):
        return None
    given = arguments.get(_TYPE_AT[last], "dtype")
    return 4 if given is None else _named_size(given)


def _named_size(kind: cst.BaseExpression) -> int | None:
    return _ITEM_SIZES.get(string_value(kind) or dotted(kind).rpartition(".")[2])


def _may_be_wide(facts: ModuleFacts) -> bool:
    """Return whether a file may have JAX make numbers of 64 bits: it mentions the option."""
    names = (dotted(node) for node in facts.tree.every(cst.Name, cst.Attribute))
    texts = (string_value(node) or "" for node in facts.tree.every(cst.SimpleString))
    return any("enable_x64" in text for text in (*names, *texts))


def total_bytes(extents: Iterable[ArrayExtent]) -> int | None:
    """Return the bytes of several arrays; None where one is not known."""
    found = [each.bytes for each in extents]
    return None if None in found else sum(each or 0 for each in found)


def total_count(extents: Iterable[ArrayExtent]) -> float:
    """Return the elements of several arrays; infinite where one is not known."""
    return sum(math.inf if each.count is None else each.count for each in extents)
