"""Metaclasses of the program: what they do as classes are made, and as these are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.program_values import Class
from placement_lint.placement.domain.state import initial_state
from placement_lint.placement.domain.values import UNKNOWN, Method, Plain, Value, sole, value
from placement_lint.placement.facts.decorators import is_property

if TYPE_CHECKING:
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.engine.protocols import Interpreter

_BUILTIN = frozenset({"abc.ABCMeta", "builtins.type", "enum.EnumMeta", "enum.EnumType"})


class Metaclasses:
    """Finds the metaclasses of classes, and calls their methods where Python does."""

    def __init__(self, program: Interpreter) -> None:
        self._program = program
        self._known: dict[Place, Place | None] = {}
        self._making: list[Place] = []

    def of(self, cls: Place) -> Place | None:
        """Return the metaclass of a class, if it is one of the program."""
        if cls not in self._known:
            self._known[cls] = None
            for place in self._program.classes.bases(cls):
                module, node = self._program.module_of(place), self._program.node(place)
                for each in node.keywords if isinstance(node, cst.ClassDef) else ():
                    if each.keyword is None or each.keyword.value != "metaclass":
                        continue
                    is_name = isinstance(each.value, cst.Name | cst.Attribute)
                    if not is_name or module.names.qualified(each.value) in _BUILTIN:
                        return None
                    there = self._program.expressions(module)
                    held = there.evaluate(each.value, initial_state())
                    only = sole(there.calls.objects.read(None, held, initial_state()))
                    self._known[cls] = only.place if isinstance(only, Class) else None
                    return self._known[cls]
        return self._known[cls]

    def method(self, cls: Place, name: str) -> Place | None:
        """Return the method of the metaclass of a class."""
        metaclass = self.of(cls)
        return None if metaclass is None else self._program.classes.method(metaclass, name)

    def attribute(self, cls: Class, name: str, state: State) -> Value | None:
        """Return what a class has by a name of its metaclass; None: that has no such function."""
        metaclass, function = self.of(cls.place), self.method(cls.place, name)
        if metaclass is None:
            return None
        if function is None:
            held = self._program.classes.class_variable(metaclass, name, state)
            return None if held == UNKNOWN else held
        module, node = self._program.module_of(function), self._program.node(function)
        if isinstance(node, cst.FunctionDef) and is_property(module, node):
            return self._program.functions.call(function, {0: value(cls)}, state, bound=True)
        return value(Method(function, cls))

    def subclasses(self, cls: Place) -> list[Place]:
        """Return the classes at the top of the files of a program that name one as their base."""
        named_bases = self._program.classes.named_bases
        return [
            place
            for module in self._program.modules.values()
            for node in module.tree.every(cst.ClassDef)
            if node.bases
            and module.names.scope(node) is module.names.module_scope
            and cls in named_bases(place := module.place(node))
        ]

    def made(self, cls: Place, state: State) -> None:
        """Call what a metaclass does with a new class: it may register it."""
        metaclass, node = self.of(cls), self._program.node(cls)
        if metaclass is None or not isinstance(node, cst.ClassDef):
            return
        self._making.append(cls)
        name = value(Plain(node.name.value))
        for method, first in (("__new__", Class(metaclass)), ("__init__", Class(cls))):
            function = self._program.classes.method(metaclass, method)
            if function is not None:
                given: dict[int | str, Value] = {0: value(first), 1: name, 2: UNKNOWN, 3: UNKNOWN}
                self._program.functions.call(function, given, state, bound=True)
        self._making.pop()

    def new(self, metaclass: Place) -> Class | None:
        """Return the class that `super().__new__(…)` of a metaclass gives; None of all others."""
        cls = self._making[-1] if self._making else None
        return Class(cls) if cls is not None and self.of(cls) == metaclass else None
