"""Calls that pass on what they are given: in another form, in a text, or one item after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from placement_lint.semantic.file_view import FileView

PASSING_ON = frozenset({
    "builtins.dict", "builtins.float", "builtins.format", "builtins.int", "builtins.max",
    "builtins.min", "builtins.round", "builtins.str", "json.dumps", "math.exp", "math.log",
    "math.log10", "math.log2", "math.sqrt", "numpy.array", "numpy.asarray",
    "numpy.clip", "numpy.concatenate", "numpy.exp", "numpy.expand_dims", "numpy.log", "numpy.max",
    "numpy.mean", "numpy.median", "numpy.min", "numpy.reshape", "numpy.sqrt", "numpy.squeeze",
    "numpy.stack", "numpy.std", "numpy.sum", "numpy.transpose",
})  # fmt: skip
_TEXT_METHODS = ("format", "join")


def makes_text(node: cst.CSTNode, *methods: str) -> bool:
    """Return whether a call makes a text by a method of one that is written out:
    `"{:.3f}".format(loss)`. `methods`: only by one of these; `", ".join(…)` reads no arrays.
    """
    return (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and isinstance(node.func.value, cst.SimpleString | cst.ConcatenatedString)
        and node.func.attr.value in (methods or _TEXT_METHODS)
    )


def is_used_up(node: cst.BaseExpression, ctx: FileView) -> bool:
    """Return whether a generator is given to what draws all of it at once: `", ".join(…)`."""
    argument = ctx.parent(node)
    call = ctx.parent(argument) if isinstance(argument, cst.Arg) else None
    if isinstance(argument, cst.Arg) and argument.star == "*":
        return True
    return call is not None and (ctx.called(call) in PASSING_ON or makes_text(call))
