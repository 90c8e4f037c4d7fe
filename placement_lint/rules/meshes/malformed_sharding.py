"""JDP704."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.findings import Applicability, Edit, Severity
from placement_lint.placement.domain.sharding import Mesh, Sharding, Spec
from placement_lint.prefilter.conditions import AllOf, AnyOf, Jax, Uses, passed
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.devices.queries import names_device
from placement_lint.rules.meshes.device_grids import count, dimensions
from placement_lint.rules.meshes.shardings import (
    calls_at,
    is_unknown_alone,
    made_of,
    may_know_devices,
    may_know_meshes,
)
from placement_lint.semantic.enclosing import is_asserted_to_fail, is_caught
from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import Arguments, integer_value, is_none, string_value
from placement_lint.syntax.definitions import named_function
from placement_lint.syntax.spelling import needed

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor

_SPEC = "jax.sharding.PartitionSpec"
_SPECS = frozenset({_SPEC, "jax.P"})
_CAUGHT = frozenset({
    "builtins.AttributeError", "builtins.BaseException", "builtins.Exception",
    "builtins.TypeError", "builtins.ValueError",
})  # fmt: skip
_RAISING = "the call raises"


class MalformedSharding(Rule):
    """A mesh, a spec or a sharding with an argument of the wrong kind.

    ## What it does
    Finds `NamedSharding(mesh, ("data",))`, `NamedSharding(mesh, None)` and
    `NamedSharding(spec, mesh)`; a mesh with more or fewer names than its devices have dimensions,
    as `Mesh(jax.devices(), ("data", "model"))`; `jax.make_mesh(8, …)` and
    `jax.make_mesh((-1, 2), …)`; a device or a mesh as `in_shardings` or `out_shardings`, and a mesh
    as the target of `jax.device_put`; a tuple of shardings, or of one and None, for a function that
    returns one array; and `PartitionSpec(0)` and `PartitionSpec("")`.

    ## Why is this bad?
    JAX raises an exception where the object is first used, sometimes with an unrelated message
    (`AttributeError: 'tuple' object has no attribute 'partitions'`). `PartitionSpec(0)` and
    `PartitionSpec("")` do not raise from JAX 0.5.3 on: they mean `PartitionSpec(None)`, and the
    array is not split.

    ## Example
    ```python
    import jax
    from jax.sharding import Mesh, NamedSharding

    mesh = Mesh(jax.devices(), ("data",))
    by_row = NamedSharding(mesh, ("data", None))
    ```

    ## Use instead
    ```python
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(jax.devices(), ("data",))
    by_row = NamedSharding(mesh, PartitionSpec("data", None))
    ```

    ## Fix safety
    Safe if a tuple, a string or None is used in place of a spec: it becomes a `PartitionSpec` of
    the same axes. No fix for the others.

    ## What it does not flag
    Arguments of unknown type; devices whose number of dimensions is not known; calls with `*` or
    `**`; a mesh with a single name, `Mesh(devices, "data")`, and `Mesh(device, ())`. A tuple of
    shardings for a function that may return a tuple. An exception that is expected or caught.

    ## Verified by
    The proof makes a sharding from a mesh and a tuple, which raises TypeError or AttributeError.
    With a PartitionSpec it works.

    ## References
    - [jax.sharding](https://docs.jax.dev/en/latest/jax.sharding.html)
    - [jax-ml/jax#15788](https://github.com/jax-ml/jax/issues/15788)
    - Measured on JAX 0.4.30, 0.5.3, 0.7.2, 0.10.2 and 0.12.0.1; on 0.5.3 alone a tuple is accepted
    """

    code, name = "JDP704", "malformed-sharding"
    advice = "Pass the part that JAX expects there"
    severity, fix = Severity.ERROR, Applicability.SAFE
    follows_callers = True
    holds_on_any_mesh = True
    needs = AllOf(
        Jax(),
        AnyOf(
            Uses("jax.sharding.*", "jax.NamedSharding", "jax.P", "jax.make_mesh"),
            passed(b"out_shardings"),
            passed(b"in_shardings"),
        ),
    )

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        check = _CHECKS.get(ctx.called(node) or "")
        arguments = Arguments(node)
        if check is None or arguments.is_open:
            return
        found = check(node, arguments, ctx)
        if found is None or is_asserted_to_fail(node, ctx) or is_caught(node, ctx, _CAUGHT):
            return
        where, message, fix = found
        given = [ctx.flow.value(each) for each in arguments.values]
        ctx.report(where, message, related=made_of(node, ctx, *given), fix=fix)


Found: TypeAlias = "tuple[cst.CSTNode, str, FixPlan | None]"


def _named_sharding(node: cst.Call, arguments: Arguments, ctx: Context) -> Found | None:
    mesh, spec = arguments.get(0, "mesh"), arguments.get(1, "spec")
    if mesh is None or spec is None:
        return None
    if ctx.called(followed(mesh, ctx)) not in _SPECS and not _may_be_exchanged(spec, ctx):
        return None
    seen = calls_at(node, ctx)
    if not seen:
        return None
    meshes = [call.given[0] for call in seen]
    specs = [call.given[1] for call in seen]
    if _all_are(meshes, Spec):
        # Whatever the other one is: a spec has no devices.
        return node, f"NamedSharding takes the mesh first, then the spec: {_RAISING}", None
    if _all_are(meshes, *_devices()):
        return mesh, f"NamedSharding takes a mesh, not devices: {_RAISING}", None
    what = _no_spec(spec, specs, ctx)
    if what is None:
        return None
    message = f"NamedSharding takes a PartitionSpec, not {what}: {_RAISING}"
    return spec, message, _spec_plan(spec, node, ctx)


def _may_be_exchanged(spec: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether something else may be passed for a mesh or a spec, as far as that is known.

    Where a spec is made, what is known of the mesh is a mesh, unless the file knows devices.
    """
    written = followed(spec, ctx)
    is_spec = ctx.called(written) in _SPECS or is_unknown_alone(written, ctx)
    return not is_spec or may_know_devices(ctx)


def _devices() -> tuple[type, ...]:
    from placement_lint.placement.domain.library_values import DeviceList
    from placement_lint.placement.domain.values import TheDevice

    return DeviceList, TheDevice


def _all_are(every: list[Value], *kinds: type) -> bool:
    return all(held and all(isinstance(atom, kinds) for atom in held) for held in every)


def _no_spec(spec: cst.BaseExpression, every: list[Value], ctx: Context) -> str | None:
    """Return what is passed in the place of a spec, in words; None where it may be one."""
    from placement_lint.placement.domain.values import Sequence

    if is_none(spec):
        return "None"
    if string_value(spec) is not None:
        return f'the string "{string_value(spec)}"'
    if _all_are(every, Mesh):
        return "a mesh"
    if not _all_are(every, Sequence):
        return None
    written = followed(spec, ctx)
    return "a list" if isinstance(written, cst.List) else "a tuple"


def _spec_plan(spec: cst.BaseExpression, node: cst.Call, ctx: Context) -> FixPlan | None:
    spelled = ctx.reach(_SPEC, at=node)
    if spelled is None:
        return None
    parts: list[cst.BaseExpression] = []
    if isinstance(spec, cst.Tuple):
        if any(isinstance(each, cst.StarredElement) for each in spec.elements):
            return None
        parts = [each.value for each in spec.elements]
    elif string_value(spec) is not None:
        parts = [spec]
    elif not is_none(spec):
        return None

    def build(editor: Editor) -> list[Edit] | None:
        texts = []
        for part in parts:
            start, end = editor.spans.outer(part)
            texts.append(editor.source.text[start:end])
        start, end = editor.spans.outer(spec)
        if editor.has_comment((start, end)):
            return None
        return [editor.replace_offsets(start, end, f"{spelled}({', '.join(texts)})")]

    message = "Make it a PartitionSpec"
    return FixPlan(Applicability.SAFE, message, build, imports=needed([spelled]))


def _mesh(node: cst.Call, arguments: Arguments, ctx: Context) -> Found | None:
    devices, names = arguments.get(0, "devices"), arguments.get(1, "axis_names")
    if devices is None or names is None or is_unknown_alone(followed(names, ctx), ctx):
        return None
    wanted = 1 if string_value(followed(names, ctx)) is not None else count(names, ctx)
    known = dimensions(devices, ctx)
    if wanted is None or known is None or wanted == known:
        return None
    return node, _counts("the devices", known, "dimension", wanted), None


def _counts(what: str, known: int, unit: str, wanted: int) -> str:
    have = f"{what} have {known} {unit}{'' if known == 1 else 's'}"
    names = f"{wanted} axis name{'' if wanted == 1 else 's'}"
    return f"{have} and there {'is' if wanted == 1 else 'are'} {names}: ValueError"


def _make_mesh(node: cst.Call, arguments: Arguments, ctx: Context) -> Found | None:
    shape, names = arguments.get(0, "axis_shapes", "axis_sizes"), arguments.get(1, "axis_names")
    if shape is None:
        return None
    if integer_value(shape) is not None:
        return shape, "jax.make_mesh takes a tuple of sizes, not a number: TypeError", None
    found = _negative(shape, "jax.make_mesh", ctx)
    if found is not None or names is None:
        return found
    wanted = 1 if string_value(followed(names, ctx)) is not None else count(names, ctx)
    known = count(shape, ctx)
    if wanted is None or known is None or wanted == known:
        return None
    return node, _counts("the sizes", known, "entry", wanted).replace("entrys", "entries"), None


def _negative(shape: cst.BaseExpression, what: str, ctx: Context) -> Found | None:
    written = followed(shape, ctx)
    if isinstance(written, cst.Tuple | cst.List) and any(
        (integer_value(each.value) or 0) < 0 for each in written.elements
    ):
        return shape, f"{what} does not infer a size: -1 raises ValueError", None
    return None


def _device_mesh(_node: cst.Call, arguments: Arguments, ctx: Context) -> Found | None:
    shape = arguments.get(0, "mesh_shape")
    return None if shape is None else _negative(shape, "create_device_mesh", ctx)


def _spec(_node: cst.Call, arguments: Arguments, _ctx: Context) -> Found | None:
    for part in arguments.positional:
        is_zero = isinstance(part, cst.Integer) and integer_value(part) == 0
        if is_zero or string_value(part) == "":
            text = "0" if is_zero else '""'
            return part, f"{text} in a PartitionSpec means None: this dimension is not split", None
    return None


def _jit(_node: cst.Call, arguments: Arguments, ctx: Context) -> Found | None:
    from placement_lint.placement.facts.traced_results import gives_array

    for keyword in ("in_shardings", "out_shardings"):
        given = arguments.get(None, keyword)
        if given is None:
            continue
        if names_device(given, ctx):
            return given, f"{keyword} takes shardings, not a device: TypeError", None
        if may_know_meshes(ctx) and _all_are([ctx.flow.value(given)], Mesh):
            return given, f"{keyword} takes shardings, not a mesh: TypeError", None
    given = arguments.get(None, "out_shardings")
    function = named_function(arguments.get(0, "fun"), ctx.names)
    if (
        isinstance(given, cst.Tuple)
        and function is not None
        and not (isinstance(function, cst.FunctionDef) and function.decorators)
        and gives_array(function, ctx.names, "jax.jit")
        and all(_is_sharding(each.value, ctx) or is_none(each.value) for each in given.elements)
        and not all(is_none(each.value) for each in given.elements)
    ):
        return (
            given,
            "out_shardings is a tuple, and the function returns one array: ValueError",
            None,
        )
    return None


def _is_sharding(node: cst.BaseExpression, ctx: Context) -> bool:
    held = ctx.flow.value(node)
    return bool(held) and all(isinstance(atom, Sharding | Spec) for atom in held)


def _put(node: cst.Call, arguments: Arguments, ctx: Context) -> Found | None:
    target = arguments.get(1, "device", "shardings")
    if target is None or not may_know_meshes(ctx):
        return None
    seen = calls_at(node, ctx)
    if not seen or not _all_are([call.given[0] for call in seen], Mesh):
        return None
    return target, "a mesh does not say how to split the array: pass a NamedSharding", None


_CHECKS: dict[str, Callable[[cst.Call, Arguments, Context], Found | None]] = {
    "jax.NamedSharding": _named_sharding,
    "jax.P": _spec,
    "jax.device_put": _put,
    "jax.experimental.mesh_utils.create_device_mesh": _device_mesh,
    "jax.jit": _jit,
    "jax.lax.with_sharding_constraint": _put,
    "jax.make_mesh": _make_mesh,
    "jax.sharding.Mesh": _mesh,
    "jax.sharding.NamedSharding": _named_sharding,
    "jax.sharding.PartitionSpec": _spec,
}
