"""What names stand for that are bound in other modules and bodies of a program."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import libcst as cst

from placement_lint.files.test_paths import is_init
from placement_lint.placement.domain.library_values import Dispatched
from placement_lint.placement.domain.program_values import Class, External, Function, Instance
from placement_lint.placement.domain.state import State, Variable, initial_state, variable
from placement_lint.placement.domain.values import (
    NOTHING,
    UNKNOWN,
    Array,
    Computation,
    Host,
    Mapping,
    Plain,
    Value,
    join,
    sole,
    value,
)
from placement_lint.placement.engine.placed_results import of_decorators
from placement_lint.placement.facts.decorators import (
    NO_ARRAYS,
    dispatches,
    keeps_signature,
    registered,
)
from placement_lint.syntax.names import BindingKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.values import Atom
    from placement_lint.placement.engine.protocols import Interpreter
    from placement_lint.placement.facts.module import Module
    from placement_lint.syntax.names import Binding, Scope


_MAX_STEPS = 16
"""Modules that hand a name on to one another."""
_MOST_FOLLOWED = 40
"""Modules of a program in which calls that no placement is given to are followed."""


class ModuleSources(Protocol):
    """Where a program gets modules from that it was not given."""

    def find(self, importer: str, qualified: str) -> tuple[str, str] | None:
        """Return the module that a name in another one leads into, and the rest of the name."""

    def load(self, name: str) -> Module | None:
        """Read a module; None where that cannot be done."""


class SameModules:
    """The modules of a program, for another execution of it."""

    def __init__(self, program: Interpreter) -> None:
        self._program = program

    def find(self, importer: str, qualified: str) -> tuple[str, str] | None:
        return self._program.linking.find(importer, qualified)

    def load(self, name: str) -> Module | None:
        known = self._program.modules.get(name)
        return None if known is None else known.again()


class Linking:
    """Follows the names that modules of a program import of one another, and assign to there."""

    def __init__(
        self, program: Interpreter, sources: ModuleSources | None, *, follows: bool
    ) -> None:
        """Bind to the program that the modules are in.

        `follows`: calls of functions of other files are followed where no placement leads there,
        too.
        """
        self._program = program
        self._sources = sources
        self._follows = follows
        self.leaves_out = False
        """Whether a call of something in another file was not followed."""
        self.is_wanted = False
        """Whether something that such a call would give may make arrays under a default device."""
        self._unreadable: set[str] = set()
        """Modules that could not be read when something in them was called."""
        self._followed: set[tuple[str, str]] = set()
        """Imports that are being followed: the names of modules, and what they import."""
        self._handed_on: dict[tuple[str, str], tuple[str, str] | None] = {}
        """From imports of what another module imports, to the last import of those."""
        self.rebound: set[Variable] = set()
        """Variables of modules that another module assigns to."""
        self._plain: dict[cst.FunctionDef, Value] = {}
        """What the names of functions are bound to that JAX does not compile."""
        self._starred: dict[tuple[str, str], Module | None] = {}
        """From modules and names to the modules that bind these, where star imports bring them."""

    def find(self, importer: str, qualified: str) -> tuple[str, str] | None:
        """Return the module that a name in another one leads into, and the rest of the name."""
        return None if self._sources is None else self._sources.find(importer, qualified)

    def found(self, module: Module, qualified: str) -> tuple[str, str] | None:
        """Return the module that a name in a module leads into, and the rest of the name there."""
        return self.find(module.name, qualified)

    def imported(self, module: Module, qualified: str, state: State) -> Value:
        """Return what a qualified name stands for that leads into another module of the program."""
        found = self.found(module, qualified)
        if found is None or not found[1]:
            return UNKNOWN
        external = External(*found)
        held = value(external)
        if found[0] in self._program.modules:
            held = self._member(self._program.modules[found[0]], found[1], state)
        if any(isinstance(atom, External) for atom in held) and qualified in module.reads_through:
            return self.loaded(external, state)
        return held

    def star_imported(self, module: Module, name: str, state: State) -> Value:
        """Return what a name stands for that nothing binds but, perhaps, `from … import *`."""
        if name.startswith("_") or not module.names.module_scope.has_star_import:
            return UNKNOWN
        key = (module.name, name)
        if key not in self._starred:
            self._starred[key] = self._star_binder(module, name)
        binder = self._starred[key]
        return UNKNOWN if binder is None else self._member(binder, name, state)

    def _star_binder(self, module: Module, name: str) -> Module | None:
        """Return the module that binds a name which a module has by `from … import *` only.

        The last import that brings it counts. Each module is asked once, on however many ways
        their star imports lead there.
        """
        passed: set[str] = set()
        pending = [module]
        while pending:
            other = pending.pop()
            if other is not module and name in other.names.module_scope.bindings:
                return other
            if other.name not in passed:
                passed.add(other.name)
                pending += self._star_sources(other)
        return None

    def _star_sources(self, module: Module) -> list[Module]:
        """Return the modules of which a module imports all names, in the order of these imports.

        None of them where it has another one, which is not known and may hide what they give.
        """
        found: list[Module] = []
        for source in module.star_imports:
            target = self.found(module, source)
            if target is None and source.partition(".")[0] in sys.stdlib_module_names:
                continue
            if target is None or target[1] or target[0] == module.name:
                return []
            other = self._program.modules.get(target[0])
            if other is not None:
                found.append(other)
        return found

    def loaded(self, external: External, state: State, steps: int = _MAX_STEPS) -> Value:
        """Read a module that something is called in with a placement, and give the thing.

        Where that hands it on from yet another one, that one is read too.
        """
        if external.module not in self._program.modules:
            if self._sources is None or external.module in self._unreadable:
                return UNKNOWN
            module = self._sources.load(external.module)
            if module is None:
                self._unreadable.add(external.module)
                return UNKNOWN
            self._program.modules[module.name] = module
            self._starred.clear()
        held = self._member(self._program.modules[external.module], external.name, state)
        found: list[Value] = []
        for atom in held:
            if isinstance(atom, External) and atom != external and steps:
                found.append(self.loaded(atom, state, steps - 1))
            else:
                found.append(value(atom))
        return join(*found) if found else UNKNOWN

    def may_follow(self, external: External) -> bool:
        """Return whether a call of something in another file is followed whatever it is given."""
        known = self._program.modules
        if self._follows and len(known) + (external.module not in known) <= _MOST_FOLLOWED:
            return True
        self.leaves_out = True
        return False

    @property
    def may_follow_more(self) -> bool:
        """Whether another execution would follow a call that this one did not."""
        return self.leaves_out and len(self._program.modules) < _MOST_FOLLOWED

    def _member(self, target: Module, rest: str, state: State) -> Value:
        self._program.import_module(target.name)
        name, _, attributes = rest.partition(".")
        scope = target.names.module_scope
        module = self._imported_module(target, name) if attributes else None
        if module is not None:
            return self.imported(target, f"{module}.{attributes}", state)
        held = UNKNOWN if name in scope.bindings else self.star_imported(target, name, state)
        if held == UNKNOWN:
            held = self.variable_of(target, scope, name, state)
        for attribute in attributes.split(".") if attributes else ():
            held = self._program.classes.attribute(held, attribute, state)
        return held

    def reexports_module(self, module: Module, qualified: str) -> bool:
        """Return whether a qualified name is of a module by the name that another one gives it."""
        found = self.found(module, qualified)
        target = None if found is None else self._program.modules.get(found[0])
        return bool(found and target and self._imported_module(target, found[1]))

    def _imported_module(self, module: Module, name: str) -> str | None:
        """Return the qualified name of the module of the program that a name in one stands for.

        Not of a module of a package by its own name, by which it is found unless it is not to be.
        """
        owner = module.names.module_scope
        binding = owner.sole_binding(name)
        if binding is None or binding.kind is not BindingKind.IMPORT or binding.target is None:
            return None
        if is_init(module.name) and binding.target.rpartition(".")[2] == name:
            return None
        found = self.found(module, binding.target)
        is_module = found is not None and not found[1] and found[0] != module.name
        return binding.target if is_module and variable(owner, name) not in self.rebound else None

    def attribute_of_module(self, module: Module, qualified: str) -> Variable | None:
        """Return the variable that a qualified name stands for in a module that was read."""
        found = self.found(module, qualified)
        if found is None or found[0] not in self._program.modules or not found[1].isidentifier():
            return None
        return variable(self._program.modules[found[0]].names.module_scope, found[1])

    def is_in_module(self, module: Module, qualified: str) -> bool:
        """Return whether a qualified name is of something in a module of the program."""
        found = self.found(module, qualified)
        return found is not None and found[0] in self._program.modules and bool(found[1])

    def is_rebound(self, key: Variable) -> bool:
        """Return whether a variable was assigned to from outside of its module or class."""
        return key in self.rebound

    def rebind(self, key: Variable, held: Value, state: State) -> None:
        if key not in self.rebound:
            self.rebound.add(key)
            self._handed_on.clear()
        self._program.bind(key, held, state)

    def variable_of(self, module: Module, owner: Scope, name: str, state: State) -> Value:
        """Return what a variable holds that belongs to another body than the one that reads it."""
        only = owner.sole_binding(name)
        if only is not None and variable(owner, name) not in self.rebound:
            # No execution depends on it: it is the same whenever it is read.
            static = self._static(module, only, state)
            if static is not None and static != UNKNOWN:
                return static
        key = variable(owner, name)
        held = state.variables.get(key)
        self._program.functions.note_read(key, held or None)
        if held == NOTHING and isinstance(owner.node, cst.FunctionDef | cst.Lambda):
            # A loop may bind it later.
            return UNKNOWN
        return self._program.now.final.get(key, UNKNOWN) if held is None else held

    def _static(self, module: Module, binding: Binding, state: State) -> Value | None:
        """Return what a name is that is bound once, to a function, a class or an import."""
        if binding.kind is BindingKind.FUNCTION and isinstance(binding.node, cst.FunctionDef):
            found = self._plain.get(binding.node)
            if found is None:
                found = self.defined(module, binding.node)
                if module.traced.computation(binding.node) is None:
                    self._plain[binding.node] = found
            return found
        if binding.kind is BindingKind.CLASS and isinstance(binding.node, cst.ClassDef):
            kept = (
                self._program.classes.keeps_class(module, each) for each in binding.node.decorators
            )
            return value(Class(module.place(binding.node))) if all(kept) else None
        if binding.kind is BindingKind.IMPORT and binding.target is not None:
            followed = (module.name, binding.target)
            if followed in self._followed:
                # Two modules import it of each other.
                return None
            self._followed.add(followed)
            last = self._last_import(followed)
            held = (
                None
                if last is None
                else self.imported(self._program.modules[last[0]], last[1], state)
            )
            self._followed.discard(followed)
            return held
        return None

    def _last_import(self, first: tuple[str, str]) -> tuple[str, str] | None:
        """Return the last import of those by which modules hand a name on; None in a circle."""
        passed: dict[tuple[str, str], None] = {}
        at: tuple[str, str] | None = first
        while at is not None and at not in self._handed_on:
            passed[at] = None
            behind = self._import_behind(*at)
            if behind is None:
                self._handed_on[at] = at
            at = None if behind in passed else behind or at
        last = None if at is None else self._handed_on[at]
        # Whoever asks for one of these again goes there at once.
        self._handed_on.update(dict.fromkeys(passed, last))
        return last

    def _import_behind(self, importer: str, qualified: str) -> tuple[str, str] | None:
        """Return the import that binds what another one imports, if only an import does."""
        found = self.found(self._program.modules[importer], qualified)
        target = None if found is None else self._program.modules.get(found[0])
        if (
            found is None
            or target is None
            or qualified in self._program.modules[importer].reads_through
        ):
            return None
        self._program.import_module(target.name)
        owner = target.names.module_scope
        binding = owner.sole_binding(found[1])
        if binding is None or variable(owner, found[1]) in self.rebound:
            return None
        if binding.kind is not BindingKind.IMPORT or binding.target is None:
            return None
        return target.name, binding.target

    def defined(self, module: Module, node: cst.FunctionDef) -> Value:
        """Return what the name of a function is bound to, without decorators of the program."""
        computation = module.traced.computation(node)
        if computation is not None:
            keeps_arguments = module.traced.keeps_arguments(node)
            computation = replace(computation, shardings=of_decorators(module, node))
            return value(_made_of(computation, module.place(node), keeps=keeps_arguments))
        if all(keeps_signature(module, decorator) for decorator in node.decorators):
            return value(Function(module.place(node)))
        if dispatches(module, node):
            return value(Dispatched(module.place(node)))
        return UNKNOWN

    def below_decorators(
        self, module: Module, node: cst.FunctionDef
    ) -> tuple[Value, Sequence[cst.Decorator]]:
        """Return what a function is below decorators of the program, and these decorators."""
        inner = module.traced.below_others(node)
        if inner is None:
            return value(Function(module.place(node))), node.decorators
        made = _made_of(inner.computation, module.place(node), keeps=inner.keeps_arguments)
        return value(made), inner.others

    def chosen(self, dispatched: Dispatched, first: Value) -> dict[Place, Value] | None:
        """Return what `functools.singledispatch` calls, each with what it is given first.

        None where that is not sure.
        """
        module, node = (
            self._program.module_of(dispatched.place),
            self._program.node(dispatched.place),
        )
        known = registered(module, node) if isinstance(node, cst.FunctionDef) else None
        if known is None:
            return None
        kinds: dict[str | Place, Place] = {}
        for named, function in known:
            kind = self._kind(module, named)
            if kind is None:
                return None
            kinds.setdefault(kind, module.place(function))
        found: dict[Place, Value] = {}
        for atom in first:
            place = next((kinds[k] for k in self._kinds_of(atom) if k in kinds), None)
            if place is None and isinstance(atom, Array) and len(self._program.modules) == 1:
                # Another file may register more.
                place = dispatched.place
            if place is None:
                return None
            found[place] = found.get(place, NOTHING) | value(atom)
        return found

    def _kind(self, module: Module, named: cst.BaseExpression) -> str | Place | None:
        """Return the type that an expression names: of a library by its name, or of the program."""
        name = module.names.qualified(named) or ""
        if name in NO_ARRAYS or name.startswith("jax."):
            return name
        only = sole(self._program.expressions(module).evaluate(named, initial_state()))
        return only.place if isinstance(only, Class) else None

    def _kinds_of(self, atom: Atom) -> Iterable[str | Place]:
        """Return the types that a thing has, nearest first."""
        if isinstance(atom, Instance):
            return self._program.classes.bases(atom.cls)
        if isinstance(atom, Array):
            return ("jax.Array", "jax.numpy.ndarray")
        if isinstance(atom, Mapping):
            return ("builtins.dict",)
        if isinstance(atom, Plain) and atom.text is not None:
            return ("builtins.str",)
        return ("numpy.ndarray",) if isinstance(atom, Host) else ()


def _made_of(computation: Computation, function: Place, *, keeps: bool) -> Computation:
    """Return what decorators make of one function; `keeps`: its arguments are its own."""
    return replace(
        computation,
        of=value(Function(function)),
        donated_by=function if computation.donates else None,
        function=function if keeps else computation.function,
    )
