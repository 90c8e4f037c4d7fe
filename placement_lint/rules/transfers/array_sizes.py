"""How many elements an array has that a call makes, where the source says so."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.quantities import size
from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import Arguments, integer_value, is_none, string_value

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

SMALL = 2**16
"""Fewer elements than this are not worth a finding, wherever they go."""

_SHAPED = {
    "zeros": 0, "ones": 0, "empty": 0, "full": 0,
    "ball": 2, "bernoulli": 2, "bits": 1, "exponential": 1, "gumbel": 1, "laplace": 1,
    "normal": 1, "randint": 1, "rademacher": 1, "truncated_normal": 3, "uniform": 1,
}  # fmt: skip
_MODULES = ("jax.numpy.", "jax.random.", "jax.lax.", "numpy.")
_SIZES = {
    "beta": 2, "binomial": 2, "choice": 1, "exponential": 1, "gamma": 2, "gumbel": 2,
    "integers": 2, "laplace": 2, "normal": 2, "poisson": 1, "randint": 2, "random": 0,
    "random_sample": 0, "standard_normal": 0, "uniform": 2,
}  # fmt: skip
"""NumPy's samplers, and the position of their parameter `size`: without it they give a number."""
_TYPED = {
    "empty": 1, "eye": 3, "full": 2, "normal": 2, "ones": 1, "uniform": 2, "zeros": 1,
}  # fmt: skip
"""The position of the parameter `dtype`."""
_ITEM_SIZES = {
    "bool": 1, "bool_": 1, "int8": 1, "uint8": 1, "bfloat16": 2, "float16": 2, "int16": 2,
    "uint16": 2, "complex64": 8, "float32": 4, "int32": 4, "uint32": 4,
}  # fmt: skip
"""Of types that mean the same whether 64 bits are enabled or not."""
_LARGE = 2**20
"""Bytes from which on a message says how many they are."""
_MAX_HOPS = 6
_COUNTS = frozenset({"jax.device_count", "jax.local_device_count"})
_LISTS = frozenset({"jax.devices", "jax.local_devices"})
_DEVICES = 16
"""How many devices are taken to be there, where the source asks for their number."""
_GENERATORS = frozenset({"numpy.random.default_rng", "numpy.random.RandomState"})


def element_count(call: cst.BaseExpression, ctx: Context, hops: int = _MAX_HOPS) -> int | None:
    """Return the number of elements of what a call makes; None where it is not written out."""
    if not isinstance(call, cst.Call):
        return None
    if is_numpy_sampler(call, ctx):
        size = sampled_size(call, ctx)
        return 1 if size is None and not Arguments(call).is_open else _product(size, ctx)
    name = ctx.called(call)
    if name is None:
        return None
    module, _, last = name.rpartition(".")
    if f"{module}." not in _MODULES:
        return None
    arguments = Arguments(call)
    if arguments.is_open:
        return None
    if last in _SHAPED:
        shape = arguments.get(_SHAPED[last], "shape")
        if shape is None:
            # The samplers' default.
            return 1 if module.endswith("random") else None
        return _product(shape, ctx)
    if last == "arange":
        bounds = [_whole_value(followed(each, ctx)) for each in arguments.positional[:2]]
        return None if None in bounds or not bounds else max(abs(each or 0) for each in bounds)
    if last == "linspace":
        number = arguments.get(2, "num")
        return 50 if number is None else integer_value(followed(number, ctx))
    if last in {"eye", "identity"}:
        sides = [integer_value(followed(each, ctx)) for each in arguments.positional[:2]]
        return (
            None
            if None in sides or not sides
            else math.prod(each or 0 for each in sides) ** (2 if len(sides) == 1 else 1)
        )
    if last in {"array", "asarray"}:
        first = arguments.get(0, "object", "a")
        if first is None or not hops:
            return None
        return literal_count(followed(first, ctx), ctx, hops - 1)
    return None


def size_text(call: cst.CSTNode, ctx: Context) -> str:
    """Return how much memory what a call makes takes, in brackets, if that is known and much."""
    count = element_count(call, ctx) if isinstance(call, cst.Call) else None
    width = None if count is None else _item_size(call, ctx)
    if count is None or width is None or count * width < _LARGE:
        return ""
    return f" ({size(count * width)})"


def _item_size(call: cst.CSTNode, ctx: Context) -> int | None:
    """Return the bytes of one number of an array that a call makes."""
    if not isinstance(call, cst.Call) or ctx.module.fact(_enables_64_bits):
        return None
    position = _TYPED.get((ctx.called(call) or "").rpartition(".")[2])
    if position is None:
        return None
    dtype = Arguments(call).get(position, "dtype")
    if dtype is None:
        return 4
    name = string_value(dtype) or (ctx.name(followed(dtype, ctx)) or "").rpartition(".")[2]
    return _ITEM_SIZES.get(name)


def _enables_64_bits(facts: ModuleFacts) -> bool:
    """Return whether a file says anything of the switch for 64 bits."""
    return any(
        "enable_x64" in (string_value(node) or "") for node in facts.tree.every(cst.SimpleString)
    )


def filled_count(shape: cst.BaseExpression | None, ctx: Context) -> int | None:
    """Return the number of elements of an array with a shape; None where it is not written out."""
    return None if shape is None else _product(shape, ctx)


def is_numpy_sampler(call: cst.Call, ctx: Context) -> bool:
    """Return whether a call is of `numpy.random.normal` or its like, or of a generator's method."""
    module, _, last = (ctx.called(call) or "").rpartition(".")
    if module == "numpy.random":
        return last in _SIZES
    method = call.func
    return (
        isinstance(method, cst.Attribute)
        and method.attr.value in _SIZES
        and ctx.called(followed(method.value, ctx)) in _GENERATORS
    )


def sampled_size(sampler: cst.Call, ctx: Context) -> cst.BaseExpression | None:
    """Return the `size` that one of NumPy's samplers is given; None where it has none."""
    function = sampler.func
    name = function.attr.value if isinstance(function, cst.Attribute) else ctx.called(sampler)
    position = _SIZES[(name or "").rpartition(".")[2]]
    size = Arguments(sampler).get(position, "size")
    return None if is_none(size) else size


def literal_count(node: cst.BaseExpression, ctx: Context, hops: int = _MAX_HOPS) -> int | None:
    """Return the number of numbers in nested lists that are written out."""
    if isinstance(node, cst.Integer | cst.Float | cst.Imaginary | cst.UnaryOperation):
        return 1
    if isinstance(node, cst.Name) and node.value in {"True", "False"}:
        return 1
    if isinstance(node, cst.List | cst.Tuple):
        if any(isinstance(element, cst.StarredElement) for element in node.elements):
            return None
        counts = (literal_count(element.value, ctx, hops) for element in node.elements)
        return sum(max(count or 1, 1) for count in counts)
    return element_count(node, ctx, hops)


def _whole_value(node: cst.BaseExpression) -> int | None:
    """Return the value of a number that is written out, as a bound of `arange` may be: `8.0`."""
    if isinstance(node, cst.Float):
        value = float(node.value)
        return math.ceil(value) if math.isfinite(value) else None
    return integer_value(node)


def _product(shape: cst.BaseExpression | None, ctx: Context) -> int | None:
    if shape is None:
        return None
    shape = followed(shape, ctx)
    if isinstance(shape, cst.Tuple | cst.List):
        sides = [_side(element.value, ctx) for element in shape.elements]
        return None if None in sides else math.prod(each or 0 for each in sides)
    return _side(shape, ctx)


def _side(node: cst.BaseExpression, ctx: Context, hops: int = _MAX_HOPS) -> int | None:
    """Return how long one side of an array is, or about how long: one item for each device."""
    node = followed(node, ctx)
    if hops and isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply):
        left, right = _side(node.left, ctx, hops - 1), _side(node.right, ctx, hops - 1)
        return None if left is None or right is None else left * right
    name = ctx.called(node)
    if isinstance(node, cst.Call) and name == "builtins.len" and len(node.args) == 1:
        return _DEVICES if ctx.called(followed(node.args[0].value, ctx)) in _LISTS else None
    return _DEVICES if name in _COUNTS else integer_value(node)
