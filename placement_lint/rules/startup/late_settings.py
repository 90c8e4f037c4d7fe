"""Which environment variables of JAX and XLA a program sets after they were read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from placement_lint.jaxmodel.environment import VARIABLES, Read
from placement_lint.jaxmodel.startup import LATE_OPTIONS
from placement_lint.rules.startup.child_processes import starts_data_workers, starts_processes
from placement_lint.semantic.enclosing import is_asserted_to_fail, is_in_test
from placement_lint.semantic.execution_order import timeline
from placement_lint.semantic.module_summary import Kind
from placement_lint.syntax.calls import Arguments, string_value
from placement_lint.syntax.programs import has_main_guard

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.semantic.execution_steps import Event

_BEFORE_TESTS = frozenset({"setUpClass", "setUpModule", "setup_class", "setup_module"})


class Late(NamedTuple):
    """What has read a variable before it is set."""

    event: Event
    reason: str


def too_late(node: cst.CSTNode, name: str, ctx: Context) -> Late | None:
    """Return what has read a variable before a node sets it; None where it may not be too late."""
    late = _read_before(node, name, ctx)
    return None if late is None or is_excused(node, name, ctx) else late


def is_without_effect(node: cst.CSTNode, name: str, ctx: Context) -> bool:
    """Return whether a variable is set too late to be read, by what starts no other processes.

    Its option may be set too, in time, so that nothing comes of it.
    """
    if _read_before(node, name, ctx) is None:
        return False
    is_alone = not ctx.module.fact(starts_processes)
    return (is_alone and _is_configured(name, ctx)) or not is_excused(node, name, ctx)


def _read_before(node: cst.CSTNode, name: str, ctx: Context) -> Late | None:
    variable = VARIABLES.get(name)
    if variable is None or not ctx.target.meets(variable.since, variable.until):
        return None
    if variable.read is Read.IMPORT:
        event = timeline(ctx.module).first_before(node, Kind.IMPORTS)
        reason = "JAX reads it while it is imported"
    else:
        event = timeline(ctx.module).before(node, Kind.STARTS)
        reason = "it is read when the backend starts"
    return None if event is None else Late(event, reason)


def is_excused(node: cst.CSTNode, variable: str, ctx: Context) -> bool:
    """Return whether a variable may be meant for something else, or what is late is known to be."""
    return (
        ctx.module.fact(starts_processes)
        or (_is_of_workers(variable) and ctx.module.fact(starts_data_workers))
        or is_asserted_to_fail(node, ctx)
        or (is_in_test(node, ctx) and not _is_program(ctx) and _is_in_one_test(node, ctx))
        or _is_configured(variable, ctx)
        or bool(ctx.calls_of("importlib.reload"))
        or any(
            isinstance(ancestor, cst.If) and _mentions_modules(ancestor.test, ctx)
            for ancestor in ctx.ancestors(node)
        )
    )


def _is_of_workers(variable: str) -> bool:
    """Return whether a variable may be meant to keep data workers off the accelerator."""
    return variable.startswith(("JAX_PLATFORM", "CUDA_", "XLA_PYTHON_CLIENT_"))


def _is_configured(variable: str, ctx: Context) -> bool:
    return any(_configures(call, variable, ctx) for call in ctx.calls_of("jax.config.update"))


def _configures(call: cst.Call, variable: str, ctx: Context) -> bool:
    """Return whether a call sets the option of a variable, and not too late itself (JDP502)."""
    if not any(string_value(argument.value) == variable.lower() for argument in call.args[:1]):
        return False
    is_late = variable.lower() in LATE_OPTIONS
    return not is_late or timeline(ctx.module).before(call, Kind.STARTS) is None


def _is_program(ctx: Context) -> bool:
    """Return whether a file in a folder of tests is a program, such as a benchmark, with none."""
    functions = ctx.tree.every(cst.FunctionDef)
    return has_main_guard(ctx.tree.module) and not any(
        each.name.value.startswith("test") for each in functions
    )


def _is_in_one_test(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a node is in a function that does not run before all tests.

    A test may set a variable to see what the code does that reads it.
    """
    function = ctx.function(node)
    if not isinstance(function, cst.FunctionDef):
        return function is not None
    if function.name.value.startswith("pytest_") or function.name.value in _BEFORE_TESTS:
        return False
    fixtures = (
        each.decorator for each in function.decorators if isinstance(each.decorator, cst.Call)
    )
    return not any(
        ctx.called(fixture) == "pytest.fixture"
        and string_value(Arguments(fixture).get(None, "scope")) in {"module", "package", "session"}
        for fixture in fixtures
    )


def _mentions_modules(test: cst.BaseExpression, ctx: Context) -> bool:
    return any(
        ctx.name(inner) == "sys.modules"
        for inner in (test, *ctx.tree.descendants(test))
        if isinstance(inner, cst.Attribute | cst.Name)
    )
