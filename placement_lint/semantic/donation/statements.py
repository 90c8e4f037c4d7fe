"""Statements, one after the other, on every way through a function."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from placement_lint.semantic.donation.buffers import (
    OF_PRESENCE,
    Buffers,
    Surety,
    undecided,
)
from placement_lint.semantic.donation.callables import Defined, Donor, OfClass
from placement_lint.semantic.donation.choices import without
from placement_lint.semantic.donation.deletion_questions import is_deletion_asked
from placement_lint.semantic.donation.expressions import DATA, item_key
from placement_lint.semantic.donation.loops import DonationLoops, truth
from placement_lint.semantic.donation.meetings import joined
from placement_lint.semantic.donation.readings import text_of
from placement_lint.semantic.enclosing import catches
from placement_lint.semantic.file_view import FileView
from placement_lint.semantic.leaving import never_returns
from placement_lint.syntax.definitions import PROPERTIES, class_named, class_of_receiver
from placement_lint.syntax.dotted import dotted, said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from placement_lint.semantic.donation.choices import Things
    from placement_lint.semantic.donation.parts import BufferPart
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.definitions import Function

_MAX_SNAPSHOTS = 32
"""Points of a `try` from which its handlers may be reached."""
_MOST_STEPS = 4
"""Names and attributes that lead to what says a class."""
_EXPECTING = frozenset({
    "contextlib.suppress", "pytest.raises", "pytest.warns", "absl.testing.absltest.raises",
})  # fmt: skip
_EXPECTING_METHODS = frozenset({"assertRaises", "assertRaisesRegex", "raises", "subTest"})
_KEEPING = frozenset({"builtins.dict", "builtins.list", "builtins.tuple", "flax.nnx.merge"})
_ERRORS_OF_JAX = frozenset({
    "JaxRuntimeError", "RuntimeError", "ValueError", "XlaRuntimeError",
})  # fmt: skip


_DELETED = frozenset({"builtins.RuntimeError", "builtins.ValueError"})


class DonationStatements(DonationLoops):
    """The execution of the functions of one file."""

    def __init__(self, facts: ModuleFacts) -> None:
        """Take the file."""
        super().__init__(facts)
        self.given = {}
        self._returned: list[tuple[Buffers, Things]] = []
        self._snapshots: list[list[Buffers]] = []

    # -- functions --------------------------------------------------------------------------------

    def class_attribute(self, cls: cst.ClassDef, name: str, owner: BufferPart | None) -> Things:
        method = self.method_named(cls, name)
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
        kept = self.loops, self._returned, self._snapshots
        self.loops, self._returned, self._snapshots = [], [], []
        ended = self.block(function.body)
        returned = self._returned
        self.loops, self._returned, self._snapshots = kept
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
                and never_returns(node.value, FileView(self.facts_of(node.value)))
            )
        if isinstance(node, cst.Assign):
            self.assign_value(node.value, [each.target for each in node.targets])
        elif isinstance(node, cst.AnnAssign):
            if node.value is not None:
                self.assign_value(node.value, [node.target])
        elif isinstance(node, cst.AugAssign):
            self.augment(node)
        elif isinstance(node, cst.Return):
            held = DATA if node.value is None else self.evaluate(node.value)
            if node.value is not None and not self.stack:
                for each in self._handed_out(node.value):
                    self._hand_out(each, held if each is node.value else self.evaluate(each))
            self._returned.append((self.state, held))
            return False
        elif isinstance(node, cst.Raise):
            if node.exc is not None:
                self.evaluate(node.exc)
            return False
        elif isinstance(node, cst.Break | cst.Continue):
            if self.loops:
                loop = self.loops[-1]
                (loop.broken if isinstance(node, cst.Break) else loop.continued).append(self.state)
            return False
        elif isinstance(node, cst.Del):
            self.delete(node.target)
        elif isinstance(node, cst.Assert):
            self.evaluate(node.test)
            if not is_deletion_asked(node.test):
                # What goes on is not deleted: `assert is_alive(x)`.
                self.ask_whether_deleted(node.test)
        return True

    def _handed_out(
        self, node: cst.BaseExpression
    ) -> Iterator[cst.Attribute | cst.Name | cst.Subscript]:
        """Yield what is returned as it is: by itself, or in tuples, lists and dicts."""
        pending = [node]
        while pending:
            part = pending.pop()
            if isinstance(part, cst.Attribute | cst.Name) or (
                isinstance(part, cst.Subscript) and item_key(part) not in {None, "[:part]"}
            ):
                yield part
            elif isinstance(part, cst.Tuple | cst.List | cst.Dict):
                pending += [each.value for each in reversed(part.elements)]
            elif isinstance(part, cst.Call) and self.names.qualified(part.func) in _KEEPING:
                pending += [each.value for each in reversed(part.args)]

    def _hand_out(self, node: cst.Attribute | cst.Name | cst.Subscript, held: Things) -> None:
        """Read what was donated by the name by which a function returns it that nobody calls here.

        Else it is read by who does; and what a loop donates is reported there.
        """
        function = self.tree.around(node, cst.FunctionDef)
        # Of an object whose parts are known, these are gone.
        found = (self.state.gone(held, self.where), *self._gone_inside(held))
        gone = max(filter(None, found), key=lambda each: each.surety, default=None)
        if gone is None or function is None:
            return
        value = self.names.sole_value(node) if isinstance(node, cst.Name) else None
        # `kept = state["kept"]`, behind the donation: what is returned is that.
        names = {name for each in (node, value) if each is not None for name in self._wholes(each)}
        if gone.death.text not in names:
            return
        call = gone.death.call
        is_here = self.tree.contains(call) and not any(
            isinstance(each, cst.For | cst.While) for each in self.tree.ancestors(call)
        )
        if is_here and function.name.value not in self.facts.fact(_called):
            self.read(node, held, Surety.LIKELY, deep=True)

    def _wholes(self, node: cst.BaseExpression) -> set[str]:
        """Return by which dotted names something may be donated of which an expression is a part,
        or all.
        """
        names = {text_of(node), dotted(node)}
        if isinstance(node, cst.Attribute) and self._is_leaf(node):
            names.add(dotted(node.value))
        return names - {""}

    def _is_leaf(self, node: cst.Attribute) -> bool:
        """Return whether an attribute is a field of the class that the text says."""
        cls = self._class_said(node.value)
        return cls is not None and node.attr.value in self._fields(cls)

    def _class_said(
        self, node: cst.BaseExpression, steps: int = _MOST_STEPS
    ) -> cst.ClassDef | None:
        """Return the class of the file of which the text says that something is an object."""
        if not steps or not self.tree.contains(node):
            return None
        if isinstance(node, cst.Call):
            return class_named(node.func, self.names)
        if isinstance(node, cst.Attribute):
            own = class_of_receiver(node.value, self.names)
            cls = own or self._class_said(node.value, steps - 1)
            return None if cls is None else self._class_of_part(cls, node.attr.value, steps - 1)
        if not isinstance(node, cst.Name):
            return None
        given = self.names.sole_definition(node)
        if isinstance(given, cst.Param):
            said = given.annotation
            return None if said is None else class_named(said.annotation, self.names)
        bound = self.names.sole_value(node)
        return None if bound is None else self._class_said(bound, steps - 1)

    def _class_of_part(self, cls: cst.ClassDef, name: str, steps: int) -> cst.ClassDef | None:
        """Return the class of the file that the objects of a class have an object of by a name."""
        said = self._fields(cls).get(name)
        if said is not None:
            return class_named(said.annotation, self.names)
        assigned = self._assigned_by(cls).get(name, [])[:_MOST_STEPS]
        found = {self._class_said(each, steps) for each in assigned}
        return found.pop() if len(found) == 1 else None

    # -- compound statements ----------------------------------------------------------------------

    def if_(self, node: cst.If) -> bool:
        self.evaluate(node.test)
        self.ask_whether_deleted(node.test)
        decided = truth(node.test)
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
        return self.go_on(ways, since=since)

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

    def with_(self, node: cst.With) -> bool:
        expecting = inert = 0
        for item in node.items:
            self.evaluate(item.item)
            made = item.item
            name = self.names.qualified(made.func) if isinstance(made, cst.Call) else None
            method = ""
            if isinstance(made, cst.Call) and isinstance(made.func, cst.Attribute):
                method = made.func.attr.value
            expecting += name in _EXPECTING or method in _EXPECTING_METHODS
            inert += name in {"jax.disable_jit", "chex.fake_jit", "chex.fake_pmap"}
            if item.asname is not None:
                self.bind(item.asname.name, self.entered_of(made) or self.fresh())
        before = self.state.copy() if expecting else None
        self.expecting += expecting
        self.inert += inert
        ended = self.block(node.body)
        self.expecting -= expecting
        self.inert -= inert
        if before is not None:
            return self.go_on([*([self.state] if ended else []), before], None)
        return ended

    def try_(self, node: cst.Try | cst.TryStar) -> bool:
        names = [name for handler in node.handlers for name in _caught(handler)]
        expects = bool(_ERRORS_OF_JAX & set(names)) or self._may_expect(node)
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
        going_on = self.go_on(ways, None)
        if node.finalbody is not None:
            if not going_on:
                self.state = (raised or self.state).copy()
            return self.block(node.finalbody.body) and going_on
        return going_on

    def _may_expect(self, node: cst.Try | cst.TryStar) -> bool:
        """Return whether a name says what is caught that may stand for what JAX raises."""
        kinds = [each.type for each in node.handlers if isinstance(each.type, cst.Name)]
        if not kinds:
            return False
        view = FileView(self.facts)
        return any(catches(each, view, _DELETED) for each in node.handlers if each.type in kinds)

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
        return self.go_on([*ways, *([] if is_complete else [before])], since=since)

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


def _called(facts: ModuleFacts) -> frozenset[str]:
    """Return the last parts of the names that a file calls."""
    return frozenset(
        said(each.func)
        for each in facts.tree.every(cst.Call)
        if isinstance(each.func, cst.Attribute | cst.Name)
    )


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
