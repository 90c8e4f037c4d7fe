"""What one file donates, and reads or donates again after that."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import libcst as cst

from placement_lint.jaxmodel.tracing import TraceKind
from placement_lint.placement.facts.annotations import is_plain
from placement_lint.semantic.donation.buffers import Buffers, Nature, Surety
from placement_lint.semantic.donation.expressions import OutOfStepsError
from placement_lint.semantic.donation.leading import leading, owners
from placement_lint.semantic.donation.left_gone import left_gone, readers
from placement_lint.semantic.donation.objects import MOST_FILES
from placement_lint.semantic.donation.parts import BufferPart
from placement_lint.semantic.donation.statements import DonationStatements
from placement_lint.semantic.known_types import KnownTypes
from placement_lint.semantic.own_attributes import derived_classes, derived_from
from placement_lint.semantic.tracing import TracedFunctions
from placement_lint.syntax.definitions import (
    class_named,
    class_of_method,
    class_of_receiver,
    initializer,
    method_of_class,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.semantic.donation.buffers import Death
    from placement_lint.semantic.donation.choices import Things
    from placement_lint.semantic.donation.parts import Keys
    from placement_lint.semantic.donation.readings import Idle, Reading, Repeat
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.names import Names, Scope

_MOST_PARTS = 200
"""Of a new object, in which things that are there twice are looked for."""
_MOST_LEFT = 16
"""Parts of objects that methods leave deleted, and of which it is asked who reads them."""
_MOST_HEIRS = 8
"""Classes that derive from one, with whose objects its methods are executed."""
_DEEPEST = 3
"""Attributes of attributes that are looked into."""
_SETTING = (cst.AssignTarget, cst.AugAssign, cst.Element)
_WRITTEN_OUT = re.compile(
    r"donate(?:_argnums|_argnames)?[\"']?[\s\\]{0,40}[=:][\s\\]{0,40}(?!None\b|donate)[\w(\[{\"']"
)
_TRACED = frozenset({
    TraceKind.STAGED, TraceKind.SHARDED, TraceKind.REPLAYED, TraceKind.ABSTRACT, TraceKind.VARYING,
})  # fmt: skip


class _Setting(NamedTuple):
    """A place where an attribute is set."""

    method: int
    """The method around it, as `id`."""
    source: str | None
    """The attribute of the object itself that it is set to."""
    name: str = ""
    """That of the method, if the statement is in no function inside of it."""


Aliases: TypeAlias = "dict[int, dict[Keys, Keys]]"
"""For initializers, by their place in the tree: which parts of the object are one thing."""


class _Left(NamedTuple):
    """What methods of a class leave deleted in their object, by their keys."""

    cls: cst.ClassDef
    parts: dict[Keys, list[tuple[cst.FunctionDef, Death]]]


class DonatingRun(NamedTuple):
    """One execution of a function that anyone may call."""

    owner: BufferPart | None
    """The object, of a method."""
    parameters: dict[str, BufferPart]
    returned: Things


class Donations:
    """The donations of one file, found once, whichever rule asks first."""

    def __init__(
        self, facts: ModuleFacts, *, is_executed: bool = True, aliases: Aliases | None = None
    ) -> None:
        """`is_executed`: all that may lead to a donation; else only what is asked for.

        `aliases`: what was found out of the initializers of this text, and is found out of it.
        """
        self._facts = facts
        self._tree = facts.tree
        self._run = DonationStatements(facts)
        self._run.may_interpret = is_executed and facts.fact(_donates_by_itself)
        self._setting: dict[int, dict[str, list[_Setting]]] = {}
        self._aliases: Aliases = {} if aliases is None else aliases
        self._is_executed = is_executed
        if not is_executed:
            return
        leads = self._leading
        self._run.may_follow = lambda cls: self._may_lead(cls, leads)
        try:
            self._execute()
        except OutOfStepsError:
            # What was found by then is true; what else there is stays unknown.
            self.is_complete = False
        else:
            self.is_complete = True
            self._execute_beside()

    @property
    def readings(self) -> Iterator[Reading]:
        # What one call is given twice is gone for the next one: that is no second mistake.
        refused = {id(each.call) for each in self._run.repeats.values()}
        twice = {
            (id(each.call), each.text)
            for each in self._run.repeats.values()
            if each.surety > Surety.MAYBE
        }
        read = {id(each.node): each.donation for each in self._run.readings.values()}
        for each in self._run.readings.values():
            if self._is_read_there(each):
                continue
            if any(read.get(id(whole)) is each.donation for whole in _wholes(each.node)):
                # A part of what is read there, and gone by the same donation.
                continue
            is_refused = refused & {id(each.donation), id(each.death.call)}
            if is_refused and (each.is_again or self._is_argument(each)):
                continue
            if twice & {(id(each.death.call), text) for text in (each.text, each.death.text)}:
                # The call that was given it is refused: nothing is read after it.
                continue
            if each.is_guarded and not each.is_again and id(each.node) in self._run.alive:
                # In an iteration before this one it may have been replaced.
                yield replace(each, surety=min(each.surety, Surety.LIKELY))
            else:
                yield each

    @property
    def repeats(self) -> Iterator[Repeat]:
        # Where a function does so whoever calls it, its callers are not to blame.
        own = {id(each.call) for each in self._run.repeats.values() if not each.is_of_caller}
        for each in self._run.repeats.values():
            if any(id(call) in self._run.repeats for call in each.inside):
                # It is so by what is passed there, whoever calls the function around that.
                continue
            if not (each.is_of_caller and (id(each.call) in own or self._is_said_there(each))):
                yield each

    def _is_argument(self, reading: Reading) -> bool:
        """Return whether the call that donates something is given it when it is called again."""
        read, call = reading.inner, reading.death.call
        is_here = self._tree.contains(read) and self._tree.contains(call)
        return is_here and self._tree.is_inside(read, call)

    def _is_read_there(self, reading: Reading) -> bool:
        """Return whether another file says by itself that something in it is read there."""
        facts = self._run.facts_of(reading.inner)
        if facts is self._facts:
            return False
        return id(reading.inner) in facts.fact(Donations)._run.readings

    def _is_said_there(self, repeat: Repeat) -> bool:
        """Return whether another file says by itself that a call of it donates something twice."""
        facts = self._run.facts_of(repeat.call)
        if facts is self._facts:
            return False
        return any(each.call is repeat.call for each in facts.fact(Donations).repeats)

    @property
    def idle(self) -> Iterator[Idle]:
        for at, each in self._run.idle.items():
            if at not in self._run.useful and self._run.is_own(each.node):
                yield each

    def death(self, node: cst.CSTNode) -> Death | None:
        """Return what deleted the thing that a name stands for, where it is read."""
        return self._run.seen.get(id(node))

    # -- what is executed -------------------------------------------------------------------------

    def _execute(self) -> None:
        worth_it = self._leading
        if not worth_it:
            return
        module = self._tree.module
        functions = [each for each in self._tree.every(cst.FunctionDef) if id(each) in worth_it]
        if id(module) in worth_it:
            self._begin()
            self._run.frames[id(self._facts.names.module_scope)] = self._run.new_number()
            self._run.block(module)
        left: dict[int, _Left] = {}
        for function in functions:
            for of in () if self.is_traced(function) else (None, *self._heirs(function)):
                owner = self.call(function, of=of).owner
                cls = None if owner is None else self._run.roots[owner.root].cls
                if owner is None or cls is None:
                    continue
                one = left.setdefault(id(cls), _Left(cls, {}))
                for keys, death in left_gone(owner, self._run.state):
                    one.parts.setdefault(keys, []).append((function, death))
        every = [(cls, keys, ways) for cls, parts in left.values() for keys, ways in parts.items()]
        for cls, keys, ways in every[:_MOST_LEFT]:
            self._read_elsewhere(cls, keys, ways)

    def _read_elsewhere(
        self, cls: cst.ClassDef, keys: Keys, ways: list[tuple[cst.FunctionDef, Death]]
    ) -> None:
        """Execute the methods that read what others of the same class have left deleted."""
        if id(cls) in self._facts.fact(derived_classes):
            return
        leaving, death = [function for function, _ in ways], ways[0][1]
        gone = replace(
            death, surety=Surety.LIKELY, where=(), under=(), among=None, chosen=Surety.MAYBE
        )
        for function in readers(cls, keys[0][1:], leaving, self._facts):
            if not self.is_traced(function):
                self.call(function, gone=(keys, gone))

    def _execute_beside(self) -> None:
        """Execute what other files of a small program do with objects of this one.

        What one method leaves deleted, and another one reads, is known to those who call both.
        """
        siblings, run = self._facts.siblings, self._run
        if not 1 < len(siblings) <= MOST_FILES or not self._leading:
            return
        before = ({*run.readings}, {*run.repeats}, {*run.idle})
        with contextlib.suppress(OutOfStepsError):
            for _, facts in sorted(siblings.items()):
                if facts is not self._facts:
                    self._call_entries(facts)
        # What is read elsewhere is said there, or by whoever calls that.
        for at in run.readings.keys() - before[0]:
            if not run.is_own(run.readings[at].inner):
                del run.readings[at]
        for at in run.repeats.keys() - before[1]:
            if not (run.is_own(run.repeats[at].call) and run.is_own(run.repeats[at].node)):
                del run.repeats[at]
        for at in run.idle.keys() - before[2]:
            del run.idle[at]

    def _call_entries(self, facts: ModuleFacts) -> None:
        """Execute what another file does with objects of this one."""
        for function in facts.fact(_entries):
            self._run.add_file(facts)
            with self._run.in_file(facts):
                self._begin()
                self._call_entry(function)

    def _call_entry(self, function: cst.FunctionDef | cst.Module) -> None:
        run, scope = self._run, self._run.names.module_scope
        if isinstance(function, cst.Module):
            run.frames[id(scope)] = run.new_number()
            run.block(function)
            return
        frame = run.frames[id(run.names.scope(function.body))] = run.new_number()
        params = function.params
        for param in (*params.posonly_params, *params.params, *params.kwonly_params):
            run.state.names[frame, param.name.value] = frozenset({self._given(param)})
        for star in (params.star_arg, params.star_kwarg):
            if isinstance(star, cst.Param):
                run.state.names[frame, star.name.value] = run.fresh()
        run.execute(function)

    def _begin(self) -> None:
        run = self._run
        run.state = Buffers()
        run.frames = {}
        run.stack = run.entered = run.where = run.targets = ()
        run.inert = run.expecting = run.cautious = 0

    def is_traced(self, function: cst.FunctionDef) -> bool:
        traced = self._facts.fact(TracedFunctions)
        first = function.body
        return (
            traced.around(first, _TRACED) is not None
            or traced.only_from(first, _TRACED) is not None
        )

    @property
    def asked(self) -> set[str]:
        """The parameters of the function called last that say what is donated."""
        return self._run.asked

    @property
    def flags(self) -> set[str]:
        """The parameters of which conditions asked, in what was called last, whether they hold."""
        return self._run.flags

    @property
    def state(self) -> Buffers:
        """What is known where the execution has got to."""
        return self._run.state

    def outside(self, name: str, scope: Scope) -> Things:
        """Return what a name of a scope stands for, whose code was executed before."""
        return self._run.from_outside(name, scope)

    def of_class(self, cls: cst.ClassDef, attribute: str) -> Things:
        """Return what can be called by an attribute of a class."""
        return self._run.class_attribute(cls, attribute, None)

    def call(
        self,
        function: cst.FunctionDef,
        *,
        by_default: bool = False,
        flags: dict[str, cst.Name] | None = None,
        gone: tuple[Keys, Death] | None = None,
        of: cst.ClassDef | None = None,
    ) -> DonatingRun:
        """Execute a function as anyone may call it.

        `by_default`: who leaves out what has a default, but for `flags`, which are literals.
        `gone`: a part of the object, whose method it is, that something else has deleted before.
        `of`: the object is of this class, which derives from that of the method.
        """
        aliases = self._same_at_first(function)
        self._begin()
        run, names = self._run, self._facts.names
        frame = run.new_number()
        run.frames[id(names.scope(function.body))] = frame
        run.asked.clear()
        run.flags.clear()
        if by_default:
            run.assume_defaults(function, frame, flags or {})
        params = [*function.params.posonly_params, *function.params.params]
        given: dict[str, BufferPart] = {}
        owner = self._owner(function, of)
        if owner is not None and params:
            run.state.names[frame, params[0].name.value] = frozenset({owner})
            params = params[1:]
            run.state.parts[owner.root] = {
                keys: frozenset({owner.at(*others)}) for keys, others in aliases.items()
            }
            if gone is not None:
                run.state.dead[owner.root] = dict([gone])
        for param in (*params, *function.params.kwonly_params):
            name = param.name.value
            given[name] = self._given(param)
            run.state.names[frame, name] = frozenset({given[name]})
        for star in (function.params.star_arg, function.params.star_kwarg):
            if isinstance(star, cst.Param):
                run.state.names[frame, star.name.value] = run.fresh()
        return DonatingRun(owner, given, run.execute(function))

    def _given(self, param: cst.Param) -> BufferPart:
        """Return what anyone may give for a parameter: an object of the class that it names."""
        run = self._run
        if is_plain(param.annotation, run.names):
            return run.root(Nature.DATA)
        named = None if param.annotation is None else param.annotation.annotation
        cls = class_named(named, run.names)
        is_base = cls is not None and id(cls) in run.facts.fact(derived_classes)
        if cls is None and named is not None:
            cls = run.class_said(run.facts.fact(KnownTypes).annotated(named))
        return run.root(cls=None if is_base else cls)

    def _heirs(self, function: cst.FunctionDef) -> list[cst.ClassDef]:
        """Return the classes of the file that have a method of a base, and set what it calls of its
        object: `self.step(x)` of an abstract class.
        """
        cls = class_of_method(function, self._facts.names)
        below = [] if cls is None else [*derived_from(cls, self._facts)][:_MOST_HEIRS]
        if cls is None or not below:
            return []
        called = {
            each.func.attr.value
            for each in self._tree.every(cst.Call, below=function.body)
            if isinstance(each.func, cst.Attribute)
            and class_of_receiver(each.func.value, self._facts.names) is cls
        } - self._set_by(cls).keys()
        return [
            each
            for each in below
            if not called.isdisjoint(self._set_by(each))
            and method_of_class(each, function.name.value, self._facts.names) is function
        ]

    def _may_lead(self, cls: cst.ClassDef, own: set[int]) -> bool:
        """Return whether a method of a class may lead to a donation. `own`: those of this file."""
        facts = self._run.facts_of(cls)
        found = own if facts is self._facts else facts.fact(_leading_of)
        return any(id(each) in found for each in facts.tree.every(cst.FunctionDef, below=cls))

    def _owner(
        self, function: cst.FunctionDef, of: cst.ClassDef | None = None
    ) -> BufferPart | None:
        """Return an object whose method a function is, perhaps of a class that derives from its."""
        suite = self._tree.parent(function)
        cls = None if suite is None else self._tree.parent(suite)
        if not isinstance(cls, cst.ClassDef):
            return None
        decorators = {self._facts.names.qualified(each.decorator) for each in function.decorators}
        if decorators & {"builtins.staticmethod", "builtins.classmethod"}:
            return None
        return self._run.root(Nature.UNKNOWN, cls=of or cls)

    def _same_at_first(self, function: cst.FunctionDef) -> dict[Keys, Keys]:
        """Return which parts of a new object are one thing, when a method is called first.

        `self.target = self.params` in the initializer, or `self.nets = Nets(params, params)`, where
        no other method than this one sets either of them to anything but the other: a target
        network that begins as the parameters themselves.
        """
        cls = self._facts.names.scope(function).node
        init = None if not isinstance(cls, cst.ClassDef) else initializer(cls, self._facts.names)
        if init is None or init is function or not isinstance(cls, cst.ClassDef):
            return {}

        def is_set_once(keys: Keys, to: Keys) -> bool:
            name = keys[0][1:]
            alike = {name, to[0][1:]} if len(keys) == len(to) == 1 else set()
            others = [each for each in self._settings(cls, name) if each.method != id(function)]
            first = [each for each in others if each.method == id(init) or not each.method]
            return len(first) == 1 and all(each in first or each.source in alike for each in others)

        same = {
            keys: others
            for keys, others in self._aliases_after(init).items()
            if is_set_once(keys, others) and is_set_once(others, keys)
        }
        # What is in a part that is another one is there by that: it is not in the object twice.
        return {
            keys: others
            for keys, others in same.items()
            if not any(keys[:count] in same for count in range(1, len(keys)))
        }

    def _aliases_after(self, init: cst.FunctionDef) -> dict[Keys, Keys]:
        """Return the parts of an object that are one thing once its initializer has made it."""
        place = self._tree.index(init)
        known = self._aliases.get(place)
        if known is not None:
            return known
        self._aliases[place] = {}
        owner = self.call(init).owner
        found: dict[Keys, Keys] = {}
        if owner is not None:
            first: dict[BufferPart, Keys] = {}
            for keys, part in self._parts_of(owner):
                if first.setdefault(part, keys) != keys:
                    found[keys] = first[part]
        self._aliases[place] = found
        return found

    def _parts_of(self, owner: BufferPart) -> Iterator[tuple[Keys, BufferPart]]:
        """Yield what an object surely holds and may be a buffer, each with the keys to it."""
        pending: list[tuple[Keys, BufferPart]] = [((), owner)]
        state, roots = self._run.state, self._run.roots
        for _ in range(_MOST_PARTS):
            if not pending:
                return
            above, part = pending.pop()
            if above:
                yield above, part
            if len(above) == _DEEPEST:
                continue
            count = len(part.keys)
            for keys, held in state.parts.get(part.root, {}).items():
                only = next(iter(held)) if len(held) == 1 else None
                if (
                    keys[:count] == part.keys
                    and len(keys) == count + 1
                    and isinstance(only, BufferPart)
                    and roots[only.root].nature is not Nature.DATA
                    and not any(key[1:2] == "*" for key in only.keys)
                ):
                    pending.append(((*above, keys[-1]), only))

    def _settings(self, cls: cst.ClassDef, attribute: str) -> Iterator[_Setting]:
        """Yield where methods of a class, and of those that it derives from, set an attribute.

        Those of a base that another method has replaced run only where that one calls them. Its
        initializer does so for a new object: such a setting has no method here.
        """
        run = self._run
        yield from self._set_by(cls).get(attribute, ())
        for base in run.lineage(cls)[1:]:
            for each in self._set_by(base).get(attribute, ()):
                if each.name == "__init__":
                    yield each._replace(method=0)
                elif not each.name or id(run.method_named(cls, each.name)) == each.method:
                    yield each

    def _set_by(self, cls: cst.ClassDef) -> dict[str, list[_Setting]]:
        """Return where the methods of a class set an attribute of something."""
        known = self._setting.get(id(cls))
        if known is None:
            known = self._setting[id(cls)] = {}
            facts = self._run.facts_of(cls)
            tree = facts.tree
            for attribute in tree.every(cst.Attribute, below=cls):
                target = tree.parent(attribute)
                if not isinstance(target, _SETTING):
                    continue
                owner = tree.around(attribute, cst.FunctionDef)
                assign = tree.parent(target) if isinstance(target, cst.AssignTarget) else None
                source = None
                if isinstance(assign, cst.Assign) and len(assign.targets) == 1:
                    source = _own_name(assign.value, facts.names)
                is_method = owner is not None and facts.names.scope(owner).node is cls
                name = owner.name.value if owner is not None and is_method else ""
                setting = _Setting(id(owner), source, name)
                known.setdefault(attribute.attr.value, []).append(setting)
        return known

    # -- what is worth it -------------------------------------------------------------------------

    @cached_property
    def _leading(self) -> set[int]:
        """Return the functions that may lead to a donation, and the module, as `id`."""
        run = self._run
        return leading(
            self._facts,
            self._owners,
            donating=run.donating,
            carried=run.carried,
            methods=_methods_beside(self._facts) if self._is_executed else frozenset(),
        )

    @cached_property
    def _owners(self) -> list[int]:
        return owners(self._tree)


def _donates_by_itself(facts: ModuleFacts) -> bool:
    """Return whether a file writes out what is donated, and does not only hand that on.

    A library's own wrappers hand it on, and to execute those takes long.
    """
    return _WRITTEN_OUT.search(facts.text) is not None


def _leading_of(facts: ModuleFacts) -> set[int]:
    """Return what may lead to a donation in a file, as far as that file is asked alone."""
    return Donations(facts, is_executed=False)._leading


def _methods_beside(facts: ModuleFacts) -> frozenset[str]:
    """Return the names of methods of other files of a small program that may lead to a donation."""
    siblings = facts.siblings
    others = [each for each in siblings.values() if each is not facts]
    if not 1 < len(siblings) <= MOST_FILES:
        return frozenset()
    return frozenset[str]().union(*(each.fact(_leading_methods) for each in others))


def _leading_methods(facts: ModuleFacts) -> frozenset[str]:
    worth_it = facts.fact(_leading_of)
    return frozenset(
        each.name.value
        for each in facts.tree.every(cst.FunctionDef)
        if id(each) in worth_it and isinstance(facts.names.scope(each).node, cst.ClassDef)
    ) - {"__init__"}


def _entries(facts: ModuleFacts) -> list[cst.FunctionDef | cst.Module]:
    """Return what others may begin to execute of a file that may lead to a donation.

    The functions at its top, and the module itself.
    """
    donations = Donations(facts, is_executed=False)
    worth_it = donations._leading
    found: list[cst.FunctionDef | cst.Module] = [
        each
        for each in facts.tree.every(cst.FunctionDef)
        if id(each) in worth_it
        and facts.names.scope(each) is facts.names.module_scope
        and not donations.is_traced(each)
    ]
    return [*([facts.tree.module] if id(facts.tree.module) in worth_it else []), *found]


def _wholes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield what an expression is a part of: `state.params` and `state`, of `state.params["w"]`."""
    while isinstance(node, cst.Attribute | cst.Subscript):
        node = node.value
        yield node


def _own_name(node: cst.BaseExpression, names: Names) -> str | None:
    """Return the name of an attribute of the object whose method the code is in."""
    is_own = isinstance(node, cst.Attribute) and class_of_receiver(node.value, names) is not None
    return node.attr.value if isinstance(node, cst.Attribute) and is_own else None
