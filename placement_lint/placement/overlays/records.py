"""Functions that make named tuples and dataclasses, or others like them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.keys import sorted_items
from placement_lint.placement.domain.program_values import Class, Instance
from placement_lint.placement.domain.values import (
    NOTHING,
    UNKNOWN,
    Mapping,
    NamedTupleType,
    Plain,
    Sequence,
    Value,
    join,
    sole,
    value,
)
from placement_lint.placement.engine.iteration import FIELDS
from placement_lint.placement.overlays.copies import copies
from placement_lint.placement.overlays.registry import LibraryCall, models
from placement_lint.syntax.calls import string_value

if TYPE_CHECKING:
    from placement_lint.placement.domain.values import Atom
    from placement_lint.placement.engine.arguments import Fields

_MOST_FIELDS = 8
"""Fields of a dataclass that are listed: it may be the axes of a mesh, which has fewer."""
_FIELD = "dataclasses.Field"


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


@models("attr.evolve", "attrs.evolve", "dataclasses.replace")
def replaced(call: LibraryCall) -> Value:
    """`dataclasses.replace(x, name=value)`: another object, with some fields changed."""
    passed = call.passed()
    if not passed.positional:
        return UNKNOWN
    return call.on.calls.objects.like(call.node, passed.positional[0], passed, call.state)


@models(FIELDS)
def fields_of(call: LibraryCall) -> Value:
    """`dataclasses.fields(x)`: what describes the fields of a small dataclass, with their names."""
    names = _field_names(call, _passed_alone(call))
    if names is None:
        return UNKNOWN
    texts = [value(Plain(name)) for name in names]
    fields = tuple(
        value(Sequence((text,), text, names=("name",), library=_FIELD)) for text in texts
    )
    return value(Sequence(fields, join(*fields)))


@models("dataclasses.asdict")
def as_dict(call: LibraryCall) -> Value:
    """`dataclasses.asdict(x)`: a dict of copies of its fields, as far as these are known."""
    only, first = _passed_alone(call), call.arguments.get(0, "obj")
    names = _field_names(call, only)
    if names is None or first is None or not isinstance(only, Instance):
        return UNKNOWN
    items: list[tuple[str, Value]] = []
    for name in names:
        held = call.program.classes.attribute(value(only), name, call.state)
        is_plain = all(isinstance(atom, Plain) for atom in held)
        items.append((name, held if is_plain else copies(call, first, held)))
    return value(Mapping(sorted_items(items), NOTHING, order=names))


def _passed_alone(call: LibraryCall) -> Atom | None:
    """Return what surely is the only argument of a call."""
    held = call.values()
    return sole(held[0]) if len(held) == 1 and not call.arguments.is_open else None


def _field_names(call: LibraryCall, only: Atom | None) -> tuple[str, ...] | None:
    """Return the names of the fields of a small dataclass, or of an object of one."""
    if not isinstance(only, Class | Instance):
        return None
    cls, classes = only.place if isinstance(only, Class) else only.cls, call.program.classes
    fields = classes.fields(cls) if classes.is_plain(cls) else None
    return tuple(name for name, _ in fields) if fields and len(fields) <= _MOST_FIELDS else None
