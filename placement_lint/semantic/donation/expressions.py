"""What expressions stand for, and which of them read something that was donated."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import libcst as cst

from placement_lint.jaxmodel.donation import METADATA, STATIC_FIELDS, TRANSPOSED
from placement_lint.placement.facts.static_fields import static_and_others
from placement_lint.semantic.beside import definition_beside
from placement_lint.semantic.donation.buffers import Buffers, Nature, Surety
from placement_lint.semantic.donation.callables import (
    Defined,
    Donor,
    OfClass,
    OfClassElsewhere,
    Wrapper,
    bound,
    of_elsewhere,
)
from placement_lint.semantic.donation.choices import NOTHING, Choice, either, part_of, unlikely
from placement_lint.semantic.donation.deletion_questions import DeletionQuestions
from placement_lint.semantic.donation.meetings import joined
from placement_lint.semantic.donation.objects import MOST_FILES
from placement_lint.semantic.donation.parts import BufferPart, item_of, may_be_row
from placement_lint.syntax.calls import bounds_of, integer_value, string_value
from placement_lint.syntax.tree import children

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from placement_lint.semantic.donation.callables import OfElsewhere
    from placement_lint.semantic.donation.choices import Thing, Things
    from placement_lint.semantic.donation.parts import Keys
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.definitions import Function
    from placement_lint.syntax.names import Scope

DATA = frozenset({BufferPart(0)})
"""A value that has no buffer: a number, a text, what NumPy has."""
_MOST_STEPS = 60
"""For each node of a file, how many are executed at most: functions are executed once a call."""
_FEWEST_STEPS = 20_000


def _fields(facts: ModuleFacts) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of fields of classes of a file that hold no arrays, and of its others."""
    return static_and_others([*facts.tree.every(cst.ClassDef)], facts.names)


def _static_names(facts: ModuleFacts) -> frozenset[str]:
    """Return the names that only static fields have, of classes of libraries and of the program.

    Of a large program only the classes of this file are looked at.
    """
    every = facts.siblings.values() if len(facts.siblings) <= MOST_FILES else [facts]
    found = [each.fact(_fields) for each in every]
    others = frozenset[str]().union(*(other for _, other in found))
    return frozenset[str]().union(*STATIC_FIELDS.values(), *(own for own, _ in found)) - others


class OutOfStepsError(Exception):
    """A file whose functions call one another too often."""


class DonationExpressions(DeletionQuestions, ABC):
    """The evaluation of expressions, in the functions of one file."""

    def __init__(self, facts: ModuleFacts) -> None:
        super().__init__(facts)
        self._static = _static_names(facts)
        self.branches = {}
        self._outer: dict[tuple[int, str], Things] = {}
        self._resolving: set[tuple[int, str]] = set()
        self._elsewhere: dict[tuple[str, str], frozenset[OfElsewhere]] = {}
        self._defined: dict[tuple[str, str], Things] = {}
        """Classes and functions of other files, by the file that names them and the name there."""
        self._left = _MOST_STEPS * len(self.tree.nodes) + _FEWEST_STEPS

    # -- names ------------------------------------------------------------------------------------

    def lookup(self, name: str, scope: Scope) -> Things:
        """Return what a name stands for."""
        owner = self.names.owner(name, scope)
        if owner is None:
            return DATA
        frame = self.frames.get(id(owner))
        if frame is not None:
            held = self.state.names.get((frame, name))
            if held is not None:
                return held
        return self.from_outside(name, owner)

    def from_outside(self, name: str, owner: Scope) -> Things:
        """Return what a name of code stands for that was executed before."""
        key = (id(owner), name)
        if key not in self._outer:
            if key in self._resolving:
                return NOTHING
            self._resolving.add(key)
            self._outer[key] = self._bound(name, owner) or self._variable(name, owner)
            self._resolving.discard(key)
        return self._outer[key]

    def _variable(self, name: str, owner: Scope) -> Things:
        part = self.root()
        self.remember_binding(part, name, owner)
        return frozenset({part})

    def _bound(self, name: str, owner: Scope) -> Things:
        """Return what can be called by a name, where all that binds it says so."""
        found: set[Thing] = set()
        for binding in owner.bindings.get(name, ()):
            node = binding.node
            if isinstance(node, cst.FunctionDef):
                things = self.decorated(node)
            elif isinstance(node, cst.ClassDef):
                things = frozenset({OfClass(node)})
            elif binding.value is not None:
                things = self.callable_in(binding.value)
            else:
                return NOTHING
            if not things:
                return NOTHING
            found |= things
        return frozenset(found)

    def donating(self, name: str | None) -> Things:
        """Return what donates in another file, by its qualified name here; else nothing."""
        if name is None:
            return NOTHING
        key = (self.facts.path, name)
        if key not in self._elsewhere:
            found = self.facts.run.donation(self.facts.path, name)
            known = () if found is None else (of_elsewhere(name, found),)
            self._elsewhere[key] = frozenset(known)
        return self._elsewhere[key]

    def elsewhere(self, name: str | None, *, is_bound: bool = False) -> Things:
        """Return what another file has that donates, or makes objects; else nothing.

        `is_bound`: it is an attribute of an object.
        """
        things = self.donating(name)
        is_class = any(isinstance(each, OfClassElsewhere) for each in things)
        if name is not None and (is_class or not things):
            things = self.beside(name) or things
        if not is_bound:
            return things
        known = (Donor, OfClassElsewhere, Wrapper)
        return frozenset(bound(each) if isinstance(each, known) else each for each in things)

    def beside(self, name: str) -> Things:
        """Return the class or the function that another file of a small program has by a name."""
        if not 1 < len(self.own.siblings) <= MOST_FILES:
            return NOTHING
        key = (self.facts.path, name)
        if key not in self._defined:
            self._defined[key] = NOTHING
            self._defined[key] = self._found_beside(name)
        return self._defined[key]

    def _found_beside(self, name: str) -> Things:
        found, member = definition_beside(self.facts, name), ""
        if found is None:
            above, _, member = name.rpartition(".")
            found = definition_beside(self.facts, above) if above else None
        if found is None:
            return NOTHING
        node, facts = found
        self.add_file(facts)
        if isinstance(node, cst.ClassDef):
            return self._member_of(node, member) if member else frozenset({OfClass(node)})
        if isinstance(node, cst.FunctionDef) and not (node.decorators or member):
            return frozenset({Defined(node)})
        return NOTHING if member else self._compiled_beside(node, facts)

    def _compiled_beside(self, node: cst.CSTNode, facts: ModuleFacts) -> Things:
        """Return the compiled function of another file that donates nothing, but reads all that
        it is given: `eval_step = jax.jit(evaluate)`; else nothing.
        """
        with self.in_file(facts):
            made: Things = NOTHING
            if isinstance(node, cst.FunctionDef):
                made = self.decorated(node)
            elif isinstance(node, cst.Assign) and isinstance(node.value, cst.Call):
                made = self.callable_in(node.value)
        is_known = all(isinstance(each, Donor) and not each.jit.donates for each in made)
        return made if is_known else NOTHING

    def _member_of(self, cls: cst.ClassDef, name: str) -> Things:
        """Return the function that a class of another file has by a name; else nothing."""
        found = self.class_attribute(cls, name, None)
        return found if all(isinstance(each, Defined) for each in found) else NOTHING

    def callable_in(self, node: cst.BaseExpression, cls: cst.ClassDef | None = None) -> Things:
        """Return what can be called by an expression, wherever it is evaluated; else nothing.

        `cls`: it is in a method of this class.
        """
        state, kept = self.state, (self.stack, self.entered, self.where, self.targets)
        frames, self.frames = self.frames, {}
        self.state = Buffers()
        if cls is not None:
            self._bind_owner(node, cls)
        self.expecting += 1
        self.inert += 1
        try:
            things = self.evaluate(node)
        finally:
            self.state, self.frames = state, frames
            self.stack, self.entered, self.where, self.targets = kept
            self.expecting -= 1
            self.inert -= 1
        is_value = any(
            isinstance(each, BufferPart) and not self.roots[each.root].elsewhere for each in things
        )
        return NOTHING if is_value else things

    def _bind_owner(self, node: cst.CSTNode, cls: cst.ClassDef) -> None:
        """Let the first parameter of the method around an expression be an object of a class."""
        method = self.tree.around(node, cst.FunctionDef)
        if method is None or not method.params.params:
            return
        frame = self.new_number()
        self.frames[id(self.names.scope(method.body))] = frame
        name = method.params.params[0].name.value
        self.state.names[frame, name] = frozenset({self.root(cls=cls)})

    # -- expressions ------------------------------------------------------------------------------

    def step(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise OutOfStepsError

    def evaluate(self, node: cst.BaseExpression) -> Things:
        """Return what an expression stands for, after noting what it reads and donates."""
        self.step()
        method = _METHODS.get(type(node))
        if method is not None:
            return method(self, node)
        for child in children(node):
            if isinstance(child, cst.BaseExpression):
                self.evaluate(child)
        return DATA

    def name(self, node: cst.Name) -> Things:
        if not self.tree.contains(node):
            return DATA
        things = self.lookup(node.value, self.names.scope(node))
        if len(things) == 1 and (qualified := self.names.qualified(node)) is not None:
            things = self.elsewhere(qualified) or things
        self._see(node, things)
        return things

    def _see(self, node: cst.CSTNode, things: Things) -> None:
        death = self.state.death_of(things, self.where)
        if death is not None:
            self.seen[id(node)] = death

    def attribute(self, node: cst.Attribute) -> Things:
        qualified = self.names.qualified(node)
        if qualified is not None:
            return self.elsewhere(qualified) or DATA
        held = self.evaluate(node.value)
        if node.attr.value in TRANSPOSED:
            is_array = self.nature(held) is Nature.ARRAY
            self.read(node.value, held, Surety.DEFINITE if is_array else Surety.LIKELY)
            return self.fresh(Nature.ARRAY if is_array else Nature.UNKNOWN)
        things = self.attribute_of(held, node.attr.value)
        self._see(node, things)
        return things

    def attribute_of(self, held: Things, name: str) -> Things:
        if name in METADATA or name in self._static:
            return DATA
        if name in TRANSPOSED:
            return self.fresh()
        if name == "at" and self.nature(held) in {Nature.ARRAY, Nature.UNKNOWN}:
            return held

        def part(thing: Thing) -> Things:
            if isinstance(thing, BufferPart):
                return self._part_named(thing, name)
            return (
                self.class_attribute(thing.node, name, None)
                if isinstance(thing, OfClass)
                else NOTHING
            )

        return self.parts(held, f".{name}", part)

    def parts(self, held: Things, key: str, part: Callable[[Thing], Things]) -> Things:
        """Return what a part of a thing is, which is one of several."""
        if len(held) == 1:
            return part(next(iter(held))) or self.fresh()
        rare = unlikely(held)
        found = {thing for each in held if each not in rare for thing in part(each)}
        seldom = {thing for each in rare for thing in part(each)} - found
        return part_of(held, key, found | seldom, frozenset(seldom)) or self.fresh()

    def _part_named(self, part: BufferPart, name: str) -> Things:
        if part.root == 0:
            return DATA
        own = part.at(f".{name}")
        held = self.state.load(own, self.roots)
        cls = self.class_of(part)
        if cls is not None and not self.is_assigned(own):
            known = self.class_attribute(cls, name, part)
            if known:
                return known
        elif cls is not None and own in held and len(held) > 1:
            # It was assigned on one of the ways that led here.
            known = self.class_attribute(cls, name, part)
            if known and not any(isinstance(each, BufferPart) for each in known):
                return frozenset(held - {own} | known)
        made_by = self.roots[part.root].elsewhere if not part.keys else ""
        if made_by and not self.is_assigned(own):
            return self.elsewhere(f"{made_by}.{name}", is_bound=True) or held
        return held

    def subscript(self, node: cst.Subscript) -> Things:
        held = self.evaluate(node.value)
        is_at = isinstance(node.value, cst.Attribute) and node.value.attr.value == "at"
        key = item_key(node)
        for element in node.slice:
            self._index(element.slice)
        if is_at:
            return held
        if key is not None and not key.startswith("[:"):
            # An array has no item by a text: what was put there was a tree.
            if self.nature(held) is Nature.ARRAY and not key.startswith("['"):
                self.read(node.value, held)
                return self.fresh(Nature.ARRAY)
            things = self._taken(held, self.parts(held, key, lambda each: self.item(each, key)))
            self._see(node, things)
            return things
        if key == "[:]":
            if self.nature(held) is not Nature.TREE:
                self.read(node.value, held)
            return held
        if key is not None:
            # A part of an array, or of a list.
            if self.nature(held) is Nature.ARRAY:
                self.read(node.value, held)
                return self.fresh(Nature.ARRAY)
            if self.nature(held) is Nature.DATA:
                return DATA
            # With several indices it is an array, as good as always.
            is_array = len(node.slice) > 1 or _is_tuple(node)
            self.read(node.value, held, Surety.LIKELY if is_array else Surety.MAYBE)
            return self.fresh()
        if self.nature(held) is Nature.ARRAY:
            self.read(node.value, held)
            return self.fresh(Nature.ARRAY)
        if self.nature(held) is Nature.DATA:
            return DATA
        return self._taken(held, self._some_item(held))

    def _taken(self, held: Things, items: Things) -> Things:
        """Remember which items may be copies of rows: those of what may be an array."""
        if self.nature(held) is not Nature.TREE:
            found = (each for each in items if isinstance(each, BufferPart) and may_be_row(each))
            self.state.rows.update(each for each in found if self.state.death(each) is None)
        return items

    def _some_item(self, held: Things) -> Things:
        """Return one of the items of a container, of which it is not known which one."""
        only = next(iter(held)) if len(held) == 1 else None
        entries = self.state.entries(only, self.roots) if isinstance(only, BufferPart) else None
        if entries is not None:
            every = frozenset().union(*entries.values())
            return Choice(every, every)
        key, rare = self.new_key(), unlikely(held)
        items = {each: each.at(key) for each in held if isinstance(each, BufferPart)}
        seldom = frozenset(items[each] for each in items if each in rare)
        return part_of(held, key, items.values(), seldom) or self.fresh()

    def item(self, thing: Thing, key: str) -> Things:
        if not isinstance(thing, BufferPart):
            return NOTHING
        if key.startswith("[-"):
            entries = self.state.entries(thing, self.roots)
            at = int(key[1:-1])
            if entries is not None and is_list(entries) and -at <= len(entries):
                return [*entries.values()][at]
        return self.state.load(item_of(thing, key), self.roots) if thing.root else DATA

    def _index(self, index: cst.BaseSlice) -> None:
        for each in [index.value] if isinstance(index, cst.Index) else bounds_of(index):
            self.evaluate(each)

    def binary(self, node: cst.BinaryOperation) -> Things:
        return self._computed((node.left, node.right))

    def _computed(self, operands: Sequence[cst.BaseExpression]) -> Things:
        held = [(each, self.evaluate(each)) for each in operands]
        natures = {self.nature(things) for _, things in held}
        if Nature.TREE not in natures:
            for each, things in held:
                self.read(each, things)
        if natures == {Nature.DATA}:
            return DATA
        return self.fresh(Nature.ARRAY if Nature.ARRAY in natures else Nature.UNKNOWN)

    def unary(self, node: cst.UnaryOperation) -> Things:
        if isinstance(node.operator, cst.Not):
            self.evaluate(node.expression)
            return DATA
        return self._computed((node.expression,))

    def comparison(self, node: cst.Comparison) -> Things:
        apart = (cst.Is, cst.IsNot, cst.In, cst.NotIn)
        operands = [node.left, *(each.comparator for each in node.comparisons)]
        if any(isinstance(each.operator, apart) for each in node.comparisons):
            for each in operands:
                self.evaluate(each)
            return DATA
        return self._computed(operands)

    def boolean(self, node: cst.BooleanOperation) -> Things:
        left = self.evaluate(node.left)
        self.ask_whether_deleted(node.left)
        before = self.state.copy()
        right = self.evaluate(node.right)
        self.meet(before)
        return either(left, right)

    def conditional(self, node: cst.IfExp) -> Things:
        self.evaluate(node.test)
        self.ask_whether_deleted(node.test)
        holds = self.holds(node.test)
        if holds is not None:
            self.branches.pop(id(node), None)
            return self.evaluate(node.body if holds else node.orelse)
        before, since = self.state.copy(), len(self.roots)
        around = self.where
        self.where = (*around, self.new_number())
        first = self.evaluate(node.body)
        after, self.state = self.state, before
        self.where = (*around, self.new_number())
        second = self.evaluate(node.orelse)
        self.where = around
        self.meet(after, since)
        self.branches[id(node)] = (first, second)
        return either(first, second)

    def meet(self, other: Buffers | None, since: int = sys.maxsize) -> None:
        """Go on with what holds on both ways; `since`: the first root that they made."""
        self.state = joined([self.state, other], self.where, self.roots, since) or self.state

    def walrus(self, node: cst.NamedExpr) -> Things:
        held = self.evaluate(node.value)
        self.bind(node.target, held)
        return held

    def container(self, node: cst.Tuple | cst.List | cst.Set) -> Things:
        part = self.root(Nature.TREE)
        found: dict[Keys, Things] = {}
        for place, each in enumerate(node.elements):
            held = self.evaluate(each.value)
            key = f"[{place}]"
            if isinstance(each, cst.StarredElement):
                key, held = self.new_key(), self._inside(held)
            found[(key,)] = held
        self.state.parts[part.root] = found
        return frozenset({part})

    def _inside(self, held: Things) -> Things:
        """Return what the things in a container are, which another one has by other keys."""
        return frozenset(
            each.at(self.new_key()) if isinstance(each, BufferPart) and each.root else each
            for each in held
        )

    def mapping(self, node: cst.Dict) -> Things:
        found: dict[Keys, Things] = {}
        rest: Things = DATA
        for each in node.elements:
            held = self.evaluate(each.value)
            if not isinstance(each, cst.DictElement):
                rest = held
                continue
            self.evaluate(each.key)
            found[(literal_key(each.key) or self.new_key(),)] = held
        return self.like(rest, found)

    def like(self, things: Things, parts: dict[Keys, Things]) -> Things:
        """Return a container or object that has some parts of its own, and the rest of another."""
        made: dict[Thing, Thing] = {}
        for each in things:
            base = each if isinstance(each, BufferPart) and each.root else None
            if base is not None:
                self.state.split_off(base, [keys[0] for keys in parts], self.roots)
            part = made[each] = self.root(Nature.TREE, base=base)
            self.state.parts[part.root] = dict(parts)
        if len(made) == 1:
            return frozenset(made.values())
        rare = [made[each] for each in unlikely(things)]
        return Choice(made.values(), rare, things if isinstance(things, Choice) else None)

    def formatted(self, node: cst.FormattedString) -> Things:
        for each in node.parts:
            if isinstance(each, cst.FormattedStringExpression):
                self.read(each.expression, self.evaluate(each.expression))
        return DATA

    def concatenated(self, node: cst.ConcatenatedString) -> Things:
        self.evaluate(node.left)
        self.evaluate(node.right)
        return DATA

    def lambda_(self, node: cst.Lambda) -> Things:
        return frozenset({Defined(node)})

    def await_(self, node: cst.Await) -> Things:
        return self.evaluate(node.expression)

    def yield_(self, node: cst.Yield) -> Things:
        given = node.value.item if isinstance(node.value, cst.From) else node.value
        if given is not None:
            self.evaluate(given)
        return self.fresh()

    def comprehension(
        self, node: cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp
    ) -> Things:
        made: list[Things] = []
        scope = self.names.scope(node.for_in.target)
        before = self.frames.get(id(scope))
        self.frames[id(scope)] = self.new_number()

        def iterate() -> None:
            if isinstance(node, cst.DictComp):
                self.evaluate(node.key)
                made.append(self.evaluate(node.value))
            else:
                made.append(self.evaluate(node.elt))

        self._clause(node.for_in, iterate)
        self.leave(scope, before)
        copied = _copied_by(node)
        if copied is not None:
            # As `dict(x)`: those of its items that stay have their keys.
            return self.like(self.evaluate(copied), {})
        part = self.root(Nature.TREE)
        self.state.parts[part.root] = {(self.new_key(),): each for each in made if not each <= DATA}
        return frozenset({part})

    def next_element(self, node: cst.BaseExpression, held: Things, loop: int) -> Things:
        """Return what an iteration of a loop, by its number, is given by an expression."""
        self.drawing = loop
        found = self.element(node, held)
        self.drawing = 0
        return found

    def _clause(self, clause: cst.CompFor, iterate: Callable[[], None]) -> None:
        iterated, number = self.evaluate(clause.iter), self.new_number()
        for _ in range(2):
            before = self.state.copy()
            self.bind(clause.target, self.next_element(clause.iter, iterated, number))
            for condition in clause.ifs:
                self.evaluate(condition.test)
            around = self.where
            if clause.ifs:
                self.where = (*around, self.new_number())
            if clause.inner_for_in is not None:
                self._clause(clause.inner_for_in, iterate)
            else:
                iterate()
            self.where = around
            if clause.ifs:
                self.meet(before)

    # -- what the rest of the execution does ------------------------------------------------------

    @abstractmethod
    def call(self, node: cst.Call) -> Things:
        """Return what a call gives."""

    @abstractmethod
    def bind(self, target: cst.BaseExpression, held: Things) -> None:
        """Assign to a target."""

    @abstractmethod
    def element(self, node: cst.BaseExpression, held: Things) -> Things:
        """Return what iterating over an expression gives."""

    @abstractmethod
    def holds(self, test: cst.BaseExpression) -> bool | None:
        """Return whether a parameter holds that is given `True` or `False`; None: not known."""

    @abstractmethod
    def decorated(self, node: cst.FunctionDef) -> Things:
        """Return what the name of a function stands for."""

    @abstractmethod
    def class_attribute(self, cls: cst.ClassDef, name: str, owner: BufferPart | None) -> Things:
        """Return what can be called by an attribute of a class, or of its objects."""

    @abstractmethod
    def execute(self, function: Function) -> Things:
        """Execute the body of a function, whose parameters are bound."""


def is_list(entries: dict[str, Things]) -> bool:
    """Return whether a container has items by their place, in their order."""
    return all(key == f"[{at}]" for at, key in enumerate(entries))


def item_key(node: cst.Subscript) -> str | None:
    """Return the key that an index is: a text, a number, or a slice; None where it is not known."""
    if len(node.slice) != 1:
        return "[:part]"
    index = node.slice[0].slice
    if isinstance(index, cst.Slice):
        is_whole = index.lower is None and index.upper is None and index.step is None
        return "[:]" if is_whole else "[:part]"
    if isinstance(index, cst.Index):
        if isinstance(index.value, cst.Ellipsis):
            return "[:]"
        if isinstance(index.value, cst.Tuple):
            return "[:part]"
        return literal_key(index.value)
    return None


def _is_tuple(node: cst.Subscript) -> bool:
    index = node.slice[0].slice
    return isinstance(index, cst.Index) and isinstance(index.value, cst.Tuple)


def literal_key(node: cst.BaseExpression) -> str | None:
    """Return the key for an item that is written out."""
    number, text = integer_value(node), string_value(node)
    if number is not None:
        return f"[{number}]"
    return None if text is None else f"['{text}']"


def _copied_by(
    node: cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp,
) -> cst.BaseExpression | None:
    """Return the dict of which `{key: value for key, value in x.items()}` has the items."""
    clause = node.for_in
    called = clause.iter.func if isinstance(clause.iter, cst.Call) else None
    pair = clause.target.elements if isinstance(clause.target, cst.Tuple) else ()
    if not isinstance(node, cst.DictComp) or not isinstance(called, cst.Attribute):
        return None
    if called.attr.value != "items" or clause.inner_for_in is not None or len(pair) != 2:
        return None
    names = [each.value for each in pair if isinstance(each.value, cst.Name)]
    kept = [each.value for each in (node.key, node.value) if isinstance(each, cst.Name)]
    is_same = len(kept) == 2 and kept == [each.value for each in names]
    return called.value if is_same and isinstance(called.value, cst.Name | cst.Attribute) else None


_METHODS: dict[type, Callable[[DonationExpressions, Any], Things]] = {
    cst.Name: DonationExpressions.name,
    cst.Attribute: DonationExpressions.attribute,
    cst.Subscript: DonationExpressions.subscript,
    cst.BinaryOperation: DonationExpressions.binary,
    cst.UnaryOperation: DonationExpressions.unary,
    cst.Comparison: DonationExpressions.comparison,
    cst.BooleanOperation: DonationExpressions.boolean,
    cst.IfExp: DonationExpressions.conditional,
    cst.NamedExpr: DonationExpressions.walrus,
    cst.Tuple: DonationExpressions.container,
    cst.List: DonationExpressions.container,
    cst.Set: DonationExpressions.container,
    cst.Dict: DonationExpressions.mapping,
    cst.FormattedString: DonationExpressions.formatted,
    cst.ConcatenatedString: DonationExpressions.concatenated,
    cst.Lambda: DonationExpressions.lambda_,
    cst.Await: DonationExpressions.await_,
    cst.Yield: DonationExpressions.yield_,
    cst.Call: lambda self, node: self.call(node),
    cst.ListComp: DonationExpressions.comprehension,
    cst.SetComp: DonationExpressions.comprehension,
    cst.DictComp: DonationExpressions.comprehension,
    cst.GeneratorExp: DonationExpressions.comprehension,
}
