"""Metaclasses of the program, whose `__call__` makes the objects of their classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.program_values import Class, External
from placement_lint.placement.domain.state import initial_state
from placement_lint.placement.domain.values import sole

if TYPE_CHECKING:
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.engine.protocols import Interpreter


class Metaclasses:
    """Finds what makes the objects of the classes of a program, in place of `type.__call__`."""

    def __init__(self, program: Interpreter) -> None:
        self._program = program
        self._found: dict[Place, Place | None] = {}

    def maker(self, cls: Place) -> Place | None:
        """Return the `__call__` of the metaclass of a class, its own or that of a base."""
        if cls not in self._found:
            named = map(self._named, self._program.classes.bases(cls))
            metaclass = next((each for each in named if each is not None), None)
            find = self._program.classes.method
            self._found[cls] = None if metaclass is None else find(metaclass, "__call__")
        return self._found[cls]

    def _named(self, cls: Place) -> Place | None:
        """Return the class of the program that a class names as its metaclass."""
        module, node = self._program.module_of(cls), self._program.node(cls)
        for each in node.keywords if isinstance(node, cst.ClassDef) else ():
            if each.keyword is not None and each.keyword.value == "metaclass":
                state = initial_state()
                held = self._program.expressions(module).evaluate(each.value, state)
                only = sole(held)
                if isinstance(only, External):
                    only = sole(self._program.linking.loaded(only, state))
                return only.place if isinstance(only, Class) else None
        return None
