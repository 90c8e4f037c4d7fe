"""What pytest passes to tests: the values of the fixtures that their parameters name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.contents import element_of
from placement_lint.placement.domain.state import ANY_DEVICE, DefaultDevice
from placement_lint.placement.domain.values import UNKNOWN, arrays
from placement_lint.syntax.definitions import is_generator
from placement_lint.syntax.pytest_fixtures import (
    CONFTEST,
    contexts_held,
    fixtures_of,
    parametrized,
    used_by_marks,
)

if TYPE_CHECKING:
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.domain.values import Value
    from placement_lint.placement.engine.protocols import Interpreter
    from placement_lint.placement.facts.module import Module
    from placement_lint.syntax.pytest_fixtures import PytestFixture

BEFORE_EACH_TEST = ("setUp", "setup_method")
"""Methods that unittest and pytest call on the object of each test before they call that."""
_MOST_NESTED = 6
"""Fixtures that each are given the value of another."""
_MOST_FOLDERS = 6
"""Folders above that of a test whose `conftest.py` is asked."""


class FixtureValues:
    """The fixtures of the modules of a program, which no code calls."""

    def __init__(self, program: Interpreter) -> None:
        self._program = program
        self._found: dict[str, dict[str, PytestFixture]] = {}
        self._seen: dict[str, tuple[Module, ...]] = {}
        self._values: dict[tuple[str, Place, DefaultDevice], Value] = {}
        self._elsewhere: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        self._holding: dict[cst.FunctionDef, bool] = {}

    def given(self, module: Module, node: cst.CSTNode, state: State) -> dict[str, Value]:
        """Return what a test, or a fixture, is passed: by parameter, where it is known.

        The default device of `state` is not known any longer where a fixture that the function
        uses may hold one meanwhile.
        """
        if not isinstance(node, cst.FunctionDef):
            return {}
        visible = self._visible(module)
        if not any(map(self._fixtures, visible)) or not self._is_served(module, node):
            return {}
        if self._meets_contexts(module, node):
            state.base = DefaultDevice(ANY_DEVICE)
        return self._given(module, node, state, _MOST_NESTED)

    def _is_served(self, module: Module, node: cst.FunctionDef) -> bool:
        """Return whether pytest calls a function, with the fixtures that its parameters name."""
        if node.name.value.startswith("test"):
            return True
        return any(each.node is node for each in self._fixtures(module).values())

    def _given(
        self, asking: Module, node: cst.FunctionDef, state: State, nested: int
    ) -> dict[str, Value]:
        """Return what a function is passed where a test of a file uses it, or is it."""
        found = {}
        for parameter in node.params.params:
            provider = self._provider(asking, parameter.name.value, node)
            if provider is not None and parameter.default is None:
                found[parameter.name.value] = self._value(asking, *provider, state, nested - 1)
        return found

    def _provider(
        self, asking: Module, name: str, node: cst.FunctionDef
    ) -> tuple[Module, PytestFixture] | None:
        """Return the fixture that a name stands for in the tests of a file, and where it is.

        A fixture that asks for one of its own name gets that of a folder above.
        """
        if name in self._parametrized(asking):
            return None
        for module in self._visible(asking):
            fixture = self._fixtures(module).get(name)
            if fixture is not None and fixture.node is not node:
                return module, fixture
        return None

    def _value(
        self, asking: Module, module: Module, fixture: PytestFixture, state: State, nested: int
    ) -> Value:
        node = fixture.node
        place = module.place(node)
        key = (asking.name, place, state.base)
        if key not in self._values:
            self._values[key] = UNKNOWN
            if nested and fixture.is_alone and node.asynchronous is None:
                passed: dict[int | str, Value] = {}
                passed |= self._given(asking, node, state, nested).items()
                before = state.copy()
                held = self._program.functions.call(place, passed, before)
                if is_generator(node, module.names):
                    held = element_of(self._program.functions.consumed(held, before))
                is_kept = state.base.devices != ANY_DEVICE or not any(True for _ in arrays(held))
                self._values[key] = held if is_kept else UNKNOWN
        return self._values[key]

    def _meets_contexts(self, module: Module, node: cst.FunctionDef) -> bool:
        """Return whether a fixture that a test uses may hold a default device meanwhile."""
        pending = [node]
        used = self._marked(module)
        for each in self._visible(module):
            pending += (
                fixture.node
                for name, fixture in self._fixtures(each).items()
                if fixture.is_automatic or name in used
            )
        seen: set[cst.FunctionDef] = set()
        while pending:
            function = pending.pop()
            if function in seen:
                continue
            seen.add(function)
            for parameter in function.params.params:
                provider = self._provider(module, parameter.name.value, function)
                if provider is not None:
                    pending.append(provider[1].node)
        return any(self._holds_contexts(module, function) for function in seen - {node})

    # -- which fixtures there are ---------------------------------------------------------------

    def _fixtures(self, module: Module) -> dict[str, PytestFixture]:
        """Return the fixtures that are defined at the top of a file, by their names."""
        known = self._found.get(module.name)
        if known is None:
            known = self._found[module.name] = fixtures_of(module.tree, module.names)
        return known

    def _visible(self, module: Module) -> tuple[Module, ...]:
        """Return a file, and the `conftest.py` files that serve it, the nearest first."""
        if module.name not in self._seen:
            found = [module]
            for level in range(1, _MOST_FOLDERS + 1):
                at = self._program.linking.find(module.name, "." * level + "conftest")
                if at is None or at[1] or Path(at[0]).name != CONFTEST:
                    continue
                conftest = self._program.modules.get(at[0])
                if conftest is not None and conftest is not module:
                    found.append(conftest)
            self._seen[module.name] = (*found,)
        return self._seen[module.name]

    def _parametrized(self, module: Module) -> frozenset[str]:
        """Return the names of parameters that tests of a file are given in another way."""
        return self._marks(module)[0]

    def _marked(self, module: Module) -> frozenset[str]:
        """Return the fixtures that tests of a file use without being given their values."""
        return self._marks(module)[1]

    def _marks(self, module: Module) -> tuple[frozenset[str], frozenset[str]]:
        if module.name not in self._elsewhere:
            tree = module.tree
            self._elsewhere[module.name] = frozenset(parametrized(tree)), used_by_marks(tree)
        return self._elsewhere[module.name]

    def _holds_contexts(self, module: Module, node: cst.FunctionDef) -> bool:
        if node not in self._holding:
            homes = (each for each in self._visible(module) if self._is_served(each, node))
            home = next(homes, module)
            self._holding[node] = bool(contexts_held(node, home.names))
        return self._holding[node]
