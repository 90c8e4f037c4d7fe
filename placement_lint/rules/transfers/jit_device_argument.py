"""JDP404."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Confidence, Edit, Severity
from placement_lint.placement.domain import contents, values
from placement_lint.placement.domain.devices import Device, differ
from placement_lint.prefilter.conditions import AllOf, AnyOf, ArgumentMatches, Jax, Uses, passed
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.semantic.enclosing import failure_is_expected
from placement_lint.semantic.followed import followed
from placement_lint.semantic.returned import given_by
from placement_lint.semantic.spread_options import AllArguments
from placement_lint.semantic.version_guards import deprecation_is_known, is_guarded
from placement_lint.syntax.calls import Arguments, is_none, string_value
from placement_lint.syntax.definitions import parameter_named
from placement_lint.syntax.spelling import needed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor

_DEPRECATED = frozenset({"jax.jit", "jax.experimental.pjit.pjit", "equinox.filter_jit"})
# It passes `out_shardings` on in any case, with which jit refuses the two.
_REFUSED = frozenset({"flax.nnx.jit"})
_ARGUMENTS = frozenset({"backend", "device"})
# What gives None where there is nothing.
_MAYBE = frozenset({"get", "getenv", "pop"})
_SHARDINGS = frozenset({"in_shardings", "out_shardings"})
_MAX_HOPS = 6


class JitDeviceArgument(Rule):
    """A `device=` or `backend=` argument of `jax.jit`.

    ## What it does
    Finds `jax.jit(function, backend="cpu")` and `jax.jit(function, device=device)`, also as a
    decorator, through `functools.partial` or `**options` of a dict in the file, and of `pjit`,
    `equinox.filter_jit` and `flax.nnx.jit`.

    ## Why is this bad?
    Both arguments are deprecated: every version of JAX since 0.4.30 warns about them, and a later
    one will remove them (`flax.nnx.jit` already raises ValueError). They also do more than they
    say. Every call silently copies the arguments to the device, even those that are committed to
    another one. The results are *committed* to the device, so that an operation with an array that
    is committed elsewhere raises "Received incompatible devices".

    ## Example
    ```python
    import jax

    def prepare(x):
        normalise = jax.jit(lambda y: y / y.sum(), device=jax.devices("cpu")[0])
        return normalise(x)
    ```

    ## Use instead
    ```python
    import jax

    def prepare(x):
        normalise = jax.jit(lambda y: y / y.sum())
        return normalise(jax.device_put(x, jax.devices("cpu")[0]))
    ```

    If the results should not be committed, call the function inside `with
    jax.default_device(jax.devices("cpu")[0]):` instead.

    ## Fix safety
    Unsafe: the argument becomes `out_shardings=SingleDeviceSharding(device)`, which runs the
    function on the device and commits its results there as before, but raises ValueError for an
    argument that is committed elsewhere, which the old argument copied. No fix if a call in the
    file passes such an argument: put it on the device. `backend="cpu"` means the CPU of the process
    itself, which is `jax.local_devices(backend="cpu")[0]`; `jax.devices("cpu")` begins with the CPU
    of process 0. For `backend=` outside a function the fix is display-only, since it would start
    the backend when the module is imported. No fix next to other shardings.

    ## What it does not flag
    `device=None` and `backend=None`, and values that may be None: an attribute, or a parameter
    whose default is None, as wrappers of jit pass on. `jax.pmap(…, backend=…)`, which is not
    deprecated in this way. The arguments of other `jit` functions, such as Numba's. A call that is
    expected to fail; code under a condition on the version, or whose warnings are ignored
    (`with warnings.catch_warnings():`).

    ## Verified by
    The proof turns warnings into errors, and gets the DeprecationWarning when a function is jitted
    for the host. After the fix there is no warning, and the result is on the host, committed.

    ## References
    - [jax-ml/jax#1914](https://github.com/jax-ml/jax/issues/1914): the output of
      `jit(backend="cpu")` meets an array of the default device
    - [jax.jit](https://docs.jax.dev/en/latest/_autosummary/jax.jit.html): "deprecated"
    - Measured on JAX 0.4.30, 0.10.2 and 0.12.0.1, equinox 0.13.8 and flax 0.12.12
    """

    code, name = "JDP404", "jit-device-argument"
    advice = (
        "Put the arguments on the device with `jax.device_put`: the function runs where they are"
    )
    severity, fix = Severity.WARNING, Applicability.UNSAFE
    follows_callers = True
    needs = AllOf(
        Jax(),
        AnyOf(
            passed(b"backend"),
            passed(b"device"),
            b"**",
        ),
        Uses(*_DEPRECATED, *_REFUSED),
        ArgumentMatches(
            (*_DEPRECATED, *_REFUSED, "functools.partial"),
            r"\b(?:backend|device)[\s\\]*=(?!=)|\*\*",
        ),
    )

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        name = ctx.called(node)
        if name == "functools.partial":
            inner = Arguments(node).get(0, "func")
            name = None if inner is None else ctx.name(inner)
        if name not in _DEPRECATED and name not in _REFUSED:
            return
        for argument, keyword, given in _keywords(node, ctx):
            if keyword not in _ARGUMENTS:
                continue
            confidence = _confidence(given, ctx)
            if _passes_both(node):
                return
            if confidence is None or failure_is_expected(node, ctx):
                continue
            if is_guarded(node, ctx) or deprecation_is_known(node, ctx):
                continue
            ctx.report(
                argument,
                _message(name, keyword),
                confidence=confidence,
                related=_named_at(given, keyword, ctx),
                fix=None if name in _REFUSED else _plan(node, argument, ctx),
            )


def _keywords(call: cst.Call, ctx: Context) -> Iterator[tuple[cst.Arg, str, cst.BaseExpression]]:
    """Yield what a call passes by keyword, with where: in `**options`, where that is known."""
    own = {each.keyword.value for each in call.args if each.keyword is not None}
    spread = next((each for each in call.args if each.star == "**"), None)
    for each in call.args:
        if each.keyword is not None:
            yield each, each.keyword.value, each.value
    for name, given in ({} if spread is None else AllArguments(call, ctx).keywords).items():
        if spread is not None and name not in own:
            yield spread, name, given


def _named_at(
    given: cst.BaseExpression, keyword: str, ctx: Context
) -> list[tuple[cst.CSTNode, str, str]]:
    """Return where the device or the backend is named that a variable holds."""
    made: cst.BaseExpression | None = followed(given, ctx)
    parameter = parameter_named(made, ctx.names)
    if parameter is not None:
        made = parameter.default
    if made is None or made is given or not ctx.tree.contains(made):
        return []
    return [(made, ctx.module.path, f"the {keyword} is named here")]


def _message(name: str, keyword: str) -> str:
    if name in _REFUSED:
        return f"{name} raises ValueError for {keyword}="
    return (
        f"{keyword}= of {name} is deprecated; it copies every argument, and commits the results to "
        f"the {keyword}, where they clash with arrays committed elsewhere"
    )


def _passes_both(call: cst.Call) -> bool:
    """Return whether variables are passed on as both arguments: one of them has to be None."""
    given = [
        argument.value
        for argument in call.args
        if argument.keyword is not None and argument.keyword.value in _ARGUMENTS
    ]
    return len(given) == 2 and all(isinstance(value, cst.Name) for value in given)


def _confidence(node: cst.BaseExpression, ctx: Context, hops: int = _MAX_HOPS) -> Confidence | None:
    """Return how certain it is that an argument is not None; None where it may well be."""
    from placement_lint.placement.facts.annotations import allows_none

    made = given_by(node, ctx)
    held = ctx.flow.value(node)
    if is_none(made) or any(isinstance(atom, values.Plain) and atom.is_none for atom in held):
        return None
    if string_value(made) is not None or isinstance(made, cst.Subscript):
        return Confidence.DEFINITE
    if isinstance(made, cst.Call):
        name = ctx.called(made) or ""
        last = made.func.attr.value if isinstance(made.func, cst.Attribute) else name
        if last.rpartition(".")[2] in _MAYBE:
            return None
        is_jax = name.startswith("jax.")
        return Confidence.DEFINITE if is_jax else Confidence.LIKELY
    if isinstance(made, cst.IfExp):
        if not hops:
            return None
        branches = {_confidence(each, ctx, hops - 1) for each in (made.body, made.orelse)}
        if None in branches:
            return None
        return Confidence.LIKELY if Confidence.LIKELY in branches else Confidence.DEFINITE
    if held and all(isinstance(atom, values.TheDevice) for atom in held):
        return Confidence.DEFINITE
    if isinstance(made, cst.Name):
        bindings = ctx.names.bindings(made)
        params = [each.node for each in bindings if isinstance(each.node, cst.Param)]
        defaults = [param.default for param in params]
        if any(allows_none(param.annotation, ctx.names) for param in params):
            return None
        if defaults and len(defaults) == len(bindings) and not any(map(is_none, defaults)):
            return Confidence.LIKELY
    return None


def _plan(call: cst.Call, argument: cst.Arg, ctx: Context) -> FixPlan | None:
    """Express by `out_shardings` what `device` said."""
    keywords = {each.keyword.value for each in call.args if each.keyword is not None}
    if keywords & _SHARDINGS or keywords >= _ARGUMENTS or any(each.star for each in call.args):
        return None
    sharding = ctx.reach("jax.sharding.SingleDeviceSharding", at=call)
    by_backend = argument.keyword is not None and argument.keyword.value == "backend"
    devices = ctx.reach("jax.local_devices", at=call) if by_backend else None
    if sharding is None or (by_backend and devices is None):
        return None
    if _is_given_committed(call, _device(argument.value, ctx), ctx):
        # `out_shardings` refuses what `device` has copied.
        return None
    starts_at_import = by_backend and ctx.function(call) is None
    level = Applicability.DISPLAY if starts_at_import else Applicability.UNSAFE

    def build(editor: Editor) -> list[Edit] | None:
        start, end = editor.spans.inner(argument)
        value_start, value_end = editor.spans.outer(argument.value)
        if editor.has_comment((start, end)):
            return None
        text = editor.source.text[value_start:value_end]
        device = f"{devices}(backend={text})[0]" if by_backend else text
        changed = f"out_shardings={sharding}({device})"
        return [editor.replace_offsets(start, value_end, changed)]

    what = "Use out_shardings, which rejects arguments that are committed elsewhere"
    return FixPlan(level, what, build, imports=needed([sharding, devices]))


def _device(node: cst.BaseExpression, ctx: Context) -> Device | None:
    """Return the device that an argument of jit means; None for one that is not known."""
    platform = string_value(followed(node, ctx))
    if platform is not None:
        return Device(platform, 0)
    held = ctx.flow.value(node)
    only = next(iter(held)) if len(held) == 1 else None
    return only.device if isinstance(only, values.TheDevice) else None


def _is_given_committed(call: cst.Call, device: Device | None, ctx: Context) -> bool:
    """Return whether a call that is seen gives a jitted function what is committed elsewhere."""
    return any(
        array.committed
        and differ(array.device, device, accelerator=ctx.flow.accelerator) is not False
        for each in _calls(call, ctx)
        for argument in each.args
        for array in contents.arrays(ctx.flow.value(argument.value))
    )


def _calls(jit: cst.Call, ctx: Context) -> Iterator[cst.Call]:
    """Yield the calls of what a call of jit gives: at once, or by its name."""
    parent = ctx.parent(jit)
    name: str | None = None
    if isinstance(parent, cst.Call) and parent.func is jit:
        yield parent
    elif isinstance(parent, cst.Assign) and isinstance(parent.targets[0].target, cst.Name):
        name = parent.targets[0].target.value
    elif isinstance(parent, cst.Decorator):
        function = ctx.parent(parent)
        name = function.name.value if isinstance(function, cst.FunctionDef) else None
    for use in ctx.names.uses(name, ctx.names.scope(jit)) if name is not None else ():
        each = ctx.parent(use)
        if isinstance(each, cst.Call) and each.func is use:
            yield each
