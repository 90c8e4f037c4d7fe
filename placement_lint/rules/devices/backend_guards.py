"""Whether a backend is asked for only where it is known to be there."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.jaxmodel.queries import DEVICE_QUERIES
from placement_lint.rules.devices.queries import listed_platform, lists_default_backend
from placement_lint.semantic.beside import definition_beside
from placement_lint.semantic.called_from import is_so_at_calls
from placement_lint.semantic.elsewhere import method_effects, runs
from placement_lint.semantic.enclosing import (
    conditions,
    is_asserted_to_fail,
    is_caught,
    passed_exits,
)
from placement_lint.semantic.followed import followed
from placement_lint.semantic.leaving import leaves
from placement_lint.semantic.own_attributes import own_attribute
from placement_lint.syntax.calls import string_value

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

_CAUGHT = frozenset({
    "builtins.RuntimeError", "builtins.Exception", "builtins.BaseException",
})  # fmt: skip
_SAYING = frozenset({"jax.default_backend"})
_ASKED_FOR_PLATFORM = _SAYING | {"jax.devices", "jax.local_devices"}
"""What a function of the program asks that gives the name of a platform."""
_GPU = frozenset({"cuda", "gpu", "rocm"})
_HOPS = 6
_MOST_CALLS = 3
_MARKS = "pytestmark"

_Exits: TypeAlias = "dict[tuple[int, str, type[_Guards]], int]"


def backend_of(platform: str) -> str:
    """Return what `jax.default_backend()` says where a platform is the default."""
    return "gpu" if platform in _GPU else platform


def is_guarded(call: cst.Call, platform: str, ctx: Context) -> bool:
    """Return whether a call that raises where a platform is missing is guarded against that.

    By a handler of the RuntimeError, by a condition on the default backend around it or before it,
    or because it is expected to raise.
    """
    if is_caught(call, ctx, _CAUGHT) or is_asserted_to_fail(call, ctx):
        return True
    return _Guards(backend_of(platform), ctx).are_around(call)


def cpu_is_default(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a node only runs where `jax.default_backend()` says that it is the CPU."""
    return _CpuGuards("cpu", ctx).are_around(node)


class _Guards:
    """Conditions under which one backend is the default one, or there at least."""

    def __init__(self, backend: str, ctx: Context, calls: int = _MOST_CALLS) -> None:
        self.backend = backend
        self.ctx = ctx
        self.calls = calls
        """Through how many calls of functions of the program a check is followed."""

    # -- where ------------------------------------------------------------------------------

    def are_around(self, node: cst.CSTNode) -> bool:
        child = node
        for ancestor in self.ctx.ancestors(node):
            if isinstance(ancestor, cst.Lambda) and child is ancestor.body:
                return False
            if isinstance(ancestor, cst.FunctionDef) and child is ancestor.body:
                is_skipped = any(self.skips(each.decorator) for each in ancestor.decorators)
                way = (type(self), self.backend)
                return (
                    is_skipped
                    or self.is_marked(ancestor)
                    or self.is_left(node)
                    or is_so_at_calls(node, self.ctx, way, self.are_around)
                )
            if self.guards(ancestor, child):
                return True
            child = ancestor
        return False

    def is_marked(self, function: cst.FunctionDef) -> bool:
        """Return whether the tests of the class around, or of the module, are skipped otherwise."""
        module = self.ctx.names.module_scope.bindings.get(_MARKS, ())
        marks = [each.value for each in module if each.value is not None]
        for around in self.ctx.ancestors(function):
            if isinstance(around, cst.ClassDef):
                marks += [each.decorator for each in around.decorators]
                own = self.ctx.names.scope(around.body).bindings.get(_MARKS, ())
                marks += [each.value for each in own if each.value is not None]
        listed = (
            [each.value for each in mark.elements]
            if isinstance(mark, cst.List | cst.Tuple)
            else [mark]
            for mark in marks
        )
        return any(self.skips(each) for every in listed for each in every)

    def is_left(self, node: cst.CSTNode) -> bool:
        """Return whether the backend is there since code was left otherwise, under a condition that
        is true at a node: `if use_gpu and default_backend() != "gpu": raise`, then `if use_gpu:`.
        """
        known = [test for test, wanted in conditions(node, self.ctx) if wanted]
        for each in passed_exits(node, self.ctx) if known else ():
            parts = _parts(each.test)
            left = [part for part in parts if not any(map(part.deep_equals, known))]
            if len(left) == 1 < len(parts) and self.holds(left[0], truth=False):
                return True
        return False

    def guards(self, node: cst.CSTNode, child: cst.CSTNode) -> bool:
        """Return whether a node lets its child run only where the backend is there."""
        if isinstance(node, cst.If | cst.IfExp):
            if child is node.test:
                return False
            return self.holds(node.test, truth=child is node.body)
        if isinstance(node, cst.While):
            return child is node.body and self.holds(node.test, truth=True)
        if isinstance(node, cst.BooleanOperation):
            if child is node.left:
                return False
            return self.holds(node.left, truth=isinstance(node.operator, cst.And))
        if isinstance(node, cst.GeneratorExp | cst.ListComp | cst.SetComp):
            ifs = node.for_in.ifs
            return child is node.elt and any(self.holds(each.test, truth=True) for each in ifs)
        if isinstance(node, cst.MatchCase):
            return child is not node.pattern and self.matches(node)
        if isinstance(node, cst.IndentedBlock | cst.Module):
            return self.ctx.tree.index(child) > self.first_exit(node)
        return False

    def matches(self, case: cst.MatchCase) -> bool:
        match = self.ctx.parent(case)
        if not isinstance(match, cst.Match) or not self.is_platform(match.subject):
            return False
        return any(
            isinstance(node, cst.MatchValue) and self.is_backend(node.value)
            for node in (case.pattern, *self.ctx.tree.descendants(case.pattern))
        )

    def first_exit(self, block: cst.IndentedBlock | cst.Module) -> int:
        """Return the place of the first statement of a block after which the backend is there."""
        exits = self.ctx.module.fact(_exits)
        key = (id(block), self.backend, type(self))
        if key not in exits:
            exits[key] = len(self.ctx.tree.nodes)
            for statement in block.body:
                if self.is_exit(statement):
                    exits[key] = self.ctx.tree.index(statement)
                    break
        return exits[key]

    def is_exit(self, statement: cst.CSTNode) -> bool:
        if isinstance(statement, cst.If):
            return leaves(statement.body, self.ctx) and self.holds(statement.test, truth=False)
        return isinstance(statement, cst.SimpleStatementLine) and any(
            (isinstance(small, cst.Assert) and self.holds(small.test, truth=True))
            or (isinstance(small, cst.Expr) and self.requires(small.value))
            for small in statement.body
        )

    def requires(self, call: cst.BaseExpression) -> bool:
        """Return whether a call is of a function of the program that raises unless the backend is
        there, or skips the test: `require_gpu()`.
        """
        found = self.defined(call.func) if isinstance(call, cst.Call) and self.calls else None
        function, there = found or (None, self.ctx)
        if not isinstance(function, cst.FunctionDef):
            return False
        returns = there.tree.every(cst.Return, below=function.body)
        guards = type(self)(self.backend, there, self.calls - 1)
        return next(returns, None) is None and any(map(guards.is_exit, function.body.body))

    def defined(self, named: cst.BaseExpression) -> tuple[cst.CSTNode, Context] | None:
        """Return what binds a name in its file, or in another one of the program."""
        name = self.ctx.name(named)
        own = self.ctx.names.sole_definition(named) if isinstance(named, cst.Name) else None
        if own is not None and name is None:
            return own, self.ctx
        found = None if name is None else definition_beside(self.ctx.module, name)
        there = None if found is None else self.ctx.beside(found[1].path)
        return None if found is None or there is None else (found[0], there)

    def skips(self, decorator: cst.BaseExpression) -> bool:
        if isinstance(decorator, cst.Name | cst.Attribute) and self.calls:
            found = self.defined(decorator)
            if found is None or not isinstance(found[0], cst.Assign):
                return False
            return type(self)(self.backend, found[1], self.calls - 1).skips(found[0].value)
        name = self.ctx.called(decorator)
        if name not in {"pytest.mark.skipif", "unittest.skipIf", "unittest.skipUnless"}:
            return False
        return (
            isinstance(decorator, cst.Call)
            and bool(decorator.args)
            and self.holds(decorator.args[0].value, truth=name == "unittest.skipUnless")
        )

    # -- what -------------------------------------------------------------------------------

    def holds(self, test: cst.BaseExpression, *, truth: bool, hops: int = _HOPS) -> bool:
        """Return whether the backend is there wherever a test is true (or wherever it is false)."""
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            return self.holds(test.expression, truth=not truth, hops=hops)
        if isinstance(test, cst.BooleanOperation):
            either = isinstance(test.operator, cst.And) == truth
            left = self.holds(test.left, truth=truth, hops=hops)
            if left is either:
                return left
            return self.holds(test.right, truth=truth, hops=hops)
        if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
            return self.compared(test.left, test.comparisons[0], truth=truth)
        if isinstance(test, cst.NamedExpr):
            return self.holds(test.value, truth=truth, hops=hops)
        if isinstance(test, cst.Call):
            return self.called(test, truth=truth, hops=hops)
        if isinstance(test, cst.Name) and hops:
            return self.named(test, truth=truth, hops=hops - 1)
        held = own_attribute(test, self.ctx) if isinstance(test, cst.Attribute) else None
        if held is not None and hops:
            return self.holds(held, truth=truth, hops=hops - 1)
        return self.asked_beside(test, truth=truth)

    def asked_beside(self, test: cst.BaseExpression, *, truth: bool) -> bool:
        """Return whether the backend is there where a constant of another file is true, or false,
        or an item of one, or what an object has: `if machine.ON_GPU:`, `if MACHINE.gpu:`.
        """
        if isinstance(test, cst.Subscript):
            return truth and self.is_item(test)
        found = self.assigned_beside(test)
        if found is not None:
            value, there = found
            return there.holds(value, truth=truth) or (truth and there.asks_devices(value))
        if not truth or not isinstance(test, cst.Attribute):
            return False
        effects = method_effects(test.value, test.attr.value, self.ctx)
        if effects is None:
            return False
        # A property may only look at what the initializer has asked.
        made = method_effects(test.value, "__init__", self.ctx)
        asks = (*effects.asks, *(() if made is None else made.asks))
        return not DEVICE_QUERIES.isdisjoint(asks)

    def is_item(self, node: cst.Subscript) -> bool:
        """Return whether an item of a dict that is written out asks for the backend."""
        own = self.ctx.names.sole_value(node.value)
        table, there = self.assigned_beside(node.value) or (own, self)
        index = node.slice[0].slice
        key = string_value(index.value) if isinstance(index, cst.Index) else None
        return isinstance(table, cst.Dict) and any(
            there.holds(each.value, truth=True)
            for each in table.elements
            if isinstance(each, cst.DictElement) and string_value(each.key) == key
        )

    def assigned_beside(
        self, node: cst.BaseExpression
    ) -> tuple[cst.BaseExpression, _Guards] | None:
        """Return what another file assigns to a name, and the guards there."""
        is_named = isinstance(node, cst.Name | cst.Attribute) and self.ctx.name(node) is not None
        found = self.defined(node) if is_named and self.calls else None
        if found is None or not isinstance(found[0], cst.Assign | cst.AnnAssign):
            return None
        value = found[0].value
        there = type(self)(self.backend, found[1], self.calls - 1)
        return None if value is None else (value, there)

    def compared(
        self, left: cst.BaseExpression, target: cst.ComparisonTarget, *, truth: bool
    ) -> bool:
        operator, right = target.operator, target.comparator
        if isinstance(operator, cst.NotEqual | cst.IsNot | cst.NotIn):
            truth = not truth
        if isinstance(operator, cst.Equal | cst.Is | cst.NotEqual | cst.IsNot):
            if self.is_platform(right):
                left, right = right, left
            if self.is_platform(left):
                return self.is_backend(right) if truth else string_value(right) == "cpu"
            return truth and (self.asks_for_it(left) or self.is_member(left))
        if isinstance(operator, cst.In | cst.NotIn):
            if not self.is_platform(left):
                return False
            if not isinstance(right, cst.List | cst.Set | cst.Tuple):
                return truth
            values = [element.value for element in right.elements]
            if truth:
                return any(self.is_backend(value) for value in values)
            return any(string_value(value) == "cpu" for value in values)
        return truth and (self.asks_for_it(left) or self.asks_for_it(right))

    def is_member(self, node: cst.BaseExpression) -> bool:
        """Return whether a constant of another file is chosen by what the backend is."""
        found = self.assigned_beside(node)
        return (
            found is not None
            and isinstance(found[0], cst.IfExp)
            and (found[1].holds(found[0].test, truth=True) or found[1].asks_devices(found[0]))
        )

    def called(self, call: cst.Call, *, truth: bool, hops: int) -> bool:
        if truth and self.asks_for_it(call):
            return True
        name = self.ctx.called(call)
        if name in {"builtins.all", "builtins.any", "builtins.bool"} and len(call.args) == 1:
            argument = call.args[0].value
            if isinstance(argument, cst.GeneratorExp | cst.ListComp):
                argument = argument.elt
            return self.holds(argument, truth=truth, hops=hops)
        # A function of the program that looks at the devices for its answer.
        return truth and runs(call, self.ctx, DEVICE_QUERIES)

    def named(self, name: cst.Name, *, truth: bool, hops: int) -> bool:
        if self.ctx.name(name) is not None:
            return self.asked_beside(name, truth=truth)
        values = [
            binding.value for binding in self.ctx.names.bindings(name) if binding.value is not None
        ]
        if not truth:
            return len(values) == 1 and self.holds(values[0], truth=False, hops=hops)
        return any(
            self.asks_devices(value) or self.holds(value, truth=True, hops=hops) for value in values
        )

    # -- details ----------------------------------------------------------------------------

    def is_platform(self, node: cst.BaseExpression) -> bool:
        """Return whether an expression is the default backend's platform, or any device's."""
        beside = self.assigned_beside(node)
        if beside is not None:
            return beside[1].is_platform(beside[0])
        node = followed(node, self.ctx)
        if isinstance(node, cst.Attribute):
            return node.attr.value in {"device_kind", "platform"}
        return self.gives_backend(node)

    def gives_backend(self, node: cst.BaseExpression) -> bool:
        """Return whether a call asks for the default backend, or its function does."""
        if not isinstance(node, cst.Call):
            return False
        return self.ctx.called(node) in _SAYING or runs(node, self.ctx, _ASKED_FOR_PLATFORM)

    def is_backend(self, node: cst.BaseExpression) -> bool:
        """Return whether an expression may be the name of the backend in question."""
        text = string_value(node)
        return text is None or backend_of(text) == self.backend

    def asks_for_it(self, node: cst.BaseExpression) -> bool:
        """Return whether an expression asks for the backend itself, so that it raises first."""
        if isinstance(node, cst.Call) and self.ctx.is_call(node, "builtins.len") and node.args:
            node = node.args[0].value
        platform = listed_platform(node, self.ctx)
        return platform is not None and backend_of(platform) == self.backend

    def asks_devices(self, node: cst.CSTNode) -> bool:
        known = self.ctx.module.fact(_asking)
        if id(node) not in known:
            inside = (node, *self.ctx.tree.descendants(node))
            known[id(node)] = any(self.ctx.called(inner) in DEVICE_QUERIES for inner in inside)
        return known[id(node)]


def _parts(test: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return what `a and b` joins."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        return [*_parts(test.left), *_parts(test.right)]
    return [test]


class _CpuGuards(_Guards):
    """Conditions under which the CPU is the default backend: that it is there says nothing."""

    def compared(
        self, left: cst.BaseExpression, target: cst.ComparisonTarget, *, truth: bool
    ) -> bool:
        operator, right = target.operator, target.comparator
        if isinstance(operator, cst.NotEqual | cst.IsNot | cst.NotIn):
            truth = not truth
        if not truth:
            return False
        if isinstance(operator, cst.In | cst.NotIn):
            values = [right]
            if isinstance(right, cst.List | cst.Set | cst.Tuple):
                values = [element.value for element in right.elements]
            return self.is_platform(left) and all(map(self.is_backend, values))
        if not isinstance(operator, cst.Equal | cst.Is | cst.NotEqual | cst.IsNot):
            return False
        pairs = ((left, right), (right, left))
        return any(self.is_platform(one) and self.is_backend(other) for one, other in pairs)

    def called(self, call: cst.Call, *, truth: bool, hops: int) -> bool:
        # What a function of the program makes of the answer is not known.
        return runs(call, self.ctx, _SAYING)

    def named(self, name: cst.Name, *, truth: bool, hops: int) -> bool:
        only = self.ctx.names.sole_value(name)
        return only is not None and self.holds(only, truth=truth, hops=hops)

    def is_platform(self, node: cst.BaseExpression) -> bool:
        node = followed(node, self.ctx)
        if isinstance(node, cst.Attribute) and node.attr.value == "platform":
            owner = followed(node.value, self.ctx)
            return isinstance(owner, cst.Subscript) and lists_default_backend(owner.value, self.ctx)
        return self.gives_backend(node)

    def is_backend(self, node: cst.BaseExpression) -> bool:
        return string_value(node) == self.backend


def _exits(_facts: ModuleFacts) -> _Exits:
    """Make the store of one file."""
    return {}


def _asking(_facts: ModuleFacts) -> dict[int, bool]:
    """Make the store of one file."""
    return {}
