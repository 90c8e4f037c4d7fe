"""Whether the type of an array's elements surely is a strong one.

An array of the type of a Python number, a *weak* one, takes the type of what it meets. NumPy knows
no such types: what goes through it comes back as an array of a strong one. Worked out by what the
expressions say; measured on JAX 0.10.2.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel import movement, transfer
from placement_lint.jaxmodel.transfer import Effect
from placement_lint.placement.domain.contents import arrays
from placement_lint.placement.domain.values import NONE, Array, Host, Plain, Sequence
from placement_lint.syntax.calls import Arguments, is_none

if TYPE_CHECKING:
    from placement_lint.placement.counterfactual.protocols import ExecutedProgram
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.values import Value

_FULL = frozenset({"jax.lax.full", "jax.numpy.full"})
_FLOATS = frozenset(f"jax.numpy.{name}" for name in ("empty", "eye", "linspace", "ones", "zeros"))
"""What makes floating-point numbers by default."""
_PROMOTING = ("jax.nn.", "jax.scipy.")
"""Of integers, some of these give the type of the Python numbers that they multiply by."""
_PROMOTING_METHODS = frozenset({"choose", "clip", "dot", "searchsorted"})
_READING_TYPES = frozenset({"get_slice", "get_tensor"})
_ARITHMETIC = (
    cst.Add, cst.Divide, cst.FloorDivide, cst.MatrixMultiply, cst.Modulo, cst.Multiply, cst.Power,
    cst.Subtract,
)  # fmt: skip
_MAX_STEPS = 200


class Type(enum.IntEnum):
    """What is known of the type of an array's elements."""

    ANY = enum.auto()
    """It may be weak."""
    STRONG = enum.auto()
    FLOAT = enum.auto()
    """A strong one that stays what it is beside any Python number."""


class ElementTypes:
    """The types of the arrays of a program that was executed."""

    def __init__(self, program: ExecutedProgram) -> None:
        self._program = program
        self._known: dict[Place, Type] = {}
        self._steps = 0

    def __getitem__(self, made: Place) -> Type:
        """Return what is known of what an expression makes."""
        if made not in self._known:
            # Something made of itself, round after round of a loop, is not known.
            self._known[made] = Type.ANY
            self._steps += 1
            if self._steps <= _MAX_STEPS:
                self._known[made] = self._of(made)
        return self._known[made]

    def _of(self, made: Place) -> Type:
        node = self._program.node(made)
        if isinstance(node, cst.Call):
            return self._called(node, made)
        if isinstance(node, cst.Subscript):
            return self._operand(node.value, made)
        if isinstance(node, cst.Attribute):
            return self._operand(node.value, made)
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
            return self._operand(node.expression, made)
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, _ARITHMETIC):
            return self._joined([node.left, node.right], made)
        # Of an iteration, what is iterated over.
        return self._operand(node, made)

    def _called(self, node: cst.Call, made: Place) -> Type:
        name = self._program.module_of(made).names.qualified(node.func)
        arguments = Arguments(node)
        positional = [argument.value for argument in node.args if argument.keyword is None]
        if any(argument.star for argument in node.args):
            return Type.ANY
        row = None if name is None else transfer.TABLE.get(name)
        typed = "dtype" in arguments.keywords
        if row is None:
            return self._method(node, positional, made) if name is None else Type.ANY
        if row.effect in {Effect.CREATE, Effect.SAMPLE, Effect.LOAD}:
            if name in _FULL and not typed:
                return Type.ANY
            if name in transfer.LIKE_CREATORS and not typed:
                return self._operand(positional[0], made) if positional else Type.ANY
            is_float = not typed and len(positional) < 3 and name in _FLOATS
            return Type.FLOAT if is_float else Type.STRONG
        if row.effect in {Effect.CONVERT, Effect.COPY, Effect.COMMIT, Effect.IDENTITY}:
            is_put = row.effect in {Effect.COMMIT, Effect.IDENTITY}
            if typed or (len(positional) > 1 and not is_put and not is_none(positional[1])):
                return Type.STRONG
            return self._operand(positional[0], made) if positional else Type.ANY
        if row.effect is not Effect.COMPUTE:
            return Type.ANY
        if name in movement.TAKING | movement.REARRANGING:
            return self._operand(positional[0], made) if positional else Type.ANY
        if (name or "").startswith(_PROMOTING) or arguments.keywords:
            return Type.ANY
        return min(self._joined(positional, made, plain=Type.ANY), Type.STRONG)

    def _method(self, node: cst.Call, positional: list[cst.BaseExpression], made: Place) -> Type:
        if not isinstance(node.func, cst.Attribute):
            return Type.ANY
        receiver, method = node.func.value, node.func.attr.value
        if method in _READING_TYPES or method == "astype":
            return Type.STRONG
        own = self._operand(receiver, made)
        if method in movement.REARRANGING_METHODS | movement.TAKING_METHODS:
            return own
        computes = method in transfer.COMPUTING_METHODS and method not in _PROMOTING_METHODS
        return min(own, Type.STRONG) if computes else Type.ANY

    def _operand(self, node: cst.CSTNode, beside: Place, plain: Type = Type.ANY) -> Type:
        """Return what is known of an expression in the file of another one."""
        if isinstance(node, cst.List | cst.Tuple):
            # Of Python numbers alone, it gives what NumPy would.
            parts = [element.value for element in node.elements]
            return self._joined(parts, beside, plain=Type.STRONG)
        module = self._program.module_of(beside)
        held = module.record.values.get(module.tree.index(node), frozenset())
        return self._value(held, plain)

    def _value(self, held: Value, plain: Type) -> Type:
        found = [Type.FLOAT]
        # Of None nothing is computed.
        for atom in held - NONE:
            if isinstance(atom, Array):
                found.append(Type.ANY if atom.origin is None else self[atom.origin.created])
            elif isinstance(atom, Sequence):
                inner = [each.origin for each in arrays(frozenset({atom}))]
                found += [Type.ANY if origin is None else self[origin.created] for origin in inner]
                found += [Type.STRONG] if inner else [Type.ANY]
            elif isinstance(atom, Host):
                found.append(Type.STRONG)
            else:
                found.append(plain if isinstance(atom, Plain) else Type.ANY)
        return min(found) if held else Type.ANY

    def _joined(
        self, parts: list[cst.BaseExpression], beside: Place, plain: Type | None = None
    ) -> Type:
        """Return what comes of parts together.

        `plain`: what a Python number makes of it; None: what beside floats it does.
        """
        numbers = Type.ANY if plain is None else plain
        found = [self._operand(part, beside, numbers) for part in parts]
        if plain is None and Type.FLOAT in found:
            # A strong floating-point type stays what it is beside a Python number.
            found = [
                Type.FLOAT if self._is_number(part, beside) else each
                for part, each in zip(parts, found, strict=True)
            ]
        lowest = min(found, default=Type.ANY)
        return Type.FLOAT if lowest >= Type.STRONG and Type.FLOAT in found else lowest

    def _is_number(self, node: cst.CSTNode, beside: Place) -> bool:
        module = self._program.module_of(beside)
        held = module.record.values.get(module.tree.index(node), frozenset())
        return bool(held) and all(isinstance(atom, Plain) for atom in held)
