"""Failures that helpers of the program expect, or catch, for the code that they are around.

A block whose context does so, a function with such a decorator, and what is passed to a function
that calls it in a `try`: `attempt(lambda: a + b)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.beside import definition_beside, method_beside
from placement_lint.syntax.calls import is_none
from placement_lint.syntax.definitions import function_of
from placement_lint.syntax.dotted import said
from placement_lint.syntax.expected_failures import expects_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.model import ModuleFacts

_EXITS = frozenset({"__exit__", "__aexit__"})


class Helpers:
    """The helpers around one node that handle a failure in some way."""

    def __init__(
        self,
        ctx: FileView,
        way: Hashable,
        handles: Callable[[cst.CSTNode, FileView], bool],
        *,
        swallowing: bool,
    ) -> None:
        """Take how failures are handled, which `way` names.

        `handles` returns whether that of a node is, where it stands in a file. `swallowing`: so is
        that in a context whose `__exit__` may return True.
        """
        self._ctx = ctx
        self._way = way
        self._handles = handles
        self._swallowing = swallowing

    def are_around(self, node: cst.CSTNode) -> bool:
        """Return whether one of them is around a node, up to the function that it is in."""
        if any(self._is_entered(item.item) for item in self._ctx.with_items(node)):
            return True
        function = self._ctx.function(node)
        if isinstance(function, cst.FunctionDef):
            return any(self._calls(each.decorator) for each in function.decorators) or (
                self._is_passed(function)
            )
        return isinstance(function, cst.Lambda) and self._is_given(function)

    def _is_entered(self, context: cst.BaseExpression) -> bool:
        """Return whether a context of the program handles what its block raises."""
        made = self._made(context)
        defined, there = (None, self) if made is None else self._defined(made.func)
        if isinstance(defined, cst.ClassDef):
            return self._swallowing and there._once(defined, there._may_swallow)
        return isinstance(defined, cst.FunctionDef) and there._once(defined, there._yields_handled)

    def _made(self, context: cst.BaseExpression) -> cst.Call | None:
        if isinstance(context, cst.Name):
            binding = self._ctx.names.sole_binding(context)
            held = None if binding is None else binding.value
            return held if isinstance(held, cst.Call) else None
        return context if isinstance(context, cst.Call) else None

    def _defined(self, named: cst.BaseExpression) -> tuple[cst.CSTNode | None, Helpers]:
        """Return what defines a helper, of any file of the program, and the helpers there."""
        names = self._ctx.names
        function = function_of(named, names)
        own = names.sole_definition(named) if isinstance(named, cst.Name) else None
        name = self._ctx.name(named)
        found = None if name is None else definition_beside(self._ctx.module, name)
        if function is None and isinstance(named, cst.Attribute) and name is None:
            found = method_beside(named, self._ctx.module)
        if function is not None or found is None:
            return function or own, self
        # A view of a file loads this module.
        from placement_lint.semantic.file_view import FileView

        view = FileView(found[1])
        return found[0], Helpers(view, self._way, self._handles, swallowing=self._swallowing)

    def _yields_handled(self, function: cst.FunctionDef) -> bool:
        yields = [
            each
            for each in self._ctx.tree.every(cst.Yield, below=function)
            if self._ctx.function(each) is function
        ]
        return bool(yields) and all(self._handles(each, self._ctx) for each in yields)

    def _may_swallow(self, cls: cst.ClassDef) -> bool:
        return any(
            method.name.value in _EXITS and any(self._given_back(method))
            for method in cls.body.body
            if isinstance(method, cst.FunctionDef)
        )

    def _given_back(self, method: cst.FunctionDef) -> Iterator[bool]:
        for each in self._ctx.tree.every(cst.Return, below=method):
            if self._ctx.function(each) is method and each.value is not None:
                yield not (is_none(each.value) or said(each.value) == "False") and (
                    # What another context says: those of JAX hide nothing.
                    not isinstance(each.value, cst.Call) or said(each.value.func) not in _EXITS
                )

    def _calls(self, helper: cst.BaseExpression) -> bool:
        """Return whether a function of the program handles the failures of what it is given."""
        named = helper.func if isinstance(helper, cst.Call) else helper
        defined, there = self._defined(named)
        return isinstance(defined, cst.FunctionDef) and there._once(defined, there._calls_handled)

    def _calls_handled(self, function: cst.FunctionDef) -> bool:
        """Return whether all calls of parameters in a function, of which there is one, are so."""
        calls, names = [], self._ctx.names
        for each in self._ctx.tree.every(cst.Call, below=function):
            if isinstance(each.func, cst.Name) and self._is_parameter(each.func):
                calls.append(each)
            elif expects_failure(each, names) and any(
                self._is_parameter(given.value) for given in each.args
            ):
                # `pytest.raises(ValueError, function)`
                return True
        return bool(calls) and all(self._handles(each, self._ctx) for each in calls)

    def _is_parameter(self, node: cst.BaseExpression) -> bool:
        binding = self._ctx.names.sole_binding(node) if isinstance(node, cst.Name) else None
        return binding is not None and isinstance(binding.node, cst.Param)

    def _is_given(self, function: cst.CSTNode) -> bool:
        """Return whether a function, or its name, is passed to one that handles its failures."""
        argument = self._ctx.parent(function)
        call = self._ctx.parent(argument) if isinstance(argument, cst.Arg) else None
        return isinstance(call, cst.Call) and call.func is not argument and self._calls(call.func)

    def _is_passed(self, function: cst.FunctionDef) -> bool:
        """Return whether all that is done with a function is to pass it to such a one."""
        names = self._ctx.names
        name = function.name
        uses = [
            each
            for each in names.uses(name.value, names.scope(function))
            if each is not name and self._ctx.tree.contains(each)
        ]
        return bool(uses) and all(map(self._is_given, uses))

    def _once(self, defined: cst.CSTNode, asks: Callable[..., bool]) -> bool:
        known = self._ctx.module.fact(_known)
        key = id(defined), self._way, asks.__name__
        if key not in known:
            # One that is in itself says nothing.
            known[key] = False
            known[key] = asks(defined)
        return known[key]


def _known(_facts: ModuleFacts) -> dict[tuple[int, Hashable, str], bool]:
    """Make the store of one file: which of its functions and classes are such helpers."""
    return {}
