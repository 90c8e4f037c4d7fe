"""What pytest passes to tests: the values of the fixtures that their parameters name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.files.test_paths import is_test_file
from placement_lint.placement.domain.contents import arrays, element_of
from placement_lint.placement.domain.state import ANY_DEVICE, DefaultDevice
from placement_lint.placement.domain.values import UNKNOWN, Plain, join
from placement_lint.placement.engine.typed_objects import TypedObjects
from placement_lint.placement.engine.visible_fixtures import VisibleFixtures
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import is_generator
from placement_lint.syntax.pytest_fixtures import (
    OWN_FIXTURES,
    contexts_held,
    is_plain_test,
    names_given,
    parametrized,
    pytest_fixture,
    used_by_marks,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.domain.values import Value
    from placement_lint.placement.engine.protocols import Interpreter
    from placement_lint.placement.engine.visible_fixtures import Provided
    from placement_lint.placement.facts.module import Module
    from placement_lint.syntax.pytest_fixtures import PytestFixture

_Marks: TypeAlias = "tuple[frozenset[str], list[tuple[cst.CSTNode | None, frozenset[str]]]]"
_CONSTANTS = frozenset({"False", "None", "True"})
_BEFORE_EACH_TEST = ("setUp", "setup_method")
"""Methods that unittest and pytest call on the object of each test before they call that."""
_MOST_NESTED = 6
"""Fixtures that each are given the value of another."""


@dataclass(frozen=True)
class _Asking:
    """Tests that are given fixtures: those at the top of a file, or of one class of it."""

    module: Module
    cls: cst.ClassDef | None
    receiver: Value
    """The object of the class."""


class FixtureValues:
    """The fixtures of the modules of a program, which no code calls."""

    def __init__(self, program: Interpreter) -> None:
        self._program = program
        self.typed = TypedObjects(program)
        self._visible = VisibleFixtures(program)
        self._values: dict[tuple[str, object, Place, DefaultDevice], Value] = {}
        self._elsewhere: dict[str, _Marks] = {}
        self._holding: dict[cst.FunctionDef, bool] = {}

    def given(
        self, module: Module, node: cst.CSTNode, state: State, receiver: Value = UNKNOWN
    ) -> dict[str, Value]:
        """Return what a test, a fixture, or another function that no code calls is passed: by
        parameter, where it is known.

        `receiver`: of a method, the object. The default device of `state` is not known any longer
        where a fixture that the function uses may hold one meanwhile.
        """
        if not isinstance(node, cst.FunctionDef):
            return {}
        # What a method that says nothing of placements chooses by a parameter hardly matters.
        is_open = receiver != UNKNOWN and module.names_placement(node)
        of_method = _left_open(node.params) if is_open else {}
        typed = self.typed.given(module, node, state)
        return of_method | typed | self._of_fixtures(module, node, state, receiver)

    def is_called_alone(self, module: Module, node: cst.CSTNode) -> bool:
        """Return whether pytest calls a test with no mesh in effect: nothing that it is given, and
        nothing around it, may enter one.
        """
        if not isinstance(node, cst.FunctionDef) or not is_plain_test(node, module.names):
            return False
        if not is_test_file(module.name) or "pytestmark" in module.names.module_scope.bindings:
            return False
        scope = module.names.scope(node).node
        asking = _Asking(module, scope if isinstance(scope, cst.ClassDef) else None, UNKNOWN)
        params = node.params.params[1:] if asking.cls is not None else node.params.params
        values = self._marks(module)[0] | OWN_FIXTURES
        is_known = all(
            each.name.value in values or self._provider(asking, each.name.value, node) is not None
            for each in params
        )
        if not is_known or self._meets_contexts(asking, node, frozenset()):
            return False
        return not any(
            each.name.value.startswith("pytest_") and home.mentions_meshes(each)
            for home in self._visible.serving(module)
            for each in home.tree.module.body
            if isinstance(each, cst.FunctionDef)
        )

    def before_each_test(self, cls: Place) -> Iterator[Place]:
        """Yield the methods of a class that are called before each test, on the object of that.

        Those of a certain name, and the fixtures of the class that every test uses.
        """
        for name in _BEFORE_EACH_TEST:
            method = self._program.classes.method(cls, name)
            if method is not None:
                yield method
        for base in reversed(self._program.classes.bases(cls)):
            module, node = self._program.module_of(base), self._program.node(base)
            if not isinstance(node, cst.ClassDef):
                continue
            for fixture in self._visible.among(node, node.body.body, module).values():
                if fixture.is_automatic and fixture.is_alone:
                    yield module.place(fixture.node)

    def finish(self, function: Place, held: Value, state: State) -> None:
        """Go to the end of a fixture that was called: what it `held` is for the tests."""
        module, node = self._program.module_of(function), self._program.node(function)
        if (
            isinstance(node, cst.FunctionDef)
            and is_generator(node, module.names)
            and pytest_fixture(node, module.names) is not None
        ):
            self._program.functions.consumed(held, state)

    def requested(self, module: Module, call: cst.Call, state: State) -> Value:
        """Return what `request.getfixturevalue(name)` gives in a test."""
        arguments = Arguments(call)
        named = arguments.get(0, "argname")
        test = module.tree.around(call, cst.FunctionDef)
        names: list[str | None] = []
        if isinstance(named, cst.Name) and test is not None:
            names += names_given(test, named.value)
        if named is not None and not names:
            held = self._program.expressions(module).evaluate(named, state)
            names += (atom.text if isinstance(atom, Plain) else None for atom in held)
        cls = None if test is None else module.names.scope(test).node
        asking = _Asking(module, cls if isinstance(cls, cst.ClassDef) else None, UNKNOWN)
        found: list[Value] = []
        for name in names:
            provider = None if name is None else self._provider(asking, name, test)
            used = self._used(asking, test)
            if provider is None or self._meets_contexts(asking, provider[1].node, used):
                return UNKNOWN
            found.append(self._value(asking, *provider, state, _MOST_NESTED))
        return join(*found) if found else UNKNOWN

    def _of_fixtures(
        self, module: Module, node: cst.FunctionDef, state: State, receiver: Value
    ) -> dict[str, Value]:
        scope = module.names.scope(node).node
        cls = scope if isinstance(scope, cst.ClassDef) else None
        asking = _Asking(module, cls, receiver)
        every = [fixtures for _, fixtures in self._visible_to(asking)]
        is_served = node.name.value.startswith("test") or any(
            each.node is node for fixtures in every[:2] for each in fixtures.values()
        )
        if not any(every) or not is_served:
            return {}
        if self._meets_contexts(asking, node, self._used(asking, node)):
            state.base = DefaultDevice(ANY_DEVICE)
        return self._given(asking, node, state, _MOST_NESTED)

    def _visible_to(self, asking: _Asking) -> Iterator[Provided]:
        """Yield the fixtures that tests may be given, the nearest first, each with its file."""
        module, cls = asking.module, asking.cls
        yield module, {} if cls is None else self._visible.among(cls, cls.body.body, module)
        yield from self._visible.of_file(module)

    def _given(
        self, asking: _Asking, node: cst.FunctionDef, state: State, nested: int
    ) -> dict[str, Value]:
        """Return what a function is passed where a test uses it, or is it."""
        found = {}
        for parameter in node.params.params:
            provider = self._provider(asking, parameter.name.value, node)
            if provider is not None and parameter.default is None:
                found[parameter.name.value] = self._value(asking, *provider, state, nested - 1)
        return found

    def _provider(
        self, asking: _Asking, name: str, node: cst.FunctionDef | None
    ) -> tuple[Module, PytestFixture] | None:
        """Return the fixture that a name stands for in tests, and where it is.

        A fixture that asks for one of its own name gets that of a folder above.
        """
        if name in self._marks(asking.module)[0]:
            return None
        for module, fixtures in self._visible_to(asking):
            fixture = fixtures.get(name)
            if fixture is not None and fixture.node is not node:
                return module, fixture
        return None

    def _value(
        self, asking: _Asking, module: Module, fixture: PytestFixture, state: State, nested: int
    ) -> Value:
        node = fixture.node
        place = module.place(node)
        key = (asking.module.name, asking.cls, place, state.base)
        if key not in self._values:
            self._values[key] = UNKNOWN
            if nested and fixture.is_alone and node.asynchronous is None:
                is_method = isinstance(module.names.scope(node).node, cst.ClassDef)
                passed: dict[int | str, Value] = {0: asking.receiver} if is_method else {}
                passed |= self._given(asking, node, state, nested).items()
                before = state.copy()
                held = self._program.functions.call(place, passed, before, bound=is_method)
                if is_generator(node, module.names):
                    held = element_of(self._program.functions.consumed(held, before))
                is_kept = state.base.devices != ANY_DEVICE or not any(True for _ in arrays(held))
                self._values[key] = held if is_kept else UNKNOWN
        return self._values[key]

    def _meets_contexts(self, asking: _Asking, node: cst.FunctionDef, used: frozenset[str]) -> bool:
        """Return whether a fixture that a test uses may hold a context of JAX meanwhile.

        `used`: those that it uses without being given their values.
        """
        pending = [(asking.module, node)]
        for module, fixtures in self._visible_to(asking):
            pending += (
                (module, fixture.node)
                for name, fixture in fixtures.items()
                if fixture.is_automatic or name in used
            )
        seen: set[cst.FunctionDef] = set()
        while pending:
            home, function = pending.pop()
            if function in seen:
                continue
            seen.add(function)
            if function is not node and self._holds_contexts(home, function):
                return True
            for parameter in function.params.params:
                provider = self._provider(asking, parameter.name.value, function)
                if provider is not None:
                    pending.append((provider[0], provider[1].node))
        return False

    def _used(self, asking: _Asking, test: cst.FunctionDef | None) -> frozenset[str]:
        """Return the fixtures that a test uses without being given their values.

        A class that derives from another one may have the marks of that.
        """
        cls, found = asking.cls, frozenset[str]()
        for decorated, used in self._marks(asking.module)[1]:
            is_own = decorated is None or decorated is test or decorated is cls
            is_base = cls is not None and bool(cls.bases) and isinstance(decorated, cst.ClassDef)
            if is_own or is_base:
                found |= used
        return found

    def _marks(self, module: Module) -> _Marks:
        """Return the names of parameters that tests of a file are given in another way, and the
        fixtures that they use without being given their values.
        """
        if module.name not in self._elsewhere:
            tree = module.tree
            self._elsewhere[module.name] = frozenset(parametrized(tree)), used_by_marks(tree)
        return self._elsewhere[module.name]

    def _holds_contexts(self, module: Module, node: cst.FunctionDef) -> bool:
        if node not in self._holding:
            self._holding[node] = bool(contexts_held(node, module.names))
        return self._holding[node]


def _left_open(params: cst.Parameters) -> dict[str, Value]:
    """Return the parameters of a method that have a constant for a default: who calls it, from
    outside, may pass anything else.
    """
    return {
        each.name.value: UNKNOWN
        for each in (*params.posonly_params, *params.params, *params.kwonly_params)
        if isinstance(each.default, cst.BaseString)
        or (isinstance(each.default, cst.Name) and each.default.value in _CONSTANTS)
    }
