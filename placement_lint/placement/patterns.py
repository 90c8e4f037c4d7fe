"""What the names in a `match` pattern are bound to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.environment import variable
from placement_lint.placement.values import (
    UNKNOWN,
    Instance,
    Mapping,
    Sequence,
    Value,
    element_of,
    join,
    value,
)
from placement_lint.syntax.calls import integer_value, string_value

if TYPE_CHECKING:
    from placement_lint.placement.environment import State
    from placement_lint.placement.expressions import Expressions


def bind_pattern(
    on: Expressions, case: cst.CSTNode, pattern: cst.CSTNode, held: Value, state: State
) -> None:
    """Bind the names in a pattern to the parts of a subject, where the pattern matches it."""
    pending: list[tuple[cst.CSTNode, Value]] = [(pattern, held)]
    scope = on.names.scope(case)
    while pending:
        node, part = pending.pop()
        if isinstance(node, cst.MatchAs | cst.MatchStar):
            if node.name is not None:
                on.program.bind(variable(scope, node.name.value), part, state)
            if isinstance(node, cst.MatchAs) and node.pattern is not None:
                pending.append((node.pattern, part))
        elif isinstance(node, cst.MatchSequence):
            pending += _items(node, part)
        elif isinstance(node, cst.MatchMapping):
            known = frozenset(atom for atom in part if isinstance(atom, Mapping))
            for element in node.elements:
                text = string_value(element.key)
                key = integer_value(element.key) if text is None else text
                inner = UNKNOWN if key is None else element_of(known, key) or UNKNOWN
                pending.append((element.pattern, inner))
            if node.rest is not None:
                on.program.bind(variable(scope, node.rest.value), UNKNOWN, state)
        elif isinstance(node, cst.MatchClass):
            objects = frozenset(atom for atom in part if isinstance(atom, Instance))
            for keyword in node.kwds:
                name = keyword.key.value
                found = on.program.attribute(objects, name, state) if objects else UNKNOWN
                pending.append((keyword.pattern, found))
            pending += [(inner.value, UNKNOWN) for inner in node.patterns]
        elif isinstance(node, cst.MatchOr):
            # Which of them matches is not known, nor therefore what a name is.
            pending += [(inner.pattern, UNKNOWN) for inner in node.patterns]


def _items(node: cst.MatchSequence, held: Value) -> list[tuple[cst.CSTNode, Value]]:
    """Give the patterns in a sequence pattern, each with what it is matched with."""
    known = frozenset(atom for atom in held if isinstance(atom, Sequence))
    count = len(node.patterns)
    star = next((i for i, p in enumerate(node.patterns) if isinstance(p, cst.MatchStar)), None)
    found: list[tuple[cst.CSTNode, Value]] = []
    for position, each in enumerate(node.patterns):
        if isinstance(each, cst.MatchStar):
            rest = join(*(element_of(known), UNKNOWN)) if known else UNKNOWN
            found.append((each, value(Sequence(None, rest))))
        else:
            at = position if star is None or position < star else position - count
            found.append((each.value, element_of(known, at) or UNKNOWN))
    return found
