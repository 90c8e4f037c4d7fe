"""JDP405."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeGuard

import libcst as cst

from placement_lint.findings import Confidence, Severity
from placement_lint.jaxmodel.known_packages import LIBRARY_PREFIXES
from placement_lint.placement.domain.contents import arrays
from placement_lint.placement.domain.devices import is_host
from placement_lint.prefilter.conditions import AllOf, AnyOf, Identifier, Jax
from placement_lint.rules.base import Rule
from placement_lint.rules.devices.queries import in_host_block, is_pinned_to_cpu
from placement_lint.rules.transfers.compiled_values import is_compiled_elsewhere
from placement_lint.rules.transfers.jitted_calls import jitted
from placement_lint.rules.transfers.program_callees import is_drawn, program_callees
from placement_lint.rules.transfers.step_results import branches_of, is_looked_into, step_of
from placement_lint.semantic.beside import definition_beside
from placement_lint.semantic.elsewhere import effects_of, method_effects, objects_in
from placement_lint.semantic.enclosing import is_in_test
from placement_lint.semantic.followed import followed
from placement_lint.semantic.host_reads import (
    RECEIVER,
    goes_through_items,
    is_formatting,
    is_passed_to,
    is_unconditional,
    parameters_read,
    parts_of,
    read_by_each,
    read_here,
    root_name,
    whose_items,
)
from placement_lint.semantic.kept_results import is_kept, is_only_called
from placement_lint.semantic.loops import loop_around, runs_in_each_iteration
from placement_lint.semantic.object_classes import called_method, method_by_type
from placement_lint.semantic.passed_on import is_used_up
from placement_lint.semantic.program_queries import ONLY_READS
from placement_lint.semantic.returned import only_return
from placement_lint.semantic.tested_names import is_attribute_tested, names_in_tests, names_tested
from placement_lint.semantic.tracing import TracedFunctions
from placement_lint.syntax.definitions import class_named, class_of_receiver, function_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context
    from placement_lint.rules.transfers.program_callees import Callee
    from placement_lint.semantic.loops import Loop
    from placement_lint.semantic.model import ModuleFacts

    Reading = cst.Assign | cst.BinaryOperation | cst.Call | cst.FormattedStringExpression

    Around = Loop | cst.FunctionDef

_MOST_WRAPPERS = 2
"""Functions that hand back what another one gives."""
_CLOCKS = ("time.", "timeit.")


class HostSyncInLoop(Rule):
    """A result of a jitted function that the host reads on every iteration of the loop.

    ## What it does
    Finds `float(loss)`, `int(…)`, `loss.item()`, `.tolist()`, `np.asarray(…)`, `np.log10(…)`, an
    item of a NumPy array (`losses[i] = loss`), `jax.device_get(…)`, `print(loss)`, `str(loss)`,
    `f"{loss}"` and other ways to make a text of it, on the result of a jitted or pmapped function,
    or on what is computed from it, or holds it, on every iteration of a loop that also calls that
    function, if the value is only kept or shown: appended, summed up, stored in a list or a
    dictionary, logged, printed, or looked up in a table of which the loop only reads items. It may
    be read for each item, as in `{k: float(v) for k, v in metrics.items()}`, in a loop over names
    that are written out, and `jax.tree.map(float, metrics)`. It also finds calls of functions, of
    any file, that do nothing with JAX but `jax.device_get`, and statements that call a function or
    a method, of any file too, which always reads its argument, or what its object holds, only to
    keep or to show it. The compiled function may come from another file, be one of several that a
    function of the file returns, be an attribute of an object, be called by one that hands its
    result back, or be what all callers pass for a parameter. The method that reads may be that of
    one of the objects in a list (`for callback in self.callbacks: callback.on_step(step,
    metrics)`).

    ## Why is this bad?
    JAX dispatches work to the device and returns at once, so that the host prepares the next step
    while the device runs this one. Reading a result waits until the device has finished. The device
    is then idle until the host has loaded the next batch and dispatched the next step, and so on at
    every step.

    ## Example
    ```python
    import jax

    @jax.jit
    def step(state, batch):
        return update(state, batch)

    def train(state, batches):
        losses = []
        for batch in batches:
            state, loss = step(state, batch)
            losses.append(float(loss))
        return state, losses
    ```

    ## Use instead
    ```python
    import jax

    @jax.jit
    def step(state, batch):
        return update(state, batch)

    def train(state, batches):
        losses = []
        for batch in batches:
            state, loss = step(state, batch)
            losses.append(loss)
        return state, [float(loss) for loss in jax.device_get(losses)]
    ```

    Or read it every hundred steps: `if number % 100 == 0: print(loss)`.

    ## Fix safety
    No fix: only the author knows when the value is needed.

    ## What it does not flag
    A value that is read under an `if`, unless the first process always comes to it
    (`if jax.process_index() == 0:`), after a `continue`, or after the loop. A value that the host
    needs to continue: in a condition on it or on another result of the same call, unless only some
    iterations come to that (`if step % 100 == 0:`); as an argument of an unknown call; yielded; or
    used by the next iteration. What is kept in a list, a dictionary or an array of NumPy with which
    the loop does any of that. Loops that read a clock, or call a function that does, which have to
    wait for what they measure.
    Computations on the CPU: a function jitted for it, one that is passed an array committed to it,
    a call or a loop under its `jax.default_device`, a program that is pinned to it. Tests;
    functions that are not certainly jitted.
    `block_until_ready`, which is explicit, and other reads of the same step. Of several reads in
    one step, only the first is flagged, since the device has finished by then.

    ## Verified by
    The proof runs a few long steps in a loop. With `float(loss)`, the last step has finished when
    the loop ends. With the losses kept as they are, the loop ends while the last step is still
    running.

    ## References
    - [Asynchronous dispatch](https://docs.jax.dev/en/latest/async_dispatch.html)
    - Measured on JAX 0.5.3, 0.7.2, 0.10.2 and 0.12.0.1; on the CPU, 0.4.30 waits for such a step
      in any case
    """

    code, name = "JDP405", "host-sync-in-loop"
    advice = "Keep the results on the device and read them after the loop, or every so many steps"
    severity = Severity.INFO
    follows_callers = True
    pedantic = True
    # What is compiled may come from another file.
    needs = AllOf(Jax(), AnyOf(Identifier(b"for"), Identifier(b"while")))

    def visit_For(self, node: cst.For, ctx: Context) -> None:
        _check_loop(node, node.body, ctx)

    def visit_While(self, node: cst.While, ctx: Context) -> None:
        _check_loop(node, node.body, ctx)

    def visit_ListComp(self, node: cst.ListComp, ctx: Context) -> None:
        _check_loop(node, node.elt, ctx)

    def visit_DictComp(self, node: cst.DictComp, ctx: Context) -> None:
        _check_loop(node, node.value, ctx)


def _check_loop(loop: Loop, body: cst.CSTNode, ctx: Context) -> None:
    inside = (body, *ctx.tree.descendants(body))
    in_each_iteration = [
        each for each in inside if _may_read(each) and _runs_each_time(each, loop, ctx)
    ]
    if not any(
        True
        for each in in_each_iteration
        for _ in itertools.chain(_read(each, ctx), _passed_elsewhere(each, ctx))
    ):
        return
    tested = _with_origins(names_in_tests(loop, ctx, each_time=True), inside, ctx)
    either_way = _called_either_way(loop, ctx)
    steps = {
        id(each)
        for each in (*in_each_iteration, *either_way)
        if isinstance(each, cst.Call)
        and loop_around(each, ctx) is loop
        and _runs_on_device(each, ctx)
        and not _is_tested(each, tested, ctx)
    }
    if not steps or is_in_test(loop, ctx) or _reads_clock(inside, loop, ctx):
        return
    if is_pinned_to_cpu(ctx.module) or in_host_block(loop, ctx):
        return
    if ctx.module.fact(TracedFunctions).is_traced(loop):
        return
    for each in in_each_iteration:
        steps -= _waited_for(each, loop, steps, ctx)
    for each in in_each_iteration:
        read = each.value if isinstance(each, cst.Assign) else each
        own = ((what, None) for what in _read(each, ctx))
        for what, passed_as in itertools.chain(own, _passed_elsewhere(each, ctx)):
            step = step_of(what, each, loop, steps, ctx)
            if step is None or not _is_read_as(passed_as, each, ctx):
                continue
            if _is_on_host(step, ctx):
                continue
            if not is_kept(read, loop, ctx) and not _is_kept_by_callee(each, loop, ctx):
                continue
            steps.discard(id(step))
            ctx.report(
                read,
                "the host waits for the device here on every iteration",
                confidence=Confidence.LIKELY,
                related=((step, ctx.module.path, "the step that it waits for"),),
            )
            break


def _is_on_host(call: cst.CSTNode, ctx: Context) -> bool:
    """Return whether the result of a call is on the host: an argument of it is committed there, or
    the call is in a block that has it as the default device.
    """
    if in_host_block(call, ctx):
        return True
    found = [*arrays(ctx.flow.value(call))] if isinstance(call, cst.Call) else []
    return bool(found) and all(is_host(each.device) for each in found)


def _with_origins(
    tested: list[cst.Name], inside: tuple[cst.CSTNode, ...], ctx: Context
) -> list[cst.Name]:
    """Return names that a loop tests, with those of which it computes them."""
    computed = [
        (each.targets[0].target.value, each.value)
        for each in inside
        if isinstance(each, cst.Assign)
        and len(each.targets) == 1
        and isinstance(each.targets[0].target, cst.Name)
        and is_looked_into(each.value)
    ]
    found, names = [*tested], {each.value for each in tested}
    # What is computed of something is mostly computed after it.
    for name, value in reversed(computed):
        if name in names:
            below = (value, *ctx.tree.descendants(value))
            parts = [part for part in below if isinstance(part, cst.Name)]
            found += parts
            names.update(part.value for part in parts)
    return found


def _may_read(node: cst.CSTNode) -> TypeGuard[Reading]:
    return isinstance(node, cst.Assign | cst.Call | cst.FormattedStringExpression) or is_formatting(
        node
    )


def _runs_each_time(node: cst.CSTNode, loop: Loop, ctx: Context) -> bool:
    """Return whether a node runs in each iteration, be it for each item of a dictionary there."""
    inner = loop_around(node, ctx)
    while inner is not None and inner is not loop and _goes_through_some(inner, ctx):
        if not runs_in_each_iteration(node, inner, ctx):
            return False
        node, inner = inner, loop_around(inner, ctx)
    return inner is loop and runs_in_each_iteration(node, loop, ctx)


def _goes_through_some(loop: Loop, ctx: Context) -> bool:
    """Return whether a loop has an item: of a dictionary, of what is written out, or a known object
    of a list.
    """
    if goes_through_items(loop, ctx):
        return True
    if not isinstance(loop, cst.For):
        return False
    listed = followed(loop.iter, ctx)
    is_written = isinstance(listed, cst.Dict | cst.List | cst.Tuple) and bool(listed.elements)
    return is_written or bool(objects_in(loop, ctx))


def _called_either_way(loop: Loop, ctx: Context) -> list[cst.Call]:
    """Return the calls below each `if` with an `else` that each iteration comes to, of which all
    branches assign what such a call gives.
    """
    if not isinstance(loop, cst.For | cst.While):
        return []
    found: list[cst.Call] = []
    for choice in ctx.tree.every(cst.If, below=loop.body):
        branches = branches_of(choice)
        if branches and _runs_each_time(choice, loop, ctx):
            calls = [
                [
                    each.value
                    for line in branch.body
                    if isinstance(line, cst.SimpleStatementLine)
                    for each in line.body
                    if isinstance(each, cst.Assign) and isinstance(each.value, cst.Call)
                ]
                for branch in branches
                if isinstance(branch, cst.IndentedBlock)
            ]
            if len(calls) == len(branches) and all(calls):
                found += (call for branch in calls for call in branch)
    return found


def _runs_on_device(call: cst.Call, ctx: Context, wrappers: int = _MOST_WRAPPERS) -> bool:
    """Whether a call surely runs a compiled function, and that is not told to run on the CPU."""
    function = jitted(call.func, ctx)
    if function is not None:
        return not function.runs_on_host
    if wrappers and _is_wrapped_step(call, ctx, wrappers - 1):
        return True
    return is_compiled_elsewhere(call.func, ctx)


def _is_wrapped_step(call: cst.Call, ctx: Context, wrappers: int) -> bool:
    """Return whether a call is of functions of the program all of whose results are ones of a
    compiled function, which each always calls: `self.train_step(batch)`, `agent.learn(batch)`. That
    may be in so many wrappers.
    """
    callees = program_callees(call, ctx)
    return bool(callees) and all(_gives_results(each, wrappers) for each in callees)


def _gives_results(callee: Callee, wrappers: int) -> bool:
    function, there = callee.function, callee.there
    known = there.module.fact(_known_wrappers)
    key = (id(function), wrappers)
    if key not in known:
        # What leads back to it while it is looked at gives nothing.
        known[key] = False
        known[key] = _returns_results(function, there, wrappers)
    return known[key]


def _known_wrappers(_facts: ModuleFacts) -> dict[tuple[int, int], bool]:
    """Make the store of one file: which functions hand back what a compiled one gives."""
    return {}


def _returns_results(function: cst.FunctionDef, ctx: Context, wrappers: int) -> bool:
    only = only_return(function, ctx)
    if only is None:
        return False
    own = [
        each
        for each in ctx.tree.every(cst.Call, below=function.body)
        if ctx.function(each) is function
    ]
    steps = {
        id(each)
        for each in own
        if is_unconditional(each, ctx) and _runs_on_device(each, ctx, wrappers)
    }
    parts = parts_of(only)
    if not steps or not parts or in_host_block(only, ctx):
        return False
    if any(_waited_for(each, function, steps, ctx) for each in own):
        return False
    known = [step_of(part, only, function, steps, ctx) is not None for part in parts]
    # What else is an array is computed by then as well: which part is read later is not known.
    return any(known) and all(
        is_step or ctx.flow.is_array(part) for is_step, part in zip(known, parts, strict=True)
    )


def _waited_for(node: Reading, loop: Around, steps: set[int], ctx: Context) -> set[int]:
    """Return the jitted calls whose results a call waits for explicitly."""
    parts = (*ctx.tree.descendants(node),) if isinstance(node, cst.Call) else ()
    if not any(_says_to_wait(part, ctx) for part in parts):
        return set()
    found = (step_of(part, node, loop, steps, ctx) for part in parts if isinstance(part, cst.Name))
    return {id(step) for step in found if step is not None}


def _says_to_wait(node: cst.CSTNode, ctx: Context) -> bool:
    return (isinstance(node, cst.Attribute) and node.attr.value == "block_until_ready") or (
        isinstance(node, cst.Name) and ctx.name(node) == "jax.block_until_ready"
    )


def _reads_clock(inside: tuple[cst.CSTNode, ...], loop: Loop, ctx: Context) -> bool:
    """Return whether a loop reads a clock, or each iteration calls a function that always does."""
    calls = [each for each in inside if isinstance(each, cst.Call)]
    if any(_is_clock(each, ctx) or _is_timer(each, ctx) for each in calls):
        return True
    return any(
        _is_clock(call, each.there) and is_unconditional(call, each.there)
        for node in calls
        if _runs_each_time(node, loop, ctx)
        for each in program_callees(node, ctx)
        for call in each.there.tree.every(cst.Call, below=each.function.body)
    )


def _is_timer(call: cst.Call, ctx: Context) -> bool:
    """Return whether a call makes a context of the program that reads a clock."""
    if not isinstance(ctx.parent(call), cst.WithItem):
        return False
    cls, there = class_named(call.func, ctx.names), ctx
    if cls is None and (name := ctx.called(call)) is not None:
        found = definition_beside(ctx.module, name)
        beside = None if found is None else ctx.beside(found[1].path)
        if found is not None and beside is not None and isinstance(found[0], cst.ClassDef):
            cls, there = found[0], beside
    return cls is not None and any(
        _is_clock(inner, there) for inner in there.tree.every(cst.Call, below=cls)
    )


def _is_clock(node: cst.Call, ctx: Context) -> bool:
    return (ctx.called(node) or "").startswith(_CLOCKS)


def _read(node: Reading, ctx: Context) -> Iterator[cst.BaseExpression]:
    """Yield what a node turns into numbers or text on the host, or a function that it calls."""
    yield from read_here(node, ctx)
    if isinstance(node, cst.Call):
        yield from _read_by_callee(node, ctx)


def _read_by_callee(node: cst.Call, ctx: Context) -> Iterator[cst.BaseExpression]:
    """Yield what a call gives to a function that only keeps or shows it, or makes a text of it."""
    if ctx.called(node) is not None:
        return
    function = function_of(node.func, ctx.names) or called_method(node.func, ctx)
    if function is None and isinstance(node.func, cst.Attribute):
        is_own = class_of_receiver(node.func.value, ctx.names) is not None
        function = None if is_own else method_by_type(node.func, ctx)
    if function is None:
        return
    read = parameters_read(function, ctx) or (
        parameters_read(function, ctx, drawn=True) if is_used_up(node, ctx) else frozenset()
    )
    yield from (value for value, passed_as in _passed(node, ctx) if is_passed_to(read, passed_as))
    if RECEIVER in read and isinstance(node.func, cst.Attribute):
        yield node.func.value


def _passed(node: cst.Call, ctx: Context) -> Iterator[tuple[cst.BaseExpression, int | str]]:
    """Yield what a call passes, the values of a dictionary that is written out one by one, each
    with its position or its name, or with the stars before it.
    """
    is_counted = True
    for position, argument in enumerate(node.args):
        if argument.star:
            yield whose_items(argument.value, ctx) or argument.value, argument.star
        is_counted &= not argument.star
        passed_as = position if argument.keyword is None else argument.keyword.value
        if not argument.star and (is_counted or argument.keyword is not None):
            parts = parts_of(argument.value)
            yield from ((whose_items(value, ctx) or value, passed_as) for value in parts)


def _passed_elsewhere(
    node: Reading, ctx: Context
) -> Iterator[tuple[cst.BaseExpression, int | str]]:
    """Yield what a call passes to a function of another file, or to a method of an object of a
    class there, which may read it.
    """
    if not isinstance(node, cst.Call):
        return
    if not isinstance(node.func, cst.Attribute | cst.Name):
        return
    if (ctx.called(node) or "").startswith(LIBRARY_PREFIXES):
        return
    if function_of(node.func, ctx.names) is None and called_method(node.func, ctx) is None:
        yield from _passed(node, ctx)
        if isinstance(node.func, cst.Attribute):
            yield node.func.value, RECEIVER


def _is_read_as(passed_as: int | str | None, node: Reading, ctx: Context) -> bool:
    """Return whether a function of another file reads what a call passes so; None: it is none."""
    if passed_as is None or not isinstance(node, cst.Call):
        return passed_as is None
    effects = effects_of(node.func, ctx, ONLY_READS) or method_effects(
        node.func, "__call__", ctx, ONLY_READS
    )
    if effects is not None:
        return is_passed_to(effects.reads, passed_as)
    if any(is_passed_to(each, passed_as) for each in read_by_each(node.func, ctx)):
        return True
    every = (parameters_read(each.function, each.there) for each in program_callees(node, ctx))
    known = [is_passed_to(each, passed_as) for each in every]
    return any(known) if is_drawn(node.func, ctx) else bool(known) and all(known)


def _is_tested(call: cst.Call, tested: list[cst.Name], ctx: Context) -> bool:
    """Return whether something that a call is assigned to is among the names that are tested."""
    statement = ctx.parent(call)
    if not isinstance(statement, cst.Assign):
        return False
    names = {each.value for each in tested}
    pending: list[cst.BaseExpression] = [each.target for each in statement.targets]
    while pending:
        target = pending.pop()
        if isinstance(target, cst.Tuple | cst.List):
            pending += [each.value for each in target.elements]
        elif isinstance(target, cst.Attribute):
            if is_attribute_tested(target, tested, ctx):
                return True
        else:
            parts = (target, *ctx.tree.descendants(target))
            if any(isinstance(each, cst.Name) and each.value in names for each in parts):
                return True
    return False


def _is_kept_by_callee(node: cst.CSTNode, loop: Loop, ctx: Context) -> bool:
    """Return whether what a call's own function reads decides nothing in the loop, in which its
    object may only be called in statements.
    """
    if not isinstance(node, cst.Call) or not isinstance(ctx.parent(node), cst.Expr):
        return False
    if next(_read_by_callee(node, ctx), None) is None and not any(_passed_elsewhere(node, ctx)):
        return False
    receiver = node.func.value if isinstance(node.func, cst.Attribute) else None
    is_own = isinstance(receiver, cst.Name) and receiver.value == "self"
    given = {root_name(argument.value) for argument in node.args} | ({"self"} if is_own else set())
    if not given.isdisjoint(names_tested(loop, ctx)):
        return False
    return receiver is None or is_own or is_only_called(receiver, loop, ctx)
