"""How many elements an array has that a call makes, where the source says so."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.shapes import BROADCASTING, SIZE_KEEPING
from placement_lint.quantities import size
from placement_lint.semantic.followed import assigned_value, bound_before, followed
from placement_lint.syntax.calls import Arguments, integer_value, is_none, string_value
from placement_lint.syntax.collection_methods import COPYING
from placement_lint.syntax.definitions import applied

if TYPE_CHECKING:
    from collections.abc import Collection

    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

SMALL = 2**16
"""Fewer elements than this are not worth a finding, wherever they go."""

_SHAPED = {
    "zeros": 0, "ones": 0, "empty": 0, "full": 0,
    "ball": 2, "bernoulli": 2, "bits": 1, "exponential": 1, "gumbel": 1, "laplace": 1,
    "normal": 1, "randint": 1, "rademacher": 1, "truncated_normal": 3, "uniform": 1,
}  # fmt: skip
_MODULES = ("jax.numpy.", "jax.random.", "jax.lax.", "jax.nn.", "numpy.")
_SIZES = {
    "beta": 2, "binomial": 2, "choice": 1, "exponential": 1, "gamma": 2, "gumbel": 2,
    "integers": 2, "laplace": 2, "normal": 2, "poisson": 1, "randint": 2, "random": 0,
    "random_sample": 0, "standard_normal": 0, "uniform": 2,
}  # fmt: skip
"""NumPy's samplers, and the position of their parameter `size`: without it they give a number."""
_TYPED = {
    "empty": 1, "eye": 3, "full": 2, "normal": 2, "ones": 1, "uniform": 2, "zeros": 1,
}  # fmt: skip
"""The position of the parameter `dtype`."""
_ITEM_SIZES = {
    "bool": 1, "bool_": 1, "int8": 1, "uint8": 1, "bfloat16": 2, "float16": 2, "int16": 2,
    "uint16": 2, "complex64": 8, "float32": 4, "int32": 4, "uint32": 4,
}  # fmt: skip
"""Of types that mean the same whether 64 bits are enabled or not."""
_KEEPING = frozenset({
    "jax.device_put", "jax.numpy.array", "jax.numpy.asarray", "numpy.array", "numpy.asarray",
})  # fmt: skip
"""What gives an array of as many numbers of the same type, if it is not told another one."""
_LARGE = 2**20
"""Bytes from which on a message says how many they are."""
_MAX_HOPS = 6
_MOST_BINDINGS = 8
_MOST_SUPPOSED = 64
"""How many expressions are asked for what a size depends on."""
_MOST_BITS = 64
"""Powers that have more are not calculated: no array is as large."""
_MAX_PART_HOPS = 2
"""Through how many names the parts of what is joined are followed: each may have as many parts."""
_NUMBERS = frozenset({"builtins.float", "builtins.int", "builtins.bool"})
_COUNTS = frozenset({"jax.device_count", "jax.local_device_count"})
_LISTS = frozenset({"jax.devices", "jax.local_devices"})
_WIDE = 64
"""A side of so many elements is one of a matrix, beside another one of unknown length."""
_DEVICES = 16
"""How many devices are taken to be there, where the source asks for their number."""
_GENERATORS = frozenset({"numpy.random.default_rng", "numpy.random.RandomState"})
_MESHES = frozenset({"jax.sharding.Mesh", "jax.make_mesh"})
_KEEPING_METHODS = frozenset({
    "astype", "block_until_ready", "copy", "flatten", "ravel", "round", "squeeze", "swapaxes",
    "transpose",
})  # fmt: skip
_KEEPING_ATTRIBUTES = frozenset({"T", "imag", "mT", "real"})
_SCALARS = frozenset({
    "bfloat16", "bool_", "complex64", "float16", "float32", "float64", "int16", "int32", "int64",
    "int8", "uint16", "uint32", "uint64", "uint8",
})  # fmt: skip
_FEW = frozenset({
    "batch", "batches", "classes", "devices", "experts", "heads", "hosts", "layers", "processes",
    "prompts", "replicas", "reqs", "requests", "seqs", "sequences", "shards", "slots", "workers",
})  # fmt: skip
"""What there are never tens of thousands of."""
_JOINING = frozenset({"concatenate", "hstack", "stack", "vstack"})


def element_count(node: cst.BaseExpression, ctx: Context, hops: int = _MAX_HOPS) -> int | None:
    """Return the number of elements of what an expression makes; None where it is not written out.

    Of what only takes part of an array, or broadcasts it, this is the most that it may be.
    """
    if not hops:
        return None
    if isinstance(node, cst.Call):
        return _count_of_call(node, ctx, hops)
    if isinstance(node, cst.UnaryOperation):
        return element_count(followed(node.expression, ctx), ctx, hops - 1)
    if isinstance(node, cst.Attribute) and node.attr.value in _KEEPING_ATTRIBUTES:
        return element_count(followed(node.value, ctx), ctx, hops - 1)
    if isinstance(node, cst.Subscript):
        return _if_small(element_count(followed(node.value, ctx), ctx, hops - 1))
    if isinstance(node, cst.BinaryOperation):
        return _broadcast((node.left, node.right), ctx, hops)
    return None


def _broadcast(operands: tuple[cst.BaseExpression, ...], ctx: Context, hops: int) -> int | None:
    """Return the number of elements of an operation with two operands."""
    sides = [followed(each, ctx) for each in operands]
    counts = [
        1 if _side(each, ctx, hops) is not None or isinstance(each, cst.Float)
        else element_count(each, ctx, hops - 1)
        for each in sides
    ]  # fmt: skip
    if counts == [1, 1]:
        # Of two numbers, it is a number.
        return None
    if 1 in counts:
        return counts[0] if counts[1] == 1 else counts[1]
    return None if None in counts else _if_small(math.prod(each or 0 for each in counts))


def _if_small(count: int | None) -> int | None:
    """Return what is known of an array that has at most so many elements."""
    return count if count is not None and count < SMALL else None


def _count_of_call(call: cst.Call, ctx: Context, hops: int) -> int | None:
    if is_numpy_sampler(call, ctx):
        size = sampled_size(call, ctx)
        return 1 if size is None and not Arguments(call).is_open else _product(size, ctx)
    name = ctx.called(call)
    arguments = Arguments(call)
    if arguments.is_open:
        return None
    if name is None:
        return _count_of_method(call, arguments, ctx, hops)
    module, _, last = name.rpartition(".")
    if name in {"numpy.random.rand", "numpy.random.randn"}:
        sides = [_side(each, ctx) for each in arguments.positional]
        return None if None in sides else math.prod(each or 0 for each in sides)
    if last in _SCALARS and module in {"numpy", "jax.numpy"}:
        given = arguments.get(0)
        return 1 if given is None else literal_count(followed(given, ctx), ctx, hops - 1)
    if last == "permutation":
        shuffled = arguments.get(1 if module == "jax.random" else 0, "x")
        if shuffled is None:
            return None
        count = element_count(followed(shuffled, ctx), ctx, hops - 1)
        return _side(shuffled, ctx) if count is None else count
    if f"{module}." not in _MODULES:
        return None
    if last in _SHAPED:
        shape = arguments.get(_SHAPED[last], "shape")
        if shape is None:
            # The samplers' default.
            return 1 if module.endswith("random") else None
        return _product(shape, ctx)
    if last == "arange":
        bounds = [_bound(each, ctx) for each in arguments.positional[:2]]
        return None if None in bounds or not bounds else max(abs(each or 0) for each in bounds)
    if last == "linspace":
        number = arguments.get(2, "num")
        return 50 if number is None else _side(number, ctx)
    if last in {"eye", "identity"}:
        sides = [_side(each, ctx) for each in arguments.positional[:2]]
        return (
            None
            if None in sides or not sides
            else math.prod(each or 0 for each in sides) ** (2 if len(sides) == 1 else 1)
        )
    first = arguments.get(0, "object", "x", "a", "A", "arrays", "tup")
    if first is None:
        return None
    if last in SIZE_KEEPING:
        return element_count(followed(first, ctx), ctx, hops - 1)
    if last in BROADCASTING and len(arguments.positional) == 2:
        return _broadcast((first, arguments.positional[1]), ctx, hops)
    if last in _JOINING and isinstance(first, cst.List | cst.Tuple):
        return _joined(first, ctx, hops)
    if last in {"array", "asarray"} or last in _JOINING:
        return literal_count(followed(first, ctx), ctx, hops - 1)
    if last in {"repeat", "tile"}:
        times = arguments.get(1, "repeats", "reps")
        return _multiplied(element_count(followed(first, ctx), ctx, hops - 1), times, ctx)
    return None


def _multiplied(count: int | None, times: cst.BaseExpression | None, ctx: Context) -> int | None:
    times_count = _product(times, ctx)
    return None if count is None or times_count is None else count * times_count


def _count_of_method(call: cst.Call, arguments: Arguments, ctx: Context, hops: int) -> int | None:
    """Return the number of elements of what a method of an array gives."""
    method = call.func
    if not isinstance(method, cst.Attribute):
        return None
    name = method.attr.value
    if name not in _KEEPING_METHODS and name not in {"repeat", "reshape"}:
        return None
    count = element_count(followed(method.value, ctx), ctx, hops - 1)
    if name == "reshape" and count is None:
        given = arguments.positional
        sides = [_product(each, ctx) for each in given]
        # Of `reshape(-1, 8)` the array says how many there are.
        is_whole = given and all(each is not None and each > 0 for each in sides)
        return math.prod(each or 0 for each in sides) if is_whole else None
    if name == "repeat":
        return _multiplied(count, arguments.get(0, "repeats"), ctx)
    return count


def size_text(call: cst.CSTNode, ctx: Context) -> str:
    """Return how much memory what a call makes takes on a device, in brackets, if that is known and
    much. A name stands for what is assigned to it, a conversion for what it converts.
    """
    for _ in range(_MAX_HOPS):
        if isinstance(call, cst.Name | cst.Attribute):
            call = followed(call, ctx)
        if not isinstance(call, cst.Call) or ctx.called(call) not in _KEEPING:
            break
        arguments = Arguments(call)
        operand = arguments.get(0, "x", "a", "object")
        if operand is None or arguments.may_pass(None, "dtype"):
            break
        call = operand
    count = element_count(call, ctx) if isinstance(call, cst.Call) else None
    if count is not None and isinstance(call, cst.Call) and is_supposed(call, ctx):
        return ""
    width = None if count is None else _item_size(call, ctx)
    if count is None or width is None or count * width < _LARGE:
        return ""
    return f" ({size(count * width)})"


def is_supposed(call: cst.Call, ctx: Context) -> bool:
    """Return whether a size depends on what is supposed: on devices, parameters, flags."""
    pending: list[cst.CSTNode] = [
        each.value for each in call.args if each.keyword is None or each.keyword.value != "device"
    ]
    seen = set[int]()
    while pending:
        if len(seen) > _MOST_SUPPOSED:
            return True
        node = pending.pop()
        seen.add(id(node))
        for part in (node, *ctx.tree.every(cst.Name, cst.Call, cst.Attribute, below=node)):
            if ctx.called(part) in _COUNTS | _LISTS or (
                isinstance(part, cst.Attribute) and _is_of_mesh(part, ctx)
            ):
                return True
            if isinstance(part, cst.Name) and _is_bound_otherwise(part, ctx):
                return True
            made = assigned_value(part, ctx)
            if made is not None and id(made) not in seen:
                pending.append(made)
    return False


def _is_bound_otherwise(name: cst.Name, ctx: Context) -> bool:
    """Return whether a name is taken for a number that it may not be."""
    bound = ctx.names.sole_definition(name)
    is_sure = bound is not None and not isinstance(bound, cst.Param)
    return not is_sure and _largest(name, ctx) is not None


def _item_size(call: cst.CSTNode, ctx: Context) -> int | None:
    """Return the bytes of one number of an array that a call makes."""
    if not isinstance(call, cst.Call) or ctx.module.fact(_enables_64_bits):
        return None
    position = _TYPED.get((ctx.called(call) or "").rpartition(".")[2])
    if position is None:
        return None
    dtype = Arguments(call).get(position, "dtype")
    if dtype is None:
        return 4
    name = string_value(dtype) or (ctx.name(followed(dtype, ctx)) or "").rpartition(".")[2]
    return _ITEM_SIZES.get(name)


def _enables_64_bits(facts: ModuleFacts) -> bool:
    """Return whether a file says anything of the switch for 64 bits."""
    return any(
        "enable_x64" in (string_value(node) or "") for node in facts.tree.every(cst.SimpleString)
    )


def is_one_for_each_of_few(call: cst.Call, ctx: Context) -> bool:
    """Return whether an array has one element for each of what there are few, as its name says:
    `jnp.zeros((batch_size,))`, `jnp.full(self.max_num_reqs, -1)`.
    """
    position = _SHAPED.get((ctx.called(call) or "").rpartition(".")[2])
    shape = None if position is None else Arguments(call).get(position, "shape")
    if shape is None:
        return False
    shape = followed(shape, ctx)
    if isinstance(shape, cst.Tuple | cst.List) and len(shape.elements) == 1:
        shape = shape.elements[0].value
    return _counts_few(shape)


def _counts_few(side: cst.BaseExpression) -> bool:
    name = side.attr if isinstance(side, cst.Attribute) else side
    if not isinstance(name, cst.Name):
        return False
    return not _FEW.isdisjoint(name.value.lower().removesuffix("_size").split("_")[-1:])


def has_wide_sides(call: cst.Call, ctx: Context) -> bool:
    """Return whether a call makes an array of several dimensions whose sizes are not known, but
    which nothing says to be small: `jnp.zeros((vocabulary, 512))`, `jnp.ones((width, width))`.
    """
    sides = _sides(call, ctx)
    counts = [1 if _counts_few(each) else _side(each, ctx) for each in sides]
    wide = [each for each in counts if each is None or each >= _WIDE]
    return None in wide and len(wide) > 1


def _sides(call: cst.Call, ctx: Context) -> list[cst.BaseExpression]:
    """Return the sides of what a call makes, where they are written out; else nothing."""
    call = _before_keeping_methods(call, ctx)
    module, _, last = (ctx.called(call) or "").rpartition(".")
    is_known = f"{module}." in _MODULES
    arguments = Arguments(call)
    if is_numpy_sampler(call, ctx):
        shape = sampled_size(call, ctx)
    elif is_known and last in {"eye", "identity"}:
        given = arguments.positional[:2]
        return [*given, *given] if len(given) == 1 else given
    elif (shape := _reshaped(call, ctx)) is None:
        position = _SHAPED.get(last) if is_known else None
        shape = None if position is None else arguments.get(position, "shape")
    shape = None if shape is None else followed(shape, ctx)
    if not isinstance(shape, cst.Tuple | cst.List):
        return []
    sides = [each.value for each in shape.elements if isinstance(each, cst.Element)]
    return sides if len(sides) == len(shape.elements) else []


def _before_keeping_methods(call: cst.Call, ctx: Context) -> cst.Call:
    """Return the call that makes what `.astype(…)` and the like are called on."""
    for _ in range(_MAX_HOPS):
        method = call.func
        if not isinstance(method, cst.Attribute) or method.attr.value not in _KEEPING_METHODS:
            break
        made = None if ctx.called(call) else followed(method.value, ctx)
        if not isinstance(made, cst.Call):
            break
        call = made
    return call


def _reshaped(call: cst.Call, ctx: Context) -> cst.Tuple | None:
    """Return the shape that `np.arange(a * b).reshape(a, b)` has."""
    method = call.func
    if not isinstance(method, cst.Attribute) or method.attr.value != "reshape":
        return None
    counted = (ctx.called(followed(method.value, ctx)) or "").rpartition(".")[2]
    given = Arguments(call).positional
    if counted not in {"arange", "linspace"} or len(given) != len(call.args):
        return None
    if len(given) == 1 and isinstance(given[0], cst.Tuple):
        return given[0]
    return cst.Tuple([cst.Element(each) for each in given])


def filled_by_partial(
    call: cst.BaseExpression | None, creators: Collection[str], ctx: Context
) -> tuple[str, cst.BaseExpression] | None:
    """Return by which creator a call fills an array, and of which shape, if it is a partial of one.

    `make = functools.partial(jnp.zeros, shape)`, then `make()`.
    """
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute | cst.Name):
        return None
    function = followed(call.func, ctx)
    if not isinstance(function, cst.Call):
        return None
    creator, given = applied(function, ctx.names)
    name = None if creator is None else ctx.name(creator)
    if name is None or name not in creators or len(given) != 1 or given[0].is_open:
        return None
    own, bound = Arguments(call), given[0]
    # What is bound first is the function itself.
    shapes = [*bound.positional[1:], *own.positional]
    shape = shapes[0] if shapes else own.get(None, "shape") or bound.get(None, "shape")
    is_placed = own.get(None, "device") is not None or bound.get(None, "device") is not None
    return None if shape is None or own.is_open or is_placed else (name, shape)


def filled_count(shape: cst.BaseExpression | None, ctx: Context) -> int | None:
    """Return the number of elements of an array with a shape; None where it is not written out."""
    return None if shape is None else _product(shape, ctx)


def is_numpy_sampler(call: cst.Call, ctx: Context) -> bool:
    """Return whether a call is of `numpy.random.normal` or its like, or of a generator's method."""
    module, _, last = (ctx.called(call) or "").rpartition(".")
    if module == "numpy.random":
        return last in _SIZES
    method = call.func
    return (
        isinstance(method, cst.Attribute)
        and method.attr.value in _SIZES
        and ctx.called(followed(method.value, ctx)) in _GENERATORS
    )


def sampled_size(sampler: cst.Call, ctx: Context) -> cst.BaseExpression | None:
    """Return the `size` that one of NumPy's samplers is given; None where it has none."""
    function = sampler.func
    name = function.attr.value if isinstance(function, cst.Attribute) else ctx.called(sampler)
    position = _SIZES[(name or "").rpartition(".")[2]]
    size = Arguments(sampler).get(position, "size")
    return None if is_none(size) else size


def literal_count(node: cst.BaseExpression, ctx: Context, hops: int = _MAX_HOPS) -> int | None:
    """Return the number of numbers in nested lists that are written out."""
    if isinstance(node, cst.Integer | cst.Float | cst.Imaginary | cst.UnaryOperation):
        return 1
    if isinstance(node, cst.Name) and node.value in {"True", "False"}:
        return 1
    if isinstance(node, cst.List | cst.Tuple):
        if any(isinstance(element, cst.StarredElement) for element in node.elements):
            return None
        counts = (literal_count(each.value, ctx, hops) for each in node.elements)
        return sum(max(count or 1, 1) for count in counts)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply):
        for items, times in ((node.left, node.right), (node.right, node.left)):
            if isinstance(items, cst.List):
                return _repeated(items, times, ctx, hops)
    if isinstance(node, cst.ListComp):
        return _comprehended(node, ctx, hops)
    if isinstance(node, cst.Call) and len(node.args) == 1:
        name = ctx.called(node)
        if name in COPYING and hops:
            return literal_count(followed(node.args[0].value, ctx), ctx, hops - 1)
        if name == "builtins.range":
            return _side(node.args[0].value, ctx)
    return element_count(node, ctx, hops)


def _joined(parts: cst.List | cst.Tuple, ctx: Context, hops: int) -> int | None:
    """Return the number of elements of arrays together; None where that of one is not known."""
    steps = min(hops - 1, _MAX_PART_HOPS)
    counts = [
        element_count(followed(each.value, ctx), ctx, steps)
        if isinstance(each, cst.Element)
        else None
        for each in parts.elements
    ]
    return None if None in counts else sum(each or 0 for each in counts)


def _repeated(items: cst.List, times: cst.BaseExpression, ctx: Context, hops: int) -> int | None:
    """Return the number of numbers in `[x] * n`."""
    if len(items.elements) != 1 or not hops:
        return _multiplied(literal_count(items, ctx, hops), times, ctx)
    item = followed(items.elements[0].value, ctx)
    return _multiplied(literal_count(item, ctx, hops - 1), times, ctx)


def _comprehended(node: cst.ListComp, ctx: Context, hops: int) -> int | None:
    """Return the number of numbers in `[f(i) for i in range(n)]`, or the most that it may be."""
    loop = node.for_in
    if loop.inner_for_in is not None or not hops:
        return None
    rounds = literal_count(followed(loop.iter, ctx), ctx, hops - 1)
    item = node.elt
    is_number = isinstance(item, cst.Call) and ctx.called(item) in _NUMBERS
    if isinstance(item, cst.Name) and isinstance(loop.target, cst.Name):
        iterated = followed(loop.iter, ctx)
        is_number = item.value == loop.target.value and ctx.called(iterated) == "builtins.range"
    count = 1 if is_number else literal_count(item, ctx, hops - 1)
    return None if rounds is None or count is None else rounds * count


def _bound(node: cst.BaseExpression, ctx: Context) -> int | None:
    """Return the value of a number that is written out, as a bound of `arange` may be: `8.0`."""
    node = followed(node, ctx)
    if isinstance(node, cst.Float):
        value = float(node.value)
        return math.ceil(value) if math.isfinite(value) else None
    return _side(node, ctx)


def _product(shape: cst.BaseExpression | None, ctx: Context, hops: int = _MAX_HOPS) -> int | None:
    if shape is None or not hops:
        return None
    shape = followed(shape, ctx)
    if isinstance(shape, cst.Tuple | cst.List):
        sides = [
            _product(element.value, ctx, hops - 1)
            if isinstance(element, cst.StarredElement)
            else _side(element.value, ctx)
            for element in shape.elements
        ]
        return None if None in sides else math.prod(each or 0 for each in sides)
    if isinstance(shape, cst.BinaryOperation) and isinstance(shape.operator, cst.Add):
        parts = [followed(each, ctx) for each in (shape.left, shape.right)]
        if any(isinstance(each, cst.Tuple) for each in parts):
            sides = [_product(each, ctx, hops - 1) for each in parts]
            return None if None in sides else math.prod(each or 0 for each in sides)
    if isinstance(shape, cst.Subscript):
        return _product_of_part(shape, ctx, hops)
    if isinstance(shape, cst.Attribute) and shape.attr.value == "shape":
        return element_count(followed(shape.value, ctx), ctx, hops - 1)
    last = _last_value(shape, ctx)
    return _side(shape, ctx) if last is None else _product(last, ctx, hops - 1)


def _last_value(node: cst.BaseExpression, ctx: Context) -> cst.BaseExpression | None:
    """Return what a name of several values was last bound to, as in the cells of a notebook."""
    if not isinstance(node, cst.Name) or not 1 < len(ctx.names.bindings(node)) <= _MOST_BINDINGS:
        return None
    last = bound_before(node, ctx)
    return last if isinstance(last, cst.BaseExpression) else None


def _product_of_part(part: cst.Subscript, ctx: Context, hops: int) -> int | None:
    """Return the product of some sides of a shape that is written out: `shape[0]`, `shape[1:]`."""
    shape = followed(part.value, ctx)
    if (
        isinstance(shape, cst.Attribute)
        and shape.attr.value == "shape"
        and not _is_of_mesh(shape, ctx)
    ):
        return _if_small(element_count(followed(shape.value, ctx), ctx, hops - 1))
    if not isinstance(shape, cst.Tuple | cst.List) or len(part.slice) != 1:
        return _DEVICES if _counts_mesh(part, ctx) else None
    sides = [_product(element.value, ctx, hops - 1) for element in shape.elements]
    chosen = part.slice[0].slice
    if isinstance(chosen, cst.Index):
        index = integer_value(followed(chosen.value, ctx))
        is_inside = index is not None and -len(sides) <= index < len(sides)
        return sides[index] if index is not None and is_inside else None
    if not isinstance(chosen, cst.Slice) or chosen.step is not None:
        return None
    lower, upper = (
        None if each is None else integer_value(each) for each in (chosen.lower, chosen.upper)
    )
    if (lower is None) is not (chosen.lower is None) or (upper is None) is not (
        chosen.upper is None
    ):
        return None
    taken = sides[lower:upper]
    return None if None in taken else math.prod(each or 0 for each in taken)


def _side(node: cst.BaseExpression, ctx: Context, hops: int = _MAX_HOPS) -> int | None:
    """Return how long one side of an array is, or about how long: one item for each device."""
    node = followed(node, ctx)
    if hops and isinstance(node, cst.BinaryOperation):
        left, right = _side(node.left, ctx, hops - 1), _side(node.right, ctx, hops - 1)
        return None if left is None or right is None else _calculated(left, node.operator, right)
    name = ctx.called(node)
    if isinstance(node, cst.Call) and len(node.args) == 1 and hops:
        counted = followed(node.args[0].value, ctx)
        if name == "builtins.len":
            if isinstance(counted, cst.Tuple | cst.List):
                return len(counted.elements)
            return _DEVICES if ctx.called(counted) in _LISTS else None
        if name == "builtins.int":
            return _side(counted, ctx, hops - 1)
    if isinstance(node, cst.Subscript) and hops:
        return _product_of_part(node, ctx, hops - 1)
    if _counts_mesh(node, ctx):
        return _DEVICES
    last = _last_value(node, ctx) if hops else None
    if last is not None:
        return _side(last, ctx, hops - 1)
    if isinstance(node, cst.Name):
        return _largest(node, ctx)
    if isinstance(node, cst.Float):
        # `8 * 128.0`, as a bound of `arange`.
        value = float(node.value)
        return int(value) if value.is_integer() else None
    return _DEVICES if name in _COUNTS else integer_value(node)


def _largest(name: cst.Name, ctx: Context) -> int | None:
    """Return the largest number that a name is bound to, a parameter by its default."""
    bindings = ctx.names.bindings(name)
    values = [
        integer_value(each.node.default if isinstance(each.node, cst.Param) else each.value)
        for each in bindings[:_MOST_BINDINGS]
    ]
    if len(bindings) > _MOST_BINDINGS or None in values:
        return None
    return max((each or 0 for each in values), default=None)


def _calculated(left: int, operator: cst.BaseBinaryOp, right: int) -> int | None:
    """Return what arithmetic with whole numbers gives, where that is a size."""
    match operator:
        case cst.Add():
            return left + right
        case cst.Subtract():
            return left - right
        case cst.Multiply():
            return left * right
        case cst.FloorDivide() if right:
            return left // right
        case cst.Modulo() if right:
            return left % right
        case cst.Power() if right >= 0 and left.bit_length() * right <= _MOST_BITS:
            return int(left**right)
        case cst.LeftShift() if right >= 0 and left.bit_length() + right <= _MOST_BITS:
            return left << right
        case _:
            return None


def _counts_mesh(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an expression counts the devices of a mesh, or those along one axis."""
    attribute = "size"
    if isinstance(node, cst.Subscript):
        node, attribute = node.value, "shape"
    return (
        isinstance(node, cst.Attribute) and node.attr.value == attribute and _is_of_mesh(node, ctx)
    )


def _is_of_mesh(node: cst.Attribute, ctx: Context) -> bool:
    """Return whether an attribute is one of a mesh, or of the array of its devices."""
    mesh = node.value
    if isinstance(mesh, cst.Attribute) and mesh.attr.value == "devices":
        mesh = mesh.value
    return ctx.called(followed(mesh, ctx)) in _MESHES
