"""What a test says of the variables in it: `isinstance(x, list)`, `x is None`, `not x`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.values import (
    Anything,
    Array,
    External,
    Host,
    Mapping,
    Plain,
    Sequence,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.placement.values import Atom, Value

_ARRAY_TYPES = frozenset({"jax.Array", "jax.numpy.ndarray"})
_PLAIN_TYPES = frozenset({
    "builtins.bool", "builtins.bytes", "builtins.complex", "builtins.float", "builtins.int",
    "builtins.str",
})  # fmt: skip
_SEQUENCE_TYPES = frozenset({"builtins.list", "builtins.tuple", "builtins.set"})


def narrowed(
    test: cst.BaseExpression,
    name_of: Callable[[cst.CSTNode], str | None],
    *,
    holds: bool,
) -> list[tuple[cst.BaseExpression, Callable[[Value], Value]]]:
    """Give the operands of a test with what is left of their values where it holds, or not.

    `name_of` gives qualified names. Operands are names and attributes of names.
    """
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return narrowed(test.expression, name_of, holds=not holds)
    if isinstance(test, cst.BooleanOperation):
        both = isinstance(test.operator, cst.And) == holds
        if not both:
            return []
        return [
            *narrowed(test.left, name_of, holds=holds),
            *narrowed(test.right, name_of, holds=holds),
        ]
    if isinstance(test, cst.Name | cst.Attribute):
        return [(test, lambda held: _kept(held, lambda atom: _truth(atom) is not (not holds)))]
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        return _identity(test, holds=holds)
    if isinstance(test, cst.Call) and name_of(test.func) == "builtins.isinstance":
        return _instance(test, name_of, holds=holds)
    return []


def _identity(
    test: cst.Comparison, *, holds: bool
) -> list[tuple[cst.BaseExpression, Callable[[Value], Value]]]:
    target = test.comparisons[0]
    is_none = isinstance(target.comparator, cst.Name) and target.comparator.value == "None"
    if not is_none or not isinstance(test.left, cst.Name | cst.Attribute):
        return []
    if isinstance(target.operator, cst.Is | cst.IsNot):
        none = isinstance(target.operator, cst.Is) == holds
        return [(test.left, lambda held: _kept(held, lambda atom: _may_be_none(atom) or not none))]
    return []


def _truth(atom: Atom) -> bool | None:
    return atom.truth if isinstance(atom, Plain) else None


def _may_be_none(atom: Atom) -> bool:
    return isinstance(atom, Anything | External) or (
        isinstance(atom, Plain) and atom.text is None and atom.truth is not True
    )


def _instance(
    test: cst.Call, name_of: Callable[[cst.CSTNode], str | None], *, holds: bool
) -> list[tuple[cst.BaseExpression, Callable[[Value], Value]]]:
    if len(test.args) != 2 or not isinstance(test.args[0].value, cst.Name | cst.Attribute):
        return []
    kinds = test.args[1].value
    parts = [e.value for e in kinds.elements] if isinstance(kinds, cst.Tuple) else [kinds]
    names = [name_of(part) for part in parts]
    if None in names:
        return []

    def matches(atom: Atom) -> bool | None:
        """Tell whether the test holds of a thing; None where that cannot be said."""
        verdicts = [_is_instance(atom, name or "") for name in names]
        if any(verdict is True for verdict in verdicts):
            return True
        return None if None in verdicts else False

    return [
        (
            test.args[0].value,
            lambda held: _kept(held, lambda atom: matches(atom) is not (not holds)),
        )
    ]


def _is_instance(atom: Atom, kind: str) -> bool | None:
    if isinstance(atom, Array):
        return True if kind in _ARRAY_TYPES else (None if kind not in _KNOWN_TYPES else False)
    if isinstance(atom, Host):
        return None if kind not in _KNOWN_TYPES else (kind == "numpy.ndarray" or None)
    if isinstance(atom, Sequence):
        return None if kind in _SEQUENCE_TYPES or kind not in _KNOWN_TYPES else False
    if isinstance(atom, Mapping):
        return None if kind == "builtins.dict" or kind not in _KNOWN_TYPES else False
    return None


_KNOWN_TYPES = _ARRAY_TYPES | _PLAIN_TYPES | _SEQUENCE_TYPES | {"builtins.dict", "numpy.ndarray"}


def _kept(held: Value, keep: Callable[[Atom], bool]) -> Value:
    return frozenset(atom for atom in held if keep(atom))
