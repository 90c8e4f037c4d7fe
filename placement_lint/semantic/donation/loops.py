"""Loops: what holds after so many iterations, some of which may be left early."""

from __future__ import annotations

import sys
from abc import abstractmethod
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.donation.buffers import (
    Buffers,
    carried,
)
from placement_lint.semantic.donation.contexts import DonationContexts
from placement_lint.semantic.donation.loop_counts import least_iterations, use_up
from placement_lint.semantic.donation.meetings import joined, less_sure, maybe_skipped
from placement_lint.semantic.donation.parts import BufferPart
from placement_lint.syntax.calls import integer_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from placement_lint.semantic.donation.choices import Things
    from placement_lint.semantic.model import ModuleFacts

_MOST_OBJECTS = 4
"""Objects of a list, for each of which the body of a loop is executed."""
_MOST_NESTED = 2
"""Loops in one another that are executed more than once in each iteration of the outer one."""


class Loop:
    """What leaves the body of a loop, or begins it again."""

    def __init__(self) -> None:
        self.continued: list[Buffers] = []
        self.broken: list[Buffers] = []


class DonationLoops(DonationContexts):
    """The loops of one file, whose bodies are executed as often as that finds more."""

    def __init__(self, facts: ModuleFacts) -> None:
        """Take the file."""
        super().__init__(facts)
        self.loops: list[Loop] = []
        """The loops around what is executed now, in the same function."""

    @abstractmethod
    def block(self, body: cst.BaseSuite | cst.Module) -> bool:
        """Execute statements; return whether a way leads to their end."""

    def go_on(
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
        objects = self._objects_in(iterated, node) or self.functions_in(node, iterated)
        if objects:
            return self._each(node, objects)
        least, number = least_iterations(node.iter), self.new_number()
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
        is_endless = truth(node.test) is True

        def begin() -> None:
            self.evaluate(node.test)
            self.ask_whether_deleted(node.test)

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
        loop = Loop()
        self.loops.append(loop)
        self.iterations.append(0)
        self.bodies.append(len(around) + 1)
        was_second, was_third = self.is_second, self.is_third
        ended: list[Buffers] = []
        is_deep = was_second and len(self.iterations) > _MOST_NESTED
        for number in range(1 if is_deep or is_once or least == -1 else 3):
            if number == 2 and (least == 2 or not self._is_newly_gone(ended)):
                break
            self.is_second = was_second or number > 0
            self.is_third = number > 1
            self.iterations[-1] = number
            begin()
            self.where = (*around, id(node))
            loop.continued = []
            ways = [self.state] if self.block(node.body) else []
            self.where = around
            # The states of both ways are this loop's own.
            if not self.go_on([*ways, *loop.continued]):
                break
            ended.append(self.state.copy())
            if loop.continued and isinstance(node, cst.For):
                body = (*around, id(node))
                self.state = carried(self.state, loop.continued, around, body, self.roots)
            if loop.broken:
                # It may be left in each iteration: there may be no other one.
                self.state = less_sure(self.state, entered)
        self.is_second, self.is_third = was_second, was_third
        self.loops.pop()
        self.iterations.pop()
        self.bodies.pop()
        if is_endless:
            return self.go_on(loop.broken)
        if not ended and not loop.broken:
            # It leaves the function in its first iteration, if it has one.
            self.state = entered
            return least <= 0 and self._orelse(node)
        going_on = self.go_on(self._exits(ended, entered, since, least))
        if going_on:
            going_on = self._orelse(node)
        return self.go_on([*([self.state] if going_on else []), *loop.broken])

    def _exits(
        self, ended: list[Buffers], entered: Buffers, since: int, least: int
    ) -> list[Buffers]:
        """Return what may hold where a loop ends that has at least so many iterations.

        `ended`: what holds after each of the first ones; `since`: how many things there were when
        it was entered.
        """
        exits = ended
        if least > 1 and len(ended) > 1:
            exits = ended[min(least, len(ended)) - 1 :]
        if least <= 0:
            # That there is no iteration, or but one, is possible; most loops have several.
            going_through = ended[-1] if ended else entered
            for earlier in (*reversed(ended[:-1]), entered):
                going_through = maybe_skipped(going_through, earlier, self.roots, since, self._kept)
            exits = [going_through]
        return exits

    def _is_newly_gone(self, ended: list[Buffers]) -> bool:
        """Return whether the second iteration left something gone that a third one may use."""
        first, second = [{*each.named_gone(self.roots)} for each in ended[:2]]
        return not second <= first

    def _orelse(self, node: cst.For | cst.While) -> bool:
        return True if node.orelse is None else self.block(node.orelse.body)


def truth(node: cst.BaseExpression) -> bool | None:
    """Return which way a test of a literal goes; None for what is no literal."""
    if isinstance(node, cst.Name):
        return {"True": True, "False": False, "TYPE_CHECKING": False}.get(node.value)
    number = integer_value(node)
    return None if number is None else bool(number)
