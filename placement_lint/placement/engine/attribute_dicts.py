"""The dict of an object's attributes: `vars(x)` and `x.__dict__`, read and changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.keys import sorted_items
from placement_lint.placement.domain.program_values import Instance
from placement_lint.placement.domain.values import NOTHING, UNKNOWN, Mapping, Value, join, value

if TYPE_CHECKING:
    from placement_lint.placement.domain.keys import Key
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.engine.arguments import CallArguments
    from placement_lint.placement.engine.protocols import Evaluator

DICT = "__dict__"
_HANDLED = frozenset({"copy", "get", "items", "keys", "update", "values"})
"""Methods of which it is followed what they do to the attributes."""


class AttributeDicts:
    """Reads and sets attributes by way of the dict that they are in."""

    def __init__(self, expressions: Evaluator) -> None:
        self.on = expressions

    def owner(self, node: cst.CSTNode) -> cst.BaseExpression | None:
        """Return `x` of `vars(x)` and of `x.__dict__`; None for any other expression."""
        if isinstance(node, cst.Attribute) and node.attr.value == DICT:
            return node.value
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and len(node.args) == 1:
            is_vars = self.on.names.qualified(node.func) == "builtins.vars"
            return node.args[0].value if is_vars and not node.args[0].star else None
        return None

    def read(self, node: cst.CSTNode, held: Value, state: State) -> Value:
        """Return the dict of the attributes of objects, which an expression gives.

        Where it is not only read, or changed in a way that is followed, any of them may be set.
        """
        if not self._is_followed(node):
            self.on.targets.spoil(held, state)
            return UNKNOWN
        if not all(isinstance(atom, Instance) for atom in held):
            return UNKNOWN
        found = [self._attributes(atom, state) for atom in held if isinstance(atom, Instance)]
        return join(*found) if found else UNKNOWN

    def _attributes(self, instance: Instance, state: State) -> Value:
        fields = self.on.program.trees.fields(instance, state)
        items: dict[Key, Value] = {n: each for n, each in fields.items() if n.isidentifier()}
        return value(Mapping(sorted_items(items.items()), UNKNOWN))

    def _is_followed(self, node: cst.CSTNode) -> bool:
        around = self.on.tree.parent(node)
        if isinstance(around, cst.Subscript):
            return around.value is node and not isinstance(self.on.tree.parent(around), cst.Del)
        if isinstance(around, cst.Attribute):
            return around.value is node and around.attr.value in _HANDLED
        if isinstance(around, cst.Arg) and around.star == "**":
            return True
        return isinstance(around, cst.StarredDictElement | cst.ComparisonTarget)

    def set(self, held: Value, name: str | None, new: Value, state: State) -> None:
        """Set an attribute of objects; None: one of a name that is not known."""
        targets = self.on.targets
        for atom in held:
            if isinstance(atom, Instance) and name is not None:
                targets.set_attribute(atom, name, new, state, surely=len(held) == 1)
        if name is None:
            targets.spoil(held, state, new | UNKNOWN)
            self.on.escapes(new, state)

    def update(self, held: Value, given: Value, state: State) -> None:
        """Set the attributes that a dict has items for."""
        for atom in given:
            if not isinstance(atom, Mapping):
                self.set(held, None, UNKNOWN, state)
                continue
            if atom.element:
                self.set(held, None, atom.element, state)
            for key, new in atom.items:
                if isinstance(key, str):
                    self.set(held, key, new if len(given) == 1 else new | UNKNOWN, state)
        if given == NOTHING:
            self.set(held, None, UNKNOWN, state)

    def updated(self, held: Value, passed: CallArguments, state: State) -> None:
        """`vars(x).update(other, name=new)`, `x.__dict__.update(…)`."""
        for given in (*passed.positional, passed.rest):
            if given is not None:
                self.update(held, given, state)
        for name, new in passed.keywords.items():
            self.set(held, name, new, state)
        if passed.more is not None:
            self.set(held, None, passed.more, state)
