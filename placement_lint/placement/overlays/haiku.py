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
from placement_lint.placement.engine.pytrees import named_tree_of
from placement_lint.placement.overlays.parameters import applied, drawn, is_open, several
from placement_lint.placement.overlays.registry import ObjectCall, objects

_TRANSFORMED = "haiku.Transformed"
_WITH_STATE = "haiku.TransformedWithState"
_TREES = "haiku.data_structures"


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
    made = named_tree_of(drawn(call, key))
    return several(made, made) if call.name.startswith(_WITH_STATE) else made


@objects(f"{_TRANSFORMED}.apply", f"{_WITH_STATE}.apply")
def apply(call: ObjectCall) -> Value:
    """`t.apply(params, key, x)`: computes with all of them."""
    made = applied(call)
    return several(made, made) if call.name.startswith(_WITH_STATE) else made


# -- trees of parameters ---------------------------------------------------------------------------


@objects(*(f"{_TREES}.{name}" for name in ("filter", "map", "partition", "partition_n")))
def sorted_by(call: ObjectCall) -> Value:
    """`hk.data_structures.map(f, params)`: f is given the names, and each leaf.

    Of `filter` and its like, f says what becomes of it.
    """
    function, tree = call.argument(0, "f", "fn", "predicate"), call.argument(1, "structure")
    if function is None or tree is None:
        return UNKNOWN
    of = call.name.rpartition(".")[2]
    known: dict[Value, Value] = {}

    def called(leaf: Value) -> Value:
        if leaf not in known:
            given = call.called(function, PLAIN, PLAIN, leaf)
            known[leaf] = given if of == "map" else leaf
        return known[leaf]

    made = call.rebuilt(tree, called)
    if of == "partition":
        return several(made, made)
    return value(Sequence(None, made)) if of == "partition_n" else made


@objects(f"{_TREES}.merge")
def merged(call: ObjectCall) -> Value:
    """`hk.data_structures.merge(first, second)`: dicts of the arrays of both."""
    given = call.arguments.positional
    leaves = call.arrays_of(join(*given)) if given else UNKNOWN
    is_known = leaves and not is_open(leaves) and call.arguments.rest is None
    return named_tree_of(leaves) if is_known else UNKNOWN


@objects(f"{_TREES}.traverse")
def traversed(call: ObjectCall) -> Value:
    """`hk.data_structures.traverse(params)`: yields the names of each leaf, and it."""
    leaves = call.arrays_of(call.argument(0, "structure") or UNKNOWN)
    return value(Sequence(None, several(PLAIN, PLAIN, leaves or UNKNOWN)))


@objects(*(f"{_TREES}.to_{name}_dict" for name in ("haiku", "immutable", "mutable")))
def as_dict(call: ObjectCall) -> Value:
    """`hk.data_structures.to_mutable_dict(params)`: a dict of the same arrays."""
    held = call.argument(0, "mapping", "structure", "s")
    return UNKNOWN if held is None else call.rebuilt(held, lambda leaf: leaf)


@objects(*(f"{_TREES}.{name}" for name in ("is_subset", "tree_bytes", "tree_size")))
def described(_: ObjectCall) -> Value:
    """`hk.data_structures.tree_size(params)`: reads shapes."""
    return PLAIN


__all__ = ["NOTHING", "PLAIN", "apply", "init", "transformed", "without"]
