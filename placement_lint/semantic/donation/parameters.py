"""What the parameters of a function stand for that is called, and what it takes along."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.facts.annotations import is_plain
from placement_lint.semantic.donation.buffers import Nature
from placement_lint.semantic.donation.callables import Defined, OfClass, parameters_of
from placement_lint.semantic.donation.choices import NOTHING
from placement_lint.semantic.donation.expressions import DATA
from placement_lint.semantic.donation.libraries import DonationLibraries, Given
from placement_lint.semantic.donation.parts import BufferPart
from placement_lint.syntax.calls import elements_or_self, integer_value, string_value
from placement_lint.syntax.definitions import class_passed_to, is_static
from placement_lint.syntax.dotted import said

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from placement_lint.semantic.donation.callables import Callee
    from placement_lint.semantic.donation.choices import Thing, Things
    from placement_lint.semantic.donation.parts import Keys
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.names import Scope
    from placement_lint.syntax.tree import Tree

_MOST_CLOSED_OVER = 8
"""Names of the function around another one that this one takes along."""


class DonationParameters(DonationLibraries):
    """The binding of parameters."""

    def __init__(self, facts: ModuleFacts) -> None:
        super().__init__(facts)
        self._written: dict[tuple[int, str], cst.BaseExpression] = {}
        """What parameters of functions that run are given, where it is a literal."""
        self._supposed: set[tuple[int, str]] = set()
        """Those of them of which it is not known that they are given that."""
        self._passed_on: dict[tuple[int, str], tuple[int, str]] = {}
        """For parameters: that of the function which passes it on to them."""
        self.asked: set[str] = set()
        """The names of the parameters that say what is donated."""
        self.flags: set[str] = set()
        """The names of those of which a condition asks whether they hold."""
        self._truths: dict[tuple[int, str], bool | None] = {}
        """For attributes, by the root of the object: `True` or `False`, where that is all that they
        were assigned so far; None: they may be something else."""

    def passed(self, name: cst.Name) -> cst.BaseExpression | None:
        """Return the literal that a parameter of a function that runs now is given."""
        key = self._parameter(name)
        found = None if key is None else self._written.get(key)
        if found is not None:
            self.asked.update(self._said_as(key))
        if found is None or isinstance(found, cst.Name):
            self.flags.update(self._said_as(key))
        return found

    def decides_more(self, choice: cst.IfExp) -> bool:
        """Return whether the condition of a choice decides other things: whether a copy is kept."""
        if not self.tree.contains(choice):
            return False
        known = self.facts.fact(_deciding_words)
        return any(known[word] > 1 for word in _words_of(choice.test, self.tree))

    def _said_as(self, key: tuple[int, str] | None) -> Iterator[str]:
        """Yield the name of a parameter, and those of the ones that are passed on to it."""
        while key is not None:
            yield key[1]
            key = self._passed_on.get(key)

    def holds(self, test: cst.BaseExpression) -> bool | None:
        """Return whether a parameter holds that is given `True` or `False`; None: not known."""
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            inner = self.holds(test.expression)
            return None if inner is None else not inner
        if isinstance(test, cst.Attribute):
            root = self._object_of(test)
            return None if root is None else self._truths.get((root, test.attr.value))
        key = self._parameter(test) if isinstance(test, cst.Name) else None
        if key is None:
            return None
        self.flags.update(self._said_as(key))
        given = self._written.get(key)
        if key in self._supposed or not isinstance(given, cst.Name):
            return None
        return given.value == "True"

    def keep_truth(self, target: cst.Attribute, value: cst.BaseExpression | None) -> None:
        """Remember that an attribute of an object is assigned a truth value, or something else."""
        root = self._object_of(target)
        if root is None:
            return
        at, given = (root, target.attr.value), value
        key = self._parameter(value) if isinstance(value, cst.Name) else None
        if key is not None and key not in self._supposed:
            given = self._written.get(key)
        is_truth = isinstance(given, cst.Name) and given.value in {"True", "False"}
        truth = given.value == "True" if is_truth and isinstance(given, cst.Name) else None
        self._truths[at] = truth if self._truths.get(at, truth) is truth else None

    def _object_of(self, node: cst.Attribute) -> int | None:
        """Return the root of the one object, by a name, that an expression is an attribute of."""
        name = node.value
        if not isinstance(name, cst.Name) or not self.tree.contains(name):
            return None
        held = self.lookup(name.value, self.names.scope(name))
        only = next(iter(held)) if len(held) == 1 else None
        return only.root if isinstance(only, BufferPart) and not only.keys and only.root else None

    def _parameter(self, name: cst.Name) -> tuple[int, str] | None:
        """Return the key of a parameter of a function that runs now, if nothing binds it again."""
        if not self.tree.contains(name):
            return None
        owner = self.names.owner(name.value, self.names.scope(name))
        frame = None if owner is None else self.frames.get(id(owner))
        only = self.names.sole_binding(name)
        if frame is None or only is None or not isinstance(only.node, cst.Param):
            return None
        return frame, name.value

    def assume_defaults(
        self, function: cst.FunctionDef, frame: int, flags: dict[str, cst.Name]
    ) -> None:
        """Take a function to be called without the arguments that have literals as defaults.

        But for `flags`, which are given.
        """
        params = function.params
        for param in (*params.posonly_params, *params.params, *params.kwonly_params):
            name = param.name.value
            if name in flags:
                self._written[frame, name] = flags[name]
            elif param.default is not None and _is_literal(param.default):
                self._written[frame, name] = param.default
                self._supposed.add((frame, name))

    def bind_parameters(
        self,
        function: cst.FunctionDef | cst.Lambda,
        owner: BufferPart | None,
        given: Sequence[Given],
        frame: int,
    ) -> None:
        names = list(parameters_of(function))
        bound: dict[str, Things] = {}
        cls = class_passed_to(function, self.names)
        if names and cls is not None:
            bound[names.pop(0)] = frozenset({OfClass(cls)})
        elif names and owner is not None and not is_static(function, self.names):
            bound[names.pop(0)] = frozenset({owner})
        params = function.params
        is_open = any(each.at is None for each in given)
        keywords = {*names, *(each.name.value for each in params.kwonly_params)}
        rest: list[tuple[str, Given]] = []
        for each in given:
            at = each.at
            if isinstance(at, int) and at < len(names):
                at = names[at]
            if isinstance(at, str) and at in keywords:
                bound[at] = each.things
                if _is_literal(each.node):
                    self._written[frame, at] = each.node
                elif isinstance(each.node, cst.Name):
                    self._pass_on(each.node, (frame, at))
            elif at is not None:
                rest.append((f"['{at}']" if isinstance(at, str) else f"[{at - len(names)}]", each))
        for param in (*params.posonly_params, *params.params, *params.kwonly_params):
            name = param.name.value
            if name not in bound:
                bound[name] = DATA if param.default is not None and not is_open else self.fresh()
                if param.default is not None and not is_open and _is_literal(param.default):
                    self._written[frame, name] = param.default
            bound[name] = self.declared(bound[name], param.annotation)
        for star, mark in ((params.star_arg, "["), (params.star_kwarg, "['")):
            if isinstance(star, cst.Param):
                others = {key: each for key, each in rest if key.startswith("['") is (mark == "['")}
                bound[star.name.value] = self.fresh() if is_open else self._packed(others)
        for name, held in bound.items():
            self.state.names[frame, name] = held

    def _pass_on(self, name: cst.Name, key: tuple[int, str]) -> None:
        """Bind a parameter to what another one is given, by a call in the function of that one."""
        outer = self._parameter(name)
        if outer is None or outer == key:
            return
        self._passed_on[key] = outer
        if outer in self._written:
            self._written[key] = self._written[outer]
        if outer in self._supposed:
            self._supposed.add(key)

    def _packed(self, others: dict[str, Given]) -> Things:
        """Return the tuple or the dict of further arguments."""
        part = self.root(Nature.TREE)
        held: dict[Keys, Things] = {(key,): each.things for key, each in others.items()}
        self.state.parts[part.root] = held
        self.packed[part.root] = others
        return frozenset({part})

    def declared(self, things: Things, annotation: cst.Annotation | None) -> Things:
        """Return what is given to something with an annotation: a number has no buffer."""
        is_known = self.nature(things) is not Nature.UNKNOWN
        if is_known or not is_plain(annotation, self.names):
            return things
        return self.fresh(Nature.DATA)

    def taking_along(self, made: Things, scope: Scope) -> Things:
        """Return what a function gives that ends, with what functions in it call by its names."""
        if not any(isinstance(each, Defined) for each in made):
            return made
        frame = self.frames[id(scope)]
        return frozenset(self._taking_along(each, scope, frame) for each in made)

    def _taking_along(self, thing: Thing, scope: Scope, frame: int) -> Thing:
        if not isinstance(thing, Defined) or thing.closure or not self.tree.contains(thing.node):
            return thing
        if self.names.scope(thing.node) is not scope:
            return thing
        used = {each.value for each in self.tree.every(cst.Name, below=thing.node)}
        found: list[tuple[str, frozenset[Callee]]] = []
        for name in sorted(used):
            held = self.state.names.get((frame, name), NOTHING)
            called = frozenset(each for each in held if not isinstance(each, BufferPart))
            if called and len(called) == len(held):
                found.append((name, called))
        return replace(thing, closure=tuple(found[:_MOST_CLOSED_OVER]))

    def bind_closure(self, callee: Defined) -> Scope | None:
        """Bind the names that a function has taken along; return their scope."""
        scope = self.names.scope(callee.node)
        if not callee.closure or id(scope) in self.frames:
            return None
        frame = self.frames[id(scope)] = self.new_number()
        for name, held in callee.closure:
            self.state.names[frame, name] = held
        return scope


def _is_literal(node: cst.BaseExpression) -> bool:
    """Return whether an expression is a number, a text, a truth value, or a tuple of such."""
    if isinstance(node, cst.Name):
        return node.value in {"True", "False"}
    return all(
        integer_value(each) is not None or string_value(each) is not None
        for each in elements_or_self(node)
    )


def _deciding_words(facts: ModuleFacts) -> Counter[str]:
    """Return the names and attributes in the conditions of one file, and in how many they are."""
    tree = facts.tree
    return Counter(
        word
        for each in tree.every(cst.If, cst.IfExp, cst.While)
        for word in _words_of(each.test, tree)
    )


def _words_of(test: cst.BaseExpression, tree: Tree) -> set[str]:
    """Return the words of what a condition asks: *donate* for `not args.donate`."""
    return {
        said(each)
        for each in tree.names_in(test)
        if each is test or not isinstance(tree.parent(each), cst.Attribute)
    }
