"""What a function reads on the host: which results of the device it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

import libcst as cst

from placement_lint.jaxmodel.donation import TREE_MAPS
from placement_lint.jaxmodel.transfer import METADATA_ATTRIBUTES
from placement_lint.semantic.elsewhere import effects_of, effects_of_method, objects_in
from placement_lint.semantic.enclosing import ancestors_in_function
from placement_lint.semantic.followed import assigned_value, bound_before
from placement_lint.semantic.kept_results import CONVERTING, is_kept
from placement_lint.semantic.loops import is_for_others, runs_in_first
from placement_lint.semantic.passed_on import makes_text
from placement_lint.semantic.program_queries import ONLY_READS
from placement_lint.semantic.tested_names import names_tested
from placement_lint.syntax.calls import Arguments, elements_or_self
from placement_lint.syntax.definitions import (
    class_of_method,
    is_generator,
    method_of_class,
    named_function,
    parameter_named,
)

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
_GIVING_FIELDS = frozenset({"builtins.vars", "dataclasses.asdict"})
"""What gives a dict of what an object holds."""
_MOST_MORE = 8
"""Arguments that a function takes by `*values`, as far as they are counted."""
_NOT_READ = "!"
"""Before the names of parameters that do not get what else a call passes by name."""
RECEIVER = "*self"
"""Stands for the object whose method is called, whatever the method calls it."""


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
        yield from (each.value for each in node.args if each.star == "*")
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


def goes_through_items(loop: Loop, ctx: FileView) -> bool:
    """Return whether a loop draws from `x.items()` or `x.values()`."""
    if isinstance(loop, cst.While):
        return False
    drawn = loop.iter if isinstance(loop, cst.For) else loop.for_in.iter
    return whose_items(drawn, ctx) is not None


def whose_items(node: cst.BaseExpression, ctx: FileView) -> cst.BaseExpression | None:
    """Return the `x` of `x.items()` and `x.values()`, also of those of `x._asdict()`,
    `dataclasses.asdict(x)` and `vars(x)`.
    """
    if not isinstance(node, cst.Call) or node.args or not isinstance(node.func, cst.Attribute):
        return None
    owner = node.func.value if node.func.attr.value in {"items", "values"} else None
    return owner if owner is None else whose_fields(owner, ctx) or owner


def whose_fields(node: cst.BaseExpression, ctx: FileView) -> cst.BaseExpression | None:
    """Return the `x` of a call that gives a dict of its fields."""
    if not isinstance(node, cst.Call):
        return None
    if isinstance(node.func, cst.Attribute) and node.func.attr.value == "_asdict":
        return None if node.args else node.func.value
    is_fields = ctx.called(node) in _GIVING_FIELDS and len(node.args) == 1
    return node.args[0].value if is_fields else None


def is_unconditional(node: cst.CSTNode, ctx: FileView, *, each_item: bool = False) -> bool:
    """Return whether a function executes a node whenever it comes to its end, in the first process.

    `each_item`: be it for each item of a dictionary, or for each of the arguments.
    """
    return not any(
        not (each_item and isinstance(around, cst.For) and _goes_through_values(around, ctx))
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
        and not runs_in_first(child, around, ctx)
        for child, around in ancestors_in_function(node, ctx)
    )


def _goes_through_values(loop: cst.For, ctx: FileView) -> bool:
    return goes_through_items(loop, ctx) or _is_parameter(loop.iter, ctx)


def _is_of_arguments(node: cst.BaseExpression, ctx: FileView) -> bool:
    """Return whether a name stands for the `*values` of a function."""
    bound = ctx.names.sole_definition(node) if isinstance(node, cst.Name) else None
    function = ctx.function(node)
    return (
        isinstance(function, cst.FunctionDef)
        and bound is not None
        and (function.params.star_arg is bound)
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
            if ctx.tree.index(each) <= before and ctx.function(each) is function
            if not isinstance(each, cst.BinaryOperation) or is_formatting(each)
            for what in read_here(each, ctx)
            if is_unconditional(each, ctx, each_item=True) and is_kept(each, function, ctx)
            if (name := root_name(_drawn_from(what, each, ctx)))
            and not _is_rebound(name, each, ctx)
        }
        known[id(function)] = kept - names_tested(function, ctx)
    return known[id(function)]


def parameters_read(
    function: Function, ctx: FileView, *, drawn: bool = False
) -> frozenset[int | str]:
    """Return how calls pass what a function always reads on the host, to keep or to show it: by
    position, the object of a method left out, and by name; see `is_passed_to`. `RECEIVER`: it reads
    what the object of the method holds.

    `drawn`: of a generator, all that it gives is drawn.
    """
    if not isinstance(function, cst.FunctionDef) or function.decorators:
        return frozenset()
    if function.asynchronous is not None or is_generator(function, ctx.names) is not drawn:
        return frozenset()
    kept = _kept_parameters(function, ctx)
    passed = [*function.params.posonly_params, *function.params.params]
    receiver = ""
    if class_of_method(function, ctx.names) is not None:
        receiver = passed[0].name.value if passed else ""
        passed = passed[1:]
    names = [each.name.value for each in passed]
    positions = {position for position, name in enumerate(names) if name in kept}
    by_name = {*names, *(each.name.value for each in function.params.kwonly_params)}
    read: set[int | str] = positions | (kept & by_name)
    more, named = function.params.star_arg, function.params.star_kwarg
    if isinstance(more, cst.Param) and more.name.value in kept:
        read |= {*range(len(names), len(names) + _MOST_MORE), *(() if names else ("*",))}
    if named is not None and named.name.value in kept:
        read |= {"**", *(f"{_NOT_READ}{name}" for name in by_name - kept)}
    if receiver in kept:
        read.add(RECEIVER)
    return frozenset(read)


def read_by_each(func: cst.BaseExpression, ctx: FileView) -> Iterator[frozenset[int | str]]:
    """Yield what a method reads that a loop calls on each object of a list, by their classes:
    `for callback in self.callbacks: callback.on_step(step)`. See `parameters_read`.
    """
    if not isinstance(func, cst.Attribute) or not isinstance(func.value, cst.Name):
        return
    only = ctx.names.sole_binding(func.value)
    if only is None or not isinstance(only.node, cst.For):
        return
    # Rules import this module where LibCST may not be needed.
    from placement_lint.semantic.known_types import KnownTypes

    for known in objects_in(only.node, ctx):
        if known.path != ctx.module.path:
            effects = effects_of_method(known, func.attr.value, ctx, ONLY_READS)
            yield frozenset() if effects is None else effects.reads
            continue
        cls = ctx.module.fact(KnownTypes).class_here(known)
        if cls is not None:
            method = method_of_class(cls, func.attr.value, ctx.names)
            yield frozenset() if method is None else parameters_read(method, ctx)


def is_passed_to(read: frozenset[int | str], passed_as: int | str) -> bool:
    """Return whether what a call passes so is among what `parameters_read` says is read."""
    if passed_as in read:
        return True
    is_named = isinstance(passed_as, str) and not passed_as.startswith("*")
    return is_named and "**" in read and f"{_NOT_READ}{passed_as}" not in read


def _first_return(function: cst.FunctionDef, ctx: FileView) -> int:
    """Return the place behind the first `return` of a function, or else of its end."""
    for each in ctx.tree.every(cst.Return, below=function.body):
        if ctx.function(each) is function and not is_for_others(each, ctx):
            return ctx.tree.ends[ctx.tree.index(each)]
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


def _drawn_from(node: cst.BaseExpression, read: cst.CSTNode, ctx: FileView) -> cst.BaseExpression:
    """Return the `metrics` of a `value` that is drawn from `metrics.items()`, or a node itself.

    What a number is made of is no key: it may be drawn from `metrics` itself.
    """
    only = ctx.names.sole_binding(node) if isinstance(node, cst.Name) else None
    if only is None or not isinstance(only.node, cst.For | cst.CompFor):
        return node
    drawn = only.node.iter
    if _is_of_arguments(drawn, ctx) or (_is_parameter(drawn, ctx) and _is_number(read, ctx)):
        return drawn
    return whose_items(drawn, ctx) or node


def _is_number(read: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether what is read is made a number, or a text that has a number's format."""
    if isinstance(read, cst.FormattedStringExpression):
        return read.format_spec is not None
    if not isinstance(read, cst.Call):
        return False
    is_item = isinstance(read.func, cst.Attribute) and read.func.attr.value in _READING_METHODS
    return is_item or ctx.called(read) in CONVERTING


def _is_parameter(node: cst.BaseExpression, ctx: FileView) -> bool:
    return parameter_named(node, ctx.names) is not None


def root_name(node: cst.BaseExpression) -> str | None:
    """Return the name at the beginning of `metrics["loss"].mean`."""
    while isinstance(node, cst.Attribute | cst.Subscript):
        if isinstance(node, cst.Attribute) and node.attr.value in METADATA_ATTRIBUTES:
            return None
        node = node.value
    return node.value if isinstance(node, cst.Name) else None
