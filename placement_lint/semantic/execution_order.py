"""What a module certainly does before it comes to a place in it: imports JAX, starts its backend.

Only what is executed on every way there counts: statements before the place in its block and in
the blocks around it, what is above a function for a place in the function, and the bodies of local
functions that are called on the way. A `try` counts as if it went through.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.backend_start import ENTERING_STARTS_BACKEND, starts_backend
from placement_lint.jaxmodel.startup import RESETTING_CALLS
from placement_lint.semantic.called_when_decorated import is_called_when_decorated
from placement_lint.semantic.execution_steps import (
    Branches,
    CallElsewhere,
    Event,
    ExecutionStep,
    ImportStep,
    OtherWays,
    as_done_by,
    bodies_of_other_ways,
    called,
    executed,
    executed_before,
)
from placement_lint.semantic.local_functions import LocalFunctions
from placement_lint.semantic.method_uses import uses_of_method
from placement_lint.semantic.module_summary import (
    MOST_BRANCHES,
    Does,
    Imports,
    Kind,
    either,
    import_of_jax,
    perhaps,
)
from placement_lint.semantic.program_queries import CallsAsked
from placement_lint.semantic.ways import EventsBefore, Parts
from placement_lint.syntax.definitions import (
    INITIALIZERS,
    inherited_initializer,
    needs_no_object,
    only_says_type,
)
from placement_lint.syntax.environ import variables_set
from placement_lint.syntax.guards import is_false_at_import
from placement_lint.syntax.import_statements import imported_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.semantic.module_summary import Step, Summary
    from placement_lint.semantic.program_queries import EffectOrigin
    from placement_lint.syntax.tree import Tree

_CALL_DEPTH = 8


_ASKED = {Kind.STARTS: CallsAsked.STARTS, Kind.IMPORTS: CallsAsked.IMPORTS}
"""Of what it is asked whether it comes before each call of a function, too."""


def timeline(facts: ModuleFacts) -> Timeline:
    """Return the timeline of a module, the same for all callers."""
    return facts.fact(Timeline)


class Timeline:
    """The order of events in one module."""

    def __init__(self, facts: ModuleFacts) -> None:
        self.facts = facts
        self.tree = facts.tree
        self.names = facts.names
        # Rules import this module where LibCST may not be needed; a view of a file loads it.
        from placement_lint.semantic.file_view import FileView

        self._view = FileView(facts)
        self._local = LocalFunctions(facts)
        self._known: dict[int, tuple[Event, ...]] = {}
        self._steps_of: dict[int, tuple[ExecutionStep, ...]] = {}
        self._blocks: dict[int, Parts] = {}
        self._depth = 0
        self._entered: set[int] = set()
        """Functions of which it is known what they may start when they are called."""
        self._before_called: dict[tuple[int, Kind], Event | None] = {}
        """What has started the backend, or imported JAX, before each call of a function."""
        self._asked: list[tuple[int, Kind]] = []
        """Functions of which the callers are asked for now."""

    # -- questions --------------------------------------------------------------------------

    def before(self, node: cst.CSTNode, kind: Kind) -> Event | None:
        """Return the last event of a kind that certainly came before a node.

        None for a start of the backend after which it was given up.
        """
        kinds = (kind, Kind.RESETS) if kind is Kind.STARTS else (kind,)
        for way in self._ways_to(node):
            event = way.last(kinds)
            if event is not None:
                return event if event.kind is kind else None
        return self._before_calls(node, kind) if kind in _ASKED else None

    def _before_calls(self, node: cst.CSTNode, kind: Kind) -> Event | None:
        """Return an event before every call of the function that a node is in, in any file."""
        around = self.tree.ancestors(node)
        function = next((a for a in around if isinstance(a, cst.FunctionDef | cst.Lambda)), None)
        if not isinstance(function, cst.FunctionDef) or not self._local.is_plain(function):
            return None
        if self._called_as(function) is None and self._class_of(function) is None:
            return None
        key = id(function), kind
        if key not in self._before_called and len(self._asked) < _CALL_DEPTH:
            # A function that calls itself was called before that.
            self._before_called[key] = None
            self._asked.append(key)
            self._before_called[key] = self._before_calls_of(function, kind)
            self._asked.pop()
        return self._before_called.get(key)

    def _called_as(self, function: cst.FunctionDef) -> str | None:
        """Return the name by which a function is called; None where it may have others.

        It is one at the top of the file, or in the function around. Of a method it is the class:
        before it is called an object was made.
        """
        scope = self.names.scope(function)
        if scope is self.names.module_scope or isinstance(scope.node, cst.FunctionDef):
            return function.name.value
        cls = scope.node
        if not isinstance(cls, cst.ClassDef):
            return None
        is_top = self.names.scope(cls) is self.names.module_scope
        return cls.name.value if is_top and not cls.decorators else None

    def _class_of(self, function: cst.FunctionDef) -> cst.ClassDef | None:
        """Return the class at the top of the file that a function is a method of."""
        cls = self.names.scope(function).node
        is_top = isinstance(cls, cst.ClassDef) and self.names.scope(cls) is self.names.module_scope
        return cls if is_top and isinstance(cls, cst.ClassDef) else None

    def _before_uses_of_method(self, function: cst.FunctionDef, kind: Kind) -> Event | None:
        """Return an event before every call of a method by its name, in any file of the program.

        None where no such call is certainly of an object of its class, or where it may be called
        without its name.
        """
        cls, name = self._class_of(function), function.name.value
        if cls is None or (name.startswith("__") and name.endswith("__")):
            return None
        first: Event | None = None
        is_known = False
        for use in uses_of_method(self.facts, cls.name.value, self.facts.path, name):
            if use.call is not None and self.tree.is_inside(use.call, function):
                continue
            start = None if use.call is None else self.before(use.call, kind)
            if start is None:
                return None
            first = first or start
            is_known |= use.is_known
        method = f"{cls.name.value}.{name}"
        elsewhere = self.facts.run.calls_from_elsewhere(self.facts.path, method, _ASKED[kind])
        origin = elsewhere.before
        if elsewhere.is_used and origin is None:
            return None
        if origin is not None and (elsewhere.is_known or is_known) and first is None:
            return Event(kind, function, origin.what, origin, is_direct=False)
        return first if is_known or elsewhere.is_known else None

    def _start_of_initializer(self, function: cst.FunctionDef) -> Event | None:
        """Return the start that making an object leaves behind, of which this is a method.

        None if a class of the file derives from its class, and may leave that out, and for what is
        called without an object.
        """
        cls = self.names.scope(function).node
        if not isinstance(cls, cst.ClassDef) or function.name.value in INITIALIZERS:
            return None
        if needs_no_object(function, self.names) or self._local.is_derived_from(cls):
            return None
        init = inherited_initializer(cls, self.names)
        return None if init is None else self.start_in(init)

    def _before_calls_of(self, function: cst.FunctionDef, kind: Kind) -> Event | None:
        start = self._start_of_initializer(function) if kind is Kind.STARTS else None
        if start is None and self._called_as(function) is not None:
            start = self._before_uses_of(function, kind)
        return start or self._before_uses_of_method(function, kind)

    def _before_uses_of(self, function: cst.FunctionDef, kind: Kind) -> Event | None:
        """Return an event before each use of the name that a function is called by."""
        name = self._called_as(function) or ""
        own = {id(function.name), *_names_of_definers(function, self.tree)}
        scope = self.names.scope(function)
        is_inner = isinstance(scope.node, cst.FunctionDef)
        first: Event | None = None
        for use in self.names.uses(name, scope if is_inner else self.names.module_scope):
            if id(use) in own or only_says_type(use, self.tree):
                continue
            call = self.tree.parent(use)
            is_called = isinstance(call, cst.Call) and call.func is use
            start = self.before(call, kind) if call is not None and is_called else None
            if start is None:
                return None
            first = first or start
        if is_inner:
            return first
        elsewhere = self.facts.run.calls_from_elsewhere(self.facts.path, name, _ASKED[kind])
        origin = elsewhere.before
        if elsewhere.is_used and origin is None:
            return None
        if first is None and origin is not None:
            return Event(kind, function, origin.what, origin, is_direct=False)
        return first

    def first_before(self, node: cst.CSTNode, kind: Kind) -> Event | None:
        found = None
        for way in self._ways_to(node):
            found = way.first(kind) or found
        return found or (self._before_calls(node, kind) if kind in _ASKED else None)

    def summary(self) -> Summary:
        """Return what executing the module does, with what it imports by name."""
        return self._summed_up(self._steps(self.tree.module))

    def events(self, node: cst.CSTNode) -> tuple[Event, ...]:
        """Return what certainly happens when a node is executed, in order."""
        key = id(node)
        if key not in self._known:
            self._known[key] = tuple(self._happening(self._steps(node)))
        return self._known[key]

    def at_import(self) -> Iterator[Event]:
        """Yield the starts of the backend that may happen while the module is imported, in order.

        Unlike `events`, also those in branches of an `if`, but for what a program alone does, and
        in functions of the file that are called, whatever they do before.
        """
        self._entered.clear()
        yield from self._possible(self.tree.module)

    # -- what is executed -------------------------------------------------------------------

    def _steps(self, node: cst.CSTNode) -> tuple[ExecutionStep, ...]:
        key = id(node)
        if key not in self._steps_of:
            # A function that calls itself does so after what it has done already.
            self._steps_of[key] = ()
            self._steps_of[key] = tuple(self._found_steps(node))
        return self._steps_of[key]

    def _found_steps(self, node: cst.CSTNode) -> Iterator[ExecutionStep]:
        for part in executed(node):
            yield from self._steps(part)
        if isinstance(node, cst.FunctionDef) and is_called_when_decorated(node, self._view):
            yield from self._steps_in(node)
        if isinstance(node, cst.If) and node.orelse is not None:
            branches = Branches(self._steps(node.body), self._steps(node.orelse))
            if branches.body or branches.orelse:
                yield branches
        elif isinstance(node, cst.If | cst.For | cst.While | cst.Try | cst.TryStar | cst.Match):
            yield OtherWays(node)
        if (
            isinstance(node, cst.WithItem)
            and isinstance(node.item, cst.Call)
            and self.names.qualified(node.item.func) in ENTERING_STARTS_BACKEND
        ):
            yield Event(Kind.STARTS, node.item, called(node.item))
        if isinstance(node, cst.Import | cst.ImportFrom):
            for name in imported_names(node):
                jax = import_of_jax(name)
                yield ImportStep(node, name) if jax is None else Event(Kind.IMPORTS, node, jax)
        elif isinstance(node, cst.Call):
            yield from self._called(node)
        if isinstance(node, cst.Call | cst.Assign):
            for name in variables_set(node, self.names):
                yield Event(Kind.SETS, node, name)

    def _happening(self, steps: Iterable[ExecutionStep]) -> Iterator[Event]:
        for step in steps:
            if isinstance(step, Event):
                yield step
            elif isinstance(step, ImportStep):
                yield from self._imported(step)
            elif isinstance(step, CallElsewhere):
                yield from self._done_elsewhere(step)
            elif isinstance(step, Branches):
                other = self._happening(step.orelse)
                kinds = {event.kind for event in other if event.kind is not Kind.SETS}
                if kinds:
                    yield from (each for each in self._happening(step.body) if each.kind in kinds)

    def _summed_up(self, steps: Iterable[ExecutionStep], depth: int = 0) -> Summary:
        summary: list[Step] = []
        for step in steps:
            if isinstance(step, Event):
                summary.append(Does(step.kind, step.what, self.facts.line_of(step.node)))
            elif isinstance(step, ImportStep):
                summary.append(Imports(step.name))
            elif isinstance(step, Branches) and depth < MOST_BRANCHES:
                body = self._summed_up(step.body, depth + 1)
                either(summary, body, self._summed_up(step.orelse, depth + 1))
            else:
                perhaps(summary, self._modules_in(step))
        return tuple(summary)

    def _modules_in(self, step: ExecutionStep) -> Iterator[str]:
        if isinstance(step, ImportStep):
            yield step.name
        elif isinstance(step, Branches):
            for each in (*step.body, *step.orelse):
                yield from self._modules_in(each)
        elif isinstance(step, OtherWays):
            for body in bodies_of_other_ways(step.node, self.names):
                for each in self._steps(body):
                    yield from self._modules_in(each)

    def _imported(self, step: ImportStep) -> Iterator[Event]:
        effects = self.facts.run.importing(self.facts.path, step.name)
        what = f"import {step.name.lstrip('.')}"

        def event(kind: Kind, what: str, origin: EffectOrigin) -> Event:
            return Event(kind, step.node, what, origin, step.is_direct)

        for variable, origin in effects.sets_variables.items():
            yield event(Kind.SETS, variable, origin)
        if effects.imports_jax is not None:
            yield event(Kind.IMPORTS, what, effects.imports_jax)
        if effects.gives_backend_up is not None:
            yield event(Kind.RESETS, what, effects.gives_backend_up)
        if effects.starts_backend is not None:
            yield event(Kind.STARTS, what, effects.starts_backend)

    def _called(self, node: cst.Call) -> Iterator[ExecutionStep]:
        name = self.names.qualified(node.func)
        if name in RESETTING_CALLS:
            yield Event(Kind.RESETS, node, f"{name}()")
        elif name is not None and starts_backend(name):
            yield Event(Kind.STARTS, node, called(node))
        else:
            function = self._local.function(node.func)
            if function is not None and self._depth < _CALL_DEPTH:
                self._depth += 1
                around = self.tree.ancestors(node)
                # A context may swallow what its block raises.
                catching = (cst.Try, cst.TryStar, cst.With)
                may_catch = any(isinstance(each, catching) for each in around)
                steps = self._steps_in(function, raises=may_catch)
                yield from [as_done_by(node, step) for step in steps]
                self._depth -= 1
                return
            if name is None and isinstance(node.func, cst.Attribute):
                name = self._local.method_elsewhere(node.func)
            if name is not None and not name.startswith("jax."):
                yield CallElsewhere(node, name)

    def _done_elsewhere(self, step: CallElsewhere) -> Iterator[Event]:
        effects = self.facts.run.function(self.facts.path, step.name)
        if effects is not None and effects.starts_backend is not None:
            what = called(step.node)
            yield Event(Kind.STARTS, step.node, what, effects.starts_backend, step.is_direct)

    def start_in(self, function: cst.FunctionDef) -> Event | None:
        """Return the start of the backend that calling a function surely leaves behind."""
        if not self._local.is_plain(function):
            return None
        last: Event | None = None
        for event in self._happening(self._steps_in(function)):
            if event.kind in {Kind.STARTS, Kind.RESETS}:
                last = event if event.kind is Kind.STARTS else None
        return last

    def _steps_in(
        self, function: cst.FunctionDef, *, raises: bool = False
    ) -> Iterator[ExecutionStep]:
        """Yield what is executed of a function whenever it is called, and returns.

        `raises`: also where it raises, since something around the call may catch that.
        """
        for statement in function.body.body:
            yield from self._steps(statement)
            if self._may_leave(statement, raises=raises):
                break

    def _may_leave(self, statement: cst.CSTNode, *, raises: bool) -> bool:
        """Return whether what is below a statement of a function may not be executed."""
        scope = self.names.scope(statement)
        return any(
            (isinstance(node, cst.Return) or (raises and isinstance(node, cst.Raise)))
            and self.names.scope(node) is scope
            for node in (statement, *self.tree.descendants(statement))
        )

    def _possible(self, node: cst.CSTNode) -> Iterator[Event]:
        if isinstance(node, cst.If):
            test = node.test
            yield from self._starts(test)
            if not is_false_at_import(test, self.names):
                yield from self._possible(node.body)
            if node.orelse is not None:
                yield from self._possible(node.orelse)
        elif isinstance(node, cst.Module | cst.IndentedBlock | cst.Else | cst.Finally):
            inner = node.body if not isinstance(node, cst.Else | cst.Finally) else [node.body]
            for statement in inner:
                yield from self._possible(statement)
        elif isinstance(node, cst.ClassDef):
            for part in (*node.decorators, *node.bases, *node.keywords):
                yield from self._starts(part)
            yield from self._possible(node.body)
        elif isinstance(node, cst.Try | cst.TryStar):
            yield from self._possible(node.body)
            if node.orelse is not None:
                yield from self._possible(node.orelse)
            if node.finalbody is not None:
                yield from self._possible(node.finalbody)
        elif isinstance(node, cst.With):
            for item in node.items:
                yield from self._starts(item)
            yield from self._possible(node.body)
        elif isinstance(node, cst.For):
            yield from self._starts(node.iter)
            yield from self._possible(node.body)
        else:
            yield from self._starts(node)

    def _starts(self, node: cst.CSTNode) -> Iterator[Event]:
        """Yield the first start in what is executed of a statement: one finding is enough."""
        for step in self._steps(node):
            done = step
            if isinstance(step, CallElsewhere):
                done = next(self._done_elsewhere(step), step)
            if isinstance(done, Event) and done.kind is Kind.STARTS:
                yield done
                return
        if self._depth >= _CALL_DEPTH:
            return
        for call, function in self._local_calls(node):
            if id(function) in self._entered:
                continue
            self._entered.add(id(function))
            self._depth += 1
            first = next(self._possible(function.body), None)
            self._depth -= 1
            if first is not None:
                yield replace(first, node=call, is_direct=False)
                return

    def _local_calls(self, node: cst.CSTNode) -> Iterator[tuple[cst.Call, cst.FunctionDef]]:
        """Yield the calls of functions of the file in what is executed of a node."""
        pending = [node]
        while pending:
            part = pending.pop()
            if isinstance(part, cst.Call) and (function := self._local.function(part.func)):
                yield part, function
            pending += reversed([*executed(part)])

    # -- order ------------------------------------------------------------------------------

    def _ways_to(self, node: cst.CSTNode) -> Iterator[EventsBefore]:
        """Yield what was executed on the way to a node, the latest first."""
        if isinstance(node, cst.Call):
            before = (node.func, *node.args)
            yield self._way(Parts(before), len(before))
        child = node
        for ancestor in self.tree.ancestors(node):
            if isinstance(
                ancestor,
                cst.IndentedBlock | cst.Module | cst.SimpleStatementLine | cst.SimpleStatementSuite,
            ):
                if id(ancestor) not in self._blocks:
                    self._blocks[id(ancestor)] = Parts(ancestor.body)
                parts = self._blocks[id(ancestor)]
                yield self._way(parts, parts.places.get(id(child), 0))
            else:
                earlier = executed_before(ancestor, child)
                yield self._way(Parts(earlier), len(earlier))
            child = ancestor

    def _way(self, parts: Parts, count: int) -> EventsBefore:
        """Return the events of the first so many of several parts."""
        while len(parts.ends) <= count:
            for event in self.events(parts.nodes[len(parts.ends) - 1]):
                parts.kinds.setdefault(event.kind, []).append(len(parts.events))
                parts.events.append(event)
            parts.ends.append(len(parts.events))
        return EventsBefore(parts, parts.ends[count])


def _names_of_definers(function: cst.FunctionDef, tree: Tree) -> Iterator[int]:
    """Yield the ids of the nodes that name the classes around a function where they are defined."""
    for ancestor in tree.ancestors(function):
        if isinstance(ancestor, cst.ClassDef):
            yield id(ancestor.name)
