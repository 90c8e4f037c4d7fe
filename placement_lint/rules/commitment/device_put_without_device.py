"""JDP203."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from placement_lint.findings import Applicability, Confidence, Edit, Severity
from placement_lint.placement.domain import contents, values
from placement_lint.placement.domain.consequences import Destination
from placement_lint.placement.domain.devices import differ
from placement_lint.prefilter.conditions import ELSEWHERE, AllOf, Uses
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.commitment.putting import TREE_MAPS
from placement_lint.rules.commitment.uncommitted_use import size_of
from placement_lint.rules.commitment.writing import (
    device_at,
    effects,
    imports_of,
    is_repeatable,
    put_back,
    written,
)
from placement_lint.rules.journey import journey_of
from placement_lint.syntax.calls import Arguments, is_none
from placement_lint.syntax.spelling import needed

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.placement.domain.state import Devices
    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.base import LaterPlan
    from placement_lint.rules.commitment.writing import Around
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor


class DevicePutWithoutDevice(Rule):
    """A `jax.device_put(x)` that names no device, of an array on another device.

    ## What it does
    Finds `jax.device_put(x)`, also with `None` for the device, if `x` is a JAX array that is
    uncommitted on a device other than the default, or committed to another device; also if `x` is a
    tree of such arrays (a list, a dict that a loop fills, a named tuple, an object of a registered
    class), and `jax.tree.map(jax.device_put, tree)`.

    ## Why is this bad?
    For a JAX array, `device_put` without a device does nothing: it returns the same array, neither
    moved nor committed. If the call was meant to keep the array on the host, every later operation
    still copies it to the accelerator. If it was meant to move the array to the accelerator, later
    computations run on the host.

    ## Example
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np

    cpu = jax.devices("cpu")[0]
    with jax.default_device(cpu):
        table = jnp.zeros((50_000, 1024))
    table = jax.device_put(table)
    print(np.asarray(table)[0])
    ```

    ## Use instead
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np

    cpu = jax.devices("cpu")[0]
    with jax.default_device(cpu):
        table = jnp.zeros((50_000, 1024))
    table = jax.device_put(table, cpu)
    print(np.asarray(table)[0])
    ```

    ## Fix safety
    Safe for an uncommitted array if every computation runs where it ran: the array is committed to
    its device, which copies nothing, and each part that is taken from it is put back on the default
    device (as in JDP201). Unsafe if something is computed with it, which then runs on that device,
    or if not all uses are known. No fix for an array that is committed elsewhere: only the author
    knows where it was meant to go. No fix for a tree.

    ## What it does not flag
    NumPy arrays and Python values, which the call puts on the default device as intended. Arrays
    that are already on the default device: the call is redundant, but harmless. Operands whose
    placement is unknown, and leaves of a tree that may be something else.

    ## Verified by
    The proof makes an array under `jax.default_device`, calls `jax.device_put` on it without a
    device, and finds it still uncommitted. After the fix it is committed.

    ## References
    - [jax.device_put](https://docs.jax.dev/en/latest/_autosummary/jax.device_put.html)
    - AI-Hypercomputer/maxdiffusion puts weights on the CPU first and then calls `device_put`
      without a device: they stay there
    """

    code, name = "JDP203", "device-put-without-device"
    advice = "Name the device: `jax.device_put(x, device)`"
    severity, fix = Severity.WARNING, Applicability.SAFE
    follows_callers = True
    needs = AllOf(Uses("jax.device_put"), ELSEWHERE)

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if not ctx.is_call(node, "jax.device_put"):
            if ctx.is_call(node, *TREE_MAPS):
                _check_tree_map(node, ctx)
            return
        arguments = Arguments(node)
        operand, target = arguments.get(0, "x"), arguments.get(1, "device")
        if operand is None or arguments.is_open or not (target is None or is_none(target)):
            return
        held = ctx.flow.value(operand)
        defaults = ctx.flow.default_devices(node)
        arrays = [atom for atom in held if isinstance(atom, values.Array) and not atom.is_small]
        elsewhere = [array for array in arrays if _is_elsewhere(array, defaults, ctx)]
        if not defaults:
            return
        if not elsewhere:
            _check_tree(node, operand, defaults, ctx)
            return
        committed = [array for array in elsewhere if array.committed]
        if not committed and len(elsewhere) < len(arrays):
            # A conversion that has something to do has moved it: `v.astype(dtype)`, with any dtype.
            return
        if all(_is_of_another_case(array, operand, ctx) for array in committed or elsewhere):
            return
        where = " or ".join(sorted({str(array.device) for array in elsewhere}))
        if committed:
            problem = f"is committed to {where} and stays there"
        else:
            problem = f"stays uncommitted on {where}"
        ctx.report(
            node,
            "jax.device_put without a device does nothing to a JAX array"
            f"{size_of(elsewhere, ctx)}: it {problem}",
            confidence=(Confidence.DEFINITE if len(elsewhere) == len(held) else Confidence.LIKELY),
            journey=journey_of(committed or elsewhere, operand, ctx),
            fix=None if committed else _name_device(node, operand, target, elsewhere, ctx),
        )


def _is_of_another_case(array: values.Array, operand: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an array is committed, or made, in the other case of a condition that is asked
    again around a use of it.
    """
    # Only what has something to report needs it.
    from placement_lint.rules.commitment.same_conditions import cases_around, is_excluded

    created = () if array.origin is None else (array.origin.created,)
    made = [ctx.node_at(place) for place in array.via or created]
    return bool(made) and all(
        each is not None
        and each[1].module is ctx.module
        and is_excluded(operand, each[0], cases_around(each[0], ctx), ctx)
        for each in made
    )


def _check_tree_map(call: cst.Call, ctx: Context) -> None:
    """`jax.tree.map(jax.device_put, tree)`."""
    arguments = Arguments(call).positional
    if len(arguments) != 2 or len(call.args) != 2:
        return
    if ctx.names.qualified(arguments[0]) == "jax.device_put":
        _check_tree(call, arguments[1], ctx.flow.default_devices(call), ctx)


def _check_tree(
    call: cst.Call, operand: cst.BaseExpression, defaults: Devices, ctx: Context
) -> None:
    """Report a tree of which arrays surely are elsewhere, each of them."""
    leaves = contents.leaves_of(ctx.flow.tree_of(operand))
    large = [leaf for leaf in leaves if not _is_small(leaf)]
    elsewhere = [leaf for leaf in large if _are_elsewhere(leaf, defaults, ctx)]
    if not elsewhere:
        return
    found = {atom for leaf in elsewhere for atom in leaf if isinstance(atom, values.Array)}
    where = " or ".join(sorted({str(array.device) for array in found}))
    if any(array.committed for array in found):
        problem = f"are committed to {where} and stay there"
    else:
        problem = f"stay uncommitted on {where}"
    ctx.report(
        call,
        f"jax.device_put without a device does nothing to the JAX arrays of a tree: they {problem}",
        journey=journey_of([array for array in found if array.committed] or found, operand, ctx),
        confidence=Confidence.DEFINITE if elsewhere == large else Confidence.LIKELY,
    )


def _is_small(leaf: Value) -> bool:
    return all(
        isinstance(atom, values.Plain) or (isinstance(atom, values.Array) and atom.is_small)
        for atom in leaf
    )


def _are_elsewhere(leaf: Value, defaults: Devices, ctx: Context) -> bool:
    return all(
        isinstance(atom, values.Array) and _is_elsewhere(atom, defaults, ctx) for atom in leaf
    )


def _is_elsewhere(array: values.Array, defaults: Devices, ctx: Context) -> bool:
    return all(
        differ(array.device, default, accelerator=ctx.flow.accelerator) is True
        for default in defaults
    )


def _name_device(
    call: cst.Call,
    operand: cst.BaseExpression,
    target: cst.BaseExpression | None,
    arrays: list[values.Array],
    ctx: Context,
) -> LaterPlan | None:
    origins = [array.origin for array in arrays if array.origin is not None]
    places = {origin.device for origin in origins}
    if len(places) != 1 or any(origin.is_chosen for origin in origins):
        return None
    place = places.pop()
    if place is None or place.module != ctx.flow.module.name:
        return None
    named = ctx.tree.nodes[place.node]
    device = device_at(named, call, ctx)
    where = {array.device for array in arrays}
    there = next(iter(where)) if len(where) == 1 else None
    if device is None or there is None:
        return None
    committed = ctx.flow.committed_by(call, Destination(there, place))

    def plan() -> FixPlan | None:
        commitment = committed()
        returned = None if commitment is None else put_back(commitment, ctx)
        if commitment is None or returned is None:
            return None
        is_safe = is_repeatable(named, ctx) and not commitment.consequences
        level = Applicability.SAFE if is_safe else Applicability.UNSAFE
        what = f"Name the device that the array is on{effects(commitment)}"
        imports = (*needed([device.devices]), *imports_of(returned))
        return FixPlan(level, what, partial(build, returned), imports=imports)

    def build(returned: list[Around], editor: Editor) -> list[Edit] | None:
        text = device.at(call, editor)
        around = written(returned, editor)
        if around is None:
            return None
        if target is not None:
            return [editor.replace(target, text), *around]
        by_keyword = any(
            argument.value is operand and argument.keyword is not None for argument in call.args
        )
        _, end = editor.spans.outer(operand)
        return [editor.insert(end, f", device={text}" if by_keyword else f", {text}"), *around]

    return plan
