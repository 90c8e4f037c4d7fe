"""Arguments that a call takes from a dict by `**options`, which a file writes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.beside import definition_beside
from placement_lint.semantic.followed import followed
from placement_lint.semantic.own_attributes import own_class
from placement_lint.semantic.returned import given_by, only_return, value_of_variable
from placement_lint.semantic.written_tables import entries_of
from placement_lint.syntax.calls import Arguments, string_value
from placement_lint.syntax.definitions import (
    class_of_method,
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
    texts and the like; and of one of the fields of an object, `**dataclasses.asdict(settings)`, the
    defaults of the class.
    """

    def __init__(self, call: cst.Call, view: FileView) -> None:
        """Sort the arguments of a call."""
        super().__init__(call)
        spread = [argument.value for argument in call.args if argument.star == "**"]
        for each in spread:
            entries = _entries(each, view) or _entries_beside(each, view) or _fields(each, view)
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


# -- dicts of fields ------------------------------------------------------------------------------


def _fields(options: cst.BaseExpression, view: FileView) -> dict[str, cst.BaseExpression]:
    """Return the fields of an object whose defaults are constants, of a dict of its fields.

    `dataclasses.asdict(settings)`, also what a method of a class of the program returns of its own
    object.
    """
    # Rules import this module where LibCST may not be needed.
    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.host_reads import whose_fields
    from placement_lint.semantic.known_types import KnownTypes

    options = given_by(options, view)
    method = options.func if isinstance(options, cst.Call) and not options.args else None
    beside = _method_of(method, view) if isinstance(method, cst.Attribute) else None
    if beside is not None:
        function, view = beside[0], FileView(beside[1])
        given = only_return(function, view) if isinstance(function, cst.FunctionDef) else None
        if given is None:
            return {}
        options = given
    owner = whose_fields(options, view)
    if owner is None:
        return {}
    cls, there = own_class(owner, view), view.module
    known = view.module.fact(KnownTypes).of(owner) if cls is None else None
    if known is not None:
        there = view.module.siblings.get(known.path, view.module)
        cls = there.fact(KnownTypes).class_here(known)
    return {} if cls is None else _defaults(cls, FileView(there))


def _defaults(cls: cst.ClassDef, view: FileView) -> dict[str, cst.BaseExpression]:
    """Return the fields of a class that have constants as defaults, and are never anything else."""
    given = _given_to(cls.name.value, view.module)
    found: dict[str, cst.BaseExpression] = {}
    for line in cls.body.body if None not in given else ():
        field = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
        if isinstance(field, cst.AnnAssign) and isinstance(field.target, cst.Name) and field.value:
            default = _constant(field.value, {}, view)
            if default is not None and field.target.value not in given:
                found[field.target.value] = default
    return found


def _given_to(name: str, module: ModuleFacts) -> set[str | None]:
    """Return the fields that calls of the program give objects of a class, or replace in them.

    None: they are given by position, or by a star.
    """
    found: set[str | None] = set()
    for facts in {module.path: module, **module.siblings}.values():
        for call in facts.tree.every(cst.Call):
            func = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
            if isinstance(func, cst.Name) and func.value in {name, "cls", "replace", "setattr"}:
                is_text = func.value == "replace"
                for each in call.args:
                    if each.keyword is not None:
                        found.add(each.keyword.value)
                    elif not is_text:
                        found.add(None)
        for target in facts.tree.every(cst.AssignTarget):
            if isinstance(target.target, cst.Attribute):
                found.add(target.target.attr.value)
    return found


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
    passed = {} if function is None else passed_by(node, function, there)
    found = {
        name: _constant(given, passed, there)
        for name, given in (entries_of(held, there, known=True) or {}).items()
    }
    return {name: given for name, given in found.items() if given is not None}


def constant_beside(node: cst.BaseExpression, view: FileView) -> cst.BaseExpression | None:
    """Return the constant that another file binds a name to, or that a function there gives.

    Of `0 if debug else 8`, by what the call passes for the parameter, or by its default.
    """
    made = _made_beside(node, view) if view.module.has_siblings else None
    if made is None:
        return None
    # Rules import this module where LibCST may not be needed.
    from placement_lint.semantic.file_view import FileView

    held, function, there = made[0], made[1], FileView(made[2])
    passed = {} if function is None else passed_by(node, function, there)
    if isinstance(held, cst.IfExp):
        test = _constant(held.test, passed, there)
        if isinstance(test, cst.Name) and test.value in {"False", "True"}:
            held = held.body if test.value == "True" else held.orelse
    return _constant(held, passed, there)


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
        return None if given is None else (given_by(given, FileView(there)), function, there)
    value = bound.value if isinstance(bound, cst.Assign | cst.AnnAssign) else None
    if value is None or name is None:
        return None
    # Rules import this module where LibCST may not be needed.
    from placement_lint.semantic.file_view import FileView

    inside = FileView(there)
    if isinstance(bound, cst.Assign):
        value = value_of_variable(name.rpartition(".")[2], bound, inside) or value
    return given_by(value, inside), None, there


def _method_beside(method: cst.Attribute, view: FileView) -> tuple[cst.CSTNode, ModuleFacts] | None:
    """Return a method of an object of a class of another file, and the file."""
    found = _method_of(method, view)
    return None if found is None or found[1] is view.module else found


def _method_of(method: cst.Attribute, view: FileView) -> tuple[cst.CSTNode, ModuleFacts] | None:
    """Return a method of an object of a class of the program, and its file."""
    # Rules import this module where LibCST may not be needed.
    from placement_lint.semantic.known_types import KnownTypes

    known = view.module.fact(KnownTypes).of(method.value)
    if known is None:
        return None
    is_own = known.path == view.module.path
    there = view.module if is_own else view.module.siblings.get(known.path)
    if there is None:
        return None
    cls = there.fact(KnownTypes).class_here(known)
    found = None if cls is None else method_of_class(cls, method.attr.value, there.names)
    return None if found is None else (found, there)


def passed_by(
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
        cls = own_class(node.value, there)
        node = (None if cls is None else field_default(cls, node.attr.value)) or node
    is_constant = isinstance(node, cst.Float | cst.Integer | cst.SimpleString) or (
        isinstance(node, cst.Name) and node.value in _CONSTANTS
    )
    return node if is_constant else None
