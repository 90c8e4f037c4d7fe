"""Which expressions are certainly arrays of JAX, by the text of a file, and what runs upon them.

Nothing is executed: a name or an attribute counts where it is bound once.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.known_packages import LIBRARY_PREFIXES
from placement_lint.jaxmodel.numpy_calls import NEW_ARRAYS
from placement_lint.jaxmodel.transfer import (
    COMPUTING_ATTRIBUTES,
    COMPUTING_BUILTINS,
    COMPUTING_METHODS,
    IDENTITY_METHODS,
    ITERATING_BUILTINS,
    SAME_WHEN_EQUAL_METHODS,
    TABLE,
    Effect,
    Gives,
)
from placement_lint.semantic.followed import bound_before, value_for
from placement_lint.semantic.program_queries import ARRAY
from placement_lint.semantic.returned import given_by, only_return, part_for
from placement_lint.syntax.calls import is_none, text_at_end, updated_array
from placement_lint.syntax.definitions import named_function, only_caches

if TYPE_CHECKING:
    from placement_lint.semantic.file_view import FileView
    from placement_lint.syntax.definitions import Function


@functools.cache
def operations() -> tuple[type[cst.CSTNode], ...]:
    """Return what may run a computation, other than by the name of what it calls.

    Rules import this module where LibCST may not be loaded.
    """
    return (
        cst.Attribute, cst.BinaryOperation, cst.Call, cst.CompFor, cst.Comparison, cst.For,
        cst.Subscript, cst.UnaryOperation,
    )  # fmt: skip


ON_ARRAYS = "jax.Array."
"""How the names of operations on arrays begin."""

_MAKING = frozenset({
    Effect.COMMIT, Effect.COMPUTE, Effect.CONVERT, Effect.COPY, Effect.CREATE, Effect.KEY,
    Effect.SAMPLE,
})  # fmt: skip
_LOADING = "jax.numpy.load"
_PUTTING = "jax.device_put"
_GIVING_ARRAYS = (COMPUTING_METHODS | IDENTITY_METHODS | SAME_WHEN_EQUAL_METHODS) - {"nonzero"}
_NUMPY_ARRAYS = NEW_ARRAYS | {"numpy.asarray", "numpy.frombuffer"}
_MOST_STEPS = 8


@functools.cache
def _operators() -> dict[type[cst.CSTNode], str]:
    return {
        cst.Add: "add", cst.BitAnd: "and", cst.BitInvert: "invert", cst.BitOr: "or",
        cst.BitXor: "xor",
        cst.Divide: "truediv", cst.Equal: "eq", cst.FloorDivide: "floordiv", cst.GreaterThan: "gt",
        cst.GreaterThanEqual: "ge", cst.LeftShift: "lshift", cst.LessThan: "lt",
        cst.LessThanEqual: "le", cst.MatrixMultiply: "matmul", cst.Minus: "neg", cst.Modulo: "mod",
        cst.Multiply: "mul", cst.NotEqual: "ne", cst.Plus: "pos", cst.Power: "pow",
        cst.RightShift: "rshift", cst.Subtract: "sub",
    }  # fmt: skip


def operation_on_array(node: cst.CSTNode, view: FileView) -> tuple[cst.BaseExpression, str] | None:
    """Return what computes on an array of JAX, and by what: `jax.Array.__getitem__`.

    Of a loop, that is what it loops over. None where nothing computes, or where it is not certain
    that this is such an array.
    """
    operands, name = _operation(node, view)
    if name is None or not any(is_array(each, view) for each in operands):
        return None
    if isinstance(node, cst.For | cst.CompFor):
        return node.iter, name
    return (node, name) if isinstance(node, cst.BaseExpression) else None


def is_array(node: cst.BaseExpression, view: FileView, steps: int = _MOST_STEPS) -> bool:
    """Return whether an expression is certainly an array of JAX."""
    if not steps:
        return False
    node = _value(node, view)
    if isinstance(node, cst.IfExp):
        # Whoever computes with something that may be None does so where it is not.
        either = [each for each in (node.body, node.orelse) if not is_none(each)]
        return bool(either) and all(is_array(each, view, steps - 1) for each in either)
    if isinstance(node, cst.Call):
        return _gives_array(node, view, steps)
    if isinstance(node, cst.Name | cst.Attribute) and _is_elsewhere(node, view, called=False):
        return True
    operands, name = _operation(node, view)
    return name is not None and any(is_array(each, view, steps - 1) for each in operands)


def defines_array(name: str, view: FileView, *, called: bool) -> bool:
    """Return whether what a file binds to a name is an array, or what calling it gives."""
    only = view.names.module_scope.sole_binding(name)
    made = None if only is None else only.value
    bound = None if only is None else only.node
    if called:
        made = _returned(bound, view) if isinstance(bound, cst.FunctionDef) else None
    elif made is None and isinstance(bound, cst.Assign):
        made = value_for(name, bound, view) or part_for(name, bound, view)
    return made is not None and is_array(made, view)


def _returned(function: Function | None, view: FileView) -> cst.BaseExpression | None:
    """Return the only value that a function returns, if nothing but a cache is around it."""
    if not isinstance(function, cst.FunctionDef) or function.asynchronous is not None:
        return None
    is_plain = all(only_caches(each, view.names) for each in function.decorators)
    return only_return(function, view) if is_plain else None


def _is_elsewhere(node: cst.BaseExpression, view: FileView, *, called: bool) -> bool:
    """Return whether a name is that of an array of another file, or of what gives one."""
    name = view.name(node)
    if name is None or name.startswith(LIBRARY_PREFIXES):
        return False
    return view.module.run.object_type(view.module.path, name, called=called) == ARRAY


def _value(node: cst.BaseExpression, view: FileView) -> cst.BaseExpression:
    if isinstance(node, cst.Name):
        before = bound_before(node, view)
        if isinstance(before, cst.BaseExpression):
            return before
    return given_by(node, view)


def _gives_array(call: cst.Call, view: FileView, steps: int) -> bool:
    name = view.called(call)
    if name == _PUTTING:
        # A tree of arrays is none.
        put = call.args[0].value if call.args else None
        made = None if put is None else _value(put, view)
        is_of_numpy = isinstance(made, cst.Call) and view.called(made) in _NUMPY_ARRAYS
        return put is not None and (is_of_numpy or is_array(put, view, steps - 1))
    if name == _LOADING:
        # An archive, a file of `.npz`, is given as arrays of NumPy.
        return bool(call.args) and text_at_end(call.args[0].value).endswith(".npy")
    if name is not None:
        row = TABLE.get(name)
        is_jax = (
            row is not None
            and name.startswith("jax.")
            and row.gives is Gives.ARRAY
            and row.effect in _MAKING
        )
        return is_jax or _is_elsewhere(call.func, view, called=True)
    if not isinstance(call.func, cst.Attribute):
        returned = _returned(named_function(call.func, view.names), view)
        return returned is not None and is_array(returned, view, steps - 1)
    updated = updated_array(call.func)
    if updated is not None:
        return is_array(updated, view, steps - 1)
    is_one = call.func.attr.value in _GIVING_ARRAYS
    return is_one and is_array(call.func.value, view, steps - 1)


def _operation(node: cst.CSTNode, view: FileView) -> tuple[list[cst.BaseExpression], str | None]:
    """Return the operands of which one that is an array computes, and by what it does.

    No name: it is no operation.
    """
    if isinstance(node, cst.Subscript):
        # What is assigned to or deleted is not read.
        is_read = not isinstance(view.parent(node), cst.AssignTarget | cst.Del)
        return ([node.value], f"{ON_ARRAYS}__getitem__") if is_read else ([], None)
    if isinstance(node, cst.BinaryOperation):
        return _operands(node.left, node.right), _named(node.operator)
    if isinstance(node, cst.UnaryOperation):
        return [node.expression], _named(node.operator)
    if isinstance(node, cst.Comparison):
        first = node.comparisons[0]
        is_one = len(node.comparisons) == 1 and not is_none(first.comparator)
        operands = _operands(node.left, first.comparator) if is_one else []
        return operands, _named(first.operator)
    if isinstance(node, cst.Attribute) and node.attr.value in COMPUTING_ATTRIBUTES:
        return [node.value], f"{ON_ARRAYS}{node.attr.value}"
    if isinstance(node, cst.For | cst.CompFor):
        return [node.iter], f"{ON_ARRAYS}__iter__"
    return _called(node, view) if isinstance(node, cst.Call) else ([], None)


def _called(call: cst.Call, view: FileView) -> tuple[list[cst.BaseExpression], str | None]:
    name = view.called(call)
    if name is not None and (name in COMPUTING_BUILTINS or name in ITERATING_BUILTINS):
        method = name.rpartition(".")[2] if name in COMPUTING_BUILTINS else "iter"
        return [each.value for each in call.args[:1] if not each.star], f"{ON_ARRAYS}__{method}__"
    if name is None and isinstance(call.func, cst.Attribute):
        updated = updated_array(call.func)
        if updated is not None:
            return [updated], f"{ON_ARRAYS}at.{call.func.attr.value}"
        if call.func.attr.value in COMPUTING_METHODS:
            return [call.func.value], f"{ON_ARRAYS}{call.func.attr.value}"
    return [], None


def _operands(left: cst.BaseExpression, right: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the operands of an operator; none where one of them is a container, which raises."""
    containers = (cst.Dict, cst.DictComp, cst.GeneratorExp, cst.List, cst.ListComp, cst.Tuple)
    return [] if isinstance(left, containers) or isinstance(right, containers) else [left, right]


def _named(operator: cst.CSTNode) -> str | None:
    word = _operators().get(type(operator))
    return None if word is None else f"{ON_ARRAYS}__{word}__"
