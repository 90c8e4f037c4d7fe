"""Which expressions surely make a NumPy array, and which uses of one leave it as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.transfer import METADATA_ATTRIBUTES
from placement_lint.placement.domain import contents, values
from placement_lint.rules.transfers.array_sizes import is_numpy_sampler, sampled_size
from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import Arguments, string_value

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from placement_lint.rules.context import Context

# Each gives an array of its own, whatever it is given.
_NEW = frozenset(
    f"numpy.{name}"
    for name in (
        "arange array concatenate copy empty eye fromfile full genfromtxt hstack identity linspace "
        "loadtxt logspace ones stack tile tril triu vstack zeros random.permutation random.rand "
        "random.randn"
    ).split()
)
_SHARING = frozenset({"numpy.asarray", "numpy.ascontiguousarray", "numpy.memmap"})
_COPYING_METHODS = frozenset({"astype", "copy", "flatten", "repeat"})
_VIEWING_METHODS = frozenset({"ravel", "reshape", "squeeze", "swapaxes", "transpose"})
_READING_METHODS = frozenset({
    "argmax", "argmin", "astype", "copy", "flatten", "max", "mean", "min", "std", "sum", "tobytes",
    "tolist", "var",
})  # fmt: skip
_READING_CALLS = frozenset({"builtins.len", "builtins.print", "builtins.repr", "builtins.str"})
_WRITING_FUNCTIONS = frozenset(
    "asanyarray asarray ascontiguousarray broadcast_to copyto expand_dims fill_diagonal lib "
    "moveaxis place put putmask ravel reshape rollaxis shuffle split squeeze swapaxes transpose "
    "array_split atleast_1d atleast_2d put_along_axis nditer flip fliplr flipud rot90".split()
)
_MAX_DEPTH = 6


def makes_numpy_array(
    node: cst.BaseExpression, ctx: Context, *, own: bool = False, depth: int = _MAX_DEPTH
) -> bool:
    """Return whether an expression surely is an array of NumPy, and no number.

    Names are followed that are bound once. With `own`, only what shares its memory with nothing
    else counts: it is changed through its own name or not at all.
    """
    if depth == 0:
        return False
    if isinstance(node, cst.Name):
        value = followed(node, ctx)
        known = not own and not isinstance(value, cst.Name)
        return known and makes_numpy_array(value, ctx, depth=depth - 1)
    if isinstance(node, cst.BinaryOperation):
        sides = [makes_numpy_array(each, ctx, depth=depth - 1) for each in (node.left, node.right)]
        return all(
            is_array or isinstance(side, cst.Integer | cst.Float)
            for is_array, side in zip(sides, (node.left, node.right), strict=True)
        ) and any(sides)
    return isinstance(node, cst.Call) and _call_makes(node, ctx, own, depth)


def _call_makes(node: cst.Call, ctx: Context, own: bool, depth: int) -> bool:
    name = ctx.called(node)
    arguments = Arguments(node)
    if is_numpy_sampler(node, ctx):
        return sampled_size(node, ctx) is not None
    if name is not None:
        if name in _NEW:
            # random.rand() gives a number.
            return not name.startswith("numpy.random.") or bool(arguments.values)
        if name == "numpy.load":
            return (string_value(arguments.get(0, "file")) or "").endswith(".npy")
        return name in _SHARING and not own
    if not isinstance(node.func, cst.Attribute):
        return False
    method, receiver = node.func.attr.value, node.func.value
    if method in _COPYING_METHODS and not arguments.is_open:
        return "copy" not in arguments.keywords and makes_numpy_array(
            receiver, ctx, depth=depth - 1
        )
    # A view of an array that has no other name is as good as its own.
    return method in _VIEWING_METHODS and makes_numpy_array(receiver, ctx, own=own, depth=depth - 1)


def only_reads(use: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a use of an array neither changes it nor hands it to what may."""
    parent = ctx.parent(use)
    if isinstance(parent, cst.Attribute):
        if parent.attr.value in METADATA_ATTRIBUTES:
            return True
        call = ctx.parent(parent)
        return (
            parent.attr.value in _READING_METHODS
            and isinstance(call, cst.Call)
            and call.func is parent
            and Arguments(call).get(None, "out", "copy") is None
        )
    if isinstance(parent, cst.BinaryOperation | cst.Comparison | cst.ComparisonTarget):
        return True
    if isinstance(parent, cst.Arg):
        call = ctx.parent(parent)
        name = ctx.called(call)
        if name is None or parent.star or (parent.keyword and parent.keyword.value == "out"):
            return False
        if name in _READING_CALLS or name.startswith("jax."):
            return True
        return name.startswith("numpy.") and name.rpartition(".")[2] not in _WRITING_FUNCTIONS
    return False


def is_numpy_array(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an expression is NumPy's array, perhaps out of a tree of unknown structure."""
    held = ctx.flow.value(node)
    return bool(held) and all(
        is_numpy(atom.leaf if isinstance(atom, values.AnyTree) else {atom}) for atom in held
    )


def is_numpy(held: AbstractSet[values.Atom]) -> bool:
    """Return whether a value is NumPy's: `jax.device_put` takes no tensor of PyTorch."""
    return bool(held) and all(isinstance(a, values.Host) and not a.is_tensor for a in held)


def is_numpy_tree(tree: cst.BaseExpression, ctx: Context) -> bool:
    leaves = list(contents.leaves_of(ctx.flow.tree_of(tree)))
    return bool(leaves) and all(is_numpy(leaf) for leaf in leaves)
