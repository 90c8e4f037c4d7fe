"""The arguments of a call of `jax.jit`: `**options`, and those about donation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.placement.domain.values import UNKNOWN, Mapping, sole
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    import collections.abc
    from collections.abc import Callable

    import libcst as cst

    from placement_lint.placement.domain.values import Value

_SAYING = ("donate", "static")


def options_of(
    node: cst.Call,
    operands: collections.abc.Mapping[int, Value],
    index: Callable[[cst.CSTNode], int],
) -> dict[str, Value] | None:
    """Return what `**options` passes on, by the keyword; None where that is not known."""
    found: dict[str, Value] = {}
    for argument in node.args:
        if argument.star == "**":
            held = sole(operands.get(index(argument.value), UNKNOWN))
            if not isinstance(held, Mapping) or held.element:
                return None
            found |= {str(name): each for name, each in held.items}
    return found


def donation_of(
    node: cst.Call,
    operands: collections.abc.Mapping[int, Value],
    index: Callable[[cst.CSTNode], int],
    options: dict[str, Value] | None,
) -> tuple[tuple[str, Value], ...]:
    """Return what this call is to donate and to take as static, by the keyword.

    What is written out as a tuple is not among the operands, and is the same for each call.
    """
    if options is None:
        return ()
    written = Arguments(node).keywords.items()
    said = options | {
        name: operands[at] for name, each in written if (at := index(each)) in operands
    }
    return tuple((name, said[name]) for name in sorted(said) if name.startswith(_SAYING))
