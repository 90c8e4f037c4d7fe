"""JDP103."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Edit, Severity
from placement_lint.jaxmodel.config_states import CONFIG_CONTEXTS
from placement_lint.prefilter.conditions import AllOf, AnyOf, Jax, Uses
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.semantic.config_contexts import entered_by, given_context
from placement_lint.semantic.enclosing import ancestors_in_function, is_asserted_to_fail
from placement_lint.semantic.followed import followed
from placement_lint.semantic.generators import suspensions
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import is_generator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context
    from placement_lint.semantic.config_contexts import EnteredContext
    from placement_lint.syntax.edits import Editor

# Decorators of generators that are there to hold a context over a `yield`.
_HOLDING = frozenset({
    "contextlib.asynccontextmanager", "contextlib.contextmanager", "pytest.fixture",
    "pytest_asyncio.fixture",
})  # fmt: skip
_EXHAUSTING = frozenset(
    f"builtins.{name}"
    for name in "all any dict frozenset list max min set sorted sum tuple".split()
)
_STACKS = ("contextlib.AsyncExitStack", "contextlib.ExitStack")
_HOLDING_WORDS = ("contextmanager", "fixture", "hookwrapper", "hookimpl")


class ConfigContextSuspended(Rule):
    """A `yield` or an `await` inside `with jax.default_device(…)`.

    ## What it does
    Finds `yield`, `await`, `async for` and `async with` in the body of a `with
    jax.default_device(device):`, and of every other configuration context of JAX. There is one
    finding for each block, at the first of them. The block may be entered by a context manager of
    the program that always enters such a context: a function or an object of a class, in any file
    of the program.

    ## Why is this bad?
    The context belongs to the thread, not to the generator or the task. While a generator is
    suspended at a `yield`, the code that consumes it also runs under the generator's device, so its
    arrays are made there. While a task waits, all other tasks run under the device too. Overlapping
    blocks exit in the wrong order: after `zip(batches(), batches())`, or after two such tasks, the
    device stays in effect for the thread permanently.

    ## Example
    ```python
    import jax

    def batches(path):
        for part in read(path):
            with jax.default_device(jax.devices("cpu")[0]):
                yield parse(part)
    ```

    ## Use instead
    ```python
    import jax

    def batches(path):
        for part in read(path):
            with jax.default_device(jax.devices("cpu")[0]):
                value = parse(part)
            yield value
    ```

    ## Fix safety
    Unsafe: if the block ends with `yield expression`, the value is computed inside the block and
    yielded after it. The consumer then runs on its own device, although it may rely on the other
    one. No fix for any other shape, if the `with` also enters something but a file, or for a value
    that is computed later (a generator).

    ## What it does not flag
    A context that is held by an `ExitStack`, unless the stack is a `with` of the same function.
    Functions decorated with `contextlib.contextmanager`, `asynccontextmanager` or a pytest fixture,
    whose purpose is to hold the context while other code runs. A `yield` in a function defined
    inside the block. `jax.default_device(None)`, which selects the system's default. A private
    generator that is always consumed at once, as in `list(_rows())`.

    ## Verified by
    The proof makes an array between two items of such a generator and finds it on the generator's
    device. After the fix it is on the consumer's device.

    ## References
    - [PEP 568](https://peps.python.org/pep-0568/), on what a `with` around `yield` does to its
      consumer
    - [rerun-io/rerun#6238](https://github.com/rerun-io/rerun/issues/6238): the same with another
      library's thread-local context
    - Measured on JAX 0.4.30 to 0.12.0.1: after `list(zip(g(), g()))` the thread is stuck
    """

    code, name = "JDP103", "config-context-suspended"
    advice = (
        "Leave the block before the `yield` or `await`: bind the value inside, and hand it on "
        "outside"
    )
    severity, fix = Severity.WARNING, Applicability.UNSAFE
    needs = AllOf(Jax(), Uses(*CONFIG_CONTEXTS), AnyOf(b"yield", b"async"))

    def visit_With(self, node: cst.With, ctx: Context) -> None:
        first = next(suspensions(node.body), None)
        found = None if first is None else entered_by(node, ctx)
        if first is None or found is None or is_asserted_to_fail(first, ctx):
            return
        item, entered = found
        function = ctx.function(node)
        if not isinstance(function, cst.FunctionDef) or _holds(function, ctx):
            return
        _report(first, item.item, entered, _plan(node, ctx), ctx)

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        """Check what is entered for the rest of the block of an `ExitStack`."""
        method = node.func
        if not isinstance(method, cst.Attribute) or method.attr.value != "enter_context":
            return
        given = Arguments(node).get(0, "cm")
        block = None if given is None else _block_of_stack(method.value, node, ctx)
        if given is None or block is None:
            return
        later = (
            each
            for each in suspensions(block.body)
            if ctx.tree.index(each) > ctx.tree.index(node) and not ctx.tree.is_inside(node, each)
        )
        first = next(later, None)
        function = ctx.function(node)
        if first is None or not isinstance(function, cst.FunctionDef) or _holds(function, ctx):
            return
        entered = given_context(given, ctx)
        if entered is not None and not is_asserted_to_fail(first, ctx):
            _report(first, given, entered, None, ctx)


def _report(
    first: cst.CSTNode,
    given: cst.BaseExpression,
    entered: EnteredContext,
    plan: FixPlan | None,
    ctx: Context,
) -> None:
    awaits = not isinstance(first, cst.Yield)
    who = "every other task runs" if awaits else "the consumer runs"
    what = "await" if awaits else "yield"
    there = entered.view.module.path
    made = ((entered.call, there, f"{entered.name} is called here"),) if entered.through else ()
    ctx.report(
        first,
        f"{entered.spelled} stays in effect during this {what}: {who} under it",
        related=((given, ctx.module.path, "entered here"), *made),
        fix=plan,
    )


def _block_of_stack(stack: cst.BaseExpression, call: cst.Call, ctx: Context) -> cst.With | None:
    """Return the block of a stack of which a call is a method: `with ExitStack() as stack`.

    Or `with stack:`, around the call or below it in its block, of a stack that was made before.
    """
    if not isinstance(stack, cst.Name):
        return None
    is_made = ctx.called(followed(stack, ctx)) in _STACKS
    for child, ancestor in ancestors_in_function(call, ctx):
        blocks: list[cst.CSTNode] = [ancestor]
        if is_made and isinstance(ancestor, cst.BaseSuite):
            statements: list[cst.CSTNode] = [*ancestor.body]
            blocks = statements[statements.index(child) :] if child in statements else []
        for block in blocks:
            if not isinstance(block, cst.With):
                continue
            for item in block.items:
                bound = None if item.asname is None else item.asname.name
                if isinstance(bound, cst.Name) and bound.value == stack.value:
                    return block if ctx.is_call(item.item, *_STACKS) else None
                if is_made and isinstance(item.item, cst.Name) and item.item.value == stack.value:
                    return block
    return None


def _holds(function: cst.FunctionDef, ctx: Context) -> bool:
    """Return whether a generator function is there to hold a context while others run."""
    for decorator in function.decorators:
        node = decorator.decorator
        made = node.func if isinstance(node, cst.Call) else node
        if ctx.name(made) in _HOLDING:
            return True
        last = made.attr.value if isinstance(made, cst.Attribute) else ""
        last = made.value if isinstance(made, cst.Name) else last
        if any(word in last for word in _HOLDING_WORDS):
            return True
    return is_generator(function, ctx.names) and _runs_without_pause(function, ctx)


def _runs_without_pause(function: cst.FunctionDef, ctx: Context) -> bool:
    """Return whether a generator is given to `contextmanager(…)`, or always run to its end at once.

    The second only where all of its uses are in sight: it is private, or in another function.
    """
    is_local = ctx.function(function) is not None or function.name.value.startswith("_")
    uses = list(_calls_around(function, ctx))
    if any(name in _HOLDING for name, _ in uses):
        return True
    return (
        is_local and bool(uses) and all(is_made and name in _EXHAUSTING for name, is_made in uses)
    )


def _calls_around(function: cst.FunctionDef, ctx: Context) -> Iterator[tuple[str | None, bool]]:
    """Yield, for each use of a function, what it is given to, and whether it is called before."""
    for node in ctx.names.uses(function.name.value, ctx.names.scope(function)):
        used: cst.CSTNode = node
        parent = ctx.parent(used)
        is_made = isinstance(parent, cst.Call) and parent.func is used
        if is_made and parent is not None:
            used, parent = parent, ctx.parent(parent)
        call = ctx.parent(parent) if isinstance(parent, cst.Arg) else None
        yield ctx.called(call), is_made


# -- the fix ----------------------------------------------------------------------------------

_NAMES = ("value", "item", "result")
"""What is yielded is bound to the first that the function has no other use for."""


def _is_said(name: str, statement: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a function has a variable of that name, or reads one from outside."""
    scope = ctx.names.scope(statement)
    return name in scope.bindings or any(
        ctx.tree.is_inside(use, scope.node) for use in ctx.names.uses(name, scope)
    )


def _may_be_left(entered: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a block of a context may end before a value is yielded: a lock is to be held
    until then, and behind what passes over exceptions there may be no value.
    """
    return ctx.is_call(entered, "builtins.open") or given_context(entered, ctx) is not None


def _plan(block: cst.With, ctx: Context) -> FixPlan | None:
    """Bind what is yielded, and yield it behind the block."""
    if block.asynchronous is not None or not isinstance(block.body, cst.IndentedBlock):
        return None
    if len(block.items) > 1 and not all(_may_be_left(each.item, ctx) for each in block.items):
        return None
    last = block.body.body[-1]
    statement = last.body[0] if isinstance(last, cst.SimpleStatementLine) else None
    if (
        not isinstance(last, cst.SimpleStatementLine)
        or len(last.body) != 1
        or not isinstance(statement, cst.Expr)
        or not isinstance(statement.value, cst.Yield)
        or len(list(suspensions(block.body))) != 1
    ):
        return None
    yielded = statement.value.value
    if yielded is None or isinstance(yielded, cst.From | cst.GeneratorExp | cst.Lambda):
        # What is computed later is computed behind the block then.
        return None
    ctx.module.add_punctuation()
    if statement.value.lpar:
        return None
    name = next((each for each in _NAMES if not _is_said(each, statement, ctx)), None)
    is_name = isinstance(yielded, cst.Name)
    if name is None and not is_name:
        return None

    def build(editor: Editor) -> list[Edit] | None:
        span = editor.span(statement)
        margin = editor.indentation(editor.line_of(block))
        start, _ = editor.spans.outer(yielded)
        statement_start, end = editor.spans.inner(statement)
        newline = editor.source.newline
        if is_name:
            if len(block.body.body) == 1 or editor.has_comment((statement_start, end)):
                return None
            line_start = editor.source.line_starts[span.line - 1]
            return [editor.replace_offsets(line_start, statement_start, margin)]
        comment = editor.next_comment(end)
        if comment is not None and editor.source.position(comment)[0] == span.end_line:
            text = editor.source.line_text(span.end_line)
            end = editor.source.line_starts[span.end_line - 1] + len(text)
        return [
            editor.replace_offsets(statement_start, start, f"{name} = "),
            editor.insert(end, f"{newline}{margin}yield {name}"),
        ]

    return FixPlan(Applicability.UNSAFE, "Move the yield out of the block", build)
