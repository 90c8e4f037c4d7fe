"""Arguments that a call takes from a dict by `**options`, which a file writes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.beside import definition_beside
from placement_lint.semantic.followed import followed
from placement_lint.semantic.returned import given_by, only_return
from placement_lint.semantic.written_tables import entries_of
from placement_lint.syntax.calls import Arguments, string_value
from placement_lint.syntax.definitions import (
    class_of_method,
    class_of_receiver,
    field_default,
    method_of_class,
    parameter_named,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.model import ModuleFacts

_MOST_KEYS = 4
"""Dicts in dicts."""
_CONSTANTS = frozenset({"False", "None", "True"})


class AllArguments(Arguments):
    """The arguments of a call, those of `**options` included where their dict is written out.

    That is a display or `dict(…)`, also as an item of a dict of such: `**PRESETS["fast"]`, or with
    more options on top of it, also by statements: `options["batch_size"] = 8`, `options |= {…}`.
    Of a dict that another file has, or a function or a method there gives, those that are numbers,
    texts and the like.
    """

    def __init__(self, call: cst.Call, view: FileView) -> None:
        """Sort the arguments of a call."""
        super().__init__(call)
        spread = [argument.value for argument in call.args if argument.star == "**"]
        for each in spread:
            entries = _entries(each, view) or _entries_beside(each, view)
            for name, given in entries.items():
                self.keywords.setdefault(name, given)


def _entries(options: cst.BaseExpression, view: FileView) -> dict[str, cst.BaseExpression]:
    """Return the options of a dict; without those that are set several times."""
    if not isinstance(options, cst.Name):
        return entries_of(options, view, known=True) or {}
    bindings = view.names.bindings(options)
    made = [each.value for each in bindings if isinstance(each.node, cst.Assign | cst.AnnAssign)]
    added = [each.node.value for each in bindings if isinstance(each.node, cst.AugAssign)]
    if len(made) != 1 or made[0] is None or len(made) + len(added) != len(bindings):
        return entries_of(options, view, known=True) or {}
    found = dict(entries_of(made[0], view, known=True) or {})
    owner = view.names.owner(options.value, view.names.scope(options))
    uses = [] if owner is None else view.names.uses(options.value, owner)
    more = [item for each in added for item in (entries_of(each, view, known=True) or {}).items()]
    more += [item for use in uses for item in _added(use, view)]
    again = {name for name, _ in more if name in found}
    for name, given in more:
        if found.setdefault(name, given) is not given:
            again.add(name)
    return {name: given for name, given in found.items() if name not in again}


def _added(name: cst.Name, view: FileView) -> Iterator[tuple[str, cst.BaseExpression]]:
    """Yield the options that a statement adds to a dict: by its key, or by `update`."""
    parent = view.parent(name)
    around = None if parent is None else view.parent(parent)
    if isinstance(parent, cst.Subscript) and isinstance(around, cst.AssignTarget):
        statement, index = view.parent(around), parent.slice[0].slice
        key = string_value(index.value) if isinstance(index, cst.Index) else None
        if key is not None and isinstance(statement, cst.Assign):
            yield key, statement.value
    elif isinstance(parent, cst.Attribute) and isinstance(around, cst.Call):
        arguments = Arguments(around)
        if parent.attr.value == "update":
            for each in arguments.positional:
                yield from (entries_of(each, view, known=True) or {}).items()
            yield from arguments.keywords.items()


# -- dicts of other files -------------------------------------------------------------------------


def _entries_beside(options: cst.BaseExpression, view: FileView) -> dict[str, cst.BaseExpression]:
    """Return the constants among the options of a dict of another file, and what the call that
    gives it passes for them.
    """
    if not view.module.has_siblings:
        return {}
    node, keys = given_by(options, view), list[str]()
    while isinstance(node, cst.Subscript) and len(keys) < _MOST_KEYS:
        index = node.slice[0].slice if len(node.slice) == 1 else None
        key = string_value(index.value) if isinstance(index, cst.Index) else None
        if key is None:
            return {}
        keys.insert(0, key)
        node = given_by(node.value, view)
    made = _made_beside(node, view)
    if made is None:
        return {}
    # Rules import this module where LibCST may not be needed.
    from placement_lint.semantic.file_view import FileView

    held, function, there = made[0], made[1], FileView(made[2])
    for key in keys:
        inner = (entries_of(held, there) or {}).get(key)
        if inner is None:
            return {}
        held = inner
    passed = {} if function is None else _passed(node, function, there)
    found = {
        name: _constant(given, passed, there)
        for name, given in (entries_of(held, there, known=True) or {}).items()
    }
    return {name: given for name, given in found.items() if given is not None}


def _made_beside(
    node: cst.BaseExpression, view: FileView
) -> tuple[cst.BaseExpression, cst.FunctionDef | None, ModuleFacts] | None:
    """Return what an expression is in another file: what a name is bound to there, or a function or
    a method gives, with that function.
    """
    name = view.name(node.func if isinstance(node, cst.Call) else node)
    beside = None if name is None else definition_beside(view.module, name)
    if beside is None and isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        beside = _method_beside(node.func, view)
    if beside is None:
        return None
    bound, there = beside
    if isinstance(node, cst.Call):
        function = bound if isinstance(bound, cst.FunctionDef) else None
        if function is None or function.decorators or function.asynchronous is not None:
            return None
        # Rules import this module where LibCST may not be needed.
        from placement_lint.semantic.file_view import FileView

        given = only_return(function, FileView(there))
        return None if given is None else (given, function, there)
    value = bound.value if isinstance(bound, cst.Assign | cst.AnnAssign) else None
    return None if value is None else (value, None, there)


def _method_beside(method: cst.Attribute, view: FileView) -> tuple[cst.CSTNode, ModuleFacts] | None:
    """Return a method of an object of a class of another file, and the file."""
    # Rules import this module where LibCST may not be needed.
    from placement_lint.semantic.known_types import KnownTypes

    known = view.module.fact(KnownTypes).of(method.value)
    there = None if known is None else view.module.siblings.get(known.path)
    if known is None or there is None or there is view.module:
        return None
    cls = there.fact(KnownTypes).class_here(known)
    found = None if cls is None else method_of_class(cls, method.attr.value, there.names)
    return None if found is None else (found, there)


def _passed(
    call: cst.BaseExpression, function: cst.FunctionDef, there: FileView
) -> dict[str, cst.BaseExpression]:
    """Return what a call passes for the parameters of a function, by their names."""
    if not isinstance(call, cst.Call):
        return {}
    arguments = Arguments(call)
    parameters = [each.name.value for each in function.params.params]
    if class_of_method(function, there.names) is not None:
        parameters = parameters[1:]
    return {**dict(zip(parameters, arguments.positional, strict=False)), **arguments.keywords}


def _constant(
    node: cst.BaseExpression, passed: dict[str, cst.BaseExpression], there: FileView
) -> cst.BaseExpression | None:
    """Return the constant that an option is in its file, a parameter by what is passed for it, or
    its default, a field by its default.
    """
    node = followed(node, there)
    parameter = parameter_named(node, there.names)
    if parameter is not None:
        if parameter.name.value in passed:
            return passed[parameter.name.value]
        node = parameter.default or node
    elif isinstance(node, cst.Attribute):
        cls = class_of_receiver(node.value, there.names)
        node = (None if cls is None else field_default(cls, node.attr.value)) or node
    is_constant = isinstance(node, cst.Float | cst.Integer | cst.SimpleString) or (
        isinstance(node, cst.Name) and node.value in _CONSTANTS
    )
    return node if is_constant else None
