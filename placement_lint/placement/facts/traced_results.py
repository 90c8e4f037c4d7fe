"""Whether a function that JAX transforms gives one array, given arrays.

Its body is not executed, for it runs on tracers; but what `jax.jit(lambda q: q * 2)` gives is one
array on the device that the whole computation runs on, and not just anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.jaxmodel.transfer import Effect, Gives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.syntax.names import Names

_EFFECTS = frozenset({Effect.COMPUTE, Effect.CONVERT, Effect.COPY, Effect.CREATE, Effect.SAMPLE})
_ATTRIBUTES = frozenset({"T", "imag", "mT", "real"})
_METHODS = {
    row.name.removeprefix("jax.Array."): row
    for row in transfer.ROWS
    if row.name.startswith("jax.Array.") and ".at." not in row.name
}
_NUMBERS = (cst.Integer, cst.Float)


@dataclass(frozen=True)
class Result:
    """One array that a function gives."""

    of: frozenset[str]
    """The parameters that it is computed of."""
    is_parameter: bool = False
    """It is one of them as it is, or may be."""


def gives_array(function: cst.FunctionDef | cst.Lambda, names: Names, transformation: str) -> bool:
    """Return whether a transformed function gives one array where all its arguments are arrays.

    That array must be where the transformed call runs. So it is with `jax.jit`; with those that
    run operation by operation, where every argument goes into it, and it is no argument itself.
    """
    result = _result(function, names)
    if result is None:
        return False
    params = function.params
    if isinstance(params.star_arg, cst.Param) or params.star_kwarg is not None:
        return False
    if transformation == "jax.jit":
        return True
    every = {param.name.value for param in (*params.posonly_params, *params.params)}
    return not params.kwonly_params and not result.is_parameter and result.of == every


def row_gives_array(row: transfer.Row | None, transformation: str) -> bool:
    """Return whether a transformed function of JAX does, like `gives_array`."""
    if row is None or row.gives is not Gives.ARRAY or row.effect not in _EFFECTS:
        return False
    if transformation == "jax.jit":
        return True
    return row.effect is Effect.COMPUTE and row.certain and not row.loses


def _result(function: cst.FunctionDef | cst.Lambda, names: Names) -> Result | None:
    params = function.params
    known = {
        param.name.value: Result(frozenset({param.name.value}), is_parameter=True)
        for param in (*params.posonly_params, *params.params, *params.kwonly_params)
    }
    if isinstance(function, cst.Lambda):
        return _array(function.body, known, names)
    if function.asynchronous is not None:
        return None
    for statement in _statements(function):
        if isinstance(statement, cst.Return):
            return None if statement.value is None else _array(statement.value, known, names)
        if isinstance(statement, cst.Expr) and isinstance(statement.value, cst.SimpleString):
            continue
        if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
            return None
        target = statement.targets[0].target
        made = _array(statement.value, known, names)
        if not isinstance(target, cst.Name) or made is None:
            return None
        known[target.value] = made
    return None


def _statements(function: cst.FunctionDef) -> Iterator[cst.CSTNode | None]:
    """Yield the statements of a straight body; None for one that is compound."""
    for statement in function.body.body:
        if isinstance(statement, cst.SimpleStatementLine):
            yield from statement.body
        elif isinstance(statement, cst.BaseSmallStatement):
            yield statement
        else:
            yield None


def _array(node: cst.BaseExpression, known: dict[str, Result], names: Names) -> Result | None:
    """Return what an expression is computed of that surely is one array; None for any other."""
    if isinstance(node, cst.Name):
        return known.get(node.value)
    if isinstance(node, cst.BinaryOperation):
        return _computed([node.left, node.right], known, names)
    if isinstance(node, cst.UnaryOperation):
        is_not = isinstance(node.operator, cst.Not)
        return None if is_not else _computed([node.expression], known, names)
    if isinstance(node, cst.Attribute):
        # These, and parts, may be the array itself: `q.real`, `q[:]`.
        return _array(node.value, known, names) if node.attr.value in _ATTRIBUTES else None
    if isinstance(node, cst.Subscript):
        return _array(node.value, known, names)
    if isinstance(node, cst.Call):
        return _called(node, known, names)
    return None


def _called(node: cst.Call, known: dict[str, Result], names: Names) -> Result | None:
    given = [argument.value for argument in node.args if argument.keyword is None]
    if any(argument.star for argument in node.args):
        return None
    name = names.qualified(node.func)
    if name is None:
        if not isinstance(node.func, cst.Attribute):
            return None
        row = _METHODS.get(node.func.attr.value)
        given = [node.func.value]
    else:
        row = names.table.get(name)
    if row is None or row.gives is not Gives.ARRAY or row.effect not in _EFFECTS:
        return None
    found = [part for each in given if (part := _array(each, known, names)) is not None]
    if name is None and not found:
        return None
    of = frozenset[str]().union(*(part.of for part in found))
    return Result(of, is_parameter=not row.certain and any(p.is_parameter for p in found))


def _computed(
    parts: list[cst.BaseExpression], known: dict[str, Result], names: Names
) -> Result | None:
    of: frozenset[str] = frozenset()
    for part in parts:
        found = _array(part, known, names)
        if found is not None:
            of |= found.of
        elif not isinstance(part, _NUMBERS):
            return None
    return Result(of)
