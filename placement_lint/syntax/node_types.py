"""LibCST's types of nodes."""

from __future__ import annotations

import abc
import functools

import libcst as cst


class _NodeType(abc.ABCMeta):
    """The type of a type of nodes, of which `isinstance` asks what a node inherits, and no more.

    For abstract classes it asks in Python whether others were registered as subclasses, which takes
    twice as long, and millions of times in a run. Nobody registers any for nodes.
    """

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__


@functools.cache
def check_quickly() -> None:
    """Have `isinstance` answer quickly for nodes, once for this process."""
    pending: list[type] = [cst.CSTNode]
    while pending:
        kind = pending.pop()
        if type(kind) is abc.ABCMeta:
            kind.__class__ = _NodeType
            pending += kind.__subclasses__()
