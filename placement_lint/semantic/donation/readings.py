"""The state of an execution, and which reads of what was donated it has found."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.donation.buffers import (
    Buffers,
    Gone,
    Leaf,
    Nature,
    Root,
    Surety,
)
from placement_lint.semantic.donation.callables import parameters_of
from placement_lint.semantic.donation.choices import likely, there_since, unlikely
from placement_lint.semantic.donation.parts import BufferPart, around
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.dotted import dotted, whole_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from placement_lint.semantic.donation.buffers import Death
    from placement_lint.semantic.donation.choices import Things
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.names import Scope


_OF_ARRAYS = frozenset({".real", ".imag", ".addressable_shards", ".global_shards"})
"""What an array has as attributes, of those that share its buffer."""


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
    is_returned: bool
    """It is what the call in which it was donated returns."""
    donation: cst.CSTNode
    """Where it was donated, as seen from there."""
    is_inside: bool
    """It is read in a function that is called there."""
    is_guarded: bool
    """A condition in a loop decides whether it is read."""
    inner: cst.CSTNode
    """Where it is read in the end, in a function that is called there perhaps."""
    kept_as: str = ""
    """The other name by which the buffer was kept that the name was bound to once more."""


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
    inside: tuple[cst.CSTNode, ...] = ()
    """The calls in `node` that lead to the call."""


@dataclass(frozen=True)
class Idle:
    """A donation that frees nothing."""

    node: cst.CSTNode
    text: str
    to: str
    why: str


class DonationReadings:
    """What is known where an execution has got to, and what it has found so far."""

    given: dict[int, cst.BaseExpression]
    """What an assignment gives each of its targets, by id, where that has a name already."""
    branches: dict[int, tuple[Things, Things]]
    """For conditional expressions, by id, what each of the two stood for last."""

    def __init__(self, facts: ModuleFacts) -> None:
        self.facts = facts
        self.tree = facts.tree
        self.names = facts.names
        self.own = facts
        """The file that is asked about; `facts` is the one whose code is executed now."""
        self._others: list[ModuleFacts] = []
        """Other files of the program whose code was executed."""
        self.roots: list[Root] = [Root(Nature.DATA)]
        self.state: Buffers = Buffers()
        self.frames: dict[int, int] = {}
        """For the scopes that are executed, the frames of their variables."""
        self._numbers = itertools.count(1)
        self.stack: tuple[cst.Call, ...] = ()
        self.entered: tuple[int, ...] = ()
        """The executions of the functions that these calls are of, by number."""
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
        self._copies: dict[int, list[tuple[BufferPart, BufferPart]]] = {}
        """By root, what was made of it or of its parts, and has the other parts of it."""
        self.alive: set[int] = set()
        """What was there, or may have been, in the second iteration of a loop."""
        self.useful: set[int] = set()
        """Arguments that a donation took in one execution of the call at least."""
        self.seen: dict[int, Death] = {}
        """What was deleted where a name was read."""
        self.drawing = 0
        """The loop whose next item is asked for, by number; 0: of something else."""
        self.is_second = False
        """A loop around it is executed once more."""
        self.bodies: list[int] = []
        """Of the loops around it, how many conditions are around their bodies."""
        self.iterations: list[int] = []
        """Of the loops around it, which iteration is executed."""
        self.is_third = False
        """It is executed a third time: what the second one has left gone may be used there."""
        self.targets_around: tuple[str, ...] = ()
        """What the value is bound to of the call that is executed."""
        self.late: set[tuple[int, str]] = set()
        """The names, by frame, that were bound to what was gone by then."""

    def leave(self, scope: Scope, before: int | None) -> None:
        """End one execution of a scope: what its variables stood for has these names no longer.

        `before`: the frame of the execution of the same scope that this one was in; None: of none.
        All ways that meet later carry the names that there are: they must not be ever more.
        """
        frame = self.frames.pop(id(scope))
        for name in scope.bindings:
            self.state.names.pop((frame, name), None)
            self.late.discard((frame, name))
        if before is not None:
            self.frames[id(scope)] = before

    # -- files ------------------------------------------------------------------------------------

    def facts_of(self, node: cst.CSTNode) -> ModuleFacts:
        """Return the file that a class or a function is in."""
        if self.facts.tree.contains(node):
            return self.facts
        return next((each for each in self._others if each.tree.contains(node)), self.own)

    def add_file(self, facts: ModuleFacts) -> None:
        """Let code of another file be executed."""
        if facts is not self.own and facts not in self._others:
            self._others.append(facts)

    @contextlib.contextmanager
    def at(self, node: cst.CSTNode) -> Iterator[None]:
        """Execute what a class or a function of the program has, in whichever file it is."""
        with self.in_file(self.facts_of(node)):
            yield

    @contextlib.contextmanager
    def in_file(self, facts: ModuleFacts) -> Iterator[None]:
        """Execute code of a file."""
        before = self.facts
        self.facts, self.tree, self.names = facts, facts.tree, facts.names
        try:
            yield
        finally:
            self.facts, self.tree, self.names = before, before.tree, before.names

    def is_own(self, node: cst.CSTNode) -> bool:
        """Return whether a node is in the file that is asked about."""
        return self.own.tree.contains(node)

    # -- things -----------------------------------------------------------------------------------

    def fresh(self, nature: Nature = Nature.UNKNOWN, *, is_foreign: bool = False) -> Things:
        """Return something new."""
        return frozenset({self.root(nature, is_foreign=is_foreign)})

    def root(
        self,
        nature: Nature = Nature.UNKNOWN,
        *,
        cls: cst.ClassDef | None = None,
        base: BufferPart | None = None,
        is_foreign: bool = False,
        elsewhere: str = "",
    ) -> BufferPart:
        self.roots.append(Root(nature, cls, base, is_foreign, elsewhere))
        made = BufferPart(len(self.roots) - 1)
        if base is not None:
            self._copies.setdefault(base.root, []).append((base, made))
        return made

    def is_assigned(self, part: BufferPart) -> bool:
        """Return whether a part is known to be something else than the part of a thing."""
        return any(
            not isinstance(each, BufferPart) or each.keys[-1:] != part.keys[-1:]
            for each in self.state.load(part, self.roots)
        )

    @cached_property
    def _kept(self) -> dict[BufferPart, BufferPart]:
        """For parts that were bound to something: what they are once another one takes its place.

        Each way through the code finds the same there.
        """
        return {}

    def keep(self, held: Things) -> None:
        """Know that something else than its owner has a part of a thing: `kept = self.state`."""
        only = next(iter(held)) if len(held) == 1 else None
        if isinstance(only, BufferPart) and only.root:
            for part in around(only)[1:]:
                if part not in self._kept:
                    self._kept[part] = self.root()

    def assign(self, part: BufferPart, held: Things) -> None:
        """Assign to a part of a thing: what was made of it before keeps what it had."""
        kept = self._kept.get(part)
        if kept is not None and self.state.load(part, self.roots) == {part} != held:
            held = self.state.take_out(part, kept, held)
        for base, made in self._copies.get(part.root, ()):
            count = len(base.keys)
            if part.keys[:count] == base.keys and len(part.keys) > count:
                own = made.at(part.keys[count])
                if own.keys not in self.state.parts.get(made.root, {}):
                    self.state.set_part(own, self.state.load(own, self.roots))
        self.state.set_part(part, held)

    def nature(self, things: Things) -> Nature:
        """Return what a thing is; UNKNOWN where it may be several."""
        found = {
            self.roots[each.root].nature if isinstance(each, BufferPart) else Nature.UNKNOWN
            for each in likely(things)
        }
        only = found.pop() if len(found) == 1 else Nature.UNKNOWN
        part = next(iter(likely(things)), None)
        if not isinstance(part, BufferPart) or not part.keys:
            return only
        if only is Nature.ARRAY and part.keys[0] not in _OF_ARRAYS:
            # What has such a part is a tree, whatever was presumed of it.
            return Nature.UNKNOWN
        return Nature.UNKNOWN if only is Nature.TREE else only

    def new_number(self) -> int:
        return next(self._numbers)

    def new_key(self) -> str:
        """Return the key of one of many parts of a thing, which no other evaluation gives."""
        return f"[*{self.new_number()}]"

    def drawn_key(self) -> str:
        """Return the key of what an iteration of the loop has of a thing: `[*loop/iteration]`."""
        return f"[*{self.drawing}/{self.new_number()}]" if self.drawing else self.new_key()

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
        if self.expecting or not self.state.dead:
            self._note_alive(node)
            return
        found = [self.state.gone(things, self.where)]
        if deep:
            found += self._gone_inside(things)
        gone = max(filter(None, found), key=lambda each: each.surety, default=None)
        if gone is None or gone.surety is Surety.MAYBE:
            self._note_alive(node)
        if gone is not None:
            surety = min(surety, gone.surety)
            self._note(node, gone.death, min(surety, Surety.LIKELY) if self.cautious else surety)

    def restored(
        self, target: cst.BaseExpression, held: Things, *, is_there: bool = False
    ) -> Things:
        """Note that what was donated comes back in the place of its successor: `state = old`.

        `is_there`: the target stands for it already, and it was donated by the other name.
        Return what the target is bound to: something new there, for one place is enough to report.
        """
        given, text = self.given.get(id(target)), dotted(target)
        if given is None or not text:
            return held
        ways = [(given, held)] if not isinstance(given, cst.IfExp) else self._chosen(given)
        back = [
            found
            for each in ways
            if (found := self._given_back(*each, text, is_there=is_there)) is not None
        ]
        if len(back) != 1:
            return held
        node, gone = back[0]
        if not (self.expecting or self.cautious):
            self._note(node, gone.death, gone.surety)
        return self.fresh()

    def _chosen(self, node: cst.BaseExpression) -> list[tuple[cst.BaseExpression, Things]]:
        """Return the expressions of which a choice is one, with what they stood for there."""
        if not isinstance(node, cst.IfExp) or id(node) not in self.branches:
            return []
        first, second = self.branches[id(node)]
        found: list[tuple[cst.BaseExpression, Things]] = []
        for part, things in ((node.body, first), (node.orelse, second)):
            found += self._chosen(part) if isinstance(part, cst.IfExp) else [(part, things)]
        return found

    def _given_back(
        self, node: cst.BaseExpression, held: Things, text: str, *, is_there: bool
    ) -> tuple[cst.BaseExpression, Gone] | None:
        """Return what is assigned to a name again that was donated by it, and how that is gone.

        `is_there`: the name still stands for it, and it was donated by another one.
        """
        if text_of(node) in {"", text}:
            return None
        found = (self.state.gone(held, self.where), *self._gone_inside(held))
        gone = max(filter(None, found), key=lambda each: each.surety, default=None)
        if gone is None or gone.surety is Surety.MAYBE:
            return None
        death, count = gone.death, len(self.entered)
        if self._donated_as(death) in ({text, text_of(node)} if is_there else {text}):
            return node, gone
        if death.text != text:
            return None
        # It is an attribute, and a method of the same object has donated it.
        is_own = text.startswith("self.") and death.entered[:count] == self.entered
        return (node, gone) if is_own and all(map(_is_of_self, death.stack[count:])) else None

    def _donated_as(self, death: Death) -> str:
        """Return what the function that is executed calls what it donated; "": it has no name.

        It may have called another one, which gives it to what donates.
        """
        count = len(self.entered)
        is_inside = death.entered[:count] == self.entered
        return self._passed_by(death.stack[count:], death.call, death.text) if is_inside else ""

    def _note_alive(self, node: cst.CSTNode) -> None:
        if self.is_second:
            self.alive.update(id(each) for each in (node, *self.stack))

    def _gone_inside(self, things: Things) -> Iterator[Gone | None]:
        """Yield what may have deleted parts of a thing."""
        known: dict[int, Gone | None] = {}
        for leaf in self.state.leaves(things, self.roots):
            part, count = leaf.part, len(leaf.part.keys)
            for keys, death in self.state.dead.get(part.root, {}).items():
                own = BufferPart(part.root, keys)
                is_below = keys[:count] == part.keys and len(keys) > count
                is_there = is_below and keys[count] not in leaf.but and not death.is_replaced
                if is_there and not self.is_assigned(own):
                    yield self._gone_of_one(own, death, leaf)
            among = leaf.alike or leaf.among
            if among is things:
                continue
            if id(among) not in known:
                known[id(among)] = self.state.gone(among, self.where)
            gone = known[id(among)]
            if gone is None:
                continue
            if leaf.is_sure or leaf.alike is not None:
                yield gone
            else:
                yield Gone(gone.death, self._if_near(gone.death, leaf))

    def _gone_of_one(self, part: BufferPart, death: Death, leaf: Leaf) -> Gone | None:
        if leaf.is_sure and len(leaf.among) == 1:
            return self.state.gone(frozenset({part}), self.where) or Gone(death, Surety.MAYBE)
        is_rare = leaf.part in unlikely(leaf.among)
        if death.number < there_since(leaf.among, leaf.part):
            return None
        return Gone(death, Surety.MAYBE if is_rare else self._if_carried(death))

    def _if_near(self, death: Death, leaf: Leaf) -> Surety:
        """Return how sure it is that a part is gone of one of several containers."""
        if leaf.is_rare:
            return Surety.MAYBE
        where = self.where
        is_near = death.surety > Surety.MAYBE and death.under[: len(where)] == where
        return Surety.LIKELY if is_near else self._if_carried(death)

    def _if_carried(self, death: Death) -> Surety:
        """Return how sure it is that one of several is gone: if an iteration before has left it."""
        is_near = death.is_carried and death.where == self.where
        return Surety.LIKELY if is_near else Surety.MAYBE

    def _note(self, node: cst.CSTNode, death: Death, surety: Surety) -> None:
        shared = _shared(self.entered, death.entered)
        at: cst.CSTNode = node
        text = text_of(node)
        # An object has its parts in all of its methods.
        is_own = text.startswith("self.") and death.text.startswith("self.")
        if len(self.stack) > shared and not is_own:
            at = self.stack[shared]
        donation = self._donation(death, shared)
        is_of_others = not (self.is_own(at) and self.is_own(donation))
        if is_of_others:
            places = self._seen_from_here(node, at, death, donation)
            if places is None:
                return
            at, donation = places
        calls = (donation, death.call)
        # What such a call returns is read after it, and what it is given before it.
        is_returned = at is node and any(call is whole_of(node) for call in calls)
        is_again = not (is_of_others or is_returned) and any(
            self.is_own(call) and self.own.tree.is_inside(at, call) for call in calls
        )
        is_deep = len(self.stack) > shared and at is node
        is_own |= self.entered == death.entered
        is_alias = is_own and not is_again and not _is_same(text, death.text)
        if at is node and not is_again and not (is_own and text == death.text):
            is_alias |= _is_of_no_argument(text, donation)
        bound = self._late_name(node)
        if at is not node and not is_again and donation is death.call:
            seen = self._given_as(node, text, at) or self._argument_with(at, death)
            if seen and not _is_same(seen, death.text):
                # What the function calls it is bound by the call, and not late.
                text, is_alias, bound = seen, True, None
        is_alias &= bound is None
        kept_as = self._kept_as(bound, node) if bound is not None and text == death.text else ""
        is_alias |= bool(kept_as)
        # The iteration before may have raised, or been the last one.
        is_unlike = self.is_third or (self.is_second and not is_again)
        # So it is in one of several executions of this line.
        is_one_of_several = is_deep or (is_again and any(self.iterations[:-1]))
        if is_unlike or is_one_of_several:
            surety = min(surety, Surety.LIKELY)
        is_guarded = bool(self.bodies) and len(self.where) > self.bodies[-1]
        found = Reading(
            node=at,
            text=text,
            death=death,
            surety=surety,
            is_alias=is_alias,
            is_again=is_again,
            is_returned=is_returned,
            donation=donation,
            is_inside=at is not node,
            is_guarded=is_guarded,
            inner=node,
            kept_as=kept_as,
        )
        before = self.readings.get(id(at))
        if before is None or (before.surety, not before.is_again) < (surety, not is_again):
            self.readings[id(at)] = found

    def _seen_from_here(
        self, node: cst.CSTNode, at: cst.CSTNode, death: Death, donation: cst.Call
    ) -> tuple[cst.CSTNode, cst.Call] | None:
        """Return the calls of this file in which something is read and was donated.

        None where it is one call, and the other file says so by itself.
        """
        if not self.is_own(at):
            own = next((call for call in reversed(self.stack) if self.is_own(call)), None)
            at = at if own is None else own
        if not self.is_own(donation):
            calls = (call for call in reversed(death.stack) if self.is_own(call))
            donation = next(calls, death.call if self.is_own(death.call) else donation)
        if not (self.is_own(at) and self.is_own(donation)):
            return None
        there = self.facts_of(death.call)
        # A third file may read it: the one that donates passes it on, or an object has it.
        passing = () if text_of(node).startswith("self.") else self.stack
        is_of_one_file = any(self.facts_of(each) is there for each in (node, *passing))
        return None if at is donation and is_of_one_file else (at, donation)

    def _given_as(self, node: cst.CSTNode, text: str, at: cst.CSTNode) -> str:
        """Return what a call is given that a function reads there: `ema.params`, not `self.params`.

        "" where that has no name, or the function reads a variable of its own or of the module.
        """
        calls = tuple(itertools.dropwhile(lambda call: call is not at, self.stack))
        return self._passed_by(calls, node, text) if calls else ""

    def _passed_by(self, calls: tuple[cst.Call, ...], node: cst.CSTNode, text: str) -> str:
        """Return what the first of calls that lead to a node is given for what has a name there.

        "" where that has no name, or the function reads a variable of its own or of the module.
        """
        for call in reversed(calls):
            function = self.facts_of(node).tree.around(node, cst.FunctionDef)
            root, dot, rest = text.partition(".")
            if function is None or not (given := _argument(call, function, root)):
                return ""
            text, node = given + dot + rest, call
        return text

    def _argument_with(self, at: cst.CSTNode, death: Death) -> str:
        """Return the one name that a call is given for what was deleted; "": it is not known."""
        given = [each.value for each in at.args] if isinstance(at, cst.Call) else []
        names = self.facts_of(at).names
        found = set()
        for each in given:
            if isinstance(each, cst.Name) and each.value != death.text:
                owner = names.owner(each.value, names.scope(each))
                frame = 0 if owner is None else self.frames.get(id(owner), 0)
                held = self.state.names.get((frame, each.value), frozenset())
                leaves = self.state.leaves(held, self.roots)
                if any(self._is_by(self.state.death(leaf.part), death) for leaf in leaves):
                    found.add(each.value)
        return found.pop() if len(found) == 1 else ""

    @staticmethod
    def _is_by(one: Death | None, other: Death) -> bool:
        return one is not None and one.call is other.call

    def _late_name(self, node: cst.CSTNode) -> tuple[int, str] | None:
        """Return the name, by frame, that is read, if it was bound to what was gone by then."""
        name = whole_of(node)
        if not isinstance(name, cst.Name) or not self.tree.contains(name):
            return None
        owner = self.names.owner(name.value, self.names.scope(name))
        bound = (0 if owner is None else self.frames.get(id(owner), 0), name.value)
        return bound if owner is not None and bound in self.late else None

    def _kept_as(self, bound: tuple[int, str], node: cst.CSTNode) -> str:
        """Return another name for what a name was bound to when it was gone; "": there is none."""
        things = self.state.names.get(bound)
        others = {
            name
            for (frame, name), held in self.state.names.items()
            if frame == bound[0] and held == things and (frame, name) not in self.late
        }
        name = whole_of(node)
        if not others and isinstance(name, cst.Name):
            values = [each.value for each in self.names.bindings(name) if each.value is not None]
            others = {dotted(each) for each in values if isinstance(each, cst.Attribute)} - {""}
        return min(others - {bound[1]}, default="")

    def _donation(self, death: Death, shared: int) -> cst.Call:
        return death.stack[shared] if len(death.stack) > shared else death.call


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many executions of functions two places have in common, from the outermost on."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def given_to(
    target: cst.BaseExpression, value: cst.BaseExpression
) -> dict[int, cst.BaseExpression]:
    """Return what an assignment gives each of its targets, by id, where that may have a name."""
    if isinstance(target, cst.Tuple | cst.List):
        given = [value] * len(target.elements)
        if isinstance(value, cst.Tuple | cst.List):
            given = [each.value for each in value.elements]
        if any(isinstance(each, cst.StarredElement) for each in target.elements):
            return {}
        every = zip(target.elements, given, strict=False)
        return {at: held for one, each in every for at, held in given_to(one.value, each).items()}
    is_named = isinstance(value, cst.Attribute | cst.IfExp | cst.Name | cst.Subscript)
    return {id(target): value} if is_named else {}


def _argument(call: cst.Call, function: cst.FunctionDef, name: str) -> str:
    """Return the dotted name of what a call gives a parameter; "" where that is not known."""
    names = parameters_of(function)
    keyword_only = {each.name.value for each in function.params.kwonly_params}
    is_method = names[:1] == ("self",)
    if is_method and name == "self":
        return dotted(call.func.value) if isinstance(call.func, cst.Attribute) else ""
    arguments = Arguments(call)
    if arguments.is_open or name not in {*names, *keyword_only}:
        return ""
    position = names.index(name) - is_method if name in names else None
    given = arguments.get(position, name)
    return "" if given is None else text_of(given)


def _is_of_self(call: cst.Call) -> bool:
    """Return whether a method calls one of its own object: `self.step(x)`, `super().step(x)`."""
    receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
    made = receiver.func if isinstance(receiver, cst.Call) else receiver
    return isinstance(made, cst.Name) and made.value == ("self" if made is receiver else "super")


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


def _is_of_no_argument(text: str, call: cst.Call) -> bool:
    """Return whether a dotted name is that of nothing which a call is given, or is a method of."""
    given = [argument.value for argument in call.args]
    if isinstance(call.func, cst.Attribute):
        given.append(call.func.value)
    named = [each for each in given if isinstance(each, cst.Name | cst.Attribute | cst.Subscript)]
    return bool(text and named) and not any(_is_same(text, text_of(each)) for each in named)
