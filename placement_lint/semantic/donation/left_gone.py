"""What a method leaves deleted in its object under another name, for other methods to read.

`self._previous = self._state` and then `self._state = self._step(self._state)`, in one method: what
another one reads of `self._previous` is gone, if no other method sets it, and if it is None before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.donation.buffers import Surety
from placement_lint.semantic.donation.parts import LAST
from placement_lint.syntax.collection_methods import CHANGING
from placement_lint.syntax.definitions import (
    BARE_BASES,
    class_named,
    class_of_receiver,
    initializer,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from placement_lint.semantic.donation.buffers import Buffers, Death
    from placement_lint.semantic.donation.parts import BufferPart, Keys
    from placement_lint.semantic.model import ModuleFacts

_SETTING = (cst.AnnAssign, cst.AsName, cst.AssignTarget, cst.AugAssign, cst.Del)
_BY_NAME = ("__dict__", "delattr", "setattr", "vars(")


def left_gone(owner: BufferPart, state: Buffers) -> Iterator[tuple[Keys, Death]]:
    """Yield the parts of an object that have another name than that by which they were donated.

    Attributes, and the last item of a list that is one.
    """
    for keys, held in state.parts.get(owner.root, {}).items():
        is_named = keys[0].startswith(".") and keys[1:] in {(), (LAST,)}
        gone = state.gone(held, ()) if is_named else None
        if gone is not None and gone.is_all and gone.surety > Surety.MAYBE:
            yield keys, gone.death


def readers(
    cls: cst.ClassDef, name: str, leaving: Collection[cst.FunctionDef], facts: ModuleFacts
) -> list[cst.FunctionDef]:
    """Return the methods of a class that read an attribute which is gone, if it is anything.

    None, if anything but the methods that leave it so may set it, or if a method that reads it may
    be called by another one, before it is gone.
    """
    tree, names = facts.tree, facts.names
    init = initializer(cls, names)
    is_plain = not cls.decorators and _has_known_bases(cls, facts)
    if not is_plain or any(word in facts.text for word in _BY_NAME):
        return []
    found: list[cst.FunctionDef] = []
    used: set[str] = set()
    for attribute in tree.every(cst.Attribute):
        owner = class_of_receiver(attribute.value, names)
        if owner is cls:
            used.add(attribute.attr.value)
        is_other = owner is not None and owner is not cls and not cls.bases
        function = tree.around(attribute, cst.FunctionDef) if attribute.attr.value == name else None
        is_leaving = function is not None and function in leaving
        if attribute.attr.value != name or is_leaving or is_other:
            continue
        if function is init and init is not None and _is_empty_at_first(attribute, facts):
            continue
        if _may_change(attribute, facts):
            return []
        is_method = function is not None and names.scope(function).node is cls
        if function is not None and is_method and function is not init:
            found.append(function)
    return [each for each in dict.fromkeys(found) if each.name.value not in used]


def _has_known_bases(cls: cst.ClassDef, facts: ModuleFacts) -> bool:
    return all(
        class_named(base.value, facts.names) is not None
        or facts.names.qualified(base.value) in BARE_BASES
        for base in cls.bases
    )


def _is_empty_at_first(attribute: cst.Attribute, facts: ModuleFacts) -> bool:
    """Return whether an initializer sets an attribute to None, or to a list without items."""
    target = facts.tree.parent(attribute)
    assign = facts.tree.parent(target) if isinstance(target, cst.AssignTarget) else target
    value = assign.value if isinstance(assign, cst.Assign | cst.AnnAssign) else None
    if isinstance(value, cst.Name):
        return value.value == "None"
    if isinstance(value, cst.Call):
        return facts.names.qualified(value.func) in {
            "builtins.list", "collections.deque",
        } and all(each.keyword is not None for each in value.args)  # fmt: skip
    return isinstance(value, cst.List) and not value.elements


def _may_change(attribute: cst.Attribute, facts: ModuleFacts) -> bool:
    """Return whether an attribute may stand for something else after a place."""
    part: cst.CSTNode = attribute
    parent = facts.tree.parent(part)
    while isinstance(parent, cst.Attribute | cst.Subscript) and parent.value is part:
        part, parent = parent, facts.tree.parent(parent)
    if isinstance(parent, cst.Element):
        return facts.tree.around(part, cst.Assign) is not None
    if isinstance(parent, cst.For | cst.CompFor):
        return parent.target is part
    is_called = isinstance(parent, cst.Call) and parent.func is part
    if is_called and isinstance(part, cst.Attribute):
        return part.attr.value in CHANGING
    return isinstance(parent, _SETTING)
