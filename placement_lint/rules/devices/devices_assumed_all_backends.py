"""JDP301."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Edit, Severity
from placement_lint.prefilter.conditions import AllOf, AnyOf, Enters, Jax, Pattern, Says, Uses
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.devices.backend_guards import cpu_is_default
from placement_lint.rules.devices.queries import (
    gives_default_devices,
    in_host_block,
    is_cpu_device,
    is_pinned_to_cpu,
    lists_default_backend,
)
from placement_lint.semantic.followed import assigned_value
from placement_lint.syntax.calls import string_value
from placement_lint.syntax.collection_methods import ADDING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor

_PLATFORM_ATTRIBUTES = frozenset({"platform", "device_kind"})
_WORDS_FOR_CPU = frozenset({"cpu", "cpus", "host", "hosts"})
_LISTING = (
    "{}() lists the devices of the default backend only: no CPU is found in it on a machine with "
    "an accelerator"
)
_EQUAL_ASSERTIONS = frozenset({"assertEqual", "assertEquals", "assertIs"})


class DevicesAssumedAllBackends(Rule):
    """`jax.devices()` used as a list of all devices, the CPU included.

    ## What it does
    Finds `jax.devices()` and `jax.local_devices()`, called without a backend, if the CPU is
    searched for in the result: a comprehension, a `filter` or a loop that keeps the devices whose
    platform or kind is or contains `"cpu"`. Inside `with jax.default_device(cpu):`, it also finds a
    use that expects `jax.devices()` to return the CPU: a comparison, or a name such as
    `cpu_device`.

    ## Why is this bad?
    `jax.devices()` lists the devices of the *default backend* only. On a machine with a GPU, the
    CPU is not among them: the filter finds nothing, and taking the first element raises IndexError.
    On a machine without a GPU, where the code was written, it works. A `with jax.default_device(…)`
    block does not change the list.

    ## Example
    ```python
    import jax

    cpu = [d for d in jax.devices() if d.platform == "cpu"][0]
    ```

    ## Use instead
    ```python
    import jax

    cpu = jax.devices("cpu")[0]
    ```

    ## Fix safety
    Safe: a list comprehension that only keeps the CPUs, and `next` of such a generator, become
    `jax.devices("cpu")` and its first element. In any other filter, only the call becomes
    `jax.devices("cpu")`. Unsafe if the code goes on where no CPU is found, and so runs on the
    accelerator until it is fixed: a test whether the list is empty, a default, an `except`, a value
    that the variable has before the loop. Unsafe in a loop that does more than filter, or whose
    variable is read after it; and for a name inside a block of the host, where the intent is
    inferred from the name. No fix if nothing is asked but whether there are CPUs, or how many.

    ## What it does not flag
    Filters for an accelerator, or for anything but the CPU. Checks for a machine without an
    accelerator (`jax.devices()[0].platform == "cpu"` outside a block of the host). A program that
    makes the CPU its default backend (`JAX_PLATFORMS=cpu`, `jax.config.update("jax_platforms",
    "cpu")`), and code behind a check that it is (`jax.default_backend() == "cpu"`). Inside a
    block of the host, a use that does not expect the CPU, such as
    `jax.device_put(x, jax.devices()[0])`, which puts `x` on the accelerator.

    ## Verified by
    The proof takes the first CPU from `jax.devices()` on a machine with an accelerator, and gets
    the IndexError. After the fix it gets the CPU.

    ## References
    - [jax.devices](https://docs.jax.dev/en/latest/_autosummary/jax.devices.html)
    - [jax-ml/jax#2897](https://github.com/jax-ml/jax/issues/2897): "confusing to me", says one of
      JAX's authors
    - [google/orbax#657](https://github.com/google/orbax/issues/657): `jax.devices()` inside
      `jax.default_device(cpu)`, expected to show the CPU
    """

    code, name = "JDP301", "devices-assumed-all-backends"
    advice = 'Ask for the platform by name, `jax.devices("cpu")`'
    severity, fix = Severity.ERROR, Applicability.SAFE
    follows_callers = True
    needs = AllOf(
        Jax(),
        b"cpu",
        AnyOf(
            AllOf(Pattern(rb"[\"']cpu[\"']", word=b"cpu"), Says(*_PLATFORM_ATTRIBUTES)),
            AllOf(Uses("jax.devices", "jax.local_devices"), Enters("jax.default_device")),
        ),
    )

    def visit_CompFor(self, node: cst.CompFor, ctx: Context) -> None:
        """Check `for d in jax.devices() if d.platform == "cpu"`."""
        target, source = node.target, node.iter
        if node.asynchronous is not None or not isinstance(target, cst.Name):
            return
        literal = next(
            (found for each in node.ifs if (found := _cpu_test(each.test, target.value))), None
        )
        call = source
        if not lists_default_backend(call, ctx):
            value = None if literal is None else assigned_value(source, ctx)
            if value is None or not lists_default_backend(value, ctx):
                if literal is not None:
                    _report_list(source, ctx)
                return
            call = value
        if literal is not None:
            _report(source, call, ctx, _comprehension_plan(node, call, literal, ctx))
        elif _expects_every_cpu(node, target.value, ctx) and in_host_block(node, ctx):
            _report(source, call, ctx, None, host_block=True)

    def visit_For(self, node: cst.For, ctx: Context) -> None:
        """Check `for d in jax.devices():` with `if d.platform == "cpu":` in it."""
        if not isinstance(node.target, cst.Name):
            return
        name, is_call = node.target.value, lists_default_backend(node.iter, ctx)
        for statement in node.body.body:
            if isinstance(statement, cst.If) and statement.orelse is None:
                literal = _cpu_test(statement.test, name)
                is_kept = literal is not None and _keeps(statement.body, name, ctx)
                if literal is not None and is_kept and not _is_rebound(node.body, name, ctx):
                    if not is_call:
                        _report_list(node.iter, ctx)
                        return
                    plan = _ask_plan(node.iter, literal, _level_of_loop(node, statement, ctx), ctx)
                    _report(node.iter, node.iter, ctx, plan)
                    return

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        """Check `filter(lambda d: d.platform == "cpu", jax.devices())` and `assertEqual`."""
        if len(node.args) < 2:
            return
        first, second = node.args[0].value, node.args[1].value
        if isinstance(first, cst.Lambda) and ctx.is_call(node, "builtins.filter"):
            parameters = first.params.params
            if len(parameters) != 1:
                return
            literal = _cpu_test(first.body, parameters[0].name.value)
            if literal is not None and not lists_default_backend(second, ctx):
                _report_list(second, ctx)
            elif literal is not None:
                plan = _ask_plan(second, literal, _level_of(node, ctx), ctx)
                _report(second, second, ctx, plan)
        elif isinstance(node.func, cst.Attribute) and node.func.attr.value in _EQUAL_ASSERTIONS:
            _compare(first, second, ctx)

    def visit_Comparison(self, node: cst.Comparison, ctx: Context) -> None:
        """Check `jax.devices()[0].platform == "cpu"` inside a host block."""
        if len(node.comparisons) == 1:
            target = node.comparisons[0]
            if isinstance(target.operator, cst.Equal | cst.Is):
                _compare(node.left, target.comparator, ctx)

    def visit_Assign(self, node: cst.Assign, ctx: Context) -> None:
        """Check `cpu_device = jax.devices()[0]` inside a host block."""
        call = _taken_from_list(node.value, ctx)
        if call is None or not any(_is_named_cpu(each.target) for each in node.targets):
            return
        if in_host_block(node, ctx):
            plan = _ask_plan(call, None, Applicability.UNSAFE, ctx)
            _report(call, call, ctx, plan, host_block=True)


def _report_list(node: cst.BaseExpression, ctx: Context) -> None:
    """Report what is filtered for the CPU, if it is a list that has none, made elsewhere."""
    name = gives_default_devices(node, ctx)
    if name is not None and not _has_only_cpus(node, ctx):
        ctx.report(node, _LISTING.format(name))


def _has_only_cpus(node: cst.BaseExpression, ctx: Context) -> bool:
    return is_pinned_to_cpu(ctx.module) or cpu_is_default(node, ctx)


def _report(
    node: cst.BaseExpression,
    call: cst.BaseExpression,
    ctx: Context,
    plan: FixPlan | None,
    *,
    host_block: bool = False,
) -> None:
    if _has_only_cpus(node, ctx):
        return
    name = ctx.called(call)
    if host_block:
        message = (
            f"{name}() lists the devices of the default backend also inside "
            "`with jax.default_device(…)`: the CPU is not among them on a machine with an "
            "accelerator"
        )
    else:
        message = _LISTING.format(name)
    related = [] if node is call else [(call, ctx.module.path, "listed here")]
    ctx.report(node, message, fix=plan, related=related)


# -- recognising ------------------------------------------------------------------------------


def _cpu_test(test: cst.BaseExpression, name: str) -> cst.BaseExpression | None:
    """Return the `"cpu"` that `name.platform` must equal for a condition to hold."""
    pending = [test]
    while pending:
        part = pending.pop()
        if isinstance(part, cst.BooleanOperation) and isinstance(part.operator, cst.And):
            pending += (part.right, part.left)
        elif isinstance(part, cst.Comparison) and len(part.comparisons) == 1:
            compared = _compared_with_cpu(part.left, part.comparisons[0], name)
            if compared is not None:
                return compared
    return None


def _compared_with_cpu(
    left: cst.BaseExpression, target: cst.ComparisonTarget, name: str
) -> cst.BaseExpression | None:
    """Return the `"cpu"` with which `name.platform` is compared."""
    right = target.comparator
    sides: tuple[tuple[cst.BaseExpression, cst.BaseExpression], ...] = ()
    if isinstance(target.operator, cst.Equal):
        sides = ((left, right), (right, left))
    elif isinstance(target.operator, cst.In):
        sides = ((right, left),)
    for one, other in sides:
        if string_value(other) == "cpu" and _is_platform_of(one, name):
            return other
    return None


def _is_platform_of(node: cst.BaseExpression, name: str) -> bool:
    owner = _platform_owner(node)
    return isinstance(owner, cst.Name) and owner.value == name


def _platform_owner(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return `d` of `d.platform`, `d.device_kind` and `d.platform.lower()`."""
    if (
        isinstance(node, cst.Call)
        and not node.args
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in {"lower", "casefold"}
    ):
        node = node.func.value
    if isinstance(node, cst.Attribute) and node.attr.value in _PLATFORM_ATTRIBUTES:
        return node.value
    return None


def _taken_from_list(node: cst.BaseExpression, ctx: Context) -> cst.BaseExpression | None:
    """Return `jax.devices()` of `jax.devices()[0]`."""
    if isinstance(node, cst.Subscript) and lists_default_backend(node.value, ctx):
        return node.value
    return None


def _compare(one: cst.BaseExpression, other: cst.BaseExpression, ctx: Context) -> None:
    for left, right in ((one, other), (other, one)):
        owner = _platform_owner(left)
        if owner is not None and string_value(right) == "cpu":
            call = _taken_from_list(owner, ctx)
        elif string_value(right) is None and is_cpu_device(right, ctx):
            call = _taken_from_list(left, ctx)
        else:
            continue
        if call is not None and in_host_block(left, ctx):
            _report(call, call, ctx, None, host_block=True)
            return


def _expects_every_cpu(node: cst.CompFor, name: str, ctx: Context) -> bool:
    """Return whether a comprehension is `d.platform == "cpu" for d in …`, as in `all(…)`."""
    parent = ctx.parent(node)
    if not isinstance(parent, cst.GeneratorExp | cst.ListComp | cst.SetComp):
        return False
    return _cpu_test(parent.elt, name) is not None


def _keeps(body: cst.BaseSuite, name: str, ctx: Context) -> bool:
    """Return whether a loop's body stores, returns or yields the loop's variable."""
    for node in ctx.tree.descendants(body):
        kept: cst.BaseExpression | cst.From | None = None
        if isinstance(node, cst.Assign | cst.Return | cst.Yield | cst.AnnAssign):
            kept = node.value
        elif (
            isinstance(node, cst.Call)
            and isinstance(node.func, cst.Attribute)
            and node.func.attr.value in ADDING
            and node.args
        ):
            kept = node.args[-1].value
        if isinstance(kept, cst.Name) and kept.value == name:
            return True
    return False


def _is_rebound(body: cst.BaseSuite, name: str, ctx: Context) -> bool:
    """Return whether a loop's body gives the loop's variable another value."""
    for node in ctx.tree.descendants(body):
        target: cst.CSTNode | None = None
        if isinstance(node, cst.AssignTarget | cst.AugAssign | cst.For | cst.NamedExpr):
            target = node.target
        if isinstance(target, cst.Name) and target.value == name:
            return True
    return False


def _is_named_cpu(target: cst.BaseExpression) -> bool:
    name = target.attr if isinstance(target, cst.Attribute) else target
    if not isinstance(name, cst.Name):
        return False
    words = name.value.lower().split("_")
    return not _WORDS_FOR_CPU.isdisjoint([*words, words[-1].rstrip("0123456789")])


# -- the fix ----------------------------------------------------------------------------------

_IMPERATIVE = "Ask for the devices of the CPU"


def _level_of(found: cst.BaseExpression, ctx: Context) -> Applicability:
    """Return how safe it is that CPUs are found: where none were, the code must have failed.

    Code that goes on without them runs on the accelerator, and would run on the host then.
    """
    from placement_lint.rules.devices.emptiness import goes_on_without

    return Applicability.UNSAFE if goes_on_without(found, ctx) else Applicability.SAFE


def _is_asked_about(found: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether nothing is wanted of the CPUs but whether there are any, or how many.

    With CPUs of another backend among them, that says no longer whether there is an accelerator.
    """
    from placement_lint.rules.devices.emptiness import question_of

    argument = ctx.parent(found)
    if isinstance(argument, cst.Arg) and ctx.is_call(ctx.parent(argument), "builtins.sum"):
        return True
    question = question_of(found, ctx)
    return question is not None and not question.is_bound


def _level_of_loop(loop: cst.For, kept: cst.If, ctx: Context) -> Applicability:
    from placement_lint.rules.devices.emptiness import loop_goes_on_without

    is_filter = len(loop.body.body) == 1
    return (
        Applicability.SAFE
        if is_filter and not loop_goes_on_without(loop, kept, ctx)
        else Applicability.UNSAFE
    )


def _ask_plan(
    call: cst.BaseExpression,
    literal: cst.BaseExpression | None,
    level: Applicability,
    ctx: Context,
) -> FixPlan | None:
    """Ask the call for the CPU, and leave everything around it."""
    if not isinstance(call, cst.Call) or call.args:
        return None
    name = ctx.called(call)

    def build(editor: Editor) -> list[Edit]:
        text = editor.string("cpu", call) if literal is None else editor.text(literal)
        _, end = editor.spans.inner(call)
        return [editor.insert(end - 1, _argument(name, text))]

    return FixPlan(level, _IMPERATIVE, build)


def _argument(name: str | None, literal: str) -> str:
    # The first parameter of local_devices is a process.
    return f"backend={literal}" if name == "jax.local_devices" else literal


def _comprehension_plan(
    node: cst.CompFor, call: cst.BaseExpression, literal: cst.BaseExpression, ctx: Context
) -> FixPlan | None:
    """Put the call in the place of a comprehension that does nothing but filter."""
    whole = ctx.parent(node)
    if not isinstance(whole, cst.BaseExpression) or _is_asked_about(whole, ctx):
        return None
    level = _level_of(whole, ctx)
    ask = _ask_plan(call, literal, level, ctx)
    replaced, suffix = _replaceable(node, ctx)
    if replaced is None or ask is None or not isinstance(call, cst.Call):
        return ask if call is node.iter else None
    name = ctx.called(call)
    spelled = None if name is None else ctx.spell(name, node)

    def build(editor: Editor) -> Sequence[Edit] | None:
        if editor.has_comment(editor.spans.inner(replaced)):
            return ask.build(editor) if call is node.iter else None
        function = editor.text_alone(call.func) if call is node.iter else spelled
        if function is None:
            return ask.build(editor) if call is node.iter else None
        argument = _argument(name, editor.text(literal))
        return [editor.replace(replaced, f"{function}({argument}){suffix}")]

    return FixPlan(level, _IMPERATIVE, build)


def _replaceable(node: cst.CompFor, ctx: Context) -> tuple[cst.CSTNode | None, str]:
    """Return the whole expression that only keeps the CPUs, and what picks its element."""
    whole = ctx.parent(node)
    if not isinstance(whole, cst.ListComp | cst.GeneratorExp) or node.inner_for_in is not None:
        return None, ""
    if len(node.ifs) != 1 or not isinstance(node.ifs[0].test, cst.Comparison):
        return None, ""
    target, kept = node.target, whole.elt
    if not isinstance(target, cst.Name) or not isinstance(kept, cst.Name):
        return None, ""
    if kept.value != target.value:
        return None, ""
    if isinstance(whole, cst.ListComp):
        return whole, ""
    argument = ctx.parent(whole)
    call = None if argument is None else ctx.parent(argument)
    if isinstance(call, cst.Call) and len(call.args) == 1 and ctx.is_call(call, "builtins.next"):
        return call, "[0]"
    return None, ""
