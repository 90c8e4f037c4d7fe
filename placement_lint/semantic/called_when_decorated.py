"""Functions that a decorator of the same file calls as soon as they are defined."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.returned import only_return
from placement_lint.syntax.definitions import is_generator, named_function

if TYPE_CHECKING:
    from placement_lint.semantic.file_view import FileView


def is_called_when_decorated(function: cst.FunctionDef, view: FileView) -> bool:
    """Return whether a decorator certainly calls a function: `REGISTRY[name] = make()`."""
    if function.asynchronous is not None or len(function.decorators) != 1:
        return False
    if is_generator(function, view.names):
        return False
    decorator = function.decorators[0].decorator
    if isinstance(decorator, cst.Call):
        maker = named_function(decorator.func, view.names)
        is_plain = isinstance(maker, cst.FunctionDef) and not maker.decorators
        made = only_return(maker, view) if is_plain and isinstance(maker, cst.FunctionDef) else None
        applied = None if made is None else named_function(made, view.names)
    else:
        applied = named_function(decorator, view.names)
    return isinstance(applied, cst.FunctionDef) and _calls_its_parameter(applied, view)


def _calls_its_parameter(function: cst.FunctionDef, view: FileView) -> bool:
    params = function.params.params
    if function.decorators or function.asynchronous is not None or len(params) != 1:
        return False
    if is_generator(function, view.names):
        return False
    name, scope = params[0].name.value, view.names.scope(function.body)
    if len(scope.bindings.get(name, ())) != 1:
        return False
    for statement in function.body.body:
        if not isinstance(statement, cst.SimpleStatementLine):
            # What comes after it may not be reached.
            return False
        for call in view.tree.every(cst.Call, below=statement):
            is_it = isinstance(call.func, cst.Name) and call.func.value == name
            if is_it and view.names.scope(call) is scope and _is_executed(call, statement, view):
                return True
    return False


def _is_executed(call: cst.Call, statement: cst.CSTNode, view: FileView) -> bool:
    """Return whether a statement executes a call whatever the values are."""
    for each in view.ancestors(call):
        if each is statement:
            return True
        if isinstance(each, cst.BooleanOperation | cst.IfExp | cst.Lambda | cst.BaseComp):
            return False
    return False
