"""Models of haiku: transformed functions, whose `init` makes parameters."""

from __future__ import annotations

from placement_lint.placement.domain.values import (
    NOTHING,
    PLAIN,
    UNKNOWN,
    LibraryMethod,
    Plain,
    Sequence,
    Value,
    join,
    value,
)
from placement_lint.placement.engine.pytrees import tree_of
from placement_lint.placement.overlays.parameters import applied, drawn, several
from placement_lint.placement.overlays.registry import ObjectCall, objects

_TRANSFORMED = "haiku.Transformed"
_WITH_STATE = "haiku.TransformedWithState"


@objects("haiku.transform", "haiku.transform_with_state")
def transformed(call: ObjectCall) -> Value:
    """`hk.transform(f)`: a pair of functions, `init` and `apply`."""
    call.escapes(*(held for _, held in call.operands))
    cls = _WITH_STATE if call.name.endswith("with_state") else _TRANSFORMED
    methods = tuple(value(LibraryMethod(f"{cls}.{name}", Plain())) for name in ("init", "apply"))
    return value(Sequence(methods, join(*methods), None, ("init", "apply")))


@objects("haiku.without_apply_rng", "haiku.without_state", "haiku.with_empty_state")
def without(call: ObjectCall) -> Value:
    """`hk.without_apply_rng(t)`: the same, but for the arguments of `apply`."""
    held = call.argument(0, "f")
    if held is None:
        return UNKNOWN
    return held if call.name == "haiku.without_apply_rng" else UNKNOWN


@objects(f"{_TRANSFORMED}.init", f"{_WITH_STATE}.init")
def init(call: ObjectCall) -> Value:
    """`t.init(key, x)`: parameters, and the state, in dicts; the function runs once."""
    key = call.argument(0, "rng")
    call.escapes(*(held for held in call.arguments.every()[1:] if held != UNKNOWN))
    made = tree_of(drawn(call, key))
    return several(made, made) if call.name.startswith(_WITH_STATE) else made


@objects(f"{_TRANSFORMED}.apply", f"{_WITH_STATE}.apply")
def apply(call: ObjectCall) -> Value:
    """`t.apply(params, key, x)`: computes with all of them."""
    made = applied(call)
    return several(made, made) if call.name.startswith(_WITH_STATE) else made


__all__ = ["NOTHING", "PLAIN", "apply", "init", "transformed", "without"]
