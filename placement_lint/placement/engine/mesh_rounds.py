"""Loops and comprehensions that make one mesh of each of a few numbers, or of each row of devices.

Elsewhere the values of the interpreter know no numbers that loops count: these would never end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.sharding import DeviceGrid
from placement_lint.placement.domain.values import Plain, Value, sole, value
from placement_lint.placement.engine.meshes import number_of, rows_of
from placement_lint.syntax.calls import integer_value
from placement_lint.syntax.dotted import said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree

MOST_ROUNDS = 8
"""Meshes that a loop makes, each by itself."""
_COMPUTED = (cst.Add, cst.FloorDivide, cst.Multiply, cst.Subtract)


def makes_meshes_of(name: str, bodies: Iterable[cst.CSTNode], tree: Tree) -> bool:
    """Return whether code makes a mesh of a variable, or of the devices that it takes by it.

    `Mesh(np.array(devices[4 * i : 4 * i + 4]), ("data",))`, `stage_mesh(i)`, and
    `devices[4 * i : 4 * i + 4]` alone.
    """
    calls: list[cst.Call] = []
    taken: list[cst.Subscript] = []
    for body in bodies:
        own = (body,) if isinstance(body, cst.Call | cst.Subscript) else ()
        for node in (*own, *tree.every(cst.Call, cst.Subscript, below=body)):
            if isinstance(node, cst.Call) and "mesh" in said(node.func).lower():
                calls.append(node)
            elif isinstance(node, cst.Subscript) and _has(name, node.slice, tree):
                taken.append(node)
    if any(_has(name, call.args, tree) for call in calls):
        return True
    return any(calls or "device" in said(node.value).lower() for node in taken)


def _has(name: str, nodes: Sequence[cst.CSTNode], tree: Tree) -> bool:
    return any(each.value == name for node in nodes for each in tree.every(cst.Name, below=node))


def counted(
    node: cst.BaseExpression, names: Names, of: Callable[[cst.BaseExpression], Value]
) -> tuple[Value, ...] | None:
    """Return the numbers of a short `range(…)`, each a value; None for anything else.

    `of` evaluates a bound, which is a number or a name, or computed of these.
    """
    if not isinstance(node, cst.Call) or names.qualified(node.func) != "builtins.range":
        return None
    if not all(_is_read(argument) for argument in node.args):
        return None
    bounds = [_bound(argument.value, of) for argument in node.args]
    known = [bound for bound in bounds if bound is not None]
    if not known or len(known) < len(bounds) or (len(known) == 3 and not known[2]):
        return None
    numbers = range(*known)
    if not 1 < len(numbers) <= MOST_ROUNDS:
        return None
    return tuple(value(Plain(number=number)) for number in numbers)


def _is_read(argument: cst.Arg) -> bool:
    pending = [argument.value]
    while pending:
        node = pending.pop()
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, _COMPUTED):
            pending += [node.left, node.right]
        elif not isinstance(node, cst.Attribute | cst.Integer | cst.Name):
            return False
    return not argument.star and argument.keyword is None


def _bound(node: cst.BaseExpression, of: Callable[[cst.BaseExpression], Value]) -> int | None:
    written = integer_value(node)
    return number_of(of(node)) if written is None else written


def rows(held: Value) -> tuple[Value, ...] | None:
    """Return the rows of an array of devices, where it is known which devices each has."""
    only = sole(held)
    found = rows_of(only) if isinstance(only, DeviceGrid) else None
    if found is None or not 1 < len(found) <= MOST_ROUNDS:
        return None
    return tuple(map(value, found))
