"""Whether a program pins itself to the CPU: then the host is the default device."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.jaxmodel.backend_start import starts_backend
from placement_lint.placement.facts.pin_callers import PinCallers, is_conditional
from placement_lint.syntax.calls import Arguments, string_value
from placement_lint.syntax.environ import settings
from placement_lint.syntax.import_statements import modules_named
from placement_lint.syntax.pytest_fixtures import contexts_held, pytest_fixture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree

_OPTIONS = frozenset({"jax_platforms", "jax_platform_name"})
_LISTS = frozenset({"jax.devices", "jax.local_devices"})
_VARIABLES = frozenset({"JAX_PLATFORMS", "JAX_PLATFORM_NAME"})

IsLate: TypeAlias = "Callable[[cst.CSTNode, bool], bool]"
"""Whether something surely runs after the start of the backend; where asked for a variable (True),
after the import of JAX."""


def _is_never_known(_node: cst.CSTNode, _is_variable: bool, /) -> bool:
    return False


def pins_cpu(
    tree: Tree, names: Names, *, by_intent: bool = False, is_late: IsLate = _is_never_known
) -> bool:
    """Return whether the module sets the platform to the CPU, unconditionally.

    So does a fixture that holds `jax.default_device` of the CPU for every test. What only a
    function does that nothing in the module surely calls counts where another file calls it
    (`offers_cpu`).

    A variable that is set below `import jax` has no effect (JDP501), nor has an option below what
    surely starts the backend (JDP502). They count only `by_intent`: that of a `conftest.py` says
    what its tests are meant for. `is_late` tells what comes too late otherwise: in a function that
    is called below such a place.
    """
    callers = PinCallers(tree, names)
    return any(
        by_intent or callers.unreached_around(node) is None
        for node in _pins(tree, names, by_intent=by_intent, is_late=is_late)
    ) or any(
        _tests_on_cpu(node, tree, names, by_intent=by_intent)
        for node in tree.every(cst.Call, cst.FunctionDef)
    )


def pins_at_top(tree: Tree, names: Names) -> bool:
    """Return whether the module sets the platform to the CPU in no function, at its import, and
    nothing above may start the backend.
    """
    pins = _pins(tree, names, by_intent=False, is_late=_is_never_known)
    return any(
        tree.around(node, cst.FunctionDef) is None and not _may_start_above(node, tree, names)
        for node in pins
    )


def _may_start_above(node: cst.CSTNode, tree: Tree, names: Names) -> bool:
    """Return whether the top of a module calls what starts the backend above a node, or something
    of its own, which may do so.
    """
    at = tree.index(node)
    above = itertools.takewhile(lambda call: tree.index(call) < at, tree.every(cst.Call))
    return any(
        ((name := names.qualified(call.func)) is None or starts_backend(name) is True)
        and not any(isinstance(a, cst.FunctionDef | cst.Lambda) for a in tree.ancestors(call))
        for call in above
    )


def offers_cpu(tree: Tree, names: Names, *, is_late: IsLate = _is_never_known) -> frozenset[str]:
    """Return the names of the functions that set the platform to the CPU once they are called.

    They are those that the module itself never calls, but perhaps under a condition.
    """
    pins = _pins(tree, names, by_intent=False, is_late=is_late)
    callers = PinCallers(tree, names)
    found = [callers.unreached_around(node) for node in pins]
    return frozenset(name for each in found if each is not None for name in callers.offering(each))


def takes_offered(tree: Tree, names: Names, offered: frozenset[str]) -> tuple[bool, frozenset[str]]:
    """Return whether a file surely calls a function of another one that sets the platform, and the
    names of its own functions that do so once they are called.
    """
    return PinCallers(tree, names, offered).of_given()


def _pins(tree: Tree, names: Names, *, by_intent: bool, is_late: IsLate) -> Iterator[cst.CSTNode]:
    starts = functools.partial(_starts_backend, tree=tree, names=names)
    for node in tree.every(cst.Call, cst.Assign, cst.AugAssign):
        is_variable = _exports_cpu(node, names)
        if not (is_variable or _configures_cpu(node, names)) or is_conditional(node, tree):
            continue
        does = _imports_jax if is_variable else starts
        if by_intent or not (_is_below(node, tree, does) or is_late(node, is_variable)):
            yield node


def _tests_on_cpu(node: cst.CSTNode, tree: Tree, names: Names, *, by_intent: bool) -> bool:
    """Return whether a fixture, or the start of tests, makes the CPU the default of all tests."""
    if isinstance(node, cst.FunctionDef):
        fixture = pytest_fixture(node, names)
        return (
            fixture is not None
            and fixture.is_automatic
            and any(_enters_cpu(each, names) for each in contexts_held(node, names))
        )
    if not by_intent or not isinstance(node, cst.Call) or not _defaults_to_cpu(node, names):
        return False
    around = [each for each in tree.ancestors(node) if isinstance(each, cst.FunctionDef)]
    fixtures = [pytest_fixture(each, names) for each in around]
    return not is_conditional(node, tree) and all(
        each.name.value.startswith("pytest_") or (fixture is not None and fixture.is_automatic)
        for each, fixture in zip(around, fixtures, strict=True)
    )


def _enters_cpu(manager: cst.BaseExpression, names: Names) -> bool:
    if not isinstance(manager, cst.Call) or names.qualified(manager.func) != "jax.default_device":
        return False
    return _is_host(Arguments(manager).get(0, "new_val"), names)


def _defaults_to_cpu(call: cst.Call, names: Names) -> bool:
    arguments = Arguments(call)
    return (
        names.qualified(call.func) == "jax.config.update"
        and string_value(arguments.get(0, "name")) == "jax_default_device"
        and _is_host(arguments.get(1, "val"), names)
    )


def _is_host(device: cst.BaseExpression | None, names: Names) -> bool:
    """Return whether an expression is a device of the host, or a name for one."""
    device = names.sole_value(device) or device
    if isinstance(device, cst.Subscript):
        device = device.value
    if isinstance(device, cst.Call):
        if names.qualified(device.func) not in _LISTS:
            return False
        arguments = Arguments(device)
        device = arguments.get(0, "backend") or arguments.keywords.get("backend")
    return string_value(device) == "cpu"


def _configures_cpu(node: cst.CSTNode, names: Names) -> bool:
    if not isinstance(node, cst.Call) or names.qualified(node.func) != "jax.config.update":
        return False
    arguments = Arguments(node)
    return string_value(arguments.get(0, "name")) in _OPTIONS and _is_cpu(
        string_value(arguments.get(1, "val"))
    )


def _exports_cpu(node: cst.CSTNode, names: Names) -> bool:
    return any(
        setting.name in _VARIABLES and _is_cpu(string_value(setting.value))
        for setting in settings(node, names)
    )


def _is_below(node: cst.CSTNode, tree: Tree, does: Callable[[cst.CSTNode], bool]) -> bool:
    """Return whether a statement above, in a block that the node is in, does something."""
    around = {node, *tree.ancestors(node)}
    blocks = (each for each in around if isinstance(each, cst.Module | cst.IndentedBlock))
    return any(
        any(map(does, itertools.takewhile(lambda each: each not in around, block.body)))
        for block in blocks
    )


def _starts_backend(statement: cst.CSTNode, tree: Tree, names: Names) -> bool:
    """Return whether a statement calls something that starts the backend, whatever else it does."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    # What a lambda or a comprehension contains may not run.
    later = (cst.Lambda, cst.BaseComp, cst.IfExp, cst.BooleanOperation)
    return any(
        starts_backend(names.qualified(call.func) or "") is True
        and not any(
            isinstance(each, later)
            for each in itertools.takewhile(lambda x: x is not statement, tree.ancestors(call))
        )
        for call in tree.every(cst.Call, below=statement)
    )


def _imports_jax(statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and any(
        isinstance(each, cst.Import | cst.ImportFrom) and "jax" in modules_named(each)
        for each in statement.body
    )


def _is_cpu(text: str | None) -> bool:
    return text is not None and text.split(",")[0].strip() == "cpu"
