"""The cells of marimo notebooks: functions that share one namespace.

marimo runs the body of each as the top of a module: its parameters are the names that it takes from
other cells, and what it returns are those that others may take.
"""

from __future__ import annotations

import libcst as cst

_APP = "app"
_CELL = "cell"


def is_cell(function: cst.FunctionDef) -> bool:
    """Return whether a function is a cell, in a file that imports marimo: `@app.cell`."""
    return any(_is_cell_decorator(each.decorator) for each in function.decorators)


def _is_cell_decorator(node: cst.BaseExpression) -> bool:
    made = node.func if isinstance(node, cst.Call) else node
    return (
        isinstance(made, cst.Attribute)
        and made.attr.value == _CELL
        and isinstance(made.value, cst.Name)
        and made.value.value == _APP
    )
