"""Evaluation of calls of what the program defines: functions, classes, methods, and jitted ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.libraries import method_of
from placement_lint.jaxmodel.reading import only_reads
from placement_lint.placement.domain.contents import (
    as_tree,
    has_host_device,
    iterated_of,
    with_replaced_modules,
)
from placement_lint.placement.domain.library_values import (
    Dispatched,
    ExitStack,
    Getter,
    LibraryFunction,
    Optimizer,
)
from placement_lint.placement.domain.ordering import in_order
from placement_lint.placement.domain.program_values import Class, External, Function, Instance
from placement_lint.placement.domain.state import (
    SYSTEM,
    State,
    Variable,
    chosen_defaults,
    meet,
    variable,
)
from placement_lint.placement.domain.values import (
    ANYTHING,
    DOUBT,
    DOUBTFUL,
    NONE,
    NOTHING,
    PLAIN,
    UNFOLLOWED,
    UNKNOWN,
    Anything,
    AnyTree,
    Array,
    Atom,
    Closure,
    Computation,
    Container,
    ContextFactory,
    Coroutine,
    DefaultDeviceContext,
    Generator,
    LibraryMethod,
    Method,
    NamedTupleType,
    Partial,
    Plain,
    PlainContext,
    Value,
    is_unfollowed,
    join,
    limited,
    sole,
    value,
)
from placement_lint.placement.engine.arguments import (
    CallArguments,
    with_defaults,
)
from placement_lint.placement.engine.computation_calls import (
    UnusedArguments,
    computed,
    unused_arguments,
)
from placement_lint.placement.engine.getters import got
from placement_lint.placement.engine.operand_layouts import GivenArguments, LaidOut
from placement_lint.placement.engine.super_calls import SuperCalls
from placement_lint.placement.facts.decorators import keeps_signature

if TYPE_CHECKING:
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.engine.arguments import Fields, Operand


class ObjectCalls(SuperCalls):
    """Calls functions, classes and objects of the program."""

    def called(self, node: cst.Call, held: Value, state: State) -> Value:
        """Call a value: a computation computes; a function of the program is executed."""
        computations = frozenset(atom for atom in held if isinstance(atom, Computation))
        found: set[Atom] = set(self._computed(node, computations, state)) if computations else set()
        methods = {atom: method for atom in held if (method := self._library_method(atom, held))}
        for called in in_order(methods):
            found |= self.on.calls.library_method(node, methods[called], None, state)
        others = frozenset(held - computations - methods.keys())
        for each in in_order(others):
            by_library = self.on.calls.kept_function(node, each, state)
            if by_library is not None:
                found |= by_library
                others -= {each}
        if others:
            found |= self.called_with(node, others, self.passed(node, state), state)
        return limited(frozenset(found)) or UNKNOWN

    def _computed(
        self, node: cst.Call, computations: frozenset[Computation], state: State
    ) -> Value:
        """Call computations, each of which may be the one that is called."""
        found: set[Atom] = set()
        laid_out = LaidOut(self.on, node, state)
        trees = self.on.program.trees
        donates = any(atom.donates for atom in computations)
        for _, given in laid_out.operands:
            # What is in an object that is no tree is no operand.
            closed = (a for a in given if isinstance(a, Instance) and not trees.is_tree(a))
            self.on.escapes(frozenset(closed), state)
            if donates:
                self.on.escapes(given, state)
            if donates and self.on.supposed is not None:
                # It was a copy that was donated, and would be the array itself.
                self.on.supposed.refused(given)
        if any(atom.changes_objects for atom in computations):
            for _, given in laid_out.operands:
                self.on.targets.spoil(given, state, UNKNOWN)
            self._loosen_modules(node, state)
            laid_out.operands = [
                (at, with_replaced_modules(each)) for at, each in laid_out.operands
            ]
        for atom in in_order(computations):
            left = unused_arguments(self.on, node, atom)
            found |= computed(self.on, node, atom, laid_out, left, state)
        return frozenset(found)

    def computed_with(
        self, node: cst.CSTNode, atom: Computation, operands: list[Operand], state: State
    ) -> Value:
        """Call a computation with arguments that are evaluated already, each with its place."""
        program = self.on.program
        is_followed = program.is_tracing or program.follows_compiled_calls
        if is_followed or atom.donates or atom.changes_objects or atom.places_arguments:
            passed = CallArguments([held for _, held in operands])
            return self.called_with(node, value(atom), passed, state)
        left = UnusedArguments(is_certain=atom.usage is None)
        return computed(self.on, node, atom, GivenArguments.at(operands), left, state)

    def _loosen_modules(self, node: cst.Call, state: State) -> None:
        """Forget what the variables hold that are modules of nnx, which a call is given."""
        for argument in node.args:
            held = self.on.record.values.get(self.on.index(argument.value), NOTHING)
            if any(isinstance(a, AnyTree) and a.cls.startswith("flax.nnx.") for a in held):
                self.on.targets.loosen(argument.value, state)

    def called_with(
        self, node: cst.CSTNode, held: Value, passed: CallArguments, state: State
    ) -> Value:
        """Call each thing that a value may be, with arguments that are evaluated already."""
        found: set[Atom] = set()
        several = len(held) > 1
        ends: list[State | None] = []
        for atom in in_order(held):
            branch = state.copy() if several else state
            found |= self._atom_called(node, atom, passed, branch)
            ends.append(branch)
        if several:
            met = meet(ends)
            if met is not None:
                state.become(met)
        return limited(frozenset(found)) or UNKNOWN

    def _atom_called(
        self, node: cst.CSTNode, atom: Atom, passed: CallArguments, state: State
    ) -> Value:
        """Call one thing with arguments that are evaluated already."""
        if isinstance(atom, Function):
            self._loosen_stored(node, atom.place, state)
            return self.on.program.functions.call(
                atom.place,
                passed.numbered(),
                state,
                rest=passed.rest,
                more=passed.more,
                call=self.on.module.place(node),
            )
        method = self._library_method(atom, value(atom))
        if method is not None:
            return self.on.calls.library_method(node, method, passed, state)
        called = self._known_called(node, atom, passed, state)
        if called is None:
            called = self._object_called(node, atom, passed, state)
        if called is not None:
            return called
        program = self.on.program
        placed = bool(chosen_defaults(state)) or any(
            program.reach.carries_placement(held, state) for held in passed.every()
        )
        if isinstance(atom, External) and (
            placed or any(map(has_host_device, passed.every())) or program.linking.may_follow(atom)
        ):
            found = program.linking.loaded(atom, state)
            if not any(isinstance(inner, External) for inner in found):
                return self._loaded_called(node, atom, found, passed, state)
        return self._unknown_called(node, atom, passed, state, placed=placed)

    def _known_called(
        self, node: cst.CSTNode, atom: Atom, passed: CallArguments, state: State
    ) -> Value | None:
        """Call a method, a class or a function made of others; None: it is none of these."""
        if isinstance(atom, Method):
            return self._method_called(atom.function, value(atom.receiver), passed, state, node)
        if isinstance(atom, LibraryFunction):
            return self.on.calls.with_given(node, atom.name, passed, state)
        if isinstance(atom, Class):
            return self.called_class(node, atom.place, passed, state)
        if isinstance(atom, NamedTupleType):
            fields: Fields = [(name, None) for name in atom.names]
            return self.named_tuple(None, fields, with_defaults(atom, passed), state)
        if isinstance(atom, Partial):
            inner = CallArguments(
                [*atom.positional, *passed.positional],
                dict(atom.keywords) | passed.keywords,
                passed.rest,
                more=passed.more,
            )
            return self._atom_called(node, atom.function, inner, state)
        if isinstance(atom, Closure):
            return self._closure_called(node, atom, passed, state)
        return None

    def _object_called(
        self, node: cst.CSTNode, atom: Atom, passed: CallArguments, state: State
    ) -> Value | None:
        """Call an object that can be called; None: what that does is not known."""
        program = self.on.program
        if isinstance(atom, ContextFactory) and passed == CallArguments([]):
            return atom.context
        if isinstance(atom, Optimizer) and atom.is_init:
            # It reads the parameters, of which the caller keeps what they are.
            for held in passed.every():
                self.on.escapes(held, state)
            return UNKNOWN
        if isinstance(atom, Getter):
            return got(self.on, node, atom, passed, state)
        if isinstance(atom, Dispatched) and passed.positional:
            return self._dispatched(node, atom, passed, state)
        if isinstance(atom, Instance):
            function = program.classes.method(atom.cls, "__call__")
            if function is not None:
                return self._method_called(function, value(atom), passed, state, node)
        if isinstance(atom, Computation) and (program.is_tracing or program.follows_compiled_calls):
            # Following it shows which arguments it leaves: their places are not known here.
            left = UnusedArguments(is_certain=atom.usage is None)
            given = GivenArguments(self.on.index(node), passed)
            return computed(self.on, node, atom, given, left, state)
        return None

    def _dispatched(
        self, node: cst.CSTNode, function: Dispatched, passed: CallArguments, state: State
    ) -> Value | None:
        """Call the functions that the type of the first argument chooses; None: it chooses none."""
        first, *others = passed.positional
        chosen = self.on.program.linking.chosen(function, first) or {}
        given_by = [
            self._atom_called(
                node, Function(place), replace(passed, positional=[given, *others]), state
            )
            for place, given in sorted(chosen.items())
        ]
        return join(*given_by) if given_by else None

    def _loaded_called(
        self,
        node: cst.CSTNode,
        external: External,
        found: Value,
        passed: CallArguments,
        state: State,
    ) -> Value:
        """Call what a name of another file turned out to be, which was read for this call."""
        if isinstance(node, cst.Call):
            self._now_known(node.func, external, found)
            computes = any(isinstance(atom, Computation) for atom in found)
            if computes and not self.on.program.is_tracing:
                return self.called(node, found, state)
        return self.called_with(node, found, passed, state)

    def _unknown_called(
        self,
        node: cst.CSTNode,
        atom: Atom,
        passed: CallArguments,
        state: State,
        *,
        placed: bool,
    ) -> Value:
        """Note what a call may do of which nothing is known. `placed`: it is given a placement."""
        program = self.on.program
        unfollowed = isinstance(atom, External) or is_unfollowed(atom)
        if placed and unfollowed:
            program.linking.is_wanted = True
        called = (self.names.qualified(node.func) or "") if isinstance(node, cst.Call) else ""
        default = state.default
        is_entered = default.expression is not None and default.devices != SYSTEM
        if not called and (placed or is_entered):
            # What is called may be the caller's, who may choose the default device, too.
            program.reach.hands_out()
        for held in passed.every():
            if called.startswith("optax."):
                program.assume_traced(held)
            self.on.escapes(held, state)
            if not only_reads(called):
                self.on.targets.may_change(held, state)
        if unfollowed:
            return UNFOLLOWED
        return DOUBTFUL if atom == DOUBT else UNKNOWN

    def _library_method(self, atom: Atom, held: Value) -> LibraryMethod | None:
        """Return the method of a library that calling a thing calls, if it is one.

        `held`: what is called, which may be something else: then its arrays may be others too.
        """
        name: str | None = None
        if isinstance(atom, LibraryMethod):
            return atom
        if isinstance(atom, Optimizer):
            name = "optax.GradientTransformation.init" if atom.is_init else None
        elif isinstance(atom, AnyTree):
            name = method_of(atom.cls, "__call__")
            if atom.leaf and ANYTHING in held:
                atom = replace(atom, leaf=atom.leaf | UNKNOWN)
        elif isinstance(atom, Instance):
            return self._inherited(atom, "__call__")
        return None if name is None else LibraryMethod(name, atom)

    def _now_known(self, node: cst.BaseExpression, external: External, held: Value) -> None:
        """Note what a name stands for whose module was read only now."""
        place = self.on.index(node)
        before = self.on.record.values.get(place, NOTHING)
        if external in before:
            self.on.record.values[place] = limited(before - {external} | held)

    def read(self, node: cst.BaseExpression | None, held: Value, state: State) -> Value:
        """Return what a name stands for, with its module read."""
        found: set[Atom] = set()
        for atom in held:
            if isinstance(atom, External):
                known = self.on.program.linking.loaded(atom, state)
                if node is not None:
                    self._now_known(node, atom, known)
                found |= known
            else:
                found.add(atom)
        return frozenset(found)

    def _loosen_stored(self, node: cst.CSTNode, function: Place, state: State) -> None:
        """Forget what containers hold that a function stores something into."""
        stored = self.on.program.functions.stored_parameters(function)
        if stored and isinstance(node, cst.Call):
            for position, argument in enumerate(node.args):
                named = argument.keyword.value if argument.keyword is not None else position
                if named in stored and self._has_no_site(argument.value):
                    self.on.targets.loosen(argument.value, state)

    def _has_no_site(self, argument: cst.BaseExpression) -> bool:
        """Return whether a container has no site, by which a change under another name is seen."""
        held = self.on.record.values.get(self.on.index(argument), UNKNOWN)
        return any(
            isinstance(as_tree(a), AnyTree) or (isinstance(a, Container) and a.site is None)
            for a in held
        )

    def _closure_called(
        self, node: cst.CSTNode, closure: Closure, passed: CallArguments, state: State
    ) -> Value:
        """Call what a decorator gave: what it closes over is what that call was given."""
        program = self.on.program
        module, function = program.module_of(closure.function), program.node(closure.function)
        around = module.names.scope(function)
        before: dict[Variable, Value] = {}
        for name, held in closure.closed:
            key = variable(module.names.owner(name, around) or around, name)
            known = state.variables.get(key)
            if known is not None:
                before[key] = known
            program.bind(key, held, state)
        inner = CallArguments(
            [*([closure.receiver] if closure.receiver else []), *passed.positional],
            passed.keywords,
            passed.rest,
            more=passed.more,
        )
        made = self._atom_called(node, Function(closure.function), inner, state)
        if not any(isinstance(atom, Generator | Coroutine) for atom in made):
            # Another function of the same body has others. What runs later still reads these.
            for key, held in before.items():
                program.bind(key, held, state)
        return program.functions.closures.inherited(made, closure)

    def special(
        self, instance: Instance, name: str, positional: list[Value], state: State
    ) -> Value:
        """Call a special method of an object, as an operator does."""
        function = self.on.program.classes.method(instance.cls, name)
        if function is None:
            return self._item_of_namespace(instance, name, positional, state)
        return self._method_called(function, value(instance), CallArguments(positional), state)

    def _item_of_namespace(
        self, instance: Instance, name: str, given: list[Value], state: State
    ) -> Value:
        """Read or set an item of an object that is only attributes, which are its items."""
        program = self.on.program
        if not program.classes.is_namespace(instance) or name not in _ITEMS:
            return UNKNOWN
        key = sole(given[0])
        text = key.text if isinstance(key, Plain) else None
        if name == "__getitem__":
            held = value(instance)
            return UNKNOWN if text is None else program.classes.attribute(held, text, state)
        if text is None:
            self.on.targets.spoil(value(instance), state, UNKNOWN)
        else:
            self.on.targets.set_attribute(instance, text, given[1], state, surely=True)
        return NONE

    def iterated_instance(self, node: cst.CSTNode, instance: Instance, state: State) -> Value:
        """Return what iterating over an object of the program gives."""
        program = self.on.program
        by_library = self._inherited(instance, "__iter__")
        if by_library is not None:
            given = CallArguments([])
            held = self.on.calls.library_method(node, by_library, given, state)
            return iterated_of(held) or UNKNOWN
        if program.classes.method(instance.cls, "__iter__") is not None:
            held = program.functions.consumed(self.special(instance, "__iter__", [], state), state)
            found: set[Atom] = set()
            for atom in held:
                if isinstance(atom, Instance):
                    found |= self.special(atom, "__next__", [], state)
                elif isinstance(atom, Array):
                    found.add(ANYTHING)
                else:
                    found |= iterated_of(value(atom)) or UNKNOWN
            return frozenset(found) or UNKNOWN
        return self.special(instance, "__getitem__", [PLAIN], state)

    def entered_value(self, held: Value, state: State) -> Value:
        """Enter contexts, as far as the program says how; give what `with … as` binds."""
        found: set[Atom] = set()
        ends: list[State | None] = []
        for atom in held:
            if isinstance(atom, DefaultDeviceContext | PlainContext):
                found |= atom.gives or PLAIN
            elif isinstance(atom, Instance):
                branch = state.copy() if len(held) > 1 else state
                found |= self.special(atom, "__enter__", [], branch)
                ends.append(branch)
            elif not isinstance(atom, Anything):
                found.add(atom)
        if len(held) > 1 and ends:
            met = meet([state.copy(), *ends])
            if met is not None:
                state.become(met)
        return frozenset(found) or UNKNOWN

    def left(self, held: Value, state: State) -> bool:
        """Leave contexts, as far as the program says how; tell whether they may hide an error."""
        hides = False
        suspensions = self.on.program.suspensions
        makers = {a.maker for a in held if isinstance(a, PlainContext | DefaultDeviceContext)}
        for maker in sorted(maker for maker in makers if maker is not None):
            branch = state.copy() if len(makers) > 1 else state
            suspensions.resume(maker, branch)
            hides |= suspensions.may_hide(maker)
            if branch is not state and (met := meet([state, branch])) is not None:
                state.become(met)
        for atom in held:
            if isinstance(atom, ExitStack) and atom.site is not None:
                suspensions.left_by(atom.site, state)
            if isinstance(atom, Instance) and self.on.program.classes.method(atom.cls, "__exit__"):
                branch = state.copy() if len(held) > 1 else state
                verdict = self.special(atom, "__exit__", [UNKNOWN] * 3, branch)
                hides |= any(not isinstance(v, Plain) or v.truth is not False for v in verdict)
                if branch is not state:
                    met = meet([state, branch])
                    if met is not None:
                        state.become(met)
        return hides

    def contexts(self, held: Value) -> Value:
        """Return contexts with those forgotten of which the program does not say what they do."""
        return frozenset(
            ANYTHING
            if isinstance(atom, Instance)
            and self.on.program.classes.method(atom.cls, "__enter__") is None
            else atom
            for atom in held
        )

    def decorated(self, node: cst.FunctionDef, state: State, *, apart: bool = False) -> Value:
        """Return what a function is after decorators of the program, or of libraries."""
        itself, functions = Function(self.on.module.place(node)), self.on.program.functions
        held, decorators = self.on.program.linking.below_decorators(self.on.module, node)
        for decorator in reversed(decorators):
            if keeps_signature(self.on.module, decorator):
                continue
            given = CallArguments([held])
            by_library = self.on.calls.of_library(decorator.decorator, given, state)
            if by_library is not None:
                held = by_library
                continue
            by = self.on.evaluate(decorator.decorator, state)
            note, closures = functions.context_decorators.note, functions.closures
            if sole(held) == itself and note(itself.place, decorator, by):
                continue
            by_program = self._by_decorator(decorator, by, node, given, state)
            if by_program is None:
                return UNKNOWN
            held = frozenset(closures.decorated(atom, held, by, apart) for atom in by_program)
        if not apart and len(node.decorators) > 1 and any(isinstance(a, Closure) for a in held):
            return self.decorated(node, state, apart=True)
        return held

    def decorated_class(self, node: cst.ClassDef, state: State) -> Value:
        """Return what a class is after decorators of the program, such as those that register."""
        place = self.on.module.place(node)
        held = value(Class(place))
        for decorator in reversed(node.decorators):
            if self.on.program.classes.keeps_class(self.on.module, decorator):
                continue
            by = self.on.evaluate(decorator.decorator, state)
            by_program = self._by_decorator(decorator, by, node, CallArguments([held]), state)
            if by_program is None:
                return UNKNOWN
            held = by_program
        return held

    def _by_decorator(
        self,
        decorator: cst.Decorator,
        held: Value,
        node: cst.FunctionDef | cst.ClassDef,
        given: CallArguments,
        state: State,
    ) -> Value | None:
        """Return what a decorator of the program gives; None where it is not known what it calls.

        A class decorates functions only: what it makes of a class is no class.
        """
        if self.on.module.puts_arrays(node):
            held = self.read(decorator.decorator, held, state)
        is_function = isinstance(node, cst.FunctionDef)
        called = [atom.function if isinstance(atom, Partial) else atom for atom in held]
        if not held or not all(
            isinstance(atom, Closure | Function | Method)
            or (is_function and (isinstance(atom, Class) or self._is_callable(atom)))
            for atom in called
        ):
            return None
        return self.called_with(decorator.decorator, held, given, state)

    def _is_callable(self, atom: Atom) -> bool:
        """Return whether an atom is an object of the program that says what calling it does."""
        classes = self.on.program.classes
        return isinstance(atom, Instance) and classes.method(atom.cls, "__call__") is not None


_ITEMS = frozenset({"__getitem__", "__setitem__"})
