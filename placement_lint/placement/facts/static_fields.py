"""The fields of a class that are no leaves of its objects: they hold no arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.facts.annotations import is_function
from placement_lint.syntax.calls import Arguments, string_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.syntax.names import Names


def static_fields(node: cst.ClassDef) -> set[str]:
    """Return the fields that a class says are static, in its body or in a decorator."""
    found = {field for field, is_static in _fields(node) if is_static}
    for decorator in node.decorators:
        if isinstance(decorator.decorator, cst.Call):
            found |= meta_fields(decorator.decorator)
    return found


def meta_fields(call: cst.Call) -> set[str]:
    """Return the static fields that a registration of a class names."""
    fields = Arguments(call).get(2, "meta_fields")
    if not isinstance(fields, cst.List | cst.Tuple):
        return set()
    names = (string_value(element.value) for element in fields.elements)
    return {name for name in names if name is not None}


def static_and_others(
    classes: Sequence[cst.ClassDef], names: Names
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of fields of these classes that hold no arrays, and those of the others."""
    static: set[str] = set()
    others: set[str] = set()
    for node in classes:
        own = static_fields(node) | {
            name for name, field in _annotated(node) if is_function(field.annotation, names)
        }
        static |= own
        others.update(name for name, _ in _annotated(node) if name not in own)
    return frozenset(static), frozenset(others)


def _fields(node: cst.ClassDef) -> list[tuple[str, bool]]:
    """Return the annotated fields of a class, and whether their defaults say they are static."""
    return [
        (name, isinstance(field.value, cst.Call) and _is_static(field.value))
        for name, field in _annotated(node)
    ]


def _annotated(node: cst.ClassDef) -> list[tuple[str, cst.AnnAssign]]:
    """Return the annotated fields of a class by their names."""
    return [
        (child.target.value, child)
        for line in node.body.body
        if isinstance(line, cst.SimpleStatementLine)
        for child in line.body
        if isinstance(child, cst.AnnAssign) and isinstance(child.target, cst.Name)
    ]


def _is_static(default: cst.Call) -> bool:
    """Return whether the default of a field says that it is no leaf: `field(static=True)`."""
    keywords = Arguments(default).keywords
    return (
        _is(keywords.get("static"), "True")
        or _is(keywords.get("pytree_node"), "False")
        or (
            isinstance(metadata := keywords.get("metadata"), cst.Call | cst.Dict)
            and "static" in _keys(metadata)
        )
    )


def _keys(node: cst.Call | cst.Dict) -> set[str | None]:
    if isinstance(node, cst.Call):
        return set(Arguments(node).keywords)
    return {string_value(e.key) for e in node.elements if isinstance(e, cst.DictElement)}


def _is(node: cst.BaseExpression | None, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name
