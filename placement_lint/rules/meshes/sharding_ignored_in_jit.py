"""JDP705."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Confidence, Edit, Severity
from placement_lint.jaxmodel.sharded import IGNORING
from placement_lint.jaxmodel.sharded_operations import SPLIT_ALIKE, SPLIT_ALIKE_METHODS
from placement_lint.jaxmodel.tracing import (
    COMPILING,
    COMPILING_WORDS,
    OVER_WHOLE_ARRAYS,
    TraceKind,
)
from placement_lint.placement.domain.contents import functions_in
from placement_lint.placement.domain.sharded_calls import Running
from placement_lint.placement.domain.sharding import Sharding
from placement_lint.prefilter.conditions import AllOf, AnyOf, Jax, Uses, passed
from placement_lint.prefilter.mesh_names import NAMES_SHARDINGS
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.meshes.compiled_callers import is_only_called, uses_of
from placement_lint.rules.meshes.shardings import (
    Auto,
    axes_of,
    calls_at,
    depends_on_tracing,
    is_auto,
    leaves,
    made_at,
    may_know_shardings,
    may_run_at_compile_time,
    names_memories,
)
from placement_lint.semantic.enclosing import is_asserted_to_fail
from placement_lint.semantic.followed import bound_before
from placement_lint.semantic.tracing import TracedBy, TracedFunctions
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.spelling import needed

if TYPE_CHECKING:
    from placement_lint.placement.domain.sharded_calls import ShardedCall
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor

_CONSTRAINT = "jax.lax.with_sharding_constraint"
_PUT = "jax.device_put"
_STAGED = frozenset({TraceKind.STAGED})
_MOST_STEPS = 6
"""Of a value that is computed element by element of another one."""


class ShardingIgnoredInJit(Rule):
    """A `jax.device_put` to a sharding inside a function that JAX compiles.

    ## What it does
    Finds `jax.device_put(x, NamedSharding(mesh, spec))`, and `jnp.zeros`, `ones`, `full`, `arange`
    and similar functions with `device=sharding`, in a function that is compiled by `jax.jit`,
    `jax.lax.scan` and similar functions, or by the wrappers of flax.nnx and equinox; in methods, in
    functions inside them, and in helper functions, also of other files, that only compiled
    functions call. The sharding must split the array, or be meant to gather one that
    `jax.lax.with_sharding_constraint` splits in the same function. The axes of its mesh must be
    Auto, as those of `jax.sharding.Mesh(…)` are.

    ## Why is this bad?
    In compiled code, the `PartitionSpec` is silently ignored: the array stays split, or whole, as
    it was. What should be spread over eight devices is computed eight times, and takes the memory
    of the whole array on each of them. Only outside jit does the same call split the array.

    ## Example
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("data",))
    by_row = NamedSharding(mesh, PartitionSpec("data"))

    @jax.jit
    def encode(params, images):
        images = jax.device_put(images, by_row)
        return images @ params
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("data",))
    by_row = NamedSharding(mesh, PartitionSpec("data"))

    @jax.jit
    def encode(params, images):
        images = jax.lax.with_sharding_constraint(images, by_row)
        return images @ params
    ```

    Or put the argument to the sharding before the call: `encode(params, jax.device_put(images,
    by_row))`.

    ## Fix safety
    Safe if the mesh certainly has Auto axes, the function is certainly compiled, and the spec
    splits only the first dimension: `jax.lax.with_sharding_constraint` replaces `jax.device_put`.
    Unsafe otherwise: a spec with more entries than the array has dimensions was ignored as well,
    but the constraint raises, as it does for Explicit axes. No fix for `jnp.zeros(…, device=…)`.

    ## What it does not flag
    `jax.device_put` outside compiled functions, or in a function that is also called outside; in a
    function passed only to `jax.vmap`, `jax.grad` or `jax.checkpoint`, where it works; in a
    function passed to `jax.shard_map` or `jax.pmap`; in the Python function of a callback; under
    `jax.ensure_compile_time_eval`; behind a test whether the array is a tracer. A sharding that
    splits nothing, such as `NamedSharding(mesh, PartitionSpec())`, for an argument: one that is on
    one device is copied to all others, as written. A single device (JDP403). Memory kinds; and, in
    a program that puts arrays into the memory of the host, arguments that are not known to be in
    the device's memory at each call, or whose function or sharding is named for it (`fetch`,
    `on_device`): a `device_put` between memories works. Policies of `jax.checkpoint` put no
    argument there. Meshes with Explicit axes, including `jax.make_mesh` without `axis_types` from
    JAX 0.9.0 on: there the call changes the type of the array.

    ## Verified by
    The proof puts rows to a mesh of eight devices in a jitted function, and finds all rows on each
    device. With the constraint each device has an eighth of them.

    ## References
    - [jax-ml/jax#18086](https://github.com/jax-ml/jax/issues/18086): what `device_put` does in the
      context of shardings is not documented
    - vllm-project/tpu-inference, `models/jax/gemma4_mm.py`: a jitted method that puts its images to
      a mesh
    - Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP705", "sharding-ignored-in-jit"
    advice = (
        "Constrain it by `jax.lax.with_sharding_constraint`, or put the argument before the call"
    )
    severity, fix = Severity.ERROR, Applicability.SAFE
    follows_callers = True
    holds_on_any_mesh = True
    needs = AllOf(
        Jax(),
        NAMES_SHARDINGS,
        AnyOf(Uses(_PUT), passed(b"device")),
        AnyOf(*COMPILING_WORDS, Uses(_PUT)),
    )

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        put = _put(node, ctx)
        if put is None or not may_know_shardings(ctx):
            return
        if is_asserted_to_fail(node, ctx) or not _may_be_compiled(ctx):
            return
        seen = calls_at(node, ctx)
        if not seen or any(call.running is not Running.COMPILED for call in seen):
            return
        gathers = put.is_function and _gathers(node, seen, ctx)
        splitting = [gathers or _splitting(call, ctx) for call in seen]
        if None in splitting or depends_on_tracing(node, ctx):
            return
        if put.is_function and names_memories(ctx):
            # Only what has something to report needs it.
            from placement_lint.rules.meshes.memories import is_on_device, uses_host_memory

            if uses_host_memory(ctx) and not is_on_device(node, ctx):
                return
        if may_run_at_compile_time(ctx):
            return
        traced_by = ctx.module.fact(TracedFunctions).around(node, _STAGED)
        if _sees_parts(node, ctx):
            return
        is_certain = traced_by is not None and traced_by.is_certain
        if not is_certain and not is_only_called(node, ctx):
            return
        if traced_by is None and may_run_at_compile_time(ctx, elsewhere=True):
            return
        is_sure = is_certain and all(splitting) and not names_memories(ctx, elsewhere=True)
        ctx.report(
            node,
            _message(put, traced_by, gathers=gathers),
            confidence=Confidence.DEFINITE if is_sure else Confidence.LIKELY,
            fix=_plan(node, put, ctx, is_safe=is_sure and not gathers and _is_short(seen)),
            related=(
                *(_called_at(node, ctx) if traced_by is None else ()),
                *made_at(node, ctx, *_shardings(seen)),
            ),
        )


def _sees_parts(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a function around a call is given parts of arrays, by `jax.shard_map`.

    Also where the mapped function is compiled: `jax.jit(jax.shard_map(body, …))`.
    """
    traced = ctx.module.fact(TracedFunctions)
    return any(
        by.tracing.kind in COMPILING and by.tracing.name not in OVER_WHOLE_ARRAYS
        for around in ctx.ancestors(node)
        for by in traced.of(around)
    )


@dataclass(frozen=True)
class _Put:
    """A call that says where an array is to be."""

    what: str
    """As people call it."""
    is_function: bool
    """It is `jax.device_put` itself."""


def _called_at(node: cst.Call, ctx: Context) -> list[tuple[cst.CSTNode, str, str]]:
    """Return the first place that calls the function around a call, in code that is compiled.

    A function of another file, or a method, may only have the same name.
    """
    function = ctx.function(node)
    while isinstance(function, cst.Lambda):
        function = ctx.function(function)
    if function is None:
        return []
    place = ctx.flow.module.place(function)
    for there, use in uses_of(function, ctx):
        call = there.parent(use)
        if not isinstance(call, cst.Call) or call.func is not use:
            continue
        is_own = there.module is ctx.module and isinstance(use, cst.Name)
        if is_own or place in functions_in(there.flow.value(call.func)):
            return [(call, there.module.path, "called here, in compiled code")]
    return []


def _put(node: cst.Call, ctx: Context) -> _Put | None:
    name = ctx.called(node)
    arguments = Arguments(node)
    if name == _PUT and arguments.get(1, "device") is not None:
        return _Put("jax.device_put", True)
    if name in IGNORING and arguments.get(None, "device") is not None:
        return _Put(f"device= of {name.replace('jax.numpy.', 'jnp.')}", False)
    return None


def _may_be_compiled(ctx: Context) -> bool:
    """Return whether the file has compiled functions, or others of its program may call it."""
    if ctx.module.has_siblings or ctx.flow.program.assumed_compiled:
        return True
    return any(True for _ in ctx.flow.module.compiled.functions)


def _shardings(seen: frozenset[ShardedCall]) -> list[Sharding]:
    """Return the shardings that executions of a call were given, if it is one and the same."""
    found = {atom for call in seen for atom in leaves(call.given[0])}
    return [atom for atom in found if isinstance(atom, Sharding)] if len(found) == 1 else []


def _splitting(call: ShardedCall, ctx: Context) -> bool | None:
    """Return whether a call was surely given a sharding that is ignored; None: perhaps not."""
    found = list(leaves(call.given[0]))
    if not found:
        return None
    is_sure = True
    for atom in found:
        if not isinstance(atom, Sharding) or not atom.is_named or atom.replicated:
            return None
        is_auto_ = is_auto(atom.mesh, axes_of(atom), ctx.target)
        if is_auto_ is Auto.NO:
            return None
        splits = atom.spec is not None and atom.spec.splits
        is_sure &= is_auto_ is Auto.YES and splits
    return is_sure


def _gathers(node: cst.Call, seen: frozenset[ShardedCall], ctx: Context) -> bool:
    """Return whether a call is to gather what a constraint in the same function surely splits."""
    operand = Arguments(node).get(0, "x")
    if operand is None or not _all_on_auto(seen, ctx, whole=True):
        return False
    for _ in range(_MOST_STEPS):
        made = bound_before(operand, ctx) if isinstance(operand, cst.Name) else operand
        if not isinstance(made, cst.BaseExpression):
            return False
        if isinstance(made, cst.Call) and ctx.called(made) == _CONSTRAINT:
            return _all_on_auto(calls_at(made, ctx), ctx, whole=False)
        inside = _alike(made, ctx)
        if inside is None:
            return False
        operand = inside
    return False


def _alike(node: cst.BaseExpression, ctx: Context) -> cst.BaseExpression | None:
    """Return the array of which an expression computes with each element, and numbers."""
    if isinstance(node, cst.Name):
        return node
    if isinstance(node, cst.BinaryOperation):
        numbers = (cst.Integer, cst.Float)
        given = [each for each in (node.left, node.right) if not isinstance(each, numbers)]
        return given[0] if len(given) == 1 else None
    if isinstance(node, cst.Call) and ctx.called(node) in SPLIT_ALIKE and len(node.args) == 1:
        return node.args[0].value
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        return node.func.value if node.func.attr.value in SPLIT_ALIKE_METHODS else None
    return None


def _all_on_auto(seen: frozenset[ShardedCall], ctx: Context, *, whole: bool) -> bool:
    """Return whether all executions are given shardings, with Auto axes, that split; or, `whole`,
    that surely split nothing.
    """
    found = [atom for call in seen for atom in leaves(call.given[0])]
    return bool(found) and all(
        isinstance(atom, Sharding)
        and atom.is_named
        and atom.spec is not None
        and (atom.spec.is_whole if whole else atom.spec.splits)
        and is_auto(atom.mesh, axes_of(atom), ctx.target) is Auto.YES
        for atom in found
    )


def _is_short(seen: frozenset[ShardedCall]) -> bool:
    """Return whether no array can have too few dimensions for a sharding, but a scalar."""
    shardings = [atom for call in seen for atom in leaves(call.given[0])]
    return all(
        isinstance(atom, Sharding)
        and atom.spec is not None
        and atom.spec.parts is not None
        and len(atom.spec.parts) < 2
        for atom in shardings
    )


def _message(put: _Put, traced_by: TracedBy | None, *, gathers: bool) -> str:
    by = "that only compiled code calls"
    if traced_by is not None:
        by = f"that {traced_by.tracing.name} compiles"
    verb = "is ignored" if put.what.startswith("device=") else "to a sharding is ignored"
    left = "what is split stays split" if gathers else "nothing is split"
    return f"{put.what} {verb} in a function {by}: {left}"


def _plan(node: cst.Call, put: _Put, ctx: Context, *, is_safe: bool) -> FixPlan | None:
    arguments = Arguments(node)
    known = {"x", "device"}
    if not put.is_function or arguments.is_open or not arguments.keywords.keys() <= known:
        return None
    spelled = ctx.reach(_CONSTRAINT, at=node)
    if spelled is None:
        return None

    def build(editor: Editor) -> list[Edit]:
        renamed = [
            editor.replace(argument.keyword, "shardings")
            for argument in node.args
            if argument.keyword is not None and argument.keyword.value == "device"
        ]
        return [editor.replace(node.func, str(spelled)), *renamed]

    level = Applicability.SAFE if is_safe else Applicability.UNSAFE
    return FixPlan(level, "Constrain it in place of putting it", build, imports=needed([spelled]))
