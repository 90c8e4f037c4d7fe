"""JDP505."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Edit, Severity
from placement_lint.prefilter.conditions import AnyOf
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.semantic.execution_order import timeline
from placement_lint.semantic.module_summary import Kind
from placement_lint.semantic.program_queries import CallsAsked
from placement_lint.syntax.calls import Arguments, is_none, string_value
from placement_lint.syntax.environ import settings

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.edits import Editor

_OPTION, _VARIABLE = "jax_platform_name", "JAX_PLATFORM_NAME"
_BETTER = {_OPTION: "jax_platforms", _VARIABLE: "JAX_PLATFORMS"}
_OTHERS = frozenset({"cuda", "gpu", "rocm", "tpu"})
_QUOTED = tuple(f"{quote}{name}{quote}".encode() for name in sorted(_OTHERS) for quote in "\"'")
_LISTS = ("jax.devices", "jax.local_devices", "jax.device_count", "jax.local_device_count")


class WeakPlatformSelection(Rule):
    """`jax_platform_name` set to the CPU, which still starts the accelerator.

    ## What it does
    Finds `jax.config.update("jax_platform_name", "cpu")` and the environment variable
    `JAX_PLATFORM_NAME` set to `cpu`.

    ## Why is this bad?
    The option only selects the *default* backend. JAX still starts every backend that it finds. On
    a machine with a GPU, a program that should run on the CPU takes most of the GPU's memory, and
    it fails if the GPU is not available. `jax_platforms` selects which backends are started.

    ## Example
    ```python
    import jax

    jax.config.update("jax_platform_name", "cpu")
    ```

    ## Use instead
    ```python
    import jax

    jax.config.update("jax_platforms", "cpu")
    ```

    ## Fix safety
    Safe: the option or variable is replaced by the one that does what the line says. Unsafe if the
    variable is only a default (`setdefault`, or under a condition on it): a user who sets it to
    `gpu` then gets an error, because `JAX_PLATFORMS` is `cpu`.

    ## What it does not flag
    Values other than `cpu`: `jax_platforms` takes other names, and fails if a platform is missing.
    A file that uses the devices of another platform, and so needs the accelerator. A file that also
    sets or reads `JAX_PLATFORMS` or `jax_platforms`, whose author knows the difference. A setting
    that is too late to have an effect (JDP501, JDP502).

    ## Verified by
    The proof registers a second backend, sets the option, and lists the CPUs. The second backend is
    started. After the fix it is not.

    ## References
    - [jax-ml/jax#7468](https://github.com/jax-ml/jax/issues/7468): all platforms are initialised,
      the name only prefers one
    - [jax-ml/jax#8035](https://github.com/jax-ml/jax/pull/8035): why `jax_platforms` exists
    """

    code, name = "JDP505", "weak-platform-selection"
    advice = "Use `jax_platforms` or `JAX_PLATFORMS`, which start no other platform"
    severity, fix = Severity.WARNING, Applicability.SAFE
    follows_arrays = False
    needs = AnyOf(_OPTION.encode(), _VARIABLE.encode())

    def visit_Assign(self, node: cst.Assign, ctx: Context) -> None:
        _check_variables(node, ctx)

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        """Check `jax.config.update`, and calls that set variables."""
        _check_variables(node, ctx)
        if not ctx.is_call(node, "jax.config.update"):
            return
        arguments = Arguments(node)
        key = arguments.get(0, "name")
        if (
            key is not None
            and string_value(key) == _OPTION
            and string_value(arguments.get(1, "val")) == "cpu"
            and timeline(ctx.module).before(node, Kind.STARTS) is None
        ):
            _report(node, _OPTION, key, ctx)


def _check_variables(node: cst.Assign | cst.Call, ctx: Context) -> None:
    for setting in settings(node, ctx.names):
        if (
            setting.name == _VARIABLE
            and string_value(setting.value) == "cpu"
            and timeline(ctx.module).before(node, Kind.IMPORTS) is None
        ):
            _report(node, _VARIABLE, setting.key, ctx)


def _report(node: cst.CSTNode, name: str, key: cst.CSTNode, ctx: Context) -> None:
    if ctx.module.fact(_wants_another_platform):
        return
    if any(_runs_beside(mention, node, ctx) for mention in ctx.module.fact(_choices)):
        return
    is_default = ctx.called(node) == "os.environ.setdefault"
    is_safe = (
        not is_default
        and not ctx.module.fact(_asks_for_weak_variable)
        and not _may_want_another_platform(ctx.module)
    )

    def build(editor: Editor) -> list[Edit] | None:
        text = editor.text(key)
        if text.count(name) != 1:
            return None
        return [editor.replace(key, text.replace(name, _BETTER[name]))]

    level = Applicability.SAFE if is_safe else Applicability.UNSAFE
    plan = FixPlan(level, f"Set {_BETTER[name]} instead", build)
    ctx.report(
        node,
        f"{name} only prefers the CPU: JAX still starts the accelerator and takes its memory; "
        f"use {_BETTER[name]}, which does not",
        fix=plan,
    )


def _wants_another_platform(facts: ModuleFacts) -> bool:
    return any(
        facts.names.qualified(node.func) in _LISTS
        and any(
            (text := string_value(argument.value)) is not None and text != "cpu"
            for argument in node.args
        )
        for node in facts.tree.every(cst.Call)
    )


def _may_want_another_platform(facts: ModuleFacts) -> bool:
    """Return whether the program may use the devices of another platform, which it then lacks."""
    return (
        facts.fact(_asks_for_some_platform)
        or any(string_value(node) in _OTHERS for node in facts.tree.every(cst.SimpleString))
        or facts.run.mentions(facts.path, *_QUOTED)
    )


def _asks_for_some_platform(facts: ModuleFacts) -> bool:
    """Return whether a file lists the devices of a platform that is not written there."""
    return any(
        facts.names.qualified(node.func) in _LISTS
        and any(
            string_value(argument.value) is None and not is_none(argument.value)
            for argument in node.args
        )
        for node in facts.tree.every(cst.Call)
    )


def _choices(facts: ModuleFacts) -> list[cst.CSTNode]:
    """Return where a file sets or reads the choice of platforms, by any of its names.

    Its author knows of both; what is asked for there is what the user said.
    """
    names = frozenset(_BETTER.values())
    return [
        *(node for node in facts.tree.every(cst.SimpleString) if string_value(node) in names),
        *(node for node in facts.tree.every(cst.Attribute) if node.attr.value in names),
        *(
            node
            for node in facts.tree.every(cst.Arg)
            if node.keyword is not None and node.keyword.value in names
        ),
    ]


def _runs_beside(mention: cst.CSTNode, node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether two places may be run by one program: not if one is in a function unused."""
    function = ctx.function(mention)
    while function is not None:
        scope = ctx.names.scope(function)
        if (
            isinstance(function, cst.FunctionDef)
            and not isinstance(scope.node, cst.ClassDef)
            and not ctx.tree.is_inside(node, function)
            and not ctx.names.uses(function.name.value, scope)
            and not _is_used_elsewhere(function, ctx)
        ):
            return False
        function = ctx.function(function)
    return True


def _is_used_elsewhere(function: cst.FunctionDef, ctx: Context) -> bool:
    name, run = function.name.value, ctx.module.run
    return run.calls_from_elsewhere(ctx.module.path, name, CallsAsked.USES).is_used


def _asks_for_weak_variable(facts: ModuleFacts) -> bool:
    """Return whether a file asks if the user has set the variable: then that is to be kept."""
    written = {
        id(setting.key)
        for node in facts.tree.every(cst.Assign, cst.Call)
        for setting in settings(node, facts.names)
    }
    return any(
        string_value(node) == _VARIABLE and id(node) not in written
        for node in facts.tree.every(cst.SimpleString)
    )
