"""What pytest passes to tests: the values of the fixtures that their parameters name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.contents import element_of
from placement_lint.placement.domain.values import UNKNOWN, arrays
from placement_lint.syntax.calls import Arguments, elements_or_self, string_value
from placement_lint.syntax.definitions import applied, is_generator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.domain.values import Value
    from placement_lint.placement.engine.functions import Functions
    from placement_lint.placement.facts.module import Module

BEFORE_EACH_TEST = ("setUp", "setup_method")
"""Methods that unittest and pytest call on the object of each test before they call that."""
_FIXTURES = frozenset({"pytest.fixture", "pytest_asyncio.fixture"})
_MOST_NESTED = 4
"""Fixtures that each are given the value of another."""


class FixtureValues:
    """The fixtures of the modules of a program, which no code calls."""

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._found: dict[str, dict[str, cst.FunctionDef]] = {}
        self._values: dict[Place, Value] = {}

    def given(self, module: Module, node: cst.CSTNode, state: State) -> dict[str, Value]:
        """Return what a test, or a fixture, is passed: by parameter, where it is known.

        Arrays are not known where a fixture of the file may hold a default device meanwhile.
        """
        fixtures = self._fixtures(module)
        if not fixtures or not isinstance(node, cst.FunctionDef):
            return {}
        if not node.name.value.startswith("test") and fixtures.get(node.name.value) is not node:
            return {}
        return self._given(module, node, state, _MOST_NESTED)

    def _given(
        self, module: Module, node: cst.FunctionDef, state: State, nested: int
    ) -> dict[str, Value]:
        fixtures = self._fixtures(module)
        found = {}
        for parameter in node.params.params:
            fixture = fixtures.get(parameter.name.value)
            if fixture is not None and fixture is not node and parameter.default is None:
                found[parameter.name.value] = self._value(module, fixture, state, nested - 1)
        return found

    def _value(self, module: Module, node: cst.FunctionDef, state: State, nested: int) -> Value:
        place = module.place(node)
        if place not in self._values:
            self._values[place] = UNKNOWN
            if nested and node.asynchronous is None:
                passed: dict[int | str, Value] = {}
                passed |= self._given(module, node, state, nested).items()
                before = state.copy()
                held = self._functions.call(place, passed, before)
                if is_generator(node, module.names):
                    held = element_of(self._functions.consumed(held, before))
                is_unsure = any(map(_holds_contexts, self._fixtures(module).values()))
                is_kept = not is_unsure or not any(True for _ in arrays(held))
                self._values[place] = held if is_kept else UNKNOWN
        return self._values[place]

    def _fixtures(self, module: Module) -> dict[str, cst.FunctionDef]:
        """Return the fixtures that are defined at the top of a file, by their names."""
        known = self._found.get(module.name)
        if known is None:
            known = self._found[module.name] = {}
            for statement in module.tree.module.body:
                if isinstance(statement, cst.FunctionDef) and _is_fixture(statement, module):
                    known[statement.name.value] = statement
            for name in _parametrized(module) if known else ():
                known.pop(name, None)
        return known


def _is_fixture(node: cst.FunctionDef, module: Module) -> bool:
    """Return whether a function is a fixture under its own name, with one value."""
    if len(node.decorators) != 1:
        return False
    of, calls = applied(node.decorators[0].decorator, module.names)
    if of is None or module.names.qualified(of) not in _FIXTURES:
        return False
    return not any({"name", "params"} & call.keywords.keys() for call in calls)


def _parametrized(module: Module) -> Iterator[str]:
    """Yield the names of parameters that tests of a file are given in another way."""
    for call in module.tree.every(cst.Call):
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "parametrize":
            names = Arguments(call).get(0, "argnames")
            for each in () if names is None else elements_or_self(names):
                yield from (part.strip() for part in (string_value(each) or "").split(","))


def _holds_contexts(node: cst.FunctionDef) -> bool:
    """Return whether a fixture yields inside of a `with`."""
    pending: list[tuple[cst.CSTNode, bool]] = [(node.body, False)]
    while pending:
        part, is_inside = pending.pop()
        if isinstance(part, cst.Yield) and is_inside:
            return True
        inside = is_inside or isinstance(part, cst.With)
        pending += [(child, inside) for child in part.children]
    return False
