"""Equal values that are kept are one object: a large program keeps some hundred thousand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.placement.domain.program_values import Class, Function, Instance
from placement_lint.placement.domain.values import (
    Anything,
    Array,
    Host,
    Plain,
    TheDevice,
    Value,
    is_unfollowed,
)

if TYPE_CHECKING:
    from placement_lint.placement.domain.state import Variable

_SIMPLE = frozenset({Anything, Array, Class, Function, Host, Instance, Plain, TheDevice})
"""Kinds of things that hold no others."""


class SharedValues:
    """The values that one program keeps, and the variables that it keeps them of."""

    def __init__(self) -> None:
        """Know none yet."""
        self._values: dict[Value, Value] = {}
        self._variables: dict[Variable, Variable] = {}

    def of(self, held: Value) -> Value:
        """Return the object to keep for a value.

        What says of itself where it came from, which does not count when values are compared, is
        kept as it is; so is what holds other things, which may be such.
        """
        for atom in held:
            if type(atom) not in _SIMPLE or is_unfollowed(atom):
                return held
        return self._values.setdefault(held, held)

    def table(self, held: dict[Variable, Value]) -> dict[Variable, Value]:
        """Return what is to be kept of what variables hold."""
        own = self._variables
        return {own.setdefault(key, key): self.of(each) for key, each in held.items()}

    def reads(self, held: dict[Variable, Value | None]) -> dict[Variable, Value | None]:
        """Return what is to be kept of what variables held, or did not hold."""
        own = self._variables
        return {
            own.setdefault(key, key): None if each is None else self.of(each)
            for key, each in held.items()
        }
