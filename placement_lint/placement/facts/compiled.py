"""Which functions of a module are compiled, as programs over whole arrays, and what they call.

By names alone, as far as needed to know which functions are worth being executed as compiled code:
those that may lead to a call that puts an array somewhere.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.tracing import OVER_WHOLE_ARRAYS, TRACINGS
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import applied, function_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.syntax.definitions import Function
    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree

_DECORATING = frozenset(name for name, tracing in TRACINGS.items() if tracing.decorates)
_SHARDINGS = frozenset({"NamedSharding", "PartitionSpec"})
_PUTTING = frozenset({"device_put", "to_device"})


class Compiled:
    """The functions of one module that `jax.jit`, `jax.lax.scan` and their like compile."""

    def __init__(self, tree: Tree, names: Names) -> None:
        self._tree = tree
        self._names = names

    def __contains__(self, function: cst.CSTNode) -> bool:
        return id(function) in self._functions

    @property
    def functions(self) -> Iterable[Function]:
        """Every such function, by a decorator or as an argument."""
        return self._functions.values()

    @cached_property
    def _functions(self) -> dict[int, Function]:
        found: dict[int, Function] = {}
        for node in self._tree.every(cst.FunctionDef, cst.Call):
            if isinstance(node, cst.FunctionDef):
                made = (applied(each.decorator, self._names)[0] for each in node.decorators)
                if any(
                    each is not None and self._names.qualified(each) in OVER_WHOLE_ARRAYS
                    for each in made
                ):
                    found[id(node)] = node
            elif isinstance(node, cst.Call):
                found.update((id(each), each) for each in self._given(node))
        return found

    def _given(self, call: cst.Call) -> list[Function]:
        """Return the functions of this file that a call compiles."""
        name = self._names.qualified(call.func)
        if name not in OVER_WHOLE_ARRAYS:
            return []
        arguments = Arguments(call)
        found: list[Function] = []
        for position, keyword in TRACINGS[name].parameters:
            given = arguments.get(position, keyword)
            several = isinstance(given, cst.List | cst.Tuple)
            parts = (
                [element.value for element in given.elements]
                if several and isinstance(given, cst.List | cst.Tuple)
                else [given]
            )
            functions = (function_of(part, self._names, _DECORATING) for part in parts)
            found += [function for function in functions if function is not None]
        return found

    # -- what is called ---------------------------------------------------------------------------

    @cached_property
    def names_shardings(self) -> bool:
        """Whether the module has the word for a sharding over a mesh."""
        return any(node.value in _SHARDINGS for node in self._tree.every(cst.Name))

    @cached_property
    def puts(self) -> bool:
        """Whether a function of the module puts an array to something."""
        return any(
            isinstance(ancestor, cst.FunctionDef | cst.Lambda)
            for call in self._tree.every(cst.Call)
            if _puts(call)
            for ancestor in self._tree.ancestors(call)
        )

    @cached_property
    def called(self) -> dict[str, set[str]]:
        """For the name of each function, the last parts of the names in it."""
        found: dict[str, set[str]] = {}
        for function in self._tree.every(cst.FunctionDef):
            found.setdefault(function.name.value, set()).update(self.named_in(function))
        return found

    def named_in(self, function: Function) -> set[str]:
        """Return the last parts of the names in a function, `PUTTING` among them if it puts."""
        found: set[str] = set()
        for node in self._tree.every(cst.Name, cst.Attribute, below=function):
            found.add(node.value if isinstance(node, cst.Name) else node.attr.value)
        if any(map(_puts, self._tree.every(cst.Call, below=function))):
            found.add(PUTTING)
        return found


PUTTING = "\0device_put"
"""Stands for a call that puts an array to something, in the names of a function."""


def _puts(call: cst.Call) -> bool:
    """Return whether a call says where an array is to be, as far as its text tells."""
    name = call.func
    last = name.attr.value if isinstance(name, cst.Attribute) else ""
    if isinstance(name, cst.Name):
        last = name.value
    if last in _PUTTING:
        return last == "to_device" or len(call.args) > 1
    return any(each.keyword is not None and each.keyword.value == "device" for each in call.args)


def lead_to_putting(modules: Iterable[Compiled]) -> bool:
    """Return whether compiled code of a program may come by a call that puts an array somewhere.

    Functions are followed by the last parts of their names, whatever these stand for.
    """
    every = list(modules)
    if not any(module.puts for module in every):
        return False
    called: dict[str, set[str]] = {}
    for module in every:
        for name, names in module.called.items():
            called.setdefault(name, set()).update(names)
    pending = [
        name
        for module in every
        for function in module.functions
        for name in module.named_in(function)
    ]
    seen: set[str] = set()
    while pending:
        name = pending.pop()
        if name == PUTTING:
            return True
        if name not in seen:
            seen.add(name)
            pending += called.get(name, ())
    return False
