"""What a test says of the variables in it: `isinstance(x, list)`, `x is None`, `x == "train"`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.library_values import DeviceList
from placement_lint.placement.domain.program_values import Class, External, Function, Instance
from placement_lint.placement.domain.values import (
    Anything,
    Array,
    Computation,
    Container,
    DefaultDeviceContext,
    Host,
    Mapping,
    Method,
    Plain,
    Sequence,
    TheDevice,
    sole,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.domain.values import Atom, Value
    from placement_lint.placement.engine.class_protocols import ClassesProtocol
    from placement_lint.placement.engine.protocols import Evaluator

_ARRAY_TYPES = frozenset({"jax.Array", "jax.numpy.ndarray"})
_PLAIN_TYPES = frozenset({
    "builtins.bool", "builtins.bytes", "builtins.complex", "builtins.float", "builtins.int",
    "builtins.str",
})  # fmt: skip
_DEVICE_TYPES = frozenset({
    "jax.Device", "jax.lib.xla_client.Device", "jaxlib._jax.Device", "jaxlib.xla_client.Device",
    "jaxlib.xla_extension.Device",
})  # fmt: skip
_SEQUENCE_TYPES = frozenset({"builtins.list", "builtins.tuple", "builtins.set"})
_EQUALITIES = (cst.Equal, cst.NotEqual, cst.Is, cst.IsNot)
_TRUTHS = {"False": False, "True": True}
_COMMITTED = frozenset({"_committed", "committed"})
_NEGATIVE = (cst.NotEqual, cst.IsNot, cst.NotIn)
_ALWAYS_TRUE = (Class, Computation, DefaultDeviceContext, Function, Method, TheDevice)
"""What a test always holds of, since it has no length and is no number."""
_ARRAY_TESTS = frozenset({
    "equinox.is_array", "equinox.is_array_like", "equinox.is_inexact_array",
    "equinox.is_inexact_array_like",
})  # fmt: skip
"""Functions that say of any parameter that it is an array."""


@dataclass(frozen=True)
class TestedNames:
    """What the names in a test stand for."""

    name_of: Callable[[cst.CSTNode], str | None]
    """Their qualified names."""
    value_of: Callable[[cst.BaseExpression], Value]
    """What they hold."""
    classes: ClassesProtocol
    """The classes of the program."""


def tested_names(on: Evaluator, state: State) -> TestedNames:
    """Return what the names in a test stand for where it is evaluated."""
    classes = on.program.classes
    return TestedNames(on.names.qualified, lambda node: on.evaluate(node, state), classes)


@dataclass(frozen=True)
class _Part:
    """A part of a test: what is left of the value of an operand where the part comes out so."""

    operand: cst.BaseExpression
    keep: Callable[[Atom], bool]


def narrowed(
    test: cst.BaseExpression, names: TestedNames, *, holds: bool
) -> list[tuple[cst.BaseExpression, Value, Value]] | None:
    """Return the operands of a test, what they hold, and what is left where it holds, or not.

    None where it cannot come out so.
    """
    found: list[tuple[cst.BaseExpression, Value, Value]] = []
    pending = [(test, holds)]
    while pending:
        part, wanted = pending.pop()
        while isinstance(part, cst.UnaryOperation) and isinstance(part.operator, cst.Not):
            part, wanted = part.expression, not wanted
        if isinstance(part, cst.BooleanOperation):
            operands = [*_chain(part)]
            if isinstance(part.operator, cst.And) == wanted:
                pending += [(operand, wanted) for operand in reversed(operands)]
            elif all(narrowed(each, names, holds=wanted) is None for each in operands):
                return None
            continue
        for each in _parts(part, names, holds=wanted):
            held = names.value_of(each.operand)
            left = frozenset(atom for atom in held if each.keep(atom))
            if not left:
                return None
            found.append((each.operand, held, left))
    return found


def _chain(test: cst.BooleanOperation) -> Iterator[cst.BaseExpression]:
    """Yield the operands of `a and b and c`."""
    found: list[cst.BaseExpression] = []
    node: cst.BaseExpression = test
    while isinstance(node, cst.BooleanOperation) and isinstance(node.operator, type(test.operator)):
        found.append(node.right)
        node = node.left
    yield node
    yield from reversed(found)


def _parts(test: cst.BaseExpression, names: TestedNames, *, holds: bool) -> list[_Part]:
    test = test.target if isinstance(test, cst.NamedExpr) else test
    if isinstance(test, cst.Name | cst.Attribute):
        asked = _Part(test, lambda atom: truth(atom, names.classes) is not (not holds))
        return [asked, *_committed(test, holds=holds)]
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        return _compared(test, names, holds=holds)
    if isinstance(test, cst.Call) and names.name_of(test.func) == "builtins.isinstance":
        return _instance(test, names, holds=holds)
    if isinstance(test, cst.Call) and names.name_of(test.func) in _ARRAY_TESTS and test.args:
        tested = test.args[0].value
        if isinstance(tested, cst.Name | cst.Attribute):
            return [_Part(tested, lambda atom: holds or not isinstance(atom, Array))]
    return []


def _compared(test: cst.Comparison, names: TestedNames, *, holds: bool) -> list[_Part]:
    operator, right = test.comparisons[0].operator, test.comparisons[0].comparator
    left = test.left.target if isinstance(test.left, cst.NamedExpr) else test.left
    positive = holds != isinstance(operator, _NEGATIVE)
    is_none = isinstance(right, cst.Name) and right.value == "None"
    if is_none and isinstance(operator, cst.Is | cst.IsNot):
        if not isinstance(left, cst.Name | cst.Attribute):
            return []
        return [_Part(left, _may_be_none if positive else _may_be_another)]
    if isinstance(operator, _EQUALITIES):
        wanted = _TRUTHS.get(right.value) if isinstance(right, cst.Name) else None
        return [
            *(() if wanted is None else _committed(left, holds=positive == wanted)),
            *_placed(left, right, names, positive=positive),
            *_equal(left, right, names, positive=positive),
            *_equal(right, left, names, positive=positive),
        ]
    if isinstance(operator, cst.In | cst.NotIn) and _is_constant(left):
        verdict = _membership(right, names)
        return [_Part(left, lambda atom: verdict(atom) is not (not positive))]
    return []


def _committed(test: cst.BaseExpression, *, holds: bool) -> list[_Part]:
    """Return what `x.committed` says of the array, where it is true, or is not."""
    if not isinstance(test, cst.Attribute) or test.attr.value not in _COMMITTED:
        return []
    if not isinstance(test.value, cst.Name | cst.Attribute):
        return []
    return [_Part(test.value, lambda x: not isinstance(x, Array) or x.committed is holds)]


def _placed(
    left: cst.BaseExpression, right: cst.BaseExpression, names: TestedNames, *, positive: bool
) -> list[_Part]:
    """Return what `x.device == d` says of an array, and `x.devices() == {d}`."""
    if isinstance(left, cst.Call) and isinstance(right, cst.Set) and len(right.elements) == 1:
        asked, device = left.func if not left.args else None, right.elements[0].value
        attribute = "devices"
    else:
        asked, device, attribute = left, right, "device"
    if not isinstance(asked, cst.Attribute) or asked.attr.value != attribute:
        return []
    if not isinstance(asked.value, cst.Name | cst.Attribute) or not _is_constant(device):
        return []
    wanted = sole(names.value_of(device))
    if not isinstance(wanted, TheDevice) or wanted.device is None:
        return []
    return [
        _Part(
            asked.value,
            lambda x: (
                not isinstance(x, Array)
                or x.device is None
                or x.sharding is not None
                or (x.device == wanted.device) is positive
            ),
        )
    ]


def _equal(
    one: cst.BaseExpression, other: cst.BaseExpression, names: TestedNames, *, positive: bool
) -> list[_Part]:
    """Return what an equality says of one of its sides."""
    if not _is_constant(one) or not _is_constant(other):
        return []

    def keep(atom: Atom) -> bool:
        verdicts = {equal(atom, each) for each in names.value_of(other)}
        # Of several the other side is one: of which, is not known.
        return verdicts != {not positive}

    return [_Part(one, keep)]


def _is_constant(node: cst.BaseExpression) -> bool:
    """Return whether an expression is one whose value may be a known text, and costs nothing."""
    return isinstance(node, cst.Name | cst.Attribute | cst.SimpleString | cst.ConcatenatedString)


def _membership(container: cst.BaseExpression, names: TestedNames) -> Callable[[Atom], bool | None]:
    """Return what tells whether a thing is in a container; None: perhaps."""
    if isinstance(container, cst.List | cst.Set | cst.Tuple):
        parts = [element.value for element in container.elements]
        if not all(map(_is_constant, parts)):
            return lambda _: None
        return lambda atom: _is_among(atom, [names.value_of(part) for part in parts])
    if not isinstance(container, cst.Name | cst.Attribute):
        return lambda _: None

    def verdict(atom: Atom) -> bool | None:
        held = names.value_of(container)
        found = {_is_in(atom, each) for each in held}
        return found.pop() if len(found) == 1 else None

    return verdict


def _is_in(atom: Atom, container: Atom) -> bool | None:
    if isinstance(container, Sequence) and container.items is not None:
        return _is_among(atom, list(container.items))
    if isinstance(container, Mapping) and not container.element:
        text = atom.text if isinstance(atom, Plain) else None
        return None if text is None else text in dict(container.items)
    return None


def _is_among(atom: Atom, items: list[Value]) -> bool | None:
    verdicts = [{equal(atom, each) for each in item} for item in items]
    if {True} in verdicts:
        return True
    return False if all(found == {False} for found in verdicts) else None


def equal(one: Atom, other: Atom) -> bool | None:
    """Return whether two things are equal; None where that is not known."""
    if isinstance(one, Class | Function) and isinstance(other, Class | Function):
        return one == other
    if not isinstance(one, Plain) or not isinstance(other, Plain):
        kinds = [isinstance(each, Container) or is_known(each) for each in (one, other)]
        return False if all(kinds) and type(one) is not type(other) else None
    if one.text is not None and other.text is not None:
        return one.text == other.text
    if one.member is not None and other.member is not None:
        return one.member == other.member
    if one.truth is True and other.truth is True:
        return True
    if one.truth is False and other.truth is False:
        return one.is_none == other.is_none
    return False if is_known(one) and is_known(other) else None


def is_known(atom: Atom) -> bool:
    """Return whether a thing is a constant."""
    return isinstance(atom, Plain) and (
        atom.text is not None or atom.member is not None or atom.truth is not None
    )


def truth(atom: Atom, classes: ClassesProtocol) -> bool | None:
    """Return which way a test of a thing goes; None where that is not known."""
    if isinstance(atom, _ALWAYS_TRUE):
        return True
    if isinstance(atom, Instance):
        return True if classes.is_always_true(atom.cls) else None
    if isinstance(atom, Sequence) and atom.items is not None:
        return bool(atom.items)
    if not isinstance(atom, Plain):
        return None
    return bool(atom.text) if atom.text is not None else atom.truth


def compared(operator: cst.BaseCompOp, left: Value, right: Value) -> bool | None:
    """Return what comparing two values gives; None where that is not known."""
    if not isinstance(operator, _EQUALITIES):
        return None
    verdicts = {equal(one, other) for one in left for other in right}
    verdict = verdicts.pop() if len(verdicts) == 1 else None
    return None if verdict is None else verdict != isinstance(operator, _NEGATIVE)


def _may_be_none(atom: Atom) -> bool:
    return isinstance(atom, Anything | External) or (
        isinstance(atom, Plain) and atom.text is None and (atom.truth is None or atom.is_none)
    )


def _may_be_another(atom: Atom) -> bool:
    """Return whether a thing may be something else than None."""
    return not isinstance(atom, Plain) or not atom.is_none


def _instance(test: cst.Call, names: TestedNames, *, holds: bool) -> list[_Part]:
    if len(test.args) != 2 or not (
        isinstance(test.args[0].value, cst.Name | cst.Attribute) or _is_item(test.args[0].value)
    ):
        return []
    kinds = test.args[1].value
    parts = [tested_type(kind, names) for kind in _kinds(kinds)]

    def matches(atom: Atom) -> bool | None:
        """Return whether the test holds of a thing; None where that cannot be said."""
        verdicts = [is_instance(atom, part, names) for part in parts]
        if any(verdict is True for verdict in verdicts):
            return True
        return None if None in verdicts else False

    return [_Part(test.args[0].value, lambda atom: matches(atom) is not (not holds))]


def _kinds(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """Yield the types in the second argument of `isinstance`: `A`, `(A, B)`, `A | B`."""
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, cst.Tuple):
            pending += [element.value for element in part.elements]
        elif isinstance(part, cst.BinaryOperation) and isinstance(part.operator, cst.BitOr):
            pending += [part.left, part.right]
        else:
            yield part


def _is_item(node: cst.BaseExpression) -> bool:
    """Return whether an expression is an item of a variable: `batch[0]`."""
    if not isinstance(node, cst.Subscript) or not isinstance(node.value, cst.Name):
        return False
    index = node.slice[0].slice
    return len(node.slice) == 1 and (
        isinstance(index, cst.Index) and isinstance(index.value, cst.Integer)
    )


@dataclass(frozen=True)
class _Type:
    """The type in a test: a class of the program, or its qualified name."""

    cls: Place | None
    name: str


def tested_type(node: cst.BaseExpression, names: TestedNames) -> _Type:
    """Return what `is_instance` is asked about: evaluated once, for all that may be of it."""
    only = sole(names.value_of(node)) if isinstance(node, cst.Name | cst.Attribute) else None
    return _Type(only.place if isinstance(only, Class) else None, names.name_of(node) or "")


def is_instance(atom: Atom, kind: _Type, names: TestedNames) -> bool | None:
    """Return whether a thing is of a type; None where that is not known."""
    if kind.cls is not None:
        return names.classes.is_instance(atom, kind.cls)
    if isinstance(atom, Instance):
        return False if kind.name in _KNOWN_TYPES and names.classes.is_plain(atom.cls) else None
    return _is_of_library(atom, kind.name)


def _is_of_library(atom: Atom, kind: str) -> bool | None:
    """Return whether a thing is of a type that is not of the program, by its qualified name."""
    if isinstance(atom, Plain) and (atom.text is not None or atom.is_none):
        is_text = kind == "builtins.str" and not atom.is_none
        return is_text if kind in _KNOWN_TYPES or kind in _DEVICE_TYPES else None
    if isinstance(atom, TheDevice) and kind in _DEVICE_TYPES:
        return True
    if isinstance(atom, TheDevice):
        return False if kind in _KNOWN_TYPES else None
    if kind in _DEVICE_TYPES:
        return False if isinstance(atom, Array | DeviceList | Host | Mapping | Sequence) else None
    if isinstance(atom, DeviceList):
        return kind == "builtins.list" if kind in _KNOWN_TYPES else None
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
