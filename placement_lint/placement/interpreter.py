"""The program: its modules, and how a call leads from one function to another.

A function is executed for each combination of arguments and default device that its callers give
it, once for each; what an execution read of the variables around it is checked before its result is
used again. What is called by nobody is executed with arguments of which nothing is known.
"""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING

from placement_lint.limits.budget import interpreting
from placement_lint.placement.counterfactual.requests import Requests
from placement_lint.placement.domain.contents import functions_in
from placement_lint.placement.domain.mesh_contexts import NOT_ENTERED
from placement_lint.placement.domain.program_values import Instance
from placement_lint.placement.domain.sharded_calls import Running
from placement_lint.placement.domain.state import (
    ANY_DEVICE,
    SYSTEM,
    DefaultDevice,
    State,
    Variable,
    Variables,
)
from placement_lint.placement.domain.values import NOTHING, Value, join, value
from placement_lint.placement.engine.classes import Classes
from placement_lint.placement.engine.context_managers import Suspensions
from placement_lint.placement.engine.executions import ExecutionLedger
from placement_lint.placement.engine.expressions import Expressions
from placement_lint.placement.engine.fixture_values import FixtureValues
from placement_lint.placement.engine.functions import Functions
from placement_lint.placement.engine.lifted_classes import note_lifted
from placement_lint.placement.engine.linking import Linking, SameModules
from placement_lint.placement.engine.memo import Memo
from placement_lint.placement.engine.objects import Objects
from placement_lint.placement.engine.pytrees import Trees
from placement_lint.placement.engine.reach import Reach
from placement_lint.placement.engine.statements import Statements
from placement_lint.placement.facts.compiled import lead_to_placing
from placement_lint.placement.facts.default_updates import updates_in_function
from placement_lint.placement.facts.exported import closed_over, is_public, may_be_imported
from placement_lint.placement.facts.functions_text import (
    callers_first,
    enters_default_in_function,
    returned_lambdas,
    uses_of,
)
from placement_lint.placement.facts.tampering import sets_mesh, tampers
from placement_lint.placement.journeys import Journeys
from placement_lint.placement.lifetimes import Lifetimes
from placement_lint.placement.overlays.dispatch import Calls
from placement_lint.placement.provenance import Provenance
from placement_lint.placement.uncalled import UncalledCode
from placement_lint.syntax.names import BindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    import libcst as cst

    from placement_lint.placement.counterfactual.commitments import Commitments
    from placement_lint.placement.domain.mesh_contexts import MeshesInForce
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.engine.linking import ModuleSources
    from placement_lint.placement.engine.supposition import Supposition
    from placement_lint.placement.facts.module import Module


class Program:
    """The modules of one program, executed abstractly."""

    loop_depth: int = 0
    """How many loops are around what is executed now, those of callers included."""
    repeats: int = 0
    """How many of them are not executed item by item."""
    expects_failure: bool = False
    """Whether what is executed now is there to fail: in `with pytest.raises(…)`."""
    nth: int = 0
    """The round of the loop around that is executed item by item: of this body, no caller's."""

    def __init__(
        self,
        modules: list[Module],
        sources: ModuleSources | None = None,
        supposed: Supposition | None = None,
        *,
        follows: bool = False,
    ) -> None:
        """Take the modules, in the order in which they are to be run. Nothing is run yet.

        `supposed`: this execution is not the first one, and something is supposed of it.
        `follows`: calls of functions of other files are followed where no placement leads there,
        too: what they give may be on the default device.
        """
        self.modules = {module.name: module for module in modules}
        self._given = tuple(self.modules)
        self._follows = follows
        self.linking = Linking(self, sources, follows=follows)
        self.supposed = supposed
        """What is supposed of this execution, which then is not the first one."""
        self.requests = Requests(self)
        self._ends: dict[str, State | None] = {}
        self._left_behind: dict[str, DefaultDevice] = {}
        """The default device that a module's body left behind, where it changed it."""
        self._meshes_left: dict[str, MeshesInForce] = {}
        """The meshes that a module's body left in force, where it changed them."""
        self._is_started = False
        self._entered_in: dict[str, tuple[DefaultDevice, ...]] = {}
        """What a module's body entered by hand, and did not leave."""
        self._imported: set[str] = set()
        """What is imported since the program was started."""
        self.happened = ExecutionLedger()
        self.traced = self.happened.on_tracers()
        self.now = self.happened
        """What the executions of the kind that runs now have left behind."""
        self.containers = self.now.containers
        self._suspensions = Suspensions(self), Suspensions(self)
        """Those of what happens, and those on tracers."""
        self._expressions: tuple[dict[str, Expressions], dict[str, Expressions]] = {}, {}
        """By module: those of what happens, and those on tracers."""
        self._compiling = False
        self.runs_at_once = False
        """Whether what is traced now runs operation by operation, as under `jax.grad` alone."""
        self._touched: set[Place] = set()
        """The tracers that traced code computes with, or gives to what nobody follows."""
        self.assumed_traced: set[Place] = set()
        """Functions that are given to what calls them in traced code."""
        self.assumed_compiled: set[Place] = set()
        """Those of them that are given to what compiles them, be it from another file."""
        self.classes = Classes(self)
        self.reach = Reach(self)
        self.provenance = Provenance(self.modules)
        self.journeys = Journeys(self)
        self.lifetimes = Lifetimes(self)
        self.memo = Memo(self)
        self.functions = Functions(self)
        self.fixtures = FixtureValues(self)
        self.trees = Trees(self)
        self.objects = Objects(self)
        self.uncalled = UncalledCode(self)
        self.module_scopes: set[object] = set()

    # -- running ------------------------------------------------------------------------------

    def run(self) -> None:
        """Execute every module, then whatever none of them came by.

        What is executed for itself is at the expense of its module, with all that it calls.
        """
        is_updated = any(updates_in_function(module) for module in self.modules.values())
        self._base_of_functions = DefaultDevice(ANY_DEVICE) if is_updated else None
        given = list(self.modules)
        note_lifted(self.modules, self.linking.find)
        imported = {name for module in self.modules.values() for name in self._imports_of(module)}
        for name in sorted(given, key=imported.__contains__):
            self._imported = {name}
            self.import_module(name)
        uses = uses_of(self.modules.values(), self.linking.is_in_module)
        self.uncalled.run_functions(
            self.uncalled.functions(given, uses.used), waits=True, begun=uses.begun
        )
        leading: set[str] | None = None
        if not self.follows_compiled and not any(
            enters_default_in_function(module) for module in self.modules.values()
        ):
            leading = self.uncalled.leading_to_devices(given)
        tracing = () if leading is not None and not leading else given
        self.uncalled.trace_each(tracing, leading, waits=True, for_objects=True)
        # What a derived class compiles does not run by itself in the file of its base.
        inherited = {name for name in given if self.modules[name].compiled.compiles_inherited}
        for name in sorted(given, key=lambda name: name not in inherited):
            with interpreting(name):
                self.uncalled.run_classes(self.modules[name])
        self.uncalled.trace_each(tracing, leading, waits=True)
        uncalled = callers_first(self.modules, self.uncalled.functions(given))
        uncalled += (place for name in given for place in returned_lambdas(self.modules[name]))
        for waits in (True, False):
            self.uncalled.run_functions(uncalled, waits=waits, begun=uses.begun)
        self.uncalled.trace_each(tracing, leading)
        while self.now.unconsumed:
            # Who consumes it is not known: it is taken to be done where it was made.
            generator, state = self.now.unconsumed.popitem()
            with interpreting(generator.function.module):
                self.functions.consumed(value(generator), state)
        self.suspensions.finish()
        # Nothing is executed any longer; in a large program, they are a fifth of all that it holds.
        self.happened.memo.clear()
        self.traced.memo.clear()

    _base_of_functions: DefaultDevice | None = None

    def _imports_of(self, module: Module) -> set[str]:
        """Return the modules that importing a module leads into."""
        return {
            found[0]
            for bindings in module.names.module_scope.bindings.values()
            for binding in bindings
            if binding.kind is BindingKind.IMPORT
            and binding.target is not None
            and (found := self.linking.found(module, binding.target)) is not None
            and found[0] != module.name
        }

    def run_import(self, importer: Module, qualified: str, state: State) -> None:
        """Run what an import statement names, where that is a module that was not run yet.

        A default device that its body sets stays set.
        """
        found = self.linking.found(importer, qualified)
        if found is None or found[1] or found[0] not in self.modules or found[0] == importer.name:
            return
        name = found[0]
        if name in self._ends:
            if name not in self._imported and name in self._left_behind:
                # It was run for another program of the project, but not for this one.
                state.base = self._left_behind[name]
            if name not in self._imported and name in self._meshes_left:
                self.reach.asks_meshes()
                state.meshes = self._meshes_left[name]
            if name not in self._imported:
                state.blocks = (*state.blocks, *self._entered_in.get(name, ()))
        else:
            self.import_module(name, state)
        self._imported.add(name)

    def import_module(self, name: str, importing: State | None = None) -> None:
        """Execute the body of a module, the first time that it is imported."""
        if name in self._ends:
            return
        self._ends[name] = None
        with self._executing(self.happened):
            self._import(self.modules[name], importing)

    def _import(self, module: Module, importing: State | None) -> None:
        name = module.name
        self.module_scopes.add(id(module.names.module_scope))
        base, meshes = DefaultDevice(SYSTEM), NOT_ENTERED
        blocks: tuple[DefaultDevice, ...] = ()
        if importing is not None:
            self.reach.asks_meshes()
            base, blocks, meshes = importing.base, importing.seen_by_callee(), importing.meshes
        state = State(base, blocks, Variables(outside=self._bound_before), meshes=meshes)
        with interpreting(name), self.functions.from_outside(), self.starting():
            end = Statements(self, module).block(module.tree.module.body, state)
        if end is not None:
            self._ends[name] = end
            self.finish(end.variables.changes(None))
            entered = self._entered_in[name] = end.still_entered()
            if importing is not None:
                importing.blocks = (*importing.blocks, *entered)
            if end.meshes != meshes:
                self._meshes_left[name] = end.meshes
                if importing is not None:
                    importing.meshes = end.meshes
            if end.base != base:
                self._left_behind[name] = end.base
                if importing is not None:
                    importing.base = end.base

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Execute what is inside as what a module does when it is started."""
        before, self._is_started = self._is_started, True
        try:
            yield
        finally:
            self._is_started = before

    def meshes_in(self, state: State) -> MeshesInForce:
        """Return the meshes in force, also as far as nothing was entered."""
        self.reach.asks_meshes()
        return state.meshes.since_start() if self._is_started else state.meshes

    def _bound_before(self, key: Variable) -> Value | None:
        """Return what a variable of a module holds that was not assigned to since it was run."""
        return self.now.final.get(key) if key[0] in self.module_scopes else None

    def outside(self, module: Module, *, begins: bool = False) -> State:
        """Return the state in which code runs that is called from outside of the program, or that
        one begins with, before any function can have set a default device.
        """
        end = self._ends.get(module.name)
        variables = Variables(outside=self._bound_before)
        base = None if begins else self._base_of_functions
        if end is None:
            return State(base or DefaultDevice(SYSTEM), (), variables)
        base = base or end.base
        return State(base, end.still_entered(), variables, meshes=end.meshes)

    def is_executed(self, function: Place) -> bool:
        """Return whether a function was executed, if only in traced code.

        That a function which traced code calls is also called by itself, nothing says.
        """
        if self.module_of(function).traced.is_handed_over(self.node(function)):
            return True
        every = (self.happened.executed, self.traced.executed, self.assumed_traced)
        return any(function in places for places in every)

    def assume_traced(self, held: Value, *, is_compiled: bool = False) -> None:
        """Note that functions are given to what calls them in traced code, perhaps compiled."""
        places = {*functions_in(held)}
        self.assumed_traced |= places
        self.assumed_compiled |= places if is_compiled else set()

    # -- names of other modules and bodies --------------------------------------------------------

    def expressions(self, module: Module) -> Expressions:
        """Return the evaluator of a module's expressions: one serves all of its bodies.

        One for what happens, and one for what JAX traces.
        """
        evaluators = self._expressions[self.is_tracing]
        found = evaluators.get(module.name)
        if found is None:
            touched = self._touched if self.is_tracing else None
            found = evaluators[module.name] = Expressions(self, module, Calls, touched)
        return found

    @property
    def is_tracing(self) -> bool:
        """Whether what is executed now runs on tracers."""
        return self.now is self.traced

    @property
    def running(self) -> Running:
        """How what is executed now runs."""
        if not self.is_tracing:
            return Running.EAGERLY
        return Running.COMPILED if self._compiling else Running.ON_TRACERS

    @contextlib.contextmanager
    def compiling(self, is_compiling: bool = True) -> Iterator[None]:
        """Execute what is inside, if it is traced, as a part of a compiled program."""
        before, self._compiling = self._compiling, self._compiling or is_compiling
        try:
            yield
        finally:
            self._compiling = before

    @contextlib.contextmanager
    def at_once(self, is_at_once: bool) -> Iterator[None]:
        """Execute what is inside as traced code that runs operation by operation, or not so."""
        before = self.runs_at_once
        self.runs_at_once = is_at_once and (before or not self.is_tracing)
        try:
            yield
        finally:
            self.runs_at_once = before

    @functools.cached_property
    def follows_compiled(self) -> bool:
        """Whether compiled code is executed for what it does to shardings, whatever it is given."""
        return lead_to_placing(self.modules[name].compiled for name in self._given)

    @functools.cached_property
    def follows_compiled_calls(self) -> bool:
        """Whether calls of compiled code are followed: its body may hold it on a mesh."""
        return self.follows_compiled or lead_to_placing(
            (self.modules[name].compiled for name in self._given), constraining=True
        )

    @property
    def suspensions(self) -> Suspensions:
        """The context managers that wait for their end."""
        return self._suspensions[self.is_tracing]

    def on_tracers(self) -> AbstractContextManager[None]:
        """Execute what is inside as traced code: nothing of it happens by itself."""
        return self._executing(self.traced)

    @contextlib.contextmanager
    def _executing(self, ledger: ExecutionLedger) -> Iterator[None]:
        before, depth, repeats = self.now, self.loop_depth, self.repeats
        if ledger is before:
            yield
            return
        self._enter(ledger)
        self.loop_depth = self.repeats = 0
        try:
            yield
        finally:
            self._enter(before)
            self.loop_depth, self.repeats = depth, repeats

    def _enter(self, ledger: ExecutionLedger) -> None:
        self.now = ledger
        self.containers = ledger.containers

    def is_touched(self, tracer: Place) -> bool:
        """Return whether traced code does anything with the data of a tracer."""
        return tracer in self._touched

    def changes_default(self, module: Module) -> bool:
        """Return whether importing a module changes the default device of whoever does."""
        return module.name in self._left_behind or bool(self._entered_in.get(module.name))

    def module_of(self, place: Place) -> Module:
        return self.modules[place.module]

    def node(self, place: Place) -> cst.CSTNode:
        return self.modules[place.module].tree.nodes[place.node]

    @property
    def misses_host_arrays(self) -> bool:
        """Whether an array that is committed to the host met something of which nothing is known,
        or such a thing may have made arrays there, while calls of functions of other files were not
        followed that may be.
        """
        return self.linking.may_follow_more and (
            self.linking.is_wanted
            or any(module.record.pulls.meets_unknown for module in self.modules.values())
        )

    @functools.cached_property
    def is_tampered(self) -> bool:
        """Whether names may mean something else than the text says: nothing is certain then."""
        return any(tampers(module.tree, module.names) for module in self.modules.values())

    @functools.cached_property
    def sets_mesh(self) -> bool:
        """Whether operations may run on a mesh, which nothing here says."""
        return any(sets_mesh(module.tree, module.names) for module in self.modules.values())

    def suppose(self, supposed: Supposition) -> Program:
        """Execute the program once more, with something supposed."""
        modules = [self.modules[name].again() for name in self._given]
        program = Program(modules, SameModules(self), supposed, follows=self._follows)
        program.run()
        supposed.finish()
        return program

    @functools.cached_property
    def commitments(self) -> Commitments:
        """How the arrays that are copied can be committed."""
        from placement_lint.placement.counterfactual.commitments import Commitments, copied

        return Commitments(self, copied(self))

    def unseen(self) -> Iterator[Value]:
        """Yield what code that nobody sees may hold: what others may import, and be given."""
        for place, result in self.happened.results.items():
            is_called = place in self.functions.called or place not in self.uncalled.unasked
            if not is_called or may_be_imported(self.module_of(place), self.node(place)):
                yield result
        open_scopes = {
            id(module.names.module_scope) for module in self.modules.values() if module.is_open
        }
        for (owner, name), held in self.happened.final.items():
            if isinstance(owner, Instance):
                is_made = bool(self.happened.instances.get(owner.cls))
                is_open = may_be_imported(self.module_of(owner.cls), self.node(owner.cls))
                if (is_open and is_public(name)) or not is_made:
                    yield held
            elif owner in open_scopes and is_public(name):
                yield held
        for module in self.modules.values():
            for key in closed_over(module, self.functions.scopes_of):
                yield self.happened.final.get(key, NOTHING)

    def left(self) -> Iterator[Value]:
        """Yield what is left at the end, in variables of modules and in objects."""
        for (owner, _), held in self.happened.final.items():
            if isinstance(owner, Instance) or owner in self.module_scopes:
                yield held

    def bind(self, key: Variable, held: Value, state: State) -> None:
        self.containers.hold(key, held)
        state.variables[key] = held

    def held(self, key: Variable, state: State) -> Value | None:
        """Return what a variable holds; None for one that is not bound, or not any longer."""
        found = state.variables.get(key)
        self.functions.note_read(key, found or None)
        if found is None and (isinstance(key[0], Instance) or key[0] in self.module_scopes):
            found = self.now.final.get(key)
        return found

    def finish(self, changes: dict[Variable, Value]) -> None:
        """Keep what holds at the end of a body, for functions that run later."""
        for key, held in changes.items():
            before = self.now.final.get(key)
            is_other = before is not None and before != held
            self.now.keep(key, join(before or NOTHING, held) if is_other else held)
