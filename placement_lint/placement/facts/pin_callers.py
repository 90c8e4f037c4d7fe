"""Which functions of a file are surely called: of those that set the platform, and nothing else."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.queries import DEVICE_QUERIES, PROCESS_QUERIES
from placement_lint.jaxmodel.reading import LOGGING_METHODS
from placement_lint.syntax.calls import string_value
from placement_lint.syntax.definitions import own_method
from placement_lint.syntax.guards import is_main_guard
from placement_lint.syntax.names import BindingKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree

_CALLED_BY_OTHERS = re.compile(r"(?:\w+_)?main\b|__|(?i:pytest_|test|setup|teardown)")
"""What begins the name of a function that a launcher, or what runs tests, calls."""
_CONFIGURING = ("builtins.", "jax.clear_", "jax.config.", "logging.", "numpy.", "os.", "warnings.")
_QUERIES = DEVICE_QUERIES | PROCESS_QUERIES
_READING_NAMES = ("getattr", "globals", "vars", "locals", "eval", "exec", "Fire")
"""What gets at functions without their names: `fire.Fire()` makes commands of them all."""
_LEAVING = frozenset({"builtins.classmethod", "builtins.staticmethod"})
"""Decorators below which a function is called by its name alone."""


class PinCallers:
    """Tells which functions of a file are surely called, of those that only configure.

    What a function computes itself, or by what it calls, would run on the CPU that it selects: such
    a one counts as called. So do commands, tests, and methods that a base class may call.
    """

    def __init__(self, tree: Tree, names: Names, given: frozenset[str] = frozenset()) -> None:
        """`given`: names of other files' functions that only configure."""
        self._tree = tree
        self._names = names
        self._given = given
        self._reached: dict[int, bool] = {}
        self._configures: dict[int, bool] = {}

    def unreached_around(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """Return a function around a node that nothing in the file surely calls."""
        for each in self._tree.ancestors(node):
            if isinstance(each, cst.FunctionDef) and not self._is_reached(each):
                return each
        return None

    def offering(self, function: cst.FunctionDef) -> Iterator[str]:
        """Yield the names of a function that nothing surely calls, and of such that call it."""
        pending, seen = [function], {id(function)}
        while pending:
            one = pending.pop()
            yield one.name.value
            for mention in self._mentions(one):
                caller = None if is_choice(mention, self._tree) else self.unreached_around(mention)
                if caller is not None and id(caller) not in seen:
                    seen.add(id(caller))
                    pending.append(caller)

    def of_given(self) -> tuple[bool, frozenset[str]]:
        """Return whether the file surely calls a function that was given, and the names of its own
        functions that do once they are called.
        """
        found: set[str] = set()
        if self._renames_given() or any(self._is_said(name) for name in self._given):
            return True, frozenset()
        for mention in self._mentions_of(self._given):
            if is_choice(mention, self._tree):
                continue
            caller = self.unreached_around(mention)
            if caller is None:
                return True, frozenset()
            found.update(self.offering(caller))
        return False, frozenset(found)

    # -- which functions are reached --------------------------------------------------------------

    def _is_reached(self, function: cst.FunctionDef) -> bool:
        key = id(function)
        if key not in self._reached:
            # What only calls itself is not called.
            self._reached[key] = False
            self._reached[key] = self._is_called(function)
        return self._reached[key]

    def _is_called(self, function: cst.FunctionDef) -> bool:
        return (
            any(
                self._names.qualified(each.decorator) not in _LEAVING
                for each in function.decorators
            )
            or _CALLED_BY_OTHERS.match(function.name.value) is not None
            or self._has_bases(function)
            or not self._only_configures(function)
            or self._reads_names
            or self._is_said(function.name.value)
            or any(
                not is_choice(each, self._tree) and self.unreached_around(each) is None
                for each in self._mentions(function)
            )
        )

    def _has_bases(self, function: cst.FunctionDef) -> bool:
        cls = self._tree.around(function, cst.ClassDef)
        return cls is not None and bool(cls.bases or cls.keywords or cls.decorators)

    def _only_configures(self, function: cst.FunctionDef) -> bool:
        """Return whether a function calls nothing that may compute."""
        key = id(function)
        if key not in self._configures:
            self._configures[key] = True
            calls = self._tree.every(cst.Call, below=function)
            self._configures[key] = all(map(self._is_configuring, calls))
        return self._configures[key]

    def _is_configuring(self, call: cst.Call) -> bool:
        name = self._names.qualified(call.func) or ""
        if name.startswith(_CONFIGURING) or name in _QUERIES:
            return True
        called: cst.CSTNode | None
        if isinstance(call.func, cst.Attribute):
            if call.func.attr.value in LOGGING_METHODS | self._given:
                return True
            called = own_method(call.func, self._names)
        else:
            if isinstance(call.func, cst.Name) and call.func.value in self._given:
                return True
            called = self._names.sole_definition(call.func)
        return isinstance(called, cst.FunctionDef) and self._only_configures(called)

    # -- where they are named ---------------------------------------------------------------------

    def _mentions(self, function: cst.FunctionDef) -> Iterator[cst.Name | cst.Attribute]:
        """Yield where a function is named, but in itself: a method by an attribute, wherever."""
        name, scope = function.name.value, self._names.scope(function)
        owner = self._names.owner(name, scope)
        uses: Iterable[cst.Name | cst.Attribute] = ()
        if owner is not None:
            uses = self._names.uses(name, owner)
        if isinstance(scope.node, cst.ClassDef):
            uses = [*uses, *self._attributes.get(name, ())]
        for each in uses:
            if not self._tree.is_inside(each, function):
                yield each

    def _mentions_of(self, given: frozenset[str]) -> Iterator[cst.Name | cst.Attribute]:
        """Yield where names are said that another file offers, but for variables of this one."""
        for name in sorted(given):
            yield from self._attributes.get(name, ())
        for each in self._tree.every(cst.Name):
            if each.value in given:
                kinds = {binding.kind for binding in self._names.bindings(each)}
                if not kinds or BindingKind.IMPORT in kinds:
                    yield each

    @functools.cached_property
    def _attributes(self) -> dict[str, list[cst.Attribute]]:
        found: dict[str, list[cst.Attribute]] = {}
        for each in self._tree.every(cst.Attribute):
            found.setdefault(each.attr.value, []).append(each)
        return found

    @functools.cached_property
    def _reads_names(self) -> bool:
        return any(each.value in _READING_NAMES for each in self._tree.every(cst.Name)) or any(
            name in self._attributes for name in _READING_NAMES
        )

    def _is_said(self, name: str) -> bool:
        """Return whether a text is the name of a function, or ends with it: `"tools:use_cpu"`."""
        return name in self._texts

    @functools.cached_property
    def _texts(self) -> frozenset[str]:
        """What stands in strings that may be the name of a function, its last part."""
        texts = (
            string_value(each)
            for each in self._tree.every(cst.SimpleString)
            if not self._is_export(each)
        )
        return frozenset(re.split(r"[.:]", text)[-1] for text in texts if text)

    def _is_export(self, text: cst.SimpleString) -> bool:
        """Return whether a string is an item of `__all__`."""
        for each in self._tree.ancestors(text):
            if isinstance(each, cst.Assign):
                targets = [target.target for target in each.targets]
            elif isinstance(each, cst.AnnAssign | cst.AugAssign):
                targets = [each.target]
            else:
                continue
            return any(isinstance(t, cst.Name) and t.value == "__all__" for t in targets)
        return False

    def _renames_given(self) -> bool:
        """Return whether an import gives one of the given functions another name."""
        return any(
            alias.asname is not None
            and isinstance(alias.name, cst.Name)
            and alias.name.value in self._given
            for each in self._tree.every(cst.ImportFrom)
            if not isinstance(each.names, cst.ImportStar)
            for alias in each.names
        )


def is_conditional(node: cst.CSTNode, tree: Tree) -> bool:
    """Return whether a node may not run where the file, or the function around it, does."""
    return any(
        isinstance(ancestor, cst.IfExp | cst.Match | cst.ExceptHandler | cst.While)
        or (isinstance(ancestor, cst.If) and not _is_always_true(ancestor.test))
        for ancestor in tree.ancestors(node)
    )


def is_choice(node: cst.CSTNode, tree: Tree) -> bool:
    """Return whether a function that is named here is called under a condition, if at all: one of
    several in a dict, or behind `and` and `or`.
    """
    return is_conditional(node, tree) or any(
        isinstance(each, cst.BooleanOperation)
        or (isinstance(each, cst.Dict) and len(each.elements) > 1)
        for each in tree.ancestors(node)
    )


def _is_always_true(test: cst.BaseExpression) -> bool:
    """Return whether a condition holds whenever the file is run as a program."""
    return is_main_guard(test) or (isinstance(test, cst.Name) and test.value == "True")
