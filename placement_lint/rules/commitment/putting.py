"""Whether what a call makes is put on a device: at once, or by the name that it is bound to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.reading import LOGGING_METHODS, PRINTING
from placement_lint.placement.domain.places import Place
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.names import Names

_PUTTING = re.compile("device_put|to_device|shard")
_LOGGING = LOGGING_METHODS | {"log"}
PUTTING_WORDS = "put|move|send|transfer|to|shard|place|offload"
"""Words in the names of functions that may only put what they are given, as alternatives."""
TREE_MAPS = frozenset({"jax.tree.map", "jax.tree_map", "jax.tree_util.tree_map"})
"""What is mapped may be a function of the file that puts, whatever it is called."""


def is_put(call: cst.Call, ctx: Context) -> bool:
    """Return whether the result of a call is put somewhere, or may be by the function around it.

    A call puts what it is given if a name in it says so: `jax.device_put`, `x.to_device`,
    `shard_batch`, or a lambda that does.
    """
    place = Place(ctx.flow.module.name, ctx.tree.index(call))
    if any(place in module.record.put for module in ctx.flow.program.modules.values()):
        return True
    putting = ctx.module.fact(_Putting)
    names: set[str] = set()
    mapped: set[int] = set()
    child: cst.CSTNode = call
    for ancestor in ctx.ancestors(call):
        if isinstance(ancestor, cst.Call) and child is next(iter(ancestor.args), None):
            # Its function is the lambda around, which puts nothing itself.
            mapped |= {id(ancestor.func)} if ctx.is_call(ancestor, *TREE_MAPS) else set()
        child = ancestor
        if not putting.calls.get(id(ancestor), mapped) <= mapped:
            return True
        if isinstance(ancestor, cst.BaseSmallStatement):
            if isinstance(ancestor, cst.Assign):
                names = {
                    dotted(part)
                    for target in ancestor.targets
                    for part in ctx.tree.descendants(target)
                    if isinstance(part, cst.Name | cst.Attribute)
                    and not isinstance(ctx.parent(part), cst.Attribute)
                }
            function = ctx.function(ancestor)
            return not names.isdisjoint(putting.given.get(id(function), ()))
    return False


def _shows(call: cst.Call, names: Names) -> bool:
    """Return whether a call only writes something for people: `print(x.sharding)`."""
    function = call.func
    if isinstance(function, cst.Attribute) and function.attr.value in _LOGGING:
        return True
    return names.qualified(function) in PRINTING


class _Putting:
    """The calls of one file that may put something, and what they are given."""

    def __init__(self, facts: ModuleFacts) -> None:
        tree = facts.tree
        self.calls: dict[int, set[int]] = {}
        """By each as `id`: the names that say so."""
        self.given: dict[int, set[str]] = {}
        """By the function in which it happens, as `id`: the dotted names in such calls."""
        outermost: dict[int, cst.CSTNode] = {}
        nodes: list[cst.Name | cst.Attribute] = [
            *tree.every(cst.Name),
            *tree.every(cst.Attribute),
        ]
        for node in nodes:
            name = facts.names.qualified(node) or ""
            last = node.attr.value if isinstance(node, cst.Attribute) else node.value
            if not _PUTTING.search(f"{name} {last}") and name not in TREE_MAPS:
                continue
            calls = [each for each in tree.ancestors(node) if isinstance(each, cst.Call)]
            if calls and _shows(calls[-1], facts.names):
                continue
            for each in calls:
                self.calls.setdefault(id(each), set()).add(id(node))
            if calls:
                outermost[id(calls[-1])] = calls[-1]
        for call in outermost.values():
            names = {
                dotted(part)
                for part in tree.descendants(call)
                if isinstance(part, cst.Name | cst.Attribute)
            }
            for ancestor in tree.ancestors(call):
                if isinstance(ancestor, cst.FunctionDef | cst.Lambda):
                    self.given.setdefault(id(ancestor), set()).update(names)
            self.given.setdefault(id(None), set()).update(names)
