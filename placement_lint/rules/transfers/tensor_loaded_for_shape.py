"""JDP412."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Edit, Severity
from placement_lint.jaxmodel.libraries.safetensors import JAX_FRAMEWORKS, OPENERS
from placement_lint.prefilter.conditions import AllOf, AnyOf
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.transfers.tensor_files import reads_of
from placement_lint.semantic.enclosing import is_in_test
from placement_lint.syntax.calls import Arguments, string_value

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.edits import Editor

_SHAPE = "shape"
# What is known of a tensor without its contents.
_DESCRIBING = frozenset({"dtype", "ndim", _SHAPE, "size"})


class TensorLoadedForShape(Rule):
    """A tensor that is loaded onto the accelerator only to read its shape.

    ## What it does
    Finds `f.get_tensor(name).shape`, `.dtype`, `.ndim` and `.size`, and names for such a tensor of
    which nothing else is used, if `f` is a file that safetensors has opened for JAX.

    ## Why is this bad?
    `get_tensor` reads the whole tensor and copies it to the default device, where it may not fit. A
    loop over the names of a checkpoint copies the whole checkpoint to the accelerator, only to
    discard it. The shape is in the header of the file, and `get_slice` reads only the header.

    ## Example
    ```python
    from safetensors import safe_open

    with safe_open("model.safetensors", framework="flax") as f:
        shapes = {name: f.get_tensor(name).shape for name in f.keys()}
    ```

    ## Use instead
    ```python
    from safetensors import safe_open

    with safe_open("model.safetensors", framework="flax") as f:
        shapes = {name: tuple(f.get_slice(name).get_shape()) for name in f.keys()}
    ```

    ## Fix safety
    Safe: `get_shape()` returns the same numbers, in a list. There is a fix only if `.shape` follows
    the call: `get_dtype()` returns another name than JAX's.

    ## What it does not flag
    Tensors that are used in any other way. Files opened for NumPy, PyTorch or an unknown framework.
    Tensors that are read under `jax.default_device` or another setting of the device. Tests.

    ## Verified by
    The proof disallows transfers from the host to devices and reads the shape of a tensor, which
    raises. After the fix it does not raise.

    ## References
    - [safetensors](https://huggingface.co/docs/safetensors/index): `safe_open` and `get_slice`
    """

    code, name = "JDP412", "tensor-loaded-for-shape"
    advice = "Read it from the header of the file: `f.get_slice(name).get_shape()`"
    severity, fix = Severity.WARNING, Applicability.SAFE
    follows_callers = True
    needs = AllOf(
        b"safe_open", b"get_tensor", AnyOf(b"flax", b"jax"),
        AnyOf(*(b"." + name.encode() for name in sorted(_DESCRIBING))),
    )  # fmt: skip

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if not ctx.is_call(node, *OPENERS):
            return
        framework = string_value(Arguments(node).get(1, "framework"))
        if framework is not None and framework not in JAX_FRAMEWORKS:
            # What is not written out may be the default of a parameter, and is known to `reads_of`.
            return
        reported = ctx.module.fact(_reported)
        for read, there in reads_of(node, ctx):
            if there.module is ctx.module and id(read) not in reported and _is_wasted(read, ctx):
                reported.add(id(read))
                ctx.report(
                    read,
                    f"all of this tensor is loaded to the default device for its "
                    f"`.{_described(read, ctx)}`",
                    fix=_plan(read, ctx),
                )


def _reported(_facts: ModuleFacts) -> set[int]:
    """Make the store of one file: what was reported, which may be read from several files."""
    return set()


def _is_wasted(read: cst.Call, ctx: Context) -> bool:
    return (
        isinstance(read.func, cst.Attribute)
        and read.func.attr.value == "get_tensor"
        and _described(read, ctx) is not None
        and ctx.flow.runs_on_system_default(read)
        and not is_in_test(read, ctx)
    )


def _described(read: cst.Call, ctx: Context) -> str | None:
    """Return what alone is used of a tensor: `shape`, or another word for what describes it."""
    found = _attribute(read, ctx)
    if found is not None:
        return found
    statement = ctx.parent(read)
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0].target
    if not isinstance(target, cst.Name) or ctx.names.sole_binding(target) is None:
        return None
    scope = ctx.names.scope(target)
    if scope.parent is None:
        # Other files may import it.
        return None
    uses = [each for each in ctx.names.uses(target.value, scope) if each is not target]
    words = [_attribute(each, ctx) for each in uses]
    return words[0] if words and None not in words else None


def _attribute(node: cst.BaseExpression, ctx: Context) -> str | None:
    parent = ctx.parent(node)
    is_described = isinstance(parent, cst.Attribute) and parent.attr.value in _DESCRIBING
    return parent.attr.value if is_described and isinstance(parent, cst.Attribute) else None


def _plan(read: cst.Call, ctx: Context) -> FixPlan | None:
    attribute, method = ctx.parent(read), read.func
    if (
        not isinstance(attribute, cst.Attribute)
        or not isinstance(method, cst.Attribute)
        or attribute.attr.value != _SHAPE
        or ctx.names.owner("tuple", ctx.names.scope(read)) is not None
    ):
        return None

    def build(editor: Editor) -> list[Edit]:
        start, end = editor.spans.outer(attribute)
        return [
            editor.insert(start, "tuple("),
            editor.replace(method.attr, "get_slice"),
            editor.replace(attribute.attr, "get_shape()"),
            editor.insert(end, ")"),
        ]

    return FixPlan(Applicability.SAFE, "Read the shape from the header", build)
