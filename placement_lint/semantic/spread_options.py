"""Arguments that a call takes from a dict by `**options`, which the file writes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.written_tables import entries_of
from placement_lint.syntax.calls import Arguments, string_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.semantic.file_view import FileView


class AllArguments(Arguments):
    """The arguments of a call, those of `**options` included where their dict is written out.

    That is a display or `dict(…)`, also as an item of a dict of such: `**PRESETS["fast"]`, or with
    more options on top of it, also by statements: `options["batch_size"] = 8`, `options |= {…}`.
    """

    def __init__(self, call: cst.Call, view: FileView) -> None:
        """Sort the arguments of a call."""
        super().__init__(call)
        spread = [argument.value for argument in call.args if argument.star == "**"]
        for each in spread:
            for name, given in _entries(each, view).items():
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
