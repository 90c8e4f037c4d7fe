"""Which function or method of its own file a call certainly executes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.object_classes import class_of_object, method_of_object
from placement_lint.semantic.own_attributes import derived_classes
from placement_lint.semantic.written_tables import choices
from placement_lint.syntax.definitions import (
    class_named,
    initializer_of,
    is_generator,
    method_of_class,
    named_function,
    needs_no_object,
    only_caches,
    own_method,
)

if TYPE_CHECKING:
    from placement_lint.semantic.model import ModuleFacts


class LocalFunctions:
    """The functions of one file that calls in it lead to."""

    def __init__(self, facts: ModuleFacts) -> None:
        self._facts = facts
        self.names = facts.names
        # Rules import this module where LibCST may not be needed; a view of a file loads it.
        from placement_lint.semantic.file_view import FileView

        self._view = FileView(facts)

    def function(self, func: cst.BaseExpression) -> cst.FunctionDef | None:
        """Return the plain function of this file that a name certainly stands for, or a method."""
        if isinstance(func, cst.Subscript):
            # An item of a table that is written out.
            chosen, *others = choices(func, self._view)
            func = chosen[0] if chosen[1] and not others else func
        function = named_function(func, self.names) or initializer_of(func, self.names)
        if function is None and isinstance(func, cst.Attribute):
            function = self._local_method(func)
        is_plain = isinstance(function, cst.FunctionDef) and self.is_plain(function)
        return function if is_plain and isinstance(function, cst.FunctionDef) else None

    def _local_method(self, func: cst.Attribute) -> cst.FunctionDef | None:
        """Return the method of this file that `self.name` is, or that of an object made here.

        None if a class of the file derives from its class, and may have another one.
        """
        named = class_named(func.value, self.names)
        if named is not None:
            method = method_of_class(named, func.attr.value, self.names)
            is_given = method is not None and needs_no_object(method, self.names)
            return method if is_given else None
        method = own_method(func, self.names) or method_of_object(func, self._view)
        cls = None if method is None else self.names.scope(method).node
        is_final = isinstance(cls, cst.ClassDef) and not self.is_derived_from(cls)
        return method if is_final else None

    def method_elsewhere(self, func: cst.Attribute) -> str | None:
        """Return the name of the method of another file that an object made here has."""
        made = class_of_object(func.value, self._view)
        cls = None if made is None else self.names.qualified(made)
        return None if cls is None else f"{cls}.{func.attr.value}"

    def is_derived_from(self, cls: cst.ClassDef) -> bool:
        """Return whether a class of the file may derive from another one of it.

        Of one whose name is bound again it is not known which classes do.
        """
        only = self.names.scope(cls).sole_binding(cls.name.value)
        return only is None or id(cls) in self._facts.fact(derived_classes)

    def is_plain(self, function: cst.FunctionDef) -> bool:
        """Return whether calling a function executes its body, and nothing else."""
        waits = function.asynchronous is not None or is_generator(function, self.names)
        others = [each for each in function.decorators if not only_caches(each, self.names)]
        is_kept = not others or (len(others) == 1 and needs_no_object(function, self.names))
        return is_kept and not waits
