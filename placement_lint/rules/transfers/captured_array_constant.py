"""JDP407."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.findings import Applicability, Confidence, Edit, Severity
from placement_lint.jaxmodel.tracing import TRACINGS
from placement_lint.jaxmodel.transfer import LIKE_CREATORS, METADATA_ATTRIBUTES
from placement_lint.prefilter.conditions import AllOf, Jax
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.transfers.array_sizes import (
    SMALL,
    element_count,
    has_wide_sides,
    size_text,
)
from placement_lint.rules.transfers.compiled_callees import compiled_callees, is_jitted
from placement_lint.rules.transfers.jitted_calls import JITS
from placement_lint.rules.transfers.object_arrays import kept_by_object
from placement_lint.semantic.beside import definition_beside, transform_called
from placement_lint.semantic.enclosing import is_in_test
from placement_lint.semantic.followed import followed
from placement_lint.semantic.own_attributes import own_attribute
from placement_lint.semantic.returned import only_return
from placement_lint.semantic.tracing import TracedFunctions
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import PARTIAL, parameter_named
from placement_lint.syntax.dotted import dotted, whole_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.edits import Editor

    Function: TypeAlias = "cst.FunctionDef | cst.Lambda"

_LOADERS = frozenset({
    "jax.numpy.load", "numpy.fromfile", "numpy.genfromtxt", "numpy.load", "numpy.loadtxt",
    "numpy.memmap", "safetensors.flax.load", "safetensors.flax.load_file",
    "safetensors.numpy.load", "safetensors.numpy.load_file",
})  # fmt: skip
_CONVERTING = frozenset({
    "jax.device_put", "jax.numpy.array", "jax.numpy.asarray", "numpy.array", "numpy.asarray",
})  # fmt: skip
# One value everywhere: that is all that the program holds of it (measured).
_UNIFORM = frozenset({"empty", "full", "ones", "zeros"})
_MAX_HOPS = 6


class CapturedArrayConstant(Rule):
    """A large array that a jitted function captures, instead of taking it as an argument.

    ## What it does
    Finds a jitted function that reads a variable of the enclosing function or module, or an
    attribute of an object that is no argument of it (`self`, if that is static, or an object that
    it holds, also of a class of another file), which holds the result of a loader (`np.load`,
    `jnp.load`, `load_file`, also `dict(np.load(…))`, or by way of a function of the program), what
    `jax.device_put` has put on a device, or an array of 65,536 elements or more, or of several
    unknown sides; and such an array bound by `functools.partial`. A function of the same file that
    a jitted one calls, or gives to `jax.grad` and the like, counts as jitted.

    ## Why is this bad?
    A captured array becomes a constant of the compiled program, which contains all of its values.
    Tracing and compiling then take time and memory for each byte, once for every shape that the
    function is called with, and every compiled program keeps its own copy on the device. XLA may
    also compute with the constant at compile time: the sum of 16 MiB took half a minute. Later
    changes to the variable have no effect.

    ## Example
    ```python
    import jax
    import numpy as np

    table = jax.device_put(np.load("table.npy"))

    @jax.jit
    def look_up(indices):
        return table[indices]
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np

    table = jax.device_put(np.load("table.npy"))

    @jax.jit
    def look_up(indices, table):
        return table[indices]
    ```

    ## Fix safety
    Display-only: it makes the array a parameter, which every call then has to pass.

    ## What it does not flag
    Arrays that are known to be small, or whose size is not known; reads of their shape or type;
    names that are assigned more than once; attributes that the class assigns more than once, or of
    an object that is an argument of the compiled function (a PyTree). Constant arrays
    (`jnp.ones`), for which the program stores a single value. Arrays that the compiled function
    makes itself; functions that only vmap or grad traces. Tests.

    ## Verified by
    The proof lowers a function that captures an array of 4 MiB, and the program's text has 4 MiB.
    With the array as an argument, it has a few kilobytes.

    ## References
    - [Handling of closed-over constants](https://docs.jax.dev/en/latest/internals/constants.html),
      which JAX can log: `JAX_CAPTURED_CONSTANTS_WARN_BYTES`
    - jax-ml/jax#10596: a captured value is baked into the program; a parameter is the way out
    - jax-ml/jax#16278: out of memory by a captured array, but not by one of zeros or ones
    - Measured on JAX 0.4.30, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP407", "captured-array-constant"
    advice = "Pass the array to the function as an argument"
    severity, fix = Severity.WARNING, Applicability.DISPLAY
    pedantic = True
    # The array may be made in another file.
    needs = AllOf(Jax(), b"jit")

    def visit_FunctionDef(self, node: cst.FunctionDef, ctx: Context) -> None:
        _check_function(node, ctx)

    def visit_Lambda(self, node: cst.Lambda, ctx: Context) -> None:
        _check_function(node, ctx)

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        """Check what a `functools.partial` binds that is jitted, at once or by its name."""
        if transform_called(node, ctx.module) not in JITS or is_in_test(node, ctx):
            return
        seen = ctx.module.fact(_seen)
        for partial in _partials_in(Arguments(node).get(0, "fun"), ctx):
            if id(partial) in seen:
                continue
            seen.add(id(partial))
            arguments = Arguments(partial)
            for value in [*arguments.positional[1:], *arguments.keywords.values()]:
                if not isinstance(value, cst.Attribute | cst.Call | cst.Name):
                    continue
                made = _large(value, ctx)
                if made is not None:
                    _report(value, made, None, ctx)


def _partials_in(given: cst.BaseExpression | None, ctx: Context) -> Iterator[cst.Call]:
    """Yield the partials that something is which is compiled, also in one another, and in what JAX
    maps or differentiates.
    """
    for _ in range(_MAX_HOPS):
        made = None if given is None else followed(given, ctx)
        if not isinstance(made, cst.Call):
            return
        name = ctx.called(made)
        tracing = TRACINGS.get(name or "")
        if name == PARTIAL:
            yield made
        elif tracing is None or not tracing.decorates:
            return
        given = Arguments(made).get(0, "func", "fun", "f")


def _seen(_facts: ModuleFacts) -> set[int]:
    """Make the store of one file: the calls of `functools.partial` that were checked."""
    return set()


def _check_function(function: Function, ctx: Context) -> None:
    traced = ctx.module.fact(TracedFunctions)
    is_root = is_jitted(function, ctx)
    if not is_root and not _is_run_by_compiled(function, ctx):
        return
    if is_in_test(function, ctx):
        return
    seen: set[str] = set()
    for name in (function.body, *ctx.tree.descendants(function.body)):
        if isinstance(name, cst.Attribute) and dotted(name) not in seen:
            found = _large_attribute(name, function, ctx)
            if found is not None:
                seen.add(dotted(name))
                _report(name, found, None, ctx)
        if not isinstance(name, cst.Name) or name.value in seen or not _embeds(name, ctx):
            continue
        place = ctx.names.sole_definition(name)
        if place is None or not ctx.tree.contains(place):
            continue
        if ctx.tree.is_inside(place, function):
            continue
        if traced.is_traced(place) or (
            not is_root and _is_run_by_compiled(place, ctx, around=True)
        ):
            continue
        made = _large(name, ctx)
        if made is not None:
            seen.add(name.value)
            _report(name, made, function if is_root else None, ctx)


def _is_run_by_compiled(node: cst.CSTNode, ctx: Context, *, around: bool = False) -> bool:
    """Return whether a function is one that compiled code runs, and is in no other such; or, with
    `around`, whether a node is in one.
    """
    known = compiled_callees(ctx)
    is_inside = any(id(each) in known for each in ctx.tree.ancestors(node))
    return is_inside if around else id(node) in known and not is_inside


def _large_attribute(
    attribute: cst.Attribute, function: Function, ctx: Context
) -> tuple[cst.CSTNode, Context] | None:
    """Return the call that makes the large array that an attribute is, and the file of that.

    The attribute is one of the object, or of what that or the function around holds. None where
    such an object is an argument of the compiled function, and no constant.
    """
    root = whole_of(attribute)
    if not isinstance(root, cst.Name) or not dotted(attribute) or not _embeds(attribute, ctx):
        return None
    parameter = parameter_named(root, ctx.names)
    if parameter is not None and ctx.module.fact(TracedFunctions).is_traced(parameter):
        return None
    if parameter in function.params.params[:1] and not compiled_callees(ctx).get(id(function)):
        return None
    value, there = own_attribute(attribute, ctx), ctx
    if value is None:
        others = {id(each) for each in _parameters(function)[1:]}
        is_given = parameter is not None and id(parameter) in others
        kept = None if is_given or _is_local(attribute, function, ctx) else _kept(attribute, ctx)
        if kept is None:
            return None
        value, there = kept
    if there.module is ctx.module and ctx.tree.is_inside(value, function):
        return None
    return _large(value, there)


def _kept(attribute: cst.Attribute, ctx: Context) -> tuple[cst.BaseExpression, Context] | None:
    return None if ctx.name(attribute) is not None else kept_by_object(attribute, ctx)


def _parameters(function: Function) -> list[cst.Param]:
    params = function.params
    return [*params.posonly_params, *params.params, *params.kwonly_params]


def _is_local(attribute: cst.Attribute, function: Function, ctx: Context) -> bool:
    """Return whether an object is one that the compiled function makes, or is given in a loop."""
    root = whole_of(attribute)
    bindings = ctx.names.bindings(root) if isinstance(root, cst.Name) else []
    return any(
        ctx.tree.contains(each.node) and ctx.tree.is_inside(each.node, function.body)
        for each in bindings
    )


def _report(
    name: cst.Attribute | cst.Call | cst.Name,
    found: tuple[cst.CSTNode, Context],
    function: Function | None,
    ctx: Context,
) -> None:
    made, there = found
    what = dotted(name) if not isinstance(name, cst.Call) else f"{dotted(name.func)}(…)"
    ctx.report(
        name,
        f"`{what}` becomes a constant of the compiled program{size_text(made, there)}: "
        "pass it as an argument",
        confidence=Confidence.LIKELY,
        related=((made, there.module.path, "made here"),),
        fix=_plan(name, function) if function is not None and isinstance(name, cst.Name) else None,
    )


def _embeds(name: cst.Name | cst.Attribute, ctx: Context) -> bool:
    """Return whether a read of an array, or of one of several, is more than a look at its shape."""
    read: cst.BaseExpression = name
    while isinstance(parent := ctx.parent(read), cst.Subscript) and parent.value is read:
        read = parent
    if isinstance(parent, cst.AssignTarget):
        return False
    if isinstance(parent, cst.Attribute):
        return parent.attr.value not in METADATA_ATTRIBUTES
    if isinstance(parent, cst.Arg):
        called = ctx.called(ctx.parent(parent))
        return called != "builtins.len" and called not in LIKE_CREATORS
    return True


def _large(node: cst.BaseExpression, ctx: Context) -> tuple[cst.CSTNode, Context] | None:
    """Return the call that surely makes a large array of what a name stands for, and its file."""
    node, put, is_given = followed(node, ctx), None, False
    for _ in range(_MAX_HOPS):
        if isinstance(node, cst.Subscript):
            # One array of a file that has several; a part of a single one may be small.
            inner = followed(node.value, ctx)
            key = node.slice[0].slice
            if not isinstance(key, cst.Index) or not isinstance(key.value, cst.SimpleString):
                return None
            node = inner
        elif ctx.called(node) in _LOADERS:
            return node, ctx
        elif isinstance(node, cst.Call) and ctx.is_call(node, "builtins.dict"):
            held = Arguments(node).positional
            if len(held) != 1 or len(node.args) != 1:
                return None
            node = followed(held[0], ctx)
        elif ctx.called(node) in _CONVERTING and isinstance(node, cst.Call):
            count = element_count(node, ctx)
            if count is not None:
                return (node, ctx) if count >= SMALL and not is_given else None
            operand = Arguments(node).get(0, "x", "object", "a")
            if operand is None:
                return None
            put = node if ctx.is_call(node, "jax.device_put") else put
            node = followed(operand, ctx)
        elif isinstance(node, cst.Call) and (given := _given_by(node, ctx)) is not None:
            node, ctx = given
            is_given = True
        else:
            break
    if is_given:
        # How large it is may be decided by what the function is given.
        return None
    if (ctx.called(node) or "").rpartition(".")[2] in _UNIFORM:
        return None
    count = element_count(node, ctx)
    if count is not None:
        return (node, ctx) if count >= SMALL else None
    if isinstance(node, cst.Call) and has_wide_sides(node, ctx):
        return node, ctx
    # What a program puts on a device is data, wherever it comes from.
    is_data = put is not None and isinstance(node, cst.Attribute | cst.Name)
    return (put, ctx) if put is not None and is_data else None


def _given_by(call: cst.Call, ctx: Context) -> tuple[cst.BaseExpression, Context] | None:
    """Return what a function of the program gives that a call runs, and the file of that."""
    function, there = ctx.names.sole_definition(call.func), ctx
    if (name := ctx.name(call.func)) is not None:
        found = definition_beside(ctx.module, name)
        beside = None if found is None else ctx.beside(found[1].path)
        if found is None or beside is None:
            return None
        function, there = found[0], beside
    if not isinstance(function, cst.FunctionDef) or function.decorators:
        return None
    value = only_return(function, there)
    return None if value is None else (followed(value, there), there)


def _plan(name: cst.Name, function: Function) -> FixPlan | None:
    """Add a parameter of the same name."""
    parameters = function.params
    is_open = bool(parameters.kwonly_params) or parameters.star_kwarg is not None
    if is_open or isinstance(parameters.star_arg, cst.Param) or not parameters.params:
        return None
    last = parameters.params[-1]
    if last.default is not None:
        return None

    def build(editor: Editor) -> list[Edit]:
        _, end = editor.spans.inner(last)
        if last.annotation is not None:
            _, end = editor.spans.outer(last.annotation.annotation)
        return [editor.insert(end, f", {name.value}")]

    return FixPlan(Applicability.DISPLAY, "Make it a parameter; each call has to pass it", build)
