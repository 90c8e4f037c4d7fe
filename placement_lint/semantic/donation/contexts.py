"""What contexts give, and loops over functions, as far as that is written out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.beside import definition_beside
from placement_lint.semantic.donation.assignments import DonationAssignments
from placement_lint.semantic.donation.callables import Donor, parameters_of
from placement_lint.semantic.donation.choices import NOTHING
from placement_lint.semantic.donation.expressions import DATA
from placement_lint.semantic.donation.objects import MOST_FILES
from placement_lint.semantic.donation.parts import BufferPart
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import function_of, is_static, parameter_named

if TYPE_CHECKING:
    from placement_lint.semantic.donation.choices import Things
    from placement_lint.syntax.definitions import Function

_MOST_FUNCTIONS = 8
"""Functions in one container, each of which a loop is executed with."""


class DonationContexts(DonationAssignments):
    """What contexts and loops give their targets, that name what they give."""

    def functions_in(self, node: cst.For, iterated: Things) -> list[Things]:
        """Return what a loop over functions that are written out gives its target, in turn.

        `for name, step in {"train": train_step, "eval": eval_step}.items():`
        """
        over, method, called = node.iter, "", ""
        if isinstance(over, cst.Call):
            called = self.names.qualified(over.func) or ""
            if isinstance(over.func, cst.Attribute) and over.func.attr.value in {"items", "values"}:
                method, over = over.func.attr.value, over.func.value
            elif called == "builtins.enumerate" and over.args:
                over = over.args[0].value
            written = over.elements if isinstance(over, cst.Dict | cst.List | cst.Tuple) else ()
            parts = [each.value for each in written] or [over]
            if not all(isinstance(each, cst.Attribute | cst.Name) for each in parts):
                return []
            iterated = self.evaluate(over)
        only = next(iter(iterated)) if len(iterated) == 1 else None
        entries = self.state.entries(only, self.roots) if isinstance(only, BufferPart) else None
        items = [] if entries is None else [*entries.values()]
        if not 0 < len(items) <= _MOST_FUNCTIONS or node.orelse is not None:
            return []
        donates = any(isinstance(thing, Donor) for things in items for thing in things)
        if not donates or any(True for _ in self.tree.every(cst.Break, below=node.body)):
            return []
        if method == "items" or called == "builtins.enumerate":
            return [self.pair(DATA, each) for each in items]
        return items

    def entered_of(self, node: cst.BaseExpression) -> Things:
        """Return what a context gives that only hands on what it is made of; else nothing.

        `nullcontext(x)`, and `kept(x)` where `kept` is a context manager that yields its parameter.
        """
        if not isinstance(node, cst.Call):
            return NOTHING
        if self.names.qualified(node.func) == "contextlib.nullcontext":
            return self._named(Arguments(node).get(0, "enter_result"))
        function = function_of(node.func, self.names) or self._function_beside(node.func)
        if not isinstance(function, cst.FunctionDef):
            return NOTHING
        attributes: list[str] = []
        with self.at(function):
            root = self._yielded(function)
            while isinstance(root, cst.Attribute):
                attributes.append(root.attr.value)
                root = root.value
            param = parameter_named(root, self.names)
        if param is None:
            return NOTHING
        held = self._named(self._given_for(node, function, param.name.value))
        for name in reversed(attributes) if held else ():
            held = self.attribute_of(held, name)
        return held

    def _function_beside(self, node: cst.BaseExpression) -> cst.FunctionDef | None:
        """Return the function of another file of a small program that a name is."""
        name = self.names.qualified(node)
        if name is None or not 1 < len(self.own.siblings) <= MOST_FILES:
            return None
        found = definition_beside(self.facts, name)
        if found is None or not isinstance(found[0], cst.FunctionDef):
            return None
        self.add_file(found[1])
        return found[0]

    def _yielded(self, function: cst.FunctionDef) -> cst.BaseExpression | None:
        """Return what a context manager gives that is made by `contextlib.contextmanager` alone."""
        made_by = [self.names.qualified(each.decorator) for each in function.decorators]
        yields = [
            each.value
            for each in self.tree.every(cst.Yield, below=function)
            if self.tree.around(each, cst.FunctionDef) is function
        ]
        only = yields[0] if made_by == ["contextlib.contextmanager"] and len(yields) == 1 else None
        return None if isinstance(only, cst.From) else only

    def _given_for(
        self, node: cst.Call, function: Function, name: str
    ) -> cst.BaseExpression | None:
        """Return the argument of a call that is for a parameter, the object of a method too."""
        names = parameters_of(function)
        arguments = Arguments(node)
        if name not in names or arguments.is_open:
            return None
        position = names.index(name)
        if isinstance(node.func, cst.Attribute) and not is_static(function, self.names):
            return arguments.get(position - 1, name) if position else node.func.value
        return arguments.get(position, name)

    def _named(self, node: cst.BaseExpression | None) -> Things:
        """Return what a name stands for, which is evaluated once more; of others nothing."""
        return self.evaluate(node) if isinstance(node, cst.Attribute | cst.Name) else NOTHING
