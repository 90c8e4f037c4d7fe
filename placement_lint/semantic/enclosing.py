"""What is around a node: whether its failure is expected, or caught, and which cell it is in."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.called_from import (
    is_so_at_calls,
    is_unused_here,
    name_for_others,
)
from placement_lint.semantic.leaving import is_check, leaves, view_of
from placement_lint.semantic.program_queries import RAISED, CallsAsked
from placement_lint.semantic.tolerated import Helpers
from placement_lint.syntax.dotted import said
from placement_lint.syntax.expected_failures import expects_failure, is_marked_to_fail

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from typing import TypeVar

    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.model import ModuleFacts

    _Statement = TypeVar("_Statement", cst.If, cst.Assert)

# What JAX raises where a value is asked for while a function is traced, and nowhere else.
_TRACER_ERRORS = frozenset(
    f"jax.{module}.{name}"
    for module in ("core", "errors")
    for name in (
        "ConcretizationTypeError",
        "NonConcreteBooleanIndexError",
        "TracerArrayConversionError",
        "TracerBoolConversionError",
        "TracerIntegerConversionError",
        "UnexpectedTracerError",
    )
)
_TRACERS = frozenset({"jax.core.Tracer", "jax.extend.core.Tracer", "jax.interpreters.ad.Tracer"})
_MOST_NAMES = 4
"""Names of which each stands for the exceptions that the next one does."""
_FEW = 3
"""Statements of a function that is there to ask for something that may fail."""


def failure_is_expected(node: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether a statement is there to fail: in `pytest.raises`, or in a test's `try`.

    Or in a function that is called only there.
    """
    if is_asserted_to_fail(node, ctx):
        return True
    if is_in_test(node, ctx) and any(True for _ in enclosing_tries(node, ctx)):
        return True
    return is_so_at_calls(node, ctx, "expected", lambda call: failure_is_expected(call, ctx))


def is_in_test(node: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether a node belongs to a test: by the file, or by a function around it."""
    return ctx.module.is_test or any(
        isinstance(ancestor, cst.FunctionDef) and ancestor.name.value.startswith("test")
        for ancestor in ctx.ancestors(node)
    )


def is_asserted_to_fail(node: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether a node is in `with pytest.raises(…)` or `with self.assertRaises(…)`, or in a
    test that is marked to fail; by way of helpers of the program as well.

    Also in a function that is defined there: it is there to be called; and in one that is called
    there and nowhere else.
    """
    helpers = Helpers(ctx, "", is_asserted_to_fail, swallowing=False)
    around: cst.CSTNode | None = node
    while around is not None:
        if any(expects_failure(item.item, ctx.names) for item in ctx.with_items(around)):
            return True
        if helpers.are_around(around):
            return True
        around = ctx.function(around)
    return any(
        isinstance(ancestor, cst.FunctionDef | cst.ClassDef | cst.Module)
        and is_marked_to_fail(ancestor, ctx.names)
        for ancestor in ctx.ancestors(node)
    ) or is_so_at_calls(node, ctx, "asserted", lambda call: is_asserted_to_fail(call, ctx))


def may_be_bound(name: cst.Name, at: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether a variable of the scope of a node may get another value there.

    One of a marimo notebook is bound by one of its cells alone: it runs none where two do that.
    """
    if not ctx.names.cells:
        return True
    own = _cell_around(at, ctx)
    return all(_cell_around(each.node, ctx) is own for each in ctx.names.bindings(name))


def _cell_around(node: cst.CSTNode, ctx: FileView) -> cst.CSTNode | None:
    return next((each for each in ctx.ancestors(node) if id(each) in ctx.names.cells), None)


def enclosing_tries(node: cst.CSTNode, ctx: FileView) -> Iterator[cst.Try | cst.TryStar]:
    """Yield every `try` whose body a node is in, innermost first, up to its function."""
    for child, ancestor in ancestors_in_function(node, ctx):
        if isinstance(ancestor, cst.Try | cst.TryStar) and child is ancestor.body:
            yield ancestor


def is_tried(node: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether a node is in the body of a `try`: perhaps only to see whether it fails.

    Or in a function of a few statements that is called only there.
    """
    if any(True for _ in enclosing_tries(node, ctx)):
        return True
    return _is_in_few(node, ctx) and is_so_at_calls(
        node, ctx, "tried", lambda call: _is_tried_alone(call, ctx)
    )


def _is_tried_alone(call: cst.Call, ctx: FileView) -> bool:
    """Return whether a call is in a `try` with little else."""
    tries = [*enclosing_tries(call, ctx)]
    return bool(tries) and all(_has_few(each.body, ctx) for each in tries)


def ancestors_in_function(
    node: cst.CSTNode, ctx: FileView
) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """Yield each ancestor with its child on the way, up to the function whose body holds the node.

    Decorators and default values belong to what is around the function.
    """
    child = node
    for ancestor in ctx.ancestors(node):
        if isinstance(ancestor, cst.FunctionDef | cst.Lambda) and child is ancestor.body:
            return
        yield child, ancestor
        child = ancestor


def catches(
    handler: cst.ExceptHandler | cst.ExceptStarHandler, ctx: FileView, exceptions: frozenset[str]
) -> bool:
    """Return whether an `except` may catch one of these exceptions; a bare one catches them all."""
    return handler.type is None or _may_be_one_of(handler.type, ctx, exceptions)


def _may_be_one_of(
    kind: cst.BaseExpression, ctx: FileView, exceptions: frozenset[str], names: int = _MOST_NAMES
) -> bool:
    """Return whether what says which exceptions are caught may mean one of some.

    A name counts for what it is bound to; of which nothing is known, as of parameters, it may.
    """
    if isinstance(kind, cst.Tuple | cst.List):
        return any(_may_be_one_of(each.value, ctx, exceptions, names) for each in kind.elements)
    if isinstance(kind, cst.BinaryOperation | cst.BooleanOperation):
        sides = (kind.left, kind.right)
        return any(_may_be_one_of(each, ctx, exceptions, names) for each in sides)
    if not isinstance(kind, cst.Name | cst.Attribute):
        return True
    if ctx.name(kind) in exceptions:
        return True
    if not isinstance(kind, cst.Name):
        return said(kind).isupper()
    bindings = ctx.names.bindings(kind)
    if not bindings:
        return ctx.name(kind) is None
    if any(each.target is not None for each in bindings):
        # What is in another file is not asked for: constants are written in capitals.
        return kind.value.isupper()
    values = [each.value for each in bindings if each.value is not None]
    if any(isinstance(each.node, cst.Param) for each in bindings):
        return True
    return bool(names) and any(_may_be_one_of(each, ctx, exceptions, names - 1) for each in values)


def _caught(handler: cst.ExceptHandler | cst.ExceptStarHandler) -> list[cst.BaseExpression]:
    """Return the kinds of exceptions that an `except` names."""
    if handler.type is None:
        return []
    if isinstance(handler.type, cst.Tuple):
        return [element.value for element in handler.type.elements]
    return [handler.type]


def passed_exits(node: cst.CSTNode, ctx: FileView) -> Iterator[cst.If]:
    """Yield every `if` above a node, in a block around it, whose body leaves that block.

    What the node does is done only where their conditions are false.
    """
    yield from _before(node, ctx.module.fact(_exits), ctx)


def passed_asserts(node: cst.CSTNode, ctx: FileView) -> Iterator[cst.Assert]:
    """Yield every `assert` above a node, in a block around it: what it tests is true there."""
    yield from _before(node, ctx.module.fact(_asserts), ctx)


def passed_checks(node: cst.CSTNode, ctx: FileView) -> Iterator[cst.Call]:
    """Yield the calls above a node, in a block around it in its function, each a statement of its
    own, of functions of the program that may raise: see `leaving.is_check`.
    """
    for child, around in ancestors_in_function(node, ctx):
        for statement in around.body if isinstance(around, cst.IndentedBlock) else ():
            if statement is child:
                break
            small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
            call = small.value if isinstance(small, cst.Expr) else None
            if isinstance(call, cst.Call) and is_check(call, ctx):
                yield call


def _before(
    node: cst.CSTNode, by_block: dict[int, list[_Statement]], ctx: FileView
) -> Iterator[_Statement]:
    """Yield those of the statements that are above a node, in a block around it."""
    child = node
    for ancestor in ctx.ancestors(node):
        for statement in by_block.get(id(ancestor), ()):
            if ctx.tree.index(statement) >= ctx.tree.index(child):
                break
            yield statement
        child = ancestor


def mentions_word(test: cst.CSTNode, words: Collection[str], ctx: FileView) -> bool:
    """Return whether a name or an attribute in a condition has one of these words in it."""
    return any(word in said(node).lower() for node in ctx.tree.names_in(test) for word in words)


def runs_only_while_traced(node: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether code of a function runs only where JAX traces the function.

    In the handler of what asking a tracer for its value raises, or behind a test whether something
    is a tracer.
    """

    def is_tracer(test: cst.BaseExpression, wanted: bool) -> bool:
        return wanted and asks_for_tracer(test, ctx)

    return any(
        isinstance(ancestor, cst.ExceptHandler | cst.ExceptStarHandler)
        and child is ancestor.body
        and _is_of_tracers(ancestor, ctx)
        for child, ancestor in ancestors_in_function(node, ctx)
    ) or conditions_say(node, ctx, is_tracer)


def asks_for_tracer(test: cst.BaseExpression, ctx: FileView) -> bool:
    """Return whether a test is `isinstance(x, jax.core.Tracer)`."""
    if ctx.called(test) != "builtins.isinstance" or not isinstance(test, cst.Call):
        return False
    return len(test.args) == 2 and ctx.name(test.args[1].value) in _TRACERS


def conditions(node: cst.CSTNode, ctx: FileView) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """Yield what is tested before a function gets to a node, and how each of them came out."""
    for child, ancestor in ancestors_in_function(node, ctx):
        if isinstance(ancestor, cst.If | cst.IfExp) and child is not ancestor.test:
            yield ancestor.test, child is ancestor.body
    function = ctx.function(node)
    for each in passed_exits(node, ctx):
        if ctx.function(each) is function:
            yield each.test, False


def conditions_say(
    node: cst.CSTNode, ctx: FileView, asks: Callable[[cst.BaseExpression, bool], bool]
) -> bool:
    """Return whether a condition before a node says something by the way it came out.

    `asks`: whether a test does that is true, or is false.
    """
    return any(_decide(test, asks, wanted=wanted) for test, wanted in conditions(node, ctx))


def is_conditional(node: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether a condition in a function may choose for what a node runs."""
    around = (each for _, each in ancestors_in_function(node, ctx))
    choosing = (cst.Assert, cst.If, cst.IfExp, cst.MatchCase, cst.ExceptHandler)
    before = (*passed_exits(node, ctx), *passed_asserts(node, ctx), *around)
    return any(isinstance(each, choosing) for each in before)


def _is_of_tracers(handler: cst.ExceptHandler | cst.ExceptStarHandler, ctx: FileView) -> bool:
    kinds = _caught(handler)
    return bool(kinds) and all(ctx.name(kind) in _TRACER_ERRORS for kind in kinds)


def _decide(
    test: cst.BaseExpression, asks: Callable[[cst.BaseExpression, bool], bool], *, wanted: bool
) -> bool:
    """Return whether a condition that is true (or, if not wanted, false) says something."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return _decide(test.expression, asks, wanted=not wanted)
    if isinstance(test, cst.BooleanOperation):
        decides = isinstance(test.operator, cst.And) is wanted
        return decides and any(
            _decide(side, asks, wanted=wanted) for side in (test.left, test.right)
        )
    return asks(test, wanted)


def _exits(facts: ModuleFacts) -> dict[int, list[cst.If]]:
    """Return the `if` statements whose body leaves, by the block that they are in."""
    found: dict[int, list[cst.If]] = {}
    view = view_of(facts)
    for statement in facts.tree.every(cst.If):
        if leaves(statement.body, view):
            found.setdefault(id(facts.tree.parent(statement)), []).append(statement)
    return found


def _asserts(facts: ModuleFacts) -> dict[int, list[cst.Assert]]:
    """Return the `assert` statements, by the block that they are in."""
    found: dict[int, list[cst.Assert]] = {}
    for statement in facts.tree.every(cst.Assert):
        line = facts.tree.parent(statement)
        block = None if line is None else facts.tree.parent(line)
        found.setdefault(id(block), []).append(statement)
    return found


def is_caught(node: cst.CSTNode, ctx: FileView, exceptions: frozenset[str]) -> bool:
    """Return whether one of these exceptions, raised by a node, is caught around it.

    The names are qualified (`builtins.RuntimeError`); a bare `except` catches them all. Helpers of
    the program count as well: see `tolerated`. So does what is around all calls of a function of a
    few statements, and little else: of more, the handler need not be meant for this.
    """
    if _is_handled(node, ctx, exceptions, may_raise_again=True):
        return True
    return _is_in_few(node, ctx) and _is_probed(node, ctx, exceptions)


def _is_probed(node: cst.CSTNode, ctx: FileView, exceptions: frozenset[str]) -> bool:
    """Return whether all calls of the function that a node is in are there to see whether it
    raises.
    """

    def is_so(call: cst.Call) -> bool:
        return _is_probe(call, ctx, exceptions)

    return is_so_at_calls(node, ctx, exceptions, is_so) or _is_caught_elsewhere(
        node, ctx, exceptions
    )


def _is_probe(call: cst.Call, ctx: FileView, exceptions: frozenset[str]) -> bool:
    """Return whether a call is there to see whether it raises one of these exceptions."""
    if _is_handled(call, ctx, exceptions, may_raise_again=True):
        return all(_has_few(each.body, ctx) for each in enclosing_tries(call, ctx))
    return _is_in_few(call, ctx) and _is_probed(call, ctx, exceptions)


def _is_caught_elsewhere(node: cst.CSTNode, ctx: FileView, exceptions: frozenset[str]) -> bool:
    """Return whether only other files call the function that a node is in, all where it is caught.

    Tests aside.
    """
    function = ctx.function(node)
    if not isinstance(function, cst.FunctionDef) or not is_unused_here(function, ctx):
        return False
    name = name_for_others(function, ctx)
    if name is None:
        return False
    elsewhere = ctx.module.run.calls_from_elsewhere(ctx.module.path, name, CallsAsked.CATCHES)
    return not elsewhere.caught.isdisjoint(exceptions)


def caught_around(call: cst.Call, ctx: FileView) -> frozenset[str]:
    """Return those of `RAISED` that are caught around a call."""
    every = (frozenset({name, "builtins.Exception", "builtins.BaseException"}) for name in RAISED)
    caught = (_is_probe(call, ctx, names) for names in every)
    return frozenset(itertools.compress(RAISED, caught))


def _is_in_few(node: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether a node is in a function of a few statements."""
    function = ctx.function(node)
    return isinstance(function, cst.FunctionDef) and _has_few(function.body, ctx)


def _has_few(body: cst.BaseSuite, ctx: FileView) -> bool:
    lines = ctx.tree.every(cst.SimpleStatementLine, below=body)
    return len(list(itertools.islice(lines, _FEW + 1))) <= _FEW


def _is_handled(
    node: cst.CSTNode, ctx: FileView, exceptions: frozenset[str], *, may_raise_again: bool
) -> bool:
    """Return whether an `except`, a context manager or a helper gets one of these exceptions.

    `may_raise_again`: also an `except` that ends by raising.
    """
    if any(
        catches(handler, ctx, exceptions) and (may_raise_again or not _raises(handler))
        for statement in enclosing_tries(node, ctx)
        for handler in statement.handlers
    ):
        return True
    if any(_suppresses(item.item, ctx, exceptions) for item in ctx.with_items(node)):
        return True

    def is_swallowed(inner: cst.CSTNode, there: FileView) -> bool:
        # A helper that logs an exception and raises it again tolerates nothing.
        return _is_handled(inner, there, exceptions, may_raise_again=False)

    return Helpers(ctx, exceptions, is_swallowed, swallowing=True).are_around(node)


def _raises(handler: cst.ExceptHandler | cst.ExceptStarHandler) -> bool:
    last = handler.body.body[-1]
    if isinstance(last, cst.SimpleStatementLine):
        return isinstance(last.body[-1], cst.Raise)
    return isinstance(last, cst.Raise)


def _suppresses(context: cst.BaseExpression, ctx: FileView, exceptions: frozenset[str]) -> bool:
    return (
        isinstance(context, cst.Call)
        and ctx.called(context) == "contextlib.suppress"
        and any(_may_be_one_of(each.value, ctx, exceptions) for each in context.args)
    )
