"""Which fixtures pytest passes to the tests of a file: its own, and those of other files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from placement_lint.files.test_paths import CONFTEST
from placement_lint.syntax.names import BindingKind
from placement_lint.syntax.pytest_fixtures import PLUGINS, fixtures_among, plugins_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import libcst as cst

    from placement_lint.placement.engine.protocols import Interpreter
    from placement_lint.placement.facts.module import Module
    from placement_lint.syntax.pytest_fixtures import PytestFixture

Provided: TypeAlias = "tuple[Module, dict[str, PytestFixture]]"
"""Fixtures by the names that tests give for them, and the file that they are in."""

_MOST_FOLDERS = 6
"""Folders above that of a test whose `conftest.py` is asked."""
_MOST_STEPS = 6
"""Files that each have a fixture of the next one by an import."""


class VisibleFixtures:
    """The fixtures of the modules of a program, by who may ask for them."""

    def __init__(self, program: Interpreter) -> None:
        self._program = program
        self._found: dict[object, dict[str, PytestFixture]] = {}
        self._visible: dict[str, tuple[Provided, ...]] = {}

    def among(
        self, key: object, statements: Iterable[cst.CSTNode], module: Module
    ) -> dict[str, PytestFixture]:
        """Return the fixtures that are defined in a file, or in a class of it, by their names."""
        if key not in self._found:
            self._found[key] = fixtures_among(statements, module.names)
        return self._found[key]

    def of_file(self, module: Module) -> tuple[Provided, ...]:
        """Return what the tests of a file may be given, the nearest first.

        That is what the file defines, then what it imports and has as plugins; and the same of
        each `conftest.py` that serves it.
        """
        if module.name not in self._visible:
            found: list[Provided] = []
            for each in self.serving(module):
                found += ((each, self._of_module(each)), *self._brought(each, set()))
            self._visible[module.name] = (*found,)
        return self._visible[module.name]

    def _of_module(self, module: Module) -> dict[str, PytestFixture]:
        return self.among(module.name, module.tree.module.body, module)

    def serving(self, module: Module) -> list[Module]:
        """Return a file, and the `conftest.py` files that serve it, the nearest first."""
        found = [module]
        for level in range(1, _MOST_FOLDERS + 1):
            at = self._program.linking.find(module.name, "." * level + "conftest")
            if at is None or at[1] or Path(at[0]).name != CONFTEST:
                continue
            conftest = self._program.modules.get(at[0])
            if conftest is not None and conftest is not module:
                found.append(conftest)
        return found

    def _brought(self, module: Module, passed: set[str]) -> Iterator[Provided]:
        """Yield the fixtures of other files that are those of a module too."""
        if module.name in passed:
            return
        passed.add(module.name)
        for name, bindings in module.names.module_scope.bindings.items():
            for binding in bindings:
                target, value = binding.target, binding.value
                if binding.kind is not BindingKind.IMPORT or target is None:
                    for plugin in plugins_named(value) if name == PLUGINS and value else ():
                        yield from self._of_whole(module, plugin, passed)
                elif (found := self._imported(module, target, _MOST_STEPS)) is not None:
                    home, fixture = found
                    is_renamed = fixture.name != fixture.node.name.value
                    yield home, {fixture.name if is_renamed else name: fixture}
        for source in module.star_imports:
            yield from self._of_whole(module, source, passed)

    def _of_whole(self, module: Module, named: str, passed: set[str]) -> Iterator[Provided]:
        at = self._program.linking.find(module.name, named)
        other = None if at is None or at[1] else self._program.modules.get(at[0])
        if other is not None and other.name not in passed:
            yield other, self._of_module(other)
            yield from self._brought(other, passed)

    def _imported(
        self, module: Module, qualified: str, steps: int
    ) -> tuple[Module, PytestFixture] | None:
        """Return the fixture that a qualified name stands for in a module, and where it is."""
        at = self._program.linking.find(module.name, qualified)
        other = None if at is None else self._program.modules.get(at[0])
        if at is None or other is None or other is module:
            return None
        for fixture in self._of_module(other).values():
            if fixture.node.name.value == at[1]:
                return other, fixture
        handed_on = other.names.module_scope.sole_binding(at[1])
        if not steps or handed_on is None or handed_on.target is None:
            return None
        return self._imported(other, handed_on.target, steps - 1)
