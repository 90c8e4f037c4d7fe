"""What a function reads on the host: which results of the device it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

import libcst as cst

from placement_lint.jaxmodel.donation import TREE_MAPS
from placement_lint.jaxmodel.transfer import METADATA_ATTRIBUTES
from placement_lint.semantic.elsewhere import effects_of
from placement_lint.semantic.enclosing import ancestors_in_function
from placement_lint.semantic.followed import assigned_value, bound_before
from placement_lint.semantic.kept_results import CONVERTING, is_kept, makes_text
from placement_lint.semantic.tested_names import names_tested
from placement_lint.syntax.calls import Arguments, elements_or_self
from placement_lint.syntax.definitions import class_of_method, is_generator, named_function

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.loops import Loop
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.definitions import Function

    Reading = cst.Assign | cst.BinaryOperation | cst.Call | cst.FormattedStringExpression

_FETCHING = "jax.device_get"
_COMPUTING = frozenset(
    f"numpy.{name}"
    for name in (
        "abs", "absolute", "exp", "expm1", "isfinite", "isinf", "isnan", "log",
        "log10", "log1p", "log2", "negative", "sqrt", "square", "tanh",
    )
)  # fmt: skip
"""What makes an array of NumPy of its argument, and computes with that."""
_MAKING = frozenset(f"numpy.{name}" for name in ("empty", "full", "ones", "zeros"))
_SCALARS = frozenset(
    [f"math.{name}" for name in ("exp", "isfinite", "isnan", "log", "log10", "log2", "sqrt")]
    + [f"numpy.{name}" for name in ("float16", "float32", "float64", "int32", "int64")]
)
"""What makes a number of its argument."""
_TEXTS = frozenset({"builtins.format", "builtins.repr", "builtins.str"})
_READING_METHODS = frozenset({"item", "tolist"})


def is_formatting(node: cst.CSTNode) -> TypeGuard[cst.BinaryOperation]:
    """Return whether a node is `"loss %f" % loss`."""
    return (
        isinstance(node, cst.BinaryOperation)
        and isinstance(node.operator, cst.Modulo)
        and isinstance(node.left, cst.SimpleString | cst.ConcatenatedString)
    )


def read_here(node: Reading, ctx: FileView) -> Iterator[cst.BaseExpression]:
    """Yield what a node itself turns into numbers or text on the host."""
    if isinstance(node, cst.Assign):
        if any(_is_item_of_numpy(each.target, ctx) for each in node.targets):
            yield node.value
        return
    if isinstance(node, cst.FormattedStringExpression):
        yield node.expression
        return
    if isinstance(node, cst.BinaryOperation):
        yield from parts_of(node.right)
        return
    name = ctx.called(node)
    if name in CONVERTING or name in _COMPUTING or name in _SCALARS or name in _TEXTS:
        yield from Arguments(node).positional[:1]
    elif makes_text(node, "format"):
        yield from Arguments(node).values
    elif name == "builtins.print":
        yield from Arguments(node).positional
    elif name in TREE_MAPS and len(node.args) > 1 and _converts(node.args[0].value, ctx):
        yield node.args[1].value
    elif isinstance(node.func, cst.Attribute) and node.func.attr.value in _READING_METHODS:
        yield node.func.value
    elif isinstance(node.func, cst.Attribute) and node.func.attr.value == "set_postfix":
        # tqdm makes texts of them.
        yield from (part for each in Arguments(node).values for part in parts_of(each))
    elif len(node.args) == 1 and _only_fetches(node.func, ctx):
        yield from Arguments(node).positional


def parts_of(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the values of a dictionary that is written out, the elements of a tuple, or itself."""
    return (
        [x.value for x in node.elements] if isinstance(node, cst.Dict) else elements_or_self(node)
    )


def _is_item_of_numpy(target: cst.BaseExpression, ctx: FileView) -> bool:
    """Return whether a target is an item of an array that NumPy has made: `losses[i]`."""
    if not isinstance(target, cst.Subscript) or not isinstance(target.value, cst.Name):
        return False
    made = assigned_value(target.value, ctx) or bound_before(target.value, ctx)
    return isinstance(made, cst.Call) and ctx.called(made) in _MAKING


def _converts(function: cst.BaseExpression, ctx: FileView) -> bool:
    """Return whether a function makes of its argument what the host has."""
    if not isinstance(function, cst.Lambda):
        return ctx.name(function) in CONVERTING
    parameters = function.params.params
    if len(parameters) != 1 or not isinstance(function.body, cst.Call):
        return False
    read = next(read_here(function.body, ctx), None)
    return isinstance(read, cst.Name) and read.value == parameters[0].name.value


def _only_fetches(function: cst.BaseExpression, ctx: FileView) -> bool:
    """Return whether all that a function of the run does with JAX is to fetch its argument."""
    defined = named_function(function, ctx.names)
    if defined is None:
        effects = effects_of(function, ctx)
        names = set() if effects is None or effects.is_traced else {c.name for c in effects.calls}
        return names == {_FETCHING}
    if not isinstance(defined, cst.FunctionDef) or len(defined.params.params) != 1:
        return False
    parameter = defined.params.params[0].name.value
    returned = [*ctx.tree.every(cst.Return, below=defined.body)]
    return len(returned) == 1 and any(
        ctx.called(each) == _FETCHING
        and any(name.value == parameter for name in ctx.tree.every(cst.Name, below=each))
        for each in ctx.tree.every(cst.Call, below=returned[0])
    )


def goes_through_items(loop: Loop) -> bool:
    """Return whether a loop draws from `x.items()` or `x.values()`."""
    if isinstance(loop, cst.While):
        return False
    return whose_items(loop.iter if isinstance(loop, cst.For) else loop.for_in.iter) is not None


def whose_items(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the `x` of `x.items()` and `x.values()`."""
    if not isinstance(node, cst.Call) or node.args or not isinstance(node.func, cst.Attribute):
        return None
    return node.func.value if node.func.attr.value in {"items", "values"} else None


def is_unconditional(node: cst.CSTNode, ctx: FileView, *, each_item: bool = False) -> bool:
    """Return whether a function executes a node whenever it comes to its end.

    `each_item`: be it for each item of a dictionary.
    """
    return not any(
        not (each_item and isinstance(around, cst.For) and goes_through_items(around))
        and isinstance(
            around,
            cst.BooleanOperation
            | cst.For
            | cst.If
            | cst.IfExp
            | cst.MatchCase
            | cst.Try
            | cst.TryStar
            | cst.While,
        )
        for _, around in ancestors_in_function(node, ctx)
    )


def _kept_parameters(function: cst.FunctionDef, ctx: FileView) -> set[str]:
    """Return the parameters that a function always reads on the host, to keep or to show them."""
    known = ctx.module.fact(_known_readers)
    if id(function) not in known:
        before = _first_return(function, ctx)
        kept = {
            name
            for each in ctx.tree.every(
                cst.BinaryOperation, cst.Call, cst.FormattedStringExpression, below=function.body
            )
            if ctx.tree.index(each) < before and ctx.function(each) is function
            if not isinstance(each, cst.BinaryOperation) or is_formatting(each)
            for what in read_here(each, ctx)
            if is_unconditional(each, ctx, each_item=True) and is_kept(each, function, ctx)
            if (name := root_name(_drawn_from(what, ctx))) and not _is_rebound(name, each, ctx)
        }
        known[id(function)] = kept - names_tested(function, ctx)
    return known[id(function)]


def parameters_read(function: Function, ctx: FileView) -> frozenset[int | str]:
    """Return how calls pass what a function always reads on the host, to keep or to show it: by
    position, the object of a method left out, and by name.
    """
    if not isinstance(function, cst.FunctionDef) or function.decorators:
        return frozenset()
    if function.asynchronous is not None or is_generator(function, ctx.names):
        return frozenset()
    kept = _kept_parameters(function, ctx)
    passed = [*function.params.posonly_params, *function.params.params]
    if class_of_method(function, ctx.names) is not None:
        passed = passed[1:]
    names = [each.name.value for each in passed]
    positions = {position for position, name in enumerate(names) if name in kept}
    by_name = {*names, *(each.name.value for each in function.params.kwonly_params)}
    return frozenset(positions | (kept & by_name))


def _first_return(function: cst.FunctionDef, ctx: FileView) -> int:
    """Return the place of the first `return` of a function, or else of its end."""
    for each in ctx.tree.every(cst.Return, below=function.body):
        if ctx.function(each) is function:
            return ctx.tree.index(each)
    return ctx.tree.ends[ctx.tree.index(function)]


def _is_rebound(name: str, read: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether a function may have bound the name of a parameter to something else before it
    is read: `metrics, self.last = self.last, metrics`.
    """
    function = ctx.function(read)
    return isinstance(function, cst.FunctionDef) and any(
        ctx.tree.contains(binding.node)
        and ctx.tree.is_inside(binding.node, function.body)
        and ctx.tree.index(binding.node) < ctx.tree.index(read)
        and not ctx.tree.is_inside(read, binding.node)
        for binding in ctx.names.scope(function.body).bindings.get(name, ())
    )


def _known_readers(_facts: ModuleFacts) -> dict[int, set[str]]:
    """Make the store of one file: which parameters of a function it reads to keep them."""
    return {}


def _drawn_from(node: cst.BaseExpression, ctx: FileView) -> cst.BaseExpression:
    """Return the `metrics` of a `value` that is drawn from `metrics.items()`, or a node itself."""
    only = ctx.names.sole_binding(node) if isinstance(node, cst.Name) else None
    if only is None or not isinstance(only.node, cst.For | cst.CompFor):
        return node
    return whose_items(only.node.iter) or node


def root_name(node: cst.BaseExpression) -> str | None:
    """Return the name at the beginning of `metrics["loss"].mean`."""
    while isinstance(node, cst.Attribute | cst.Subscript):
        if isinstance(node, cst.Attribute) and node.attr.value in METADATA_ATTRIBUTES:
            return None
        node = node.value
    return node.value if isinstance(node, cst.Name) else None
