"""JDP506."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Confidence, Severity
from placement_lint.jaxmodel.backend_start import starts_backend
from placement_lint.prefilter.conditions import Uses
from placement_lint.rules.base import Rule
from placement_lint.rules.startup.started_processes import start_of
from placement_lint.semantic.elsewhere import effects_of, method_effects
from placement_lint.semantic.enclosing import failure_is_expected
from placement_lint.semantic.execution_order import timeline
from placement_lint.semantic.functions import calls_inside, method_calls_on_result
from placement_lint.semantic.module_summary import Kind
from placement_lint.semantic.object_classes import called_method
from placement_lint.semantic.own_attributes import own_attribute
from placement_lint.semantic.returned import given_by
from placement_lint.syntax.calls import Arguments, is_none, string_value
from placement_lint.syntax.definitions import class_named, function_of, method_of_class

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.definitions import Function

_FORKS = frozenset({"os.fork", "os.forkpty", "pty.fork"})
_MODULES = ("multiprocessing", "torch.multiprocessing", "multiprocess")
_MAKERS = frozenset({"Pool", "Process"})
_EXECUTORS = frozenset({
    "concurrent.futures.ProcessPoolExecutor", "concurrent.futures.process.ProcessPoolExecutor",
})  # fmt: skip
_EXECS = "os.exec"
_MAKING = [f"{module}.{name}" for module in _MODULES for name in (*_MAKERS, "get_context")]
_JAX = ("jax.", "flax.", "optax.", "equinox.", "haiku.")
_TREES = ("jax.tree.", "jax.tree_util.", "jax.tree_")
_FILES = 3
"""Through which what a worker runs is followed, beside the one that starts it."""


class ForkAfterBackend(Rule):
    """A process forked after JAX's backend has started.

    ## What it does
    Finds `os.fork()` after a call that certainly runs earlier and starts the backend: an array, a
    key, `jax.devices()`. It also finds a process or a pool of `multiprocessing` with the start
    method `fork`; with the default method, only if what it runs uses JAX: a function or a method of
    any file of the program, or the `run` of a class that derives from `Process`. The backend may be
    started in a function of another file, in a method of the same object or of another one, or
    before each call of the function that forks. A process is reported where it is started, a pool
    where it is made.

    ## Why is this bad?
    JAX's backend uses many threads. A fork copies one of them and all locks, in whatever state they
    are, so a child that uses JAX hangs. This was measured on JAX 0.5.3 to 0.12, and JAX itself
    warns that it "will likely lead to a deadlock". A child cannot use a GPU of its parent either.

    ## Example
    ```python
    import os

    import jax.numpy as jnp

    table = jnp.arange(10)
    if os.fork() == 0:
        print(table.sum())
    ```

    ## Use instead
    ```python
    import multiprocessing


    def work():
        import jax.numpy as jnp

        print(jnp.arange(10).sum())


    if __name__ == "__main__":
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=work)
        process.start()
    ```

    ## Fix safety
    No fix: the arguments of a spawned process are pickled, and it imports the program again, which
    does not work for every program.

    ## What it does not flag
    A fork before JAX is used, or where this is not known. The methods `spawn` and `forkserver`,
    selected anywhere in the file. Pools with the default method whose functions are unknown or do
    not use JAX, or if another file of the program calls `set_start_method`: the default is `fork`
    only on Linux and up to Python 3.13. `os.fork` followed by `os.exec…`, and `subprocess`, which
    run another program.

    ## Verified by
    The proof starts the backend and forks, and JAX warns. If JAX is not used before the fork, there
    is no warning.

    ## References
    - [jax-ml/jax#18852](https://github.com/jax-ml/jax/issues/18852) and
      [#18989](https://github.com/jax-ml/jax/pull/18989): why JAX warns
    - [multiprocessing](https://docs.python.org/3/library/multiprocessing.html)
    """

    code, name = "JDP506", "fork-after-backend"
    advice = 'Start processes with the method "spawn", or fork them before JAX is first used'
    severity = Severity.ERROR
    follows_arrays = False
    needs = Uses(*_FORKS, *_EXECUTORS, *_MAKING)

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        reported: set[int] = set()
        for call in ctx.tree.every(cst.Call):
            confidence = _forks(call, ctx)
            if confidence is None:
                continue
            # Each of a list may be started by the same call.
            forking = (start_of(call, ctx) or call) if _makes_process(call, ctx) else call
            if id(forking) not in reported:
                reported.add(id(forking))
                _report_after_start(forking, call, confidence, ctx)


def _forks(node: cst.Call, ctx: Context) -> Confidence | None:
    """Return how sure it is that a call forks, or makes what does; None where it does not."""
    name = ctx.called(node)
    if name in _FORKS:
        is_meant = failure_is_expected(node, ctx) or _executes_another(node, ctx)
        return None if is_meant else Confidence.DEFINITE
    method = _method(node, name, ctx)
    if method is None or ctx.module.fact(_chooses_another_method):
        return None
    if failure_is_expected(node, ctx):
        return None
    if method == "fork":
        return Confidence.DEFINITE
    is_of_jax = _runs_jax(node, ctx) and not _is_chosen_elsewhere(ctx)
    return Confidence.LIKELY if is_of_jax else None


def _makes_process(node: cst.Call, ctx: Context) -> bool:
    """Return whether a call makes a process, which forks where it is started."""
    func = node.func
    last = func.attr.value if isinstance(func, cst.Attribute) else ctx.called(node) or ""
    return last.rpartition(".")[2] == "Process" or _process_class(node, ctx) is not None


def _report_after_start(
    forking: cst.Call, made: cst.Call, confidence: Confidence, ctx: Context
) -> None:
    """Report a call that forks, if the backend has started by then.

    That is asked last: it may take the summaries of all files that are imported by then.
    """
    order = timeline(ctx.module)
    # What is started is made before.
    start = order.before(forking, Kind.STARTS) or order.before(made, Kind.STARTS)
    if start is None:
        return
    is_apart = forking is not made and not ctx.tree.is_inside(made, forking)
    ctx.report(
        forking,
        f"this forks after {start.where} has started JAX's backend: a child that touches JAX is "
        "likely to hang",
        confidence=confidence,
        related=[(made, ctx.module.path, "the process is made here")] if is_apart else [],
    )


def _method(node: cst.Call, name: str | None, ctx: Context) -> str | None:
    """Return the start method of what makes processes: "fork", or "" where it is the default."""
    if name is not None:
        module, _, last = name.rpartition(".")
        if module in _MODULES and last in _MAKERS:
            return ctx.module.fact(_chosen_method)
        if name in _EXECUTORS:
            context = Arguments(node).get(1, "mp_context")
            if context is None or is_none(context):
                return ctx.module.fact(_chosen_method)
            return _context_method(context, ctx)
        return None
    if _process_class(node, ctx) is not None:
        return ctx.module.fact(_chosen_method)
    func = node.func
    if isinstance(func, cst.Attribute) and func.attr.value in {*_MAKERS, "ProcessPoolExecutor"}:
        return _context_method(func.value, ctx)
    return None


def _process_class(node: cst.Call, ctx: Context) -> cst.ClassDef | None:
    """Return the class of this file that derives from a process, of which a call makes one."""
    cls = class_named(node.func, ctx.names)
    if cls is None:
        return None
    bases = {ctx.name(base.value) for base in cls.bases}
    return cls if not bases.isdisjoint(f"{module}.Process" for module in _MODULES) else None


def _context_method(node: cst.BaseExpression, ctx: Context) -> str | None:
    """Return the method of a context where it is `multiprocessing.get_context("fork")`."""
    node = given_by(node, ctx)
    if isinstance(node, cst.Attribute) and (held := own_attribute(node, ctx)) is not None:
        node = given_by(held, ctx)
    if not isinstance(node, cst.Call) or not _is_module_function(node, "get_context", ctx):
        return None
    method = Arguments(node).get(0, "method")
    if method is None or is_none(method):
        return ""
    return "fork" if string_value(method) == "fork" else None


def _is_module_function(node: cst.Call, function: str, ctx: Context) -> bool:
    return ctx.called(node) in {f"{module}.{function}" for module in _MODULES}


def _chosen_method(facts: ModuleFacts) -> str:
    """Return the method that the file sets for all: "fork", or "" for the default."""
    return "fork" if "fork" in _set_methods(facts) else ""


def _chooses_another_method(facts: ModuleFacts) -> bool:
    return any(method != "fork" for method in _set_methods(facts))


def _set_methods(facts: ModuleFacts) -> list[str | None]:
    return [
        string_value(Arguments(node).get(0, "method"))
        for node in facts.tree.every(cst.Call)
        if facts.names.qualified(node.func) in {f"{module}.set_start_method" for module in _MODULES}
    ]


def _is_chosen_elsewhere(ctx: Context) -> bool:
    """Return whether another file of the program may choose the method, as an entry script does."""
    return ctx.module.run.mentions(ctx.module.path, b"set_start_method")


def _executes_another(node: cst.Call, ctx: Context) -> bool:
    """Return whether what forks goes on to execute another program: its child touches no JAX."""
    return id(ctx.names.scope(node)) in ctx.module.fact(_executing_scopes)


def _executing_scopes(facts: ModuleFacts) -> frozenset[int]:
    return frozenset(
        id(facts.names.scope(call))
        for call in facts.tree.every(cst.Call)
        if (facts.names.qualified(call.func) or "").startswith(_EXECS)
    )


def _runs_jax(node: cst.Call, ctx: Context) -> bool:
    """Whether a function that is given to a process, or to the methods of a pool, uses JAX."""
    cls = _process_class(node, ctx)
    if cls is not None:
        run = method_of_class(cls, "run", ctx.names)
        return run is not None and _touches_jax(run, ctx)
    arguments = Arguments(node)
    given = [arguments.get(None, "target"), arguments.get(None, "initializer")]
    return any(_is_of_jax(each, ctx) for each in (*given, *_mapped(node, ctx)) if each is not None)


def _is_of_jax(worker: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a function, a method or an object uses JAX when it is called."""
    function = function_of(worker, ctx.names) or called_method(worker, ctx)
    return _is_of_jax_elsewhere(worker, ctx) if function is None else _touches_jax(function, ctx)


def _touches_jax(function: Function, ctx: Context) -> bool:
    return _is_jitted(function, ctx) or any(
        _uses_jax(call, ctx) for call in calls_inside(function, ctx)
    )


def _is_of_jax_elsewhere(worker: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether what another file defines uses JAX when it is called."""
    effects = effects_of(worker, ctx, _FILES) or method_effects(worker, "__call__", ctx, _FILES)
    if effects is None:
        return False
    runs_program = effects.is_traced or effects.runs_compiled
    return runs_program or any(_needs_backend(call.name) for call in effects.calls)


def _needs_backend(name: str) -> bool:
    return (
        name.startswith(_JAX) and not name.startswith(_TREES) and starts_backend(name) is not False
    )


def _uses_jax(call: cst.Call, ctx: Context) -> bool:
    """Return whether a call needs the backend, as far as that is known of what is called."""
    name = ctx.called(call)
    if name is not None and name.startswith(_JAX):
        return _needs_backend(name)
    is_name = isinstance(call.func, cst.Name)
    made = ctx.names.sole_value(call.func) if is_name else call.func
    if isinstance(made, cst.Call):
        return (ctx.called(made) or "").startswith(_JAX)
    function = function_of(call.func, ctx.names)
    if function is not None:
        return _is_jitted(function, ctx)
    return _is_of_jax_elsewhere(call.func, ctx)


def _is_jitted(function: Function, ctx: Context) -> bool:
    return isinstance(function, cst.FunctionDef) and any(
        (ctx.name(inner) or "").startswith(_JAX)
        for decorator in function.decorators
        for inner in (decorator.decorator, *ctx.tree.descendants(decorator.decorator))
        if isinstance(inner, cst.Attribute | cst.Name)
    )


def _mapped(node: cst.Call, ctx: Context) -> list[cst.BaseExpression]:
    """Return what is handed to the methods of a pool that has a name."""
    calls = method_calls_on_result(node, ctx)
    return [call.args[0].value for call in calls if call.args]
