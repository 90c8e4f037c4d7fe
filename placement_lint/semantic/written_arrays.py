"""The type and the shape of an array, as far as the text of a file says them: `bf16[512, 4096]`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import Arguments, integer_value, is_none, string_value
from placement_lint.syntax.dotted import said

if TYPE_CHECKING:
    from placement_lint.semantic.file_view import FileView

_MAKERS = {
    "empty": (0, 1), "ones": (0, 1), "zeros": (0, 1), "full": (0, 2), "normal": (1, 2),
    "uniform": (1, 2),
}  # fmt: skip
"""What makes an array, and the positions of its shape and its type."""
_MODULES = ("jax.numpy", "jax.random", "numpy")
_KEEPING = {
    "jax.device_put": None, "jax.lax.with_sharding_constraint": None, "jax.numpy.array": 1,
    "jax.numpy.asarray": 1, "numpy.array": 1, "numpy.asarray": 1,
}  # fmt: skip
"""What gives the array that it is given, and the position of a type."""
_SHORT = {
    "bfloat16": "bf16", "bool": "bool", "bool_": "bool", "float16": "f16", "float32": "f32",
    "int16": "i16", "int32": "i32", "int8": "i8", "uint16": "u16", "uint32": "u32", "uint8": "u8",
}  # fmt: skip
"""The types that mean the same whether 64 bits are enabled or not, as JAX abbreviates them."""
_MOST_STEPS = 8


@dataclass(frozen=True)
class WrittenArray:
    """What is written of an array."""

    sizes: tuple[int, ...]
    dtype: str | None = None
    """None: not known."""

    def __str__(self) -> str:
        """Write it as JAX does."""
        return f"{self.dtype or ''}[{', '.join(map(str, self.sizes))}]"


def written_array(
    node: cst.CSTNode, view: FileView, steps: int = _MOST_STEPS
) -> WrittenArray | None:
    """Return what the text says of the array that an expression is; None: not even its shape."""
    if not isinstance(node, cst.BaseExpression) or not steps:
        return None
    node = followed(node, view)
    if isinstance(node, cst.BinaryOperation):
        for side, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(other, cst.Integer | cst.Float):
                found = written_array(side, view, steps - 1)
                # Of integers and a float, or by a division, JAX makes another type.
                keeps = found is not None and (found.dtype or "").startswith(("f", "bf"))
                return found if found is None or keeps else replace(found, dtype=None)
        return None
    if not isinstance(node, cst.Call):
        return None
    arguments = Arguments(node)
    if arguments.is_open:
        return None
    name = view.called(node) or ""
    if name in _KEEPING:
        given = arguments.get(0, "x", "object", "a")
        found = None if given is None else written_array(given, view, steps - 1)
        position = _KEEPING[name]
        return _typed(found, None if position is None else arguments.get(position, "dtype"), view)
    module, _, last = name.rpartition(".")
    if (
        module in _MODULES
        and last in _MAKERS
        and (module == "jax.random") == (_MAKERS[last][0] > 0)
    ):
        shape, dtype = _MAKERS[last]
        sizes = _sizes(arguments.get(shape, "shape"), view)
        made = None if sizes is None else WrittenArray(sizes, None if module == "numpy" else "f32")
        if last == "full" and made is not None:
            made = replace(made, dtype=None)
        return _typed(made, arguments.get(dtype, "dtype"), view)
    if isinstance(node.func, cst.Attribute) and said(node.func) == "astype":
        found = written_array(node.func.value, view, steps - 1)
        return _typed(found, arguments.get(0, "dtype"), view)
    return None


def _typed(
    found: WrittenArray | None, dtype: cst.BaseExpression | None, view: FileView
) -> WrittenArray | None:
    """Return an array with the `dtype` that the call names, if it names one."""
    if found is None or dtype is None or is_none(dtype):
        return found
    named = followed(dtype, view)
    text = string_value(named) if isinstance(named, cst.SimpleString) else said(named)
    return replace(found, dtype=_SHORT.get(text or ""))


def _sizes(shape: cst.BaseExpression | None, view: FileView) -> tuple[int, ...] | None:
    if shape is None:
        return None
    shape = followed(shape, view)
    parts = (
        [element.value for element in shape.elements]
        if isinstance(shape, cst.Tuple | cst.List)
        else [shape]
    )
    sizes = [integer_value(followed(part, view)) for part in parts]
    known = [size for size in sizes if size is not None and size >= 0]
    return tuple(known) if len(known) == len(sizes) else None
