"""JDP204."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Edit, Severity
from placement_lint.placement.domain.consequences import Destination
from placement_lint.placement.domain.values import TheDevice
from placement_lint.prefilter.conditions import AllOf, AnyOf, Begins, Pattern, Says, Uses
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.commitment.putting import PUTTING_WORDS, TREE_MAPS
from placement_lint.rules.commitment.writing import (
    effects,
    imports_of,
    level_of_binding,
    put_back,
    written,
)
from placement_lint.rules.notebooks import is_shown_or_measured
from placement_lint.semantic.called_from import is_so_at_calls
from placement_lint.semantic.enclosing import failure_is_expected, is_caught, is_tried
from placement_lint.syntax.calls import Arguments, string_value
from placement_lint.syntax.definitions import (
    PARTIAL,
    class_of_receiver,
    handed_back,
    named_function,
)
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.base import LaterPlan
    from placement_lint.rules.commitment.writing import Around
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor

_PUTTING_NAME = re.compile(rf"(?:^|_)(?:{PUTTING_WORDS})(?:_|$)")
"""The name of a function that may put what it is given."""
_CALL_AS_STATEMENT = (
    rb"(?m)^[ \t]{0,60}(?:[a-z]\w{0,40}\.){0,3}"
    rb"_?(?:[a-z]{1,12}_)?(?:%s)(?:_[a-z_]{0,40})?\(" % PUTTING_WORDS.encode()
)
"""A statement that calls it, of something with a plain name."""
_FAILURES = frozenset(
    f"builtins.{name}"
    for name in ("BaseException", "Exception", "RuntimeError", "TypeError", "ValueError")
)
"""What a put raises where there is no such device, and what is above it."""


class DevicePutDiscarded(Rule):
    """A `jax.device_put` whose result is discarded.

    ## What it does
    Finds `jax.device_put(x, device)`, and `x.to_device(device)` of a JAX array, as a statement of
    its own; `jax.tree.map` of a function that only puts its argument on a device; and the call of
    a function that only returns what one of these gives: one of the file, or a method or a
    function of another file whose name says that it moves something, such as `self.put(x)` and
    `utils.to_host(x)`. A statement may do so in a comprehension, `[jax.device_put(x, device) for x
    in arrays]`, or under a condition.

    ## Why is this bad?
    JAX arrays are immutable: `device_put` returns a *new* array on the device and leaves its
    operand where it was. If the result is not assigned, the copy is discarded, and the next line
    still uses the old array in the old place.

    ## Example
    ```python
    import jax

    def to_accelerator(item, device):
        jax.device_put(item, device)
        return item
    ```

    ## Use instead
    ```python
    import jax

    def to_accelerator(item, device):
        item = jax.device_put(item, device)
        return item
    ```

    ## Fix safety
    Safe if the operand is a plain name and the device is not known: the result is assigned to the
    name, as the author intended. Unsafe if computations with it are then known to run on another
    device, and for an attribute or an item, since assigning to it may run code or raise. No fix if
    arrays on another device would be copied for such a computation, or if JAX would raise because
    another operand is committed elsewhere.

    ## What it does not flag
    A call that is expected to fail (`with pytest.raises(…)`, `assertRaises`, `try` in a test), or
    of what a test has replaced (`mock.patch`). A new array that is put in a `try`, to see whether
    that fails. A warm-up that is waited for, as in
    `jax.device_put(x, d).block_until_ready()`. Literal numbers, as in `jax.device_put(0)`, which
    test whether a device is available. The last expression of a cell of a notebook, Jupyter's or
    marimo's, which is displayed, unless a semicolon follows it; and statements under `%timeit`.

    ## Verified by
    The proof puts an array on another device in a statement of its own, and then finds the name's
    array still on the first device. After the fix it is on the second, committed.

    ## References
    - [jax.device_put](https://docs.jax.dev/en/latest/_autosummary/jax.device_put.html): "returns a
      copy"
    - google-deepmind/acme, `acme/jax/utils.py`: a prefetching thread that puts each item on the
      device and then queues the item that it had
    """

    code, name = "JDP204", "device-put-discarded"
    advice = "Bind the result, `x = jax.device_put(x, device)`, or remove the call"
    severity, fix = Severity.ERROR, Applicability.SAFE
    follows_callers = True
    needs = AnyOf(
        Begins("jax.device_put"),
        Says("to_device"),
        # What a function of another file puts is found where the files are one program.
        AllOf(
            Uses("jax.device_put"),
            AnyOf(Uses(*TREE_MAPS), b"return", Pattern(_CALL_AS_STATEMENT)),
        ),
    )

    def visit_Expr(self, node: cst.Expr, ctx: Context) -> None:
        for value in _discarded(node.value):
            _check(value, node, ctx)


def _discarded(value: cst.BaseExpression) -> Iterator[cst.Call]:
    """Yield the calls of which a statement discards the results: of a comprehension, that of each.

    And those of a tuple or a list, of a condition, and after `and` and `or`.
    """
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, cst.Call):
            yield each
        elif isinstance(each, cst.ListComp | cst.SetComp):
            pending.append(each.elt)
        elif isinstance(each, cst.DictComp):
            pending.append(each.value)
        elif isinstance(each, cst.List | cst.Set | cst.Tuple):
            pending += [item.value for item in reversed(each.elements)]
        elif isinstance(each, cst.IfExp):
            pending += [each.orelse, each.body]
        elif isinstance(each, cst.BooleanOperation):
            pending.append(each.right)


def _check(call: cst.Call, node: cst.Expr, ctx: Context) -> None:
    if ctx.is_call(call, "jax.device_put"):
        operand, what = Arguments(call).get(0, "x"), "jax.device_put"
    elif (
        isinstance(call.func, cst.Attribute)
        and call.func.attr.value == "to_device"
        and ctx.flow.is_array(call.func.value)
    ):
        operand, what = call.func.value, "to_device"
    elif _maps_puts(call, ctx):
        operand, what = Arguments(call).get(1, "tree"), "putting each leaf"
    elif not is_tried(node, ctx) and (position := _put_by_function(call, ctx)) is not None:
        operand, what = (
            Arguments(call).get(position),
            f"jax.device_put in `{dotted(call.func)}`",
        )
    else:
        return
    # A new array has no name that another line could go on with: someone tries what a put does.
    if call is not node.value and not isinstance(operand, cst.Name | cst.Attribute | cst.Subscript):
        return
    if (
        failure_is_expected(node, ctx)
        or _is_literal(operand)
        or _is_warm_up(node, operand, ctx)
        or _is_probe(node, call, operand, ctx)
        or is_shown_or_measured(node, ctx)
    ):
        return
    is_bindable = call is node.value and what in {"jax.device_put", "to_device"}
    ctx.report(
        call,
        f"the result of {what} is discarded: nothing moves",
        fix=_assign(call, operand, ctx) if is_bindable else None,
    )


def _is_probe(
    node: cst.Expr, call: cst.Call, operand: cst.BaseExpression | None, ctx: Context
) -> bool:
    """Return whether a new array is put only to see whether that fails, or something to a name of a
    platform, which does.
    """
    has_name = isinstance(operand, cst.Name | cst.Attribute | cst.Subscript)
    fails = string_value(Arguments(call).get(1, "device")) is not None
    return (fails or not has_name) and is_caught(node, ctx, _FAILURES)


def _put_by_function(call: cst.Call, ctx: Context) -> int | None:
    """Return which argument a function or a method of the program only puts, and hands that back.

    That of `put(x)`, `utils.put(x)`, `self.put(x)` and `self(x)`; None where a call does something
    else.
    """
    own = named_function(call.func, ctx.names)
    if isinstance(own, cst.FunctionDef):
        return _parameter_put(own, ctx)
    is_named = _PUTTING_NAME.search(dotted(call.func).rpartition(".")[2]) is not None
    if not is_named and class_of_receiver(call.func, ctx.names) is None:
        return None
    # A commit hook waits for the import of each module.
    from placement_lint.rules.transfers.putting_functions import function_called, is_method_call

    found = function_called(call, ctx)
    position = None if found is None else _parameter_put(*found)
    return None if position is None else position - is_method_call(call, ctx)


def _parameter_put(function: cst.FunctionDef, there: Context) -> int | None:
    """Return which parameter a function only puts, or each leaf of it, and hands that back."""
    inner = handed_back(function)
    if inner is not None and there.is_call(inner[0], "jax.device_put"):
        return inner[1]
    inner = handed_back(function, 1, "tree")
    return inner[1] if inner is not None and _maps_puts(inner[0], there) else None


def _maps_puts(call: cst.Call, ctx: Context) -> bool:
    """Return whether a call is `jax.tree.map(lambda x: jax.device_put(x, device), tree)`."""
    if ctx.called(call) not in TREE_MAPS:
        return False
    function = Arguments(call).get(0, "f")
    if isinstance(function, cst.Call) and ctx.called(function) == PARTIAL:
        mapped = Arguments(function).get(0, "func")
        return mapped is not None and ctx.name(mapped) == "jax.device_put"
    if not isinstance(function, cst.Lambda):
        return False
    # For some leaves only: `x if x is None else jax.device_put(x, device)`.
    body = function.body
    parts = [body.body, body.orelse] if isinstance(body, cst.IfExp) else [body]
    puts = [each for each in parts if ctx.is_call(each, "jax.device_put")]
    return bool(puts) and not any(isinstance(each, cst.Call) for each in parts if each not in puts)


def _assign(
    call: cst.Call, operand: cst.BaseExpression | None, ctx: Context
) -> FixPlan | LaterPlan | None:
    level = level_of_binding(operand, call, ctx)
    if operand is None or level is None:
        return None
    what = "Bind the result to the operand's name"
    is_method = isinstance(call.func, cst.Attribute) and call.func.value is operand
    target = Arguments(call).get(0 if is_method else 1, "device")
    held = frozenset() if target is None else ctx.flow.value(target)
    only = next(iter(held)) if len(held) == 1 else None

    def build(returned: list[Around], editor: Editor) -> list[Edit] | None:
        name = editor.text_alone(operand)
        around = written(returned, editor)
        start, _ = editor.spans.outer(call)
        if name is None or around is None:
            return None
        return [editor.insert(start, f"{name} = "), *around]

    if not isinstance(only, TheDevice) or only.device is None:
        # Nothing is known of the device but what the line asks for.
        return FixPlan(level, what, partial(build, []))
    committed = ctx.flow.committed_by(call, Destination(only.device), rebinds=True)

    def plan() -> FixPlan | None:
        commitment = committed()
        returned = None if commitment is None else put_back(commitment, ctx)
        if commitment is None or returned is None:
            return None
        return FixPlan(
            Applicability.UNSAFE if commitment.consequences else level,
            what + effects(commitment),
            partial(build, returned),
            imports=imports_of(returned),
        )

    return plan


def _is_literal(node: cst.CSTNode | None) -> bool:
    """Whether an operand is written out: nobody needs it on a device, but for a smoke test."""
    if isinstance(node, cst.UnaryOperation):
        return _is_literal(node.expression)
    if isinstance(node, cst.BinaryOperation):
        return _is_literal(node.left) and _is_literal(node.right)
    if isinstance(node, cst.Name):
        return node.value in {"True", "False", "None"}
    return isinstance(node, cst.BaseNumber)


def _is_warm_up(node: cst.Expr, operand: cst.BaseExpression | None, ctx: Context) -> bool:
    """Return whether a value without a name is put there and waited for in the next statement.

    That may be the one behind the call of a function that ends with this.
    """
    if isinstance(operand, cst.Name | cst.Attribute):
        return False
    return _is_waited_for(node, ctx)


def _is_waited_for(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether the statement behind that of a node waits for a computation."""
    line = ctx.statement_line(node)
    if line is None:
        return False
    suite = ctx.parent(line)
    statements = suite.body if isinstance(suite, cst.IndentedBlock | cst.Module) else ()
    following = statements[list(statements).index(line) + 1 :][:1]
    function = ctx.function(node)
    if not following and function is not None and suite is function.body:
        return is_so_at_calls(node, ctx, "waited for", lambda call: _is_waited_for(call, ctx))
    return any(
        isinstance(part, cst.Attribute) and part.attr.value == "block_until_ready"
        for statement in following
        for part in ctx.tree.descendants(statement)
    )
