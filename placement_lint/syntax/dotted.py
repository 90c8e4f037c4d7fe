"""Dotted names as text."""

from __future__ import annotations

import libcst as cst


def dotted(node: cst.CSTNode) -> str:
    """Give the text of a name or of an attribute chain; the empty string for all else."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return ""
    return ".".join(reversed([*parts, node.value]))
