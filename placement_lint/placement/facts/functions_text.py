"""What the text of a module says of its functions: which names it uses, what they configure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import libcst as cst

from placement_lint.jaxmodel.known_packages import LIBRARY_PREFIXES
from placement_lint.syntax.definitions import PARTIAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.facts.module import Module


class FunctionUses(NamedTuple):
    """The names that modules use, other than to define what they stand for."""

    used: frozenset[str]
    """What has such a name may be called, also by another name that it is given."""
    begun: frozenset[str]
    """Those of what begins a program: `app.run(main)` at the top of a module, and `main()`, which
    is executed by now unless a decorator of a library makes it a command."""


def uses_of(modules: Iterable[Module], is_ours: Callable[[Module, str], bool]) -> FunctionUses:
    """Return the names that modules use; not those which a library is given to run."""
    found: set[str] = set()
    begun: set[str] = set()
    for module in modules:
        defining = {id(node.name) for node in module.tree.every(cst.ClassDef, cst.FunctionDef)}
        later: dict[str, set[str]] = {}
        for name, function, begins in _handed_to_libraries(module, is_ours):
            defining.add(id(name))
            if begins:
                by_whom = begun if function is None else later.setdefault(function, set())
                by_whom.add(name.value)
        waiting = [*begun]
        while waiting:
            started = later.pop(waiting.pop(), set()) - begun
            begun |= started
            waiting += started
        found |= {node.value for node in module.tree.every(cst.Name) if id(node) not in defining}
        imported = module.tree.every(cst.Attribute)
        found |= {each.attr.value for each in imported if module.names.qualified(each)}
    return FunctionUses(frozenset(found), frozenset(begun))


def plain_functions(module: Module, but: frozenset[str]) -> Iterator[Place]:
    """Yield what has none of these names and is no method, nor what JAX or a notebook runs."""
    for node in module.tree.every(cst.FunctionDef):
        if (
            node.name.value not in but
            and node not in module.traced
            and id(node) not in module.names.cells
            and not isinstance(module.names.scope(node).node, cst.ClassDef)
        ):
            yield module.place(node)


def returned_lambdas(module: Module) -> Iterator[Place]:
    """Yield the lambdas that functions return, by themselves or in lists and dicts, and those of
    the tables of a module or a class.
    """
    for node in module.tree.every(cst.Lambda):
        around = module.tree.parent(node)
        is_item = isinstance(around, _DISPLAYS)
        while isinstance(around, _DISPLAYS):
            around = module.tree.parent(around)
        is_in_table = (
            is_item
            and isinstance(around, cst.Assign | cst.AnnAssign)
            and isinstance(module.names.scope(around).node, cst.Module | cst.ClassDef)
        )
        if (is_in_table or isinstance(around, cst.Return)) and node not in module.traced:
            yield module.place(node)


_DISPLAYS = (cst.Dict, cst.DictElement, cst.Element, cst.List, cst.Tuple)


def _handed_to_libraries(
    module: Module, is_ours: Callable[[Module, str], bool]
) -> Iterator[tuple[cst.Name, str | None, bool]]:
    """Yield the names that a statement gives a library to run, or runs.

    Each with the function that has the statement, None at the top, and whether what is given runs
    there: `parser.set_defaults(run=train)` leaves it for later.
    """
    for node in module.tree.every(cst.Expr):
        call = node.value
        if not isinstance(call, cst.Call):
            continue
        functions = _functions_around(node, module)
        if functions is None or len(functions) > 1:
            function, is_known = None, False
        else:
            function, is_known = functions[0] if functions else None, True
        if isinstance(call.func, cst.Name) and is_known and function is None:
            yield call.func, None, True
        name = module.names.qualified(call.func)
        if name is None:
            is_given = isinstance(call.func, cst.Attribute) and call.func.attr.value in _TAKING
        else:
            is_given = not name.startswith(LIBRARY_PREFIXES) and not is_ours(module, name)
        if is_given:
            begins = is_known and name is not None and (function is None or name in _RUNNERS)
            for argument in call.args:
                given = _run_by(argument.value, module)
                if given is not None:
                    yield given, function, begins


def _functions_around(node: cst.CSTNode, module: Module) -> list[str] | None:
    """Return the names of the functions around a statement; None: it is inside of a `with`."""
    found = []
    for around in module.tree.ancestors(node):
        if isinstance(around, cst.With):
            return None
        if isinstance(around, cst.FunctionDef):
            found.append(around.name.value)
    return found


def _run_by(given: cst.BaseExpression, module: Module) -> cst.Name | None:
    """Return the name of the function that runs where an argument is called: by itself, with
    arguments that `functools.partial` keeps, or in a lambda that only calls it.
    """
    bound = module.names.sole_value(given) if isinstance(given, cst.Name) else None
    if bound is not None:
        given = bound
    if isinstance(given, cst.Lambda) and isinstance(given.body, cst.Call):
        given = given.body.func
    elif isinstance(given, cst.Call) and module.names.qualified(given.func) == PARTIAL:
        given = given.args[0].value if given.args else given
    return given if isinstance(given, cst.Name) else None


_RUNNERS = frozenset({
    "absl.app.run", "fire.Fire", "tensorflow.compat.v1.app.run", "tyro.cli", "typer.run",
})  # fmt: skip
"""Functions that run the function they are given, at once and in nothing that they entered."""
_TAKING = frozenset({"add_command", "set_defaults"})
"""Methods of command-line parsers that are given the functions of commands."""


def callers_first(modules: Mapping[str, Module], functions: Sequence[Place]) -> list[Place]:
    """Return functions in an order in which those come before others that they name.

    Those that do not name each other, also by way of others, stay in their order.
    """
    by_name: dict[str, list[Place]] = {}
    for place in functions:
        by_name.setdefault(_function(modules, place).name.value, []).append(place)

    def named(place: Place) -> Iterator[Place]:
        # Who names them next need not know: they come after the first that does so.
        names = modules[place.module].tree.every(cst.Name, below=_function(modules, place))
        for name in names:
            yield from by_name.pop(name.value, ())

    found: list[Place] = []
    seen: set[Place] = set()
    for start in reversed(functions):
        stack = [] if start in seen else [(start, named(start))]
        seen.add(start)
        while stack:
            place, others = stack[-1]
            following = next((other for other in others if other not in seen), None)
            if following is None:
                found.append(place)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, named(following)))
    return found[::-1]


def _function(modules: Mapping[str, Module], place: Place) -> cst.FunctionDef:
    return cast("cst.FunctionDef", modules[place.module].tree.nodes[place.node])


def enters_default_in_function(module: Module) -> bool:
    """Return whether a function in a module enters a default device."""
    return any(
        module.names.qualified(node.func) == "jax.default_device"
        and any(isinstance(ancestor, cst.FunctionDef) for ancestor in module.tree.ancestors(node))
        for node in module.tree.every(cst.Call)
    )
