"""Whether code ever comes to its end: bodies that leave what is around them, calls that do not
return.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.beside import definition_beside
from placement_lint.syntax.definitions import function_of
from placement_lint.syntax.dotted import said

if TYPE_CHECKING:
    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.model import ModuleFacts

NEVER_RETURNING = frozenset({
    "absl.logging.fatal", "builtins.exit", "builtins.quit", "os._exit", "os.abort", "pytest.exit",
    "pytest.fail", "pytest.skip", "pytest.xfail", "sys.exit",
})  # fmt: skip
"""Functions of libraries that raise, or end the process."""
_METHODS = {
    "abort": ("context", "ctx"), "error": ("ap", "arg_parser", "argparser", "parser"),
    "exit": ("ap", "context", "ctx", "parser"), "fail": ("context", "ctx", "self"),
    "skipTest": ("self",),
}  # fmt: skip
"""Methods of parsers of arguments, of contexts of commands and of tests, and by which names these
go. A method that the class of `self` defines is asked for what it does.
"""
_NEVER = frozenset({
    "typing.Never", "typing.NoReturn", "typing_extensions.Never", "typing_extensions.NoReturn",
})  # fmt: skip
_MOST_HOPS = 4
"""Functions that call one another for that."""


def leaves(body: cst.BaseSuite, ctx: FileView) -> bool:
    """Return whether a body ends by leaving what is around it: what follows is its other case."""
    last: cst.CSTNode = body.body[-1]
    while isinstance(last, cst.With):
        last = last.body.body[-1]
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    if isinstance(last, cst.Return | cst.Raise | cst.Continue | cst.Break):
        return True
    call = last.value if isinstance(last, cst.Expr) else None
    return isinstance(call, cst.Call) and never_returns(call, ctx)


def never_returns(call: cst.Call, ctx: FileView, hops: int = _MOST_HOPS) -> bool:
    """Return whether a call raises, or ends the process, whatever it is given.

    `sys.exit(1)`, `pytest.skip(reason)`, `parser.error(text)`, `self.skipTest(reason)`, and a
    function of the program that ends by such a call or by a `raise`, on each of its ways.
    """
    name = ctx.name(call.func)
    if name in NEVER_RETURNING:
        return True
    found = _function_called(call, ctx)
    if found is not None:
        function, there = found
        known = there.module.fact(_known)
        if id(function) not in known:
            # One that calls itself does not come to an end by that.
            known[id(function)] = False
            known[id(function)] = hops > 0 and _has_no_end(function, there, hops - 1)
        return known[id(function)]
    is_unknown = name is None and function_of(call.func, ctx.names) is None
    return is_unknown and _is_leaving_method(call.func, ctx)


def is_check(call: cst.Call, ctx: FileView) -> bool:
    """Return whether a call is of a function of the program that gives nothing, and may raise or
    leave the program: `require_axis(mesh, "model")`.
    """
    found = _function_called(call, ctx)
    if found is None:
        return False
    function, view = found
    inside = view.tree.every(cst.Return, cst.Yield, below=function.body)
    if any(each.value is not None for each in inside):
        return False
    if any(view.tree.every(cst.Raise, cst.Assert, below=function.body)):
        return True
    return any(never_returns(each, view) for each in view.tree.every(cst.Call, below=function.body))


def _function_called(call: cst.Call, ctx: FileView) -> tuple[cst.FunctionDef, FileView] | None:
    """Return the function of the program that a call is of, with the file that defines it."""
    own = function_of(call.func, ctx.names)
    if own is not None:
        return (own, ctx) if isinstance(own, cst.FunctionDef) else None
    name = ctx.name(call.func)
    beside = None if name is None else definition_beside(ctx.module, name)
    if beside is None or not isinstance(beside[0], cst.FunctionDef):
        return None
    return beside[0], view_of(beside[1])


def view_of(facts: ModuleFacts) -> FileView:
    # Rules import this module where LibCST may not be needed; a view of a file loads it.
    from placement_lint.semantic.file_view import FileView

    return FileView(facts)


def _is_leaving_method(method: cst.BaseExpression, ctx: FileView) -> bool:
    if not isinstance(method, cst.Attribute):
        return False
    owner = said(method.value).rpartition(".")[2].lower()
    if owner in _METHODS.get(method.attr.value, ()):
        return True
    made = ctx.names.sole_value(method.value) if isinstance(method.value, cst.Name) else None
    is_made = ctx.called(made) == "argparse.ArgumentParser"
    return is_made and method.attr.value in {"error", "exit"}


def _has_no_end(function: cst.FunctionDef, ctx: FileView, hops: int) -> bool:
    """Return whether a call of a function never comes back."""
    if function.decorators or function.asynchronous is not None:
        return False
    if function.returns is not None and ctx.name(function.returns.annotation) in _NEVER:
        return True
    inside = ctx.tree.every(cst.Return, cst.Yield, below=function.body)
    if any(ctx.function(each) is function for each in inside):
        return False
    return _goes_nowhere(function.body, ctx, hops)


def _goes_nowhere(body: cst.BaseSuite, ctx: FileView, hops: int) -> bool:
    """Return whether each way through a body of a function ends in it."""
    last: cst.CSTNode = body.body[-1]
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    if isinstance(last, cst.If):
        return isinstance(last.orelse, cst.Else) and all(
            _goes_nowhere(each, ctx, hops) for each in (last.body, last.orelse.body)
        )
    call = last.value if isinstance(last, cst.Expr) else None
    return isinstance(last, cst.Raise) or (
        isinstance(call, cst.Call) and never_returns(call, ctx, hops)
    )


def _known(_facts: ModuleFacts) -> dict[int, bool]:
    """Make the store of one file: which of its functions never return."""
    return {}
