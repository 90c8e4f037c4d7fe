"""Which functions of a file may lead to a donation, by the names that they use.

A function that nothing calls is executed with parameters of which nothing is known. So it matters
only what it has by names: of a variable of a function in that function and those in it, of all else
by the last part of the name, wherever it is.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeAlias

import libcst as cst

from placement_lint.semantic.donation.callables import OfClassElsewhere
from placement_lint.semantic.donation.objects import MOST_FILES
from placement_lint.semantic.known_types import KnownTypes
from placement_lint.syntax.names import ScopeKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.semantic.donation.choices import Things
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.names import Scope
    from placement_lint.syntax.tree import Tree

_WORDS = frozenset({"donate", "donate_argnames", "donate_argnums"})
_ASKING = frozenset({"builtins.isinstance", "builtins.issubclass"})

_Key: TypeAlias = "tuple[str, int]"
"""A name, with the scope of the function whose variable it is, as `id`; 0: another name.

Without a name: an expression, as `id`."""


class _Donating(Protocol):
    def __call__(self, name: str | None, /) -> Things: ...


class _Carried(Protocol):
    def __call__(self, node: cst.Call, /) -> Things: ...


def leading(
    facts: ModuleFacts,
    around: list[int],
    *,
    donating: _Donating,
    carried: _Carried,
    methods: frozenset[str] = frozenset(),
) -> set[int]:
    """Return the functions of a file that may lead to a donation, and the module, as `id`.

    `around`: what `owners` gives. `donating`: what another file has by a qualified name, `carried`:
    what a call runs as the interpreter knows it. `methods`: those of classes of other files that
    may lead to one, by name.
    """
    return _Leads(facts, around).found(donating, carried, methods)


def owners(tree: Tree) -> list[int]:
    """Return for each node the function that it is in, or the module, as `id`.

    A decorator is outside of what it decorates.
    """
    nodes, found = tree.nodes, [id(tree.module)]
    for place, parent in enumerate(tree.parents):
        if not place:
            continue
        around = nodes[parent]
        is_inside = type(around) is cst.FunctionDef and type(nodes[place]) is not cst.Decorator
        found.append(id(around) if is_inside else found[parent])
    return found


class _Leads:
    """The names of one file, by which functions lead to others."""

    def __init__(self, facts: ModuleFacts, around: list[int]) -> None:
        self._names = facts.names
        self._types = facts.fact(KnownTypes)
        self._tree = facts.tree
        self._owners = around
        # A function of a class in another file may make an object of it, and is executed.
        self._is_followed_beside = 1 < len(facts.siblings) <= MOST_FILES

    def found(self, donating: _Donating, carried: _Carried, methods: frozenset[str]) -> set[int]:
        pending: list[_Key] = []
        fresh: set[int] = set()
        index = self._tree.index
        for call in self._tree.every(cst.Call):
            if any(each.keyword is not None and each.keyword.value in _WORDS for each in call.args):
                fresh.add(self._owners[index(call)])
                pending += self._bound_to(call)
            elif carried(call) or self._is_of_object(call, methods):
                fresh.add(self._owners[index(call)])
        for node in self._tree.every(cst.Name, cst.Attribute):
            things = donating(self._names.qualified(node))
            if things and not self._is_only_named(node, things):
                fresh.add(self._owners[index(node)])
                pending += self._bound_to(node)
                fresh.update(self._heirs_of(node))
        return self._spread(pending, fresh) if fresh else fresh

    def _is_of_object(self, call: cst.Call, methods: frozenset[str]) -> bool:
        """Return whether a call may be of a method of an object of another file's class."""
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in methods:
            return True
        if "__call__" not in methods or not isinstance(call.func, cst.Attribute | cst.Name):
            return False
        known = self._types.of(call.func)
        return known is not None and bool(known.path)

    def _spread(self, pending: list[_Key], fresh: set[int]) -> set[int]:
        """Return who uses what those are called by that use something, in any number of steps."""
        seen: set[_Key] = set()
        found: set[int] = set()
        while pending or fresh:
            for owner in fresh - found:
                pending += self._names_of.get(owner, ())
            found |= fresh
            fresh = set()
            while pending:
                key = pending.pop()
                if key not in seen:
                    seen.add(key)
                    fresh |= self._users.get(key, set()) - found
                    pending += self._bound_from.get(key, ())
        return found

    def _is_only_named(self, node: cst.CSTNode, things: Things) -> bool:
        """Return whether a class of another file is named where that makes no object of it."""
        if not all(isinstance(each, OfClassElsewhere) for each in things):
            return False
        parent = self._tree.parent(node)
        if isinstance(parent, cst.Attribute) and not self._is_followed_beside:
            # What a part of it donates is asked by the name of that.
            return True
        if isinstance(parent, cst.Arg):
            call = self._tree.parent(parent)
            return isinstance(call, cst.Call) and self._names.qualified(call.func) in _ASKING
        return self._tree.around(node, cst.Annotation) is not None

    # -- names ------------------------------------------------------------------------------------

    def _key(self, node: cst.Name | cst.Attribute) -> _Key:
        if isinstance(node, cst.Attribute):
            return (node.attr.value, 0)
        return self._in_scope(node.value, self._names.scope(node))

    def _in_scope(self, name: str, scope: Scope) -> _Key:
        """Return what a name of code in a scope is known by."""
        owner = self._names.owner(name, scope)
        is_local = owner is not None and owner.kind in {ScopeKind.FUNCTION, ScopeKind.COMPREHENSION}
        return (name, id(owner) if is_local else 0)

    @cached_property
    def _users(self) -> dict[_Key, set[int]]:
        """The functions that use each name."""
        found: dict[_Key, set[int]] = {}
        for node in self._tree.every(cst.Name, cst.Attribute):
            found.setdefault(self._key(node), set()).add(self._owners[self._tree.index(node)])
        return found

    @cached_property
    def _bound_from(self) -> dict[_Key, list[_Key]]:
        """For a name, what is bound by an expression that has it."""
        known: dict[_Key, list[_Key]] = {}
        for value, targets in self._bindings():
            # Many names may be bound to what has many: by way of the expression that is linear.
            between = ("", id(value))
            known.setdefault(between, []).extend(targets)
            for node in (value, *self._tree.descendants(value)):
                if isinstance(node, cst.Name | cst.Attribute):
                    known.setdefault(self._key(node), []).append(between)
        return known

    def _bindings(self) -> Iterator[tuple[cst.CSTNode, Iterable[_Key]]]:
        """Yield the expressions whose values are bound to something, each with that."""
        kinds = (cst.Assign, cst.AnnAssign, cst.NamedExpr, cst.For, cst.CompFor, cst.WithItem)
        for node in self._tree.every(*kinds):
            value = _value_of(node)
            if value is not None:
                yield value, self._targets(node)
        for definition in self._tree.every(cst.FunctionDef, cst.ClassDef):
            own = [self._defined(definition)]
            for decorator in definition.decorators:
                yield decorator.decorator, own
            if isinstance(definition, cst.ClassDef):
                for base in definition.bases:
                    yield base.value, own

    @cached_property
    def _names_of(self) -> dict[int, list[_Key]]:
        """By what each function is called: what Python calls by itself, by its class."""
        found: dict[int, list[_Key]] = {}
        for each in self._tree.every(cst.FunctionDef):
            names = found[id(each)] = [self._defined(each)]
            cls = self._names.scope(each).node
            if each.name.value.startswith("__") and isinstance(cls, cst.ClassDef):
                names.append(self._defined(cls))
        return found

    def _defined(self, node: cst.FunctionDef | cst.ClassDef) -> _Key:
        return self._in_scope(node.name.value, self._names.scope(node))

    def _bound_to(self, node: cst.CSTNode) -> Iterable[_Key]:
        """Return what an expression that has to do with what donates is bound to."""
        for ancestor in self._tree.ancestors(node):
            if isinstance(ancestor, cst.ClassDef):
                # A class of the file with such a base: any method of its may use what it inherits.
                methods = self._tree.every(cst.FunctionDef, below=ancestor)
                return [self._defined(ancestor), *map(self._defined, methods)]
            if isinstance(ancestor, cst.Assign | cst.AnnAssign):
                return self._targets(ancestor)
            if isinstance(ancestor, cst.Decorator):
                function = self._tree.parent(ancestor)
                return [self._defined(function)] if isinstance(function, cst.FunctionDef) else []
            if isinstance(ancestor, cst.BaseStatement):
                break
        return []

    def _heirs_of(self, node: cst.CSTNode) -> Iterator[int]:
        """Yield the methods of a class with a base of another file, whose methods are executed."""
        argument = self._tree.parent(node)
        cls = self._tree.parent(argument) if isinstance(argument, cst.Arg) else None
        if self._is_followed_beside and isinstance(cls, cst.ClassDef):
            yield from map(id, self._tree.every(cst.FunctionDef, below=cls))

    def _targets(self, node: cst.CSTNode) -> Iterator[_Key]:
        every = _targets_of(node)
        while every:
            target = every.pop()
            if isinstance(target, cst.Tuple | cst.List):
                every += [each.value for each in target.elements]
            elif isinstance(target, cst.Attribute | cst.Name):
                yield self._key(target)


def _value_of(node: cst.CSTNode) -> cst.BaseExpression | None:
    """Return what a statement or clause binds to its targets, or the items of it."""
    if isinstance(node, cst.For | cst.CompFor):
        return node.iter
    if isinstance(node, cst.WithItem):
        return node.item
    return node.value if isinstance(node, cst.Assign | cst.AnnAssign | cst.NamedExpr) else None


def _targets_of(node: cst.CSTNode) -> list[cst.BaseExpression]:
    if isinstance(node, cst.Assign):
        return [each.target for each in node.targets]
    if isinstance(node, cst.WithItem):
        return [] if node.asname is None else [node.asname.name]
    binding = cst.AnnAssign | cst.NamedExpr | cst.For | cst.CompFor
    return [node.target] if isinstance(node, binding) else []
