"""JDP206."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Edit, Severity
from placement_lint.placement.domain import contents, values
from placement_lint.placement.domain.devices import Device, differ
from placement_lint.placement.domain.library_values import Pickled
from placement_lint.placement.domain.places import Place
from placement_lint.prefilter.conditions import COMMITTED, LISTED_DEVICES, AllOf, AnyOf
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.commitment.known_devices import may_commit_to_known_devices
from placement_lint.rules.commitment.optimizer_states import made_by
from placement_lint.rules.commitment.putting import is_put
from placement_lint.rules.commitment.uncommitted_use import size_of
from placement_lint.rules.journey import committed_at, journey
from placement_lint.syntax.calls import Arguments, is_none
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor

_FROM_NUMPY = ("jax.device_put", "jax.numpy.array", "jax.numpy.asarray")


class CommitmentLost(Rule):
    """A computation whose operand is committed to a device, while its result is not.

    ## What it does
    Finds, for arrays committed to another device than the default one: functions under `jax.jit` or
    `jax.vmap` that take only the shape of their argument (`jax.jit(jnp.zeros_like)(w)`); jitted
    `init` of an optax optimizer that keeps moments; a round trip through NumPy
    (`jnp.asarray(np.asarray(w))`), also with arithmetic in it, `pickle.loads(pickle.dumps(w))` and
    `equinox.tree_deserialise_leaves(path, w)`. Except for the optimizer state, a finding is
    reported only if the result is then used together with arrays that are committed to that device.
    The jitted function, the NumPy array or the pickle may come from another function or file of the
    run.

    ## Why is this bad?
    A computation runs where its committed *operands* are. An argument whose values are not used is
    not an operand, so the result is made on the default device, uncommitted. For example, the
    optimizer state of parameters that were put on the host, because they do not fit on the
    accelerator, is made on the accelerator. Each later operation with the parameters copies it back
    to the host.

    ## Example
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np

    cpu = jax.devices("cpu")[0]
    w = jax.device_put(np.ones((50_000, 1024), dtype=np.float32), cpu)
    velocity = jax.jit(jnp.zeros_like)(w)
    for _ in range(100):
        w = w - 0.1 * velocity
    ```

    ## Use instead
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np

    cpu = jax.devices("cpu")[0]
    w = jax.device_put(np.ones((50_000, 1024), dtype=np.float32), cpu)
    velocity = jax.jit(jnp.zeros_like, out_shardings=w.sharding)(w)
    for _ in range(100):
        w = w - 0.1 * velocity
    ```

    For an optimizer: `jax.jit(optimizer.init, out_shardings=…)(params)` with the sharding of the
    parameters, or `optimizer.init(params)` outside jit, which puts each moment on the device of its
    parameter.

    ## Fix safety
    Display-only, and only for a single array: only the author knows whether the result was meant to
    stay on the device.

    ## What it does not flag
    Results that are never used with an array that is committed to that device: a round trip through
    NumPy may be meant to move an array to the accelerator, as `jax.device_put(jax.device_get(w))`
    is. Results that are used with such an array only where the default device is that device too,
    or that are put on a device later. Functions that use the values of their argument;
    `jnp.zeros_like(w)` outside jit, whose result is on the device of `w`. Calls with
    `out_shardings` or `keep_unused`. Optimizers without moments. Arrays whose device is not known.
    Arrays on a mesh: for those that are split over it see JDP706.

    ## Verified by
    The proof makes the momentum for a matrix that is committed to the host and takes a step: the
    momentum is uncommitted, and JAX's device-to-device transfer guard reports a copy of all of it.
    After the fix it is committed to the host, and nothing is copied.

    ## References
    - [jax.Array.committed](https://docs.jax.dev/en/latest/_autosummary/jax.Array.committed.html)
    - [jax.jit](https://docs.jax.dev/en/latest/_autosummary/jax.jit.html), `keep_unused` and
      `out_shardings`
    """

    code, name = "JDP206", "commitment-lost"
    advice = (
        "Put the result where it belongs, with `jax.device_put(result, device)`, or jit it with "
        "`out_shardings`"
    )
    severity, fix = Severity.WARNING, Applicability.DISPLAY
    follows_callers = True
    needs = AllOf(
        COMMITTED,
        AnyOf(b"jit", b"vmap", b"asarray", b"array", b"device_get", b"pickle", b"equinox"),
        LISTED_DEVICES,
    )

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if not ctx.module.is_executed and not ctx.module.fact(may_commit_to_known_devices):
            return
        if ctx.flow.is_traced(node) or Arguments(node).is_open:
            return
        optimizer = optimizer_of(node, ctx)
        if optimizer is not None:
            _check_optimizer(node, optimizer, ctx)
            return
        operands = _remade(node, ctx) or shapes_taken(node, ctx)
        devices = {device for operand in operands for device in _committed_to(operand, node, ctx)}
        if len(devices) != 1:
            return
        (device,) = devices
        if device is None:
            return
        uses = _pulled_to(device, node, ctx)
        if uses:
            first = min(uses)
            ctx.report(
                node,
                f"{_what(operands[0], ctx)}{_size(operands[0], ctx)} is committed to "
                f"{device}, but the result of this is not: it is made on the default device, and "
                "copied back in each computation with what is committed there",
                journey=_way_of(operands[0], device, ctx),
                related=[(_node(first, ctx), first.module, "copied here")],
                fix=_follow(node, operands[0], ctx),
            )


def _place(node: cst.CSTNode, ctx: Context) -> Place:
    return Place(ctx.flow.module.name, ctx.tree.index(node))


def _node(place: Place, ctx: Context) -> cst.CSTNode:
    return ctx.flow.program.modules[place.module].tree.nodes[place.node]


def _held(place: Place, ctx: Context) -> Value:
    """Return what an operand is, with what is in it where it is an object."""
    there = ctx.beside(place.module)
    return values.UNKNOWN if there is None else there.flow.tree_of(there.tree.nodes[place.node])


def _size(operand: Place, ctx: Context) -> str:
    return size_of([atom for atom in _held(operand, ctx) if isinstance(atom, values.Array)], ctx)


def _way_of(
    operand: Place, device: Device | None, ctx: Context
) -> list[tuple[cst.CSTNode, str, str]]:
    """Return where an operand was committed, and its way from there."""
    there = ctx.beside(operand.module)
    if there is None:
        return []
    committed = committed_at(contents.arrays(_held(operand, ctx)), ctx)
    at = there.tree.nodes[operand.node]
    return journey(committed, at, there, f"committed to {device} here") if committed else []


def _what(operand: Place, ctx: Context) -> str:
    name = dotted(_node(operand, ctx))
    return f"`{name}`" if name else "the operand"


def _committed_to(operand: Place, call: cst.Call, ctx: Context) -> set[Device | None]:
    """Return the device that an operand surely is committed to; None for the default and
    unknown.
    """
    held = _held(operand, ctx)
    found: set[Device | None] = set()
    for array in contents.arrays(held):
        elsewhere = [
            differ(array.device, default, accelerator=ctx.flow.accelerator) is True
            for default in ctx.flow.default_devices(call)
        ]
        known = array.committed and not array.is_small and elsewhere and all(elsewhere)
        found.add(array.device if known else None)
    return found if found and is_certain(held) else {None}


def is_certain(held: Value) -> bool:
    """Return whether a value is arrays, and containers of arrays, only."""
    for atom in held:
        inner: list[Value] = []
        if isinstance(atom, values.Mapping):
            inner = [*(item for _, item in atom.items), *filter(None, [atom.element])]
        elif isinstance(atom, values.Sequence):
            inner = list(atom.items or [atom.element])
        elif isinstance(atom, values.AnyTree):
            inner = [atom.leaf]
        elif not isinstance(atom, values.Array):
            return False
        if not all(map(is_certain, inner)):
            return False
    return True


def _pulled_to(device: Device, call: cst.Call, ctx: Context) -> set[Place]:
    """Return the operations that move what a call makes, or simple functions of it, to a device."""
    modules = ctx.flow.program.modules
    pending = [_place(call, ctx)]
    seen = set(pending)
    found: set[Place] = set()
    while pending:
        made = pending.pop()
        for module in modules.values():
            found |= {place for place, to in module.record.pulled.get(made, ()) if to == device}
            for place in module.record.derived.get(made, ()):
                operation = modules[place.module].tree.nodes[place.node]
                is_simple = isinstance(operation, cst.BinaryOperation | cst.UnaryOperation)
                if is_simple and place not in seen:
                    seen.add(place)
                    pending.append(place)
    return found


# -- ways to lose it ------------------------------------------------------------------------------


def _remade(call: cst.Call, ctx: Context) -> list[Place]:
    """Return the arrays that a call makes of their values: by NumPy, by pickle, from a file.

    More than one, where the call is given now the one and now the other.
    """
    arguments = Arguments(call)
    if ctx.is_call(call, *_FROM_NUMPY):
        device = arguments.get(1 if ctx.is_call(call, "jax.device_put") else None, "device")
        given = arguments.get(0, "x", "a", "object")
        if given is None or not (device is None or is_none(device)):
            return []
        if ctx.is_call(call, "jax.device_put") and ctx.is_call(given, "jax.device_get"):
            return []
        held = ctx.flow.value(given)
        read = {
            atom.read for atom in held if isinstance(atom, values.Host) and atom.read is not None
        }
        is_read = all(isinstance(atom, values.Host) and atom.read is not None for atom in held)
        return sorted(read) if is_read else []
    if ctx.is_call(call, "pickle.loads"):
        given = arguments.get(0, "data")
        held = values.UNKNOWN if given is None else ctx.flow.value(given)
        pickled = {atom.of for atom in held if isinstance(atom, Pickled)}
        return sorted(pickled) if all(isinstance(atom, Pickled) for atom in held) else []
    if ctx.is_call(call, "equinox.tree_deserialise_leaves"):
        like = arguments.get(1, "like")
        return [] if like is None else [_place(like, ctx)]
    return []


def _computations(call: cst.Call, ctx: Context) -> list[values.Computation]:
    held = ctx.flow.value(call.func)
    found = [atom for atom in held if isinstance(atom, values.Computation)]
    return found if len(found) == len(held) else []


def shapes_taken(call: cst.Call, ctx: Context) -> list[Place]:
    """Return the arguments of a jitted or mapped function that makes arrays of their shapes
    only.
    """
    computations = _computations(call, ctx)
    arguments = Arguments(call).positional
    if not computations or not arguments or len(arguments) != len(call.args):
        return []
    made = ctx.flow.value(call)
    place = _place(call, ctx)
    if not any(_is_made_at(place, array) for array in contents.arrays(made)):
        return []
    if not all(computation.fills for computation in computations):
        return []
    is_first_only = all(computation.function is None for computation in computations)
    return [_place(each, ctx) for each in (arguments[:1] if is_first_only else arguments)]


def _is_made_at(place: Place, array: values.Array) -> bool:
    return not array.committed and array.origin is not None and array.origin.created == place


def optimizer_of(call: cst.Call, ctx: Context) -> str | None:
    """Return the optimizer, with moments, whose jitted `init` a call runs: `optax.adam`.

    It may be a compiled function that gives nothing but what `init` gives; of several optimizers
    that it may be of, it is the first one.
    """
    optimizers = [made_by(computation, ctx) for computation in _computations(call, ctx)]
    known = [each for each in optimizers if each is not None]
    return min(known) if known and len(known) == len(optimizers) else None


def _check_optimizer(call: cst.Call, optimizer: str, ctx: Context) -> None:
    params = Arguments(call).get(0, "params")
    if params is None or len(call.args) != 1:
        return
    operand = _place(params, ctx)
    devices = _committed_to(operand, call, ctx)
    if len(devices) != 1 or None in devices or is_put(call, ctx):
        return
    (device,) = devices
    ctx.report(
        call,
        f"{_what(operand, ctx)} is committed to {device}, but the moments that {optimizer} makes "
        "of its shapes under jit are not: they are made on the default device",
        journey=_way_of(operand, device, ctx),
    )


# -- the fix, shown only --------------------------------------------------------------------------


def _follow(call: cst.Call, operand: Place, ctx: Context) -> FixPlan | None:
    """Make the result where the operand is."""
    node = _node(operand, ctx)
    name = dotted(node)
    is_here = operand.module == ctx.flow.module.name and ctx.names.scope(node) is ctx.names.scope(
        call
    )
    if not name or not is_here or not all(isinstance(a, values.Array) for a in _held(operand, ctx)):
        return None
    if isinstance(call.func, cst.Call) and ctx.is_call(call.func, "jax.jit"):
        function = call.func.args[0].value

        def edits(editor: Editor) -> list[Edit]:
            _, end = editor.spans.outer(function)
            return [editor.insert(end, f", out_shardings={name}.sharding")]

        return FixPlan(Applicability.DISPLAY, "Add out_shardings", edits)
    put = ctx.reach("jax.device_put", at=call)
    if put is None:
        return None

    def wrapped(editor: Editor) -> list[Edit]:
        start, end = editor.spans.outer(call)
        return [editor.insert(start, f"{put}("), editor.insert(end, f", {name}.sharding)")]

    what = "Put the result on the device of the array"
    return FixPlan(Applicability.DISPLAY, what, wrapped, imports=put.imports)
