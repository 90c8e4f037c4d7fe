"""Whether it may be known of arrays of a file to which devices they are committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.calls import Arguments, integer_value
from placement_lint.syntax.dotted import said

if TYPE_CHECKING:
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.names import Names

_PUT = "device_put"
_WAYS = (
    *("RestoreArgs", "ShapeDtypeStruct", "_do_init", "dlpack", "harding", "host_local_array"),
    *("make_array", "to_device", _PUT),
)
"""Parts of the words of all that commits arrays, other than by an argument."""
_ARGUMENTS = frozenset({"backend", "device"})
_LISTS = frozenset({"jax.devices", "jax.local_devices"})


def may_commit_to_known_devices(facts: ModuleFacts) -> bool:
    """Return whether arrays may be committed to a device of which it is known which one it is.

    Of a file that is executed for itself. It is not known where the only thing that commits any is
    `jax.device_put(x, devices[step % len(devices)])`, and these are all devices that there are.
    """
    # Rules import this module where LibCST may not be needed.
    from placement_lint.semantic.expressed_words import expressed_words

    words = expressed_words(facts)
    for word in words:
        if word in _ARGUMENTS or (word != _PUT and any(way in word for way in _WAYS)):
            return True
    if _PUT not in words:
        return False
    tree, names = facts.tree, facts.names
    for node in tree.every(cst.Name, cst.Attribute):
        parent = tree.parent(node)
        if isinstance(parent, cst.Attribute) and parent.attr is node:
            continue
        if names.qualified(node) == "jax.device_put":
            call = parent if isinstance(parent, cst.Call) and parent.func is node else None
            if call is None or not _puts_on_any(call, names):
                return True
        elif said(node) == _PUT:
            return True
    return any(_PUT in said(node) for node in tree.every(cst.FormattedStringText, cst.SimpleString))


def _puts_on_any(call: cst.Call, names: Names) -> bool:
    """Return whether a call puts something on one of all devices, of which nobody knows which."""
    arguments = Arguments(call)
    target = arguments.get(1, "device")
    return not arguments.is_open and (target is None or is_any_device(target, names))


def is_any_device(node: cst.BaseExpression, names: Names) -> bool:
    """Return whether an expression surely is one of all devices, of which nobody knows which."""
    if not isinstance(node, cst.Subscript) or len(node.slice) != 1:
        return False
    index = node.slice[0].slice
    if not isinstance(index, cst.Index):
        return False
    # A name or a text may be a number that the interpreter knows.
    if isinstance(
        index.value, cst.Attribute | cst.ConcatenatedString | cst.Name | cst.SimpleString
    ):
        return False
    return integer_value(index.value) is None and _is_every_device(node.value, names)


def _is_every_device(node: cst.BaseExpression, names: Names) -> bool:
    """Return whether an expression surely is the list of all devices, as JAX gives it."""
    if isinstance(node, cst.Name):
        only, uses = names.sole_binding(node), names.uses(node.value, names.scope(node))
        if only is None or only.value is None:
            return False
        if not all(_only_reads(use, names) for use in uses):
            return False
        node = only.value
    return isinstance(node, cst.Call) and not node.args and names.qualified(node.func) in _LISTS


def _only_reads(use: cst.Name, names: Names) -> bool:
    """Return whether the list that a name stands for is only indexed there, or its length asked."""
    parent = names.tree.parent(use)
    if isinstance(parent, cst.AssignTarget):
        return True
    if isinstance(parent, cst.Subscript) and parent.value is use:
        parent = names.tree.parent(parent)
        return isinstance(parent, cst.Arg)
    call = names.tree.parent(parent) if isinstance(parent, cst.Arg) else None
    return isinstance(call, cst.Call) and names.qualified(call.func) == "builtins.len"
