"""Calls of what `operator.itemgetter` and `operator.attrgetter` give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.placement.domain.contents import element_of, without_parts
from placement_lint.placement.domain.program_values import Instance
from placement_lint.placement.domain.record import UseKind
from placement_lint.placement.domain.values import (
    PLAIN,
    UNKNOWN,
    Array,
    Sequence,
    Value,
    join,
    value,
)

if TYPE_CHECKING:
    from placement_lint.placement.domain.keys import Key
    from placement_lint.placement.domain.library_values import Getter
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.domain.values import Atom
    from placement_lint.placement.engine.arguments import CallArguments
    from placement_lint.placement.engine.protocols import Evaluator


def got(
    on: Evaluator, node: cst.CSTNode, getter: Getter, passed: CallArguments, state: State
) -> Value:
    """Return the parts that a getter takes of its argument."""
    if len(passed.positional) != 1 or passed.rest is not None or passed.keywords:
        return UNKNOWN
    (held,) = passed.positional
    take = _attribute if getter.of_attributes else _item
    parts = [take(on, node, held, key, state) for key in getter.keys]
    return parts[0] if len(parts) == 1 else value(Sequence(tuple(parts), join(*parts)))


def _item(on: Evaluator, node: cst.CSTNode, held: Value, key: Key | None, state: State) -> Value:
    objects = frozenset(atom for atom in held if isinstance(atom, Instance))
    own = frozenset(atom for atom in held if isinstance(atom, Array))
    found: set[Atom] = set()
    for instance in objects:
        found |= on.calls.objects.special(instance, "__getitem__", [PLAIN], state)
    if held - objects - own:
        found |= element_of(held - objects - own, key)
    if own:
        place = _operand(on, node)
        found |= on.operations.computed(
            on.index(node),
            [(place, without_parts(held))],
            state,
            UseKind.INDEXED,
            in_loop=on.in_loop,
        )
    return frozenset(found) or UNKNOWN


def _attribute(
    on: Evaluator, node: cst.CSTNode, held: Value, key: Key | None, state: State
) -> Value:
    for name in str(key).split("."):
        own = frozenset(atom for atom in held if isinstance(atom, Array))
        found: set[Atom] = set()
        if held - own:
            found |= on.program.classes.attribute(held - own, name, state)
        if own and name in transfer.COMPUTING_ATTRIBUTES:
            operand = (_operand(on, node), without_parts(held))
            found |= on.computed(node, [operand], state)
        elif own:
            found |= PLAIN if name in transfer.METADATA_ATTRIBUTES else UNKNOWN
        held = frozenset(found)
    return held


def _operand(on: Evaluator, node: cst.CSTNode) -> int:
    """Return the place of the argument that a getter is applied to, or elements of which are."""
    if not isinstance(node, cst.Call) or not node.args:
        return on.index(node)
    called = on.names.qualified(node.func) or ""
    applied = [a.value for a in node.args if a.keyword is None]
    is_given_on = on.calls.gives_iterator(called)
    return on.index(applied[-1 if is_given_on else 0]) if applied else on.index(node)
