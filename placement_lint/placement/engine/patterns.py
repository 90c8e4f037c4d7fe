"""Which patterns of a `match` may match a subject, and what the names in them are bound to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.contents import element_of
from placement_lint.placement.domain.program_values import External, Instance
from placement_lint.placement.domain.state import variable
from placement_lint.placement.domain.values import (
    UNKNOWN,
    Anything,
    AnyTree,
    Array,
    Host,
    Mapping,
    Plain,
    Sequence,
    Value,
    join,
    value,
)
from placement_lint.placement.engine.narrowing import (
    equal,
    is_instance,
    is_known,
    tested_names,
    tested_type,
)
from placement_lint.placement.engine.typed_objects import as_stated
from placement_lint.syntax.calls import literal_value

if TYPE_CHECKING:
    from placement_lint.placement.domain.places import Site
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.domain.values import Atom
    from placement_lint.placement.engine.protocols import Evaluator


_OF_ITSELF = frozenset({
    "builtins.bool", "builtins.bytes", "builtins.dict", "builtins.float", "builtins.int",
    "builtins.list", "builtins.set", "builtins.str", "builtins.tuple",
})  # fmt: skip
"""Types of which a pattern with one part takes the whole object: `list(items)`."""


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
        return False if isinstance(atom, Sequence) or _is_no_container(on, atom) else None
    if isinstance(pattern, cst.MatchClass):
        names = tested_names(on, state)
        verdict = is_instance(atom, tested_type(pattern.cls, names), names)
        parts = [*(each.value for each in pattern.patterns), *(k.pattern for k in pattern.kwds)]
        # A name takes any part of it.
        takes = all(isinstance(part, cst.MatchAs) and part.pattern is None for part in parts)
        return verdict if takes or verdict is False else None
    return None


def _is_no_container(on: Evaluator, atom: Atom) -> bool:
    """Return whether a thing is neither a sequence nor a mapping to patterns, as arrays are."""
    if isinstance(atom, Instance):
        return on.program.classes.is_plain(atom.cls)
    return is_known(atom) or isinstance(atom, Array | Host)


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
    if isinstance(atom, Mapping) or _is_no_container(on, atom):
        return False
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
    scope = on.names.scope(case)
    for name, part in _captured(on, pattern, held, state).items():
        on.program.bind(variable(scope, name), part, state)


def _captured(on: Evaluator, pattern: cst.CSTNode, held: Value, state: State) -> dict[str, Value]:
    """Return what the names in a pattern stand for."""
    found: dict[str, Value] = {}
    pending: list[tuple[cst.CSTNode, Value]] = [(pattern, held)]
    while pending:
        node, part = pending.pop()
        if isinstance(node, cst.MatchAs | cst.MatchStar):
            if node.name is not None:
                found[node.name.value] = part
            if isinstance(node, cst.MatchAs) and node.pattern is not None:
                pending.append((node.pattern, part))
        elif isinstance(node, cst.MatchSequence):
            pending += _items(node, part)
        elif isinstance(node, cst.MatchMapping):
            known = frozenset(atom for atom in part if isinstance(atom, Mapping))
            keys = [literal_value(element.key) for element in node.elements]
            for key, element in zip(keys, node.elements, strict=True):
                inner = UNKNOWN if key is None else element_of(known, key) or UNKNOWN
                pending.append((element.pattern, inner))
            if node.rest is not None:
                made = on.targets.made(node)
                others = frozenset(_without(each, keys, made) for each in known)
                found[node.rest.value] = others if known == part and None not in keys else UNKNOWN
        elif isinstance(node, cst.MatchClass):
            pending += _attributes(on, node, part, state)
        elif isinstance(node, cst.MatchOr):
            found |= _captured_by_one(on, node, part, state)
    return found


def _without(mapping: Mapping, keys: list[int | str | None], made: Site) -> Mapping:
    """Return a new dict, which lacks what a pattern has taken."""
    left = tuple((key, held) for key, held in mapping.items if key not in keys)
    return Mapping(left, mapping.element, made)


def _captured_by_one(
    on: Evaluator, node: cst.MatchOr, held: Value, state: State
) -> dict[str, Value]:
    """Return what the names in alternatives, of which one matches, stand for: `A(x) | B(x)`."""
    ways: dict[str, list[Value]] = {}
    for each in node.patterns:
        taken = frozenset(a for a in held if _matches(on, each.pattern, a, state) is not False)
        if taken:
            for name, part in _captured(on, each.pattern, taken, state).items():
                ways.setdefault(name, []).append(part)
    return {name: join(*parts) for name, parts in ways.items()}


def _attributes(
    on: Evaluator, node: cst.MatchClass, held: Value, state: State
) -> list[tuple[cst.CSTNode, Value]]:
    """Return the patterns in a class pattern, each with what it is matched with."""
    names = tested_names(on, state)
    kind = tested_type(node.cls, names)
    objects = frozenset(
        atom
        for atom in held
        if isinstance(atom, Instance | Sequence) and is_instance(atom, kind, names) is not False
    )
    if not objects:
        stated = as_stated(on, node.cls, held, state)
        objects = frozenset(atom for atom in stated if isinstance(atom, Instance))
    classes = on.program.classes

    def attribute(name: str) -> Value:
        return classes.attribute(objects, name, state) if objects else UNKNOWN

    found: list[tuple[cst.CSTNode, Value]] = []
    found += [(each.pattern, attribute(each.key.value)) for each in node.kwds]
    if len(node.patterns) == 1 and on.names.qualified(node.cls) in _OF_ITSELF:
        return [(node.patterns[0].value, held), *found]
    fields = {classes.positional(atom.cls) for atom in objects if atom.cls is not None}
    order = fields.pop() if len(fields) == 1 else ()
    for position, inner in enumerate(node.patterns):
        known = attribute(order[position]) if position < len(order) else UNKNOWN
        found.append((inner.value, known))
    return found


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
