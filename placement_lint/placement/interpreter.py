"""The program: its modules, and how a call leads from one function to another.

A function is executed for each combination of arguments and default device that its callers give
it, once for each; what an execution read of the variables around it is checked before its result is
used again. What is called by nobody is executed with arguments of which nothing is known.
"""

from __future__ import annotations

import contextlib
import functools
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.limits.budget import interpreting
from placement_lint.placement.counterfactual.requests import Requests
from placement_lint.placement.domain.containers import (
    anonymous,
    forget,
    is_container,
    loosened,
    sited,
    sites,
)
from placement_lint.placement.domain.state import (
    ANY_DEVICE,
    SYSTEM,
    DefaultDevice,
    Layer,
    State,
    Variable,
    Variables,
    meet,
    variable,
)
from placement_lint.placement.domain.values import (
    DOUBTFUL,
    MAX_ALTERNATIVES,
    MAX_DEPTH,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Atom,
    Class,
    Context,
    Coroutine,
    DefaultDeviceContext,
    Function,
    Generator,
    Instance,
    Lazy,
    Mapping,
    Place,
    Sequence,
    Value,
    arrays,
    join,
    limited,
    parts_of,
    value,
)
from placement_lint.placement.engine.classes import Classes
from placement_lint.placement.engine.context_managers import Suspensions
from placement_lint.placement.engine.executions import Execution, Ledger
from placement_lint.placement.engine.expressions import Expressions
from placement_lint.placement.engine.frames import Frame
from placement_lint.placement.engine.linking import Linking
from placement_lint.placement.engine.objects import Objects
from placement_lint.placement.engine.pytrees import Trees
from placement_lint.placement.engine.reach import Reach
from placement_lint.placement.engine.statements import Statements
from placement_lint.placement.facts.decorators import (
    caches,
    decorator_name,
    makes_context,
    method_kind,
)
from placement_lint.placement.facts.tampering import sets_mesh, tampers
from placement_lint.placement.overlays.dispatch import Calls
from placement_lint.placement.provenance import Provenance
from placement_lint.syntax.names import BindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from placement_lint.placement.counterfactual.commitments import Commitments
    from placement_lint.placement.engine.executions import Key
    from placement_lint.placement.engine.linking import Sources
    from placement_lint.placement.engine.supposition import Supposition
    from placement_lint.placement.facts.module import Module
    from placement_lint.syntax.names import Scope

_MAX_CONTEXTS = 12
"""Ways to call one function that are told apart; further ones share one in which all is unknown."""
_MAX_SITED_CONTEXTS = 6
"""Ways to call one function in which it matters which list or dict is passed."""
_MAX_DEPTH = 400
"""Calls inside one another, after which a result is unknown."""
_MAX_CONSUMED = 3
"""Iterators of one expression that are consumed inside of one another."""
_MAX_RECURSIONS = 64
"""How often a function is executed again for what it calls itself with. A list that grows in such
a call makes each call new, and two calls in one body twice as many: there would be no end."""


class Program:
    """All modules that are looked at together."""

    def __init__(
        self,
        modules: list[Module],
        sources: Sources | None = None,
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
        self._unasked: set[Place] = set()
        """The functions that were executed because nothing had called them by then."""
        self._called: set[Place] = set()
        self._consuming: list[Place] = []
        """The iterators that are consumed now, by the expressions that made them."""
        self.loop_depth = 0
        """How many loops are around what is executed now, those of callers included."""
        self._stored: dict[Place, frozenset[int | str]] = {}
        self._frames: list[Frame] = []
        self._ends: dict[str, State | None] = {}
        self._left_behind: dict[str, DefaultDevice] = {}
        """The default device that a module's body left behind, where it changed it."""
        self._entered_in: dict[str, tuple[DefaultDevice, ...]] = {}
        """What a module's body entered by hand, and did not leave."""
        self._imported: set[str] = set()
        """What is imported since the program was started."""
        self._happened = Ledger()
        self._traced = self._happened.on_tracers()
        self.now = self._happened
        """What the executions of the kind that runs now have left behind."""
        self.containers = self.now.containers
        self._suspensions = Suspensions(self), Suspensions(self)
        """Those of what happens, and those on tracers."""
        self._expressions: tuple[dict[str, Expressions], dict[str, Expressions]] = {}, {}
        """The evaluators, by module: those of what happens, and those on tracers."""
        self._touched: set[Place] = set()
        """The tracers that traced code computes with, or gives to what nobody follows."""
        self._assumed_traced: set[Place] = set()
        """Functions that are given to what calls them in traced code."""
        self.classes = Classes(self)
        self.reach = Reach(self)
        self.provenance = Provenance(self.modules)
        self.trees = Trees(self)
        self.objects = Objects(self)
        self._module_scopes: set[object] = set()

    # -- running ------------------------------------------------------------------------------

    def run(self) -> None:
        """Execute every module, then whatever none of them came by.

        What is executed for itself is at the expense of its module, with all that it calls.
        """
        if any(_updates_in_function(module) for module in self.modules.values()):
            self._base_of_functions = DefaultDevice(ANY_DEVICE)
        else:
            self._base_of_functions = None
        given = list(self.modules)
        imported = {name for module in self.modules.values() for name in self._imports_of(module)}
        for name in sorted(given, key=imported.__contains__):
            self._imported = {name}
            self.import_module(name)
        used = frozenset().union(*(_used_names(self.modules[name]) for name in given))
        for name in given:
            with interpreting(name):
                self._run_functions(self.modules[name], but=used)
        if any(_enters_default_in_function(module) for module in self.modules.values()):
            for name in given:
                with interpreting(name):
                    self._trace_functions(self.modules[name])
        for name in given:
            with interpreting(name):
                self._run_classes(self.modules[name])
        for name in given:
            with interpreting(name):
                self._run_functions(self.modules[name])
        while self.now.unconsumed:
            # Who consumes it is not known: it is taken to be done where it was made.
            generator, state = self.now.unconsumed.popitem()
            with interpreting(generator.function.module):
                self.consumed(value(generator), state)
        self.suspensions.finish()

    _base_of_functions: DefaultDevice | None = None

    def _imports_of(self, module: Module) -> set[str]:
        """Give the modules that importing a module leads into."""
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
        with self._executing(self._happened):
            self._import(self.modules[name], importing)

    def _import(self, module: Module, importing: State | None) -> None:
        name = module.name
        self._module_scopes.add(id(module.names.module_scope))
        base = DefaultDevice(SYSTEM)
        blocks: tuple[DefaultDevice, ...] = ()
        if importing is not None:
            base, blocks = importing.base, importing.seen_by_callee()
        frames, self._frames = self._frames, []
        depth, self.loop_depth = self.loop_depth, 0
        state = State(base, blocks, Variables(outside=self._bound_before))
        with interpreting(name):
            end = Statements(self, module).block(module.tree.module.body, state)
        self._frames, self.loop_depth = frames, depth
        if end is not None:
            self._ends[name] = end
            self.finish(end.variables.changes(None))
            entered = self._entered_in[name] = _still_entered(end)
            if importing is not None:
                importing.blocks = (*importing.blocks, *entered)
            if end.base != base:
                self._left_behind[name] = end.base
                if importing is not None:
                    importing.base = end.base

    def _bound_before(self, key: Variable) -> Value | None:
        """Give what a variable of a module holds that was not assigned to since it was run."""
        return self.now.final.get(key) if key[0] in self._module_scopes else None

    def _outside(self, module: Module) -> State:
        """Give the state in which code runs that is called from outside of the program."""
        end = self._ends.get(module.name)
        base = DefaultDevice(SYSTEM) if end is None else end.base
        entered = () if end is None else _still_entered(end)
        variables = Variables(outside=self._bound_before)
        return State(self._base_of_functions or base, entered, variables)

    def _run_functions(self, module: Module, *, but: frozenset[str] = frozenset()) -> None:
        """Execute the functions that nobody called, with arguments of which nothing is known.

        `but`: names that are used somewhere, so that more may be known of their arguments.
        """
        for node in module.tree.every(cst.FunctionDef):
            if node.name.value in but:
                continue
            place = module.place(node)
            if self._is_executed(place) or node in module.traced:
                continue
            if isinstance(_definer(module, node), cst.ClassDef):
                continue
            self._unasked.add(place)
            self._execute(place, {}, self._outside(module))

    def _is_executed(self, function: Place) -> bool:
        """Tell whether a function was executed, if only in traced code.

        That a function which traced code calls is also called by itself, nothing says.
        """
        if self.module_of(function).traced.is_handed_over(self.node(function)):
            return True
        every = (self._happened.executed, self._traced.executed, self._assumed_traced)
        return any(function in places for places in every)

    def assume_traced(self, held: Value, depth: int = MAX_DEPTH) -> None:
        """Note that functions are given to what calls them in traced code."""
        for atom in held:
            if isinstance(atom, Function):
                self._assumed_traced.add(atom.place)
            elif isinstance(atom, Sequence | Mapping) and depth:
                for part in parts_of(atom):
                    self.assume_traced(part, depth - 1)

    def _trace_functions(self, module: Module) -> None:
        """Execute, as traced code, what JAX traces and no call has led to, to see what it calls."""
        for node in module.tree.every(cst.FunctionDef, cst.Lambda):
            place = module.place(node)
            is_traced = (
                node in module.traced
                or module.traced.is_handed_over(node)
                or place in self._assumed_traced
            )
            if is_traced and place not in self._traced.executed:
                with self.on_tracers():
                    self._execute(place, {}, self._outside(module))

    def _run_classes(self, module: Module) -> None:
        """Execute the methods that nobody called, on an object as its class's makers left it."""
        for node in module.tree.every(cst.ClassDef):
            place = module.place(node)
            state = self._outside(module)
            every = self.now.instances.get(place, {})
            made = every.keys() - self.objects.superseded
            if every:
                receiver = Instance(place, place)
                for owner, name in self.now.attributes_of(place):
                    if owner in made:
                        held = self.now.final[owner, name]
                        key = (receiver, name)
                        before = state.variables.get(key)
                        state.variables[key] = held if before is None else join(before, held)
            else:
                receiver = Instance(place, place)
                initializer = self.classes.method(receiver.cls, "__init__")
                if initializer is not None:
                    self.call_function(initializer, {0: value(receiver)}, state, bound=True)
            methods = [
                child
                for child in node.body.body
                if isinstance(child, cst.FunctionDef) and child.name.value != "__init__"
            ]
            uncalled = [
                function
                for method in methods
                if not self._is_executed(function := module.place(method))
                and method not in module.traced
            ]
            later = state.copy()
            for function in uncalled:
                if function in self.now.executed:
                    continue
                self._unasked.add(function)
                branch = state.copy()
                self.call_function(function, {0: value(receiver)}, branch, bound=True)
                self._keep_arrays(receiver, branch, later)
            if later.variables.differences(state.variables):
                # Who calls them may call them again, after one another.
                for function in uncalled:
                    self.call_function(function, {0: value(receiver)}, later.copy(), bound=True)

    def _keep_arrays(self, receiver: Instance, after: State, kept: State) -> None:
        """Let the attributes that are arrays also be what a method made of them."""
        for name in self.objects.attribute_names(receiver):
            key = (receiver, name)
            before, held = kept.variables.get(key), after.variables.get(key)
            if before is not None and held is not None and any(True for _ in arrays(before)):
                kept.variables[key] = join(before, held)

    # -- names of other modules and bodies --------------------------------------------------------

    def expressions(self, module: Module) -> Expressions:
        """Give the evaluator of a module's expressions: one serves all of its bodies.

        One for what happens, and one for what JAX traces.
        """
        evaluators = self._expressions[self.is_tracing]
        found = evaluators.get(module.name)
        if found is None:
            touched = self._touched if self.is_tracing else None
            found = evaluators[module.name] = Expressions(self, module, Calls, touched)
        return found

    # -- tracing --------------------------------------------------------------------------------

    @property
    def is_tracing(self) -> bool:
        """Whether what is executed now runs on tracers."""
        return self.now is self._traced

    @property
    def suspensions(self) -> Suspensions:
        """The context managers that wait for their end."""
        return self._suspensions[self.is_tracing]

    def on_tracers(self) -> AbstractContextManager[None]:
        """Execute what is inside as traced code: nothing of it happens by itself."""
        return self._executing(self._traced)

    @contextlib.contextmanager
    def _executing(self, ledger: Ledger) -> Iterator[None]:
        before, depth = self.now, self.loop_depth
        if ledger is before:
            yield
            return
        self._enter(ledger)
        self.loop_depth = 0
        try:
            yield
        finally:
            self._enter(before)
            self.loop_depth = depth

    def _enter(self, ledger: Ledger) -> None:
        self.now = ledger
        self.containers = ledger.containers

    def is_touched(self, tracer: Place) -> bool:
        """Tell whether traced code does anything with the data of a tracer."""
        return tracer in self._touched

    def changes_default(self, module: Module) -> bool:
        """Tell whether importing a module changes the default device of whoever does."""
        return module.name in self._left_behind or bool(self._entered_in.get(module.name))

    def module_of(self, place: Place) -> Module:
        """Give the module that a place is in."""
        return self.modules[place.module]

    def node(self, place: Place) -> cst.CSTNode:
        """Give the node at a place."""
        return self.modules[place.module].tree.nodes[place.node]

    @property
    def misses_host_arrays(self) -> bool:
        """Whether an array that is committed to the host met something of which nothing is known,
        while calls of functions of other files were not followed.
        """
        return self.linking.leaves_out and any(
            module.record.pulls.meets_unknown for module in self.modules.values()
        )

    @functools.cached_property
    def is_tampered(self) -> bool:
        """Whether names may mean something else than the text says: nothing is certain then."""
        return any(tampers(module.tree, module.names) for module in self.modules.values())

    @functools.cached_property
    def sets_mesh(self) -> bool:
        """Whether operations may run on a mesh, which nothing here says."""
        return any(sets_mesh(module.tree, module.names) for module in self.modules.values())

    # -- supposing ------------------------------------------------------------------------------

    def suppose(self, supposed: Supposition) -> Program:
        """Execute the program once more, with something supposed."""
        modules = [self.modules[name].again() for name in self._given]
        program = Program(modules, _Known(self), supposed, follows=self._follows)
        program.run()
        supposed.finish()
        return program

    @functools.cached_property
    def commitments(self) -> Commitments:
        """How the arrays that are copied can be committed."""
        from placement_lint.placement.counterfactual.commitments import Commitments, copied

        return Commitments(self, copied(self))

    def unseen(self) -> Iterator[Value]:
        """Give what code that nobody sees may hold: what others may import, and be given."""
        for place, result in self._happened.results.items():
            is_called = place in self._called or place not in self._unasked
            if not is_called or self._is_open(self.module_of(place), self.node(place)):
                yield result
        open_scopes = {
            id(module.names.module_scope) for module in self.modules.values() if module.is_open
        }
        for (owner, name), held in self._happened.final.items():
            if isinstance(owner, Instance):
                is_made = bool(self._happened.instances.get(owner.cls))
                cls = self.node(owner.cls)
                is_open = self._is_open(self.module_of(owner.cls), cls) and _is_public(name)
                if is_open or not is_made:
                    yield held
            elif owner in open_scopes and _is_public(name):
                yield held
        yield from self._closed_over()

    def left(self) -> Iterator[Value]:
        """Give what is left at the end, in variables of modules and in objects."""
        for (owner, _), held in self._happened.final.items():
            if isinstance(owner, Instance) or owner in self._module_scopes:
                yield held

    def _is_open(self, module: Module, node: cst.CSTNode) -> bool:
        """Tell whether others may import, by a public name, what a node defines."""
        if not module.is_open or not isinstance(node, cst.FunctionDef | cst.ClassDef):
            return False
        around = [node, *module.tree.ancestors(node)]
        if any(isinstance(each, cst.FunctionDef | cst.Lambda) for each in around[1:]):
            return False
        named = [each for each in around if isinstance(each, cst.FunctionDef | cst.ClassDef)]
        return all(_is_public(each.name.value) for each in named)

    def _closed_over(self) -> Iterator[Value]:
        """Give what decorated functions that JAX traces take from outside, but for `jax.jit`, which
        makes constants of that.
        """
        for module in self.modules.values():
            for function in module.tree.every(cst.FunctionDef):
                if function not in module.traced or module.traced.is_only_jitted(function):
                    continue
                own = self.scopes_of(module.place(function))
                for node in module.tree.every(cst.Name, below=function):
                    owner = module.names.owner(node.value, module.names.scope(node))
                    if owner is not None and id(owner) not in own:
                        yield self._happened.final.get(variable(owner, node.value), NOTHING)

    def bind(self, key: Variable, held: Value, state: State) -> None:
        """Assign to a variable or an attribute."""
        self.containers.hold(key, held)
        state.variables[key] = held

    def held(self, key: Variable, state: State) -> Value | None:
        """Give what a variable holds; None for one that is not bound, or not any longer."""
        self.note_read(key)
        found = state.variables.get(key)
        if found is None and (isinstance(key[0], Instance) or key[0] in self._module_scopes):
            found = self.now.final.get(key)
        return found

    def finish(self, changes: dict[Variable, Value]) -> None:
        """Keep what holds at the end of a body, for functions that run later."""
        for key, held in changes.items():
            before = self.now.final.get(key)
            is_other = before is not None and before != held
            self.now.keep(key, join(before or NOTHING, held) if is_other else held)

    def scopes_of(self, function: Place) -> set[int]:
        """Give the scopes, by id, of a function and of what is defined in it."""
        return _scopes_inside(self.module_of(function), self.node(function))

    def note_read(self, key: Variable) -> None:
        """Note that the function being executed depends on a variable that is not its own."""
        if self._frames:
            frame = self._frames[-1]
            if key[0] not in frame.own and key not in frame.reads:
                frame.reads[key] = self._seen(key, frame.entry)

    def _seen(self, key: Variable, variables: Variables) -> Value | None:
        """Give what a function sees that reads a variable of another body.

        That of a function which was left is what the last calls made of it, wherever they were.
        """
        held = variables.get(key)
        if held is None and not isinstance(key[0], Instance) and key[0] not in self._module_scopes:
            return self.now.final.get(key)
        return held

    @property
    def frame(self) -> Frame | None:
        """The function being executed; None in the body of a module."""
        return self._frames[-1] if self._frames else None

    # -- calling ----------------------------------------------------------------------------------

    def call_function(
        self,
        place: Place,
        arguments: dict[int | str, Value],
        state: State,
        *,
        bound: bool = False,
        rest: Value | None = None,
        more: Value | None = None,
        call: Place | None = None,
    ) -> Value:
        """Execute a function with arguments by position and keyword, and give what it returns.

        `rest`: what further positional arguments there are; `more`: what those by keyword are
        whose names are not known. `bound`: the first argument is the receiver. `call`: where it is
        called.
        """
        module = self.module_of(place)
        node = self.node(place)
        given = (*arguments.values(), rest or NOTHING, more or NOTHING)
        if isinstance(node, cst.FunctionDef) and node in module.traced and not self.is_tracing:
            for held in given:
                self.expressions(module).escapes(held, state)
            return UNKNOWN
        if call is not None:
            self._called.add(place)
        if len(self._frames) > _MAX_DEPTH:
            self.now.executed.add(place)
            for held in given:
                self.expressions(module).escapes(held, state)
            return UNKNOWN
        if not isinstance(node, cst.FunctionDef | cst.Lambda):
            raise TypeError(place)
        bindings = self._bind(module, node, arguments, rest=rest, more=more, bound=bound)
        if (
            isinstance(node, cst.FunctionDef)
            and node.asynchronous is None
            and module.is_generator(node)
            and not makes_context(module, node)
        ):
            generator = Generator(place, tuple(bindings.items()), self.loop_depth > 0)
            self.now.unconsumed.setdefault(generator, state.copy())
            self.now.executed.add(place)
            return value(generator)
        return self._executed_or_later(place, bindings, state, call)

    def consumed(self, held: Value, state: State) -> Value:
        """Run the bodies of generators, where they are consumed, and give what they yield."""
        lazy = [atom for atom in held if isinstance(atom, Generator | Lazy)]
        if not lazy:
            return held
        found = held - frozenset(lazy)
        depth = self.loop_depth
        for atom in lazy:
            self.loop_depth = int(atom.in_loop)
            branch = state.copy() if len(held) > 1 else state
            if isinstance(atom, Lazy):
                if self._consuming.count(atom.place) == _MAX_CONSUMED:
                    # It may be asked for an item of itself, which Python refuses.
                    found |= UNKNOWN
                    continue
                self._consuming.append(atom.place)
                rest = self._left_of(atom, branch)
                made = self.expressions(self.module_of(atom.place)).consume(rest, branch)
                found |= self.consumed(made, branch)
                self._consuming.pop()
            else:
                self.now.unconsumed.pop(atom, None)
                found |= self._executed_or_later(atom.function, dict(atom.arguments), branch)
            if branch is not state and (met := meet([state, branch])) is not None:
                state.become(met)
        self.loop_depth = depth
        return limited(found)

    def _left_of(self, lazy: Lazy, state: State) -> Lazy:
        """Give what is left of an iterator, which may have been consumed in part before.

        The first step over an array takes its rows to the default device of that step: under
        another one, later, they are not where the array itself would go.
        """
        under = self.now.consumed_under.setdefault(lazy.place, set())
        under.add(state.default)
        if len(under) < 2:
            return lazy
        operands = tuple((place, join(held, UNKNOWN)) for place, held in lazy.operands)
        return replace(lazy, operands=operands)

    def _executed_or_later(
        self, place: Place, bindings: dict[str, Value], state: State, call: Place | None = None
    ) -> Value:
        """Execute a function; one that is being executed is executed again after that.

        What such an inner call gives is unknown: what it does to its arguments is not.
        """
        if place in self.now.running:
            self.now.recursed.setdefault(place, []).append((bindings, state.copy()))
            self._forget_stored(place, bindings, state)
            return DOUBTFUL
        bindings = {name: self.containers.named(held) for name, held in bindings.items()}
        execution = self._memoized(place, bindings, state)
        module, node = self.module_of(place), self.node(place)
        entered = state.copy() if execution.suspended is not None else state
        if isinstance(node, cst.FunctionDef) and caches(module, node):
            result = self._from_cache(place, execution, state)
        else:
            result = self._reuse(execution, state)
        while self.now.recursed.get(place):
            again, there = self.now.recursed[place].pop()
            if self.now.again.get(place, 0) >= _MAX_RECURSIONS:
                self.now.recursed[place].clear()
                break
            before = self.now.executions
            self._reuse(self._memoized(place, again, there), there)
            if self.now.executions > before:
                self.now.again[place] = self.now.again.get(place, 0) + 1
        if place in self.now.moving:
            self.reach.moves()
        if execution.suspended is not None:
            own, at = execution.suspended, call or place
            result = self.suspensions.suspend(at, place, bindings, entered, own, result)
        if call is not None and execution.objects:
            result = self.objects.handed_out(result, execution.objects, call, state)
        if call is None or not execution.made:
            return result
        looping = self.loop_depth > 0
        renamed = self.containers.returned(result, execution.made, call, again=looping)
        if self._frames:
            self._frames[-1].made.update(site for site in sites(renamed) if site[0] == call)
        return renamed

    def _from_cache(self, place: Place, execution: Execution, state: State) -> Value:
        """Give what a function gives that may have kept what an earlier call gave."""
        before = self.now.cached.get(place)
        if before is None:
            self.now.cached[place] = self._reuse(execution, state)
            return self.now.cached[place]
        branch = state.copy()
        self.now.cached[place] = join(before, self._reuse(execution, branch))
        met = meet([state, branch])
        if met is not None:
            state.become(met)
        return self.now.cached[place]

    def _forget_stored(self, place: Place, bindings: dict[str, Value], state: State) -> None:
        """Forget what containers hold that a function stores into which is not followed here."""
        for name in self.stored_parameters(place):
            if isinstance(name, str) and name in bindings:
                forget(bindings[name], state, self.containers, loosened)

    def _memoized(self, place: Place, bindings: dict[str, Value], state: State) -> Execution:
        contexts = self.now.memo.setdefault(place, {})
        key, there = self._key(bindings, state), state
        if key not in contexts and len(contexts) >= _MAX_SITED_CONTEXTS:
            self._forget_stored(place, bindings, state)
            bindings = {name: anonymous(held) for name, held in bindings.items()}
            key = self._key(bindings, state)
        if key not in contexts and len(contexts) >= _MAX_CONTEXTS:
            bindings = self._widen(place, bindings)
            key = self._key(bindings, state)
            if key not in contexts and len(contexts) >= 4 * _MAX_CONTEXTS:
                bindings = dict.fromkeys(bindings, UNKNOWN)
                there = State(DefaultDevice(ANY_DEVICE), (), state.variables)
                key = self._key(bindings, there)
        for execution in contexts.get(key, ()):
            if all(
                self._seen(key, state.variables) == held for key, held in execution.reads.items()
            ):
                return execution
        self.now.executions += 1
        execution = self._execute(place, bindings, there)
        contexts.setdefault(key, []).append(execution)
        del contexts[key][:-_MAX_CONTEXTS]
        return execution

    def _key(self, bindings: dict[str, Value], state: State) -> Key:
        return (
            tuple(bindings.items()),
            state.seen_by_callee(),
            state.base,
            self.loop_depth > 0,
        )

    def _widen(self, place: Place, bindings: dict[str, Value]) -> dict[str, Value]:
        """Give arguments that hold for all calls of a function which is called in many ways.

        One with too many alternatives stays what it then is: to lose some and take in others
        would never end.
        """
        wide = self.now.widened.get(place)
        if wide is None:
            wide = dict(bindings)
            for known, *_ in self.now.memo[place]:
                wide = {name: join(wide[name], held) for name, held in known}
        self.now.widened[place] = {
            name: wide[name] if (place, name) in self.now.over_full else join(wide[name], held)
            for name, held in bindings.items()
        }
        for name, held in bindings.items():
            if len(wide[name] | held) > MAX_ALTERNATIVES:
                self.now.over_full.add((place, name))
        return self.now.widened[place]

    def _reuse(self, execution: Execution, state: State) -> Value:
        for name in execution.reads:
            self.note_read(name)
        for name, held in execution.writes.items():
            state.variables[name] = held
        if execution.base is not None:
            state.base = execution.base
        if execution.released is None or (
            execution.released and not state.release(execution.released)
        ):
            state.forget_default()
        state.blocks = (*state.blocks, *execution.entered)
        return execution.result

    def resume(
        self,
        place: Place,
        bindings: dict[str, Value],
        entered: State,
        at: State,
        since: Layer,
        state: State,
    ) -> None:
        """Execute what follows the `yield` of a context manager's function that is left now.

        It was called in `entered`, goes on in `at`, of which `since` is what it does not change,
        and does what it does to `state`.
        """
        if place not in self.now.running:
            self._reuse(self._execute(place, bindings, entered, (at, since)), state)

    def _execute(
        self,
        place: Place,
        bindings: dict[str, Value],
        state: State,
        resumption: tuple[State, Layer] | None = None,
    ) -> Execution:
        module, node = self.module_of(place), self.node(place)
        if not isinstance(node, cst.FunctionDef | cst.Lambda):
            raise TypeError(place)
        scope = module.names.scope(node.body)
        variables, entered = state.variables.enter()
        inner = State(state.base.for_callee(), state.seen_by_callee(), variables)
        if state.blocks and isinstance(node, cst.FunctionDef) and _runs_later(module, node):
            # Its body runs where it is consumed, perhaps outside of the block.
            inner.blocks = (DefaultDevice(ANY_DEVICE, inherited=True),)
        if isinstance(node, cst.FunctionDef):
            decorated = _decorated_default(module, node, inner, self)
            if decorated is not None:
                inner.blocks = (decorated,)
        entry = Variables(entered)
        self._bind_locals(module, scope, bindings, inner)
        own = _scopes_inside(module, node)
        frame = Frame(place, entry, own, len(inner.blocks))
        if resumption is not None:
            frame.resumption = resumption[0]
        else:
            frame.suspends = self.suspensions.splits(module, node)
        before, around = inner.base, inner.blocks
        end = self._run_body(module, node, inner, frame)
        suspended: dict[Variable, Value] | None = None
        if frame.suspended:
            end = meet([replace(each, suspended=False) for each in frame.suspended])
            changes = {} if end is None else end.variables.changes(entered)
            suspended = {key: held for key, held in changes.items() if key[0] in own}
        elif resumption is not None:
            before, entered = resumption[0].base, resumption[1]
            end = end if end is not None and end.resumed else None
        writes: dict[Variable, Value] = {}
        base = None
        if end is not None:
            changes = end.variables.changes(entered)
            writes = {key: held for key, held in changes.items() if key[0] not in own}
            for key in writes:
                frame.reads.setdefault(key, self._seen(key, entry))
            self.finish(changes)
            base = end.base if end.base != before else None
        if base is not None:
            self.now.sets_default.add(place)
        # A context manager is left and entered by whoever uses it.
        is_context = resumption is not None or bool(frame.suspended)
        blocks = () if end is None else end.blocks
        changed = _changed_blocks(around, around if is_context else blocks)
        result = self._result(module, node, frame)
        before_this = self.now.results.get(place)
        self.now.results[place] = result if before_this is None else join(before_this, result)
        kept = {site for held in writes.values() for site in sites(held)} if frame.made else set()
        made = frame.made - kept
        objects = self.objects.own(frame, writes, result) if frame.objects else set()
        return Execution(result, frame.reads, writes, base, made, objects, *changed, suspended)

    def _run_body(
        self, module: Module, node: cst.FunctionDef | cst.Lambda, state: State, frame: Frame
    ) -> State | None:
        """Execute a body; give the state in which its caller goes on."""
        self._frames.append(frame)
        self.now.running.add(frame.place)
        self.now.executed.add(frame.place)
        try:
            statements = Statements(self, module)
            if isinstance(node, cst.Lambda):
                frame.returns.append(statements.expressions.evaluate(node.body, state))
                return state
            end = statements.function_body(node, state, frame)
            return statements.raised() if end is None else end
        finally:
            self.now.running.discard(frame.place)
            self._frames.pop()

    def _bind_locals(
        self, module: Module, scope: Scope, bindings: dict[str, Value], state: State
    ) -> None:
        """Bind the parameters of a function; its other names are not bound yet."""
        for name, bound in scope.bindings.items():
            held = bindings.get(name, UNKNOWN)
            if is_container(held):
                held = sited(held, (module.place(bound[0].node),))
            self.bind(variable(scope, name), held, state)

    def _result(self, module: Module, node: cst.CSTNode, frame: Frame) -> Value:
        if isinstance(node, cst.FunctionDef):
            if module.is_generator(node):
                if makes_context(module, node):
                    return _context(frame.yields)
                # What is yielded inside a block of its own meets a consumer under that default.
                element = join(
                    *(held if defaults[0].inherited else UNKNOWN for defaults, held in frame.yields)
                )
                return value(Sequence(None, element))
            result = join(*frame.returns) if frame.returns else PLAIN
            return value(Coroutine(result)) if node.asynchronous is not None else result
        return join(*frame.returns) if frame.returns else UNKNOWN

    def _bind(
        self,
        module: Module,
        node: cst.FunctionDef | cst.Lambda,
        arguments: dict[int | str, Value],
        *,
        rest: Value | None,
        more: Value | None,
        bound: bool,
    ) -> dict[str, Value]:
        """Give what each parameter holds."""
        params = node.params
        bound_to: dict[str, Value] = {}
        positional = [*params.posonly_params, *params.params]
        taken: set[int | str] = set()
        if bound and isinstance(node, cst.FunctionDef):
            kind = method_kind(module, node)
            if kind == "staticmethod":
                arguments = {
                    (key - 1 if isinstance(key, int) else key): held
                    for key, held in arguments.items()
                    if key != 0
                }
            elif kind == "classmethod":
                arguments = {**arguments, 0: _class_of(arguments[0])}
        for position, param in enumerate(positional):
            name = param.name.value
            if position in arguments:
                bound_to[name] = arguments[position]
                taken.add(position)
            elif name in arguments:
                bound_to[name] = arguments[name]
                taken.add(name)
            else:
                bound_to[name] = self._default(module, param, rest, more)
        for param in params.kwonly_params:
            name = param.name.value
            taken.add(name)
            if name in arguments:
                bound_to[name] = arguments[name]
            else:
                bound_to[name] = self._default(module, param, None, more)
        if isinstance(params.star_arg, cst.Param):
            extra = [
                arguments[key]
                for key in sorted(k for k in arguments if isinstance(k, int) and k not in taken)
            ]
            if rest is not None:
                star = Sequence(None, join(*extra, rest))
            else:
                star = Sequence(tuple(extra), join(*extra) if extra else NOTHING)
            bound_to[params.star_arg.name.value] = value(star)
        if params.star_kwarg is not None:
            named = {
                key: held
                for key, held in arguments.items()
                if isinstance(key, str) and key not in taken
            }
            bound_to[params.star_kwarg.name.value] = value(
                Mapping(tuple(sorted(named.items())), more or NOTHING)
            )
        return bound_to

    def _default(
        self,
        module: Module,
        param: cst.Param,
        rest: Value | None,
        more: Value | None,
    ) -> Value:
        passed = [held for held in (rest, more) if held is not None]
        if param.default is None:
            return join(*passed) if passed else UNKNOWN
        default = module.tree.index(param.default)
        held = self.expressions(module).record.values.get(default)
        if held is None:
            held = module.record.values.get(default, UNKNOWN)
        return join(held, *passed) if passed else held

    # -- classes ----------------------------------------------------------------------------------

    def stored_parameters(self, function: Place) -> frozenset[int | str]:
        """Give the parameters, by position and name, into which a function stores items."""
        if function not in self._stored:
            node = self.node(function)
            tree = self.module_of(function).tree
            names = {
                root.value
                for inner in tree.every(*_STORING, below=node)
                if (root := _stored_into(inner)) is not None
            }
            params = node.params if isinstance(node, cst.FunctionDef | cst.Lambda) else None
            positional = [] if params is None else [*params.posonly_params, *params.params]
            found: set[int | str] = set()
            for position, param in enumerate(positional):
                if param.name.value in names:
                    found |= {position, param.name.value}
            self._stored[function] = frozenset(found)
        return self._stored[function]


class _Known:
    """Gives the modules of a program once more, and no others."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def find(self, importer: str, qualified: str) -> tuple[str, str] | None:
        return self._program.linking.find(importer, qualified)

    def load(self, name: str) -> Module | None:
        known = self._program.modules.get(name)
        return None if known is None else known.again()


def _is_public(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


_CHANGING_METHODS = frozenset({
    "append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault",
    "sort", "update",
})  # fmt: skip


_STORING = (cst.AssignTarget, cst.AugAssign, cst.Call, cst.Del)
_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)


def _stored_into(node: cst.CSTNode) -> cst.Name | None:
    """Give the variable into whose items a node stores: `x[k] = …`, `x.update(…)`."""
    target: cst.CSTNode | None = None
    if isinstance(node, cst.AssignTarget | cst.AugAssign | cst.Del):
        target = node.target if isinstance(node.target, cst.Subscript) else None
    elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        is_change = node.func.attr.value in _CHANGING_METHODS
        target = node.func.value if is_change else None
    while isinstance(target, cst.Subscript):
        target = target.value
    return target if isinstance(target, cst.Name) else None


def _class_of(held: Value) -> Value:
    return value(*[Class(atom.cls) if isinstance(atom, Instance) else atom for atom in held])


def _definer(module: Module, node: cst.FunctionDef) -> cst.CSTNode | None:
    """Give the class or function that a function is directly defined in."""
    for ancestor in module.tree.ancestors(node):
        if isinstance(ancestor, cst.ClassDef | cst.FunctionDef):
            return ancestor
    return None


def _used_names(module: Module) -> frozenset[str]:
    """Give the names that are used in a module, other than to define what they stand for.

    What has such a name may be called, also by another name that it is given.
    """
    defining = {id(node.name) for node in module.tree.every(cst.ClassDef, cst.FunctionDef)}
    return frozenset(node.value for node in module.tree.every(cst.Name) if id(node) not in defining)


def _scopes_inside(module: Module, node: cst.CSTNode) -> set[int]:
    """Give the scopes, by id, of a function and of everything defined in it."""
    key = module.tree.index(node)
    cached = module.scopes_inside.get(key)
    if cached is None:
        body = getattr(node, "body", node)
        cached = {id(module.names.scope(body))}
        cached |= {
            id(module.names.scope(child.body))
            for child in module.tree.every(cst.FunctionDef, cst.Lambda, cst.ClassDef, below=node)
        }
        cached |= {
            id(module.names.scope(child.for_in))
            for child in module.tree.every(*_COMPREHENSIONS, below=node)
        }
        module.scopes_inside[key] = cached
    return cached


def _runs_later(module: Module, node: cst.FunctionDef) -> bool:
    """Tell whether a function makes an asynchronous generator, whose consumer is not followed."""
    return module.is_generator(node) and node.asynchronous is not None


def _still_entered(end: State) -> tuple[DefaultDevice, ...]:
    """Give what was entered by hand, or through a stack, and is in force at the end of a body."""
    return tuple(block.for_callee() for block in end.blocks if block.owners)


def _changed_blocks(
    before: tuple[DefaultDevice, ...], after: tuple[DefaultDevice, ...]
) -> tuple[frozenset[Place] | None, tuple[DefaultDevice, ...]]:
    """Give what a function left of its caller's, and what it entered and did not leave."""
    shared = 0
    for mine, theirs in zip(before, after, strict=False):
        if mine != theirs:
            break
        shared += 1
    entered = tuple(block.for_callee() for block in after[shared:] if block.owners)
    if shared == len(before):
        return frozenset(), entered
    return before[shared].owners or None, entered


def _decorated_default(
    module: Module, node: cst.FunctionDef, state: State, program: Program
) -> DefaultDevice | None:
    """Give the default device of `@jax.default_device(d)`; None without it.

    It has no effect on the body of a generator or of an `async def`; nor does anything say on
    whose default device such a body runs.
    """
    for decorator in node.decorators:
        if decorator_name(module, decorator) == "jax.default_device":
            if node.asynchronous is not None or module.is_generator(node):
                return DefaultDevice(ANY_DEVICE)
            held = program.expressions(module).evaluate(decorator.decorator, state.copy())
            for atom in held:
                if isinstance(atom, DefaultDeviceContext):
                    return DefaultDevice(atom.devices, atom.expression)
            return DefaultDevice(ANY_DEVICE)
    return None


def _context(yields: list[tuple[tuple[DefaultDevice, ...], Value]]) -> Value:
    """Give the context that a `@contextmanager` function makes: what holds where it yields."""
    atoms: list[Atom] = []
    for defaults, given in yields:
        for default in defaults:
            if default.inherited:
                atoms.append(Context(given))
            else:
                devices, expression = default.devices, default.expression
                atoms.append(DefaultDeviceContext(devices, expression, True, given))
    return value(*atoms) if atoms else UNKNOWN


def _enters_default_in_function(module: Module) -> bool:
    """Tell whether a function in a module enters a default device."""
    return any(
        module.names.qualified(node.func) == "jax.default_device"
        and any(isinstance(ancestor, cst.FunctionDef) for ancestor in module.tree.ancestors(node))
        for node in module.tree.every(cst.Call)
    )


def _updates_in_function(module: Module) -> bool:
    """Tell whether a function that nobody in the program calls may set the default device."""
    from placement_lint.syntax.calls import Arguments, string_value

    return any(
        module.names.qualified(node.func) == "jax.config.update"
        and string_value(Arguments(node).get(0, "name")) == "jax_default_device"
        and any(isinstance(ancestor, cst.FunctionDef) for ancestor in module.tree.ancestors(node))
        for node in module.tree.every(cst.Call)
    )
