"""The calls that create arrays which are put somewhere: on the default device, and how large."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.effects import Effect
from placement_lint.jaxmodel.transfer import LIKE_CREATORS
from placement_lint.placement.domain import values
from placement_lint.placement.domain.devices import is_host
from placement_lint.rules.commitment.putting import TREE_MAPS
from placement_lint.rules.transfers.array_sizes import (
    SMALL,
    element_count,
    filled_by_partial,
    filled_count,
    is_supposed,
    literal_count,
    size_text,
)
from placement_lint.rules.transfers.numpy_values import is_numpy_array, is_numpy_tree
from placement_lint.rules.transfers.put_targets import is_sharding
from placement_lint.rules.transfers.put_trees import is_display, parts_of
from placement_lint.rules.transfers.putting_later import creator_of, leaves_made, returned_by
from placement_lint.rules.transfers.staged_fixes import CONVERTING
from placement_lint.semantic.enclosing import is_in_test
from placement_lint.semantic.followed import followed
from placement_lint.semantic.returned import only_return
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import function_of

if TYPE_CHECKING:
    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context
    from placement_lint.rules.transfers.putting_functions import Putting

# Calls whose whole result is new, of no array that was there before.
_MAKING = frozenset({Effect.CREATE, Effect.SAMPLE, Effect.LOAD})
JOINING = frozenset(
    f"jax.numpy.{name}" for name in "column_stack concatenate dstack hstack stack vstack".split()
)
# With `device=` these fill one part of the array on the default device, and copy it to each device.
FILLING = frozenset(f"jax.numpy.{name}" for name in "full ones zeros".split())
_LARGE_IN_TESTS = 2**24
"""Elements: 64 MiB of 32-bit numbers."""


class Creation:
    """A call that may create an array which is put somewhere, or a tree of them."""

    def __init__(
        self, call: cst.Call, made: cst.Call, name: str, there: Context, *, is_spread: bool
    ) -> None:
        """`call` stands in the file that puts; `made` is what it comes to, in the file `there`,
        and calls the function `name`. `is_spread`: it is put to a sharding.
        """
        self.call = call
        self.made = made
        self.name = name
        self.there = there
        self.is_spread = is_spread
        self._filled = filled_by_partial(made, FILLING, there)

    @property
    def is_returned(self) -> bool:
        """Whether a function of the program creates it."""
        return self.made is not self.call

    @property
    def is_partial(self) -> bool:
        """Whether it calls a partial of a function that fills an array."""
        return self._filled is not None

    @functools.cached_property
    def mapped(self) -> str | None:
        """What creates each leaf of a tree."""
        return _mapped_by(self.made, self.name, self.is_spread, self.there)

    @functools.cached_property
    def is_large(self) -> bool | None:
        """Whether it surely creates a large array; None: it may create none."""
        if self._filled is not None:
            return self.count is not None
        if self.mapped is not None:
            return False
        return _made_here(self.made, self.name, self.is_spread, self.there)

    @functools.cached_property
    def count(self) -> int | None:
        """How many elements a large array has, where that is known."""
        if self._filled is not None:
            return filled_count(self._filled[1], self.there)
        return element_count(self.made, self.there) if self.is_large else None

    def message(self) -> str:
        """Return what a finding says of it."""
        done = "the default device, then the result is copied"
        if self.is_spread:
            done = "a single device, then the result is resharded"
        name = short_name(self.mapped or self.name)
        return f"`{name}` allocates on {done}{size_text(self.made, self.there)}"


def creation_of(operand: cst.BaseExpression, put: Putting, ctx: Context) -> Creation | None:
    """Return the call that creates what is put somewhere; None where it is not created so."""
    call = creator_of(operand, ctx)
    returned, there = returned_by(call, ctx) or (call, ctx)
    if returned is not call and is_display(returned, there):
        # One of its arrays is enough.
        found = [creator_of(part, there) for part in parts_of(returned, there)]
        if not any(isinstance(atom, values.Array) for atom in there.flow.value(returned)):
            # What becomes of one array in its function is asked by itself.
            found += leaves_made(returned, there)
        made = next((each for each in found if _is_made(each, put, there)), None)
    else:
        made = returned
    if not isinstance(call, cst.Call) or not isinstance(made, cst.Call):
        return None
    filled = filled_by_partial(made, FILLING, there)
    name = there.called(made) if filled is None else filled[0]
    if name is None or (name not in TREE_MAPS and there.names.table.get(name) is None):
        return None
    return Creation(call, made, name, there, is_spread=is_sharding(put.target, put.of))


def is_small(count: int | None, node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether an array of so many elements is not worth a finding.

    One that a test makes is gone after it: only what takes much memory is.
    """
    if is_in_test(node, ctx):
        return count is None or count < _LARGE_IN_TESTS
    return count is not None and count < SMALL


def known_count(operand: cst.BaseExpression, ctx: Context) -> int | None:
    """Return the number of elements of what a call of the program gives, by what that is passed."""
    from placement_lint.rules.meshes.known_shapes import known_shape

    shape = known_shape(operand, ctx)
    sizes = [each for each in shape or (None,) if each is not None]
    return math.prod(sizes) if shape is not None and len(sizes) == len(shape) else None


def short_name(name: str) -> str:
    """Return the name of a function as most programs write it."""
    return name.replace("jax.numpy.", "jnp.")


def _made_here(call: cst.Call, name: str, is_spread: bool, ctx: Context) -> bool | None:
    """Return whether a call makes a large array of no other.

    None: it does not, or it may not. False: it does, and nothing says that it is large.
    """
    row = ctx.names.table.get(name)
    arguments = Arguments(call)
    if row is None or arguments.get(None, "device") is not None or name in LIKE_CREATORS:
        return None
    if row.effect in CONVERTING:
        first = arguments.get(0, "object", "a")
        if first is None or not is_numpy_array(first, ctx):
            return None
        count = literal_count(followed(first, ctx), ctx)
    elif name in JOINING:
        return _joined_here(arguments.get(0, "arrays", "tup"), is_spread, call, ctx)
    elif row.effect in _MAKING and not name.startswith("jax.numpy.array"):
        held = ctx.flow.value(call)
        key = arguments.get(0, "key") if row.effect is Effect.SAMPLE else None
        count = element_count(call, ctx)
        # Keys are hardly ever committed: one that a function is given is none, for a large array.
        is_large = count is not None and count >= SMALL
        if _is_uncommitted(key, ctx, may_be_unknown=is_spread or is_large):
            held -= values.UNKNOWN | values.DOUBTFUL
        if not _is_new(held, call, ctx):
            return None
        if key is not None and is_large and _is_unknown(key, ctx):
            return False
    else:
        return None
    if count is not None and count < SMALL:
        return None
    return count is not None and not is_supposed(call, ctx)


def _joined_here(
    first: cst.BaseExpression | None, is_spread: bool, call: cst.Call, ctx: Context
) -> bool | None:
    """Return whether `jnp.concatenate` and the like make a large array: see `_made_here`."""
    if first is None or _is_joined_on_host(first, ctx):
        return None
    if is_spread and _repeats_one(first):
        count = literal_count(first, ctx)
        return None if count is not None and count < SMALL else False
    parts = _parts_joined(first)
    counts: list[int | None] = [None]
    if not parts and not is_numpy_tree(first, ctx):
        return None
    if not all(_is_of_host(part, ctx) for part in parts):
        if not all(_is_filled_here(part, ctx) for part in parts):
            return None
        counts = [element_count(creator_of(part, ctx), ctx) for part in parts]
        if not isinstance(first, cst.List | cst.Tuple) and None in counts:
            return None
    elif isinstance(first, cst.List | cst.Tuple):
        counts = [literal_count(followed(part, ctx), ctx) for part in parts] or counts
    count = None if None in counts else sum(each or 0 for each in counts)
    if count is not None and count < SMALL:
        return None
    return count is not None and not is_supposed(call, ctx)


def _is_joined_on_host(parts: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether anything among what is joined is committed to the host: then all of it is."""
    return any(
        isinstance(atom, values.Array) and atom.committed and is_host(atom.device)
        for name in ctx.tree.every(cst.Name, below=parts)
        for atom in ctx.flow.value(name)
    )


def _parts_joined(first: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return what is joined: each part, or the one of which all are made; nothing if unknown."""
    if isinstance(first, cst.BinaryOperation) and _repeats_one(first):
        first = first.left if isinstance(first.left, cst.List) else first.right
    if isinstance(first, cst.List | cst.Tuple):
        return [part.value for part in first.elements]
    return [first.elt] if isinstance(first, cst.ListComp) else []


def _is_filled_here(part: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a part is an array that is filled in place: `jnp.zeros(n)`."""
    made = creator_of(part, ctx)
    row = ctx.names.table.get(ctx.called(made) or "")
    if not isinstance(made, cst.Call) or row is None or row.effect is not Effect.CREATE:
        return False
    is_placed = Arguments(made).get(None, "device") is not None or Arguments(made).is_open
    return not is_placed and _is_new(ctx.flow.value(made), made, ctx)


def _is_of_host(part: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether something is a NumPy array, or an array that is made of one here."""
    made = creator_of(part, ctx)
    row = ctx.names.table.get(ctx.called(made) or "")
    first = None
    if isinstance(made, cst.Call) and row is not None and row.effect in CONVERTING:
        first = Arguments(made).get(0, "object", "a")
    return is_numpy_array(part if first is None else first, ctx)


def _mapped_by(call: cst.Call, name: str, is_spread: bool, ctx: Context) -> str | None:
    """Return what makes each leaf of a tree that is new: `jnp.asarray` of a tree of NumPy, in
    `jax.tree.map(jnp.asarray, batch)`, or `jnp.zeros` in `lambda p: jnp.zeros(p.shape)`.
    """
    arguments = Arguments(call).positional
    if name not in TREE_MAPS or len(arguments) < 2 or len(call.args) != len(arguments):
        return None
    function, tree, *others = arguments
    converting = ctx.names.qualified(function)
    row = ctx.names.table.get(converting or "")
    if row and row.effect in CONVERTING and not others and is_numpy_tree(tree, ctx):
        return converting
    of_leaf = function_of(function, ctx.names)
    if isinstance(of_leaf, cst.Lambda):
        leaf: cst.BaseExpression | None = of_leaf.body
    else:
        is_plain = isinstance(of_leaf, cst.FunctionDef) and not of_leaf.decorators
        leaf = only_return(of_leaf, ctx) if of_leaf is not None and is_plain else None
    made = None if leaf is None else creator_of(leaf, ctx)
    made_by = ctx.called(made) if isinstance(made, cst.Call) else None
    if not isinstance(made, cst.Call) or made_by is None:
        return None
    return None if _made_here(made, made_by, is_spread, ctx) is None else made_by


def _is_made(node: cst.BaseExpression, put: Putting, ctx: Context) -> bool:
    """Return whether a call makes a new array on the default device: of a file, or a large one.

    What a function makes of sizes that it is given may be small, as parameters are in an example.
    """
    name = ctx.called(node) if isinstance(node, cst.Call) else None
    row = ctx.names.table.get(name or "")
    if not isinstance(node, cst.Call) or name is None or row is None:
        return False
    made = _made_here(node, name, is_sharding(put.target, put.of), ctx)
    return bool(made) or (made is False and row.effect in CONVERTING | {Effect.LOAD})


def _repeats_one(node: cst.BaseExpression) -> bool:
    """Return whether a list is one thing many times: `[x] * n`, `[x for _ in devices]`."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply):
        parts = [each for each in (node.left, node.right) if isinstance(each, cst.List)]
        return len(parts) == 1 and len(parts[0].elements) == 1
    if isinstance(node, cst.ListComp) and isinstance(node.elt, cst.Name):
        target = node.for_in.target
        is_other = isinstance(target, cst.Name) and target.value != node.elt.value
        return is_other and node.for_in.inner_for_in is None
    return False


def _is_uncommitted(key: cst.BaseExpression | None, ctx: Context, *, may_be_unknown: bool) -> bool:
    """Return whether a key is not committed, so that the default device draws the numbers.

    What is spread over devices after that is whole before it, wherever an unknown key may be.
    """
    held = frozenset() if key is None else ctx.flow.value(key)
    return bool(held) and all(
        (isinstance(atom, values.Array) and not atom.committed)
        or (may_be_unknown and isinstance(atom, values.Anything))
        for atom in held
    )


def _is_unknown(key: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether it is not known where a key is."""
    return any(isinstance(atom, values.Anything) for atom in ctx.flow.value(key))


def _is_new(held: Value, call: cst.Call, ctx: Context) -> bool:
    """Whether a value is made of nothing but uncommitted arrays that the call itself made."""
    index = ctx.tree.index(call)
    for atom in held:
        if isinstance(atom, values.Array):
            is_own = atom.origin is not None and atom.origin.created.node == index
            is_new = is_own and not atom.committed and not atom.is_small
        elif isinstance(atom, values.Sequence | values.Mapping):
            is_new = _is_new(atom.element, call, ctx)
        else:
            is_new = isinstance(atom, values.Plain)
        if not is_new:
            return False
    return bool(held)
