"""Which expressions surely make a NumPy array, and which uses of one leave it as it is."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.known_packages import LIBRARY_PREFIXES
from placement_lint.jaxmodel.numpy_calls import NEW_ARRAYS
from placement_lint.jaxmodel.shapes import BROADCASTING, SIZE_KEEPING
from placement_lint.jaxmodel.transfer import METADATA_ATTRIBUTES
from placement_lint.placement.domain import contents, values
from placement_lint.rules.transfers.array_sizes import is_numpy_sampler, sampled_size
from placement_lint.rules.transfers.program_returns import returned_by
from placement_lint.semantic.followed import followed, value_for
from placement_lint.semantic.own_attributes import own_attribute
from placement_lint.syntax.calls import Arguments, string_value

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

_NEW = NEW_ARRAYS | {"numpy.random.permutation", "numpy.random.rand", "numpy.random.randn"}
"""Each gives an array of its own, whatever it is given; a number, where it is given nothing."""
_SHARING = frozenset(
    {"numpy.asarray", "numpy.ascontiguousarray", "numpy.broadcast_to", "numpy.memmap"}
)
_COPYING_METHODS = frozenset({"astype", "copy", "flatten", "repeat"})
_VIEWING_METHODS = frozenset({"ravel", "reshape", "squeeze", "swapaxes", "transpose"})
_OF_NUMPY = frozenset(
    f"numpy.{name}"
    for name in (
        *SIZE_KEEPING, *BROADCASTING,
        *(
            "clip diff empty_like equal expand_dims full_like greater greater_equal "
            "isin less less_equal logical_and logical_or not_equal ones_like pad repeat roll "
            "swapaxes take where zeros_like"
        ).split(),
    )
)  # fmt: skip
"""Each gives an array of NumPy for one of NumPy, whatever else it is given."""
_OF_ITS_OWN = frozenset(
    f"numpy.{name}"
    for name in (
        *BROADCASTING,
        *(
            "abs absolute clip cos cosh cumprod cumsum degrees diff exp exp2 expm1 log log10 log1p "
            "log2 negative pad radians reciprocal rint roll round sign sin sinh sqrt square tan "
            "tanh tril triu"
        ).split(),
    )
)  # fmt: skip
"""Each of these gives one that shares its memory with nothing, unless it is passed `out`."""
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
_MAX_DEPTH = 8
_MOST_BINDINGS = 16
"""Assignments to one name that are looked at."""


def makes_numpy_array(
    node: cst.BaseExpression, ctx: Context, *, own: bool = False, depth: int = _MAX_DEPTH
) -> bool:
    """Return whether an expression surely is an array of NumPy, and no number.

    Names are followed, and attributes that a class assigns once. With `own`, only what shares its
    memory with nothing else counts: it is changed through its own name or not at all.
    """
    if depth == 0:
        return False
    if isinstance(node, cst.Name):
        return not own and _is_bound_to_numpy(node, ctx, depth - 1)
    if isinstance(node, cst.Attribute):
        held = None if own else own_attribute(node, ctx)
        return held is not None and makes_numpy_array(held, ctx, depth=depth - 1)
    if isinstance(node, cst.UnaryOperation):
        return not isinstance(node.operator, cst.Not) and makes_numpy_array(
            node.expression, ctx, depth=depth - 1
        )
    if isinstance(node, cst.Subscript):
        return not own and _takes_part(node) and makes_numpy_array(node.value, ctx, depth=depth - 1)
    if isinstance(node, cst.BinaryOperation | cst.Comparison):
        parts = _operands(node)
        sides = [makes_numpy_array(each, ctx, depth=depth - 1) for each in parts]
        return all(
            is_array or isinstance(side, cst.Integer | cst.Float)
            for is_array, side in zip(sides, parts, strict=True)
        ) and any(sides)
    return isinstance(node, cst.Call) and _call_makes(node, ctx, own, depth)


def _operands(node: cst.BinaryOperation | cst.Comparison) -> list[cst.BaseExpression]:
    """Return the two operands of arithmetic or of a comparison; of any other one, itself."""
    if isinstance(node, cst.BinaryOperation):
        return [node.left, node.right]
    only = node.comparisons[0]
    compares = len(node.comparisons) == 1 and not isinstance(
        only.operator, cst.In | cst.Is | cst.IsNot | cst.NotIn
    )
    return [node.left, only.comparator] if compares else [node]


def _takes_part(node: cst.Subscript) -> bool:
    """Return whether an index takes an array out of one, and no number: `x[:, None]`."""
    return any(
        isinstance(each.slice, cst.Slice)
        or (
            isinstance(each.slice, cst.Index)
            and isinstance(each.slice.value, cst.Name)
            and each.slice.value.value == "None"
        )
        for each in node.slice
    )


def _is_bound_to_numpy(name: cst.Name, ctx: Context, depth: int) -> bool:
    """Return whether all that a name may be bound to where it is read is an array of NumPy."""
    value = followed(name, ctx)
    if not isinstance(value, cst.Name):
        return makes_numpy_array(value, ctx, depth=depth)
    owner = ctx.names.owner(name.value, ctx.names.scope(name))
    bound = [each.node for each in ctx.names.bindings(name)]
    if len(bound) > _MOST_BINDINGS:
        return False
    reaching = [each for each in bound if _may_reach(each, name, ctx)]
    assigned = [each for each in reaching if isinstance(each, cst.Assign)]
    if not assigned or len(assigned) < len(reaching):
        return False
    known = ctx.module.fact(_known_names)
    key: tuple[int | str, ...] = (id(owner), name.value, *(id(each) for each in assigned))
    if key not in known:
        # Until it is known: for what is made of the same array.
        known[key] = True
        values = [value_for(name.value, each, ctx) for each in assigned]
        if not all(
            each is not None and makes_numpy_array(each, ctx, depth=depth) for each in values
        ):
            # Others were found while this was taken to be one.
            while known.popitem()[0] != key:
                pass
            known[key] = False
    return known[key]


def _known_names(_facts: ModuleFacts) -> dict[tuple[int | str, ...], bool]:
    """Make the store of one file: whether some bindings of a name all are to arrays of NumPy."""
    return {}


def _may_reach(binding: cst.CSTNode, use: cst.Name, ctx: Context) -> bool:
    """Return whether a name may still be bound by a statement where it is read: not by a later
    one, but in a loop, nor below an `if` that returns.
    """
    if not ctx.tree.contains(binding):
        return False
    is_late = ctx.tree.index(binding) > ctx.tree.index(use) or ctx.tree.is_inside(use, binding)
    for around in ctx.ancestors(binding):
        if ctx.tree.is_inside(use, around):
            in_loop = (around, *ctx.ancestors(around)) if is_late else ()
            return not is_late or any(
                isinstance(each, cst.For | cst.While)
                for each in itertools.takewhile(
                    lambda each: not isinstance(each, cst.FunctionDef | cst.Lambda), in_loop
                )
            )
        if isinstance(around, cst.IndentedBlock) and around.body:
            last = around.body[-1]
            if isinstance(last, cst.SimpleStatementLine) and isinstance(
                last.body[-1], cst.Return | cst.Raise
            ):
                return False
    return True


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
        if name in _OF_NUMPY or name in _OF_ITS_OWN:
            # With a mask alone, np.where gives indices, one array for each axis.
            is_tuple = name == "numpy.where" and len(node.args) == 1
            may_share = own and (name not in _OF_ITS_OWN or arguments.may_pass(None, "out"))
            return not (may_share or is_tuple) and any(
                makes_numpy_array(each, ctx, depth=depth - 1) for each in arguments.positional
            )
        if name in _SHARING:
            return not own
    if not own and _is_given(node, name, ctx, depth):
        return True
    if name is not None or not isinstance(node.func, cst.Attribute):
        return False
    method, receiver = node.func.attr.value, node.func.value
    if method in _COPYING_METHODS and not arguments.is_open:
        is_copy = "copy" not in arguments.keywords
        return (is_copy or not own) and makes_numpy_array(receiver, ctx, depth=depth - 1)
    # A view of an array that has no other name is as good as its own.
    return method in _VIEWING_METHODS and makes_numpy_array(receiver, ctx, own=own, depth=depth - 1)


def _is_given(node: cst.Call, name: str | None, ctx: Context, depth: int) -> bool:
    """Return whether a function of the program that a call runs returns arrays of NumPy only."""
    if name is not None and name.startswith(LIBRARY_PREFIXES):
        return False
    returned = returned_by(node, ctx)
    return bool(returned) and all(
        makes_numpy_array(value, there, depth=depth - 1) for value, there in returned
    )


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
