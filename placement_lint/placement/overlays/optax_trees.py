"""Models of optax's arithmetic of trees: `optax.tree.add(a, b)`, `optax.tree_utils.tree_add`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.placement.domain.contents import arrays
from placement_lint.placement.domain.values import (
    HOST,
    PLAIN,
    UNKNOWN,
    Host,
    Plain,
    Value,
    join,
)
from placement_lint.placement.overlays.parameters import constants_like, drawn, placed
from placement_lint.placement.overlays.registry import ObjectCall, objects

if TYPE_CHECKING:
    from placement_lint.placement.engine.arguments import Operand

_OF_OPERATORS = "add add_scale div mul scale sub"
_ELEMENTWISE = f"""
{_OF_OPERATORS} bias_correction cast cast_like clip conj real update_infinity_moment update_moment
update_moment_per_elem_norm where
"""
_OLD_ELEMENTWISE = "tree_add_scalar_mul tree_scalar_mul"
_GIVING_NUMPY = frozenset(f"{_OF_OPERATORS} add_scalar_mul scalar_mul".split())
"""What gives NumPy arrays of NumPy arrays."""
_NUMBERS = "allclose max min norm sum vdot"
_OLD_NUMBERS = "tree_l1_norm tree_l2_norm tree_linf_norm"
_TREE_IS_SECOND = frozenset({"scalar_mul", "scale", "where"})
_OF_TREES = ("tree", "tree_x", "updates", "moment")
"""Names of the parameter that is the tree, of which what is given is another one."""


def _names(functions: str, old: str = "") -> list[str]:
    """Return the qualified names of functions of which the module of old names has others too."""
    found = [f"tree.{each}" for each in functions.split()]
    found += [f"tree_utils.tree_{each}" for each in functions.split()]
    return [f"optax.{name}" for name in [*found, *(f"tree_utils.{each}" for each in old.split())]]


def _short(call: ObjectCall) -> str:
    return call.name.rpartition(".")[2].removeprefix("tree_")


@objects(*_names(_ELEMENTWISE, _OLD_ELEMENTWISE))
def elementwise(call: ObjectCall) -> Value:
    """`optax.tree.sub(a, b)`: a tree like the first one, computed leaf by leaf."""
    name = _short(call)
    position = 1 if name in _TREE_IS_SECOND else 0
    given = placed(call)
    tree = call.argument(position, *_OF_TREES)
    if given is None or tree is None:
        call.escapes(*(held for _, held in call.operands))
        return UNKNOWN
    place = next((place for place, held in given if held is tree), call.on.index(call.node))
    # By its type only, the second tree says what becomes of the first one.
    beside = [] if name == "cast_like" else [(i, held) for i, held in given if held is not tree]
    others = [(index, call.arrays_of(held)) for index, held in beside]
    known: dict[Value, Value] = {}

    def of(leaf: Value) -> Value:
        if leaf not in known:
            known[leaf] = _computed(call, [(place, leaf), *others])
        return known[leaf]

    return call.rebuilt(tree, of)


def _computed(call: ObjectCall, operands: list[Operand]) -> Value:
    """Return what is computed of a leaf, and of what is beside it in the other trees."""
    name = _short(call)
    if any(True for _, held in operands for _ in arrays(held)):
        if not name.startswith("cast"):
            return call.computed(operands)
        # Of the type that is wanted, an array comes back as it is.
        return join(operands[0][1], call.computed(operands, certain=False))
    if not all(isinstance(atom, Host | Plain) for _, held in operands for atom in held):
        return UNKNOWN
    if name not in _GIVING_NUMPY and not name.startswith("cast"):
        return call.created()
    return HOST if any(isinstance(atom, Host) for _, held in operands for atom in held) else PLAIN


@objects(*_names(_NUMBERS, _OLD_NUMBERS))
def number(call: ObjectCall) -> Value:
    """`optax.tree.norm(tree)`: computes with all leaves."""
    return call.computed(call.operands)


@objects(*_names("full_like ones_like zeros_like"))
def like(call: ObjectCall) -> Value:
    """`optax.tree.zeros_like(tree)`: as `jnp.zeros_like` of each leaf."""
    tree = call.argument(0, "tree")
    return UNKNOWN if tree is None else call.rebuilt(tree, lambda leaf: constants_like(call, leaf))


@objects(*_names("random_like"))
def random_like(call: ObjectCall) -> Value:
    """`optax.tree.random_like(key, tree)`: drawn where the key says."""
    key, tree = call.argument(0, "rng_key"), call.argument(1, "target_tree")
    if key is None or tree is None:
        return UNKNOWN
    made = drawn(call, key, all_drawn=True)
    return call.rebuilt(tree, lambda _: made)


@objects(*_names("size dtype"))
def size(_: ObjectCall) -> Value:
    """`optax.tree.size(tree)`: reads shapes."""
    return PLAIN


@objects("optax.periodic_update")
def periodic(call: ObjectCall) -> Value:
    """`optax.periodic_update(new, old, step, period)`: one of both trees, by `jax.lax.cond`."""
    old = call.argument(1, "old_tensors")
    made = call.computed(call.operands)
    if old is None:
        return UNKNOWN
    return call.rebuilt(old, lambda _: made)


__all__ = ["elementwise", "like", "number", "periodic", "random_like", "size"]
