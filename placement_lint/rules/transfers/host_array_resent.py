"""JDP406."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Confidence, Edit, Severity
from placement_lint.prefilter.conditions import AllOf, AnyOf, Identifier, Jax
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.devices.queries import is_pinned_to_cpu
from placement_lint.rules.transfers.array_sizes import SMALL, element_count, size_text
from placement_lint.rules.transfers.handed_on import handed_to_compiled
from placement_lint.rules.transfers.jitted_calls import jitted
from placement_lint.rules.transfers.numpy_values import makes_numpy_array, only_reads
from placement_lint.semantic.enclosing import is_in_test
from placement_lint.semantic.followed import bound_before
from placement_lint.semantic.loops import loop_around, runs_in_each_iteration
from placement_lint.semantic.own_attributes import attributes_by_name, own_attribute
from placement_lint.semantic.tracing import TracedFunctions
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import assigned_by
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.rules.context import Context
    from placement_lint.semantic.loops import Loop
    from placement_lint.syntax.edits import Editor


class HostArrayResent(Rule):
    """A NumPy array that a loop passes to a jitted function again on every iteration.

    ## What it does
    Finds a NumPy array that is made before a loop, is never changed, and is passed to a jitted
    function on every iteration of the loop. It is bound to a name, or to an attribute that the
    class assigns once. The call may be one of a function or a method of the program, of any file,
    that only hands the array on to a jitted one.

    ## Why is this bad?
    A NumPy array is in the host's memory. Each call copies the whole array to the device again. The
    JAX array that the call makes from it is discarded after the call.

    ## Example
    ```python
    import jax
    import numpy as np

    @jax.jit
    def step(state, table):
        return state + table.mean(axis=0)

    def train(state):
        table = np.load("table.npy")
        for _ in range(1000):
            state = step(state, table)
        return state
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np

    @jax.jit
    def step(state, table):
        return state + table.mean(axis=0)

    def train(state):
        table = np.load("table.npy")
        table = jax.device_put(table)
        for _ in range(1000):
            state = step(state, table)
        return state
    ```

    ## Fix safety
    Unsafe: the name then refers to a JAX array, which stays in the device's memory. No fix if the
    array belongs to another scope than the loop.

    ## What it does not flag
    Arrays that are known to have fewer than 65,536 elements. Arrays that may change: written to
    anywhere, passed to an unknown function, aliased, views of others, memory maps. Static
    arguments; functions that are not certainly jitted, or whose arguments have shardings; calls
    under an `if`, or after a `continue`; a program that is pinned to the CPU; tests.

    ## Verified by
    The proof counts the host-to-device transfers that JAX logs: one on each of four iterations;
    after the fix, one in total.

    ## References
    - [Transfer guard](https://docs.jax.dev/en/latest/transfer_guard.html): a NumPy argument of a
      jitted function is an implicit transfer
    - Measured on JAX 0.4.30, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP406", "host-array-resent"
    advice = "Put the array on the device once, before the loop, with `jax.device_put`"
    severity, fix = Severity.WARNING, Applicability.UNSAFE
    follows_callers = True
    pedantic = True
    # What is compiled may come from another file.
    needs = AllOf(Jax(), AnyOf(Identifier(b"for"), Identifier(b"while")))

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        inner = loop_around(node, ctx)
        if inner is None:
            return
        taken = handed_to_compiled(node, ctx)
        if not taken or not runs_in_each_iteration(node, inner, ctx):
            return
        if is_in_test(node, ctx) or is_pinned_to_cpu(ctx.module):
            return
        if ctx.module.fact(TracedFunctions).is_traced(node):
            return
        for argument in taken:
            made = _made_outside(argument, inner, ctx)
            if made is None or not _is_first(argument, inner, ctx):
                continue
            at, value = made
            ctx.report(
                argument,
                f"`{dotted(argument)}` is a NumPy array: every iteration of the loop copies it to "
                f"the device again{size_text(value, ctx)}",
                confidence=Confidence.LIKELY,
                related=((at, ctx.module.path, "made here, and never changed"),),
                fix=_plan(argument, at, inner, ctx),
            )


def _made_outside(
    node: cst.BaseExpression, loop: Loop, ctx: Context
) -> tuple[cst.CSTNode, cst.BaseExpression] | None:
    """Return where a NumPy array is made that nothing changes, and what makes it.

    It is bound to a name, or to an attribute of the object, and is not made in the loop.
    """
    if isinstance(node, cst.Name):
        binding = ctx.names.sole_binding(node)
        before = bound_before(node, ctx) if binding is None else binding.value
        value = None if isinstance(before, cst.For | cst.CompFor) else before
        at = value if binding is None else binding.node
    elif isinstance(node, cst.Attribute):
        at = value = own_attribute(node, ctx) if _is_set_once(node, ctx) else None
    else:
        return None
    if at is None or value is None or ctx.tree.is_inside(at, loop):
        return None
    if not makes_numpy_array(value, ctx, own=True) and not _loads(value, ctx):
        return None
    count = element_count(value, ctx)
    if count is not None and count < SMALL:
        return None
    for use in _uses(node, ctx):
        if not only_reads(use, ctx) and not _is_jitted_argument(use, ctx):
            return None
    return at, value


def _loads(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a call reads an array from a file; JAX takes no file of several ones."""
    if not isinstance(node, cst.Call) or ctx.called(node) != "numpy.load":
        return False
    return not Arguments(node).may_pass(1, "mmap_mode")


def _is_set_once(attribute: cst.Attribute, ctx: Context) -> bool:
    """Return whether only one statement of the file sets an attribute of that name."""
    known = ctx.module.fact(attributes_by_name).get(attribute.attr.value, ())
    return sum(assigned_by(each, ctx.tree) is not None for each in known) == 1


def _uses(node: cst.CSTNode, ctx: Context) -> Iterator[cst.CSTNode]:
    """Yield every place that reads the same variable, or an attribute of that name."""
    found: Iterable[cst.CSTNode] = ()
    if isinstance(node, cst.Name):
        found = ctx.names.uses(node.value, ctx.names.scope(node))
    elif isinstance(node, cst.Attribute):
        found = ctx.module.fact(attributes_by_name).get(node.attr.value, ())
    for each in found:
        by = assigned_by(each, ctx.tree)
        if by is None or isinstance(by, cst.AugAssign):
            yield each


def _is_jitted_argument(use: cst.CSTNode, ctx: Context) -> bool:
    argument = ctx.parent(use)
    call = None if argument is None else ctx.parent(argument)
    return (
        isinstance(argument, cst.Arg)
        and isinstance(call, cst.Call)
        and (
            jitted(call.func, ctx) is not None
            or any(each is use for each in handed_to_compiled(call, ctx))
        )
    )


def _is_first(argument: cst.CSTNode, loop: Loop, ctx: Context) -> bool:
    """Return whether no call of the same iteration was given the array before."""
    place = ctx.tree.index(argument)
    return not any(
        ctx.tree.index(use) < place
        and ctx.tree.is_inside(use, loop)
        and _is_jitted_argument(use, ctx)
        and loop_around(use, ctx) is loop
        and runs_in_each_iteration(use, loop, ctx)
        for use in _uses(argument, ctx)
    )


def _plan(name: cst.BaseExpression, made: cst.CSTNode, inner: Loop, ctx: Context) -> FixPlan | None:
    """Put the array on the device before the outermost loop that leaves it as it is."""
    if not isinstance(name, cst.Name) or not isinstance(inner, cst.For | cst.While):
        return None
    around = itertools.takewhile(
        lambda each: (
            not isinstance(each, cst.FunctionDef | cst.Lambda)
            and not ctx.tree.is_inside(made, each)
        ),
        ctx.ancestors(inner),
    )
    *_, loop = (inner, *(each for each in around if isinstance(each, cst.For | cst.While)))
    put = ctx.reach("jax.device_put", at=loop)
    same_scope = ctx.names.scope(loop) is ctx.names.owner(name.value, ctx.names.scope(name))
    if put is None or not same_scope:
        return None
    is_async = isinstance(loop, cst.For) and loop.asynchronous is not None
    if is_async or ctx.tree.index(made) > ctx.tree.index(loop):
        return None

    def build(editor: Editor) -> list[Edit]:
        start, _ = editor.spans.inner(loop)
        indent = editor.indentation(editor.source.position(start)[0])
        line = f"{name.value} = {put}({name.value}){editor.source.newline}{indent}"
        return [editor.insert(start, line)]

    what = "Put it on the device once, before the loop"
    return FixPlan(Applicability.UNSAFE, what, build, imports=put.imports)
