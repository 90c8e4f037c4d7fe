"""Whether names say that the result of a call comes in the place of an argument of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.calls import elements_or_self
from placement_lint.syntax.dotted import dotted, said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.semantic.model import ModuleFacts

_NEW = frozenset({"cur", "current", "new", "next", "old", "out", "prev", "previous", "updated"})
"""Words in names that say which of several values of one thing it is."""


def is_replaced(text: str, targets: Sequence[str]) -> bool:
    """Return whether what a call gives is bound to a name like that of an argument."""
    stem = _stem(text)
    return bool(stem) and any(_stem(target) == stem for target in targets)


def is_replaced_by(call: cst.Call, text: str, facts: ModuleFacts) -> bool:
    """Return whether another call in the file of what is called here replaces such an argument.

    `state, loss = step(state)` says of `_, loss = step(state)` that a state comes, and so does
    `out = step(state)` where `state = out` follows.
    """
    return (_callee(call, facts), _stem(text)) in facts.fact(_replacing)


def _callee(call: cst.Call, facts: ModuleFacts) -> tuple[str | None, int]:
    """Return what is called, and where it is bound: of an attribute, the class around the call."""
    root = call.func
    while isinstance(root, cst.Attribute):
        root = root.value
    if not isinstance(root, cst.Name):
        return None, 0
    if isinstance(call.func, cst.Attribute):
        return dotted(call.func), id(facts.tree.around(call, cst.ClassDef))
    return root.value, id(facts.names.owner(root.value, facts.names.scope(root)))


def _replacing(facts: ModuleFacts) -> frozenset[tuple[tuple[str | None, int], str]]:
    """Return what the calls of a file replace: what is called, and the name of the argument."""
    found: set[tuple[tuple[str | None, int], str]] = set()
    put_back = _put_back(facts)
    for call in facts.tree.every(cst.Call):
        assign = facts.tree.parent(call)
        if not isinstance(assign, cst.Assign) or not call.args:
            continue
        bound = [each for target in assign.targets for each in elements_or_self(target.target)]
        targets = {_stem(said(each)) for each in bound}
        passed = {dotted(each.value) or "" for each in call.args}
        same = (targets & {*map(_stem, passed)}) - {""}
        if put_back:
            scope = id(facts.names.scope(call))
            same |= {
                _stem(text)
                for each in bound
                for text in put_back.get((scope, dotted(each) or ""), set()) & passed
            } - {""}
        if same:
            callee = _callee(call, facts)
            found |= {(callee, stem) for stem in same if callee[0]}
    return frozenset(found)


def _put_back(facts: ModuleFacts) -> dict[tuple[int, str], set[str]]:
    """Return what is assigned names, each as it is, by the scope and the name: `state = out`."""
    found: dict[tuple[int, str], set[str]] = {}
    for assign in facts.tree.every(cst.Assign):
        for each in assign.targets:
            target, value = each.target, assign.value
            several = isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple)
            ones = elements_or_self(target) if several else [target]
            others = elements_or_self(value) if several else [value]
            for one, other in zip(ones, others, strict=False):
                if isinstance(one, cst.Attribute | cst.Name) and isinstance(other, cst.Name):
                    key = (id(facts.names.scope(assign)), other.value)
                    found.setdefault(key, set()).add(dotted(one) or "")
    return found


def _stem(text: str) -> str:
    """Return the last part of a name without what says which of several values it is."""
    last = text.rpartition(".")[2].rstrip("0123456789_")
    words = [word for word in last.split("_") if word and word not in _NEW]
    return "_".join(words)
