"""Which patterns of a `match` may match a subject, and what the names in them are bound to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.contents import element_of
from placement_lint.placement.domain.state import variable
from placement_lint.placement.domain.values import (
    UNKNOWN,
    Anything,
    AnyTree,
    External,
    Instance,
    Mapping,
    Plain,
    Sequence,
    Value,
    join,
    value,
)
from placement_lint.placement.engine.narrowing import equal, is_instance, is_known
from placement_lint.syntax.calls import integer_value, string_value

if TYPE_CHECKING:
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.domain.values import Atom
    from placement_lint.placement.engine.protocols import Evaluator


def matched(on: Evaluator, pattern: cst.CSTNode, held: Value, state: State) -> tuple[Value, Value]:
    """Return what a subject may be where a pattern matches it, and where it does not."""
    verdicts = {atom: _matches(on, pattern, atom, state) for atom in held}
    return (
        frozenset(atom for atom, verdict in verdicts.items() if verdict is not False),
        frozenset(atom for atom, verdict in verdicts.items() if verdict is not True),
    )


def _matches(on: Evaluator, pattern: cst.CSTNode, atom: Atom, state: State) -> bool | None:
    """Return whether a pattern matches a thing; None where that is not known."""
    if isinstance(pattern, cst.MatchAs):
        return True if pattern.pattern is None else _matches(on, pattern.pattern, atom, state)
    if isinstance(pattern, cst.MatchValue):
        found = {equal(atom, each) for each in on.evaluate(pattern.value, state)}
        return found.pop() if len(found) == 1 else None
    if isinstance(pattern, cst.MatchSingleton):
        return _is_singleton(pattern.value.value, atom)
    if isinstance(pattern, cst.MatchOr):
        verdicts = [_matches(on, each.pattern, atom, state) for each in pattern.patterns]
        return True if True in verdicts else None if None in verdicts else False
    if isinstance(pattern, cst.MatchSequence):
        return _matches_sequence(on, pattern, atom, state)
    if isinstance(pattern, cst.MatchMapping):
        return False if is_known(atom) else None
    if isinstance(pattern, cst.MatchClass) and not pattern.patterns and not pattern.kwds:
        return is_instance(atom, on.names.qualified(pattern.cls) or "")
    return None


def _is_singleton(name: str, atom: Atom) -> bool | None:
    """Return whether a thing is `True`, `False` or `None`."""
    if isinstance(atom, Anything | AnyTree | External):
        return None
    if not isinstance(atom, Plain) or atom.text is not None or atom.member is not None:
        return False
    if atom.truth is None or name == "True":
        return atom.truth
    # None and False are not distinguished.
    return False if atom.truth else None


def _matches_sequence(
    on: Evaluator, pattern: cst.MatchSequence, atom: Atom, state: State
) -> bool | None:
    if isinstance(atom, Plain):
        return False if is_known(atom) else None
    if not isinstance(atom, Sequence) or atom.items is None:
        return None
    count = len(pattern.patterns)
    star = any(isinstance(each, cst.MatchStar) for each in pattern.patterns)
    if len(atom.items) < count - 1 or (not star and len(atom.items) != count):
        # A tuple of another length, or a list, which may have been changed.
        return False if atom.site is None else None
    verdicts: set[bool | None] = set()
    for each, held in _items(pattern, value(atom)):
        if not isinstance(each, cst.MatchStar):
            found = {_matches(on, each, inner, state) for inner in held}
            verdicts.add(found.pop() if len(found) == 1 else None)
    return False if False in verdicts else None if None in verdicts or atom.site else True


def bind_pattern(
    on: Evaluator, case: cst.CSTNode, pattern: cst.CSTNode, held: Value, state: State
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
                found = on.program.classes.attribute(objects, name, state) if objects else UNKNOWN
                pending.append((keyword.pattern, found))
            pending += [(inner.value, UNKNOWN) for inner in node.patterns]
        elif isinstance(node, cst.MatchOr):
            # Which of them matches is not known, nor therefore what a name is.
            pending += [(inner.pattern, UNKNOWN) for inner in node.patterns]


def _items(node: cst.MatchSequence, held: Value) -> list[tuple[cst.CSTNode, Value]]:
    """Return the patterns in a sequence pattern, each with what it is matched with."""
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
