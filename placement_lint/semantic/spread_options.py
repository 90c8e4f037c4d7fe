"""Arguments that a call takes from a dict by `**options`, which the file writes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.followed import followed
from placement_lint.semantic.own_attributes import own_attribute
from placement_lint.syntax.calls import Arguments, string_value

if TYPE_CHECKING:
    from placement_lint.semantic.file_view import FileView

_STEPS = 4
"""Names, attributes and items that lead to a dict."""


class AllArguments(Arguments):
    """The arguments of a call, those of `**options` included where their dict is written out.

    That is a display or `dict(…)`, also as an item of a dict of such: `**PRESETS["fast"]`.
    """

    def __init__(self, call: cst.Call, view: FileView) -> None:
        """Sort the arguments of a call."""
        super().__init__(call)
        spread = [argument.value for argument in call.args if argument.star == "**"]
        for each in spread:
            entries = _entries(each, view, _STEPS)
            for name, given in ({} if entries is None else entries).items():
                self.keywords.setdefault(name, given)


def _entries(
    node: cst.BaseExpression, view: FileView, steps: int
) -> dict[str, cst.BaseExpression] | None:
    """Return the values of a dict by their keys; None where it is not written out."""
    node = followed(node, view)
    if isinstance(node, cst.Attribute):
        node = own_attribute(node, view) or node
    if isinstance(node, cst.Subscript) and steps:
        index = node.slice[0].slice if len(node.slice) == 1 else None
        key = string_value(index.value) if isinstance(index, cst.Index) else None
        entries = None if key is None else _entries(node.value, view, steps - 1)
        held = None if entries is None or key is None else entries.get(key)
        return None if held is None else _entries(held, view, steps - 1)
    if isinstance(node, cst.Call) and view.called(node) == "builtins.dict":
        arguments = Arguments(node)
        return None if arguments.is_open or arguments.positional else arguments.keywords
    if not isinstance(node, cst.Dict):
        return None
    found: dict[str, cst.BaseExpression] = {}
    for element in node.elements:
        key = string_value(element.key) if isinstance(element, cst.DictElement) else None
        if key is None:
            return None
        found[key] = element.value
    return found
