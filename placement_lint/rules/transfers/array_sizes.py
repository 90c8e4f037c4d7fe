"""How many elements an array has that a call makes, where the source says so."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.rules.devices.queries import followed
from placement_lint.syntax.calls import Arguments, integer_value

if TYPE_CHECKING:
    from placement_lint.rules.context import Context

SMALL = 2**16
"""Fewer elements than this are not worth a word, wherever they go."""

_SHAPED = {
    "zeros": 0, "ones": 0, "empty": 0, "full": 0,
    "ball": 2, "bernoulli": 2, "bits": 1, "exponential": 1, "gumbel": 1, "laplace": 1,
    "normal": 1, "randint": 1, "rademacher": 1, "truncated_normal": 3, "uniform": 1,
}  # fmt: skip
_MODULES = ("jax.numpy.", "jax.random.", "jax.lax.", "numpy.", "numpy.random.")


def element_count(call: cst.BaseExpression, ctx: Context) -> int | None:
    """Give the number of elements of what a call makes; None where it is not written out."""
    name = ctx.called(call)
    if name is None or not isinstance(call, cst.Call):
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
        return None if first is None else literal_count(followed(first, ctx), ctx)
    return None


def literal_count(node: cst.BaseExpression, ctx: Context) -> int | None:
    """Give the number of numbers in nested lists that are written out."""
    if isinstance(node, cst.Integer | cst.Float | cst.Imaginary | cst.UnaryOperation):
        return 1
    if isinstance(node, cst.Name) and node.value in {"True", "False"}:
        return 1
    if isinstance(node, cst.List | cst.Tuple):
        if any(isinstance(element, cst.StarredElement) for element in node.elements):
            return None
        return sum(max(literal_count(element.value, ctx) or 1, 1) for element in node.elements)
    return element_count(node, ctx)


def _whole_value(node: cst.BaseExpression) -> int | None:
    """Give the value of a number that is written out, as a bound of `arange` may be: `8.0`."""
    if isinstance(node, cst.Float):
        value = float(node.value)
        return math.ceil(value) if math.isfinite(value) else None
    return integer_value(node)


def _product(shape: cst.BaseExpression, ctx: Context) -> int | None:
    shape = followed(shape, ctx)
    if isinstance(shape, cst.Tuple | cst.List):
        sides = [integer_value(followed(element.value, ctx)) for element in shape.elements]
        return None if None in sides else math.prod(each or 0 for each in sides)
    return integer_value(shape)
