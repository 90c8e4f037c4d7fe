"""JDP402."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Confidence, Severity
from placement_lint.jaxmodel.transfer import LIKE_CREATORS
from placement_lint.placement.domain import contents, values
from placement_lint.prefilter.conditions import ELSEWHERE, AllOf, AnyOf, Jax, Pattern, Uses, passed
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.commitment.known_devices import is_any_device
from placement_lint.rules.commitment.putting import PUTTING_WORDS, TREE_MAPS
from placement_lint.rules.journey import committed_at, journey
from placement_lint.rules.transfers.array_sizes import (
    element_count,
    filled_count,
    is_one_for_each_of_few,
    is_supposed,
    size_text,
)
from placement_lint.rules.transfers.creations import (
    FILLING,
    JOINING,
    Creation,
    creation_of,
    is_small,
    known_count,
    short_name,
)
from placement_lint.rules.transfers.put_targets import (
    differ_from_default,
    is_elsewhere,
    is_host_sometimes,
    is_sharding,
)
from placement_lint.rules.transfers.put_trees import (
    is_display,
    is_named,
    parts_of,
    target_of_leaves,
    ungrouped,
)
from placement_lint.rules.transfers.putting_functions import (
    Putting,
    given_to_put,
    is_put_for_callers,
    may_follow,
)
from placement_lint.rules.transfers.putting_later import (
    is_put_always,
    made_before,
    made_in_branches,
    tree_of_leaf,
)
from placement_lint.rules.transfers.staged_apart import may_stage, staged_apart
from placement_lint.rules.transfers.staged_fixes import filling_plan, put_plan
from placement_lint.semantic.followed import assigned_value, followed
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import applied

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

# These make all of it there, and put it to the device or the sharding.
_PUTTING = frozenset(f"jax.numpy.{name}" for name in "arange empty eye".split())

_MADE = (*FILLING, *_PUTTING, *JOINING, "jax.numpy.array", "jax.numpy.asarray", "jax.numpy.load")
_CALLS_PUTTING = Pattern(
    rb"\b(?!device_put\b)_?(?:[a-z]{1,12}_)?(?:%s)(?:_(?!map\b)[a-z_]{1,40})?\("
    % PUTTING_WORDS.encode()
)
"""A call of a function with the name of one that puts what it is given."""

_CHOOSING = frozenset({"default_device", "jax_default_device"})
_NAME_HOPS = 4
_IN_BRANCH = 3
"""Of what a branch before the call assigns to a name: another branch may assign something else."""


class StagedThroughDefaultDevice(Rule):
    """An array that is made on the default device, only to be moved elsewhere.

    ## What it does
    Finds `jax.device_put(jnp.zeros(…), device)`, `jnp.zeros(…).to_device(device)` and similar, if
    the device is not the default one, or is a sharding. A parameter counts as a sharding if its
    name says so. The array is made by the operand itself (`zeros`, `arange`, `jax.random.normal`,
    `jnp.asarray` or `jnp.stack` of NumPy arrays, `jnp.load`, safetensors' `load_file`), also below
    arithmetic with numbers or a method such as `astype`, by `jnp.concatenate` or `jnp.stack` of
    arrays that are made in the same expression, or by an earlier statement whose result is used for
    nothing else. The operand may also be a dict or a list of such arrays, or of their
    names, by its name and as the result of a function too, or `jnp.stack([x] * n)` that is put to a
    sharding; or the call of `functools.partial(jnp.zeros, shape)`.
    `jax.tree.map(lambda x: jax.device_put(x, device), tree)` counts as putting each leaf of the
    tree, and so does a comprehension over its items, and a call of a function of the program that
    only puts what it is given. An array that has a name is reported where it is put; the first
    related place is where it is made.

    What makes an array and what puts it may be in different functions, methods and files: the array
    may be returned, kept in an object or a container, and passed on to code of the program, if it
    is put once, and nothing else is done with it. Its size must then be known, unless it is put to
    a sharding.

    It also finds `jnp.zeros`, `ones`, `full`, `empty`, `arange` and `eye` with `device=`, and
    `jnp.zeros_like` and similar functions of an array that is committed elsewhere, or of each leaf
    of a tree: `jax.tree.map(jnp.zeros_like, params)`.

    ## Why is this bad?
    The operand of `jax.device_put` is computed before the call: the whole array is made on the
    default device, the accelerator, and then copied. An array that should be sharded over eight
    devices, or kept on the host because it is large, must first fit on one accelerator next to
    everything else, and often does not. The argument `device=` of these functions does not help:
    every release of JAX makes the array on the default device, and then copies it.

    ## Example
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np

    table = jax.device_put(jnp.zeros((50_000, 4096)), jax.devices("cpu")[0])
    buffer = jnp.zeros((50_000, 4096), device=jax.devices("cpu")[0])
    ```

    ## Use instead
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np

    table = jax.device_put(np.zeros((50_000, 4096)), jax.devices("cpu")[0])
    with jax.default_device(jax.devices("cpu")[0]):
        buffer = jax.device_put(jnp.zeros((50_000, 4096)), jax.devices("cpu")[0])
    ```

    For a sharded array, `jax.jit(make, out_shardings=sharding)()` makes each part on its own
    device.

    ## Fix safety
    Safe if the operand is `jnp.asarray(array)` of a NumPy array that was just made, or that is
    never changed: `jax.device_put` takes the NumPy array itself, with the same result. Unsafe if
    the array may be changed later, like the memory of a tensor, of which `.numpy()` returns a view:
    on the CPU, `jax.device_put` makes no copy; or if it has a name that other files may import.
    Unsafe if NumPy makes the array instead (`jnp.zeros`
    → `np.zeros`), which takes memory of the host, and has no weak types: the message says so where
    that matters (`jnp.full((n,), 1.0)`). No fix for anything else.

    ## What it does not flag
    Arrays that are known to have fewer than 65,536 elements, or one for each of what there are few
    (`jnp.zeros((batch_size,))`); scalars; in tests, arrays of fewer
    than 16,777,216 elements or of an unknown size. Arrays made under `jax.default_device` of the
    same device, or of the host; devices that may be the default one; functions that JAX traces.
    Operands that may already be arrays, that are read between being made and being put, that are
    made in another block, that compiled code may read, or that an object or a cache still holds
    after that. `jnp.linspace`, `array` and `asarray` with `device=`, which make the
    array on that device. `jnp.zeros`, `ones` and `full` with a sharding, which make only one part
    on the default device. A sharding that splits nothing, such as `NamedSharding(mesh,
    PartitionSpec())`: the first device holds the whole array in any case.

    ## Verified by
    The proof puts a NumPy array on the host through `jnp.asarray` while transfers between devices
    are disallowed, and JAX raises. After the fix JAX does not raise.

    ## References
    - [jax-ml/jax#25396](https://github.com/jax-ml/jax/issues/25396): `device=` builds elsewhere
      first
    - [jax-ml/jax#18263](https://github.com/jax-ml/jax/issues/18263): how to make an array that is
      sharded from the start
    - JAX 0.10.2, `jax/_src/lax/lax.py:3616`, `full`: the part is made by `broadcast`, then put;
      `jax/_src/numpy/lax_numpy.py:5769`, `eye`: "optimize putting the array directly on the device
      specified instead of putting it on default device"
    - Measured on JAX 0.4.30, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1 under a guard against all transfers
      between devices, explicit ones too
    - Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1: what is put to a replicated
      sharding has the memory of the operand on the operand's device (`unsafe_buffer_pointer`); a
      NumPy array that is put on the CPU and then changed changes what was put, mostly
    """

    code, name = "JDP402", "staged-through-default-device"
    advice = (
        "Make it in NumPy and put that, or make it in `jax.jit(…, out_shardings=…)`, each part "
        "where it belongs"
    )
    severity, fix = Severity.WARNING, Applicability.SAFE
    follows_callers = True
    needs = AllOf(
        Jax(),
        AnyOf(
            Uses("jax.device_put"),
            b".to_device",
            AllOf(
                passed(b"device"),
                Uses(*FILLING, *_PUTTING, *LIKE_CREATORS),
            ),
            # What a function of another file puts, which may know where.
            AllOf(_CALLS_PUTTING, Uses(*_MADE)),
        ),
        AnyOf(ELSEWHERE, b"sharding", Uses("jax.NamedSharding"), _CALLS_PUTTING),
    )

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if not ctx.module.has_siblings and not ctx.module.fact(_may_put):
            # What other files put that this one makes is known where they are executed together.
            return
        name = ctx.called(node)
        if name == "jax.device_put":
            self._check_put(node, ctx)
        elif name in FILLING or name in _PUTTING:
            device = Arguments(node).get(None, "device")
            if device is not None:
                self._check_filling(node, name, device, ctx)
        elif name in LIKE_CREATORS:
            self._check_like(node, ctx)
        elif name in TREE_MAPS:
            self._check_like_tree(node, ctx)
            self._check_put_tree(node, ctx)
        elif name is None and isinstance(node.func, cst.Name):
            self._check_partial(node, ctx)
            self._check_given(node, ctx)
        elif isinstance(node.func, cst.Attribute) and node.func.attr.value == "to_device":
            target = Arguments(node).get(0, "device")
            if target is not None:
                self._check_parts([node.func.value], Putting(node, ctx, target, ctx), node, ctx)
        elif isinstance(node.func, cst.Name | cst.Attribute):
            self._check_given(node, ctx)

    def _check_put(self, node: cst.Call, ctx: Context) -> None:
        arguments = Arguments(node)
        operand, target = arguments.get(0, "x"), arguments.get(1, "device")
        # What is put for nothing is no copy that anybody wants: JDP204.
        is_discarded = isinstance(ctx.parent(node), cst.Expr)
        if operand is None or target is None or arguments.is_open or is_discarded:
            return
        if is_any_device(target, ctx.names) and not ctx.may_say(_CHOOSING):
            # It may be the default one.
            return
        self._check_parts(parts_of(operand, ctx), Putting(node, ctx, target, ctx), node, ctx)

    def _check_put_tree(self, node: cst.Call, ctx: Context) -> None:
        """`jax.tree.map(lambda x: jax.device_put(x, device), tree)`."""
        target = target_of_leaves(node, ctx)
        if target is not None:
            parts = parts_of(Arguments(node).positional[1], ctx)
            self._check_parts(parts, Putting(node, ctx, target, ctx), node, ctx)

    def _check_given(self, node: cst.Call, ctx: Context) -> None:
        """`put(jnp.zeros(…), sharding)`, of a function of the program that only puts it."""
        if not node.args or not may_follow(ctx):
            return
        for operand, put in given_to_put(node, ctx, target_of_leaves):
            self._check_parts(parts_of(operand, ctx), put, node, ctx)

    def _check_parts(
        self, parts: list[cst.BaseExpression], put: Putting, call: cst.Call, ctx: Context
    ) -> None:
        """Check the leaves of what a call puts: by the statements around it, then by what the
        program does with the arrays.
        """
        for part in parts:
            before = ctx.reported
            self._check_operand(part, put, call, ctx)
            if ctx.reported == before:
                self._check_apart(part, put, call, ctx)

    def _check_apart(
        self, operand: cst.BaseExpression, put: Putting, call: cst.Call, ctx: Context
    ) -> None:
        """Check what may be made in another part of the program."""
        if not may_stage(ctx) or is_put_for_callers(operand, call, ctx, target_of_leaves):
            return
        staged = staged_apart(operand, put, ctx)
        if staged is None:
            return
        creation, place = staged
        related = [] if put.call is call else [(put.call, put.there.module.path, "put here")]
        ctx.report(
            operand if isinstance(operand, cst.Call) else call,
            creation.message(),
            confidence=Confidence.LIKELY,
            journey=journey([place], operand, ctx, "made here"),
            related=related,
        )

    def _check_operand(
        self,
        operand: cst.BaseExpression,
        put: Putting,
        call: cst.Call,
        ctx: Context,
        at: cst.CSTNode | None = None,
        hops: int = 0,
    ) -> None:
        """Check something that a call puts, or passes on to what puts it.

        `at`: where it is read, if that is earlier, in a tree that the call puts.
        """
        if isinstance(operand, cst.Name) and not hops:
            for branch in made_in_branches(operand, call, ctx):
                self._check_operand(branch, put, call, ctx, branch, _IN_BRANCH)
        is_direct = at is None
        tree = tree_of_leaf(operand, ctx)
        whole: cst.BaseExpression | None = tree or operand
        while isinstance(whole, cst.Name) and hops < _NAME_HOPS:
            whole = made_before(whole, at or call, ctx)
            hops += 1
        if whole is None:
            return
        whole = ungrouped(whole, ctx)
        if (hops or tree is not None) and is_display(whole, ctx):
            for part in parts_of(whole, ctx):
                if part is not whole:
                    self._check_operand(part, put, call, ctx, whole, hops)
            return
        created = creation_of(whole, put, ctx)
        if created is None:
            return
        is_here = put.call is call and hops != _IN_BRANCH
        is_sure = _is_staged(created, put, call, ctx, is_here=is_here)
        if is_sure is None:
            return
        by_name = is_direct and tree is None and isinstance(operand, cst.Name)
        is_apart = whole is not operand or not is_here
        related = [(created.call, ctx.module.path, "made here")] if by_name else []
        if put.call is not call or (is_apart and not by_name):
            related.append((put.call, put.there.module.path, "put here"))
        is_fixable = (
            created.made is whole
            and hops < 2
            and put.call is call
            and not (is_apart and _is_made_of_itself(operand, created.made))
            and not _is_handled(operand, call, ctx)
            and _may_be_put_at_once(created, call, ctx)
        )
        is_definite = created.is_large and not created.is_spread and is_sure
        ctx.report(
            call if by_name else created.call,
            created.message(),
            confidence=Confidence.DEFINITE if is_definite else Confidence.LIKELY,
            related=related,
            fix=put_plan(created.call, created.name, ctx) if is_fixable else None,
        )

    def _check_filling(
        self, node: cst.Call, name: str, device: cst.BaseExpression, ctx: Context
    ) -> None:
        count = element_count(node, ctx)
        if is_small(count, node, ctx) or is_one_for_each_of_few(node, ctx):
            return
        if ctx.flow.is_traced(node):
            return
        is_spread = name in FILLING and is_sharding(device, ctx)
        is_sure = not is_spread and is_elsewhere(device, node, ctx)
        if is_spread or not (is_sure or is_host_sometimes(device, node, ctx, ctx)):
            return
        certain = is_sure and count is not None and not is_supposed(node, ctx)
        _report_filling(node, certain, ctx, filling_plan(node, device, ctx))

    def _check_partial(self, node: cst.Call, ctx: Context) -> None:
        """`zeros = functools.partial(jnp.zeros, device=device)`, then `zeros(shape)`."""
        made = assigned_value(node.func, ctx)
        creator, calls = (None, []) if made is None else applied(made, ctx.names)
        name = None if creator is None else ctx.name(creator)
        own = Arguments(node)
        if name not in FILLING or len(calls) != 1 or len(calls[0].positional) != 1:
            return
        device, shape = calls[0].get(None, "device"), own.get(0, "shape")
        if device is None or own.is_open or calls[0].is_open or own.may_pass(None, "device"):
            return
        count = filled_count(shape or calls[0].get(None, "shape"), ctx)
        if is_small(count, node, ctx) or is_one_for_each_of_few(node, ctx):
            return
        if ctx.flow.is_traced(node):
            return
        if not is_sharding(device, ctx) and is_elsewhere(device, node, ctx):
            _report_filling(node, count is not None, ctx, None, name)

    def _check_like(self, node: cst.Call, ctx: Context) -> None:
        arguments = Arguments(node)
        like = arguments.get(0, "a", "x", "array")
        device = arguments.get(None, "device")
        if like is None or arguments.is_open or ctx.flow.is_traced(node):
            return
        if is_small(_count_of(like, ctx), node, ctx):
            return
        if device is not None:
            if not is_sharding(device, ctx) and is_elsewhere(device, node, ctx):
                _report_filling(node, False, ctx, None)
            return
        held = ctx.flow.value(like)
        arrays = [atom for atom in held if isinstance(atom, values.Array)]
        if len(arrays) != len(held) or any(a.is_small or not a.committed for a in arrays):
            return
        if arrays and differ_from_default([array.device for array in arrays], node, ctx):
            _report_filling(node, False, ctx, None, like=like)

    def _check_like_tree(self, node: cst.Call, ctx: Context) -> None:
        """`jax.tree.map(jnp.zeros_like, tree)`."""
        arguments = Arguments(node).positional
        if len(arguments) != 2 or len(node.args) != 2 or ctx.flow.is_traced(node):
            return
        function, tree = arguments
        name = ctx.names.qualified(function)
        if name not in LIKE_CREATORS:
            return
        leaves = list(contents.leaves_of(ctx.flow.tree_of(tree)))
        if not leaves or is_small(_count_of(tree, ctx), node, ctx):
            return
        arrays = [a for leaf in leaves for a in leaf if isinstance(a, values.Array)]
        others = sum(map(len, leaves)) - len(arrays)
        if others or any(a.is_small or not a.committed for a in arrays):
            return
        if differ_from_default([array.device for array in arrays], node, ctx):
            _report_filling(node, False, ctx, None, name, like=tree)


def _is_staged(
    created: Creation, put: Putting, call: cst.Call, ctx: Context, *, is_here: bool
) -> bool | None:
    """Return whether something large surely is put elsewhere than where it is created; None: it is
    not, or that is not worth a finding.

    `is_here`: the call puts it itself, on all ways that lead to it.
    """
    # What follows asks where arrays are, for which the file is executed.
    if put.there.flow.is_traced(put.call) or ctx.flow.is_traced(call):
        return None
    count = created.count
    if created.is_returned and count is None:
        count = known_count(created.call, ctx)
    if created.is_large is None or is_small(count, call, ctx):
        return None
    if is_one_for_each_of_few(created.made, created.there):
        return None
    where = put.target, created.made, put.of, created.there
    is_sure = is_elsewhere(*where)
    if not is_sure and not (created.is_large and is_here and is_host_sometimes(*where)):
        return None
    if created.is_returned and not ctx.flow.runs_on_system_default(created.call):
        return None
    return is_sure


def _may_be_put_at_once(created: Creation, call: cst.Call, ctx: Context) -> bool:
    """Return whether what is created can be put where it is created, and is put in any case.

    Arithmetic in NumPy may give other types than that of JAX, and NumPy's arrays have no
    `to_device` before 2.0.
    """
    return (
        not created.is_partial
        and created.mapped is None
        and ctx.called(call) is not None
        and is_put_always(created.call, call, ctx)
    )


def _may_put(facts: ModuleFacts) -> bool:
    return facts.says(b"device")


def _count_of(node: cst.BaseExpression, ctx: Context) -> int | None:
    """Return the number of elements of an array that was made by a call, put or not."""
    made = followed(node, ctx)
    if isinstance(made, cst.Call) and ctx.is_call(made, "jax.device_put"):
        operand = Arguments(made).get(0, "x")
        made = made if operand is None else followed(operand, ctx)
    if isinstance(made, cst.Dict | cst.List | cst.Tuple):
        counts = [_count_of(element.value, ctx) for element in made.elements]
        return None if None in counts else sum(count or 0 for count in counts)
    return element_count(made, ctx)


def _report_filling(
    node: cst.Call,
    certain: bool,
    ctx: Context,
    plan: FixPlan | None,
    name: str | None = None,
    *,
    like: cst.BaseExpression | None = None,
) -> None:
    """Report what fills an array; `like`: the array that it is to be like, whose way is shown."""
    ctx.report(
        node,
        f"{short_name(name or ctx.called(node) or '')} allocates on the default device, then "
        f"copies the result to the requested device{size_text(node, ctx)}",
        confidence=Confidence.DEFINITE if certain else Confidence.LIKELY,
        journey=() if like is None else _way_of(like, ctx),
        fix=plan,
    )


def _way_of(like: cst.BaseExpression, ctx: Context) -> list[tuple[cst.CSTNode, str, str]]:
    """Return where an array was committed, and its way from there."""
    committed = committed_at(contents.arrays(ctx.flow.tree_of(like)), ctx)
    return journey(committed, like, ctx, "committed here") if committed else []


def _is_made_of_itself(operand: cst.BaseExpression, made: cst.Call) -> bool:
    """Return whether an array takes the name of what it is made of: of `x = jnp.asarray(x)` that is
    put later, `x = x` would be left.
    """
    given = Arguments(made).get(0, "object", "a")
    return isinstance(operand, cst.Name) and is_named(given, operand.value)


def _is_handled(operand: cst.BaseExpression, put: cst.Call, ctx: Context) -> bool:
    """Return whether an array is used as it was made, where it could not be put."""
    return isinstance(operand, cst.Name) and any(
        isinstance(node, cst.Name) and node.value == operand.value
        for around in ctx.ancestors(put)
        if isinstance(around, cst.Try)
        for handler in around.handlers
        for node in ctx.tree.descendants(handler)
    )
