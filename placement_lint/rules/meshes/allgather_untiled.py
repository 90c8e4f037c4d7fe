"""JDP723."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

import libcst as cst

from placement_lint.findings import Applicability, Edit, Severity
from placement_lint.prefilter.conditions import AllOf, Jax
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.commitment.putting import TREE_MAPS
from placement_lint.rules.meshes.spanning import (
    is_over_all,
    says_it_has_several_processes,
    shardings_in,
)
from placement_lint.semantic.enclosing import conditions_say, failure_is_expected, is_caught
from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import PARTIAL, function_of, returns_of
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor

_UTILS = "jax.experimental.multihost_utils"
_MAKERS = frozenset({
    "jax.make_array_from_process_local_data", f"{_UTILS}.host_local_array_to_global_array",
})  # fmt: skip
_MOST_STEPS = 5
_FAILURES = frozenset({"builtins.BaseException", "builtins.Exception", "builtins.ValueError"})


class AllgatherUntiled(Rule):
    """`process_allgather` of an array that spans processes, without `tiled=True`.

    ## What it does
    Finds `multihost_utils.process_allgather(x)` without `tiled=True`, where `x` was made by
    `jax.make_array_from_process_local_data` or `host_local_array_to_global_array`, as one array or
    a tree of them, or is certainly over a mesh of `jax.devices()`, such as the result of a function
    with `out_shardings`, or a condition says that it spans processes, `if not
    x.is_fully_addressable:`. Also mapped over a tree, `jax.tree.map(process_allgather, tree)`.

    ## Why is this bad?
    Such an array is already one array of all processes. Up to JAX 0.7.2, the call gathers it as
    with `tiled=True`. From 0.8.0 on it raises ValueError in a program of several processes, but
    works with one process, as on the author's machine.

    ## Example
    ```python
    import jax
    from jax.experimental import multihost_utils


    def gather(sharding, scores):
        whole = jax.make_array_from_process_local_data(sharding, scores)
        return multihost_utils.process_allgather(whole)
    ```

    ## Use instead
    ```python
    import jax
    from jax.experimental import multihost_utils


    def gather(sharding, scores):
        whole = jax.make_array_from_process_local_data(sharding, scores)
        return multihost_utils.process_allgather(whole, tiled=True)
    ```

    ## Fix safety
    Safe: this is what JAX up to 0.7.2 does with such an array, and what later versions accept.

    ## What it does not flag
    Arrays that are not known to span processes: NumPy arrays and local ones are stacked without
    `tiled`, and concatenated with it. A `tiled` that is a variable. Code for versions before 0.8.0
    only. A ValueError that is caught, or expected by a test.

    ## Verified by
    The proof runs two processes, which make one array of their parts and gather it, which raises
    ValueError. After the fix both have the whole array.

    ## References
    - [JAX's changelog, 0.8.0](https://docs.jax.dev/en/latest/changelog.html)
    - Measured on JAX 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP723", "allgather-untiled"
    advice = "Pass `tiled=True`"
    severity, fix = Severity.ERROR, Applicability.SAFE
    versions = ("0.8.0", None)
    follows_callers = True
    holds_on_any_mesh = True
    needs = AllOf(Jax(), b"process_allgather")

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        arguments = Arguments(node)
        # Of each leaf of a tree: `jax.tree.map(process_allgather, tree)`.
        is_mapped = ctx.called(node) in TREE_MAPS and len(arguments.positional) == 2
        called = ctx.name(arguments.positional[0]) if is_mapped else ctx.called(node)
        if called != f"{_UTILS}.process_allgather":
            return
        gathered = arguments.get(1, "tree") if is_mapped else arguments.get(0, "in_tree")
        tiled = None if is_mapped else arguments.get(1, "tiled")
        is_false = isinstance(tiled, cst.Name) and tiled.value == "False"
        if gathered is None or arguments.is_open or (tiled is not None and not is_false):
            return
        if (
            not _is_made(gathered, ctx)
            and not _is_of_all(gathered, ctx)
            and not _spans_by_condition(node, gathered, ctx)
        ):
            return
        if failure_is_expected(node, ctx) or is_caught(node, ctx, _FAILURES):
            return
        ctx.report(
            node,
            "process_allgather of an array that spans processes raises ValueError from JAX 0.8.0 "
            "on: pass tiled=True",
            fix=None if is_mapped else _plan(gathered, tiled),
        )


def _is_made(
    node: cst.BaseExpression,
    ctx: Context,
    functions: dict[int, bool] | None = None,
    steps: int = _MOST_STEPS,
) -> bool:
    """Return whether something is made of the parts of all processes, or a tree of such arrays.

    A comprehension, a tree that is mapped, or a function of the file, may make it. `functions`:
    those that were looked into, by `id`, with the answer.
    """
    functions = {} if functions is None else functions
    made = followed(node, ctx)
    if isinstance(made, cst.DictComp):
        made = made.value
    elif isinstance(made, cst.ListComp):
        made = made.elt
    elif isinstance(made, cst.Dict | cst.List | cst.Tuple) and steps:
        parts = [each.value for each in made.elements]
        return bool(parts) and all(_is_made(each, ctx, functions, steps - 1) for each in parts)
    if not steps or not isinstance(made, cst.Call):
        is_other = isinstance(made, cst.Name) and made is not node
        return is_other and _is_made(made, ctx, functions, steps - 1)
    called = ctx.called(made)
    if called in _MAKERS:
        return True
    function: cst.BaseExpression = made.func
    if called in TREE_MAPS and made.args:
        function = made.args[0].value
        bound = function.args[0].value if _is_partial(function, ctx) else function
        if ctx.name(bound) in _MAKERS:
            return True
    runs = function_of(function, ctx.names)
    if isinstance(runs, cst.Lambda):
        return _is_made(runs.body, ctx, functions, steps - 1)
    if runs is not None and id(runs) not in functions:
        functions[id(runs)] = False  # what calls itself gives nothing by that
        returned = [each.value for each in returns_of(runs, ctx.names)]
        functions[id(runs)] = bool(returned) and all(
            each is not None and _is_made(each, ctx, functions, steps - 1) for each in returned
        )
    return runs is not None and functions[id(runs)]


def _is_partial(node: cst.BaseExpression, ctx: Context) -> TypeGuard[cst.Call]:
    return isinstance(node, cst.Call) and ctx.called(node) == PARTIAL and bool(node.args)


def _spans_by_condition(node: cst.Call, gathered: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a condition says that it spans processes: `if not x.is_fully_addressable:`."""
    text, own = dotted(gathered), ctx.statement(node)

    def asks(test: cst.BaseExpression, wanted: bool) -> bool:
        return (
            not wanted
            and isinstance(test, cst.Attribute)
            and test.attr.value == "is_fully_addressable"
            and dotted(test.value) == text
            and not any(
                dotted(each.target) == text
                and ctx.tree.index(test) < ctx.tree.index(each) < ctx.tree.index(own)
                for each in ctx.tree.every(cst.AssignTarget)
            )
        )

    return bool(text) and conditions_say(node, ctx, asks)


def _is_of_all(gathered: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether all that is gathered surely is over the devices of all processes."""
    if not says_it_has_several_processes(ctx) and not any(map(ctx.program_calls, _MAKERS)):
        return False
    shardings = [*shardings_in(ctx.flow.value(gathered))]
    return bool(shardings) and all(each is not None and is_over_all(each) for each in shardings)


def _plan(gathered: cst.BaseExpression, tiled: cst.BaseExpression | None) -> FixPlan:
    def build(editor: Editor) -> list[Edit]:
        if tiled is not None:
            return [editor.replace(tiled, "True")]
        _, end = editor.spans.outer(gathered)
        return [editor.insert(end, ", tiled=True")]

    return FixPlan(Applicability.SAFE, "Gather it as one array", build)
