"""Execution of statements: where ways part and meet, and which default device is in force."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import libcst as cst

from placement_lint.placement.domain import values
from placement_lint.placement.domain.state import State, meet, variable
from placement_lint.placement.domain.values import (
    DOUBTFUL,
    NONE,
    UNKNOWN,
    Array,
    Value,
    join,
    sole,
    value,
)
from placement_lint.placement.engine.entered_contexts import EnteredContexts
from placement_lint.placement.engine.frames import Yielded
from placement_lint.placement.engine.loop_states import (
    LoopExits,
    LoopHead,
    are_equal,
    are_under_the_same,
)
from placement_lint.placement.engine.patterns import bind_pattern, matched
from placement_lint.placement.engine.typed_objects import as_stated
from placement_lint.syntax.import_statements import modules_named, names_bound

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from placement_lint.placement.domain.state import Variable
    from placement_lint.placement.engine.frames import Frame
    from placement_lint.placement.engine.protocols import Interpreter
    from placement_lint.placement.engine.supposition import Supposition
    from placement_lint.placement.facts.module import Module

    _Executor = Callable[["Statements", Any, State], State | None]

_MAX_RAISING = 64
_MAX_LAST_BLOCKS = 3
"""`finally` blocks inside one another that run for each way on which they are reached: as after an
error, behind a `return`, and at the end. Each multiplies the work."""
_MAX_UNROLLED = 2
"""Loops around one that is executed item by item: each multiplies the work."""
_MAX_ROUNDS = 12
"""Rounds after which a loop that still changes is given up on: its variables become unknown."""


class Statements:
    """Executes one body: a module's, a class's or a function's."""

    def __init__(self, program: Interpreter, module: Module) -> None:
        self.program = program
        self.module = module
        self.names = module.names
        self.expressions = program.expressions(module)
        self._loops: list[LoopExits] = []
        self._heads: dict[int, LoopHead] = {}
        """Of the loops within the one that is executed, by their bodies."""
        self._unsettled = False
        """Whether one of these is to be executed again."""
        self._raised: list[State | None] = []
        self._guarded: list[list[State | None]] = []
        """For each `try` around: the states in which its body may raise."""
        self._last_blocks = 0
        """How many `finally` blocks are around."""
        self._exits: list[State | None] = []
        """The states in which the function returns before its end."""

    def raised(self) -> State | None:
        """Return the state in which the body may leave by an exception of its own."""
        return meet(self._raised)

    def function_body(self, node: cst.FunctionDef, state: State, frame: Frame) -> State | None:
        """Execute a function's body; give the state in which its caller goes on."""
        around, entered = tuple(state.alternatives()), state.meshes
        after = self.suite(node.body, state)
        if after is not None and not self.module.is_generator(node):
            frame.returns.append(NONE)
        if self.module.is_generator(node) and not frame.yields:
            frame.yields.append(Yielded(around, entered, UNKNOWN))
        return meet([after, *self._exits])

    # -- blocks -----------------------------------------------------------------------------

    def suite(self, suite: cst.BaseSuite, state: State) -> State | None:
        return self.block(suite.body, state)

    def block(self, statements: Sequence[cst.CSTNode], state: State) -> State | None:
        """Execute statements in order; None where none of the ways comes to the end."""
        current: State | None = state
        executors = _executors()
        for statement in statements:
            if current is None:
                return None
            executor = executors.get(type(statement))
            if executor is None and isinstance(statement, cst.SimpleStatementLine):
                current = self.block(statement.body, current)
            elif executor is not None:
                current = executor(self, statement, current)
                if current is not None and current.suspended:
                    return None
                if self._guarded and current is not None:
                    # What comes next may raise.
                    self._guarded[-1].append(current.copy())
        return current

    # -- small statements ---------------------------------------------------------------------

    def expression(self, node: cst.Expr, state: State) -> State:
        self.expressions.evaluate(node.value, state)
        supposed = self.program.supposed
        if supposed is not None and supposed.rebinds:
            self._rebind(node.value, supposed, state)
        return state

    def _rebind(self, node: cst.BaseExpression, supposed: Supposition, state: State) -> None:
        place = self.module.place(node)
        if place not in supposed.committed or not isinstance(node, cst.Call):
            return
        given = node.args[0].value if self.names.qualified(node.func) else node.func
        target = given.value if isinstance(given, cst.Attribute) and given is node.func else given
        if isinstance(target, cst.Name | cst.Attribute | cst.Subscript):
            held = supposed.rebound(place, self.expressions.evaluate(target, state))
            self.expressions.targets.assign(target, held, state)

    def assign(self, node: cst.Assign, state: State) -> State:
        held = self.expressions.evaluate(node.value, state)
        if any(isinstance(target.target, cst.Name) for target in node.targets):
            held = self.expressions.targets.bound(node.value, held, state)
        for target in node.targets:
            self._assign_target(target.target, node.value, held, state)
        return state

    def _assign_target(
        self, target: cst.CSTNode, source: cst.BaseExpression, held: Value, state: State
    ) -> None:
        if isinstance(target, cst.Tuple | cst.List):
            arrays = frozenset(atom for atom in held if isinstance(atom, Array))
            if arrays:
                row = self.expressions.iteration.iterated(source, held, state)
                if not all(isinstance(atom, Array | values.Sequence) for atom in held):
                    row |= UNKNOWN
                for element in target.elements:
                    is_starred = isinstance(element, cst.StarredElement)
                    part = value(values.Sequence(None, row)) if is_starred else row
                    self.expressions.targets.assign(element.value, part, state)
                return
            if (
                isinstance(source, cst.Tuple | cst.List)
                and len(source.elements) == len(target.elements)
                and not any(
                    isinstance(element, cst.StarredElement)
                    for element in (*source.elements, *target.elements)
                )
            ):
                self._assign_pairs(target, source, held, state)
                return
        self.expressions.targets.assign(target, held, state)

    def _assign_pairs(
        self, target: cst.Tuple | cst.List, source: cst.Tuple | cst.List, held: Value, state: State
    ) -> None:
        """Bind each name of `a, b = x, y` to its own expression."""
        only = sole(held)
        items = only.items if isinstance(only, values.Sequence) else None
        for position, element in enumerate(target.elements):
            part = items[position] if items else UNKNOWN
            expression = source.elements[position].value
            if isinstance(element.value, cst.Name):
                part = self.expressions.targets.bound(expression, part, state)
            self._assign_target(element.value, expression, part, state)

    def annotated(self, node: cst.AnnAssign, state: State) -> State:
        if node.value is not None:
            held = self.expressions.evaluate(node.value, state)
            held = as_stated(self.expressions, node.annotation.annotation, held, state)
            if isinstance(node.target, cst.Name):
                held = self.expressions.targets.bound(node.value, held, state)
            self.expressions.targets.assign(node.target, held, state)
        return state

    def augmented(self, node: cst.AugAssign, state: State) -> State:
        """`x += value`, which for an array is `x = x + value`."""
        self.expressions.targets.augmented(node, state)
        return state

    def assert_(self, node: cst.Assert, state: State) -> State:
        self.expressions.evaluate(node.test, state)
        if node.msg is not None:
            self.expressions.evaluate(node.msg, state)
        return state

    def del_(self, node: cst.Del, state: State) -> State:
        pending: list[cst.CSTNode] = [node.target]
        while pending:
            target = pending.pop()
            if isinstance(target, cst.Name):
                owner = self.expressions.targets.owner_of(target)
                state.variables[variable(owner, target.value)] = UNKNOWN
            elif isinstance(target, cst.Subscript):
                self.expressions.targets.delete_item(target, state)
            elif isinstance(target, cst.Tuple | cst.List):
                pending += [element.value for element in target.elements]
        return state

    def _cell(self, node: cst.FunctionDef, state: State) -> State:
        """Execute a cell of a marimo notebook, which runs as the top of a module does."""
        before = state.copy()
        body = node.body.body
        last = body[-1] if body else None
        if isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Return):
            body = body[:-1]
        return self.block(body, state) or before

    def return_(self, node: cst.Return, state: State) -> None:
        held = NONE if node.value is None else self.expressions.evaluate(node.value, state)
        if self.expressions.subscripts.surely_raises(node.value):
            self._raised.append(state)
            return
        frame = self.program.functions.frame
        if frame is not None:
            frame.returns.append(held)
            self._exits.append(state)

    def raise_(self, node: cst.Raise, state: State) -> None:
        self._raised.append(state)
        if node.exc is not None:
            self.expressions.evaluate(node.exc, state)
        if node.cause is not None:
            self.expressions.evaluate(node.cause.item, state)

    def break_(self, node: cst.Break, state: State) -> None:
        if self._loops:
            self._loops[-1].breaks.append(state)

    def continue_(self, node: cst.Continue, state: State) -> None:
        if self._loops:
            self._loops[-1].continues.append(state)

    def import_(self, node: cst.Import | cst.ImportFrom, state: State) -> State:
        """`import m`, `from m import x`: runs the modules of the program that nobody has run."""
        for name in modules_named(node):
            self.program.run_import(self.module, name, state)
        scope = self.names.scope(node)
        for name, qualified in names_bound(node):
            owner = self.names.owner(name, scope)
            if owner is not None and len(owner.bindings[name]) > 1:
                # Which of them holds depends on the way: `except ImportError`.
                held = self.program.linking.imported(self.module, qualified, state)
                # The other one is to do the same.
                state.variables[variable(owner, name)] = DOUBTFUL if held == UNKNOWN else held
        return state

    # -- definitions --------------------------------------------------------------------------

    def function(self, node: cst.FunctionDef, state: State) -> State | None:
        """`def f(…)`: its defaults and decorators run now, its body when it is called."""
        if id(node) in self.names.cells:
            return self._cell(node, state)
        for decorator in node.decorators:
            self.expressions.evaluate(decorator.decorator, state)
        params = node.params
        for param in (*params.posonly_params, *params.params, *params.kwonly_params):
            if param.default is not None:
                self.expressions.evaluate(param.default, state)
        held = self.program.linking.defined(self.module, node)
        if held == UNKNOWN:
            held = self.expressions.calls.objects.decorated(node, state)
        owner = self.names.scope(node)
        if node.name.value in owner.global_names:
            owner = self.names.module_scope
        state.variables[variable(owner, node.name.value)] = held
        return state

    def class_(self, node: cst.ClassDef, state: State) -> State:
        """`class C(…)`: its body runs now."""
        for argument in (*node.bases, *node.keywords):
            self.expressions.evaluate(argument.value, state)
        loops, self._loops = self._loops, []
        after = self.suite(node.body, state)
        self._loops = loops
        state = state if after is None else after
        held = self.expressions.calls.objects.decorated_class(node, state)
        state.variables[variable(self.names.scope(node), node.name.value)] = held
        self.program.classes.registered(self.module.place(node), state)
        return state

    # -- branches -----------------------------------------------------------------------------

    def if_(self, node: cst.If, state: State) -> State | None:
        """`if` … `elif` … `else`, without recursion for a long chain."""
        ends: list[State | None] = []
        current: cst.If | cst.Else | None = node
        while isinstance(current, cst.If):
            self.expressions.evaluate(current.test, state)
            branch = state.copy()
            if self.expressions.operators.narrow(current.test, branch, holds=True):
                ends.append(self.suite(current.body, branch))
            if not self.expressions.operators.narrow(current.test, state, holds=False):
                return meet(ends)
            current = current.orelse
        if current is not None:
            ends.append(self.suite(current.body, state.copy()))
        else:
            ends.append(state)
        return meet(ends)

    def match(self, node: cst.Match, state: State) -> State | None:
        """`match`: any case that may match, or none."""
        on = self.expressions
        subject = node.subject if isinstance(node.subject, cst.Name) else None
        left = on.evaluate(node.subject, state) or UNKNOWN
        ends: list[State | None] = []
        for case in node.cases:
            taken, rest = matched(on, case.pattern, left, state)
            if not taken:
                continue
            branch = state.copy()
            if subject is not None and taken != left:
                on.targets.assign(subject, taken, branch)
            bind_pattern(on, case, case.pattern, taken, branch)
            is_sure = True
            if case.guard is not None:
                on.evaluate(case.guard, branch)
                is_sure = not on.operators.narrow(case.guard, branch.copy(), holds=False)
                if not on.operators.narrow(case.guard, branch, holds=True):
                    continue
            ends.append(self.suite(case.body, branch))
            if is_sure:
                left = rest
                if not left:
                    return meet(ends)
                if subject is not None and rest != taken:
                    on.targets.assign(subject, left, state)
        return meet([*ends, state])

    # -- loops --------------------------------------------------------------------------------

    def for_(self, node: cst.For, state: State) -> State | None:
        held = self.expressions.evaluate(node.iter, state)
        if len(self._loops) < _MAX_UNROLLED and node.asynchronous is None:
            axes = self.module.makes_shardings(node.body)
            iteration = self.expressions.iteration
            items = iteration.each(node.iter, iteration.of_view(held, state), state, axes=axes)
            if items is None and axes:
                items = iteration.meshes_of(node.target, node.iter, [node.body], state)
            if items is not None:
                return self._item_by_item(node, items, state)
        with self.expressions.loop():
            element = self.expressions.iteration.iterated(node.iter, held, state)
        entry = state.copy()

        def begin(branch: State) -> State:
            more = self.expressions.iteration.grown(held, branch, entry)
            given = element
            if more != held:
                with self.expressions.loop():
                    given = self.expressions.iteration.iterated(node.iter, more, branch)
            self.expressions.targets.assign(node.target, given, branch)
            return branch

        runs = self.expressions.iteration.has_items(node.iter, held)

        def at_end(branch: State) -> State:
            self.expressions.targets.replace_items(node, held, branch)
            return branch

        end = at_end if runs else None
        return self._loop(begin, node, state, ends=True, runs=runs, at_end=end)

    def _item_by_item(self, node: cst.For, items: tuple[Value, ...], state: State) -> State | None:
        """Execute the body of a loop once for each item, in order."""
        current: State | None = state
        breaks: list[State | None] = []
        for item in self.expressions.iteration.rounds(items):
            if current is None:
                break
            loop = LoopExits(repeats=False)
            self._loops.append(loop)
            with self.expressions.loop(repeats=False):
                self.expressions.targets.assign(node.target, item, current)
                after = self.suite(node.body, current)
            self._loops.pop()
            breaks += loop.breaks
            current = meet([after, *loop.continues])
        if current is not None and node.orelse is not None:
            current = self.suite(node.orelse.body, current)
        return meet([current, *breaks])

    def while_(self, node: cst.While, state: State) -> State | None:

        def begin(branch: State, *, holds: bool = True) -> State:
            self.expressions.evaluate(node.test, branch)
            self.expressions.operators.narrow(node.test, branch, holds=holds)
            return branch

        def end(branch: State) -> State:
            return begin(branch, holds=False)

        endless = isinstance(node.test, cst.Name) and node.test.value == "True"
        # The test is evaluated once more than the body: what it binds holds after the loop.
        return self._loop(begin, node, state, ends=not endless, at_end=end)

    def _loop(
        self,
        begin: Callable[[State], State],
        node: cst.For | cst.While,
        state: State,
        *,
        ends: bool,
        runs: bool = False,
        at_end: Callable[[State], State] | None = None,
    ) -> State | None:
        """Execute a loop until what holds at its head no longer changes; `runs`: at least once.

        One within a loop is executed once in each round of that, and begins with what held in the
        round before: otherwise each loop would double those in it. What no iteration reads of the
        ones before it makes no difference to the next one.
        """
        body, orelse = node.body, node.orelse
        entered = state.copy()
        head = self._head_of(body, entered)
        after: State | None = None
        loop = LoopExits()
        unsettled = self._unsettled
        is_inner = any(around.repeats for around in self._loops)
        for round_number in range(_MAX_ROUNDS):
            self._unsettled = False
            loop, after = self._round(begin, body, head)
            joined = meet([head, after, *loop.continues])
            if not self._unsettled:
                if joined is None or are_equal(joined, head):
                    break
                if (ends or not loop.breaks) and self._differ_in_vain(node, joined, head):
                    head = joined
                    break
            if round_number == _MAX_ROUNDS - 2 and joined is not None:
                self._give_up(joined, head, [after, *loop.continues])
            head = joined or head
            if is_inner:
                unsettled = True
                break
        self._unsettled = unsettled
        if is_inner:
            self._heads[id(body)] = LoopHead.of(head, entered)
        else:
            self._heads.clear()
        normal = meet([after, *loop.continues]) if runs else head.copy() if ends else None
        if normal is not None and at_end is not None:
            with self.expressions.loop():
                normal = at_end(normal)
        if normal is not None and orelse is not None:
            normal = self.suite(orelse.body, normal)
        return meet([normal, *loop.breaks])

    def _round(
        self, begin: Callable[[State], State], body: cst.BaseSuite, head: State
    ) -> tuple[LoopExits, State | None]:
        """Execute the body of a loop once; return the ways out of it, and what holds at its end."""
        loop = LoopExits()
        self._loops.append(loop)
        with self.expressions.loop():
            after = self.suite(body, begin(head.copy()))
        self._loops.pop()
        return loop, after

    def _differ_in_vain(self, loop: cst.For | cst.While, joined: State, head: State) -> bool:
        """Return whether no iteration reads what another one changes."""
        if not are_under_the_same(joined, head):
            return False
        return not self._is_carried(loop, joined.variables.differences(head.variables))

    def _give_up(self, joined: State, head: State, ends: list[State | None]) -> None:
        """Make what a loop still changes unknown."""
        ways = [way.variables for way in ends if way is not None]
        for key in {key for way in ways for key in way.assigned_since(head.variables)}:
            joined.variables[key] = UNKNOWN
        for held in self._heads.values():
            held.changed = dict.fromkeys(held.changed, UNKNOWN)

    def _is_carried(self, loop: cst.For | cst.While, changed: list[Variable]) -> bool:
        """Return whether an iteration may read one of the variables that another one changed."""
        found = self.module.carried(loop)
        return found is None or any(map(found.is_carried, changed))

    def _head_of(self, body: cst.BaseSuite, entered: State) -> State:
        """Return what holds at the head of a loop: what did in the round before, too."""
        head = entered.copy()
        known = self._heads.get(id(body))
        if known is None:
            return head
        if (known.base, known.blocks, known.meshes) != (head.base, head.blocks, head.meshes):
            variables = head.variables.copy()
            other = State(known.base, known.blocks, variables, meshes=known.meshes)
            head = meet([head, other]) or head
        for key, held in known.changed.items():
            there = head.variables.get(key)
            head.variables[key] = held if there is None else join(there, held)
        return head

    # -- with ---------------------------------------------------------------------------------

    def with_(self, node: cst.With, state: State) -> State | None:
        """`with a as b, c as d:`; the default device of before holds again after it."""
        contexts = EnteredContexts(self.program, self.module, self.expressions, node, state)
        ways = self._ways()
        marks = [len(way) for way in ways]
        hides = contexts.hide_errors()
        follows_errors = hides or contexts.may_hide_errors()
        raised: State | None = None
        if follows_errors:
            self._guarded.append([state.copy()])
        before = self.program.expects_failure
        self.program.expects_failure = before or contexts.expect_failure()
        after = self.suite(node.body, state)
        self.program.expects_failure = before
        if follows_errors:
            raised = meet(_thinned(self._guarded.pop()))
            if self._guarded and raised is not None:
                self._guarded[-1].append(raised.copy())
        for ends, mark in zip(ways, marks, strict=True):
            for way in ends[mark:]:
                if way is not None:
                    contexts.leave(way)
        if after is not None:
            contexts.leave(after)
        if raised is not None and contexts.leave(raised) | hides:
            return meet([after, raised])
        return after

    def _ways(self) -> list[list[State | None]]:
        """Return all lists of states in which the statement at hand may be left before its end."""
        loops = [ends for loop in self._loops for ends in (loop.breaks, loop.continues)]
        return [*loops, self._exits, self._raised, *self._guarded]

    # -- try ----------------------------------------------------------------------------------

    def try_(self, node: cst.Try | cst.TryStar, state: State) -> State | None:
        """`try`: its body may raise before and after each statement."""
        ways = self._ways()
        marks = [len(way) for way in ways]
        frame = self.program.functions.frame
        returned = 0 if frame is None else len(frame.returns)
        after, entry = self._guarded_body(node.body, state)
        if after is not None and node.orelse is not None:
            after = self.suite(node.orelse.body, after)
        handled = [] if entry is None else [self._handled(each, entry) for each in node.handlers]
        if self._guarded and entry is not None:
            # Perhaps no handler takes the error.
            self._guarded[-1].append(entry.copy())
        met = meet([after, *handled])
        if node.finalbody is None:
            return met
        body = node.finalbody.body
        self._last_blocks += 1
        if self._last_blocks > _MAX_LAST_BLOCKS:
            end = self._last_block_at_once(body, met, ways, marks)
        else:
            if entry is not None and not self._guarded:
                self.suite(body, entry.copy())
            self._last_block_of_each(body, ways, marks, returned)
            # Where every way leaves, nothing follows the last block.
            end = None if met is None else self.suite(body, met)
        self._last_blocks -= 1
        return end

    def _guarded_body(self, body: cst.BaseSuite, state: State) -> tuple[State | None, State | None]:
        """Execute the body of a `try`; return what holds at its end, and where it raises."""
        frame = self.program.functions.frame
        yielded = 0 if frame is None else len(frame.suspended)
        self._guarded.append([state.copy()])
        after = self.suite(body, state)
        before = self._guarded.pop()
        if frame is not None and len(frame.suspended) > yielded and len(before) == 1:
            # Nothing comes before the `yield` that could fail.
            return after, None
        return after, meet(_thinned(before))

    def _handled(
        self, handler: cst.ExceptHandler | cst.ExceptStarHandler, entry: State
    ) -> State | None:
        """Execute a handler; return what holds at its end."""
        branch = entry.copy()
        if handler.type is not None:
            self.expressions.evaluate(handler.type, branch)
        if handler.name is not None:
            self.expressions.targets.assign(handler.name.name, UNKNOWN, branch)
        return self.suite(handler.body, branch)

    def _last_block_of_each(
        self,
        body: cst.BaseSuite,
        ways: list[list[State | None]],
        marks: list[int],
        returned: int,
    ) -> None:
        """Execute a `finally` block for each way that leaves what it ends; `returned`: how many
        `return` statements were executed before that.
        """
        frame = self.program.functions.frame
        for way, mark in zip(ways, marks, strict=True):
            leaving = meet(way[mark:])
            if leaving is None:
                continue
            count = 0 if frame is None else len(frame.returns)
            way[mark:] = [self.suite(body, leaving.copy())]
            if frame is not None and way[mark] is None and way is self._exits:
                # It returns something else itself, or raises.
                del frame.returns[returned:count]

    def _last_block_at_once(
        self,
        body: cst.BaseSuite,
        met: State | None,
        ways: list[list[State | None]],
        marks: list[int],
    ) -> State | None:
        """Execute a `finally` block once for all ways together, which go on as one."""
        leaving = [end for way, mark in zip(ways, marks, strict=True) for end in way[mark:]]
        every = meet([met, *leaving])
        end = None if every is None else self.suite(body, every.copy())
        for way, mark in zip(ways, marks, strict=True):
            if meet(way[mark:]) is not None:
                way[mark:] = [None if end is None else end.copy()]
        return None if met is None else end


def _thinned(states: list[State | None]) -> list[State | None]:
    """Keep a few of many states: what one of them holds, a later one mostly does too."""
    if len(states) <= _MAX_RAISING:
        return states
    step = len(states) / (_MAX_RAISING - 1)
    return [*(states[int(i * step)] for i in range(_MAX_RAISING - 1)), states[-1]]


@functools.cache
def _executors() -> Mapping[type[cst.CSTNode], _Executor]:
    """Return what executes each kind of statement.

    Functions, not methods of one `Statements`: one that held its own methods would be garbage that
    only a search finds, with all the states in it.
    """
    return {
        cst.AnnAssign: Statements.annotated,
        cst.Assert: Statements.assert_,
        cst.Assign: Statements.assign,
        cst.AugAssign: Statements.augmented,
        cst.Break: Statements.break_,
        cst.ClassDef: Statements.class_,
        cst.Continue: Statements.continue_,
        cst.Del: Statements.del_,
        cst.Expr: Statements.expression,
        cst.For: Statements.for_,
        cst.FunctionDef: Statements.function,
        cst.If: Statements.if_,
        cst.Import: Statements.import_,
        cst.ImportFrom: Statements.import_,
        cst.Match: Statements.match,
        cst.Raise: Statements.raise_,
        cst.Return: Statements.return_,
        cst.Try: Statements.try_,
        cst.TryStar: Statements.try_,
        cst.While: Statements.while_,
        cst.With: Statements.with_,
    }
