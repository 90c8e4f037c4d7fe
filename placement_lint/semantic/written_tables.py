"""Tables of values that a file writes out: dicts, lists and tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.own_attributes import class_variables, own_attribute
from placement_lint.semantic.returned import given_by
from placement_lint.syntax.calls import Arguments, integer_value, string_value
from placement_lint.syntax.definitions import parameter_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.model import ModuleFacts

_MOST_STEPS = 4
"""Tables in tables."""
_MOST_PARTS = 64
"""Lists and conditions that one list is put together of."""


def entries_of(
    node: cst.BaseExpression, view: FileView, steps: int = _MOST_STEPS, *, known: bool = False
) -> dict[str, cst.BaseExpression] | None:
    """Return the values of a dict by their keys; None where it is not written out.

    `known`: those that are, also where others are added to them: `{**DEFAULTS, **given}`.
    """
    node = given_by(node, view)
    if isinstance(node, cst.Attribute):
        node = own_attribute(node, view) or node
    if isinstance(node, cst.Subscript) and steps:
        index = node.slice[0].slice if len(node.slice) == 1 else None
        key = string_value(index.value) if isinstance(index, cst.Index) else None
        entries = None if key is None else entries_of(node.value, view, steps - 1)
        held = None if entries is None or key is None else entries.get(key)
        return None if held is None else entries_of(held, view, steps - 1)
    if isinstance(node, cst.Call) and view.called(node) == "builtins.dict":
        arguments = Arguments(node)
        return None if arguments.is_open or arguments.positional else arguments.keywords
    if not isinstance(node, cst.Dict):
        return None
    found: dict[str, cst.BaseExpression] = {}
    for element in node.elements:
        if isinstance(element, cst.StarredDictElement) and known and steps:
            found |= entries_of(element.value, view, steps - 1, known=True) or {}
            continue
        key = string_value(element.key) if isinstance(element, cst.DictElement) else None
        if key is None:
            return None
        found[key] = element.value
    return found


def choices(node: cst.BaseExpression, view: FileView) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """Yield what an expression chooses from, each with whether it is certain that it is chosen.

    Of a conditional expression, and of what a loop takes from a list, all count as chosen; of a
    table that is written out, the item under a key that is, and else perhaps any; of what the
    bodies of classes assign, that of the class around, and perhaps that of one derived from it.
    """
    asked, node = node, given_by(node, view)
    loop = view.names.sole_definition(node) if isinstance(node, cst.Name) else None
    if isinstance(node, cst.IfExp):
        yield from choices(node.body, view)
        yield from choices(node.orelse, view)
    elif isinstance(loop, cst.For) and isinstance(loop.target, cst.Name):
        yield from ((each, True) for each in _items(loop.iter, view) or [asked])
    elif (taken := taken_from(node)) is None:
        held = [*class_variables(node, view)] if isinstance(node, cst.Attribute) else []
        yield from held or [(asked, True)]
    else:
        table, key = taken
        yield from items_under(table, key, view) or [(asked, True)]


def taken_from(
    node: cst.BaseExpression,
) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """Return the table and the key of `table[key]` and of `table.get(key)`."""
    if isinstance(node, cst.Subscript) and len(node.slice) == 1:
        index = node.slice[0].slice
        return (node.value, index.value) if isinstance(index, cst.Index) else None
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        key = Arguments(node).get(0) if node.func.attr.value == "get" else None
        return None if key is None else (node.func.value, key)
    return None


def is_taken(node: cst.BaseExpression) -> bool:
    """Return whether an expression is `table[key]` or `table.get(key)`."""
    return taken_from(node) is not None


def items_under(
    table: cst.BaseExpression, key: cst.BaseExpression, view: FileView
) -> list[tuple[cst.BaseExpression, bool]]:
    """Return the items that may be under a key; none where the table is not written out."""
    return items_at(table, key_of(key), view)


def key_of(node: cst.BaseExpression) -> str | int | None:
    """Return the key that an expression writes out; None for any other."""
    place = integer_value(node)
    return string_value(node) if place is None else place


def items_at(
    table: cst.BaseExpression, key: str | int | None, view: FileView
) -> list[tuple[cst.BaseExpression, bool]]:
    """Return what may be under a key of a table; without one, all that is in it."""
    place = key if isinstance(key, int) else None
    text = key if isinstance(key, str) else None
    items = _items(table, view)
    if items:
        if place is None:
            return [(each, False) for each in items]
        return [(items[place], True)] if -len(items) <= place < len(items) else []
    entries = entries_of(table, view) or {}
    if text in entries:
        return [(entries[text], True)]
    stored = [(each, False) for each in _stored(table, view)]
    return stored if text else [*((each, False) for each in entries.values()), *stored]


def _stored(table: cst.BaseExpression, view: FileView) -> list[cst.BaseExpression]:
    """Return what statements put into a table of the file: `TABLE["small"] = make`."""
    bound = view.names.sole_binding(table) if isinstance(table, cst.Name) else None
    return [] if bound is None else view.module.fact(_all_stored).expressions.get(id(bound), [])


def registered(node: cst.BaseExpression, view: FileView) -> list[cst.ClassDef | cst.FunctionDef]:
    """Return what may be under the key of a table, as decorators put there what they decorate:
    `@register("small")`.
    """
    taken = taken_from(node)
    table = None if taken is None else taken[0]
    bound = view.names.sole_binding(table) if isinstance(table, cst.Name) else None
    return [] if bound is None else view.module.fact(_all_stored).decorated.get(id(bound), [])


class _AllStored:
    """What is stored in each variable of a file after it is made, by the binding of that."""

    def __init__(self, facts: ModuleFacts) -> None:
        self.expressions: dict[int, list[cst.BaseExpression]] = {}
        self.decorated: dict[int, list[cst.ClassDef | cst.FunctionDef]] = {}
        names, tree = facts.names, facts.tree
        storing: dict[int, int] = {}
        for target in tree.every(cst.AssignTarget):
            table, statement = target.target, tree.parent(target)
            if not isinstance(table, cst.Subscript) or not isinstance(statement, cst.Assign):
                continue
            bound = names.sole_binding(table.value) if isinstance(table.value, cst.Name) else None
            if bound is None:
                continue
            function = tree.around(statement, cst.FunctionDef)
            if parameter_named(statement.value, names) is None:
                self.expressions.setdefault(id(bound), []).append(statement.value)
            elif isinstance(function, cst.FunctionDef):
                # Of `def register(name): def wrap(made): …; return wrap`, the outer one has a name.
                storing[id(tree.around(function, cst.FunctionDef) or function)] = id(bound)
        for made in tree.every(cst.ClassDef, cst.FunctionDef) if storing else ():
            if isinstance(made, cst.FunctionDef) and len(made.decorators) > 1:
                # What another decorator makes of it may do anything.
                continue
            for each in made.decorators:
                by = each.decorator.func if isinstance(each.decorator, cst.Call) else each.decorator
                place = storing.get(id(names.sole_definition(by)))
                if place is not None:
                    self.decorated.setdefault(place, []).append(made)


def _all_stored(facts: ModuleFacts) -> _AllStored:
    return _AllStored(facts)


def _items(node: cst.BaseExpression, view: FileView) -> list[cst.BaseExpression]:
    """Return the items of a list or a tuple that is written out."""
    made = given_by(node, view)
    if not isinstance(made, cst.List | cst.Tuple):
        return []
    if any(isinstance(each, cst.StarredElement) for each in made.elements):
        return []
    return [each.value for each in made.elements]


def listed_items(node: cst.BaseExpression | None, view: FileView) -> list[cst.BaseExpression]:
    """Return the items of the lists that an expression puts together: a sum, a condition, `*`.

    And what is appended to a list of a name.
    """
    pending = [] if node is None else [node]
    found: list[cst.BaseExpression] = []
    for _ in range(_MOST_PARTS):
        if not pending:
            break
        asked = pending.pop()
        made = given_by(asked, view)
        if isinstance(asked, cst.Name) and isinstance(made, cst.List):
            added = [*_added(asked, view)]
            found += [item for item, is_list in added if not is_list]
            pending += [each for each, is_list in added if is_list]
        if isinstance(made, cst.List | cst.Tuple):
            for each in made.elements:
                if isinstance(each, cst.StarredElement):
                    pending.append(each.value)
                else:
                    found.append(each.value)
        elif isinstance(made, cst.BinaryOperation) and isinstance(made.operator, cst.Add):
            pending += [made.left, made.right]
        elif isinstance(made, cst.IfExp):
            pending += [made.body, made.orelse]
    return found


def _added(name: cst.Name, view: FileView) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """Yield what is appended to the list of a name, each with whether it is a list of items."""
    for use in view.names.uses(name.value, view.names.scope(name)):
        method = view.parent(use)
        call = view.parent(method) if isinstance(method, cst.Attribute) else None
        if (
            isinstance(method, cst.Attribute)
            and isinstance(call, cst.Call)
            and method.value is use
            and call.func is method
            and (given := Arguments(call).get(0)) is not None
            and method.attr.value in {"append", "extend"}
        ):
            yield given, method.attr.value == "extend"
