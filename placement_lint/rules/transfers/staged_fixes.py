"""The fixes of JDP402: what is put is made in NumPy instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Edit
from placement_lint.jaxmodel.effects import Effect
from placement_lint.rules.base import FixPlan
from placement_lint.rules.transfers.numpy_values import makes_numpy_array, only_reads
from placement_lint.rules.transfers.putting_later import is_assigned
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.spelling import needed

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor

CONVERTING = frozenset({Effect.CONVERT, Effect.COPY})
_NAMES = "arange empty eye full load ones zeros"
IN_NUMPY = frozenset(f"jax.numpy.{name}" for name in _NAMES.split())
"""What NumPy makes just so, of the same arguments."""
_IN_NUMPY = "Make it in NumPy, and put that"


def put_plan(call: cst.Call, name: str, ctx: Context) -> FixPlan | None:
    """`jnp.asarray(x)` → `x`, `jnp.zeros(n)` → `np.zeros(n)`, of what is put after that."""
    row = ctx.names.table.get(name)
    if row is not None and row.effect in CONVERTING:
        first = Arguments(call).get(0, "object", "a")
        if first is None or len(call.args) != 1 or isinstance(first, cst.GeneratorExp):
            return None

        def unwrap(editor: Editor) -> list[Edit] | None:
            start, end = editor.spans.inner(call)
            if editor.has_comment((start, end)):
                return None
            inner_start, inner_end = editor.spans.outer(first)
            text = editor.source.text[inner_start:inner_end]
            return [editor.replace_offsets(start, end, text)]

        is_safe = _is_unshared(first, ctx) and not _has_a_name_elsewhere(call, ctx)
        level = Applicability.SAFE if is_safe else Applicability.UNSAFE
        return FixPlan(level, "Put the NumPy array itself", unwrap)
    if name not in IN_NUMPY:
        return None
    spelled = ctx.reach(name.replace("jax.numpy.", "numpy."), at=call)
    if spelled is None:
        return None
    arguments = Arguments(call)
    # Filled with a Python number it is of a weak type, which NumPy does not have.
    is_weak = name == "jax.numpy.full" and arguments.get(2, "dtype") is None
    return FixPlan(
        Applicability.UNSAFE,
        f"{_IN_NUMPY}, which may have another type then" if is_weak else _IN_NUMPY,
        lambda editor: [editor.replace(call.func, str(spelled))],
        imports=spelled.imports,
    )


def _has_a_name_elsewhere(call: cst.Call, ctx: Context) -> bool:
    """Return whether other files may import what a call makes: then as an array of NumPy."""
    statement = ctx.parent(call)
    return (
        isinstance(statement, cst.AnnAssign | cst.Assign | cst.NamedExpr)
        and ctx.names.scope(call).parent is None
        and (ctx.module.is_open or ctx.module.run.importer(ctx.module.path) is not None)
    )


def _is_unshared(array: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether nothing surely changes a NumPy array after it was put.

    On the CPU `jax.device_put` uses the memory of the array, where `jnp.asarray` makes a copy.
    """
    if not isinstance(array, cst.Name):
        return makes_numpy_array(array, ctx, own=True)
    statement = ctx.statement(array)
    made = [
        binding.value
        for binding in ctx.names.bindings(array)
        if binding.node is not statement or binding.value is None
    ]
    if any(value is None or not makes_numpy_array(value, ctx, own=True) for value in made):
        return False
    end = len(ctx.tree.nodes)
    if len(made) < len(ctx.names.bindings(array)):
        # From here on the name stands for what was put.
        end = ctx.tree.ends[ctx.tree.index(statement)]
    return all(
        use is array or only_reads(use, ctx) or is_assigned(use, ctx)
        for use in ctx.names.uses(array.value, ctx.names.scope(array))
        if ctx.tree.index(use) < end
    )


def filling_plan(call: cst.Call, device: cst.BaseExpression, ctx: Context) -> FixPlan | None:
    """`jnp.zeros(n, device=d)` → `jax.device_put(np.zeros(n), d)`."""
    name = ctx.called(call) or ""
    made = ctx.reach(name.replace("jax.numpy.", "numpy."), at=call)
    put = ctx.reach("jax.device_put", at=call)
    last = call.args[-1]
    if made is None or put is None or last.value is not device or len(call.args) < 2:
        return None
    before = call.args[-2]

    def build(editor: Editor) -> list[Edit] | None:
        start, end = editor.spans.inner(call)
        _, function_end = editor.spans.outer(call.func)
        _, before_end = editor.spans.outer(before.value)
        device_start, device_end = editor.spans.outer(device)
        if editor.has_comment((before_end, end)):
            return None
        text = editor.source.text[device_start:device_end]
        return [
            editor.replace_offsets(start, function_end, f"{put}({made}"),
            editor.replace_offsets(before_end, end, f"), {text})"),
        ]

    return FixPlan(Applicability.UNSAFE, _IN_NUMPY, build, imports=needed([made, put]))
