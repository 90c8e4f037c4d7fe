"""Which expressions and decorators compile a function, for the device of its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.syntax.definitions import PARTIAL, applied

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.syntax.names import Names

_COMPILERS = frozenset({
    "equinox.filter_jit", "flax.nnx.jit", "jax.experimental.pjit.pjit", "jax.jit", "jax.pmap",
})  # fmt: skip
_FOR_DEVICE = frozenset({"backend", "device", "devices"})


def compiles(decorator: cst.BaseExpression, names: Names) -> bool:
    """Return whether a decorator surely compiles what it decorates, and chooses no device."""
    of, calls = applied(decorator, names)
    return _is_compiler(of, names) and not any(
        each.is_open or _FOR_DEVICE & each.keywords.keys() for each in calls
    )


def is_compiled(call: cst.Call, names: Names) -> bool:
    """Return whether a call gives a compiled function: `jax.jit(f)`, `partial(jax.jit, …)(f)`."""
    of, calls = applied(call, names)
    if not _is_compiler(of, names) or names.qualified(call.func) == PARTIAL:
        return False
    # The last call passes the function, and none before it does: `jax.jit(f)(x)` is its result.
    given = [
        arguments
        for arguments in calls
        if not all(_is_compiler(each, names) for each in arguments.positional)
        or {"fun", "func"} & arguments.keywords.keys()
    ]
    return given == calls[:1] and compiles(call, names)


def is_compiled_where_defined(function: cst.FunctionDef, names: Names) -> bool:
    """Return whether the only decorator of a function compiles it."""
    return len(function.decorators) == 1 and compiles(function.decorators[0].decorator, names)


def _is_compiler(node: cst.BaseExpression | None, names: Names) -> bool:
    return node is not None and names.qualified(node) in _COMPILERS
