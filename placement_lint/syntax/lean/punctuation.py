"""Adding whitespace and punctuation to nodes that were made without them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from placement_lint.syntax.tree import SKIPPED_FIELDS

if TYPE_CHECKING:
    from collections.abc import Callable

_MEANT = frozenset({"operator", "asynchronous", "relative"})
"""Fields that the walk skips, and that say what the program does."""

_Field = tuple[str, bool, "Callable[[Any, Any], None]"]


def copy_punctuation(lean: cst.Module, whole: cst.Module) -> bool:
    """Copy to the nodes of a module what LibCST has read of the same text.

    Each node stays the object that it is. Returns whether both modules have the same nodes; if not,
    some of the nodes may have their punctuation and others not.
    """
    fields_by_type: dict[type, list[_Field]] = {}
    pending: list[tuple[Any, Any]] = [(lean, whole)]
    while pending:
        node, model = pending.pop()
        kind = type(node)
        if kind is not type(model):
            return False
        fields = fields_by_type.get(kind)
        if fields is None:
            fields = fields_by_type[kind] = _fields(kind)
        for name, is_punctuation, store in fields:
            there = getattr(model, name)
            if is_punctuation:
                store(node, there)
                continue
            here = getattr(node, name)
            if here is there:
                continue
            if name in _MEANT:
                if _types(here) != _types(there):
                    return False
                store(node, there)
            elif isinstance(here, cst.CSTNode):
                pending.append((here, there))
            elif isinstance(here, tuple) and isinstance(there, tuple):
                if len(here) != len(there):
                    return False
                pending += zip(here, there, strict=True)
            elif here != there:
                return False
    return True


def _types(value: Any) -> Any:
    return [type(each) for each in value] if isinstance(value, tuple) else type(value)


def _fields(kind: Any) -> list[_Field]:
    return [(name, is_punctuation(name), getattr(kind, name).__set__) for name in kind.__slots__]


def is_punctuation(field: str) -> bool:
    """Return whether a field of LibCST's nodes holds whitespace or punctuation."""
    return field.startswith("whitespace") or (field in SKIPPED_FIELDS and field not in _MEANT)
