"""What another file of the same program defines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.files.test_paths import is_init
from placement_lint.jaxmodel.known_packages import LIBRARY_PREFIXES
from placement_lint.syntax.definitions import (
    PARTIAL,
    applied,
    class_named,
    class_of_receiver,
    transforming,
)

if TYPE_CHECKING:
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.calls import Arguments

_MOST_IMPORTS = 8
"""Files that hand a name on before the one that defines it."""


def definition_beside(facts: ModuleFacts, name: str) -> tuple[cst.CSTNode, ModuleFacts] | None:
    """Return what binds a name at the top level of another file, and that file.

    By its qualified name in a file. None where it is no file of the program that was read, or where
    it is not bound just once there.
    """
    siblings, locate, path = facts.siblings, facts.locate, facts.path
    for _ in range(_MOST_IMPORTS):
        located = None if locate is None else locate(path, name)
        there = None if located is None else siblings.get(located[0])
        if located is None or there is None:
            return None
        top, dot, below = located[1].partition(".")
        bindings = there.names.module_scope.bindings.get(top, [])
        stars = [*there.names.star_imports]
        if not bindings and len(stars) == 1:
            path, name = located[0], f"{stars[0]}.{located[1]}"
        elif len(bindings) != 1:
            return None
        elif (target := bindings[0].target) is not None:
            if below and is_init(located[0]) and target.rpartition(".")[2] == top:
                # It is found by its own name, unless the package is too large.
                return None
            path, name = located[0], f"{target}{dot}{below}"
        else:
            return None if below else (bindings[0].node, there)
    return None


def method_beside(
    node: cst.Attribute, facts: ModuleFacts
) -> tuple[cst.CSTNode, ModuleFacts] | None:
    """Return the method that `self.name` is of a base class of another file, and that file."""
    cls: cst.CSTNode | None = class_of_receiver(node.value, facts.names)
    name = node.attr.value
    for _ in range(_MOST_IMPORTS):
        if not isinstance(cls, cst.ClassDef):
            return None
        bound = facts.names.scope(cls.body).bindings.get(name, [])
        if bound:
            return (bound[0].node, facts) if len(bound) == 1 else None
        if not cls.bases:
            return None
        base = cls.bases[0].value
        cls = class_named(base, facts.names)
        qualified = facts.names.qualified(base)
        if cls is None and qualified is not None:
            found = definition_beside(facts, qualified)
            cls, facts = (None, facts) if found is None else found
    return None


def transform_applied(
    node: cst.BaseExpression | None, facts: ModuleFacts
) -> tuple[str | None, list[Arguments]]:
    """Return the qualified name of what an expression names: of a `functools.partial` of another
    file that passes nothing by position, of what that is one of, such as `jax.jit`, with the
    arguments that the partial passes.
    """
    name = None if node is None else facts.names.qualified(node)
    if name is None or len(facts.siblings) < 2 or name.startswith(LIBRARY_PREFIXES):
        return name, []
    known = facts.fact(_known_partials)
    if name not in known:
        known[name] = _partial_beside(name, facts)
    return known[name]


def _known_partials(_facts: ModuleFacts) -> dict[str, tuple[str, list[Arguments]]]:
    """Make the store of one file: what the names of other files are partials of."""
    return {}


def _partial_beside(name: str, facts: ModuleFacts) -> tuple[str, list[Arguments]]:
    beside = definition_beside(facts, name)
    if beside is None or not isinstance(beside[0], cst.Assign):
        return name, []
    made, there = beside[0].value, beside[1]
    if not isinstance(made, cst.Call) or there.names.qualified(made.func) != PARTIAL:
        return name, []
    of, calls = applied(made, there.names)
    if of is None or any(each.is_open or len(each.positional) > 1 for each in calls):
        return name, []
    return there.names.qualified(of) or name, calls


def transform_called(call: cst.Call, facts: ModuleFacts) -> str | None:
    """Return the qualified name of what a call gives a function to, as `transforming` does, where
    a `functools.partial` may be one of another file.
    """
    name = transforming(call, facts.names)
    if name is None or len(facts.siblings) < 2 or name.startswith(LIBRARY_PREFIXES):
        return name
    return transform_applied(call.func, facts)[0] or name
