"""Objects that are only attributes: `types.SimpleNamespace`, and what settings are kept in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.program_values import Instance
from placement_lint.placement.domain.values import UNKNOWN, Mapping, Value, sole, value
from placement_lint.placement.overlays.registry import ObjectCall, objects
from placement_lint.syntax.calls import Arguments, string_value

if TYPE_CHECKING:
    import collections.abc

_FIRST = ("initial_dictionary", "obj")
"""The names of the parameter that the settings come in."""
_MAX_NESTED = 8
"""Dicts inside of one another that are settings."""


@objects(
    "argparse.Namespace",
    "orbax.checkpoint.args.Composite",
    "threading.local",
    "types.SimpleNamespace",
)
def namespace(call: ObjectCall) -> Value:
    """`types.SimpleNamespace(name=value)`. What one thread sets in `threading.local()`, another
    one does not have.
    """
    return namespace_of(call, call.arguments.keywords)


def namespace_of(call: ObjectCall, items: collections.abc.Mapping[str, Value]) -> Value:
    """Return an object that a call makes, of which these are the attributes."""
    made = Instance(call.place, call.place)
    call.program.objects.made(made)
    for name, held in items.items():
        _set(call, made, name, held)
    return value(made)


@objects(
    "ml_collections.ConfigDict",
    "ml_collections.FrozenConfigDict",
    "ml_collections.config_dict.ConfigDict",
    "ml_collections.config_dict.FrozenConfigDict",
    "ml_collections.config_dict.create",
    "omegaconf.OmegaConf.create",
)
def settings(call: ObjectCall) -> Value:
    """`ml_collections.ConfigDict({"name": value})`: dicts in it are settings too."""
    made = Instance(call.place, call.place)
    call.program.objects.made(made)
    given = call.argument(0, *_FIRST)
    if given is not None:
        written = Arguments(call.node).get(0, *_FIRST) if isinstance(call.node, cst.Call) else None
        _take(call, made, given, written, _MAX_NESTED)
    if call.name.endswith("config_dict.create"):
        for name, held in call.arguments.keywords.items():
            kept = _as_settings(call, held, call.keyword(name), _MAX_NESTED)
            _set(call, made, name, kept)
    return value(made)


def _take(
    call: ObjectCall, made: Instance, given: Value, node: cst.BaseExpression | None, depth: int
) -> None:
    only = sole(given)
    if not isinstance(only, Mapping):
        return
    written = _items_of(node)
    for key, held in only.items:
        if isinstance(key, str):
            _set(call, made, key, _as_settings(call, held, written.get(key), depth))


def _items_of(node: cst.BaseExpression | None) -> dict[str, cst.BaseExpression]:
    """Return what is written out for the items of a dict."""
    if isinstance(node, cst.Dict):
        pairs = [
            (string_value(each.key), each.value)
            for each in node.elements
            if isinstance(each, cst.DictElement)
        ]
        return {key: held for key, held in pairs if key is not None}
    return dict(Arguments(node).keywords) if isinstance(node, cst.Call) else {}


def _as_settings(
    call: ObjectCall, held: Value, node: cst.BaseExpression | None, depth: int
) -> Value:
    """Return what is kept of a value: of a dict, settings, by the expression that made it."""
    only = sole(held)
    if not isinstance(only, Mapping):
        return held
    site = only.site[0] if only.site is not None else None
    if node is not None:
        site = call.on.module.place(node)
    if site is None or not depth:
        return UNKNOWN
    inner = Instance(call.place, site, call.place)
    call.program.objects.made(inner)
    _take(call, inner, held, node, depth - 1)
    return value(inner)


def _set(call: ObjectCall, made: Instance, name: str, held: Value) -> None:
    """Set an attribute of an object: one that the same call made before may still be in use."""
    before = call.state.variables.get((made, name))
    surely = before is None or before == held
    call.on.targets.set_attribute(made, name, held, call.state, surely=surely)
