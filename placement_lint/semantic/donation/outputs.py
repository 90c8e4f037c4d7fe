"""Which arguments of a compiled function have an output that takes their buffer.

JAX deletes an argument that is donated only where an output of its size is there to take it, and
only if the compiled function uses it at all.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.jaxmodel.donation import TREE_MAPS
from placement_lint.semantic.donation.callables import parameters_of
from placement_lint.semantic.donation.replaced_names import is_replaced
from placement_lint.syntax.calls import Arguments, elements_or_self, updated_array
from placement_lint.syntax.definitions import is_left_open

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.definitions import Function

_Like: TypeAlias = "dict[str, bool]"
"""The parameters that something is like in shape and type, and whether that is sure; "" among them
where it may be like any.
"""
_ANY: _Like = {"": False}

_MAX_STEPS = 12
_KEEPING_METHODS = frozenset({"apply_gradients", "replace", "_replace", "update"})
_AT = frozenset({"add", "apply", "divide", "max", "min", "mul", "multiply", "power", "set"})
_UPDATING = frozenset(
    f"jax.lax.{name}"
    for name in (
        "dynamic_update_index_in_dim", "dynamic_update_slice", "dynamic_update_slice_in_dim",
        "scatter", "scatter_add", "scatter_max", "scatter_min", "scatter_mul",
    )
)  # fmt: skip
"""Functions that give their first argument with some of it replaced."""
_REDUCING = frozenset({"all", "any", "max", "mean", "min", "prod", "std", "sum", "var"})
_ELEMENTWISE = frozenset({
    "abs", "clip", "cos", "exp", "log", "log1p", "maximum", "minimum", "negative", "ones_like",
    "relu", "sigmoid", "sign", "sin", "softmax", "sort", "sqrt", "square", "tanh", "zeros_like",
})  # fmt: skip


class Takeover(enum.IntEnum):
    """Whether an output takes the buffer of an argument."""

    NEVER = 0
    """The function does not use it."""
    UNLIKELY = 1
    """No output is like it, as far as anyone can tell."""
    UNKNOWN = 2
    LIKELY = 3
    SURE = 4


class DonationOutputs:
    """What the functions of one file give, as far as it is like one of their arguments."""

    def __init__(self, facts: ModuleFacts) -> None:
        self._tree = facts.tree
        self._names = facts.names
        self._known: dict[int, list[_Like]] = {}
        self._read: dict[int, frozenset[str]] = {}

    def reads(self, function: Function, parameter: str) -> bool:
        """Return whether a function uses a parameter at all."""
        if is_left_open(function):
            return True
        if id(function) not in self._read:
            found = self._tree.every(cst.Name, below=function.body)
            self._read[id(function)] = frozenset(each.value for each in found)
        return parameter in self._read[id(function)]

    def taking(self, function: Function, parameter: str, donated: list[str]) -> Takeover:
        """Return whether an output takes the buffer of a parameter, one of those donated."""
        if parameter not in parameters_of(function):
            names = {each.name.value for each in function.params.kwonly_params}
            if parameter not in names:
                return Takeover.UNKNOWN
        if not self.reads(function, parameter):
            return Takeover.NEVER
        if id(function) not in self._known:
            self._known[id(function)] = list(self._outputs(function))
        known = self._known[id(function)]
        free = list(donated)
        for like in known:
            taker = next((each for each in free if like.get(each)), None)
            if taker is not None:
                free.remove(taker)
                if taker == parameter:
                    return Takeover.SURE
        if any(parameter in like for like in known):
            return Takeover.LIKELY
        return Takeover.UNKNOWN if any("" in like for like in known) else Takeover.UNLIKELY

    def combined(self, function: Function, parameter: str) -> frozenset[str]:
        """Return the parameters that outputs combine with one, item by item: `a + b`."""
        self.taking(function, parameter, [])
        found = [like for like in self._known.get(id(function), ()) if parameter in like]
        return frozenset().union(*found) - {"", parameter}

    def result(self, function: Function) -> cst.BaseExpression | None:
        """Return the only expression that a function returns."""
        found = self._returned(function)
        return found[0] if len(found) == 1 else None

    def _returned(self, function: Function) -> list[cst.BaseExpression]:
        if isinstance(function, cst.Lambda):
            return [function.body]
        scope = self._names.scope(function.body)
        return [
            each.value
            for each in self._tree.every(cst.Return, below=function)
            if each.value is not None and self._names.scope(each) is scope
        ]

    def _outputs(self, function: Function) -> Iterator[_Like]:
        if is_left_open(function):
            # What subclasses have in its place says what comes.
            yield _ANY
        given = self._returned(function)
        is_only = len(given) == 1
        for node in given:
            for part in _parts(node):
                like = self._like(part, function, 0)
                yield like if is_only else dict.fromkeys(like, False)

    def _like(self, node: cst.BaseExpression, function: Function, depth: int) -> _Like:
        if depth > _MAX_STEPS:
            return _ANY
        if isinstance(node, cst.Name):
            return self._named(node, function, depth)
        if isinstance(node, cst.UnaryOperation) and not isinstance(node.operator, cst.Not):
            return self._like(node.expression, function, depth + 1)
        if isinstance(node, cst.BinaryOperation):
            left = self._like(node.left, function, depth + 1)
            right = self._like(node.right, function, depth + 1)
            if _is_number(node.left) or _is_number(node.right):
                return left or right
            both = {**dict.fromkeys(left, False), **dict.fromkeys(right, False)}
            return {name: left.get(name, False) and right.get(name, False) for name in both}
        if isinstance(node, cst.IfExp):
            first = self._like(node.body, function, depth + 1)
            second = self._like(node.orelse, function, depth + 1)
            every = {**first, **second}
            return {name: first.get(name, False) and second.get(name, False) for name in every}
        if isinstance(node, cst.Attribute | cst.Subscript):
            # A part of a tree, as far as it is one.
            return dict.fromkeys(self._like(node.value, function, depth + 1), False)
        if isinstance(node, cst.DictComp | cst.ListComp):
            return dict.fromkeys(self._iterated(node.for_in.iter, function, depth), False)
        if isinstance(node, cst.Comparison | cst.Integer | cst.Float | cst.SimpleString):
            return {}
        return self._called(node, function, depth) if isinstance(node, cst.Call) else _ANY

    def _iterated(self, node: cst.BaseExpression, function: Function, depth: int) -> _Like:
        """Return what the items of a tree are like, which is rebuilt of them."""
        called = node.func if isinstance(node, cst.Call) else None
        if isinstance(called, cst.Attribute) and called.attr.value in {"items", "values"}:
            node = called.value
        return self._like(node, function, depth + 1)

    def _named(self, node: cst.Name, function: Function, depth: int) -> _Like:
        if not self._tree.contains(node):
            return _ANY
        bindings = self._names.bindings(node)
        is_parameter = any(
            isinstance(each.node, cst.Param) and self._tree.is_inside(each.node, function)
            for each in bindings
        )
        values = [each for each in bindings if not isinstance(each.node, cst.Param)]
        if is_parameter and not values:
            return {node.value: True}
        if len(values) != 1 or values[0].value is None:
            return {node.value: False} if is_parameter else _ANY
        if self._tree.is_inside(node, values[0].node):
            # `x = x + 1`: what it was before is the parameter.
            return {node.value: True} if is_parameter else _ANY
        found = self._like(values[0].value, function, depth + 1)
        if "" in found and (maker := self._made_anew(values[0].value, node.value, function)):
            return {maker: False}
        return found

    def _made_anew(self, value: cst.BaseExpression, name: str, function: Function) -> str:
        """Return the parameter in the place of which something comes: `cache = cache.insert(x)`.

        Also `new_cache = insert(cache, x)`. "" where there is none.
        """
        if not isinstance(value, cst.Call):
            return ""
        given: list[cst.CSTNode] = [argument.value for argument in value.args]
        if isinstance(value.func, cst.Attribute):
            given.append(value.func.value)
        for each in given:
            if not isinstance(each, cst.Name) or not is_replaced(each.value, (name,)):
                continue
            if any(
                isinstance(bound.node, cst.Param) and self._tree.is_inside(bound.node, function)
                for bound in self._names.bindings(each)
            ):
                return each.value
        return ""

    def _called(self, node: cst.Call, function: Function, depth: int) -> _Like:
        arguments = Arguments(node)
        name = self._names.qualified(node.func) or ""
        last = name.rpartition(".")[2]
        if name in {"equinox.apply_updates", "optax.apply_updates"}:
            return self._first(arguments, 0, function, depth)
        if name in TREE_MAPS:
            return dict.fromkeys(self._first(arguments, 1, function, depth), False)
        if name.startswith("jax.") and last in _ELEMENTWISE:
            return self._first(arguments, 0, function, depth)
        if name in _UPDATING:
            return self._first(arguments, 0, function, depth)
        if name == "jax.lax.fori_loop":
            return self._first(arguments, 3, function, depth)
        if isinstance(node.func, cst.Attribute) and not name:
            method, receiver = node.func.attr.value, node.func.value
            if method in _KEEPING_METHODS:
                return self._like(receiver, function, depth + 1)
            updated = updated_array(node.func) if method in _AT else None
            if updated is not None:
                return self._like(updated, function, depth + 1)
            if method in _REDUCING and not node.args:
                return {}
        if name.startswith("jax.numpy.") and last in _REDUCING and len(node.args) == 1:
            return {}
        return _ANY

    def _first(self, given: Arguments, position: int, function: Function, depth: int) -> _Like:
        node = given.get(position)
        return _ANY if node is None else self._like(node, function, depth + 1)


def _parts(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """Yield the parts of a result that are written out: the items of tuples, lists and dicts."""
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, cst.Tuple | cst.List):
            pending += reversed(elements_or_self(part))
        elif isinstance(part, cst.Dict):
            pending += [each.value for each in reversed(part.elements)]
        else:
            yield part


def _is_number(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.UnaryOperation):
        node = node.expression
    return isinstance(node, cst.Integer | cst.Float)
