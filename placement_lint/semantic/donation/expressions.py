"""What expressions stand for, and which of them read something that was donated."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from placement_lint.jaxmodel.donation import METADATA, TRANSPOSED
from placement_lint.semantic.donation.buffers import (
    NOTHING,
    Buffers,
    Nature,
    Root,
    Surety,
    joined,
)
from placement_lint.semantic.donation.callables import Defined, OfClass, bound, of_elsewhere
from placement_lint.semantic.donation.parts import BufferPart
from placement_lint.syntax.calls import integer_value, string_value
from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.tree import children

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from placement_lint.semantic.donation.buffers import Death, Thing, Things
    from placement_lint.semantic.donation.callables import OfElsewhere
    from placement_lint.semantic.donation.parts import Keys
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.definitions import Function
    from placement_lint.syntax.names import Scope

DATA = frozenset({BufferPart(0)})
"""A value that has no buffer: a number, a text, what NumPy has."""
_MOST_STEPS = 60
"""For each node of a file, how many are executed at most: functions are executed once a call."""
_FEWEST_STEPS = 20_000


@dataclass(frozen=True)
class Reading:
    """One read of what was donated."""

    node: cst.CSTNode
    text: str
    death: Death
    surety: Surety
    is_alias: bool
    """It goes by another name than what was donated."""
    is_again: bool
    """It is the donation itself, in the next iteration of a loop."""
    donation: cst.CSTNode
    """Where it was donated, as seen from there."""
    is_inside: bool
    """It is read in a function that is called there."""


@dataclass(frozen=True)
class Repeat:
    """One buffer that one call is given twice, donated at least once."""

    node: cst.CSTNode
    text: str
    to: str
    surety: Surety
    is_donated_twice: bool
    call: cst.Call
    is_of_caller: bool
    """It is reported at a call of the function that the call is in."""


@dataclass(frozen=True)
class Idle:
    """A donation that frees nothing."""

    node: cst.CSTNode
    text: str
    to: str
    why: str


class OutOfStepsError(Exception):
    """A file whose functions call one another too often."""


class DonationExpressions(ABC):
    """The evaluation of expressions, in the functions of one file."""

    def __init__(self, facts: ModuleFacts) -> None:
        self.facts = facts
        self.tree = facts.tree
        self.names = facts.names
        self.roots: list[Root] = [Root(Nature.DATA)]
        self.state: Buffers = Buffers()
        self.frames: dict[int, int] = {}
        """For the scopes that are executed, the frames of their variables."""
        self._numbers = itertools.count(1)
        self.stack: tuple[cst.Call, ...] = ()
        self.where: tuple[int, ...] = ()
        """The conditions around what is executed."""
        self.inert = 0
        """How many blocks around it, or calls, let nothing be donated."""
        self.expecting = 0
        """How many blocks around it expect it to fail."""
        self.cautious = 0
        """How many blocks around it handle all errors."""
        self.targets: tuple[str, ...] = ()
        """What the value that is evaluated is bound to."""
        self.readings: dict[int, Reading] = {}
        self.repeats: dict[int, Repeat] = {}
        self.idle: dict[int, Idle] = {}
        self.seen: dict[int, Death] = {}
        """What was deleted where a name was read."""
        self.is_second = False
        """A loop around it is executed once more."""
        self.late: set[tuple[int, str]] = set()
        """The names, by frame, that were bound to what was gone by then."""
        self._outer: dict[tuple[int, str], Things] = {}
        self._resolving: set[tuple[int, str]] = set()
        self._elsewhere: dict[str, frozenset[OfElsewhere]] = {}
        self._left = _MOST_STEPS * len(self.tree.nodes) + _FEWEST_STEPS

    # -- things -----------------------------------------------------------------------------------

    def fresh(self, nature: Nature = Nature.UNKNOWN, *, is_drawn: bool = False) -> Things:
        """Return something new."""
        return frozenset({self.root(nature, is_drawn=is_drawn)})

    def root(
        self,
        nature: Nature = Nature.UNKNOWN,
        *,
        cls: cst.ClassDef | None = None,
        base: BufferPart | None = None,
        is_drawn: bool = False,
        elsewhere: str = "",
    ) -> BufferPart:
        self.roots.append(Root(nature, cls, base, is_drawn, elsewhere))
        return BufferPart(len(self.roots) - 1)

    def nature(self, things: Things) -> Nature:
        """Return what a thing is; UNKNOWN where it may be several."""
        found = {
            self.roots[each.root].nature if isinstance(each, BufferPart) else Nature.UNKNOWN
            for each in things
        }
        only = found.pop() if len(found) == 1 else Nature.UNKNOWN
        part = next(iter(things), None)
        if only is Nature.TREE and isinstance(part, BufferPart) and part.keys:
            return Nature.UNKNOWN
        return only

    def new_number(self) -> int:
        return next(self._numbers)

    def new_key(self) -> str:
        """Return the key of one of many parts of a thing, which no other evaluation gives."""
        return f"[*{self.new_number()}]"

    # -- reading ----------------------------------------------------------------------------------

    def read(
        self,
        node: cst.CSTNode,
        things: Things,
        surety: Surety = Surety.DEFINITE,
        *,
        deep: bool = False,
    ) -> None:
        """Note that the data of something is read. `deep`: that of all that is in it."""
        death = self.state.death_of(things, self.where)
        if death is None and deep:
            death = self._death_inside_of(things)
        if death is None or self.expecting:
            return
        if death.surety is Surety.MAYBE and death.among is things:
            # Whichever of several things it is, that one was donated.
            surety = min(surety, Surety.LIKELY)
        elif death.surety is Surety.MAYBE:
            if death.where != self.where:
                return
            surety = min(surety, Surety.LIKELY)
        if self.cautious:
            surety = min(surety, Surety.LIKELY)
        surety = min(surety, max(death.surety, Surety.LIKELY))
        self._note(node, death, surety)

    def _death_inside_of(self, things: Things) -> Death | None:
        """Return what deleted a part of a thing; of one of several, if an iteration before did."""
        if len(things) == 1:
            return self._death_inside(things)
        for each in things:
            death = self._death_inside(frozenset({each}))
            if death is not None and death.is_carried and death.where == self.where:
                return replace(death, surety=Surety.LIKELY)
        return None

    def _death_inside(self, things: Things) -> Death | None:
        """Return what deleted a part of a thing."""
        parts = [each for each in things if isinstance(each, BufferPart)]
        for part in parts:
            count = len(part.keys)
            for keys, death in self.state.dead.get(part.root, {}).items():
                if keys[:count] == part.keys and self.state.load(
                    BufferPart(part.root, keys), self.roots
                ) == {BufferPart(part.root, keys)}:
                    return death
        for leaf, is_sure in self.state.leaves(things, self.roots):
            found = self.state.death(leaf)
            if found is not None and is_sure:
                return found
        return None

    def _note(self, node: cst.CSTNode, death: Death, surety: Surety) -> None:
        shared = 0
        while shared < min(len(self.stack), len(death.stack)) and (
            self.stack[shared] is death.stack[shared]
        ):
            shared += 1
        at: cst.CSTNode = node
        text = text_of(node)
        # An object has its parts in all of its methods.
        is_own = text.startswith("self.") and death.text.startswith("self.")
        if len(self.stack) > shared and not is_own:
            at = self.stack[shared]
        is_again = self.tree.is_inside(at, self._donation(death, shared))
        is_own |= self.stack == death.stack
        is_alias = is_own and not is_again and not _is_same(text, death.text)
        is_alias &= not self._is_late(node)
        donation = self._donation(death, shared)
        if self.is_second and not is_again:
            # The iteration before may have raised, or been the last one.
            surety = min(surety, Surety.LIKELY)
        found = Reading(at, text, death, surety, is_alias, is_again, donation, at is not node)
        before = self.readings.get(id(at))
        if before is None or (before.surety, not before.is_again) < (surety, not is_again):
            self.readings[id(at)] = found

    def _is_late(self, node: cst.CSTNode) -> bool:
        """Return whether a name was bound to what was donated before: it is the donor's own."""
        while isinstance(node, cst.Attribute | cst.Subscript):
            node = node.value
        if not isinstance(node, cst.Name) or not self.tree.contains(node):
            return False
        owner = self.names.owner(node.value, self.names.scope(node))
        return owner is not None and (self.frames.get(id(owner), 0), node.value) in self.late

    def _donation(self, death: Death, shared: int) -> cst.Call:
        return death.stack[shared] if len(death.stack) > shared else death.call

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
            self._outer[key] = self._bound(name, owner) or self.fresh()
            self._resolving.discard(key)
        return self._outer[key]

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

    def elsewhere(self, name: str | None, *, is_bound: bool = False) -> Things:
        """Return what donates in another file, by its qualified name here; else nothing.

        `is_bound`: it is an attribute of an object.
        """
        if name is None:
            return NOTHING
        if name not in self._elsewhere:
            found = self.facts.run.donation(self.facts.path, name)
            known = () if found is None else (of_elsewhere(name, found),)
            self._elsewhere[name] = frozenset(known)
        things = self._elsewhere[name]
        return frozenset(map(bound, things)) if is_bound else things

    def callable_in(self, node: cst.BaseExpression, cls: cst.ClassDef | None = None) -> Things:
        """Return what can be called by an expression, wherever it is evaluated; else nothing.

        `cls`: it is in a method of this class.
        """
        state, kept = self.state, (self.stack, self.where, self.targets)
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
            self.stack, self.where, self.targets = kept
            self.expecting -= 1
            self.inert -= 1
        is_value = any(
            isinstance(each, BufferPart) and not self.roots[each.root].elsewhere for each in things
        )
        return NOTHING if is_value else things

    def _bind_owner(self, node: cst.CSTNode, cls: cst.ClassDef) -> None:
        """Let the first parameter of the method around an expression be an object of a class."""
        functions = (
            each for each in self.tree.ancestors(node) if isinstance(each, cst.FunctionDef)
        )
        method = next(functions, None)
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
        if node.attr.value in TRANSPOSED and self.nature(held) is Nature.ARRAY:
            self.read(node.value, held)
            return self.fresh(Nature.ARRAY)
        things = self.attribute_of(held, node.attr.value)
        self._see(node, things)
        return things

    def attribute_of(self, held: Things, name: str) -> Things:
        if name in METADATA:
            return DATA
        if name in TRANSPOSED:
            return self.fresh()
        if name == "at" and self.nature(held) in {Nature.ARRAY, Nature.UNKNOWN}:
            return held
        found: set[Thing] = set()
        for each in held:
            if isinstance(each, BufferPart):
                found |= self._part_named(each, name)
            elif isinstance(each, OfClass):
                found |= self.class_attribute(each.node, name, None)
        return frozenset(found) or self.fresh()

    def _part_named(self, part: BufferPart, name: str) -> Things:
        if part.root == 0:
            return DATA
        own = part.at(f".{name}")
        held = self.state.load(own, self.roots)
        cls = self.roots[part.root].cls if not part.keys else None
        if cls is not None and held == {own}:
            known = self.class_attribute(cls, name, part)
            if known:
                return known
        made_by = self.roots[part.root].elsewhere if not part.keys else ""
        if made_by and held == {own}:
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
            nature = self.nature(held)
            if nature is Nature.ARRAY:
                self.read(node.value, held)
                return self.fresh(Nature.ARRAY)
            found: set[Thing] = set()
            for each in held:
                if isinstance(each, BufferPart):
                    found |= DATA if each.root == 0 else self.state.load(each.at(key), self.roots)
            things: Things = frozenset(found) or self.fresh()
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
            return self.fresh()
        if self.nature(held) is Nature.ARRAY:
            self.read(node.value, held)
            return self.fresh(Nature.ARRAY)
        if self.nature(held) is Nature.DATA:
            return DATA
        return (
            frozenset(each.at(self.new_key()) for each in held if isinstance(each, BufferPart))
            or self.fresh()
        )

    def _index(self, index: cst.BaseSlice) -> None:
        if isinstance(index, cst.Index):
            self.evaluate(index.value)
        elif isinstance(index, cst.Slice):
            for each in (index.lower, index.upper, index.step):
                if each is not None:
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
        before = self.state.copy()
        right = self.evaluate(node.right)
        self.meet(before)
        return left | right

    def conditional(self, node: cst.IfExp) -> Things:
        self.evaluate(node.test)
        before = self.state.copy()
        around = self.where
        self.where = (*around, self.new_number())
        first = self.evaluate(node.body)
        after, self.state = self.state, before
        self.where = (*around, self.new_number())
        second = self.evaluate(node.orelse)
        self.where = around
        self.meet(after)
        return first | second

    def meet(self, other: Buffers | None) -> None:
        """Go on with what holds on both ways."""
        self.state = joined([self.state, other], self.where) or self.state

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
        base: BufferPart | None = None
        for each in node.elements:
            held = self.evaluate(each.value)
            if not isinstance(each, cst.DictElement):
                only = next(iter(held)) if len(held) == 1 else None
                base = only if isinstance(only, BufferPart) and only.root else base
                continue
            self.evaluate(each.key)
            found[(literal_key(each.key) or self.new_key(),)] = held
        part = self.root(Nature.TREE, base=base)
        self.state.parts[part.root] = found
        return frozenset({part})

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

        def turn() -> None:
            if isinstance(node, cst.DictComp):
                self.evaluate(node.key)
                made.append(self.evaluate(node.value))
            else:
                made.append(self.evaluate(node.elt))

        self._clause(node.for_in, turn)
        if before is None:
            self.frames.pop(id(scope), None)
        else:
            self.frames[id(scope)] = before
        part = self.root(Nature.TREE)
        self.state.parts[part.root] = {(self.new_key(),): each for each in made if not each <= DATA}
        return frozenset({part})

    def _clause(self, clause: cst.CompFor, turn: Callable[[], None]) -> None:
        iterated = self.evaluate(clause.iter)
        for _ in range(2):
            before = self.state.copy()
            self.bind(clause.target, self.element(clause.iter, iterated))
            for condition in clause.ifs:
                self.evaluate(condition.test)
            around = self.where
            if clause.ifs:
                self.where = (*around, self.new_number())
            if clause.inner_for_in is not None:
                self._clause(clause.inner_for_in, turn)
            else:
                turn()
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
    def decorated(self, node: cst.FunctionDef) -> Things:
        """Return what the name of a function stands for."""

    @abstractmethod
    def class_attribute(self, cls: cst.ClassDef, name: str, owner: BufferPart | None) -> Things:
        """Return what can be called by an attribute of a class, or of its objects."""

    @abstractmethod
    def execute(self, function: Function) -> Things:
        """Execute the body of a function, whose parameters are bound."""


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


def literal_key(node: cst.BaseExpression) -> str | None:
    """Return the key for an item that is written out."""
    number, text = integer_value(node), string_value(node)
    if number is not None:
        return f"[{number}]"
    return None if text is None else f"['{text}']"


def text_of(node: cst.CSTNode) -> str:
    """Return the dotted name of an expression, or of what it is an item of."""
    while isinstance(node, cst.Subscript):
        node = node.value
    return dotted(node)


def _is_same(read: str, donated: str) -> bool:
    """Return whether two dotted names begin with the same thing: one is a part of the other."""
    if not read or not donated:
        return True
    return (read + ".").startswith(donated + ".") or (donated + ".").startswith(read + ".")


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
