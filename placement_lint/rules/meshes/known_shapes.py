"""The shapes of arrays, as far as the text says them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.rules.meshes.configured import field_given, given_by_property, whole_number
from placement_lint.rules.transfers.array_sizes import is_numpy_sampler, sampled_size
from placement_lint.semantic.followed import bound_before, followed
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.dotted import said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context

Shape: TypeAlias = tuple["int | None", ...]
"""The sizes of the dimensions; None for one that is not known."""

_PACKAGES = ("jax.numpy", "numpy")
_SHAPED = {
    **{
        f"{package}.{name}": 0
        for package in _PACKAGES
        for name in ("empty", "full", "ones", "zeros")
    },
    "jax.random.normal": 1,
    "jax.random.randint": 1,
    "jax.random.uniform": 1,
}
"""Functions that make one array, and the position of its shape."""
_BY_SIZES = frozenset({"numpy.random.rand", "numpy.random.randn"})
"""Functions of which each argument is a size."""
_COUNTING = frozenset({"arange", "eye", "identity", "linspace"})
"""Functions that are given numbers, which say how many."""
_ALIKE = frozenset({
    f"{package}.{name}"
    for package in _PACKAGES
    for name in (
        "abs", "array", "asarray", "cos", "empty_like", "exp", "log", "ones_like", "sin", "sqrt",
        "square", "tanh", "zeros_like",
    )
} | {"numpy.ascontiguousarray"})  # fmt: skip
"""Functions whose result has the shape of their argument, if that is an array."""
_KEEPING = frozenset({"astype", "copy", "clip", "round"})
"""Methods whose result has the shape of the array."""
_MOST_STEPS = 8
_MOST_LEAVES = 64
_MOST_BINDINGS = 64
"""Assignments to one name: of a name that has more, it is not looked for the last one."""


def leaves_of(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """Yield the arrays of a tree that is written out here, or the expression itself.

    One that has a name may be changed before it is used.
    """
    pending, count = [node], 0
    while pending and count < _MOST_LEAVES:
        node, count = pending.pop(), count + 1
        if isinstance(node, cst.Dict):
            pending += [each.value for each in node.elements if isinstance(each, cst.DictElement)]
        elif isinstance(node, cst.Tuple | cst.List):
            pending += [each.value for each in node.elements if isinstance(each, cst.Element)]
        else:
            yield node


def known_shape(node: cst.BaseExpression, ctx: Context, steps: int = _MOST_STEPS) -> Shape | None:
    """Return the shape of the array that an expression makes; None where that is not known."""
    node = _made(node, ctx)
    if not steps:
        return None
    elsewhere = _given_elsewhere(node, ctx)
    if elsewhere is not None:
        return known_shape(*elsewhere, steps - 1)
    if isinstance(node, cst.Subscript):
        whole = known_shape(node.value, ctx, steps - 1)
        return None if whole is None else _taken(whole, node, ctx)
    if isinstance(node, cst.Attribute) and node.attr.value == "T":
        whole = known_shape(node.value, ctx, steps - 1)
        return None if whole is None else whole[::-1]
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        return known_shape(node.expression, ctx, steps - 1)
    if isinstance(node, cst.BinaryOperation):
        return _combined(node, ctx, steps - 1)
    if not isinstance(node, cst.Call):
        return None
    arguments = Arguments(node)
    if arguments.is_open:
        return None
    name = ctx.called(node) or ""
    position = _SHAPED.get(name)
    if position is not None:
        written = arguments.get(position, "shape")
        return None if written is None else written_shape([written], ctx, steps - 1)
    if is_numpy_sampler(node, ctx):
        size = sampled_size(node, ctx)
        # `choice` gives rows, of an array that has more dimensions than one.
        return (
            None
            if size is None or said(node.func) == "choice"
            else written_shape([size], ctx, steps - 1)
        )
    if name in _BY_SIZES:
        return written_shape(arguments.positional, ctx) if arguments.positional else None
    package, _, last = name.rpartition(".")
    if package in _PACKAGES and last in _COUNTING:
        return _counted(last, arguments, ctx)
    if name in _ALIKE:
        given = None if {"ndmin", "shape"} & arguments.keywords.keys() else arguments.get(0)
        if isinstance(given, cst.List) and last in {"array", "asarray"}:
            return _of_items(given)
        return None if given is None else known_shape(given, ctx, steps - 1)
    return _shape_of_method(node, arguments, ctx, steps)


def _given_elsewhere(
    node: cst.BaseExpression, ctx: Context
) -> tuple[cst.BaseExpression, Context] | None:
    """Return what an array is in the call that is followed, or what a call of the program or a
    field of an object gives.
    """
    if isinstance(node, cst.Attribute):
        return None if node.attr.value == "T" else field_given(node, ctx)
    if not isinstance(node, cst.Call | cst.Name):
        return None
    from placement_lint.rules.meshes.entered_calls import entered

    return ctx.passed(node) or entered(node, ctx)


def _made(node: cst.BaseExpression, ctx: Context) -> cst.BaseExpression:
    """Return what makes the array that a name stands for where it is read.

    The name may be bound to something else before and after that.
    """
    for _ in range(_MOST_STEPS):
        node = followed(node, ctx)
        is_followed = isinstance(node, cst.Name) and len(ctx.names.bindings(node)) <= _MOST_BINDINGS
        bound = bound_before(node, ctx) if isinstance(node, cst.Name) and is_followed else None
        if not isinstance(bound, cst.BaseExpression):
            break
        node = bound
    return node


def _combined(node: cst.BinaryOperation, ctx: Context, steps: int) -> Shape | None:
    """Return the shape of `x * 2`, and of what two arrays give of which each shape is known."""
    if isinstance(node.operator, cst.MatrixMultiply):
        return None
    left, right = known_shape(node.left, ctx, steps), known_shape(node.right, ctx, steps)
    if isinstance(node.right, cst.BaseNumber):
        return left
    if isinstance(node.left, cst.BaseNumber):
        return right
    return None if left is None or right is None else _broadcast(left, right)


def _broadcast(one: Shape, other: Shape) -> Shape | None:
    """Return the shape of what is computed of two arrays, item by item."""
    long, short = (one, other) if len(one) >= len(other) else (other, one)
    sizes: list[int | None] = [*long]
    for place, size in enumerate(short, len(long) - len(short)):
        pair = {sizes[place], size}
        if None in pair or (len(pair) > 1 and 1 not in pair):
            return None
        sizes[place] = max(each for each in pair if each is not None)
    return None if None in sizes else tuple(sizes)


def _counted(name: str, arguments: Arguments, ctx: Context) -> Shape | None:
    """Return the shape of `arange(6)`, `linspace(0, 1, 6)` and `eye(6)`."""
    if name == "linspace":
        number = arguments.get(2, "num")
        return (
            None if number is None or "axis" in arguments.keywords else written_shape([number], ctx)
        )
    if name in {"eye", "identity"}:
        rows = arguments.get(0, "N", "n")
        columns = arguments.get(1, "M") if name == "eye" else None
        return None if rows is None else written_shape([rows, columns or rows], ctx)
    given = arguments.positional[:3]
    if not given or {"start", "stop", "step"} & arguments.keywords.keys():
        return None
    sizes = [whole_number(each, ctx) for each in given]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes) or (len(known) == 3 and not known[2]):
        return None
    return (len(range(*known)),)


def _of_items(node: cst.List) -> Shape | None:
    """Return the shape of an array whose numbers are written out: `np.array([[1, 2], [3, 4]])`."""
    shape: list[int | None] = []
    part: cst.BaseExpression = node
    while isinstance(part, cst.List):
        if not part.elements or any(isinstance(e, cst.StarredElement) for e in part.elements):
            return None
        shape.append(len(part.elements))
        part = part.elements[0].value
    sign = part.expression if isinstance(part, cst.UnaryOperation) else part
    return tuple(shape) if isinstance(sign, cst.BaseNumber) else None


def _shape_of_method(
    node: cst.Call, arguments: Arguments, ctx: Context, steps: int
) -> Shape | None:
    function = node.func
    if not isinstance(function, cst.Attribute) or arguments.keywords:
        return None
    if function.attr.value == "reshape":
        sizes = written_shape(arguments.positional, ctx)
        # It is an array of which the numbers are known, and no list of devices.
        return sizes if _is_array(function.value, ctx) else None
    if function.attr.value in _KEEPING:
        return known_shape(function.value, ctx, steps - 1)
    return None


def _is_array(node: cst.BaseExpression, ctx: Context) -> bool:
    name = ctx.called(_made(node, ctx)) or ""
    return name.startswith(("jax.numpy.", "jax.random.", "numpy."))


def _taken(shape: Shape, node: cst.Subscript, ctx: Context) -> Shape | None:
    """Return the shape of what indices and slices that are written out take of an array."""
    sizes: list[int | None] = []
    left = [*shape]
    for element in node.slice:
        index = element.slice
        if isinstance(index, cst.Index) and _is_new_axis(index.value, ctx):
            sizes.append(1)
        elif not left:
            return None
        elif isinstance(index, cst.Slice):
            sizes.append(_length(index, left.pop(0), ctx))
        elif isinstance(index, cst.Index) and whole_number(index.value, ctx) is not None:
            del left[0]
        else:
            return None
    return (*sizes, *left)


def _is_new_axis(node: cst.BaseExpression, ctx: Context) -> bool:
    is_none = isinstance(node, cst.Name) and node.value == "None"
    return is_none or ctx.name(node) in {"jax.numpy.newaxis", "numpy.newaxis"}


def _length(taken: cst.Slice, size: int | None, ctx: Context) -> int | None:
    """Return how many items a slice takes of so many; None where that is not known."""
    bounds = [
        None if each is None else whole_number(each, ctx)
        for each in (taken.lower, taken.upper, taken.step)
    ]
    written = (taken.lower, taken.upper, taken.step)
    if any(one is not None and two is None for one, two in zip(written, bounds, strict=True)):
        return None
    if size is None or bounds[2] == 0:
        return None
    return len(range(*slice(*bounds).indices(size)))


def written_shape(given: list[cst.BaseExpression], ctx: Context, steps: int = 2) -> Shape | None:
    """Return a shape that is written as a tuple or as numbers, None in it for what is not known."""
    if len(given) == 1:
        only = followed(given[0], ctx)
        for _ in range(_MOST_STEPS):
            elsewhere = _given_elsewhere(only, ctx)
            if elsewhere is None:
                break
            only, ctx = followed(*elsewhere), elsewhere[1]
        given = [only]
        found = given_by_property(only, ctx) if isinstance(only, cst.Attribute) else None
        if found is not None:
            only, ctx = followed(*found), found[1]
        if isinstance(only, cst.Tuple | cst.List):
            given = [element.value for element in only.elements]
            if any(isinstance(element, cst.StarredElement) for element in only.elements):
                return None
        elif isinstance(only, cst.Attribute) and only.attr.value == "shape":
            return known_shape(only.value, ctx, steps) if steps else None
        elif whole_number(only, ctx) is None:
            return None
    sizes = [whole_number(each, ctx) for each in given]
    return tuple(None if size is None or size < 0 else size for size in sizes)
