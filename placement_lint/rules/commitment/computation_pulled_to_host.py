"""JDP208."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Confidence, Edit, Severity
from placement_lint.placement.domain import contents, program_values, values
from placement_lint.placement.domain.places import (
    Place,
)
from placement_lint.prefilter.conditions import COMMITTED, LISTED_DEVICES, AllOf
from placement_lint.quantities import size
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.commitment.known_devices import may_commit_to_known_devices
from placement_lint.rules.commitment.pulled_intent import (
    are_by_dlpack,
    is_asked_for,
    is_from_outside,
    is_same_each_time,
    trains,
)
from placement_lint.rules.commitment.pulled_operands import (
    ArrayExtent,
    OperandRole,
    extent,
    total_bytes,
    total_count,
)
from placement_lint.rules.commitment.pulled_results import Results, is_replaced
from placement_lint.rules.devices.processes import INITIALIZE
from placement_lint.rules.journey import COMMITTED_HERE, committing, journey
from placement_lint.rules.transfers.array_sizes import SMALL
from placement_lint.semantic.enclosing import failure_is_expected, is_in_test
from placement_lint.semantic.followed import followed
from placement_lint.syntax.spelling import needed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.placement.domain.pulls import Pull
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor

_FEW = 32
"""Elements: no more than this are statistics, bounds, hyperparameters."""
_SOME = 128
"""Elements: no more than this may be a state or a count, but where something is trained."""
_LITTLE = 1024
"""Elements: no more than this are worth a word only where they stay on the host from then on."""
_CONTROL_FLOW = frozenset({
    "jax.lax.associative_scan", "jax.lax.cond", "jax.lax.fori_loop", "jax.lax.map", "jax.lax.scan",
    "jax.lax.switch", "jax.lax.while_loop",
})  # fmt: skip
_LONGEST = 40
"""Characters of code that a message repeats."""


class ComputationPulledToHost(Rule):
    """A computation that runs on the host because one of its operands is committed there.

    ## What it does
    Finds calls of jitted, mapped and differentiated functions, `jax.lax.scan` and similar
    functions, and operators and `jnp` functions on large arrays, if one operand is committed to the
    host and another is an uncommitted array on the accelerator. Operands are followed through
    names, attributes, objects, functions and the files of a run. The finding is at the operand on
    the host. Related places are where it was committed, and the operands that are copied.

    ## Why is this bad?
    A computation runs where its committed operands are. One batch of a dataset that was put on the
    host with `jax.device_put` is enough: the whole training step runs on the CPU, and JAX silently
    copies the parameters there. The results of the step are committed to the host too. After
    `params = step(params, batch)` the parameters are on the host, so nothing needs to be copied,
    and every later step runs there while the accelerator is idle.

    ## Example
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np

    @jax.jit
    def step(params, batch):
        return params - 0.1 * jnp.mean(batch) * params

    cpu = jax.devices("cpu")[0]
    tokens = jax.device_put(np.load("tokens.npy"), cpu)
    params = jnp.ones((4096, 1024))
    for i in range(1000):
        params = step(params, tokens[i])
    ```

    ## Use instead
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np

    @jax.jit
    def step(params, batch):
        return params - 0.1 * jnp.mean(batch) * params

    cpu = jax.devices("cpu")[0]
    tokens = jax.device_put(np.load("tokens.npy"), cpu)
    params = jnp.ones((4096, 1024))
    for i in range(1000):
        params = step(params, jax.device_put(tokens[i], jax.devices()[0]))
    ```

    Or keep the dataset in NumPy: a NumPy operand is copied to the device of the others.

    ## Fix safety
    Display-only: only the author knows whether the computation belongs on the accelerator. The fix
    puts the operand on the device of the other operands. No fix is shown for a whole dataset that
    is an operand in a loop, which should not be committed to the host at all.

    ## What it does not flag
    Intended evaluation on the host: a result that is passed to NumPy, a file, `print`, a test or an
    unknown call, or is put on a device by `jax.device_put`. Code under `jax.default_device` of the
    host, or in a program that is pinned to the CPU. State that is kept on the host: an average, a
    buffer or moments that a jitted function updates with arrays of the accelerator, unless it
    computes gradients in a loop. A function that
    gets the same host arrays in each iteration, such as the weights of an actor, unless it computes
    gradients.

    Unless the result replaces an operand, or a loop trains what is on the host: a call whose
    argument is put on the host in the call itself, `evaluate(params, jax.device_put(batch, cpu))`,
    or by its name.

    Operands that are keys, numbers or indices, or are small according to the source. Arrays that
    are not certainly on the host; parameters of unknown placement, such as those that a library
    initialises. Operators and functions that are not jitted, on arrays of unknown size.
    Consequences of a computation that is already reported; benchmarks that only wait for the
    result; tests.

    ## Verified by
    The proof runs two steps of training with batches of an array that is committed to the host: the
    loss and the parameters are on the host. After the fix both are on the accelerator.

    ## References
    - [jax.Array.committed](https://docs.jax.dev/en/latest/_autosummary/jax.Array.committed.html)
    - [Frequently asked questions](https://docs.jax.dev/en/latest/faq.html), "Controlling data and
      computation placement on devices": computation follows data that is committed
    """

    code, name = "JDP208", "computation-pulled-to-host"
    severity, fix = Severity.WARNING, Applicability.DISPLAY
    advice = (
        "Put what is taken from the host on the device of the other operands, with "
        "`jax.device_put(x, device)`, or keep the data in NumPy"
    )
    follows_callers = True
    needs = AllOf(COMMITTED, LISTED_DEVICES)

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        if not ctx.module.is_executed and not ctx.module.fact(may_commit_to_known_devices):
            return
        if not ctx.flow.record.pulls.found:
            return
        program = _Program(ctx)
        for place in sorted(ctx.flow.record.pulls.found):
            computation = program.reported(Place(ctx.flow.module.name, place))
            if computation is not None:
                _report(computation, ctx)


@dataclass(frozen=True)
class _Computation:
    """A computation that runs on the host, with what it copies there that is worth a report."""

    pull: Pull
    place: Place
    pulled: dict[int, list[ArrayExtent]]
    """The operands that are copied, and what is known of the size of the arrays."""
    stays: bool
    """What it gives comes in the place of one of these: it is on the host from then on."""

    @property
    def ancestors(self) -> list[frozenset[Place]]:
        """For each operand that pulls: what committed it to the host."""
        return [*self.pull.pulling.values()]


class _Program:
    """The computations of a program that run on the host, and which of them are reported."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._results: Results | None = None
        self._all = {
            computation.place: computation
            for path, module in sorted(ctx.flow.program.modules.items())
            if (there := ctx.beside(path)) is not None
            for pull in module.record.pulls.found.values()
            if (computation := _computation(pull, there)) is not None
        }
        self._staying = {place for place, each in self._all.items() if each.stays}

    def reported(self, place: Place) -> _Computation | None:
        """Return a computation that is to be reported.

        One that runs on the host because of what another one gave there is not: the author will
        hear of the other one.
        """
        found = self._all.get(place)
        if found is None or _follows(found, self._staying - {place}):
            return None
        if found.stays:
            return found
        others = {each for each in self._all if each not in self._staying and each < place}
        is_wanted = (
            _follows(found, others)
            or any(place in by for each in self._staying for by in self._all[each].ancestors)
            or self._is_on_purpose(found)
        )
        return None if is_wanted else found

    def _is_on_purpose(self, found: _Computation) -> bool:
        """Return whether the host may be meant to compute something, once or each time."""
        there = self._ctx.beside(found.place.module)
        if there is None or found.pull.is_open:
            return True
        node = there.tree.nodes[found.place.node]
        if is_in_test(node, there):
            return True
        if not found.pull.replaced.isdisjoint(found.pull.pulling):
            return not _trains_state(found.pull, there)
        if self._results is None:
            self._results = Results(self._ctx)
        return self._results.are_taken(found.place)


def _follows(computation: _Computation, others: set[Place]) -> bool:
    """Return whether all that pulls a computation to the host was given there by one of others."""
    return all(not others.isdisjoint(by) for by in computation.ancestors)


def _computation(pull: Pull, ctx: Context) -> _Computation | None:
    """Return what a pull is to its author; None where nothing in it is worth a report."""
    node = ctx.tree.nodes[pull.node]
    if failure_is_expected(node, ctx) or are_by_dlpack(pull, ctx):
        return None
    extents = {
        operand: [extent(array, ctx) for array in sorted(arrays, key=lambda array: array.order)]
        for operand, arrays in sorted(pull.pulled.items())
    }
    # What each step of training converts is no number.
    trains_state = _trains_state(pull, ctx)
    roles = {OperandRole.DATA} | ({OperandRole.UNKNOWN} if trains_state else set())
    pulled = {
        operand: found
        for operand, found in extents.items()
        if any(each.role in roles for each in found)
    }
    if not pulled:
        return None
    place = Place(ctx.flow.module.name, pull.node)
    stays = any(
        operand in pull.replaced
        or _is_changed_module(operand, node, ctx)
        or (is_from_outside(pull.pulled[operand], node, ctx) and is_replaced(operand, node, ctx))
        for operand in pulled
    )
    if not _is_compiled(node, ctx):
        large = {o: e for o, e in pulled.items() if _is_known_to_be_large(e)}
        return _Computation(pull, place, large, stays) if large else None
    count = total_count(each for found in pulled.values() for each in found)
    if not stays:
        # Nobody trains on the host what each step copies batches to from the accelerator.
        is_meant = count <= _LITTLE or (not trains_state and is_asked_for(pull, ctx))
    elif trains(node, ctx):
        is_meant = count <= _FEW
    else:
        is_meant = count <= _SOME or is_same_each_time(pull, ctx)
    return None if is_meant else _Computation(pull, place, pulled, stays)


def _is_changed_module(operand: int, node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether an operand is a module of `nnx.jit(f)`, which gives it other arrays.

    Also one that `f` does not change (measured with flax 0.12).
    """
    function = node.func if isinstance(node, cst.Call) else None
    called = () if function is None else ctx.flow.value(function)
    changes = any(isinstance(a, values.Computation) and a.changes_objects for a in called)
    given = ctx.tree.nodes[operand] if changes else None
    return isinstance(given, cst.BaseExpression) and any(
        isinstance(atom, program_values.Instance | values.AnyTree) for atom in ctx.flow.value(given)
    )


def _trains_state(pull: Pull, ctx: Context) -> bool:
    """Return whether a loop trains what is on the host, which is not what it is kept there for."""
    return (
        pull.in_loop
        and not pull.replaced.isdisjoint(pull.pulling)
        and trains(ctx.tree.nodes[pull.node], ctx, updates=False)
    )


def _is_known_to_be_large(extents: Iterable[ArrayExtent]) -> bool:
    counts = [each.count for each in extents if each.role is OperandRole.DATA]
    return None not in counts and sum(count or 0 for count in counts) >= SMALL


def _is_compiled(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether an operation is a call of a jitted, mapped or differentiated function."""
    if not isinstance(node, cst.Call):
        return False
    held = ctx.flow.value(node.func)
    return ctx.called(node) in _CONTROL_FLOW or any(
        isinstance(atom, values.Computation) for atom in held
    )


# -- what is said ---------------------------------------------------------------------------------


def _report(computation: _Computation, ctx: Context) -> None:
    pull = computation.pull
    nodes = [ctx.tree.nodes[operand] for operand in sorted(pull.pulling)]
    certain = pull.surely and not ctx.flow.program.is_tampered
    ctx.report(
        nodes[0],
        _message(computation, nodes, ctx),
        confidence=Confidence.DEFINITE if certain else Confidence.LIKELY,
        journey=journey(_committed_at(pull, ctx), nodes[0], ctx, COMMITTED_HERE),
        related=_copied(computation, ctx),
        fix=_put_on_device(nodes, computation, ctx),
    )


def _message(computation: _Computation, pulling: list[cst.CSTNode], ctx: Context) -> str:
    pull = computation.pull
    operation = ctx.tree.nodes[pull.node]
    runs = "this operation runs there"
    if _is_compiled(operation, ctx) and isinstance(operation, cst.Call):
        called = _code(operation.func, ctx)
        runs = f"`{called}` runs there" if called else "the function runs there"
    follows = _follows_of(computation, runs, ctx)
    if not any(_holds_arrays(node, ctx) for node in pulling):
        return f"this closes over an array that is committed to {pull.device}: {follows}"
    names = [_code(node, ctx) for node in pulling]
    what = "an operand is" if None in names else f"{_list(names)} {_are(names)}"
    return f"{what} committed to {pull.device}: {follows}"


def _holds_arrays(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether an operand is arrays, and no function that closes over some."""
    return any(True for _ in contents.arrays(ctx.flow.value(node)))


def _follows_of(computation: _Computation, runs: str, ctx: Context) -> str:
    """Return what follows of it, in words: what runs where, and what is copied, how often."""
    often = " each time" if computation.pull.in_loop else ""
    names = [_code(ctx.tree.nodes[operand], ctx) for operand in computation.pulled]
    total = total_bytes(each for found in computation.pulled.values() for each in found)
    amount = f" ({size(total)})" if total else ""
    others = (
        f"other operands{amount} are" if None in names else f"{_list(names)}{amount} {_are(names)}"
    )
    if not computation.stays:
        return f"{runs}, not on the accelerator, and {others} copied there{often}"
    them = "it" if len(names) == 1 else "them"
    return (
        f"{runs}{often}, not on the accelerator; {others} copied there, and what replaces {them} "
        "stays there"
    )


def _are(names: list[str | None]) -> str:
    return "is" if len(names) == 1 else "are"


def _list(names: list[str | None]) -> str:
    *others, last = [f"`{name}`" for name in names]
    return f"{', '.join(others)} and {last}" if others else last


def _code(node: cst.CSTNode, ctx: Context) -> str | None:
    """Return the code of an expression, where it is short enough for a message."""
    ctx.module.add_punctuation()
    text = ctx.tree.module.code_for_node(node).strip()
    return text if len(text) <= _LONGEST and not {"\n", "`"} & {*text} else None


def _committed_at(pull: Pull, ctx: Context) -> list[Place]:
    """Return what committed the operands to the host, but not the operations that followed them."""
    return committing({place for by in pull.pulling.values() for place in by}, ctx)


def _copied(computation: _Computation, ctx: Context) -> list[tuple[cst.CSTNode, str, str]]:
    return [
        (ctx.tree.nodes[operand], ctx.module.path, "uncommitted: copied to the host")
        for operand in computation.pulled
    ]


# -- the fix, shown only --------------------------------------------------------------------------


def _put_on_device(
    operands: list[cst.CSTNode], computation: _Computation, ctx: Context
) -> FixPlan | None:
    """Put what is taken from the host where the others are: `jax.device_put(batch, device)`."""
    pull = computation.pull
    devices = {array.device for arrays in pull.pulled.values() for array in arrays}
    device = next(iter(devices)) if len(devices) == 1 else None
    if (
        device is None
        or device.index is None
        or not all(_can_be_put(node, pull, ctx) for node in operands)
    ):
        return None
    listing = "jax.local_devices" if ctx.program_calls(INITIALIZE) else "jax.devices"
    put, listed = ctx.reach("jax.device_put", at=operands[0]), ctx.reach(listing, at=operands[0])
    if put is None or listed is None:
        return None
    backend = ""
    if device.platform is not None:
        backend = f'"{device.platform}"'
        backend = f"backend={backend}" if listing == "jax.local_devices" else backend

    def build(editor: Editor) -> list[Edit]:
        return [
            edit
            for node in operands
            for edit in editor.wrap(node, f"{put}(", f", {listed}({backend})[{device.index}])")
        ]

    what = "Put what is taken from the host on the device of the others"
    return FixPlan(Applicability.DISPLAY, what, build, imports=needed([put, listed]))


def _can_be_put(node: cst.CSTNode, pull: Pull, ctx: Context) -> bool:
    """Return whether an operand can be put on a device where it is written, and ought to be.

    Not all of a dataset in a loop: that it is on the host is what is to be changed then.
    """
    operation, parent = ctx.tree.nodes[pull.node], ctx.parent(node)
    if not isinstance(node, cst.BaseExpression) or isinstance(operation, cst.AugAssign):
        return False
    if not _holds_arrays(node, ctx):
        return False
    if not isinstance(parent, cst.Arg | cst.BinaryOperation | cst.Element | cst.Index):
        return False
    by = pull.pulling[ctx.tree.index(node)]
    whole = ctx.is_call(followed(node, ctx), "jax.device_put")
    small = all(array.is_small for array in contents.arrays(ctx.flow.value(node)))
    return bool(by) and (not pull.in_loop or not whole or small)
