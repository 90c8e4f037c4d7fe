"""Which function an expression stands for, and what runs when it is called."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.enclosing import runs_only_while_traced
from placement_lint.semantic.followed import followed
from placement_lint.semantic.object_classes import (
    called_method,
    method_of_super,
    overriding_function,
)
from placement_lint.semantic.returned import only_return
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import function_of, is_as_written, is_static, only_caches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from placement_lint.semantic.file_view import FileView
    from placement_lint.syntax.definitions import Function

_MOST_FUNCTIONS = 64
"""How many functions are followed from one: a helper's helpers, and no more of a program."""


def method_calls_on_result(call: cst.Call, ctx: FileView) -> Iterator[cst.Call]:
    """Yield the calls of methods of what a call makes, where it is bound to a name: `pool.map(f)`.

    By `as name` of a `with`, in its body, or by an assignment, wherever the variable is seen; and
    in a function of the file that it is passed to.
    """
    parent = ctx.parent(call)
    around: cst.CSTNode | None = ctx.tree.module
    targets: list[cst.BaseExpression] = []
    if isinstance(parent, cst.WithItem) and parent.asname is not None:
        targets, around = [parent.asname.name], ctx.parent(parent)
    elif isinstance(parent, cst.Assign):
        targets = [target.target for target in parent.targets]
    top = 0 if around is None else ctx.tree.index(around)
    for target in targets:
        if not isinstance(target, cst.Name):
            continue
        uses = ctx.names.uses(target.value, ctx.names.scope(call))
        for number in range(bisect_left(uses, top, key=ctx.tree.index), len(uses)):
            use = uses[number]
            if ctx.tree.index(use) >= ctx.tree.ends[top]:
                break
            yield from _method_calls(use, ctx)
            for passed in passed_as(use, ctx):
                yield from _method_calls(passed, ctx)


def _method_calls(use: cst.CSTNode, ctx: FileView) -> Iterator[cst.Call]:
    """Yield the call of a method that a name is used for, if it is."""
    method = ctx.parent(use)
    called = ctx.parent(method) if isinstance(method, cst.Attribute) else None
    if isinstance(called, cst.Call) and called.func is method:
        yield called


def passed_as(use: cst.CSTNode, ctx: FileView) -> Sequence[cst.CSTNode]:
    """Return the uses of the parameter that a call of a function of the file passes a name for."""
    argument = ctx.parent(use)
    call = ctx.parent(argument) if isinstance(argument, cst.Arg) else None
    function = function_of(call.func, ctx.names) if isinstance(call, cst.Call) else None
    if not isinstance(call, cst.Call) or not isinstance(function, cst.FunctionDef):
        return ()
    first = isinstance(call.func, cst.Attribute) and not is_static(function, ctx.names)
    parameters = [*function.params.posonly_params, *function.params.params][first:]
    arguments = Arguments(call)
    for place, each in enumerate((*parameters, *function.params.kwonly_params)):
        position = place if place < len(parameters) else None
        if arguments.get(position, each.name.value) is use:
            return ctx.names.uses(each.name.value, ctx.names.scope(function.body))
    return ()


def calls_inside(function: Function, ctx: FileView, *, traced: bool = True) -> Iterator[cst.Call]:
    """Yield the calls that run when a function is called, in its body and in what it calls.

    In order of the text for each function, those of functions that it calls after its own. What is
    only defined in it does not run; a lambda or function that is given to a call does. With
    `traced` False, not what runs only while JAX traces the function.
    """
    for node in nodes_inside(function, ctx, (cst.Call,), traced=traced):
        if isinstance(node, cst.Call):
            yield node


def made_function(node: cst.BaseExpression, ctx: FileView) -> Function | None:
    """Return the function that a call gives, of a function of this file that makes it: a closure.

    `make(2)` of `def make(n): def run(x): …; return run`.
    """
    node = followed(node, ctx)
    maker = function_of(node.func, ctx.names) if isinstance(node, cst.Call) else None
    return None if maker is None else returned_function(maker, ctx)


def returned_function(maker: Function, ctx: FileView) -> Function | None:
    """Return the function that calling another one gives, which defines it or has it."""
    if isinstance(maker, cst.Lambda):
        return function_of(maker.body, ctx.names)
    is_plain = maker.asynchronous is None and all(
        only_caches(each, ctx.names) for each in maker.decorators
    )
    given = only_return(maker, ctx) if is_plain else None
    found = None if given is None else function_of(given, ctx.names)
    if isinstance(found, cst.FunctionDef) and any(
        ctx.called(each.decorator) != "functools.wraps" for each in found.decorators
    ):
        return None
    return found


def nodes_inside(
    function: Function,
    ctx: FileView,
    kinds: tuple[type[cst.CSTNode], ...],
    *,
    traced: bool = True,
    of: cst.ClassDef | None = None,
    without: Callable[[cst.CSTNode], bool] | None = None,
) -> Iterator[cst.CSTNode]:
    """Yield the nodes of some kinds that run when a function is called, as `calls_inside` does.

    What a call runs comes after what is in the call, and an operation after its operands. `of`: the
    class of the object whose method it is, which may have it from a base. `without`: neither these
    nodes, nor what they call.
    """
    return _Run(ctx, kinds, of, without, traced=traced).nodes(function)


class _Run:
    """A function that is called, with the functions of its file that this calls."""

    def __init__(
        self,
        ctx: FileView,
        kinds: tuple[type[cst.CSTNode], ...],
        of: cst.ClassDef | None,
        without: Callable[[cst.CSTNode], bool] | None,
        *,
        traced: bool,
    ) -> None:
        self._ctx, self._kinds, self._of, self._traced = ctx, kinds, of, traced
        self._without = without
        self._seen: set[int] = set()

    def nodes(self, function: Function) -> Iterator[cst.CSTNode]:
        """Yield the nodes of some kinds, those of the functions that are called included."""
        self._seen.add(id(function))
        tree = self._ctx.tree
        around: list[tuple[int, cst.CSTNode]] = []
        """The nodes around the present one, of which something comes at their ends."""
        for node in (function.body, *tree.descendants(function.body)):
            at = tree.index(node)
            while around and around[-1][0] <= at:
                yield from self._at_end(around.pop()[1])
            if not isinstance(node, self._kinds) or self._ctx.function(node) is not function:
                continue
            if not self._traced and runs_only_while_traced(node, self._ctx):
                continue
            if self._without is not None and self._without(node):
                continue
            if isinstance(node, cst.Call):
                yield node
            around.append((tree.ends[at], node))
        while around:
            yield from self._at_end(around.pop()[1])

    def _at_end(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        if not isinstance(node, cst.Call):
            yield node
            return
        for each in (node.func, *(argument.value for argument in node.args)):
            inner = self._called(each, is_given=each is not node.func)
            if inner is None or id(inner) in self._seen or len(self._seen) >= _MOST_FUNCTIONS:
                continue
            if is_as_written(inner, self._ctx.names):
                yield from self.nodes(inner)

    def _called(self, node: cst.BaseExpression, *, is_given: bool) -> Function | None:
        """Return the function of the file that is called, or given to what may call it."""
        ctx = self._ctx
        own = overriding_function(node, self._of, ctx) or method_of_super(node, ctx)
        found = own or function_of(node, ctx.names)
        return called_method(node, ctx) if found is None and not is_given else found
