"""The abstract classes of a program, and those that derive from them, of which objects are made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.tree import children

if TYPE_CHECKING:
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.engine.protocols import Interpreter

_ABSTRACT = frozenset({
    "abc.abstractclassmethod", "abc.abstractmethod", "abc.abstractproperty",
    "abc.abstractstaticmethod",
})  # fmt: skip
_MOST_DERIVED = 4
"""Classes that derive from one: a method that has more of them is executed on none."""


class AbstractClasses:
    """Finds the classes on whose objects the methods of an abstract class are called."""

    def __init__(self, program: Interpreter) -> None:
        self._program = program
        self._derived: dict[Place, list[Place]] | None = None
        self._left_open: dict[Place, frozenset[str]] = {}

    def derived(self, cls: Place) -> list[Place]:
        """Return the classes that derive from an abstract class and are not abstract themselves.

        A class that makes nothing of its objects, such as a mixin, counts as abstract. The list is
        empty where the class is not abstract, and where too many derive from it.
        """
        if not (self._is_abstract(cls) or self._is_mixed_in(cls)):
            return []
        if self._derived is None:
            self._derived = self._classes_by_base()
        found = self._derived.get(cls, [])
        if len(found) > 2 * _MOST_DERIVED:
            return []
        concrete = [each for each in found if not self._is_abstract(each)]
        return concrete if len(concrete) <= _MOST_DERIVED else []

    def _classes_by_base(self) -> dict[Place, list[Place]]:
        found: dict[Place, list[Place]] = {}
        for module in [*self._program.modules.values()]:
            for node in module.tree.every(cst.ClassDef):
                place = module.place(node)
                for base in self._program.classes.bases(place)[1:] if node.bases else ():
                    found.setdefault(base, []).append(place)
        return found

    def _is_abstract(self, cls: Place) -> bool:
        """Return whether Python, or the class itself, refuses to make objects of a class."""
        module, node = self._program.module_of(cls), self._program.node(cls)
        if not isinstance(node, cst.ClassDef):
            return False
        if any(module.names.qualified(base.value) == "abc.ABC" for base in node.bases):
            return True
        classes = self._program.classes
        bases = classes.bases(cls)
        return any(
            classes.method(cls, name) == classes.method(base, name)
            for base in bases
            for name in self._open_methods(base)
        )

    def _is_mixed_in(self, cls: Place) -> bool:
        """Return whether a class neither initializes its objects nor has any, by itself or by
        what it derives from outside of the program: a test case does.
        """
        program = self._program
        return (
            not program.now.instances.get(cls)
            and program.classes.method(cls, "__init__") is None
            and program.classes.fields(cls) is None
            and program.classes.is_plain(cls)
        )

    def _open_methods(self, cls: Place) -> frozenset[str]:
        """Return the methods that a class leaves to those that derive from it."""
        if cls not in self._left_open:
            module, node = self._program.module_of(cls), self._program.node(cls)
            body = node.body.body if isinstance(node, cst.ClassDef) else ()
            self._left_open[cls] = frozenset(
                each.name.value
                for each in body
                if isinstance(each, cst.FunctionDef)
                and (
                    any(module.names.qualified(d.decorator) in _ABSTRACT for d in each.decorators)
                    or _only_refuses(each)
                )
            )
        return self._left_open[cls]


def _only_refuses(function: cst.FunctionDef) -> bool:
    """Return whether a method does nothing but raise NotImplementedError."""
    lines = function.body.body
    line = lines[-1] if len(lines) in {1, 2} else None
    last = line.body[-1] if isinstance(line, cst.SimpleStatementLine) else line
    return isinstance(last, cst.Raise) and any(
        isinstance(each, cst.Name) and each.value == "NotImplementedError"
        for part in children(last)
        for each in (part, *children(part))
    )
