"""JDP104."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Severity
from placement_lint.jaxmodel.config_states import CONFIG_CONTEXTS
from placement_lint.prefilter.conditions import AllOf, AnyOf, Jax, Uses
from placement_lint.rules.base import Rule
from placement_lint.semantic.config_contexts import context_of
from placement_lint.semantic.enclosing import is_asserted_to_fail
from placement_lint.semantic.generators import kind_of

if TYPE_CHECKING:
    from placement_lint.rules.context import Context

# What leaves a generator function one, or makes something that runs its body later.
_LEAVING = frozenset({
    "abc.abstractmethod", "builtins.classmethod", "builtins.staticmethod",
    "contextlib.asynccontextmanager", "contextlib.contextmanager", "pytest.fixture",
    "pytest_asyncio.fixture", "typing.final", "typing.no_type_check", "typing.override",
    "typing_extensions.final", "typing_extensions.override",
})  # fmt: skip


class ConfigContextDecoratorInert(Rule):
    """`@jax.default_device(…)` on a generator function, or on an `async def`.

    ## What it does
    Finds `jax.default_device(device)`, and every other configuration context of JAX, as a decorator
    of a generator function or of an `async def`; and the same as a call,
    `jax.default_device(device)(generator)`; also a function of the program that returns such a
    context, or yields inside one under `contextlib.contextmanager`.

    ## Why is this bad?
    The decorator enters the context for the duration of the *call*. Calling a generator function or
    an `async def` does not run its body: it only creates a generator or a coroutine, and then the
    context has already exited. The body runs later, on the default device of its consumer, which
    may be the accelerator. There is no warning.

    ## Example
    ```python
    import jax

    @jax.default_device(jax.devices("cpu")[0])
    def batches(path):
        for part in read(path):
            yield parse(part)
    ```

    ## Use instead
    ```python
    import jax

    def batches(path):
        for part in read(path):
            with jax.default_device(jax.devices("cpu")[0]):
                batch = parse(part)
            yield batch
    ```

    The `yield` is outside the block. If it were inside, the consumer would run on the CPU too.

    ## Fix safety
    No fix: only the author knows which parts of the body should run on the device, and where it may
    be suspended.

    ## What it does not flag
    Plain functions, methods and jitted functions, for which the decorator works. A generator
    function below an unknown decorator, which may run the generator to its end.

    ## Verified by
    The proof decorates a generator function with the host's device and finds the yielded array on
    the accelerator. With the block inside the body it is on the host.

    ## References
    - [contextlib.ContextDecorator](https://docs.python.org/3/library/contextlib.html), which
      JAX's contexts are as decorators
    - Measured on JAX 0.4.30, 0.5.3, 0.10.2 and 0.12.0.1, for six of the contexts
    """

    code, name = "JDP104", "config-context-decorator-inert"
    advice = "Enter the context inside the function, around what makes arrays"
    severity = Severity.ERROR
    needs = AllOf(Jax(), Uses(*CONFIG_CONTEXTS), AnyOf(b"yield", b"async"))

    def visit_FunctionDef(self, node: cst.FunctionDef, ctx: Context) -> None:
        if not node.decorators:
            return
        kind = None
        for decorator in reversed(node.decorators):
            name = _context_name(decorator.decorator, ctx)
            if name is not None:
                kind = kind or kind_of(node, ctx.names)
                if kind is None:
                    return
                _report(decorator.decorator, name, kind, ctx)
            elif not _leaves_it(decorator.decorator, ctx):
                return

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        """Check `jax.default_device(device)(function)`."""
        if not isinstance(node.func, cst.Call) or len(node.args) != 1:
            return
        name = _context_name(node.func, ctx)
        argument = node.args[0].value
        if name is None or not isinstance(argument, cst.Name):
            return
        function = ctx.names.sole_definition(argument)
        if not isinstance(function, cst.FunctionDef):
            return
        kind = kind_of(function, ctx.names)
        if kind is not None and all(_leaves_it(d.decorator, ctx) for d in function.decorators):
            _report(node.func, name, kind, ctx)


def _context_name(node: cst.BaseExpression, ctx: Context) -> str | None:
    """Return the name of the context that a decorator enters: a call, or a name for one."""
    entered = context_of(node, ctx)
    if entered is None or entered.is_object:
        # An object of a class need not be a decorator, or may be one of another kind.
        return None
    return entered.spelled


def _leaves_it(decorator: cst.BaseExpression, ctx: Context) -> bool:
    name = ctx.called(decorator) or ctx.name(decorator)
    return name in _LEAVING or (name or "").startswith("pytest.mark.")


def _report(node: cst.BaseExpression, name: str, kind: str, ctx: Context) -> None:
    if is_asserted_to_fail(node, ctx):
        return
    ctx.report(
        node,
        f"{name} has already exited when {kind} runs: as a decorator here it has no effect",
    )
