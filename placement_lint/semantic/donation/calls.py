"""What calls read, share, copy and donate."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.donation import DONATING, MAKING_RECORDS, TREE_MAPS
from placement_lint.semantic.donation.buffers import Buffers, Death, Nature, Surety
from placement_lint.semantic.donation.callables import (
    Defined,
    Donor,
    Jit,
    Maker,
    OfClass,
    OfClassElsewhere,
    Wrapper,
    as_called,
    assigned_to_attributes,
    jit_of,
    of_elsewhere,
)
from placement_lint.semantic.donation.choices import NOTHING, either, likely, without
from placement_lint.semantic.donation.expressions import DATA
from placement_lint.semantic.donation.libraries import Given
from placement_lint.semantic.donation.lineage import DonationLineages
from placement_lint.semantic.donation.meetings import joined
from placement_lint.semantic.donation.outputs import Takeover
from placement_lint.semantic.donation.parts import BufferPart
from placement_lint.syntax.calls import Arguments, elements_or_self, is_none
from placement_lint.syntax.definitions import (
    is_generator,
    is_static,
    returns_of,
)
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.semantic.donation.buffers import Leaf
    from placement_lint.semantic.donation.choices import Thing, Things
    from placement_lint.semantic.donation.parts import Keys
    from placement_lint.semantic.model import ModuleFacts

_MAX_DEPTH = 5
"""Calls of functions of the file inside of one another."""
_MOST_CALLEES = 4
"""Functions of which one call may be, each of which is executed."""


class DonationCalls(DonationLineages):
    """The evaluation of calls."""

    def __init__(self, facts: ModuleFacts) -> None:
        super().__init__(facts)
        self._assigned: dict[int, dict[str, list[cst.BaseExpression]]] = {}
        """For classes, by `id`: what they assign to attributes."""

    def call(self, node: cst.Call) -> Things:
        """Return what a call gives."""
        targets, self.targets = self.targets, ()
        changed: Things = NOTHING
        name = self.name_of_called(node)
        if name in DONATING:
            return self._compiled(node, name or "")
        if name == "functools.partial":
            return self._partial(node)
        if name is not None:
            donating = self.elsewhere(name) or self.carried(node) or self._of_imported(node)
            if not donating:
                self._read_in_functions(node, name)
                return self._library(node, name)
            self.targets = targets
            return self._called(node, donating)
        above = self.above(node)
        if above is not None:
            owner, things = above
            callee = frozenset(self._bound_to(each, owner) for each in things)
        elif isinstance(node.func, cst.Attribute):
            held = self.evaluate(node.func.value)
            method = node.func.attr.value
            if self._inherits_maker(held, method):
                return self.record(self._arguments(node))
            found = None if self.carried(node) else self._method(node, held, method)
            if found is not None:
                return found
            callee = self._as_called(self.attribute_of(held, method))
            if all(isinstance(each, BufferPart) for each in callee) and not self.carried(node):
                # It changes once its arguments were read.
                changed = held
            elif any(isinstance(each, BufferPart) for each in callee):
                self._may_change(held)
        else:
            callee = self._as_called(self.evaluate(node.func))
        self.targets = targets
        made = self._called(node, callee)
        self._may_change(changed)
        return made

    def _of_imported(self, node: cst.Call) -> Things:
        """Return what a call runs of an object that another file has: `trainer.step(batch)`."""
        owner = node.func.value if isinstance(node.func, cst.Attribute) else node.func
        held = self.name(owner) if isinstance(owner, cst.Name) else NOTHING
        only = next(iter(held)) if len(held) == 1 else None
        if not isinstance(only, BufferPart) or self.class_of(only) is None:
            return NOTHING
        found = self._as_called(held)
        if isinstance(node.func, cst.Attribute):
            found = self.attribute_of(held, node.func.attr.value)
        return NOTHING if any(isinstance(each, BufferPart) for each in found) else found

    def _as_called(self, callee: Things) -> Things:
        """Return what a call runs: of an object its `__call__`, else the thing itself."""
        only = next(iter(callee)) if len(callee) == 1 else None
        if not isinstance(only, BufferPart):
            return callee
        made_by = "" if only.keys else self.roots[only.root].elsewhere
        if not made_by and self.class_of(only) is None:
            return callee
        method = self.attribute_of(callee, "__call__")
        is_known = not any(isinstance(each, BufferPart) for each in method)
        return method if is_known else callee

    # -- what is called ---------------------------------------------------------------------------

    def _called(self, node: cst.Call, callee: Things) -> Things:
        targets = self.targets
        given = self._arguments(node)
        self.targets = targets
        callee = self.carried(node, likely(callee))
        if len(callee) > 1 and callee & DATA:
            # Not made yet, which nobody calls.
            callee = without(callee, DATA)
        known = [each for each in callee if not isinstance(each, BufferPart)]
        if not known or len(known) < len(callee):
            donors = [each for each in known if isinstance(each, Donor)]
            if donors and len(donors) == len(known):
                return self._donate_to_one(node, donors, given, is_sure=False)
            return self._unknown(node, given, callee)
        donors = self.filled_in(node, [each for each in known if isinstance(each, Donor)])
        if len(donors) == len(known):
            known_better = [each for each in donors if each.inner is not None]
            if known_better and {each.jit for each in donors} == {
                each.jit for each in known_better
            }:
                # Of the others it is only known that they were compiled in this way.
                donors = known_better
            return self._donate_to_one(node, donors, given, is_sure=_are_same(donors))
        only = known[0]
        if len(known) > 1:
            if len(known) > _MOST_CALLEES or not all(isinstance(each, Defined) for each in known):
                return self._unknown(node, given, callee)
            defined = [each for each in known if isinstance(each, Defined)]
            defined.sort(key=lambda each: (self._line_of(each.node), each.owner or BufferPart(0)))
            return self._one_of(node, defined, given)
        if isinstance(only, Maker):
            return self._made(only, given)
        if isinstance(only, OfClass):
            return self._instance(node, only.node, given)
        if isinstance(only, OfClassElsewhere):
            self._unknown(node, given)
            return frozenset({self.root(elsewhere=only.name)})
        if isinstance(only, Wrapper):
            return self._wrapped(node, only, given)
        if isinstance(only, Defined):
            return self._inlined(node, only, given)
        return self.fresh()

    def _line_of(self, node: cst.CSTNode) -> int:
        return self.facts_of(node).line_of(node)

    def _one_of(self, node: cst.Call, callees: Sequence[Defined], given: Sequence[Given]) -> Things:
        """Call one of several functions, or methods of one of several objects."""
        around, before, since = self.where, self.state, len(self.roots)
        ways: list[Buffers] = []
        made: list[Things] = []
        for callee in callees:
            self.state = before.copy()
            self.where = (*around, self.new_number())
            made.append(self._inlined(node, callee, given))
            ways.append(self.state)
        self.where = around
        self.state = joined(ways, around, self.roots, since) or before
        result = made[0]
        for each in made[1:]:
            result = either(result, each)
        return result

    def _wrapped(self, node: cst.Call, callee: Wrapper, given: Sequence[Given]) -> Things:
        """Call a function of another file, which donates some of what it is given."""
        what = as_called(callee, [(each.at, each.node) for each in given])
        if what is None:
            return self._unknown(node, given)
        jit = Jit("", frozenset(what.positions), frozenset(what.keywords))
        donor = Donor(jit, elsewhere=what)
        targets = self.targets
        taken = [each for each in given if each.at is not None and donor.donates(each.at)]
        self._unknown(node, [each for each in given if each not in taken])
        self.targets = targets
        if taken:
            self._donate(node, donor, taken, is_sure=True)
        if not what.returned:
            return self.fresh()
        made = {key: frozenset({of_elsewhere("", each)}) for key, each in what.returned}
        if "" in made:
            return made[""]
        part = self.root(Nature.TREE)
        self.state.parts[part.root] = {(key,): each for key, each in made.items()}
        return frozenset({part})

    def _read_in_functions(self, node: cst.Call, name: str) -> None:
        """Note what functions read of those around them that JAX calls at once: `lambda: carry`."""
        if not self.state.dead or not (name.startswith("jax.lax.") or name in TREE_MAPS):
            return
        for each in (part for given in node.args for part in elements_or_self(given.value)):
            if not isinstance(each, cst.Lambda | cst.Name) or not self.tree.contains(each):
                continue
            held = self.evaluate(each)
            only = next(iter(held)) if len(held) == 1 else None
            if isinstance(only, Defined) and only.owner is None:
                self._read_in(only)

    def _read_in(self, function: Defined) -> None:
        """Note what a function reads of the ones around it, and what it returns of them."""
        node = function.node
        scope = self.names.scope(node.body) if self.tree.contains(node) else None
        is_inner = scope is not None and self.names.scope(node) is not self.names.module_scope
        if scope is None or not is_inner or id(scope) in self.frames:
            return
        state, self.state = self.state, self.state.copy()
        self.inert += 1
        made = self._executed(None, function, [])
        self.inert -= 1
        self.state = state
        ends = [node.body] if isinstance(node, cst.Lambda) else returns_of(node, self.names)
        end = ends[0] if len(ends) == 1 else None
        result = end.value if isinstance(end, cst.Return) else end
        if made is not None and result is not None:
            self.read(result, made, deep=True)

    # -- making what can be called ----------------------------------------------------------------

    def _compiled(self, node: cst.Call, by: str) -> Things:
        jit = jit_of(by, [node], self.names, self)
        given = self._arguments(node)
        if jit is None:
            return self.fresh()
        if not given or given[0].at != 0:
            function = next((each for each in given if each.at in {"fun", "f"}), None)
            return (
                frozenset({Maker(jit)}) if function is None else self._made(Maker(jit), [function])
            )
        return self._made(Maker(jit), given)

    def _made(self, maker: Maker, given: Sequence[Given]) -> Things:
        function = given[0].things if given else NOTHING
        only = next(iter(function)) if len(function) == 1 else None
        inner = only if isinstance(only, Defined) else None
        if isinstance(only, Donor):
            # What is compiled inside of something compiled donates nothing.
            inner = only.inner
        return frozenset({Donor(maker.jit, inner)})

    def _partial(self, node: cst.Call) -> Things:
        arguments = Arguments(node)
        function = arguments.get(0, "func")
        if function is None or arguments.is_open:
            return self.fresh()
        name = self.names.qualified(function)
        if name in DONATING:
            jit = jit_of(name or "", [node], self.names, self)
            return self.fresh() if jit is None else frozenset({Maker(jit)})
        held = self.evaluate(function)
        for each in arguments.values:
            if each is not function:
                self.evaluate(each)
        given = len(arguments.positional) - 1
        if len(held) == 1:
            only = next(iter(held))
            if isinstance(only, Defined | Donor):
                return frozenset({replace(only, given=only.given + given)})
        return self.fresh()

    def decorated(self, node: cst.FunctionDef) -> Things:
        """Return what the name of a function stands for, by its decorators."""
        things: Things = frozenset({Defined(node)})
        for each in reversed(node.decorators):
            decorator = each.decorator
            called = decorator.func if isinstance(decorator, cst.Call) else decorator
            name = self.names.qualified(called)
            if name in _PLAIN_DECORATORS:
                continue
            if name in DONATING:
                calls = [decorator] if isinstance(decorator, cst.Call) else []
                jit = jit_of(name or "", calls, self.names, self)
            elif name == "functools.partial" and isinstance(decorator, cst.Call):
                function = Arguments(decorator).get(0, "func")
                by = None if function is None else self.names.qualified(function)
                if by in _PLAIN_DECORATORS:
                    continue
                is_maker = by in DONATING and by
                jit = jit_of(by, [decorator], self.names, self) if is_maker and by else None
            else:
                jit = None
            if jit is None:
                # What compiles something unknown, such as a function of `jax.shard_map`, donates.
                things = self._by_function(decorator, things) or self.fresh()
                continue
            inner = next(iter(things))
            things = frozenset({Donor(jit, inner if isinstance(inner, Defined) else None)})
        return things

    def _by_function(self, decorator: cst.BaseExpression, things: Things) -> Things:
        """Return what a decorator of the program makes that donates; else nothing."""
        is_donor = any(isinstance(each, Donor) for each in things)
        held = self.callable_in(decorator) if is_donor or isinstance(decorator, cst.Name) else ()
        only = next(iter(held)) if len(held) == 1 else None
        if isinstance(only, Maker):
            return self._made(only, [Given(0, decorator, things)])
        if not isinstance(only, Defined) or not is_donor:
            return NOTHING
        state, self.state = self.state, self.state.copy()
        self.expecting += 1
        self.inert += 1
        with self.at(only.node):
            made = self._executed(None, only, [Given(0, decorator, things)])
        self.expecting -= 1
        self.inert -= 1
        self.state = state
        is_known = made is not None and not any(isinstance(each, BufferPart) for each in made)
        return made if made is not None and is_known else NOTHING

    # -- donating ---------------------------------------------------------------------------------

    def _donate_to_one(
        self, node: cst.Call, donors: Sequence[Donor], given: Sequence[Given], *, is_sure: bool
    ) -> Things:
        """Call one of several compiled functions; which one does not depend on their order."""

        def order(donor: Donor) -> tuple[object, ...]:
            jit, inner = donor.jit, donor.inner
            line = 0 if inner is None else self._line_of(inner.node)
            return (jit.by, sorted(jit.positions), sorted(jit.keywords), jit.keeps_unused, line)

        return self._donate(node, min(donors, key=order), given, is_sure=is_sure)

    def _donate(
        self, node: cst.Call, donor: Donor, given: Sequence[Given], *, is_sure: bool
    ) -> Things:
        """Call a compiled function: it reads its arguments, and takes the buffers of some."""
        if donor.receiver is not None and isinstance(node.func, cst.Attribute):
            receiver = frozenset({donor.receiver})
            given = [Given(None, node.func.value, receiver, is_receiver=True), *given]
        taken: list[Given] = []
        others: list[Given] = []
        for each in given:
            if each.is_receiver:
                # Of a method, the object is an argument like others for Equinox alone.
                if donor.jit.first == 0:
                    self.read(each.node, each.things)
                    taken.append(each)
                continue
            at = each.at
            if at is not None and (donor.is_static(at) or not self._is_used(donor, at)):
                if is_sure:
                    self._idle(node, donor, each)
                continue
            self.read(each.node, each.things, deep=True)
            is_taken = at is not None and donor.donates(at)
            (taken if is_taken else others).append(each)
        if donor.jit.writes_back:
            # Objects get new arrays; only what is an array itself is gone.
            taken = [each for each in taken if self.nature(each.things) is Nature.ARRAY]
        self._beside = given
        if taken and not self.inert:
            known = [each for each in others if each.at is not None]
            if is_sure:
                self._check_repeats(node, donor, taken, known)
            for each in taken:
                self._take(node, donor, each, taken, is_sure=is_sure)
        if donor.inner is None:
            return self.fresh()
        result = self.outputs_of(donor.inner.node).result(donor.inner.node)
        with self.at(donor.inner.node):
            return self.fresh() if result is None else self._made_by(result)

    def _made_by(self, result: cst.BaseExpression) -> Things:
        """Return something new of the form of an expression that a compiled function returns."""
        if not isinstance(result, cst.Tuple):
            return self.fresh(self._nature_of(result))
        part = self.root(Nature.TREE)
        self.state.parts[part.root] = {
            (f"[{place}]",): self._made_by(each)
            for place, each in enumerate(elements_or_self(result))
        }
        return frozenset({part})

    def _nature_of(self, result: cst.BaseExpression) -> Nature:
        """Return ARRAY for what surely is one where it is traced: arithmetic, array functions."""
        if isinstance(result, cst.BinaryOperation | cst.Comparison):
            return Nature.ARRAY
        name = self.names.qualified(result.func) if isinstance(result, cst.Call) else None
        is_made = name is not None and name.rpartition(".")[0] in {"jax.numpy", "jax.random"}
        return Nature.ARRAY if is_made else Nature.UNKNOWN

    def _take(
        self,
        node: cst.Call,
        donor: Donor,
        each: Given,
        donated: Sequence[Given],
        *,
        is_sure: bool,
    ) -> None:
        taking = self._taking(node, donor, each, donated)
        if taking is Takeover.NEVER:
            return
        if taking is Takeover.UNLIKELY:
            if is_sure:
                self._note_idle(node, donor, each, "no output has its shape")
            return
        to, text = dotted(node.func) or "a compiled function", each.text
        is_numpy = self.is_numpy(each.node)
        if is_numpy or self.nature(each.things) is Nature.DATA:
            if is_sure and (is_numpy or each.things <= DATA):
                self._note_idle(node, donor, each, "it is not a JAX array")
            return
        self.useful.add(id(each.node))
        surety, where = self._surety_of_taking(donor, each, taking, is_sure=is_sure)

        def death(
            surety: Surety,
            where: tuple[int, ...] | None,
            among: Things | None = None,
            chosen: Surety = Surety.MAYBE,
        ) -> Death:
            stack, under, entered = self.stack, self.where, self.entered
            return Death(
                node, stack, text, to, surety, where, under, among, chosen, entered=entered
            )

        for leaf in list(self.state.leaves(each.things, self.roots)):
            if self.roots[leaf.part.root].nature is not Nature.DATA:
                self.state.kill(leaf.part, death(*self._of_leaf(leaf, taking, surety, where)))
        only = next(iter(each.things)) if len(each.things) == 1 else None
        if not isinstance(only, BufferPart) or not only.root:
            return
        if only.keys or self.roots[only.root].nature is not Nature.TREE:
            self.state.kill(only, death(surety, where))

    def _surety_of_taking(
        self, donor: Donor, each: Given, taking: Takeover, *, is_sure: bool
    ) -> tuple[Surety, tuple[int, ...] | None]:
        """Return how sure it is that a donated argument is gone, and under which conditions."""
        if not is_sure or (taking is Takeover.UNKNOWN and self.may_be_numpy(each)):
            return Surety.MAYBE, None
        surety = Surety.DEFINITE if taking is Takeover.SURE else Surety.LIKELY
        return (surety if donor.jit.is_certain else min(surety, Surety.LIKELY)), self.where

    def _of_leaf(
        self, leaf: Leaf, taking: Takeover, surety: Surety, where: tuple[int, ...] | None
    ) -> tuple[Surety, tuple[int, ...] | None, Things | None, Surety]:
        """Return how sure it is that one array of an argument is gone, under which conditions, what
        it is one of, and how sure it is where the choice among these fell on it.
        """
        found, at = surety, where
        if taking is Takeover.UNKNOWN and self.roots[leaf.part.root].nature is Nature.TREE:
            # Of its items by any key: whether the outputs take one is not known.
            found, at = Surety.MAYBE, None
        if leaf.part.root in self.state.viewed:
            found = min(found, Surety.LIKELY)
        among = leaf.alternatives if taking > Takeover.UNKNOWN else None
        if not leaf.is_one_of_several:
            return found, at, among, found
        if leaf.is_sure and likely(leaf.among) == {leaf.part}:
            return min(found, Surety.LIKELY), where, among, found
        return Surety.MAYBE, None, among, found

    # -- functions and classes of the file --------------------------------------------------------

    def _instance(self, node: cst.Call, cls: cst.ClassDef, given: Sequence[Given]) -> Things:
        part = self.root(Nature.TREE, cls=cls)
        init = self.method_named(cls, "__init__")
        if init is not None:
            self._inlined(node, Defined(init, part), given)
            return frozenset({part})
        # A record: its fields are what it is given.
        fields = self._fields(cls)
        names = [*fields]
        held: dict[Keys, Things] = {}
        for each in given:
            at = each.at
            if isinstance(at, int):
                at = names[at] if at < len(names) else None
            if at is not None:
                with self.at(cls):
                    held[(f".{at}",)] = self.declared(each.things, fields.get(at))
        self.state.parts[part.root] = held
        return frozenset({part})

    def _fields(self, cls: cst.ClassDef) -> dict[str, cst.Annotation]:
        return {
            line.target.value: line.annotation
            for statement in cls.body.body
            if isinstance(statement, cst.SimpleStatementLine)
            for line in statement.body
            if isinstance(line, cst.AnnAssign) and isinstance(line.target, cst.Name)
        }

    def class_attribute(self, cls: cst.ClassDef, name: str, owner: BufferPart | None) -> Things:
        """Return what can be called by an attribute of a class, or of its objects."""
        method = self.method_named(cls, name)
        if method is not None:
            with self.at(method):
                to = None if is_static(method, self.names) else owner
                return frozenset(self._bound_to(each, to) for each in self.decorated(method))
        key = (id(cls), f".{name}")
        if key not in self._outer:
            self._outer[key] = NOTHING
            with self.at(cls):
                self._outer[key] = self._assigned_in(cls, name) or self._inherited(cls, name)
            for base in () if self._outer[key] else self._bases_of(cls):
                self._outer[key] = self._outer[key] or self._of_base(base, cls, name)
        return self._outer[key]

    def _of_base(
        self, base: cst.ClassDef, cls: cst.ClassDef, name: str, depth: int = _MAX_DEPTH
    ) -> Things:
        """Return what can be called by an attribute that a base assigns, with methods of `cls`."""
        with self.at(base):
            found: set[Thing] = set()
            for assigned in self._assigned_by(base).get(name, ()):
                if not is_none(assigned):
                    found |= self.callable_in(assigned, cls)
        if found or not depth or name in self._fields(base):
            return frozenset(found)
        above = (self._of_base(each, cls, name, depth - 1) for each in self._bases_of(base))
        return next(filter(None, above), NOTHING)

    def _inherits_maker(self, held: Things, method: str) -> bool:
        """Return whether a method is one of a library's class that makes objects of this class."""
        only = next(iter(held)) if len(held) == 1 else None
        if not isinstance(only, OfClass) or self.method_named(only.node, method) is not None:
            return False
        with self.at(only.node):
            bases = [self.names.qualified(each.value) for each in only.node.bases]
        return any(f"{base}.{method}" in MAKING_RECORDS for base in bases)

    def _inherited(self, cls: cst.ClassDef, name: str) -> Things:
        """Return what an attribute is that a class has of one of another file."""
        if not cls.bases or name in self._assigned_by(cls):
            return NOTHING
        base = self.names.qualified(cls.bases[0].value)
        return self.elsewhere(f"{base}.{name}", is_bound=True) if base else NOTHING

    def _bound_to(self, thing: Thing, owner: BufferPart | None) -> Thing:
        if isinstance(thing, Defined) and owner is not None:
            return replace(thing, owner=owner)
        if isinstance(thing, Donor) and owner is not None:
            return replace(thing, receiver=owner)
        return thing

    def _assigned_by(self, cls: cst.ClassDef) -> dict[str, list[cst.BaseExpression]]:
        """Return what a class assigns to attributes, by their names; worked out once."""
        known = self._assigned.get(id(cls))
        if known is None:
            known = self._assigned[id(cls)] = assigned_to_attributes(cls, self.tree)
        return known

    def _assigned_in(self, cls: cst.ClassDef, name: str) -> Things:
        """Return what can be called by an attribute that the methods of a class assign."""
        found: set[Thing] = set()
        for assigned in self._assigned_by(cls).get(name, ()):
            if is_none(assigned):
                # Not made yet: nobody calls it then.
                continue
            things = self.callable_in(assigned, cls)
            if not things:
                return NOTHING
            found |= things
        return frozenset(found)

    def _inlined(self, node: cst.Call, callee: Defined, given: Sequence[Given]) -> Things:
        """Execute the function that is called."""
        if callee.given:
            given = [
                replace(each, at=each.at + callee.given) if isinstance(each.at, int) else each
                for each in given
            ]
        with self.at(callee.node):
            made = self._executed(node, callee, given)
        return self._unknown(node, given) if made is None else made

    def _executed(
        self, node: cst.Call | None, callee: Defined, given: Sequence[Given]
    ) -> Things | None:
        """Return what a function gives that is called; None where it is not executed."""
        function = callee.node
        running = {
            id(self.names.scope(function.body)) if isinstance(function, cst.FunctionDef) else 0
        }
        is_running = any(each in self.frames for each in running)
        is_lazy = isinstance(function, cst.FunctionDef) and is_generator(function, self.names)
        if len(self.stack) >= _MAX_DEPTH or is_running or is_lazy:
            return None
        scope = self.names.scope(function.body)
        kept = (self.stack, self.entered, self.where, self.targets)
        around_targets, self.targets_around = self.targets_around, self.targets
        if node is not None:
            self.stack = (*self.stack, node)
            self.entered = (*self.entered, self.new_number())
        self.targets = ()
        before = self.frames.get(id(scope))
        around = self.bind_closure(callee)
        frame = self.new_number()
        self.frames[id(scope)] = frame
        self.bind_parameters(function, callee.owner, given, frame)
        try:
            made = self.taking_along(self.execute(function), scope)
        finally:
            self.stack, self.entered, self.where, self.targets = kept
            self.targets_around = around_targets
            self.leave(scope, before)
            if around is not None:
                self.leave(around, None)
        return made


def _are_same(donors: Sequence[Donor]) -> bool:
    """Return whether compiled functions are one, made for one object or for another."""
    each = {
        replace(donor, inner=donor.inner and replace(donor.inner, owner=None)) for donor in donors
    }
    return len(each) == 1


_PLAIN_DECORATORS = frozenset({
    "builtins.classmethod", "builtins.staticmethod", "functools.wraps", "jax.checkpoint",
    "jax.custom_jvp", "jax.custom_vjp", "jax.named_call", "jax.named_scope", "jax.remat",
    "typing.no_type_check", "typing.override",
})  # fmt: skip
