"""Which functions of a module are compiled, as programs over whole arrays, and what they call.

By names alone, as far as needed to know which functions are worth being executed as compiled code:
those that may lead to a call that puts an array somewhere.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.callbacks import HOST_CALLBACKS
from placement_lint.jaxmodel.tracing import OVER_WHOLE_ARRAYS, TRACINGS
from placement_lint.syntax.calls import Arguments, elements_or_self
from placement_lint.syntax.definitions import (
    applied,
    class_of_receiver,
    function_of,
    method_of_class,
    transforming,
)
from placement_lint.syntax.dotted import said

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.syntax.definitions import Function
    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree

_DECORATING = frozenset(name for name, tracing in TRACINGS.items() if tracing.decorates)
_SHARDINGS = frozenset({"NamedSharding", "P", "PartitionSpec"})
_PUTTING = frozenset({"device_put"})
_LISTING = frozenset({"devices", "local_devices"})
_CONSTRAINING = frozenset({"with_sharding_constraint"})
CALLBACKS = frozenset(name.rpartition(".")[2] for name in HOST_CALLBACKS)
"""The last parts of the names of what takes functions that compiled code calls back."""


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
    def named(self) -> set[str]:
        """The last parts of the names in what is given to be compiled."""
        found: set[str] = set()
        for call in self._tree.every(cst.Call):
            name = self._names.qualified(call.func)
            for position, keyword in TRACINGS[name].parameters if name in OVER_WHOLE_ARRAYS else ():
                given = Arguments(call).get(position, keyword)
                if given is not None:
                    below = self._tree.every(cst.Name, cst.Attribute, below=given)
                    found.update(map(said, (given, *below)))
        return found

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
        functions = (
            function_of(each, self._names, _DECORATING, or_overriding=True)
            for each in self._compiled_by(call)
        )
        return [function for function in functions if function is not None]

    def _compiled_by(self, call: cst.Call) -> Iterator[cst.BaseExpression]:
        """Yield what a call compiles, as it is written there: nothing if it compiles nothing."""
        name = transforming(call, self._names)
        if name in OVER_WHOLE_ARRAYS:
            arguments = Arguments(call)
            for position, keyword in TRACINGS[name].parameters:
                yield from elements_or_self(arguments.get(position, keyword))

    @cached_property
    def compiles_inherited(self) -> bool:
        """Whether a class of the module compiles a method that it has of another file's class:
        `self.step = jax.jit(self._step)`.
        """
        return any(
            isinstance(given, cst.Attribute) and self._is_inherited(given)
            for call in self._tree.every(cst.Call)
            for given in self._compiled_by(call)
        )

    def _is_inherited(self, attribute: cst.Attribute) -> bool:
        cls = class_of_receiver(attribute.value, self._names)
        if cls is None or not cls.bases:
            return False
        return method_of_class(cls, attribute.attr.value, self._names) is None

    @cached_property
    def helpers(self) -> frozenset[str]:
        """The names of private methods that the module names in compiled functions alone."""
        private = {
            node.name.value
            for node in self._tree.every(cst.FunctionDef)
            if _is_private(node.name.value) and node not in self and not node.decorators
        }
        names: dict[str, list[cst.Attribute]] = {}
        for use in self._tree.every(cst.Attribute) if self._functions else ():
            if use.attr.value in private:
                names.setdefault(use.attr.value, []).append(use)
        return frozenset(
            name
            for name, uses in names.items()
            if all(self._is_around(use) and self._is_called(use) for use in uses)
        )

    def _is_around(self, node: cst.CSTNode) -> bool:
        """Return whether a compiled function is around a node."""
        return any(id(ancestor) in self._functions for ancestor in self._tree.ancestors(node))

    def _is_called(self, use: cst.Attribute) -> bool:
        call = self._tree.parent(use)
        return isinstance(call, cst.Call) and call.func is use

    # -- what is called ---------------------------------------------------------------------------

    @cached_property
    def makes_shardings(self) -> bool:
        """Whether the module calls what makes shardings over meshes."""
        return not self._calls.isdisjoint(_SHARDINGS)

    @cached_property
    def lists_devices(self) -> bool:
        """Whether the module asks for devices by a list."""
        return not self._calls.isdisjoint(_LISTING)

    @cached_property
    def calls_back(self) -> bool:
        """Whether the module gives functions to host callbacks."""
        return not self._calls.isdisjoint(CALLBACKS)

    @property
    def putting(self) -> Iterator[cst.FunctionDef]:
        """The functions of the module that put an array to something themselves."""
        for function in self._tree.every(cst.FunctionDef):
            calls = self._tree.every(cst.Call, below=function)
            if any(self._action(call) == PUTTING for call in calls):
                yield function

    @cached_property
    def may_be_explicit(self) -> bool:
        """Whether the module has a word for meshes of which the axes may be Explicit."""
        return "make_mesh" in self._calls or any(
            node.attr.value == "Explicit" for node in self._tree.every(cst.Attribute)
        )

    @cached_property
    def _calls(self) -> frozenset[str]:
        """The last parts of the names that the module calls."""
        return frozenset(map(self._name, self._tree.every(cst.Call)))

    def _name(self, call: cst.Call) -> str:
        """Return the last part of the name of what is called, by the name that it has there."""
        qualified = self._names.qualified(call.func)
        return said(call.func) if qualified is None else qualified.rpartition(".")[2]

    @cached_property
    def actions(self) -> frozenset[str]:
        """Of `PUTTING` and `CONSTRAINING`, what functions of the module do."""
        return frozenset(
            action
            for call in self._tree.every(cst.Call)
            if (action := self._action(call)) is not None
            and any(
                isinstance(ancestor, cst.FunctionDef | cst.Lambda)
                for ancestor in self._tree.ancestors(call)
            )
        )

    @cached_property
    def called(self) -> dict[str, set[str]]:
        """For the name of each function, the last parts of the names in it.

        And for the name of each variable that may hold an object of a class, and of each class,
        what is called where such an object is.
        """
        found: dict[str, set[str]] = {}
        for function in self._tree.every(cst.FunctionDef):
            found.setdefault(function.name.value, set()).update(self.named_in(function))
        for name, objects in self._objects:
            found.setdefault(name, set()).update(objects)
        return found

    @property
    def _objects(self) -> Iterator[tuple[str, set[str]]]:
        """Yield names, with what is called where what they stand for is called as it is."""
        for node in self._tree.every(cst.ClassDef):
            calling = {_object(said(base.value)) for base in node.bases}
            for child in node.body.body:
                if isinstance(child, cst.FunctionDef) and child.name.value == "__call__":
                    calling |= self.named_in(child)
            yield _object(node.name.value), calling
        for assignment in self._tree.every(cst.Assign):
            if isinstance(assignment.value, cst.Call):
                made = {_object(self._name(assignment.value))}
                yield from ((said(each.target), made) for each in assignment.targets)
        for annotated in self._tree.every(cst.AnnAssign):
            yield said(annotated.target), {_object(said(annotated.annotation.annotation))}

    def named_in(self, function: Function) -> set[str]:
        """Return the last parts of the names in a function, and what it does: see `actions`."""
        found = set(map(said, self._tree.every(cst.Name, cst.Attribute, below=function)))
        for call in self._tree.every(cst.Call, below=function):
            found.add(self._name(call))
            if isinstance(call.func, cst.Call):
                found.add(_object(self._name(call.func)))
            action = self._action(call)
            if action is not None:
                found.add(action)
        return found

    def _action(self, call: cst.Call) -> str | None:
        """Return which of `PUTTING` and `CONSTRAINING` a call does, as far as its text tells."""
        name = self._name(call)
        if name in _CONSTRAINING:
            return CONSTRAINING
        keywords = {each.keyword.value for each in call.args if each.keyword is not None}
        is_putting = "device" in keywords or (name in _PUTTING and len(call.args) > 1)
        return PUTTING if is_putting else None


PUTTING = "\0device_put"
"""Stands for a call that puts an array to something, in the names of a function."""
CONSTRAINING = "\0with_sharding_constraint"
"""Stands for a call that constrains an array to a sharding."""


def _object(cls: str) -> str:
    """Return what stands for the objects of a class where they are called."""
    return f"{cls}()"


def callers_of(functions: Iterable[str], modules: Iterable[Compiled]) -> set[str]:
    """Return the names of `functions`, and of those that may call one of them, in any number of
    steps. Functions are followed by the last parts of their names, whatever these stand for.
    """
    found = {*functions}
    callers: dict[str, set[str]] = {}
    for module in modules if found else ():
        for name, names in module.called.items():
            for each in names:
                callers.setdefault(each, set()).add(name)
    pending = [*found]
    while pending:
        for caller in callers.get(pending.pop(), set()) - found:
            found.add(caller)
            pending.append(caller)
    return found


def lead_to_placing(modules: Iterable[Compiled], *, constraining: bool = False) -> bool:
    """Return whether compiled code of a program may come by a call that places an array.

    That is one that puts it to something; or, with `constraining` or where a mesh may have Explicit
    axes, one that constrains it. Functions are followed by the last parts of their names, whatever
    these stand for.
    """
    every = list(modules)
    if not any(module.makes_shardings for module in every):
        return False
    wanted = {PUTTING}
    if constraining or any(module.may_be_explicit for module in every):
        wanted.add(CONSTRAINING)
    if not any(wanted & module.actions for module in every):
        return False
    called: dict[str, set[str]] = {}
    for module in every:
        for name, names in module.called.items():
            called.setdefault(name, set()).update(names)
    pending = [
        name
        for module in every
        for names in (module.named, *map(module.named_in, module.functions))
        for name in names
    ]
    seen: set[str] = set()
    while pending:
        name = pending.pop()
        if name in wanted:
            return True
        if name not in seen:
            seen.add(name)
            pending += called.get(name, ())
    return False


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")
