"""Calls of the functions of a program, and the execution of their bodies."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.containers import is_container, sited, sites
from placement_lint.placement.domain.mesh_contexts import change_between
from placement_lint.placement.domain.program_values import Instance
from placement_lint.placement.domain.shared_values import SharedValues
from placement_lint.placement.domain.state import (
    ANY_DEVICE,
    DefaultDevice,
    Layer,
    State,
    Variable,
    Variables,
    chosen_defaults,
    meet,
    variable,
)
from placement_lint.placement.domain.values import (
    NOTHING,
    PLAIN,
    UNKNOWN,
    Atom,
    Coroutine,
    DefaultDeviceContext,
    Generator,
    Lazy,
    PlainContext,
    Sequence,
    Value,
    join,
    limited,
    sole,
    value,
)
from placement_lint.placement.engine.arguments import (
    CallArguments,
    bind_parameters,
    parameters_as_annotated,
)
from placement_lint.placement.engine.closures import Closures
from placement_lint.placement.engine.context_decorators import ContextDecorators
from placement_lint.placement.engine.executions import NO_OBJECTS, NO_SITES, Execution, Reads
from placement_lint.placement.engine.frames import Frame
from placement_lint.placement.engine.statements import Statements
from placement_lint.placement.facts.decorators import makes_context
from placement_lint.syntax.collection_methods import CHANGING
from placement_lint.syntax.definitions import INITIALIZERS, is_left_open
from placement_lint.syntax.names import BindingKind

if TYPE_CHECKING:
    from collections import abc
    from collections.abc import Iterator

    from placement_lint.placement.domain.mesh_contexts import MeshesInForce
    from placement_lint.placement.domain.places import Place, Site
    from placement_lint.placement.engine.frames import Yielded
    from placement_lint.placement.engine.protocols import Interpreter
    from placement_lint.placement.facts.module import Module
    from placement_lint.syntax.names import Scope


_MAX_DEPTH = 400
"""Calls inside one another, after which a result is unknown."""
_MAX_CONSUMED = 3
"""Iterators of one expression that are consumed inside of one another."""
_STORING = (cst.AssignTarget, cst.AugAssign, cst.Call, cst.Del)
_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)


class Functions:
    """Calls the functions of a program, and knows which of them are being executed."""

    def __init__(self, program: Interpreter) -> None:
        self._program = program
        self._frames: list[Frame] = []
        self._consuming: list[Place] = []
        """The iterators that are consumed now, by the expressions that made them."""
        self.called: set[Place] = set()
        """The functions that something in the program calls."""
        self._stored: dict[Place, frozenset[int | str]] = {}
        self._shared = SharedValues()
        self.closures = Closures(program)
        self.context_decorators = ContextDecorators(program)

    @contextlib.contextmanager
    def from_outside(self) -> Iterator[None]:
        """Execute what is inside as code that no function of the program has called."""
        program = self._program
        frames, self._frames = self._frames, []
        depths = program.loop_depth, program.repeats
        program.loop_depth = program.repeats = 0
        try:
            yield
        finally:
            self._frames = frames
            program.loop_depth, program.repeats = depths

    def call(
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
        module = self._program.module_of(place)
        node = self._program.node(place)
        given = (*arguments.values(), rest or NOTHING, more or NOTHING)
        if (
            isinstance(node, cst.FunctionDef)
            and module.traced.is_decorated(node)
            and not self._program.is_tracing
        ):
            return self._escaped(module, given, state)
        if call is not None:
            self.called.add(place)
        if bound and chosen_defaults(state) and is_left_open(node):
            # A class of another file says what is done under this default device.
            self._program.reach.hands_out()
        if len(self._frames) > _MAX_DEPTH:
            self._program.now.executed.add(place)
            return self._escaped(module, given, state)
        if not isinstance(node, cst.FunctionDef | cst.Lambda):
            raise TypeError(place)
        bindings = bind_parameters(
            module,
            node,
            arguments,
            record=self._program.expressions(module).record,
            rest=rest,
            more=more,
            bound=bound,
        )
        if (
            isinstance(node, cst.FunctionDef)
            and node.asynchronous is None
            and module.is_generator(node)
            and not makes_context(module, node)
        ):
            generator = Generator(place, tuple(bindings.items()), self._program.loop_depth > 0)
            self._program.now.unconsumed.setdefault(generator, state.copy())
            self._program.now.executed.add(place)
            return value(generator)
        made = self._program.memo.run(place, bindings, state, call)
        return self.closures.given(place, bindings, made)

    def _escaped(self, module: Module, given: abc.Iterable[Value], state: State) -> Value:
        """Return what a function gives that is not executed, and note what it is given."""
        for held in given:
            self._program.expressions(module).escapes(held, state)
        return UNKNOWN

    def start(self, place: Place, given: dict[str, Value], state: State) -> None:
        """Execute a function that nothing called, with what its parameters hold as far as known.

        What decorates it is executed around it where that may enter a context.
        """
        if not self.called_around(place, given, state):
            self.execute(place, given, state)

    def called_around(
        self,
        place: Place,
        given: dict[str, Value],
        state: State,
        receiver: Instance | None = None,
    ) -> bool:
        """Return whether what decorates a function that nothing called has called it.

        `receiver`: of a method, the object.
        """
        is_called = place in self.called
        passed = CallArguments([], given, rest=UNKNOWN, more=UNKNOWN)
        is_executed = self.context_decorators.call_around(place, passed, state, receiver)
        if not is_called:
            self.called.discard(place)
        return is_executed

    def consumed(self, held: Value, state: State) -> Value:
        """Run the bodies of generators, where they are consumed, and give what they yield."""
        lazy = [atom for atom in held if isinstance(atom, Generator | Lazy)]
        if not lazy:
            return held
        found = held - frozenset(lazy)
        depths = self._program.loop_depth, self._program.repeats
        for atom in lazy:
            self._program.loop_depth = self._program.repeats = int(atom.in_loop)
            branch = state.copy() if len(held) > 1 else state
            if isinstance(atom, Lazy):
                if self._consuming.count(atom.place) == _MAX_CONSUMED:
                    # It may be asked for an item of itself, which Python refuses.
                    found |= UNKNOWN
                    continue
                self._consuming.append(atom.place)
                rest = self._left_of(atom, branch)
                there = self._program.expressions(self._program.module_of(atom.place))
                made = there.iteration.consume(rest, branch)
                found |= self.consumed(made, branch)
                self._consuming.pop()
            else:
                self._program.now.unconsumed.pop(atom, None)
                found |= self._program.memo.run(atom.function, dict(atom.arguments), branch)
            if branch is not state and (met := meet([state, branch])) is not None:
                state.become(met)
        self._program.loop_depth, self._program.repeats = depths
        return limited(found)

    def _left_of(self, lazy: Lazy, state: State) -> Lazy:
        """Return what is left of an iterator, which may have been consumed in part before.

        The first step over an array takes its rows to the default device of that step: under
        another one, later, they are not where the array itself would go.
        """
        under = self._program.now.consumed_under.setdefault(lazy.place, set())
        under.add(state.default)
        if len(under) < 2:
            return lazy
        operands = tuple((place, join(held, UNKNOWN)) for place, held in lazy.operands)
        return replace(lazy, operands=operands)

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
        if place not in self._program.now.running:
            self._program.memo.reuse(self.execute(place, bindings, entered, (at, since)), state)

    def execute(
        self,
        place: Place,
        bindings: dict[str, Value],
        state: State,
        resumption: tuple[State, Layer] | None = None,
    ) -> Execution:
        """Execute a function with what its parameters hold.

        `resumption`: only what follows its `yield`; where it goes on, and what is kept of that.
        """
        module, node = self._program.module_of(place), self._program.node(place)
        if not isinstance(node, cst.FunctionDef | cst.Lambda):
            raise TypeError(place)
        inner, frame, entered = self._entered(place, bindings, state)
        if resumption is not None:
            frame.resumption = resumption[0]
        else:
            frame.suspends = self._program.suspensions.splits(module, node)
        before, around = inner.base, inner.blocks
        end = self._run_body(module, node, inner, frame) or _paused(frame, (before, *around))
        suspended: dict[Variable, Value] | None = None
        if frame.suspended:
            end = meet([replace(each, suspended=False) for each in frame.suspended])
            changes = {} if end is None else end.variables.changes(entered)
            suspended = {key: held for key, held in changes.items() if key[0] in frame.own}
        elif resumption is not None:
            before, entered = resumption[0].base, resumption[1]
            end = end if end is not None and end.resumed else None
        writes = {} if end is None else self._note_changes(frame, end, entered)
        base = None if end is None or end.base == before else end.base
        # A context manager is left and entered by whoever uses it.
        is_context = resumption is not None or bool(frame.suspended)
        changed = _changed_blocks(around, around if is_context or end is None else end.blocks)
        meshes = None if is_context else _changed_meshes(state.meshes, end)
        result = self._result(module, node, frame, state.meshes)
        self._note_result(place, result)
        self._program.reach.left(
            frame, result, writes, state,
            sets_default=base is not None or bool(changed[1]) or meshes is not None,
        )  # fmt: skip
        return Execution(
            self._shared.of(result),
            Reads(
                self._shared.reads(frame.reads),
                {} if is_context else self._shared.table(_settled(frame)),
            ),
            self._shared.table(writes),
            base,
            _made_for_result(frame, writes),
            self._program.objects.own(frame, writes, result) if frame.objects else NO_OBJECTS,
            *changed,
            suspended,
            frame.moves,
            frame.touches,
            meshes=meshes,
            asks_meshes=frame.asks_meshes,
        )

    def _entered(
        self, place: Place, bindings: dict[str, Value], state: State
    ) -> tuple[State, Frame, Layer]:
        """Return the state in which the body of a function begins, its frame, and what its
        variables are compared with at the end.
        """
        module, node = self._program.module_of(place), self._program.node(place)
        if not isinstance(node, cst.FunctionDef | cst.Lambda):
            raise TypeError(place)
        variables, entered = state.variables.enter()
        inner = State(
            state.base.for_callee(), state.seen_by_callee(), variables, meshes=state.meshes
        )
        is_decorated = False
        if isinstance(node, cst.FunctionDef):
            if state.blocks and _runs_later(module, node):
                # Its body runs where it is consumed, perhaps outside of the block.
                inner.blocks = (DefaultDevice(ANY_DEVICE, inherited=True),)
            is_decorated = self.context_decorators.entered(
                module, node, inner, is_called=place in self.called
            )
        bindings = bindings or parameters_as_annotated(module, node.params)
        self._bind_locals(module, module.names.scope(node.body), bindings, inner)
        frame = Frame(
            place,
            Variables(entered),
            _scopes_inside(module, node),
            len(inner.blocks),
            bindings,
            _object_made(node, bindings),
        )
        self._program.reach.enter(frame, bindings, state)
        frame.touches |= is_decorated
        return inner, frame, entered

    def _note_changes(self, frame: Frame, end: State, entered: Layer) -> dict[Variable, Value]:
        """Note what a body leaves in variables; return that of those which are not its own."""
        changes = end.variables.changes(entered)
        writes = {key: held for key, held in changes.items() if key[0] not in frame.own}
        self._note_written(frame, writes)
        self._program.finish(self._visible(changes))
        return writes

    def _note_result(self, place: Place, result: Value) -> None:
        results = self._program.now.results
        before = results.get(place)
        results[place] = result if before is None else join(before, result)

    def _visible(self, changes: dict[Variable, Value]) -> dict[Variable, Value]:
        """Return what code that runs later may see of what a body has changed: not the attributes
        of an object that what has called it makes, or initializes, and may change again.
        """
        objects = {key[0] for key in changes if isinstance(key[0], Instance)}
        unfinished: set[Atom] = set()
        for frame in self._frames if objects else ():
            unfinished |= objects & frame.objects
            unfinished |= objects & {frame.builds}
        if not unfinished:
            return changes
        return {key: held for key, held in changes.items() if key[0] not in unfinished}

    def _run_body(
        self, module: Module, node: cst.FunctionDef | cst.Lambda, state: State, frame: Frame
    ) -> State | None:
        """Execute a body; give the state in which its caller goes on."""
        self._frames.append(frame)
        is_nested = frame.place in self._program.now.running
        self._program.now.running.add(frame.place)
        self._program.now.executed.add(frame.place)
        try:
            statements = Statements(self._program, module)
            if isinstance(node, cst.Lambda):
                frame.returns.append(statements.expressions.evaluate(node.body, state))
                return state
            end = statements.function_body(node, state, frame)
            return statements.raised() if end is None else end
        finally:
            if not is_nested:
                self._program.now.running.discard(frame.place)
            self._frames.pop()

    def _bind_locals(
        self, module: Module, scope: Scope, bindings: dict[str, Value], state: State
    ) -> None:
        """Bind the parameters of a function; its other names are not bound yet.

        What is read of these all the same is not known: see `Linking.variable_of`.
        """
        for name, bound in scope.bindings.items():
            # Where it is not bound on one of several ways, reading it there raises.
            is_given = any(each.kind is BindingKind.PARAMETER for each in bound)
            held = bindings.get(name, UNKNOWN if is_given else NOTHING)
            if is_container(held):
                held = sited(held, (module.place(bound[0].node),))
            self._program.bind(variable(scope, name), held, state)

    def _result(
        self, module: Module, node: cst.CSTNode, frame: Frame, entered: MeshesInForce
    ) -> Value:
        """Return what a body gave; `entered`: the meshes in force where it was called."""
        if isinstance(node, cst.FunctionDef):
            if module.is_generator(node):
                if makes_context(module, node):
                    return _context(frame.yields, entered)
                # What is yielded inside a block of its own meets a consumer under that default.
                element = join(
                    *(
                        each.given if each.defaults[0].inherited else UNKNOWN
                        for each in frame.yields
                    )
                )
                return value(Sequence(None, element))
            result = join(*frame.returns) if frame.returns else PLAIN
            return value(Coroutine(result)) if node.asynchronous is not None else result
        return join(*frame.returns) if frame.returns else UNKNOWN

    def _note_written(self, frame: Frame, writes: dict[Variable, Value]) -> None:
        """Note that what a function leaves in variables may depend on what they held before."""
        for key, held in writes.items():
            frame.reads.setdefault(key, self.seen(key, frame.entry))
            frame.settle(key, held)

    def note_read(self, key: Variable, held: Value | None) -> None:
        """Note that the function being executed depends on a variable that is not its own.

        `held`: what it holds there, or may hold; None: it holds nothing, or that is not known.
        """
        if self._frames:
            frame = self._frames[-1]
            if key[0] in frame.own:
                return
            if key not in frame.reads:
                frame.reads[key] = self.seen(key, frame.entry)
            frame.settle(key, held)

    def note_reads(self, reads: Reads, state: State) -> None:
        """Note that the function being executed depends on all that another execution read."""
        if not self._frames:
            return
        # For each of what may be thousands: see `note_read`.
        frame = self._frames[-1]
        own, known = frame.own, frame.reads
        for key, _, settled in reads.items():
            owner = key[0]
            if owner in own:
                continue
            if key not in known:
                known[key] = self.seen(key, frame.entry)
            if isinstance(owner, Instance):
                held = settled
                if held is None:
                    held = state.variables.get(key) or None
                frame.settle(key, held)

    def seen(self, key: Variable, variables: Variables) -> Value | None:
        """Return what a function sees that reads a variable of another body.

        That of a function which was left is what the last calls made of it, wherever they were.
        """
        held = variables.get(key)
        if (
            held is None
            and not isinstance(key[0], Instance)
            and key[0] not in self._program.module_scopes
        ):
            return self._program.now.final.get(key)
        return held

    @property
    def frames(self) -> abc.Sequence[Frame]:
        """The functions being executed, the innermost last."""
        return self._frames

    @property
    def frame(self) -> Frame | None:
        """The function being executed; None in the body of a module."""
        return self._frames[-1] if self._frames else None

    def scopes_of(self, function: Place) -> set[int]:
        """Return the scopes, by id, of a function and of what is defined in it."""
        return _scopes_inside(self._program.module_of(function), self._program.node(function))

    def stored_parameters(self, function: Place) -> frozenset[int | str]:
        """Return the parameters, by position and name, into which a function stores items."""
        if function not in self._stored:
            node = self._program.node(function)
            tree = self._program.module_of(function).tree
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


def _settled(frame: Frame) -> dict[Variable, Value]:
    """Return the attributes that an execution sets, with what each may hold before that.

    All of that is in what it reads of them, and in what it leaves there, in any case.
    """
    return {
        key: least
        for key, least in frame.settled.items()
        if least is not None
        and least != (before := frame.reads[key])
        and not any(sites(before or NOTHING))
    }


def _made_for_result(frame: Frame, writes: dict[Variable, Value]) -> abc.Set[Site]:
    """Return the containers that a function made and left in no variable of others."""
    if not frame.made:
        return NO_SITES
    return frame.made - {site for held in writes.values() for site in sites(held)}


def _stored_into(node: cst.CSTNode) -> cst.Name | None:
    """Return the variable into whose items a node stores: `x[k] = …`, `x.update(…)`."""
    target: cst.CSTNode | None = None
    if isinstance(node, cst.AssignTarget | cst.AugAssign | cst.Del):
        target = node.target if isinstance(node.target, cst.Subscript) else None
    elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        is_change = node.func.attr.value in CHANGING
        target = node.func.value if is_change else None
    while isinstance(target, cst.Subscript):
        target = target.value
    return target if isinstance(target, cst.Name) else None


def _object_made(node: cst.FunctionDef | cst.Lambda, bindings: dict[str, Value]) -> Atom | None:
    """Return the object of which a function is the initializer."""
    if not isinstance(node, cst.FunctionDef) or node.name.value not in INITIALIZERS:
        return None
    return sole(next(iter(bindings.values()), NOTHING))


def _scopes_inside(module: Module, node: cst.CSTNode) -> set[int]:
    """Return the scopes, by id, of a function and of everything defined in it."""
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
    """Return whether a function makes an asynchronous generator, whose consumer is not followed."""
    return module.is_generator(node) and node.asynchronous is not None


def _changed_meshes(before: MeshesInForce, end: State | None) -> MeshesInForce | None:
    """Return the meshes that a function left in force; None: those that were."""
    return None if end is None or end.meshes == before else end.meshes


def _paused(frame: Frame, around: tuple[DefaultDevice, ...]) -> State | None:
    """Return the state in which what uses a generator that never ends goes on; None: there is none.

    That is where it yields, and under its block, if it is in one. `around`: what was in force
    where it was called, innermost last.
    """
    end = meet([*frame.paused.values()])
    if end is not None:
        is_elsewhere = any(each.defaults[0] != around[-1] for each in frame.yields)
        end.blocks = () if is_elsewhere else around[1:]
    return end


def _changed_blocks(
    before: tuple[DefaultDevice, ...], after: tuple[DefaultDevice, ...]
) -> tuple[frozenset[Place] | None, tuple[DefaultDevice, ...]]:
    """Return what a function left of its caller's, and what it entered and did not leave."""
    shared = 0
    for mine, theirs in zip(before, after, strict=False):
        if mine != theirs:
            break
        shared += 1
    entered = tuple(block.for_callee() for block in after[shared:] if block.owners)
    if shared == len(before):
        return frozenset(), entered
    return before[shared].owners or None, entered


def _context(yields: list[Yielded], entered: MeshesInForce) -> Value:
    """Return the context that a `@contextmanager` function makes: what holds where it yields."""
    atoms: list[Atom] = []
    for defaults, inside, given in yields:
        meshes = change_between(entered, inside)
        for default in defaults:
            if default.inherited:
                atoms.append(PlainContext(given, meshes=meshes))
            else:
                devices, expression = default.devices, default.expression
                atoms.append(DefaultDeviceContext(devices, expression, True, given, meshes=meshes))
    return value(*atoms) if atoms else UNKNOWN
