"""What nobody in the program calls: executed with arguments of which nothing is known.

Functions are executed in the state in which their module was left, methods on an object as the
class's makers leave it, and what JAX traces as traced code.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.limits.budget import interpreting
from placement_lint.placement.domain.contents import arrays
from placement_lint.placement.domain.program_values import Instance
from placement_lint.placement.domain.state import (
    State,
    variable,
)
from placement_lint.placement.domain.values import NOTHING, UNKNOWN, Value, join, value
from placement_lint.placement.engine.pytree_classes import is_flatten_method
from placement_lint.placement.facts.compiled import CALLBACKS, PUTTING, callers_of
from placement_lint.placement.facts.functions_text import (
    plain_functions,
)
from placement_lint.placement.facts.optional_attributes import (
    asked_attributes,
    is_left_out,
    optional_parameters,
)
from placement_lint.syntax.definitions import class_of_method, class_passed_to

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager
    from typing import Protocol

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.engine.classes import Classes
    from placement_lint.placement.engine.executions import ExecutionLedger
    from placement_lint.placement.engine.fixture_values import FixtureValues
    from placement_lint.placement.engine.functions import Functions
    from placement_lint.placement.engine.objects import Objects
    from placement_lint.placement.engine.protocols import Interpreter
    from placement_lint.placement.facts.module import Module

    class Starting(Interpreter, Protocol):
        """What executing code that nobody called needs of the program."""

        assumed_compiled: set[Place]
        assumed_traced: set[Place]

        @property
        def classes(self) -> Classes: ...

        @property
        def fixtures(self) -> FixtureValues: ...

        @property
        def functions(self) -> Functions: ...

        @property
        def objects(self) -> Objects: ...

        @property
        def happened(self) -> ExecutionLedger: ...

        @property
        def traced(self) -> ExecutionLedger: ...

        def is_executed(self, function: Place) -> bool: ...

        def outside(self, module: Module, *, begins: bool = False) -> State: ...

        def starting(self) -> AbstractContextManager[None]: ...


def _either(one: Value, other: Value) -> Value:
    """Return what one object or another one has: of arrays that are committed in one of them only,
    nothing is known, since who calls the method decides of which it is.
    """
    found = [[*arrays(each)] for each in (one, other)]
    kinds = [{array.committed for array in each} for each in found]
    is_open = all(kinds) and len(kinds[0] | kinds[1]) > 1 and kinds[0] != kinds[1]
    return join(one, other, UNKNOWN if is_open else NOTHING)


class UncalledCode:
    """Executes functions, methods and traced code that no call of the program has led to."""

    def __init__(self, program: Starting) -> None:
        self.program = program
        self.unasked: set[Place] = set()
        """The functions that were executed because nothing had called them by then."""
        self._asking: dict[Place, frozenset[str]] = {}
        """The attributes of which the methods of a class ask whether they are None."""

    def functions(self, given: list[str], but: frozenset[str] = frozenset()) -> list[Place]:
        """Return the functions that nobody called, but for names that are used somewhere."""
        plain = (plain_functions(self.program.modules[name], but) for name in given)
        return [
            place for places in plain for place in places if not self.program.is_executed(place)
        ]

    def run_functions(
        self, functions: list[Place], *, waits: bool, begun: frozenset[str] = frozenset()
    ) -> None:
        """Execute functions that nobody called by now; `waits`: but for those that are passed
        objects of which none was made so far.
        """
        for place in functions:
            module, node = self.program.module_of(place), self.program.node(place)
            is_begun = isinstance(node, cst.FunctionDef) and node.name.value in begun
            is_alone = is_begun or self.program.fixtures.is_called_alone(module, node)
            starting = self.program.starting() if is_alone else contextlib.nullcontext()
            with interpreting(place.module), starting:
                state = self.program.outside(module, begins=is_begun)
                if self.program.is_executed(place) or (
                    waits and self.program.fixtures.typed.waits(module, node, state)
                ):
                    continue
                self.unasked.add(place)
                self.program.functions.start(
                    place, self.program.fixtures.given(module, node, state), state
                )

    def leading_to_devices(self, given: list[str]) -> set[str]:
        """Return the names of what may lead compiled code to a device that nothing has led to, or
        by which it has functions called back.
        """
        modules = [self.program.modules[name] for name in given]
        putting = (
            function.name.value
            for module in modules
            if module.compiled.lists_devices
            for function in module.compiled.putting
            if not self.program.is_executed(module.place(function))
        )
        leading = callers_of(putting, (module.compiled for module in modules))
        if any(module.compiled.lists_devices for module in modules):
            # Compiled code that puts arrays itself, to what an object holds perhaps.
            leading.add(PUTTING)
        if any(module.compiled.calls_back for module in modules):
            # What a callback is given may be what an object holds, or a parameter around.
            leading |= CALLBACKS
        return leading

    def trace_each(
        self,
        names: Iterable[str],
        leading: set[str] | None,
        *,
        waits: bool = False,
        for_objects: bool = False,
    ) -> None:
        """Execute, as traced code, what JAX traces and no call has led to, to see what it calls.

        `leading`: only what calls something of such a name. `waits`: but for what is in a function
        that was not executed yet, which may call it, and whose variables it reads. `for_objects`:
        and but for methods of classes of which no object was made so far.
        """
        made = self._made() if for_objects else None
        # What compiled code calls is compiled, also where it is differentiated there.
        for compiled in (True, False):
            for name in names:
                with interpreting(name):
                    self._trace_functions(
                        self.program.modules[name], leading, waits, made, compiled=compiled
                    )

    def _trace_functions(
        self,
        module: Module,
        leading: set[str] | None,
        waits: bool,
        made: set[Place] | None,
        *,
        compiled: bool,
    ) -> None:
        """`made`: the classes of which methods are executed; None: of all. `compiled`: that of it
        which is compiled; else the rest.
        """
        for node in module.tree.every(cst.FunctionDef, cst.Lambda):
            place = module.place(node)
            is_compiled = node in module.compiled or place in self.program.assumed_compiled
            if is_compiled != compiled:
                continue
            if leading is not None and leading.isdisjoint(module.compiled.named_in(node)):
                continue
            around = module.tree.around(node, cst.FunctionDef) if waits else None
            if around is not None and not self.program.is_executed(module.place(around)):
                continue
            is_traced = (
                node in module.traced
                or module.traced.is_handed_over(node)
                or place in self.program.assumed_traced
            )
            definer = module.names.scope(node).node if isinstance(node, cst.FunctionDef) else None
            is_method = isinstance(definer, cst.ClassDef)
            waits_for = module.place(definer) if isinstance(definer, cst.ClassDef) else None
            if made is not None and waits_for is not None and waits_for not in made:
                # What nobody called by now may make an object, and call it.
                continue
            if is_method and self.program.follows_compiled and is_compiled:
                # It is executed on an object, as the class's makers leave it.
                continue
            if not is_traced or place in self.program.traced.executed:
                continue
            with self.program.on_tracers(), self.program.compiling(is_compiled):
                if isinstance(definer, cst.ClassDef):
                    receiver, state = self._as_made(module.place(definer), self.program.happened)
                    self._call_method(place, receiver, state)
                else:
                    self.program.functions.execute(place, {}, self._around(module, node))

    def _made(self) -> set[Place]:
        """Return the classes of which there are objects by now, and their bases."""
        every = self.program.happened.instances
        return {base for cls, made in every.items() if made for base in self._bases(cls)}

    def _bases(self, cls: Place) -> Iterable[Place]:
        is_class = isinstance(self.program.node(cls), cst.ClassDef)
        return self.program.classes.bases(cls) if is_class else (cls,)

    def _around(self, module: Module, function: cst.CSTNode) -> State:
        """Return the state in which a function runs that nothing called: in a method, `self` is an
        object as its class's makers left it.
        """
        method, names = module.tree.around(function, cst.FunctionDef), module.names
        while method is not None:
            cls = class_of_method(method, names) if method.params.params else None
            if cls is not None and class_passed_to(method, names) is None:
                receiver, state = self._as_made(module.place(cls), self.program.happened)
                key = variable(names.scope(method.body), method.params.params[0].name.value)
                state.variables[key] = value(receiver)
                return state
            method = module.tree.around(method, cst.FunctionDef)
        return self.program.outside(module)

    def _as_made(
        self, place: Place, ledger: ExecutionLedger, *, each: bool = False
    ) -> tuple[Instance, State]:
        """Return an object that stands for all that were made of a class (`each`: also for those
        in the place of which others came), and its attributes.
        """
        state = self.program.outside(self.program.module_of(place))
        receiver = Instance(place, place)
        every = ledger.instances.get(place, {})
        made = every.keys() if each else every.keys() - self.program.objects.superseded
        if every:
            for owner, name in ledger.attributes_of(place):
                if owner in made:
                    held = ledger.final[owner, name]
                    key = (receiver, name)
                    before = state.variables.get(key)
                    state.variables[key] = held if before is None else _either(before, held)
            return receiver, state
        initializer = self.program.classes.method(receiver.cls, "__init__")
        if initializer is not None:
            passed = self.program.fixtures.typed.passed(initializer, receiver, state)
            node = self.program.node(initializer)
            for name in optional_parameters(node) if isinstance(node, cst.FunctionDef) else ():
                # Who makes an object, outside of the program, may pass it.
                passed.setdefault(name, UNKNOWN)
            self.program.functions.call(initializer, passed, state, bound=True)
        asked = self._asked(receiver.cls)
        for name, default in (self.program.classes.fields(receiver.cls) or ()) if asked else ():
            if name in asked and is_left_out(default):
                state.variables[receiver, name] = UNKNOWN
        for prepares in self.program.fixtures.before_each_test(receiver.cls):
            self._call_method(prepares, receiver, state)
        return receiver, state

    def _asked(self, cls: Place) -> frozenset[str]:
        """Return the attributes of which the methods of a class ask whether they are None."""
        found: set[str] = set()
        for place in self.program.classes.bases(cls):
            if place not in self._asking:
                module, node = self.program.module_of(place), self.program.node(place)
                if isinstance(node, cst.ClassDef):
                    self._asking[place] = asked_attributes(node, module.tree)
            found |= self._asking.get(place, frozenset())
        return frozenset(found)

    def run_classes(self, module: Module) -> None:
        """Execute the methods that nobody called, on an object as its class's makers left it.

        Those of an abstract class, of which there are no objects, on one of each class that
        derives from it.
        """
        for node in module.tree.every(cst.ClassDef):
            receiver, state = self._as_made(module.place(node), self.program.now)
            methods = [
                child
                for child in node.body.body
                if isinstance(child, cst.FunctionDef) and child.name.value != "__init__"
            ]
            uncalled = {
                function: method.name.value
                for method in methods
                if not self.program.is_executed(function := module.place(method))
                and method not in module.traced
                and not (
                    method.name.value == "__call__" and self.program.classes.is_model(receiver.cls)
                )
            }
            inherited: set[Place] = set()
            for cls in self.program.classes.abstract.derived(receiver.cls) if uncalled else ():
                found = (self.program.classes.method(cls, name) for name in uncalled.values())
                own = [each for each in found if each is not None and each in uncalled]
                self._run_methods(own, *self._as_made(cls, self.program.now), inherited)
            # What only compiled methods call runs by itself if none of them led to it.
            behind = module.compiled.helpers if self.program.follows_compiled else ()
            directly = [place for place, name in uncalled.items() if name not in behind]
            later = self._run_methods(directly, receiver, state, set())
            self._compile_methods(methods, module, receiver, later)
            left = [place for place in uncalled if not self.program.is_executed(place)]
            self._run_methods(left, receiver, state, set())

    def _run_methods(
        self, functions: list[Place], receiver: Instance, state: State, before: set[Place]
    ) -> State:
        """Execute methods of an object that nothing called by now, but for this `before`; return
        what they may leave of it.
        """
        later = state.copy()
        for function in functions:
            if function in self.program.now.executed and function not in before:
                continue
            before.add(function)
            self.unasked.add(function)
            branch = state.copy()
            if is_flatten_method(self.program.node(function)):
                # JAX takes objects apart to put others in their place.
                _, branch = self._as_made(receiver.cls, self.program.now, each=True)
            self._call_method(function, receiver, branch)
            self.program.objects.keep_made(receiver, branch, later)
        if later.variables.differences(state.variables):
            # Who calls them may call them again, after one another.
            for function in functions:
                if not is_flatten_method(self.program.node(function)):
                    self._call_method(function, receiver, later.copy())
        return later

    def _call_method(self, function: Place, receiver: Instance, state: State) -> None:
        """Execute a method of which it is not known what it is called with."""
        node = self.program.node(function)
        params = node.params if isinstance(node, cst.FunctionDef) else None
        has_rest = params is not None and isinstance(params.star_arg, cst.Param)
        has_more = params is not None and params.star_kwarg is not None
        passed: dict[int | str, Value] = {0: value(receiver)}
        base = state.base
        module = self.program.module_of(function)
        given = self.program.fixtures.given(module, node, state, passed[0])
        if self.program.functions.called_around(function, given, state, receiver):
            return
        passed |= given.items()
        is_alone = self.program.fixtures.is_called_alone(module, node)
        with self.program.starting() if is_alone else contextlib.nullcontext():
            held = self.program.functions.call(
                function,
                passed,
                state,
                bound=True,
                rest=UNKNOWN if has_rest else None,
                more=UNKNOWN if has_more else None,
            )
        self.program.fixtures.finish(function, held, state)
        state.base = base

    def _compile_methods(
        self, methods: list[cst.FunctionDef], module: Module, receiver: Instance, state: State
    ) -> None:
        """Execute, as compiled code, the methods that are compiled and that nobody called."""
        for method in methods if self.program.follows_compiled else ():
            place = module.place(method)
            is_compiled = method in module.compiled or place in self.program.assumed_compiled
            if is_compiled and place not in self.program.traced.executed:
                with self.program.on_tracers(), self.program.compiling():
                    self._call_method(place, receiver, state.copy())
