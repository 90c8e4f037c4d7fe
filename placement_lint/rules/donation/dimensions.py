"""Whether an expression surely is an array with dimensions, or a tree of such: no scalar.

JAX lets a scalar of one memory meet arrays of another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.rules.commitment.mixtures import calls_by_name, is_called
from placement_lint.rules.meshes.configured import field_given, fields_written
from placement_lint.semantic.followed import assigned_value, bound_before
from placement_lint.semantic.own_attributes import assigned_to
from placement_lint.syntax.calls import Arguments, is_none, string_value
from placement_lint.syntax.definitions import parameter_named, returns_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

_SHAPED = {
    **{f"{module}.{name}": 0 for module in ("jax.numpy", "numpy")
       for name in ("empty", "full", "ones", "zeros")},
    **{f"jax.random.{name}": 1 for name in ("exponential", "gumbel", "normal", "randint",
                                            "rademacher", "uniform")},
    **{f"{module}.reshape": 1 for module in ("jax.numpy", "numpy")},
    "jax.random.bernoulli": 2,
    "jax.random.truncated_normal": 3,
}  # fmt: skip
"""Functions that make an array of a shape: where that is."""
_COUNTED = frozenset({
    *(f"{module}.{name}" for module in ("jax.numpy", "numpy")
      for name in ("arange", "eye", "identity", "linspace", "tri")),
})  # fmt: skip
_LIKE = frozenset({
    "builtins.abs", "copy.copy", "copy.deepcopy", "jax.device_put", "jax.lax.stop_gradient",
    "jax.lax.with_sharding_constraint",
    *(f"{module}.{name}" for module in ("jax.numpy", "numpy") for name in (
        "abs", "array", "asarray", "conj", "copy", "cos", "cumsum", "empty_like", "exp",
        "full_like", "log", "negative", "ones_like", "sign", "sin", "sqrt", "square", "tanh",
        "zeros_like")),
})  # fmt: skip
"""Functions that give what has the shape of their first argument."""
_LIKE_METHODS = frozenset({"astype", "block_until_ready", "conj", "copy"})
_ANY_OF = frozenset(
    f"jax.numpy.{name}"
    for name in "add divide maximum minimum multiply power subtract true_divide where".split()
)
_MAPS = frozenset({"jax.tree.map", "jax.tree_map", "jax.tree_util.tree_map"})
_GRADIENTS = {"jax.grad": False, "jax.value_and_grad": True}
_STACKING = frozenset(f"jax.numpy.{name}" for name in "concatenate stack vstack hstack".split())
_MOST = 200
_MOST_BINDINGS = 8
"""Bindings of one name: of more it is not asked which one is the last before each use."""


def is_split(held: Value) -> bool:
    """Return whether an array is put to shardings that name an axis: a scalar has none to split."""
    from placement_lint.placement.domain.values import Array

    return bool(held) and all(
        isinstance(atom, Array)
        and atom.sharding is not None
        and atom.sharding.spec is not None
        and any(True for _ in atom.sharding.spec.axes())
        for atom in held
    )


def has_dimensions(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an expression surely is an array with dimensions, or a tree of such."""
    if not isinstance(node, cst.Name) or not ctx.names.tree.contains(node):
        return _Shapes().are_known(node, ctx)
    # A name that is bound again and again is asked about at each of its uses.
    answers = ctx.module.fact(_answers)
    key = (id(_last_bound(node, ctx)), *map(id, ctx.names.bindings(node)))
    if key not in answers:
        answers[key] = _Shapes().are_known(node, ctx)
    return answers[key]


def made_with_dimensions(
    node: cst.BaseExpression, ctx: Context, given: Value | None = None
) -> bool:
    """Return whether all arrays that an expression may be surely were made with dimensions,
    wherever in the program that was. `given`: what it is in one execution.
    """
    from placement_lint.placement.domain.values import Array

    if isinstance(node, cst.BinaryOperation) and not isinstance(node.operator, cst.MatrixMultiply):
        # A scalar beside an array is made as large as that.
        return any(
            has_dimensions(each, ctx) or made_with_dimensions(each, ctx)
            for each in (node.left, node.right)
        )
    held = ctx.flow.value(node) if given is None else given
    for atom in held:
        created = atom.origin.created if isinstance(atom, Array) and atom.origin else None
        made, there = ctx.node_at(created) or (None, ctx)
        if not isinstance(made, cst.Call) or not has_dimensions(made, there):
            return False
    return bool(held)


def are_alike(one: cst.BaseExpression, other: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether two expressions are of leaves in the same place of two trees that are mapped
    over together, `jax.tree.map(lambda m, g: 0.9 * m + g, moments, gradients)`, of which none may
    be a scalar.
    """
    from placement_lint.placement.domain.values import Array

    functions = [
        {
            function
            for name, function in mapped_names(each, ctx)
            if not any(isinstance(a, Array) and a.is_small for a in ctx.flow.value(name))
        }
        for each in (one, other)
    ]
    return bool(functions[0] & functions[1])


def mapped_names(
    node: cst.BaseExpression, ctx: Context
) -> Iterator[tuple[cst.Name, cst.FunctionDef | cst.Lambda]]:
    """Yield the names in something computed that are parameters of a function which is mapped over
    trees only. It is executed for each thing that a leaf may be.
    """
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, cst.BinaryOperation) and not isinstance(
            part.operator, cst.MatrixMultiply
        ):
            pending += (part.left, part.right)
        elif isinstance(part, cst.UnaryOperation):
            pending.append(part.expression)
        if not isinstance(part, cst.Name):
            continue
        nodes = [each.node for each in ctx.names.bindings(part)]
        if len(nodes) != 1 or not isinstance(nodes[0], cst.Param):
            continue
        for around in ctx.ancestors(nodes[0]):
            if isinstance(around, cst.FunctionDef | cst.Lambda):
                calls = list(_calls_of(around, ctx))
                if calls and all(there.called(call) in _MAPS for call, _, there in calls):
                    yield part, around
                break


def _answers(_facts: ModuleFacts) -> dict[tuple[int, ...], bool]:
    """Make the store of one file: what is known of names, by their bindings."""
    return {}


class _Shapes:
    """One question, and what was asked on the way to its answer."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def are_known(self, node: cst.BaseExpression | None, ctx: Context) -> bool:
        if node is None or len(self._seen) > _MOST:
            return False
        if id(node) in self._seen:
            # What a loop computes of itself has the dimensions that it began with.
            return True
        self._seen.add(id(node))
        if isinstance(node, cst.BinaryOperation):
            if isinstance(node.operator, cst.MatrixMultiply):
                return False
            return self.are_known(node.left, ctx) or self.are_known(node.right, ctx)
        if isinstance(node, cst.UnaryOperation):
            return self.are_known(node.expression, ctx)
        if isinstance(node, cst.Dict):
            return bool(node.elements) and all(
                isinstance(each, cst.DictElement) and self.are_known(each.value, ctx)
                for each in node.elements
            )
        if isinstance(node, cst.List | cst.Tuple):
            return bool(node.elements) and all(
                isinstance(each, cst.Element) and self.are_known(each.value, ctx)
                for each in node.elements
            )
        if isinstance(node, cst.Subscript):
            return self._is_item(node, ctx) or is_split(ctx.flow.value(node))
        if isinstance(node, cst.Call):
            return self._is_made(node, ctx) or is_split(ctx.flow.value(node))
        if isinstance(node, cst.Name):
            return self._is_bound(node, ctx) or is_split(ctx.flow.value(node))
        if isinstance(node, cst.Attribute):
            return self._is_kept(node, ctx) or is_split(ctx.flow.value(node))
        return False

    def _is_kept(self, node: cst.Attribute, ctx: Context) -> bool:
        """Return whether all that a class keeps under a name has dimensions, `self.mean`, or what
        the one object that is meant was made with, or each of a few: `self.pages.keys`.
        """
        found = assigned_to(node, ctx)
        if not found and (field := field_given(node, ctx)) is not None:
            return self.are_known(*field)
        if not found:
            fields = fields_written(node, ctx)
            return bool(fields) and all(self.are_known(each, ctx) for each in fields)
        return 0 < len(found) <= _MOST_BINDINGS and all(self.are_known(each, ctx) for each in found)

    def _is_item(self, node: cst.Subscript, ctx: Context) -> bool:
        """Return whether a part of a dict or a list of arrays is meant, `params["w"]`, or an index
        leaves a dimension or makes one: `x[:4]`, `x[None]`.
        """
        if any(_keeps_dimension(each.slice) for each in node.slice):
            return True
        index = node.slice[0].slice if len(node.slice) == 1 else None
        is_key = isinstance(index, cst.Index) and string_value(index.value) is not None
        return is_key and self.are_known(node.value, ctx)

    def _is_made(self, node: cst.Call, ctx: Context) -> bool:
        called = ctx.called(node) or ""
        arguments = Arguments(node)
        if called in _SHAPED:
            shape = arguments.get(_SHAPED[called], "shape")
            is_filled = not called.endswith(".reshape")
            return self._is_long(shape, ctx) or (is_filled and _is_shape_of_outside(shape, ctx))
        if called in _COUNTED:
            return True
        if called in _LIKE:
            first = arguments.positional[0] if arguments.positional else None
            return self.are_known(first, ctx)
        if called in _ANY_OF:
            return any(self.are_known(each, ctx) for each in arguments.positional)
        if called in _STACKING:
            return True
        if called in _MAPS and len(arguments.positional) > 1:
            # What it is mapped with gives arrays like its leaves; what reduces them is not asked.
            function, tree = arguments.positional[:2]
            return _is_elementwise(function, ctx) and self.are_known(tree, ctx)
        made = _gradient_call(node, ctx)
        if made is False:
            return True
        return not called and (self._is_of_method(node, ctx) or self._is_returned(node, ctx))

    def _is_of_method(self, node: cst.Call, ctx: Context) -> bool:
        """Return whether a method of an array gives one with dimensions: `x.reshape(n, -1)`."""
        if not isinstance(node.func, cst.Attribute):
            return False
        name, given = node.func.attr.value, Arguments(node).positional
        if name == "reshape":
            is_open = any(each.star for each in node.args)
            return (len(given) > 1 and not is_open) or (
                len(given) == 1 and self._is_long(given[0], ctx)
            )
        return name in _LIKE_METHODS and self.are_known(node.func.value, ctx)

    def _is_long(self, shape: cst.BaseExpression | None, ctx: Context, hops: int = 4) -> bool:
        """Return whether a shape has dimensions: one that is written out, or that of an array."""
        if isinstance(shape, cst.Tuple | cst.List):
            return any(isinstance(each, cst.Element) for each in shape.elements)
        if isinstance(shape, cst.BinaryOperation) and isinstance(shape.operator, cst.Add):
            return any(self._is_long(each, ctx, 0) for each in (shape.left, shape.right))
        if isinstance(shape, cst.Call) and hops:
            return self._is_long_result(shape, ctx, hops - 1)
        if isinstance(shape, cst.Attribute):
            if hops and (assigned := assigned_to(shape, ctx)):
                return all(self._is_long(each, ctx, hops - 1) for each in assigned)
            if shape.attr.value == "shape":
                return self.are_known(shape.value, ctx)
            return _has_items(ctx.flow.value(shape))
        if isinstance(shape, cst.Name) and hops:
            value = assigned_value(shape, ctx)
            if value is None:
                return _has_items(ctx.flow.value(shape))
            return self._is_long(value, ctx, hops - 1)
        if isinstance(shape, cst.UnaryOperation):
            return isinstance(shape.expression, cst.Integer)
        return isinstance(shape, cst.Integer)

    def _is_long_result(self, node: cst.Call, ctx: Context, hops: int) -> bool:
        """Return whether a function of the program gives shapes that have dimensions."""
        function, there = _function_called(node, ctx) or (None, ctx)
        returned = [] if function is None else returns_of(function, there.names)
        return bool(returned) and all(self._is_long(e.value, there, hops) for e in returned)

    def _is_returned(self, node: cst.Call, ctx: Context) -> bool:
        """Return whether a function of the program gives arrays with dimensions."""
        found = _function_called(node, ctx)
        if found is None:
            return False
        function, there = found
        returned = [each.value for each in returns_of(function, there.names)]
        return bool(returned) and all(self.are_known(value, there) for value in returned)

    def _is_bound(self, node: cst.Name, ctx: Context) -> bool:
        value = assigned_value(node, ctx) or _last_bound(node, ctx)
        if value is not None:
            return self.are_known(value, ctx)
        bindings = ctx.names.bindings(node)
        return bool(bindings) and all(
            any(self.are_known(each, there) for each, there in (found,))
            if isinstance(found, tuple)
            else found
            for binding in bindings
            for found in self._values(node, binding.node, binding.value, ctx)
        )

    def _values(
        self,
        name: cst.Name,
        node: cst.CSTNode,
        value: cst.BaseExpression | None,
        ctx: Context,
    ) -> Iterator[tuple[cst.BaseExpression, Context] | bool]:
        """Yield what a binding may give a name: expressions, or whether it has dimensions."""
        assigned = node.value if isinstance(node, cst.Assign) else value
        if _is_updated(assigned, name, ctx):
            yield True
        elif value is not None:
            yield value, ctx
        elif isinstance(node, cst.Assign) and len(node.targets) == 1:
            yield _is_gradients_part(node, name, ctx)
        elif isinstance(node, cst.AugAssign):
            yield True
        elif isinstance(node, cst.Param):
            yield from self._arguments(node, ctx)
        else:
            yield False

    def _arguments(
        self, param: cst.Param, ctx: Context
    ) -> Iterator[tuple[cst.BaseExpression, Context] | bool]:
        """Yield what a parameter is given: by calls of its function, or by a map over trees."""
        function = next(
            (a for a in ctx.ancestors(param) if isinstance(a, cst.FunctionDef | cst.Lambda)), None
        )
        if function is None:
            yield False
            return
        names = [each.name.value for each in (*function.params.posonly_params,
                                              *function.params.params)]  # fmt: skip
        if param.name.value not in names:
            yield False
            return
        position = names.index(param.name.value)
        calls = list(_calls_of(function, ctx))
        if not calls:
            yield False
        for call, shift, there in calls:
            arguments = Arguments(call)
            given = arguments.get(position + shift, param.name.value)
            yield False if given is None or arguments.is_open else (given, there)


def _is_shape_of_outside(shape: cst.BaseExpression | None, ctx: Context) -> bool:
    """Return whether a shape is a parameter of that name, which nothing in the program passes.

    What fills an array of a shape that it is given makes no scalar.
    """
    parameter = parameter_named(shape, ctx.names)
    if parameter is None or parameter.default is not None:
        return False
    if parameter.name.value.rpartition("_")[2] != "shape":
        return False
    function = ctx.tree.around(parameter, cst.FunctionDef)
    if function is None or ctx.parent(parameter) is not function.params:
        return False
    return not is_called(function, ctx)


def _has_items(held: Value) -> bool:
    """Return whether all that a value may be are tuples or lists that have items: what callers
    pass as a shape.
    """
    from placement_lint.placement.domain.values import Sequence

    return bool(held) and all(isinstance(atom, Sequence) and bool(atom.items) for atom in held)


def _calls_of(
    function: cst.FunctionDef | cst.Lambda, ctx: Context
) -> Iterator[tuple[cst.Call, int, Context]]:
    """Yield what calls a function, with the position of its first argument there."""
    around = ctx.parent(function)
    outer = None if around is None else ctx.parent(around)
    if isinstance(around, cst.Arg) and isinstance(outer, cst.Call):
        is_mapped = ctx.called(outer) in _MAPS and outer.args[0] is around
        if is_mapped:
            yield outer, 1, ctx
        return
    if not isinstance(function, cst.FunctionDef):
        return
    name = function.name.value
    first = function.params.params[0].name.value if function.params.params else ""
    for call, there in calls_by_name(name, ctx):
        is_method = isinstance(call.func, cst.Attribute) and first in {"cls", "self"}
        yield call, -1 if is_method else 0, there
    for called in _MAPS:
        for call in ctx.calls_of(called):
            mapped = call.args[0].value if call.args else None
            if isinstance(mapped, cst.Name) and mapped.value == name:
                yield call, 1, ctx


def _function_called(node: cst.Call, ctx: Context) -> tuple[cst.FunctionDef, Context] | None:
    """Return the function of the program that a call is of, and the file that it is in."""
    from placement_lint.placement.domain.contents import function_place
    from placement_lint.placement.domain.values import Computation, sole

    only = sole(ctx.flow.value(node.func))
    if isinstance(only, Computation) and len(only.steps) == 1 and only.steps[0].is_whole:
        # What `jax.jit` alone compiles gives what its function does.
        only = sole(only.of)
    return ctx.function_at(function_place(only))


def _keeps_dimension(index: cst.BaseSlice) -> bool:
    """Return whether an index leaves a dimension, or makes one."""
    if isinstance(index, cst.Slice):
        return True
    return isinstance(index, cst.Index) and is_none(index.value)


def _last_bound(node: cst.Name, ctx: Context) -> cst.BaseExpression | None:
    """Return what the last statement before a name certainly binds it to, of a few that do."""
    if not 1 < len(ctx.names.bindings(node)) <= _MOST_BINDINGS:
        return None
    bound = bound_before(node, ctx)
    return bound if isinstance(bound, cst.BaseExpression) else None


def _is_elementwise(function: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a function surely gives an array of the shape of what it is given."""
    if (ctx.name(function) or "") in _LIKE:
        return True
    if not isinstance(function, cst.Lambda):
        return False
    return not any(
        not (ctx.called(call) in _LIKE or ctx.called(call) in _ANY_OF)
        for call in ctx.tree.every(cst.Call, below=function)
    ) and not any(True for _ in ctx.tree.every(cst.Subscript, below=function))


def _gradient_call(node: cst.BaseExpression, ctx: Context) -> bool | None:
    """Return whether a call gives gradients behind a value, or (False) them alone."""
    if not isinstance(node, cst.Call):
        return None
    function = node.func
    if isinstance(function, cst.Name):
        function = assigned_value(function, ctx) or function
    return _GRADIENTS.get(ctx.called(function) or "")


def _is_updated(value: cst.BaseExpression | None, name: cst.Name, ctx: Context) -> bool:
    """Return whether a function of a program is given an array, and its result bound in its place:
    `state = update(state)`. It has the same dimensions then.
    """
    if not isinstance(value, cst.Call) or (ctx.called(value) or "").startswith(("jax.", "numpy.")):
        return False
    return any(
        isinstance(each.value, cst.Name) and each.value.value == name.value for each in value.args
    )


def _is_gradients_part(node: cst.Assign, name: cst.Name, ctx: Context) -> bool:
    """Return whether a name is the second item of what `jax.value_and_grad(f)(params)` gives."""
    target = node.targets[0].target
    if not isinstance(target, cst.Tuple) or len(target.elements) != 2:
        return False
    second = target.elements[1].value
    is_second = isinstance(second, cst.Name) and second.value == name.value
    return is_second and _gradient_call(node.value, ctx) is True
