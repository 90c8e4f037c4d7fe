"""What a name stands for in one file, where it is bound once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.model import ModuleFacts

_NAME_HOPS = 4


def assigned_value(node: cst.CSTNode, ctx: FileView) -> cst.BaseExpression | None:
    """Return what a name is bound to, where it is bound once, by an assignment.

    That may be one of several values: `rows, columns = 8, 64`.
    """
    only = ctx.names.sole_binding(node)
    if only is None:
        return None
    bound = only.node
    if only.value is None and isinstance(bound, cst.Assign) and isinstance(node, cst.Name):
        known = ctx.module.fact(_unpacked)
        if id(bound) not in known:
            known[id(bound)] = {
                name: value
                for each in bound.targets
                for name, value in _parts(each.target, bound.value)
            }
        return known[id(bound)].get(node.value)
    return only.value


def _unpacked(_facts: ModuleFacts) -> dict[int, dict[str, cst.BaseExpression]]:
    """Make the store of one file: what an unpacking binds each name to, by assignment."""
    return {}


def _parts(
    target: cst.BaseExpression, value: cst.BaseExpression
) -> Iterator[tuple[str, cst.BaseExpression]]:
    """Yield the names in a target, each with the part of the value that is assigned to it."""
    if isinstance(target, cst.Name):
        yield target.value, value
    elif isinstance(target, cst.Tuple | cst.List) and isinstance(value, cst.Tuple | cst.List):
        parts = (*target.elements, *value.elements)
        if len(target.elements) == len(value.elements) and not any(
            isinstance(part, cst.StarredElement) for part in parts
        ):
            for each, part in zip(target.elements, value.elements, strict=True):
                yield from _parts(each.value, part.value)


def followed(node: cst.BaseExpression, ctx: FileView) -> cst.BaseExpression:
    """Return what a name stands for, through a few names that are bound once."""
    for _ in range(_NAME_HOPS):
        value = assigned_value(node, ctx)
        if value is None:
            break
        node = value
    return node
