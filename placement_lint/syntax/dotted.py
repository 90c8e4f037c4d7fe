"""Dotted names as text."""

from __future__ import annotations

import functools

import libcst as cst


def dotted(node: cst.CSTNode) -> str:
    """Return the text of a name or of an attribute chain; the empty string for all else."""
    parts: list[str] = []
    # Everything asks this, and `isinstance` is slow for LibCST's types: they are abstract ones.
    while type(node) is cst.Attribute:
        parts.append(node.attr.value)
        node = node.value
    if type(node) is not cst.Name:
        return ""
    return ".".join(reversed([*parts, node.value]))


def whole_of(node: cst.CSTNode) -> cst.CSTNode:
    """Return what an attribute or an item is of, however deep: `state` of `state.params["w"]`."""
    while isinstance(node, cst.Attribute | cst.Subscript):
        node = node.value
    return node


@functools.cache
def saying() -> tuple[type[cst.CSTNode], ...]:
    """Return the nodes that have a word of their own: see `said`."""
    return (
        cst.Name,
        cst.Attribute,
        cst.Arg,
        cst.ImportAlias,
        cst.SimpleString,
        cst.FormattedStringText,
    )


def said(node: cst.CSTNode) -> str:
    """Return the word of a node: a name, an attribute, a keyword of an argument, the last part of
    what is imported, or the text of a string; of anything else nothing.
    """
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        return node.attr.value
    if isinstance(node, cst.Arg):
        return "" if node.keyword is None else node.keyword.value
    if isinstance(node, cst.ImportAlias):
        return said(node.name)
    if isinstance(node, cst.FormattedStringText):
        return node.value
    return node.raw_value if isinstance(node, cst.SimpleString) else ""
