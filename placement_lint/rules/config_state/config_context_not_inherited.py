"""JDP107."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Confidence, Severity
from placement_lint.placement.domain import program_values, values
from placement_lint.placement.domain.contents import function_place
from placement_lint.placement.domain.devices import SYSTEM_DEFAULT, differ
from placement_lint.placement.domain.library_values import Executor
from placement_lint.prefilter.conditions import AllOf, Jax, Says
from placement_lint.rules.base import Rule
from placement_lint.rules.config_state.worker_arrays import (
    CONTEXT,
    first_array,
    first_of_thread,
    first_of_values,
    is_under_host,
    made_elsewhere,
    may_be_block,
)
from placement_lint.rules.devices.queries import is_pinned_to_cpu
from placement_lint.semantic.followed import bound_before, followed
from placement_lint.semantic.functions import calls_inside
from placement_lint.semantic.object_classes import called_method
from placement_lint.semantic.own_attributes import own_attribute
from placement_lint.semantic.returned import given_by
from placement_lint.syntax.calls import Arguments, is_none, string_value
from placement_lint.syntax.collection_methods import COPYING
from placement_lint.syntax.definitions import (
    class_of_receiver,
    function_of,
    initializer_of,
    own_method,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from placement_lint.placement.domain.places import Place
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.semantic.program_queries import EffectOrigin
    from placement_lint.syntax.definitions import Function

# Where each is given the function that runs in another thread or process.
_WORKERS = {
    "threading.Thread": (1, "target"),
    "threading.Timer": (1, "function"),
    "multiprocessing.Process": (1, "target"),
}
_THREADS = frozenset({"threading.Thread", "threading.Timer"})
_STARTERS = {
    "asyncio.to_thread": (0, "func"),
    "_thread.start_new_thread": (0, "function"),
}
# The position of the parameter `initializer`.
_POOLS = {
    "concurrent.futures.ProcessPoolExecutor": 2,
    "concurrent.futures.ThreadPoolExecutor": 2,
    "concurrent.futures.process.ProcessPoolExecutor": 2,
    "concurrent.futures.thread.ThreadPoolExecutor": 2,
    "multiprocessing.Pool": 1,
    "multiprocessing.pool.Pool": 1,
    "multiprocessing.pool.ThreadPool": 1,
}
_PROCESSES = frozenset({
    "concurrent.futures.ProcessPoolExecutor", "concurrent.futures.process.ProcessPoolExecutor",
    "multiprocessing.Pool", "multiprocessing.Process", "multiprocessing.pool.Pool",
})  # fmt: skip
_METHODS = frozenset({"multiprocessing.get_context", "multiprocessing.set_start_method"})
_POOL_METHODS = frozenset({
    "apply", "apply_async", "imap", "imap_unordered", "map", "map_async", "starmap",
    "starmap_async", "submit",
})  # fmt: skip
_OPTION = "jax_default_device"
_MOST_CALLS = 2
"""Methods of other objects that a worker calls, and that are followed."""


class ConfigContextNotInherited(Rule):
    """A thread or a process that is started inside `with jax.default_device(…)`.

    ## What it does
    Finds calls in the body of a `with jax.default_device(device):` that start a worker whose
    function makes JAX arrays: `threading.Thread` and `Timer` that are started in the block, objects
    of a subclass of `Thread`, `submit` and `map` of an executor or a pool, `asyncio.to_thread` and
    `loop.run_in_executor`; and processes, in a file that selects the start method "spawn" or
    "forkserver". The function may make them in another function that it calls, and what starts the
    thread may be a function, a method or an object of the program that the block calls or makes.
    The block may also be entered by a context manager of the program.

    ## Why is this bad?
    The default device of a `with` block belongs to the thread that entered it. Other threads do not
    inherit it, not even through `contextvars`, and neither do new processes. The worker makes its
    arrays on the system's default device: a loader thread that should fill the host's memory fills
    the accelerator's.

    ## Example
    ```python
    import jax
    import jax.numpy as jnp
    from concurrent.futures import ThreadPoolExecutor

    def read(path):
        return jnp.load(path)

    def load(paths):
        with jax.default_device(jax.devices("cpu")[0]), ThreadPoolExecutor() as pool:
            return list(pool.map(read, paths))
    ```

    ## Use instead
    ```python
    import jax
    import jax.numpy as jnp
    from concurrent.futures import ThreadPoolExecutor

    def read(path):
        with jax.default_device(jax.devices("cpu")[0]):
            return jnp.load(path)

    def load(paths):
        with ThreadPoolExecutor() as pool:
            return list(pool.map(read, paths))
    ```

    For all threads of the process: `jax.config.update("jax_default_device", device)`.

    ## Fix safety
    No fix: the worker's function must enter the context itself, which also affects its other
    callers.

    ## What it does not flag
    Workers whose function makes no visible array, or enters a context of its own; an executor with
    an `initializer` that may set the device; processes that may be forked, which do inherit the
    device; programs that set `jax_default_device` by `jax.config.update`, which applies to all
    threads; a block of the device
    that is the default anyway.

    ## Verified by
    The proof starts a thread in the host's block and finds the array that it makes on the
    accelerator. With the block inside the worker's function it is on the host.

    ## References
    - [Transfer guard](https://docs.jax.dev/en/latest/transfer_guard.html), on contexts: "a newly
      spawned thread will use the global option"
    - Measured on JAX 0.4.30, 0.5.3, 0.10.2 and 0.12.0.1: threads, timers, executors, pools of
      threads, `asyncio.to_thread` and `run_in_executor`; processes on 0.10.2: a forked one inherits
      the device, one started by "spawn" or "forkserver" does not
    """

    code, name = "JDP107", "config-context-not-inherited"
    advice = (
        "Enter `jax.default_device` in what the thread or process runs, or hand it arrays that "
        "are committed"
    )
    severity = Severity.WARNING
    follows_callers = True
    needs = AllOf(
        Jax(),
        b"default_device",
        Says("default_device"),
    )

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if is_pinned_to_cpu(ctx.module) or ctx.module.fact(_sets_default):
            return
        entered = next(
            (
                context
                for item in ctx.with_items(node)
                if isinstance(context := item.item, cst.Call) and ctx.called(context) == CONTEXT
            ),
            None,
        )
        if entered is None and not _is_in_block_of_other(node, ctx):
            return
        workers = [(worker, ctx) for worker in _started(node, ctx)]
        runs = [] if workers else [*_run_of_thread(node, ctx)]
        if not workers and not runs:
            workers = list(_started_by_callee(node, ctx))
            runs = list(_threads_of_callee(node, ctx))
            if not workers and not runs:
                return
        confidence = Confidence.LIKELY if entered is None else _is_elsewhere(entered, ctx)
        may_be_forked = _maker(node, ctx) in _PROCESSES and not ctx.module.fact(_spawns)
        if confidence is None or may_be_forked:
            return
        made = (first_of_thread(run, cls, ctx) for run, cls in runs)
        found = next(filter(None, made), None)
        origin: EffectOrigin | None = None
        if found is None:
            found, origin = _made_by_workers(workers)
        if found is None and origin is None:
            return
        where = "a process" if _maker(node, ctx) in _PROCESSES else "a thread"
        there_ = "" if origin is None else f" ({origin})"
        what = "an array of the worker is made here"
        ctx.report(
            node,
            f"{where} that is started here does not inherit {CONTEXT}: it makes its "
            f"arrays{there_} on the system's default device",
            confidence=confidence,
            related=[] if found is None else [(found[0], found[1].module.path, what)],
        )


def _made_by_workers(
    workers: Sequence[tuple[cst.BaseExpression, Context]],
) -> tuple[tuple[cst.CSTNode, Context] | None, EffectOrigin | None]:
    """Return the first place at which one of several workers makes an array, with its file; or,
    where a function of another file makes it, that place alone.
    """
    for worker, there in workers:
        made = first_array(worker, there)
        if made is not None:
            return (made, there), None
        origin = made_elsewhere(worker, there)
        if origin is not None:
            return None, origin
        found = first_of_values(worker, there, _MOST_CALLS)
        if found is not None:
            return found, None
    return None, None


# -- who is started ---------------------------------------------------------------------------


def _maker(call: cst.Call, ctx: Context) -> str | None:
    """Return what made the object whose method a call is: the thread, the process or the pool."""
    function = call.func
    if not isinstance(function, cst.Attribute):
        return None
    owner = _made(function.value, ctx)
    return None if owner is None else ctx.called(owner)


def _made(node: cst.BaseExpression, ctx: Context) -> cst.Call | None:
    """Return the call that made an object: itself, or what a name was bound to, also by `with`.

    Of what a loop draws from a list, the call that made an item of it.
    """
    if isinstance(node, cst.Name):
        only = ctx.names.sole_definition(node)
        drawn = only if isinstance(only, cst.CompFor) else bound_before(node, ctx)
        if isinstance(drawn, cst.For | cst.CompFor):
            return _made_item(drawn.iter, ctx) if isinstance(drawn.target, cst.Name) else None
        node = drawn or node
    node = given_by(node, ctx)
    if isinstance(node, cst.Attribute):
        node = given_by(own_attribute(node, ctx) or node, ctx)
    bound = ctx.names.sole_definition(node)
    if isinstance(bound, cst.WithItem):
        node = bound.item
    if not isinstance(node, cst.Call):
        return None
    is_entered = isinstance(node.func, cst.Attribute) and node.func.attr.value == "enter_context"
    entered = Arguments(node).get(0, "cm") if is_entered else None
    return entered if isinstance(entered, cst.Call) else node


def _made_item(listed: cst.BaseExpression, ctx: Context) -> cst.Call | None:
    """Return the call that made an item of a list: in a comprehension, a display, or `append`."""
    name = listed
    listed = followed(listed, ctx)
    is_copied = isinstance(listed, cst.Call) and ctx.called(listed) in COPYING
    if isinstance(listed, cst.Call) and is_copied and listed.args:
        listed = listed.args[0].value
    if isinstance(listed, cst.ListComp | cst.GeneratorExp):
        return listed.elt if isinstance(listed.elt, cst.Call) else None
    if not isinstance(listed, cst.List | cst.Tuple):
        return None
    items = [each.value for each in listed.elements]
    if not items:
        uses = _uses_of_list(name, ctx)
        items = [item for use in uses if (item := _appended(use, ctx)) is not None]
    first = items[0] if items else None
    made = bound_before(first, ctx) if isinstance(first, cst.Name) else first
    return made if isinstance(made, cst.Call) else None


def _uses_of_list(
    name: cst.BaseExpression, ctx: Context
) -> Sequence[cst.Attribute] | Sequence[cst.Name]:
    """Return where a list is named: a variable, or an attribute of an object in its class."""
    if isinstance(name, cst.Name):
        owner = ctx.names.owner(name.value, ctx.names.scope(name))
        return ctx.names.uses(name.value, owner) if owner is not None else []
    cls = class_of_receiver(name.value, ctx.names) if isinstance(name, cst.Attribute) else None
    if cls is None or not isinstance(name, cst.Attribute):
        return []
    return [
        each
        for each in ctx.tree.every(cst.Attribute, below=cls)
        if each.attr.value == name.attr.value and class_of_receiver(each.value, ctx.names) is cls
    ]


def _appended(name: cst.Attribute | cst.Name, ctx: Context) -> cst.BaseExpression | None:
    """Return what is appended to a list here."""
    method = ctx.parent(name)
    call = ctx.parent(method) if isinstance(method, cst.Attribute) else None
    if not isinstance(method, cst.Attribute) or method.attr.value != "append":
        return None
    return call.args[0].value if isinstance(call, cst.Call) and len(call.args) == 1 else None


def _started(call: cst.Call, ctx: Context) -> Iterator[cst.BaseExpression]:
    arguments = Arguments(call)
    name = ctx.called(call)
    if name in _STARTERS:
        worker = arguments.get(*_STARTERS[name])
        if worker is not None:
            yield worker
        return
    function = call.func
    if not isinstance(function, cst.Attribute):
        return
    method = function.attr.value
    if method == "run_in_executor":
        pool = arguments.get(0)
        worker = arguments.get(1)
        if worker is not None and pool is not None and (is_none(pool) or _is_pool(pool, ctx)):
            yield worker
    elif method in _POOL_METHODS:
        worker = arguments.get(0, "fn", "func")
        if worker is not None and _is_pool(function.value, ctx):
            yield worker
    elif method == "start":
        made = _made(function.value, ctx)
        position = _WORKERS.get(ctx.called(made) or "")
        if made is not None and position is not None:
            worker = Arguments(made).get(*position)
            if worker is not None:
                yield followed(worker, ctx)


def _started_by_callee(
    call: cst.Call, ctx: Context
) -> Iterator[tuple[cst.BaseExpression, Context]]:
    """Yield the threads' functions that a function or a method of the program starts when called.

    With the file that it is in. What it starts in a block of its own is not meant.
    """
    for inner, there in _calls_of_callee(call, ctx):
        for worker in _started(inner, there):
            if not _is_replaced(worker, there, call, ctx):
                yield worker, there


def _is_replaced(worker: cst.BaseExpression, there: Context, call: cst.Call, ctx: Context) -> bool:
    """Return whether the object of a call has another method than its base names as worker."""
    method = own_method(worker, there.names) if isinstance(worker, cst.Attribute) else None
    if method is None:
        return False
    # The object is what the call makes, or has the method that it calls.
    held = ctx.flow.value(call)
    if isinstance(call.func, cst.Attribute):
        held |= ctx.flow.value(call.func.value)
    return any(
        isinstance(atom, program_values.Instance) and there.flow.is_overridden(method, atom.cls)
        for atom in held
    )


def _threads_of_callee(call: cst.Call, ctx: Context) -> Iterator[tuple[Place, Place]]:
    """Yield the methods `run` of threads that a function of the program starts when called.

    Each with the class of the thread.
    """
    for inner, there in _calls_of_callee(call, ctx):
        yield from _run_of_thread(inner, there)


def _calls_of_callee(call: cst.Call, ctx: Context) -> Iterator[tuple[cst.Call, Context]]:
    callee = _callee(call, ctx)
    if callee is None:
        return
    function, there = callee
    for inner in calls_inside(function, there):
        if _maker(inner, there) not in _PROCESSES and not there.inside_with(inner, CONTEXT):
            yield inner, there


def _callee(call: cst.Call, ctx: Context) -> tuple[Function, Context] | None:
    """Return the function of the program that a call runs, in any of its files."""
    here = (
        function_of(call.func, ctx.names)
        or initializer_of(call.func, ctx.names)
        or called_method(call.func, ctx)
    )
    if here is not None:
        is_plain = not isinstance(here, cst.FunctionDef) or not here.decorators
        return (here, ctx) if is_plain else None
    program, held = ctx.flow.program, ctx.flow.value(call.func)
    only = next(iter(held)) if len(held) == 1 else None
    place = function_place(only)
    if isinstance(only, program_values.Class):
        place = program.classes.method(only.place, "__init__")
    found = ctx.function_at(place)
    return None if found is None or found[0].decorators else found


def _run_of_thread(call: cst.Call, ctx: Context) -> Iterator[tuple[Place, Place]]:
    """Yield the method `run` of a thread that is started by `x.start()`, and the thread's class.

    Of an object of a class of the program, in any of its files, that derives from a thread.
    """
    function = call.func
    if not isinstance(function, cst.Attribute) or function.attr.value != "start":
        return
    program = ctx.flow.program
    held = ctx.flow.value(function.value)
    only = next(iter(held), None)
    # Those of a list are of one class.
    if not isinstance(only, program_values.Instance) or any(
        not isinstance(each, program_values.Instance) or each.cls != only.cls for each in held
    ):
        return
    if program.classes.method(only.cls, "start"):
        return
    bases = (
        program.module_of(place).names.qualified(base.value)
        for place in program.classes.bases(only.cls)
        if isinstance(cls := program.node(place), cst.ClassDef)
        for base in cls.bases
    )
    run = program.classes.method(only.cls, "run")
    if run is not None and not _THREADS.isdisjoint(bases):
        yield run, only.cls


def _is_pool(node: cst.BaseExpression, ctx: Context) -> bool:
    made = _made(node, ctx)
    name = ctx.called(made) if made is not None else None
    if made is None or name not in _POOLS:
        held = ctx.flow.value(node)
        return bool(held) and all(isinstance(atom, Executor) for atom in held)
    arguments = Arguments(made)
    initializer = arguments.get(_POOLS[name or ""], "initializer")
    if initializer is None or arguments.is_open:
        return not arguments.may_pass(_POOLS[name or ""], "initializer")
    return _leaves_devices(initializer, ctx)


def _leaves_devices(initializer: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a function of this file calls nothing but Python's own library."""
    function = function_of(initializer, ctx.names)
    if function is None:
        return False
    packages = {
        (ctx.called(call) or "").partition(".")[0]
        for call in ctx.tree.every(cst.Call, below=function)
    }
    return packages <= {"builtins", *sys.stdlib_module_names}


# -- in which block ---------------------------------------------------------------------------


def _is_in_block_of_other(node: cst.Call, ctx: Context) -> bool:
    """Return whether a `with` enters the host's block by a context manager of the program.

    That is a function, a class, or what a variable or an attribute holds. The blocks of callers do
    not count, since there the call of the function around is reported.
    """
    entering = (item.item for item in ctx.with_items(node))
    return any(_is_entered_here(each, ctx) for each in entering) and is_under_host(node, ctx)


def _is_entered_here(manager: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a `with` may be what enters a block: of what it calls, or of a value."""
    if isinstance(manager, cst.Call):
        return ctx.flow.runs_on_system_default(manager)
    return may_be_block(manager, ctx)


def _is_elsewhere(entered: cst.Call, ctx: Context) -> Confidence | None:
    """Return how certain it is that a block's device is not the system's default; None if it is."""
    device = Arguments(entered).get(0, "new_val")
    if device is None or is_none(device):
        return None
    if string_value(device) == "cpu":
        return Confidence.DEFINITE
    held = ctx.flow.value(device)
    answers = {
        differ(atom.device, SYSTEM_DEFAULT, accelerator=ctx.flow.accelerator)
        for atom in held
        if isinstance(atom, values.TheDevice)
    }
    if False in answers:
        return None
    sure = answers == {True} and all(isinstance(atom, values.TheDevice) for atom in held)
    return Confidence.DEFINITE if sure else Confidence.LIKELY


# -- what the file says ------------------------------------------------------------------------


def _sets_default(facts: ModuleFacts) -> bool:
    return any(
        facts.names.qualified(node.func) == "jax.config.update"
        and string_value(Arguments(node).get(0, "name")) == _OPTION
        for node in facts.tree.every(cst.Call)
    )


def _spawns(facts: ModuleFacts) -> bool:
    """Return whether a file asks for processes that are spawned, and not forked."""
    return any(
        facts.names.qualified(node.func) in _METHODS
        and string_value(Arguments(node).get(0, "method")) in {"spawn", "forkserver"}
        for node in facts.tree.every(cst.Call)
    )
