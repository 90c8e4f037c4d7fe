"""Statements, one after the other, on every way through a function."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from placement_lint.jaxmodel.donation import LEAVING, SHARING
from placement_lint.semantic.donation.buffers import (
    OF_PRESENCE,
    Buffers,
    Nature,
    carried,
    undecided,
)
from placement_lint.semantic.donation.callables import Defined, Donor, OfClass
from placement_lint.semantic.donation.calls import DonationCalls
from placement_lint.semantic.donation.choices import NOTHING, Choice, without
from placement_lint.semantic.donation.expressions import DATA, is_list, item_key
from placement_lint.semantic.donation.libraries import Given
from placement_lint.semantic.donation.meetings import joined, less_sure, maybe_skipped
from placement_lint.semantic.donation.parts import BufferPart, container_of
from placement_lint.semantic.donation.readings import given_to
from placement_lint.semantic.donation.turns import least_turns, use_up
from placement_lint.syntax.calls import Arguments, integer_value
from placement_lint.syntax.definitions import PROPERTIES
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from placement_lint.semantic.donation.choices import Thing, Things
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.definitions import Function

_MOST_OBJECTS = 4
"""Objects of a list, for each of which the body of a loop is executed."""
_MOST_NESTED = 2
"""Loops in one another that are executed more than once in each iteration of the outer one."""
_MAX_SNAPSHOTS = 32
"""Points of a `try` from which its handlers may be reached."""
_EXPECTING = frozenset({
    "contextlib.suppress", "pytest.raises", "pytest.warns", "absl.testing.absltest.raises",
})  # fmt: skip
_EXPECTING_METHODS = frozenset({"assertRaises", "assertRaisesRegex", "raises", "subTest"})
_ERRORS_OF_JAX = frozenset({
    "JaxRuntimeError", "RuntimeError", "ValueError", "XlaRuntimeError",
})  # fmt: skip


class _Loop:
    """What leaves the body of a loop, or begins it again."""

    def __init__(self) -> None:
        self.continued: list[Buffers] = []
        self.broken: list[Buffers] = []


class DonationStatements(DonationCalls):
    """The execution of the functions of one file."""

    def __init__(self, facts: ModuleFacts) -> None:
        """Take the file."""
        super().__init__(facts)
        self.given = {}
        self._loops: list[_Loop] = []
        self._returned: list[tuple[Buffers, Things]] = []
        self._snapshots: list[list[Buffers]] = []

    # -- functions --------------------------------------------------------------------------------

    def class_attribute(self, cls: cst.ClassDef, name: str, owner: BufferPart | None) -> Things:
        method = self._method_named(cls, name)
        if method is None or owner is None or not self._is_property(method):
            return super().class_attribute(cls, name, owner)
        state, self.state = self.state, self.state.copy()
        self.expecting += 1
        self.inert += 1
        with self.at(method):
            made = self._executed(None, Defined(method, owner), [])
        self.expecting -= 1
        self.inert -= 1
        self.state = state
        # Only what can be called outlives the execution.
        is_known = made is not None and all(isinstance(each, Donor) for each in made)
        return made if made is not None and is_known else super().class_attribute(cls, name, owner)

    def _is_property(self, method: cst.FunctionDef) -> bool:
        with self.at(method):
            each = [self.names.qualified(decorator.decorator) for decorator in method.decorators]
        return len(each) == 1 and each[0] in PROPERTIES

    def execute(self, function: Function) -> Things:
        """Execute the body of a function, whose parameters are bound; return what it gives."""
        if isinstance(function, cst.Lambda):
            return self.evaluate(function.body)
        kept = self._loops, self._returned, self._snapshots
        self._loops, self._returned, self._snapshots = [], [], []
        ended = self.block(function.body)
        returned = self._returned
        self._loops, self._returned, self._snapshots = kept
        if ended:
            returned.append((self.state, DATA))
        # What it gives is met like what a name stands for.
        result = (self.new_number(), "return")
        ways = [replace(state, names={**state.names, result: held}) for state, held in returned]
        self.state = joined(ways, self.where, self.roots) or self.state
        held = self.state.names.pop(result, DATA)
        # One that may also end without a result is called for the result.
        return without(held, DATA) if ended and len(held) > 1 else held

    # -- blocks -----------------------------------------------------------------------------------

    def block(self, body: cst.BaseSuite | cst.Module) -> bool:
        """Execute statements; return whether a way leads to their end."""
        every: Iterable[cst.CSTNode] = body.body
        for statement in every:
            self.step()
            if not self.statement(statement):
                return False
            if self._snapshots and len(self._snapshots[-1]) < _MAX_SNAPSHOTS:
                self._snapshots[-1].append(self.state.copy())
        return True

    def statement(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.SimpleStatementLine):
            return all(self.small(each) for each in node.body)
        if isinstance(node, cst.BaseSmallStatement):
            # On the line of what it is the body of: `if done: break`.
            return self.small(node)
        method = _COMPOUND.get(type(node))
        return True if method is None else method(self, node)

    def small(self, node: cst.BaseSmallStatement) -> bool:
        if isinstance(node, cst.Expr):
            self.evaluate(node.value)
            return not (
                isinstance(node.value, cst.Call)
                and self.names.qualified(node.value.func) in LEAVING
            )
        if isinstance(node, cst.Assign):
            self._assign(node.value, [each.target for each in node.targets])
        elif isinstance(node, cst.AnnAssign):
            if node.value is not None:
                self._assign(node.value, [node.target])
        elif isinstance(node, cst.AugAssign):
            self._augment(node)
        elif isinstance(node, cst.Return):
            held = DATA if node.value is None else self.evaluate(node.value)
            self._returned.append((self.state, held))
            return False
        elif isinstance(node, cst.Raise):
            if node.exc is not None:
                self.evaluate(node.exc)
            return False
        elif isinstance(node, cst.Break | cst.Continue):
            if self._loops:
                loop = self._loops[-1]
                (loop.broken if isinstance(node, cst.Break) else loop.continued).append(self.state)
            return False
        elif isinstance(node, cst.Del):
            self._delete(node.target)
        elif isinstance(node, cst.Assert):
            self.evaluate(node.test)
        return True

    # -- assignments ------------------------------------------------------------------------------

    def _assign(self, value: cst.BaseExpression, targets: Sequence[cst.BaseExpression]) -> None:
        self.targets = tuple(name for target in targets for name in _texts(target))
        held = self.evaluate(value)
        self.targets = ()
        for target in targets:
            self.given = given_to(target, value)
            self.bind(target, held)
        self.given = {}

    def _augment(self, node: cst.AugAssign) -> None:
        held = self.evaluate(node.target)
        given = self.evaluate(node.value)
        if isinstance(node.operator, cst.BitOrAssign) and self.nature(held) is not Nature.ARRAY:
            self.update_items(held, [Given(0, node.value, given)])
            if self.nature(held) is Nature.TREE:
                return
        elif Nature.TREE not in {self.nature(held), self.nature(given)}:
            self.read(node.target, held)
            self.read(node.value, given)
        self.bind(node.target, self.fresh(self.nature(held)))

    def bind(self, target: cst.BaseExpression, held: Things) -> None:
        """Assign to a target."""
        held = self.restored(target, held) if self.given else held
        self.keep(held)
        if isinstance(target, cst.Name):
            if self.tree.contains(target):
                owner = self.names.owner(target.value, self.names.scope(target))
                frame = self.frames.get(id(owner)) if owner is not None else None
                if owner is not None and frame is None:
                    frame = self.frames.setdefault(id(owner), self.new_number())
                name = (frame or 0, target.value)
                self.state.names[name] = held
                is_gone = self.state.death_of(held, self.where) is not None
                (self.late.add if is_gone else self.late.discard)(name)
        elif isinstance(target, cst.Tuple | cst.List):
            self._unpack(target, held)
        elif isinstance(target, cst.StarredElement):
            self.bind(target.value, self.fresh())
        elif isinstance(target, cst.Attribute):
            self.set_parts(self.evaluate(target.value), f".{target.attr.value}", held)
        elif isinstance(target, cst.Subscript):
            owners = self.evaluate(target.value)
            for each in target.slice:
                self._index(each.slice)
            key = item_key(target)
            if key is not None and key.startswith("[-"):
                key = self._from_front(owners, int(key[1:-1]))
            if key is None or key.startswith("[:"):
                self._store_somewhere(owners, held)
            else:
                self.set_parts(owners, key, held)

    def _from_front(self, owners: Things, at: int) -> str | None:
        """Return the key of an item that is counted from the end."""
        only = next(iter(owners)) if len(owners) == 1 else None
        entries = self.state.entries(only, self.roots) if isinstance(only, BufferPart) else None
        if entries is None or not is_list(entries) or -at > len(entries):
            return None
        return f"[{len(entries) + at}]"

    def _unpack(self, target: cst.Tuple | cst.List, held: Things) -> None:
        is_open = any(isinstance(each, cst.StarredElement) for each in target.elements)
        nature = self.nature(held)
        for place, each in enumerate(target.elements):
            if is_open or nature in {Nature.ARRAY, Nature.DATA}:
                self.bind(
                    each.value, self.fresh(nature if nature is Nature.ARRAY else Nature.UNKNOWN)
                )
                continue
            given = self.parts(
                held,
                f"[#{place}]",
                lambda thing, place=place: self._at(thing, place, len(target.elements)),  # type: ignore[misc]
            )
            self.bind(each.value, given)

    def _at(self, thing: Thing, place: int, count: int) -> Things:
        """Return the item at a place of a container, which is taken apart into so many."""
        if not isinstance(thing, BufferPart):
            return NOTHING
        entries = self.state.entries(thing, self.roots)
        if entries is not None and len(entries) == count:
            return [*entries.values()][place]
        return self.state.load(thing.at(f"[{place}]"), self.roots) if thing.root else DATA

    def _store_somewhere(self, owners: Things, held: Things) -> None:
        for part in owners:
            if isinstance(part, BufferPart) and part.root:
                self.state.overwrite(container_of(part), self.roots, self.fresh)
                self.state.set_part(part.at(self.new_key()), held)

    def _delete(self, target: cst.BaseExpression) -> None:
        if isinstance(target, cst.Tuple | cst.List):
            for each in target.elements:
                self._delete(each.value)
        elif isinstance(target, cst.Name) and self.tree.contains(target):
            owner = self.names.owner(target.value, self.names.scope(target))
            if owner is not None and id(owner) in self.frames:
                self.state.names.pop((self.frames[id(owner)], target.value), None)
        elif isinstance(target, cst.Subscript | cst.Attribute):
            self.bind(target, self.fresh())

    # -- compound statements ----------------------------------------------------------------------

    def if_(self, node: cst.If) -> bool:
        self.evaluate(node.test)
        self._ask_whether_deleted(node.test)
        decided = _truth(node.test)
        if decided is None:
            decided = self.holds(node.test)
        present = self._present(node.test)
        around, before, since = self.where, self.state.copy(), len(self.roots)
        ways: list[Buffers] = []
        sign = 1 if present is None else OF_PRESENCE
        if decided is not False:
            self.where = (*around, sign * self.new_number())
            if present is True:
                self._is_present(node.test)
            if self.block(node.body):
                ways.append(self.state)
        self.state = before
        if decided is not True:
            self.where = (*around, sign * self.new_number())
            if present is False:
                self._is_present(node.test)
            orelse = node.orelse
            ended = True
            if isinstance(orelse, cst.If):
                ended = self.if_(orelse)
            elif orelse is not None:
                ended = self.block(orelse.body)
            if ended:
                ways.append(self.state)
        self.where = around
        if len(ways) == 1 and decided is None:
            ways = [undecided(ways[0])]
        return self._go_on(ways, since=since)

    def _present(self, test: cst.BaseExpression) -> bool | None:
        """Return which way something is there: `x is not None`; None where that is not asked."""
        target = test.comparisons[0] if isinstance(test, cst.Comparison) else None
        if target is None or not isinstance(target.comparator, cst.Name):
            return None
        left = test.left if isinstance(test, cst.Comparison) else None
        if target.comparator.value != "None" or not isinstance(left, cst.Attribute | cst.Name):
            return None
        if isinstance(target.operator, cst.Is | cst.IsNot):
            return isinstance(target.operator, cst.IsNot)
        return None

    def _is_present(self, test: cst.BaseExpression) -> None:
        """Know that a variable is not None: of several things, none that has no buffer."""
        name = test.left if isinstance(test, cst.Comparison) else None
        if isinstance(name, cst.Name) and self.tree.contains(name):
            held = self.lookup(name.value, self.names.scope(name))
            owner = self.names.owner(name.value, self.names.scope(name))
            frame = None if owner is None else self.frames.get(id(owner))
            if frame is not None and len(held) > 1 and held & DATA:
                self.state.names[frame, name.value] = without(held, DATA)

    def _ask_whether_deleted(self, test: cst.BaseExpression) -> None:
        """Know nothing more of the deletion of what a condition asks for: `x.is_deleted()`."""
        for call in (test, *self.tree.every(cst.Call, below=test)):
            method = call.func if isinstance(call, cst.Call) else None
            if isinstance(method, cst.Attribute) and method.attr.value == "is_deleted":
                for part in self.evaluate(method.value):
                    if isinstance(part, BufferPart) and part.root:
                        self.state.forget(part)

    def _go_on(
        self,
        ways: Iterable[Buffers | None],
        where: tuple[int, ...] | None = (),
        since: int = sys.maxsize,
    ) -> bool:
        """Go on with what holds on all these ways; return whether there is one."""
        met = joined(ways, self.where if where == () else where, self.roots, since)
        if met is not None:
            self.state = met
        return met is not None

    def for_(self, node: cst.For) -> bool:
        iterated = self.evaluate(node.iter)
        objects = self._objects_in(iterated, node)
        if objects:
            return self._each(node, objects)
        least, number = least_turns(node.iter), self.new_number()
        only = next(iter(iterated)) if len(iterated) == 1 else None
        entries = self.state.entries(only, self.roots) if isinstance(only, BufferPart) else None
        if entries is not None and len(entries) == 1:
            least = -1

        def begin() -> None:
            self.bind(node.target, self.next_element(node.iter, iterated, number))

        is_going_on = self._loop(node, begin, least=least, is_endless=False)
        frame = self.frames.get(id(self.names.scope(node)))
        if is_going_on and frame is not None:
            use_up(node, self.state, frame, self.where, self.names)
        return is_going_on

    def _objects_in(self, iterated: Things, node: cst.For) -> list[Things]:
        """Return the objects of a list that is written out, for which a loop calls methods in turn.

        Callbacks, as a rule. Nothing where there are more, or other things, or it may end early.
        """
        only = next(iter(iterated)) if len(iterated) == 1 else None
        entries = self.state.entries(only, self.roots) if isinstance(only, BufferPart) else None
        items = [] if entries is None else [*entries.values()]
        if not 0 < len(items) <= _MOST_OBJECTS or node.orelse is not None:
            return []
        is_left = any(True for _ in self.tree.every(cst.Break, below=node.body))
        are_objects = all(
            len(held) == 1
            and isinstance(each := next(iter(held)), BufferPart)
            and not each.keys
            and self.roots[each.root].cls is not None
            for held in items
        )
        return items if are_objects and not is_left else []

    def _each(self, node: cst.For, objects: Sequence[Things]) -> bool:
        """Execute the body of a loop once for each of some objects."""
        for each in objects:

            def begin(each: Things = each) -> None:
                self.bind(node.target, each)

            if not self._loop(node, begin, least=1, is_endless=False, is_once=True):
                return False
        return True

    def while_(self, node: cst.While) -> bool:
        is_endless = _truth(node.test) is True

        def begin() -> None:
            self.evaluate(node.test)

        return self._loop(node, begin, least=0, is_endless=is_endless)

    def _loop(
        self,
        node: cst.For | cst.While,
        begin: Callable[[], None],
        *,
        least: int,
        is_endless: bool,
        is_once: bool = False,
    ) -> bool:
        around = self.where
        entered, since = self.state.copy(), len(self.roots)
        loop = _Loop()
        self._loops.append(loop)
        self.turns.append(0)
        self.bodies.append(len(around) + 1)
        was_second, was_third = self.is_second, self.is_third
        ended: list[Buffers] = []
        is_going_on = True
        is_deep = was_second and len(self.turns) > _MOST_NESTED
        for turn in range(1 if is_deep or is_once or least == -1 else 3):
            if turn == 2 and (least == 2 or not self._is_newly_gone(ended)):
                break
            self.is_second = was_second or turn > 0
            self.is_third = turn > 1
            self.turns[-1] = turn
            begin()
            self.where = (*around, id(node))
            loop.continued = []
            ways = [self.state] if self.block(node.body) else []
            self.where = around
            # The states of both ways are this loop's own.
            is_going_on = self._go_on([*ways, *loop.continued])
            if not is_going_on:
                break
            ended.append(self.state.copy())
            if loop.continued and isinstance(node, cst.For):
                body = (*around, id(node))
                self.state = carried(self.state, loop.continued, around, body, self.roots)
            if loop.broken:
                # It may be left in each iteration: there may be no other one.
                self.state = less_sure(self.state, entered)
        self.is_second, self.is_third = was_second, was_third
        self._loops.pop()
        self.turns.pop()
        self.bodies.pop()
        if is_endless:
            return self._go_on(loop.broken)
        exits = list(ended)
        if not exits and not loop.broken:
            # It leaves the function in its first iteration, if it has one.
            self.state = entered
            return least <= 0 and self._orelse(node)
        if least > 1 and len(ended) > 1:
            exits = ended[min(least, len(ended)) - 1 :]
        if least <= 0:
            # That there is no iteration, or but one, is possible; most loops have several.
            going_through = ended[-1] if ended else entered
            for earlier in (*reversed(ended[:-1]), entered):
                going_through = maybe_skipped(going_through, earlier, self.roots, since)
            exits = [going_through]
        going_on = self._go_on(exits)
        if going_on:
            going_on = self._orelse(node)
        return self._go_on([*([self.state] if going_on else []), *loop.broken])

    def _is_newly_gone(self, ended: list[Buffers]) -> bool:
        """Return whether the second iteration left something gone that a third one may use."""
        first, second = [{*each.named_gone(self.roots)} for each in ended[:2]]
        return not second <= first

    def _orelse(self, node: cst.For | cst.While) -> bool:
        return True if node.orelse is None else self.block(node.orelse.body)

    def with_(self, node: cst.With) -> bool:
        expecting = inert = 0
        for item in node.items:
            held = self.evaluate(item.item)
            made = item.item
            name = self.names.qualified(made.func) if isinstance(made, cst.Call) else None
            method = ""
            if isinstance(made, cst.Call) and isinstance(made.func, cst.Attribute):
                method = made.func.attr.value
            expecting += name in _EXPECTING or method in _EXPECTING_METHODS
            inert += name in {"jax.disable_jit", "chex.fake_jit", "chex.fake_pmap"}
            if item.asname is not None:
                target = item.asname.name
                del held
                self.bind(target, self.fresh())
        before = self.state.copy() if expecting else None
        self.expecting += expecting
        self.inert += inert
        ended = self.block(node.body)
        self.expecting -= expecting
        self.inert -= inert
        if before is not None:
            return self._go_on([*([self.state] if ended else []), before], None)
        return ended

    def try_(self, node: cst.Try | cst.TryStar) -> bool:
        names = [name for handler in node.handlers for name in _caught(handler)]
        expects = bool(_ERRORS_OF_JAX & set(names))
        cautious = bool({"Exception", "BaseException", ""} & set(names))
        snapshots = [self.state.copy()]
        self._snapshots.append(snapshots)
        self.expecting += expects
        self.cautious += cautious
        ended = self.block(node.body)
        self.expecting -= expects
        self.cautious -= cautious
        self._snapshots.pop()
        normal = self.state if ended else None
        if ended and node.orelse is not None:
            normal = self.state if self.block(node.orelse.body) else None
        raised = joined([each.copy() for each in snapshots], None, self.roots)
        ways = [normal]
        around = self.where
        for handler in node.handlers:
            self.state = (raised or self.state).copy()
            self.where = (*around, self.new_number())
            if handler.name is not None:
                self.bind(handler.name.name, DATA)
            ways.append(self.state if self.block(handler.body) else None)
        self.where = around
        going_on = self._go_on(ways, None)
        if node.finalbody is not None:
            if not going_on:
                self.state = (raised or self.state).copy()
            return self.block(node.finalbody.body) and going_on
        return going_on

    def match(self, node: cst.Match) -> bool:
        self.evaluate(node.subject)
        around, before, since = self.where, self.state, len(self.roots)
        ways: list[Buffers] = []
        is_complete = False
        for case in node.cases:
            self.state = before.copy()
            self.where = (*around, self.new_number())
            for name in self.tree.every(cst.MatchAs, below=case):
                if name.name is not None:
                    self.bind(name.name, self.fresh())
            if case.guard is not None:
                self.evaluate(case.guard)
            is_any = isinstance(case.pattern, cst.MatchAs) and case.pattern.pattern is None
            is_complete |= is_any and case.guard is None
            if self.block(case.body):
                ways.append(self.state)
        self.where = around
        return self._go_on([*ways, *([] if is_complete else [before])], since=since)

    def function(self, node: cst.FunctionDef) -> bool:
        owner = self.names.owner(node.name.value, self.names.scope(node))
        if owner is not None and id(owner) in self.frames:
            self.state.names[self.frames[id(owner)], node.name.value] = self.decorated(node)
        return True

    def class_(self, node: cst.ClassDef) -> bool:
        owner = self.names.owner(node.name.value, self.names.scope(node))
        if owner is not None and id(owner) in self.frames:
            self.state.names[self.frames[id(owner)], node.name.value] = frozenset({OfClass(node)})
        scope = self.names.scope(node.body)
        self.frames[id(scope)] = self.new_number()
        self.block(node.body)
        return True

    # -- iteration --------------------------------------------------------------------------------

    def element(self, node: cst.BaseExpression, held: Things) -> Things:
        """Return what iterating over an expression gives."""
        if isinstance(node, cst.Call):
            name = self.names.qualified(node.func)
            arguments = Arguments(node).positional
            if name == "builtins.range":
                return DATA
            if name == "builtins.enumerate" and arguments:
                return self._pair(DATA, self.element(arguments[0], self._again(arguments[0])))
            if name == "builtins.zip":
                # Two of them may be of one thing: `zip(rows, rows[1:])`.
                self.drawing = 0
                every = [self.element(each, self._again(each)) for each in arguments]
                return self._row(every)
            method = node.func.attr.value if isinstance(node.func, cst.Attribute) else ""
            if method == "items":
                return self._pair(DATA, self._drawn(held))
            if method == "keys":
                return DATA
        return self._drawn(held)

    def _again(self, node: cst.BaseExpression) -> Things:
        """Return what an expression stands for that was evaluated before."""
        is_shared = (
            isinstance(node, cst.Call) and (self.names.qualified(node.func) or "") in SHARING
        )
        if is_shared or isinstance(node, cst.Name | cst.Attribute):
            return self.evaluate(node)
        return self.fresh()

    def _pair(self, first: Things, second: Things) -> Things:
        return self._row([first, second])

    def _row(self, every: Sequence[Things]) -> Things:
        part = self.root(Nature.TREE)
        self.state.parts[part.root] = {(f"[{place}]",): each for place, each in enumerate(every)}
        return frozenset({part})

    def _items(self, part: BufferPart) -> list[Things]:
        """Return what is in a container that is written out."""
        entries = self.state.entries(part, self.roots)
        if entries is not None:
            return [*entries.values()]
        root = self.roots[part.root]
        found = [*self._known_items(part).values()]
        if root.nature is Nature.TREE and root.base is None:
            return found
        rare = frozenset().union(*found)
        some = self._any_item(part)
        return [Choice(some | rare, rare) if rare else some]

    def _known_items(self, part: BufferPart) -> dict[str, Things]:
        """Return what was assigned to items of a container, or of those that it is a copy of."""
        base = self.roots[part.root].base
        found = {} if base is None or part.keys else self._known_items(base)
        count = len(part.keys)
        for keys, held in self.state.parts.get(part.root, {}).items():
            if keys[:count] == part.keys and len(keys) == count + 1:
                found[keys[count]] = held
        return found

    def _drawn(self, held: Things) -> Things:
        if not any(isinstance(each, BufferPart) and each.root for each in held):
            return self.fresh(is_foreign=True)
        if self.nature(held) is Nature.ARRAY:
            return self.fresh(Nature.ARRAY)
        return self.parts(held, self.new_key(), self._item_of)

    def _item_of(self, thing: Thing) -> Things:
        if not isinstance(thing, BufferPart) or not thing.root:
            return NOTHING
        every = self._items(thing)
        if not every:
            return self._any_item(thing)
        return every[0] if len(every) == 1 else Choice(frozenset().union(*every))

    def _any_item(self, part: BufferPart) -> Things:
        return self.state.load(part.at(self.drawn_key()), self.roots)


def _texts(target: cst.BaseExpression) -> list[str]:
    """Return the dotted names in a target."""
    if isinstance(target, cst.Tuple | cst.List):
        return [text for each in target.elements for text in _texts(each.value)]
    text = dotted(target)
    return [text] if text else []


def _truth(node: cst.BaseExpression) -> bool | None:
    if isinstance(node, cst.Name):
        return {"True": True, "False": False, "TYPE_CHECKING": False}.get(node.value)
    number = integer_value(node)
    return None if number is None else bool(number)


def _caught(handler: cst.ExceptHandler | cst.ExceptStarHandler) -> list[str]:
    """Return the last parts of the names of the errors that a handler is for; "" for all."""
    kind = handler.type
    if kind is None:
        return [""]
    every = [each.value for each in kind.elements] if isinstance(kind, cst.Tuple) else [kind]
    return [(dotted(each) or "?").rpartition(".")[2] for each in every]


_COMPOUND: dict[type, Callable[[DonationStatements, Any], bool]] = {
    cst.If: DonationStatements.if_,
    cst.For: DonationStatements.for_,
    cst.While: DonationStatements.while_,
    cst.With: DonationStatements.with_,
    cst.Try: DonationStatements.try_,
    cst.TryStar: DonationStatements.try_,
    cst.Match: DonationStatements.match,
    cst.FunctionDef: DonationStatements.function,
    cst.ClassDef: DonationStatements.class_,
}
