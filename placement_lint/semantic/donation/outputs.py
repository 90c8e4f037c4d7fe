"""Which arguments of a compiled function have an output that takes their buffer.

JAX deletes an argument that is donated only where an output of its size is there to take it, and
only if the compiled function uses it at all.
"""

from __future__ import annotations

import enum
import itertools
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.jaxmodel.donation import TREE_MAPS
from placement_lint.jaxmodel.shapes import ALIKE, MOSTLY_ALIKE
from placement_lint.semantic.donation.callables import parameters_of
from placement_lint.semantic.donation.replaced_names import is_replaced
from placement_lint.syntax.calls import Arguments, elements_or_self, updated_array
from placement_lint.syntax.definitions import (
    class_named,
    class_of_method,
    function_of,
    is_generator,
    is_left_open,
    keeps_fields,
    returns_of,
)
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.definitions import Function
    from placement_lint.syntax.names import Binding

_Like: TypeAlias = "dict[str, bool]"
"""The parameters that something is like in shape and type, and whether that is sure; "" among them
where it may be like any.
"""
_ANY: _Like = {"": False}

_MAX_STEPS = 12
_MOST_LIKENED = 4_000
"""Expressions of one function that are compared; a name of many parts may be there many times."""
_MOST_BINDINGS = 8
_KEEPING_METHODS = frozenset({"apply_gradients", "replace", "_replace", "update"})
_CARRYING = {"jax.lax.fori_loop": 3, "jax.lax.while_loop": 2}
"""Loops whose result is like what goes in, and where they are given that."""
_AT = frozenset({"add", "apply", "divide", "max", "min", "mul", "multiply", "power", "set"})
_UPDATING = frozenset(
    f"jax.lax.{name}"
    for name in (
        "dynamic_update_index_in_dim", "dynamic_update_slice", "dynamic_update_slice_in_dim",
        "scatter", "scatter_add", "scatter_max", "scatter_min", "scatter_mul",
    )
)  # fmt: skip
"""Functions that give their first argument with some of it replaced."""
_REPLACING = {
    "builtins.dict": 0, "builtins.list": 0, "builtins.tuple": 0, "copy.copy": 0, "copy.replace": 0,
    "dataclasses.replace": 0, "equinox.tree_at": 1, "jax_dataclasses.replace": 0,
}  # fmt: skip
"""Functions that give a tree again, some of it replaced, and where they are given it."""
_REDUCING = frozenset({"all", "any", "max", "mean", "min", "prod", "std", "sum", "var"})
_ALIKE = ALIKE | MOSTLY_ALIKE
_OF_SIZE = {
    "cholesky": 0, "cho_solve": 1, "cumprod": 0, "cumsum": 0, "inv": 0, "matrix_power": 0,
    "solve": 1, "solve_triangular": 1,
}  # fmt: skip
"""Functions whose result mostly is as large as one of their arguments, and which one."""
_OF_MODULES = {"flax.nnx.merge": 1, "flax.nnx.state": 0}
"""Functions that give a module or its state, and which argument has the arrays of it."""


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
        self._left = 0

    def reads(self, function: Function, parameter: str) -> bool:
        """Return whether a function uses a parameter at all."""
        if is_left_open(function):
            return True
        if id(function) not in self._read:
            found = [*self._tree.every(cst.Name, below=function.body)]
            if isinstance(function.body, cst.Name):
                # All of `lambda a, b: a`.
                found.append(function.body)
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
            self._left = _MOST_LIKENED
            self._known[id(function)] = list(self._outputs(function))
        known = self._known[id(function)]
        free = list(donated)
        for like in known:
            taker = next((each for each in free if like.get(each)), None)
            if taker is not None:
                free.remove(taker)
                if taker == parameter:
                    return Takeover.SURE
        if any(self._is_first(parameter, like, donated) for like in known):
            return Takeover.LIKELY
        is_open = any("" in like or parameter in like for like in known)
        return Takeover.UNKNOWN if is_open else Takeover.UNLIKELY

    @staticmethod
    def _is_first(parameter: str, like: _Like, donated: list[str]) -> bool:
        """Return whether none that is donated before a parameter may take the same output."""
        before = itertools.takewhile(lambda each: each != parameter, donated)
        return parameter in like and not any(each in like for each in before)

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
        returned = returns_of(function, self._names)
        return [each.value for each in returned if each.value is not None]

    def _outputs(self, function: Function) -> Iterator[_Like]:
        if is_left_open(function):
            # What subclasses have in its place says what comes.
            yield _ANY
        given = self._returned(function)
        is_only = len(given) == 1
        for node in given:
            for part, is_sure in self._parts(node):
                like = self._part(part, function, 0)
                yield like if is_only and is_sure else dict.fromkeys(like, False)

    def _like(self, node: cst.BaseExpression, function: Function, depth: int) -> _Like:
        self._left -= 1
        if depth > _MAX_STEPS or self._left < 0:
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
            return _either(first, second)
        if isinstance(node, cst.Attribute | cst.Subscript):
            # A part of a tree, as far as it is one.
            return dict.fromkeys(self._like(node.value, function, depth + 1), False)
        if isinstance(node, cst.Tuple | cst.List | cst.Dict):
            return self._one_of(node, function, depth)
        if isinstance(node, cst.DictComp | cst.GeneratorExp | cst.ListComp):
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
        if not is_parameter and (len(values) > 1 or (values and values[0].value is None)):
            return self._bound_last(node, values, function, depth)
        if len(values) != 1 or values[0].value is None:
            return {node.value: False} if is_parameter else _ANY
        if self._tree.is_inside(node, values[0].node):
            # `x = x + 1`: what it was before is the parameter.
            return {node.value: True} if is_parameter else _ANY
        found = self._like(values[0].value, function, depth + 1)
        if "" in found and (maker := self._made_anew(values[0].value, node.value, function)):
            return {maker: False}
        return found

    def _bound_last(
        self, node: cst.Name, bindings: Sequence[Binding], function: Function, depth: int
    ) -> _Like:
        """Return what a name is like that is bound several times, by the last time before a use."""
        if len(bindings) > _MOST_BINDINGS:
            return _ANY
        before = [
            each
            for each in bindings
            if self._tree.index(each.node) < self._tree.index(node)
            and not self._tree.is_inside(node, each.node)
            and not isinstance(each.node, cst.AugAssign)
        ]
        if (
            len(before) > 1
            and len(before) == len(bindings)
            and (found := self._any_of(before, function, depth))
        ):
            return found
        last = max(before, key=lambda each: self._tree.index(each.node), default=None)
        if last is None or not isinstance(last.node, cst.Assign):
            return _ANY
        if last.value is None:
            like = self._unpacked(node.value, last.node, function, depth)
        else:
            like = self._like(last.value, function, depth + 1)
        return like if len(bindings) == 1 else {**dict.fromkeys(like, False), **_ANY}

    def _any_of(self, bindings: Sequence[Binding], function: Function, depth: int) -> _Like:
        """Return what a name is like whichever way it was bound: `new = state`, or of a state.

        Nothing where one of them may be like any.
        """
        found: _Like = {}
        for each in bindings:
            if each.value is None or not isinstance(each.node, cst.Assign):
                return {}
            like = self._like(each.value, function, depth + 1)
            if not like or (found and like.keys() != found.keys()):
                return {}
            found = dict.fromkeys(like, False)
        return {} if "" in found else found

    def _unpacked(self, name: str, assign: cst.Assign, function: Function, depth: int) -> _Like:
        """Return what a name is like that is one of several: `(q, p), _ = scan(f, (q0, p0), xs)`.

        What a loop carries comes out of it as it goes in.
        """
        target: cst.BaseExpression = assign.targets[0].target
        value, is_part = assign.value, False
        while isinstance(target, cst.Tuple | cst.List):
            elements = target.elements
            at = next((at for at, each in enumerate(elements) if self._binds(each, name)), None)
            if at is None or any(isinstance(each, cst.StarredElement) for each in elements):
                return _ANY
            target = elements[at].value
            value = self._carried(value)
            if isinstance(value, cst.Call) and self._names.qualified(value.func) == "jax.lax.scan":
                first = Arguments(value).get(1, "init")
                if at or first is None:
                    return _ANY
                value = first
            elif (
                isinstance(value, cst.Tuple | cst.List)
                and len(value.elements) == len(elements)
                and not any(isinstance(each, cst.StarredElement) for each in value.elements)
            ):
                value = value.elements[at].value
            else:
                is_part = True
        like = self._like(value, function, depth + 1)
        return dict.fromkeys(like, False) if is_part else like

    def _binds(self, element: cst.BaseElement, name: str) -> bool:
        return any(each.value == name for each in self._tree.every(cst.Name, below=element))

    def _carried(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """Return what goes into a loop that an expression is the result of, else itself."""
        if isinstance(node, cst.Call):
            by = self._names.qualified(node.func)
            if by in _CARRYING and (first := Arguments(node).get(_CARRYING[by], "init_val")):
                return first
        return node

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
        if self._makes_record(node):
            return self._one_of(node, function, depth)
        name = self._names.qualified(node.func) or ""
        last = name.rpartition(".")[2]
        if name in {"equinox.apply_updates", "optax.apply_updates"}:
            return self._first(arguments, 0, function, depth)
        if name in _REPLACING:
            kept = arguments.get(at := _REPLACING[name])
            return self._replaced(kept, node.args[at + 1 :], function, depth)
        if name in TREE_MAPS:
            return self._mapped(arguments, function, depth)
        if name.startswith("jax.") and last in _ALIKE:
            return self._first(arguments, 0, function, depth)
        if name.startswith("jax.") and last in _OF_SIZE:
            return dict.fromkeys(self._first(arguments, _OF_SIZE[last], function, depth), False)
        if name in _OF_MODULES:
            return dict.fromkeys(self._first(arguments, _OF_MODULES[name], function, depth), False)
        if name in _UPDATING:
            return self._first(arguments, 0, function, depth)
        if (carried := self._carried(node)) is not node:
            return self._like(carried, function, depth + 1)
        if name == "jax.numpy.where":
            # A number beside an array is of its shape.
            return dict.fromkeys(
                _either(*(self._first(arguments, at, function, depth) for at in (1, 2))), False
            )
        if isinstance(node.func, cst.Attribute) and not name:
            method, receiver = node.func.attr.value, node.func.value
            if method in _KEEPING_METHODS:
                return self._replaced(receiver, node.args, function, depth)
            updated = updated_array(node.func) if method in _AT else None
            if updated is not None:
                return self._like(updated, function, depth + 1)
            if method in _REDUCING and not node.args:
                return {}
        if name.startswith("jax.numpy.") and last in _REDUCING and len(node.args) == 1:
            return {}
        return self._by_helper(node, arguments, function, depth) or _ANY

    def _by_helper(
        self, node: cst.Call, arguments: Arguments, function: Function, depth: int
    ) -> _Like:
        """Return what a function of the file gives, by what it is given; nothing: it is not known.

        What it returns may be like some of its parameters, and these are what the call passes.
        """
        helper = function_of(node.func, self._names)
        if helper is None or helper is function or arguments.is_open:
            return {}
        if isinstance(helper, cst.FunctionDef) and (
            helper.decorators
            or helper.asynchronous is not None
            or class_of_method(helper, self._names) is not None
            or is_generator(helper, self._names)
        ):
            return {}
        passed = dict(zip(parameters_of(helper), arguments.positional, strict=False))
        given = {**passed, **arguments.keywords}
        returned = self._returned(helper)
        found: _Like = {}
        for each in returned:
            for name, is_sure in self._like(each, helper, depth + 1).items():
                like = self._like(given[name], function, depth + 1) if name in given else _ANY
                found |= {by: is_sure and sure and len(returned) == 1 for by, sure in like.items()}
        return found

    def _mapped(self, given: Arguments, function: Function, depth: int) -> _Like:
        """Return what the tree is like that a map over others makes: their leaves mostly meet."""
        found = self._first(given, 1, function, depth)
        for tree in given.positional[2:]:
            like = self._like(tree, function, depth + 1)
            # Of another one it may not be known what it is: that says nothing of the result.
            found = found | {name: False for name in like if name}
        return dict.fromkeys(found, False)

    def _replaced(
        self,
        kept: cst.BaseExpression | None,
        filled: Sequence[cst.Arg],
        function: Function,
        depth: int,
    ) -> _Like:
        """Return what a tree is like that is another one with some of it replaced."""
        found = _ANY if kept is None else self._like(kept, function, depth + 1)
        for each in filled:
            found = {**dict.fromkeys(self._like(each.value, function, depth + 1), False), **found}
        return found

    def _first(self, given: Arguments, position: int, function: Function, depth: int) -> _Like:
        node = given.get(position)
        return _ANY if node is None else self._like(node, function, depth + 1)

    def _one_of(self, node: cst.BaseExpression, function: Function, depth: int) -> _Like:
        """Return what a part of something is like, whichever part it is."""
        found: _Like = {}
        for part, _ in self._parts(node):
            found.update(dict.fromkeys(self._part(part, function, depth + 1), False))
        return found

    def _part(self, part: cst.BaseExpression, function: Function, depth: int) -> _Like:
        """Return what a part is like; of a record, what all of it is like, its fields aside."""
        if not isinstance(part, cst.Call) or not self._makes_record(part):
            return self._like(part, function, depth)
        cls = dotted(part.func)
        params = () if isinstance(function, cst.Lambda) else function.params.params
        same = [
            each.name.value
            for each in params
            if cls and each.annotation is not None and dotted(each.annotation.annotation) == cls
        ]
        return dict.fromkeys(same, False) or _ANY

    def _parts(self, node: cst.BaseExpression) -> Iterator[tuple[cst.BaseExpression, bool]]:
        """Yield the parts of a result that are written out, and whether they surely are parts.

        These are the items of tuples, lists and dicts, and what records are made of. A record
        itself is one as well: its class may have more fields than it is given.
        """
        pending = [(node, True)]
        while pending:
            part, is_sure = pending.pop()
            if isinstance(part, cst.Tuple | cst.List):
                pending += [(each, is_sure) for each in reversed(elements_or_self(part))]
            elif (first := self._scanned(part)) is not None:
                # What it carries, and what it gives in each iteration, of which nothing is known.
                pending.append((first, is_sure))
            elif isinstance(part, cst.Dict):
                pending += [(each.value, is_sure) for each in reversed(part.elements)]
            else:
                if isinstance(part, cst.Call) and self._makes_record(part):
                    pending += [(each.value, False) for each in reversed(part.args)]
                yield part, is_sure

    def _scanned(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """Return what a loop carries that gives a result: of `jax.lax.scan`, the first part."""
        is_scan = isinstance(node, cst.Call) and self._names.qualified(node.func) == "jax.lax.scan"
        return Arguments(node).get(1, "init") if is_scan and isinstance(node, cst.Call) else None

    def _makes_record(self, node: cst.Call) -> bool:
        """Return whether a call makes an object of what it is given: `State(q, p)`.

        What a compiled function returns is a tree, so JAX makes it of its fields as well.
        """
        called = node.func
        if isinstance(called, cst.Call):
            # `type(state)(q, p)`
            return self._names.qualified(called.func) == "builtins.type" and len(called.args) == 1
        if isinstance(called, cst.Attribute) and called.attr.value == "__class__":
            return True
        cls = class_named(called, self._names)
        if cls is not None:
            return keeps_fields(cls)
        name = self._names.qualified(called) or ""
        if name == "builtins.dict":
            return not any(not each.star and each.keyword is None for each in node.args)
        last = name.rpartition(".")[2]
        # As classes are named, `HMCState`; `H(q, p)` is a function of mathematics.
        return last[:1].isupper() and not last.isupper()


def _either(first: _Like, second: _Like) -> _Like:
    every = {**first, **second}
    return {name: first.get(name, False) and second.get(name, False) for name in every}


def _is_number(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.UnaryOperation):
        node = node.expression
    return isinstance(node, cst.Integer | cst.Float)
