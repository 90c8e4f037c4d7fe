"""JDP205."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Confidence, Severity
from placement_lint.jaxmodel import transfer
from placement_lint.jaxmodel.transfer import Effect
from placement_lint.placement.domain import values
from placement_lint.prefilter.conditions import COMMITTED, LISTED_DEVICES, AllOf
from placement_lint.rules.base import Rule
from placement_lint.semantic.enclosing import failure_is_expected, is_caught
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.domain.devices import Device
    from placement_lint.placement.domain.places import (
        Place,
    )
    from placement_lint.placement.domain.record import Mixture
    from placement_lint.placement.facts.module import Module
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

_JNP = """
add append allclose arctan2 array average bernoulli block clip column_stack concatenate convolve
copysign correlate cross digitize divide dot dstack einsum equal float_power floor_divide fmax fmin
fmod gcd greater greater_equal heaviside hstack hypot inner interp intersect1d isclose isin kron lcm
ldexp less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor matmul maximum minimum
mod multiply nextafter not_equal outer polyadd polymul polyval power quantile remainder searchsorted
setdiff1d setxor1d stack subtract take take_along_axis tensordot true_divide union1d vdot vecdot
vstack where linalg.solve
"""
_LAX = """
add atan2 concatenate div dot dot_general dynamic_slice dynamic_update_slice eq gt lt max min mul
pow rem select sub
"""
_RANDOM = "bernoulli categorical choice fold_in permutation uniform"
_COMBINING = frozenset({
    *(f"jax.numpy.{name}" for name in _JNP.split()),
    *(f"jax.lax.{name}" for name in _LAX.split()),
    *(f"jax.random.{name}" for name in _RANDOM.split()),
    "builtins.divmod", "builtins.pow",
})  # fmt: skip
"""Functions that compute with all of their operands. Each was seen to refuse two devices (0.4.30,
0.10.2); `repeat`, `tile`, `split` and `roll` were seen to take theirs."""
_UPDATES = frozenset({"add", "divide", "max", "min", "multiply", "power", "set"})
_EXCEPTIONS = frozenset({"builtins.ValueError", "builtins.Exception", "builtins.BaseException"})


class CommittedDevicesMixed(Rule):
    """An operation on arrays that are committed to different devices.

    ## What it does
    Finds operators, `jnp`, `jax.lax` and `jax.random` functions, `x.at[…].set(…)`, and calls of
    jitted, mapped or differentiated functions, two of whose operands are committed to devices that
    are known and differ; through names, attributes, functions and the files of a run.

    ## Why is this bad?
    A computation runs where its committed operands are, and JAX never moves a committed array by
    itself. With two such places there is none to run at: `ValueError: Received incompatible devices
    for jitted computation`. The usual causes are parameters put on the host beside a batch put on
    the accelerator, and results of a function that was jitted for another backend.

    ## Example
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np

    cpu, gpu = jax.devices("cpu")[0], jax.devices()[0]
    weights = jax.device_put(np.ones((64, 64)), cpu)
    batch = jax.device_put(np.ones((8, 64)), gpu)
    out = jnp.dot(batch, weights)
    ```

    ## Use instead
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np

    cpu, gpu = jax.devices("cpu")[0], jax.devices()[0]
    weights = jax.device_put(np.ones((64, 64)), cpu)
    batch = jax.device_put(np.ones((8, 64)), gpu)
    out = jnp.dot(batch, jax.device_put(weights, gpu))
    ```

    ## Fix safety
    No fix: which of the arrays is in the wrong place, and whether it should be moved here or put
    elsewhere to begin with, only the author knows.

    ## What it does not flag
    Operands of which one is uncommitted, or a NumPy array: those are moved. NumPy functions that
    convert (`np.add(a, b)`). An argument of a jitted function that the result does not surely
    depend on: since JAX 0.4.34 it does not count. What a traced function closes over. Indices in
    brackets: a mask is read on the host. Devices that may be the same one. What is expected to
    fail, or caught, also by every caller of the function that it is in.

    ## Verified by
    The proof puts two arrays on two devices and multiplies them: ValueError. With both on one
    device it returns.

    ## References
    - jax-ml/jax#1914: results of `jit(backend="cpu")` beside arrays of the default device
    - [Frequently asked questions](https://docs.jax.dev/en/latest/faq.html), "Controlling data and
      computation placement on devices"
    """

    code, name = "JDP205", "committed-devices-mixed"
    advice = "Put the operands on one device first, with `jax.device_put(x, device)`"
    severity = Severity.ERROR
    follows_callers = True
    needs = AllOf(COMMITTED, LISTED_DEVICES)

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        for place in sorted(ctx.flow.record.mixtures):
            _check(ctx.flow.record.mixtures[place], ctx)


def _check(mixture: Mixture, ctx: Context) -> None:
    operation = ctx.tree.nodes[mixture.node]
    counting = _counting(operation, ctx)
    devices: dict[Device, cst.CSTNode] = {}
    for operand, device in sorted(mixture.operands, key=str):
        if counting is None or operand in counting:
            devices.setdefault(device, ctx.tree.nodes[operand])
    operands = list(devices.values())
    if (
        len(operands) < 2
        or _may_fail(operation, ctx)
        or _is_excused_by_callers(operation, ctx, set())
        or _may_be_constants(operation, operands, ctx)
        or any(_is_reassigned(operand, ctx) for operand in operands)
    ):
        return
    ctx.report(
        operation,
        _message(devices),
        confidence=Confidence.DEFINITE if mixture.always else Confidence.LIKELY,
    )


def _counting(operation: cst.CSTNode, ctx: Context) -> set[int] | None:
    """Return the operands that surely take part in an operation; None: all that it has."""
    if isinstance(operation, cst.BinaryOperation | cst.AugAssign):
        return None
    if isinstance(operation, cst.Comparison):
        searches = any(isinstance(c.operator, cst.In | cst.NotIn) for c in operation.comparisons)
        return set() if searches else None
    if not isinstance(operation, cst.Call):
        return set()
    if ctx.called(operation) in _COMBINING or _is_method(operation):
        return None
    function = _function(operation.func, ctx)
    return set() if function is None else _arguments_that_count(operation, function, ctx)


def _is_method(call: cst.Call) -> bool:
    """Return whether a call is `x.dot(y)` or `x.at[i].set(y)`: of arrays, as both were operands."""
    function = call.func
    if not isinstance(function, cst.Attribute):
        return False
    updated = function.value
    if isinstance(updated, cst.Subscript) and isinstance(updated.value, cst.Attribute):
        return updated.value.attr.value == "at" and function.attr.value in _UPDATES
    return function.attr.value == "dot"


def _may_fail(operation: cst.CSTNode, ctx: Context) -> bool:
    return failure_is_expected(operation, ctx) or is_caught(operation, ctx, _EXCEPTIONS)


def _is_excused_by_callers(node: cst.CSTNode, ctx: Context, seen: set[int]) -> bool:
    """Return whether a function is called only where its failure is caught, or while it is traced.

    Arrays that a traced function has from outside do not clash: it makes constants of them.
    """
    function = ctx.function(node)
    if not isinstance(function, cst.FunctionDef) or id(function) in seen:
        return False
    seen.add(id(function))
    calls = list(_calls_by_name(function.name.value, ctx))
    return bool(calls) and all(
        there.flow.is_traced(call)
        or _may_fail(call, there)
        or _is_excused_by_callers(call, there, seen)
        for call, there in calls
    )


def _calls_by_name(name: str, ctx: Context) -> Iterator[tuple[cst.Call, Context]]:
    """Yield every call in the program of something with a name, and the file that it is in."""
    for path in ctx.flow.program.modules:
        there = ctx.beside(path)
        if there is not None:
            for node in there.module.fact(_calls_by_last_name).get(name, ()):
                yield node, there


def _calls_by_last_name(facts: ModuleFacts) -> dict[str, list[cst.Call]]:
    """Return the calls of one file by the last part of what they call."""
    found: dict[str, list[cst.Call]] = {}
    for node in facts.tree.every(cst.Call):
        called = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
        if isinstance(called, cst.Name):
            found.setdefault(called.value, []).append(node)
    return found


def _may_be_constants(operation: cst.CSTNode, operands: list[cst.CSTNode], ctx: Context) -> bool:
    """Return whether a function has its operands from outside.

    They do not clash where the function is called by a traced one: it makes constants of them.
    """
    function = ctx.function(operation)
    if not isinstance(function, cst.FunctionDef):
        return False
    inner = ctx.names.scope(function.body)
    return all(
        isinstance(operand, cst.Name)
        and ctx.names.owner(operand.value, ctx.names.scope(operand)) is not inner
        for operand in operands
    )


def _is_reassigned(operand: cst.CSTNode, ctx: Context) -> bool:
    """Return whether an operand is an attribute that is set in several places.

    Users of a class may call the methods that do so in any order.
    """
    seen: set[int] = set()
    while isinstance(operand, cst.Name) and id(operand) not in seen:
        seen.add(id(operand))
        bindings = ctx.names.bindings(operand)
        value = bindings[0].value if len(bindings) == 1 else None
        operand = operand if value is None else value
    if not isinstance(operand, cst.Attribute):
        return False
    return ctx.module.fact(_set_attributes)[operand.attr.value] > 1


def _set_attributes(facts: ModuleFacts) -> Counter[str]:
    return Counter(
        target.attr.value
        for node in facts.tree.every(cst.AssignTarget, cst.AnnAssign, cst.AugAssign)
        if isinstance(target := node.target, cst.Attribute)
    )


def _message(devices: dict[Device, cst.CSTNode]) -> str:
    (first, one), (second, other), *_ = devices.items()
    if one is other or not dotted(one) or not dotted(other):
        return f"operands are committed to {first} and to {second}: ValueError"
    return f"`{dotted(one)}` is committed to {first} and `{dotted(other)}` to {second}: ValueError"


# -- jitted functions: which arguments does the result surely depend on? --------------------------


def _function(called: cst.BaseExpression, ctx: Context) -> Place | None:
    """Return the function that is run by calling what a transformation made of it."""
    held = ctx.flow.value(called)
    if len(held) != 1:
        return None
    (atom,) = held
    return atom.function if isinstance(atom, values.Computation) else None


def _arguments_that_count(call: cst.Call, function: Place, ctx: Context) -> set[int]:
    arguments = Arguments(call)
    module = ctx.flow.program.modules[function.module]
    node = module.tree.nodes[function.node]
    if arguments.is_open or not isinstance(node, cst.FunctionDef | cst.Lambda):
        return set()
    needed = _needed_names(node, module)
    parameters = [*node.params.posonly_params, *node.params.params]
    found = {
        ctx.tree.index(given)
        for given, parameter in zip(arguments.positional, parameters, strict=False)
        if parameter.name.value in needed
    }
    return found | {
        ctx.tree.index(given) for name, given in arguments.keywords.items() if name in needed
    }


def _needed_names(
    function: cst.FunctionDef | cst.Lambda, module: Module, depth: int = 4
) -> set[str]:
    """Return the names of parameters whose data the result surely depends on."""
    pending = [_result(function, module)]
    found: set[str] = set()
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, cst.Name):
            bindings = module.names.bindings(node)
            if len(bindings) == 1 and isinstance(bindings[0].node, cst.Param):
                found.add(node.value)
            elif len(bindings) == 1:
                pending.append(bindings[0].value)
        elif depth and (given := _given_on(node, module, depth - 1)) is not None:
            pending += given
        else:
            pending += _data_operands(node, module)
    return found


def _given_on(
    node: cst.BaseExpression, module: Module, depth: int
) -> list[cst.BaseExpression] | None:
    """Return the arguments of a function of the module on which its result surely depends."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Name):
        return None
    bindings = module.names.bindings(node.func)
    function = bindings[0].node if len(bindings) == 1 else None
    arguments = Arguments(node)
    if not isinstance(function, cst.FunctionDef) or function.decorators or arguments.is_open:
        return None
    needed = _needed_names(function, module, depth)
    parameters = [*function.params.posonly_params, *function.params.params]
    return [
        *(
            given
            for given, parameter in zip(arguments.positional, parameters, strict=False)
            if parameter.name.value in needed
        ),
        *(given for name, given in arguments.keywords.items() if name in needed),
    ]


def _result(function: cst.FunctionDef | cst.Lambda, module: Module) -> cst.BaseExpression | None:
    """Return what a function returns, where it has one `return`, as its last statement."""
    if isinstance(function, cst.Lambda):
        return function.body
    last = function.body.body[-1]
    own = module.names.scope(last)
    returns = [
        node
        for node in module.tree.descendants(function.body)
        if isinstance(node, cst.Return) and module.names.scope(node) is own
    ]
    # A body on the line of its `def` has the small statements themselves.
    small = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else last
    return returns[0].value if len(returns) == 1 and small is returns[0] else None


def _data_operands(node: cst.BaseExpression, module: Module) -> list[cst.BaseExpression]:
    """Return the operands of an expression whose data its value surely depends on."""
    if isinstance(node, cst.BinaryOperation):
        return [node.left, node.right]
    if isinstance(node, cst.UnaryOperation):
        return [node.expression]
    if isinstance(node, cst.Tuple | cst.List):
        return [element.value for element in node.elements]
    if isinstance(node, cst.Dict):
        return [element.value for element in node.elements]
    if isinstance(node, cst.Attribute):
        return [node.value] if node.attr.value in transfer.COMPUTING_ATTRIBUTES else []
    if not isinstance(node, cst.Call):
        return []
    name = module.names.qualified(node.func)
    if name in _COMBINING:
        return Arguments(node).positional
    row = transfer.TABLE.get(name or "")
    if row is not None:
        return Arguments(node).positional[:1] if row.effect is Effect.COMPUTE else []
    if isinstance(node.func, cst.Attribute) and node.func.attr.value in transfer.COMPUTING_METHODS:
        return [node.func.value]
    return []
