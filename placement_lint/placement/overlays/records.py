"""Functions that make named tuples and dataclasses, or others like them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.values import (
    UNKNOWN,
    NamedTupleType,
    Sequence,
    Value,
    sole,
    value,
)
from placement_lint.placement.overlays.registry import LibraryCall, models
from placement_lint.syntax.calls import string_value

if TYPE_CHECKING:
    from placement_lint.placement.engine.arguments import Fields


@models("collections.namedtuple", "typing.NamedTuple")
def named_tuple_type(call: LibraryCall) -> Value:
    """`collections.namedtuple(name, fields)`, `typing.NamedTuple(name, [(field, type)])`."""
    given = call.arguments.get(1, "field_names", "fields")
    names: list[str | None] = []
    if isinstance(given, cst.List | cst.Tuple):
        for element in given.elements:
            part = element.value
            if isinstance(part, cst.Tuple | cst.List) and part.elements:
                part = part.elements[0].value
            names.append(string_value(part))
    else:
        names += (string_value(given) or "").replace(",", " ").split()
    known = tuple(name for name in names if name is not None)
    if len(known) != len(names) or not known or call.arguments.is_open:
        return UNKNOWN
    defaults = call.arguments.get(None, "defaults")
    if defaults is None:
        return value(NamedTupleType(known))
    held = call.evaluate(defaults)
    only = sole(held)
    if not isinstance(only, Sequence) or only.items is None:
        return UNKNOWN
    return value(NamedTupleType(known, only.items))


@models("optax.GradientTransformation", "optax.GradientTransformationExtraArgs")
def transformation(call: LibraryCall) -> Value:
    """`optax.GradientTransformation(init, update)`: two functions, which a training step calls.

    The step is traced.
    """
    passed = call.passed()
    for held in passed.every():
        call.program.assume_traced(held)
    made = NamedTupleType(("init", "update"))
    fields: Fields = [(name, None) for name in made.names]
    return call.on.calls.objects.named_tuple(None, fields, passed, call.state)


@models("dataclasses.replace")
def replaced(call: LibraryCall) -> Value:
    """`dataclasses.replace(x, name=value)`: another object, with some fields changed."""
    passed = call.passed()
    if not passed.positional:
        return UNKNOWN
    return call.on.calls.objects.like(call.node, passed.positional[0], passed, call.state)
