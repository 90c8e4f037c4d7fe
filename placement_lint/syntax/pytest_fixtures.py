"""Fixtures of pytest, as a file defines them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.config_states import CONFIG_CONTEXTS
from placement_lint.syntax.calls import Arguments, elements_or_self, string_value
from placement_lint.syntax.definitions import applied
from placement_lint.syntax.tree import children

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree

OWN_FIXTURES = frozenset({
    "capfd", "caplog", "capsys", "monkeypatch", "record_property", "recwarn", "request", "tmp_path",
    "tmp_path_factory", "tmpdir",
})  # fmt: skip
"""Fixtures of pytest itself, none of which has to do with JAX."""
_PREPARING = frozenset({"setUp", "setUpClass", "setup_class", "setup_method", "setup"})
_MAKERS = frozenset({"pytest.fixture", "pytest_asyncio.fixture"})
PLUGINS = "pytest_plugins"
"""What a module names further modules by, whose fixtures its tests are given too."""
_PLAIN_MODULES = frozenset({"builtins", "h5py", "io", "os", "pathlib", "pytest", "tempfile", "time",
                            "unittest", "warnings", "zipfile"})  # fmt: skip
"""Libraries of which no context manager has to do with JAX."""


@dataclass(frozen=True)
class PytestFixture:
    """A function that pytest calls for the tests which name it."""

    name: str
    node: cst.FunctionDef
    is_automatic: bool
    """Whether it runs for every test that it is visible to."""
    is_alone: bool
    """Whether it is what its function gives, as far as its decorators say."""


def pytest_fixture(node: cst.FunctionDef, names: Names) -> PytestFixture | None:
    """Return what a function is as a fixture; None for any other function."""
    for decorator in node.decorators:
        made, calls = applied(decorator.decorator, names)
        if made is None or names.qualified(made) not in _MAKERS:
            continue
        given = [(call.keywords.get("name"), call.keywords.get("autouse")) for call in calls]
        named = [each for each, _ in given if each is not None]
        name = string_value(named[0]) if named else node.name.value
        is_automatic = any(isinstance(auto, cst.Name) and auto.value == "True" for _, auto in given)
        is_alone = len(node.decorators) == 1 and name is not None
        return PytestFixture(name or node.name.value, node, is_automatic, is_alone)
    return None


def is_plain_test(node: cst.FunctionDef, names: Names) -> bool:
    """Return whether pytest calls a function of a test file as it is: a test without marks, but for
    its parameters, at the top of the file or in a class that prepares nothing for it.
    """
    if not node.name.value.startswith("test") or node.asynchronous is not None:
        return False
    for each in node.decorators:
        made, _ = applied(each.decorator, names)
        if made is None or names.qualified(made) != "pytest.mark.parametrize":
            return False
    around = names.scope(node).node
    if not isinstance(around, cst.ClassDef):
        return isinstance(around, cst.Module)
    methods = {each.name.value for each in around.body.body if isinstance(each, cst.FunctionDef)}
    is_bare = not (around.bases or around.keywords or around.decorators)
    return is_bare and around.name.value.startswith("Test") and methods.isdisjoint(_PREPARING)


def fixtures_among(statements: Iterable[cst.CSTNode], names: Names) -> dict[str, PytestFixture]:
    """Return the fixtures that are defined by some statements, by their names."""
    found = (
        pytest_fixture(statement, names)
        for statement in statements
        if isinstance(statement, cst.FunctionDef)
    )
    return {each.name: each for each in found if each is not None}


def plugins_named(value: cst.BaseExpression) -> Iterator[str]:
    """Yield the names of the modules in what is assigned to `pytest_plugins`."""
    for each in elements_or_self(value):
        name = string_value(each)
        if name is not None:
            yield name


def parametrized(tree: Tree) -> Iterator[str]:
    """Yield the names of parameters that tests of a file are given in another way."""
    for call, name in _marks(tree):
        if name == "parametrize":
            names = Arguments(call).get(0, "argnames")
            for each in () if names is None else elements_or_self(names):
                yield from (part.strip() for part in (string_value(each) or "").split(","))


def names_given(function: cst.FunctionDef, parameter: str) -> list[str]:
    """Return the texts that a test is given for a parameter, one after the other, by a mark:
    `@pytest.mark.parametrize("name", ["small", "large"])`. Of anything else there are none.
    """
    for decorator in function.decorators:
        call = decorator.decorator
        if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
            continue
        arguments = Arguments(call)
        listed = arguments.get(1, "argvalues")
        if (
            call.func.attr.value == "parametrize"
            and string_value(arguments.get(0, "argnames")) == parameter
            and isinstance(listed, cst.List | cst.Tuple)
        ):
            texts = [string_value(each.value) for each in listed.elements]
            return [text for text in texts if text is not None] if None not in texts else []
    return []


def used_by_marks(tree: Tree) -> list[tuple[cst.CSTNode | None, frozenset[str]]]:
    """Return the fixtures that tests of a file use by a mark, without being given their values.

    With the function or the class that each mark decorates; None: all of the file may have it.
    """
    found: list[tuple[cst.CSTNode | None, frozenset[str]]] = []
    for call, name in _marks(tree):
        if name == "usefixtures":
            decorator = tree.around(call, cst.Decorator)
            used = frozenset(string_value(argument.value) or "" for argument in call.args)
            found.append((None if decorator is None else tree.parent(decorator), used))
    return found


def _marks(tree: Tree) -> Iterator[tuple[cst.Call, str]]:
    for call in tree.every(cst.Call):
        if isinstance(call.func, cst.Attribute):
            yield call, call.func.attr.value


def contexts_held(node: cst.FunctionDef, names: Names) -> list[cst.BaseExpression]:
    """Return the context managers that a fixture holds while tests run, as far as JAX may see.

    Those in the `with` blocks that it yields inside.
    """
    found: list[cst.BaseExpression] = []
    pending: list[tuple[cst.CSTNode, tuple[cst.BaseExpression, ...]]] = [(node.body, ())]
    while pending:
        part, held = pending.pop()
        if isinstance(part, cst.Yield):
            found += (each for each in held if each not in found)
        if isinstance(part, cst.With):
            held += tuple(item.item for item in part.items if not _is_plain(item.item, names))
        if not isinstance(part, cst.FunctionDef | cst.Lambda):
            pending += [(child, held) for child in children(part)]
    return found


def _is_plain(manager: cst.BaseExpression, names: Names) -> bool:
    name = names.qualified(manager.func) if isinstance(manager, cst.Call) else None
    if name == "open" or (name or "").partition(".")[0] in _PLAIN_MODULES:
        return True
    return name in CONFIG_CONTEXTS and name != "jax.default_device"
