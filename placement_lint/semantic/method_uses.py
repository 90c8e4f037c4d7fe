"""Where the methods of a class are called, by their names, in whichever file objects of it are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.calls import string_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.semantic.model import ModuleFacts


@dataclass(frozen=True)
class MethodUse:
    """A place that reads an attribute by the name of a method."""

    node: cst.CSTNode
    call: cst.Call | None
    """The call of it; None where it is given to something."""
    is_known: bool
    """The object is certainly one of the class, and not just of a class that has such a name."""


def uses_of_method(facts: ModuleFacts, cls: str, path: str, name: str) -> Iterator[MethodUse]:
    """Yield what may call a method of a class, of the file at `path`, in one file.

    That is whatever has its name, but for what certainly is of another module; and the name as a
    text, by which `getattr` may find it.
    """
    # Rules import this module where LibCST may not be needed.
    from placement_lint.semantic.known_types import KnownTypes

    for text in facts.tree.every(cst.SimpleString):
        if string_value(text) == name:
            yield MethodUse(text, None, False)
    types = facts.fact(KnownTypes)
    for node in facts.tree.every(cst.Attribute):
        if node.attr.value != name or facts.names.qualified(node) is not None:
            continue
        parent = facts.tree.parent(node)
        if isinstance(parent, cst.AssignTarget | cst.Del):
            continue
        of = types.of(node.value)
        is_known = of is not None and (of.name, of.path or facts.path) == (cls, path)
        call = parent if isinstance(parent, cst.Call) and parent.func is node else None
        yield MethodUse(node, call, is_known)
