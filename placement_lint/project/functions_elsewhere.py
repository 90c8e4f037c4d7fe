"""What calling a function of another file does, and how other files call one."""

from __future__ import annotations

import ast
import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.files.test_paths import is_test_path
from placement_lint.jaxmodel.platforms import PLACED_BY
from placement_lint.jaxmodel.tracing import COMPILING
from placement_lint.semantic.array_operators import operation_on_array, operations
from placement_lint.semantic.compiled_functions import compiles, is_compiled_where_defined
from placement_lint.semantic.datasets import steps_of
from placement_lint.semantic.elsewhere import effects_of, questions_below
from placement_lint.semantic.enclosing import caught_around
from placement_lint.semantic.execution_order import timeline
from placement_lint.semantic.file_view import FileView
from placement_lint.semantic.functions import nodes_inside, returned_function
from placement_lint.semantic.given_functions import called_or_mapped
from placement_lint.semantic.host_reads import parameters_read
from placement_lint.semantic.known_types import KnownTypes
from placement_lint.semantic.method_uses import uses_of_method
from placement_lint.semantic.module_summary import Kind
from placement_lint.semantic.named_places import is_place, is_place_of_objects
from placement_lint.semantic.object_classes import called_method
from placement_lint.semantic.program_queries import (
    ANY_KEY,
    GIVEN_BY_CALL,
    IN_TABLE,
    ONLY_READS,
    UNUSED,
    CallsAsked,
    CallsFromElsewhere,
    EffectOrigin,
    FunctionEffects,
    JaxCall,
)
from placement_lint.semantic.tracing import TracedFunctions
from placement_lint.semantic.written_tables import items_at
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import (
    applied,
    function_of,
    initializer,
    only_caches,
    only_says_type,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from placement_lint.project.modules import Modules
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.semantic.program_queries import KnownType
    from placement_lint.syntax.definitions import Function

_MOST_STEPS = 8
"""Re-exports of one name, or bases of one class."""
_MOST = 64
"""Functions that one is put together of, or in one table."""
_MOST_CALLS = 256
"""Calls of one function that are reported."""
_PLACE_WORDS = tuple(name.rpartition(".")[2].encode() for name in PLACED_BY)
_PUTTING = frozenset({"jax.device_put"})
_STAR = b"import *"
_UNKNOWN = CallsFromElsewhere(True)
"""There may be a call before which nothing has happened, and which nothing compiles."""
_KEEPING = ("builtins.classmethod", "builtins.property", "builtins.staticmethod", "jax.")
"""Decorators that call what they decorate, or trace it."""


class FunctionsElsewhere:
    """The functions of a run, as far as other files than their own ask for them."""

    def __init__(
        self,
        project: Modules,
        borrowed: Callable[[str], AbstractContextManager[ModuleFacts | None]],
        importing: Callable[[str], Iterable[str]],
        data: Callable[[str], bytes],
        together: Callable[[str], Iterable[str]],
    ) -> None:
        """`borrowed` lends the facts of a file, `importing` returns the files that import one.

        `together`: those of the programs that a file is part of.
        """
        self._project = project
        self._borrowed = borrowed
        self._importing = importing
        self._data = data
        self._together = together
        self._known: dict[tuple[str, str, int], FunctionEffects | None] = {}
        self._callers: dict[tuple[str, str, CallsAsked], CallsFromElsewhere] = {}
        self._passed: dict[tuple[str, str, int | None, str], frozenset[KnownType | None]] = {}

    def effects(self, path: str, name: str, files: int, of: str = "") -> FunctionEffects | None:
        """Return what calling something does that a file names; None where that is not known.

        `of`: the name is that in this file.
        `files`: through how many files its functions are followed, its own included; `ONLY_READS`.
        """
        is_made = name.endswith(GIVEN_BY_CALL)
        name, _, entry = name.removesuffix(GIVEN_BY_CALL).partition(IN_TABLE)
        located = (of, name) if of else self._project.module_of(path, name)
        for _ in range(_MOST_STEPS):
            if located is None or not located[1] or located[0] == path:
                return None
            file, rest = located
            asked = f"{rest}{IN_TABLE}{entry}" if entry else rest
            key = (file, asked + GIVEN_BY_CALL if is_made else asked, files)
            if key in self._known:
                return self._known[key]
            # What leads back to it while it is looked at does nothing before that.
            self._known[key] = None
            with self._borrowed(file) as facts:
                if facts is None:
                    return None
                onward = reexported(facts, rest)
                if onward is None:
                    found = None if entry else _function_named(facts, rest)
                    if found is not None and is_made:
                        found = returned_function(found, FileView(facts))
                    if found is not None:
                        self._known[key] = self._effects(
                            found, facts, files, _class_at_top(facts, rest)
                        )
                    elif not is_made and files != ONLY_READS:
                        self._known[key] = self._of_held(rest, entry, facts, files)
                    return self._known[key]
            del self._known[key]
            located = self._project.module_of(file, onward)
        return None

    def _of_held(
        self, name: str, entry: str, facts: ModuleFacts, files: int
    ) -> FunctionEffects | None:
        """Return what calling the object does that a variable of a file is, or what a table has.

        That is what the functions do together of which `Compose(f, g)` makes one.
        """
        view = FileView(facts)
        only = facts.names.module_scope.sole_binding(name)
        held = None if only is None else only.value
        if held is None:
            return None
        given: list[cst.BaseExpression] = [held] if isinstance(held, cst.Call) else []
        if entry:
            key = None if entry == ANY_KEY else ast.literal_eval(entry)
            given = [each for each, _ in items_at(held, key, view)]
        every: list[FunctionEffects] = []
        for part in itertools.islice((p for each in given for p in steps_of(each, view)), _MOST):
            function = function_of(part, facts.names) or called_method(part, view)
            effects = (
                effects_of(part, view, files - 1)
                if function is None
                else self._effects(function, facts, files)
            )
            every += [] if effects is None else [effects]
        calls = [replace(call, path=call.path or e.path) for e in every for call in e.calls]
        if not every:
            return None
        return FunctionEffects(
            facts.path,
            tuple(calls),
            any(each.is_traced for each in every),
            None,
            runs_compiled=any(each.runs_compiled for each in every),
        )

    def _effects(
        self,
        function: Function,
        facts: ModuleFacts,
        files: int,
        of: cst.ClassDef | None = None,
    ) -> FunctionEffects | None:
        """Return what a function does; `of`: the class of the object whose method it is."""
        view = FileView(facts)
        traced = facts.fact(TracedFunctions)
        is_traced = any(each.is_certain for each in traced.of(function))
        decorators = function.decorators if isinstance(function, cst.FunctionDef) else ()
        others = [each for each in decorators if not only_caches(each, facts.names)]
        is_compiled = len(others) == 1 and compiles(others[0].decorator, facts.names)
        named = [view.name(applied(each.decorator, facts.names)[0]) for each in others]
        if any(name is None or not name.startswith(_KEEPING) for name in named) and not is_compiled:
            # What a decorator makes of it may do anything.
            return None
        calls = [
            JaxCall(name, facts.line_of(function), False) for name in named if name is not None
        ]
        if files == ONLY_READS:
            reads = frozenset() if is_traced or is_compiled else parameters_read(function, view)
            return FunctionEffects(facts.path, (), is_traced, None, is_compiled, reads)
        # What a cache keeps may have been computed before, by another call.
        is_cached = len(others) < len(decorators)
        runs_compiled = not is_cached and self._note_calls(function, view, files, of, calls)
        start = None
        if isinstance(function, cst.FunctionDef):
            event = timeline(facts).start_in(function)
            if event is not None:
                here = EffectOrigin(facts.path, facts.line_of(event.node), event.what)
                start = event.origin or here
        return FunctionEffects(
            facts.path,
            tuple(calls),
            is_traced,
            start,
            is_compiled,
            runs_compiled=runs_compiled,
            asks=tuple(sorted(questions_below(function, view))),
        )

    def _note_calls(
        self,
        function: Function,
        view: FileView,
        files: int,
        of: cst.ClassDef | None,
        calls: list[JaxCall],
    ) -> bool:
        """Note what a function calls of JAX, itself and by functions of as many other files, as far
        as that is kept. Return whether it runs a compiled function.
        """
        facts, runs_compiled = view.module, False
        for call in nodes_inside(function, view, operations(), traced=False, of=of):
            operation = operation_on_array(call, view)
            if operation is not None:
                calls.append(JaxCall(operation[1], facts.line_of(operation[0]), False))
            if not isinstance(call, cst.Call):
                continue
            name = view.called(call)
            if name is not None and name.startswith(("jax.", "safetensors.flax.")):
                argument = view.parent(call)
                outer = view.parent(argument) if isinstance(argument, cst.Arg) else None
                is_placed = Arguments(call).get(None, "device") is not None
                is_placed |= view.called(outer) in _PUTTING
                name = called_or_mapped(call, view) or name
                calls.append(JaxCall(name, facts.line_of(call), is_placed))
            elif isinstance(own := function_of(call.func, facts.names), cst.FunctionDef):
                runs_compiled |= is_compiled_where_defined(own, facts.names)
            elif name is not None and (below := self._below(facts.path, name, files - 1)):
                runs_compiled |= below.is_compiled or below.runs_compiled
                calls += () if below.is_traced else below.calls
            if len(calls) >= _MOST_CALLS:
                break
        return runs_compiled

    def _below(self, path: str, name: str, files: int) -> FunctionEffects | None:
        """Return what a function of a third file does, which one of a file calls."""
        effects = self.effects(path, name, files) if files else None
        if effects is None:
            return None
        calls = [replace(call, path=call.path or effects.path) for call in effects.calls]
        return replace(effects, calls=tuple(calls))

    def callers(self, path: str, function: str, asked: CallsAsked) -> CallsFromElsewhere:
        """Return how other files call a function, or a method of a class, at the top of a file."""
        key = path, function, asked
        if key not in self._callers:
            # What comes back to it while it is looked for is no reason to begin with.
            self._callers[key] = _UNKNOWN
            cls, _, method = function.rpartition(".")
            self._callers[key] = (
                self._callers_of_method(path, cls, method, asked)
                if cls
                else self._found_callers(path, function, asked)
            )
        return self._callers[key]

    def _callers_of_method(
        self, path: str, cls: str, method: str, asked: CallsAsked
    ) -> CallsFromElsewhere:
        word = method.encode()
        found: CallsFromElsewhere | None = None
        for file in sorted(self._together(path)):
            if file == path or is_test_path(file) or word not in self._data(file):
                continue
            with self._borrowed(file) as facts:
                if facts is None:
                    return _UNKNOWN
                for use in uses_of_method(facts, cls, path, method):
                    of_use = _UNKNOWN if use.call is None else _call_at(use.node, asked, facts)
                    if of_use == _UNKNOWN:
                        return _UNKNOWN
                    is_known = use.is_known or (found is not None and found.is_known)
                    caught = of_use.caught if found is None else of_use.caught & found.caught
                    found = replace(found or of_use, is_known=is_known, caught=caught)
        return found or UNUSED

    def _found_callers(self, path: str, function: str, asked: CallsAsked) -> CallsFromElsewhere:
        found: CallsFromElsewhere | None = None
        for importer in self._users(path, function):
            with self._borrowed(importer) as facts:
                if facts is None:
                    return _UNKNOWN
                for use in self._uses(path, function, importer, facts):
                    if only_says_type(use, facts.tree):
                        continue
                    of_use = _call_at(use, asked, facts)
                    if of_use == _UNKNOWN:
                        return _UNKNOWN
                    caught = of_use.caught if found is None else of_use.caught & found.caught
                    found = replace(found or of_use, caught=caught)
        return found or UNUSED

    def is_place_elsewhere(self, path: str, name: str) -> bool:
        """Return whether another file puts arrays on what a file binds to a name, or returns.

        Or on what its objects hold: `Trainer.device`.
        """
        cls, _, attribute = name.rpartition(".")
        if cls:
            return self._is_place_of_objects(path, cls, attribute)
        for importer in self._users(path, name):
            if not any(word in self._data(importer) for word in _PLACE_WORDS):
                continue
            with self._borrowed(importer) as facts:
                if facts is None:
                    continue
                if any(is_place(use, facts) for use in self._uses(path, name, importer, facts)):
                    return True
        return False

    def _is_place_of_objects(self, path: str, cls: str, name: str) -> bool:
        word = name.encode()
        for file in sorted(self._together(path)):
            data = self._data(file)
            if file == path or is_test_path(file) or word not in data:
                continue
            if not any(each in data for each in _PLACE_WORDS):
                continue
            with self._borrowed(file) as facts:
                if facts is not None and is_place_of_objects(facts, cls, path, name):
                    return True
        return False

    def passed_types(
        self, path: str, function: str, place: int | None, name: str
    ) -> frozenset[KnownType | None]:
        """Return the types of what other files pass to a function or class of a file.

        `place` and `name` are those of the parameter. None among them: it is not known.
        """
        key = path, function, place, name
        if key not in self._passed:
            # What leads back to it while it is looked for says nothing.
            self._passed[key] = frozenset({None})
            self._passed[key] = frozenset(self._found_types(*key))
        return self._passed[key]

    def _found_types(
        self, path: str, function: str, place: int | None, name: str
    ) -> Iterator[KnownType | None]:
        for importer in self._users(path, function):
            with self._borrowed(importer) as facts:
                if facts is None:
                    yield None
                    return
                for use in self._uses(path, function, importer, facts):
                    if only_says_type(use, facts.tree):
                        continue
                    found = facts.fact(KnownTypes).passed_at(use, place, name)
                    yield from found
                    if None in found:
                        return

    def _users(self, path: str, name: str) -> list[str]:
        """Return the files, tests aside, that may use a name of a file, also by way of others."""
        word = name.encode()
        return sorted(
            importer
            for importer in self._reached_from(path, word)
            if not is_test_path(importer) and word in self._data(importer)
        )

    def _reached_from(self, path: str, word: bytes) -> set[str]:
        """Return the files that import one, or another that may pass its name on to them."""
        found: set[str] = set()
        pending = [path]
        while pending:
            for importer in self._importing(pending.pop()):
                if importer not in found and importer != path:
                    found.add(importer)
                    data = self._data(importer)
                    if word in data or _STAR in data:
                        pending.append(importer)
        return found

    def _uses(
        self, path: str, function: str, importer: str, facts: ModuleFacts
    ) -> Iterator[cst.CSTNode]:
        """Yield the uses of a function in a file; an import where it may have more elsewhere."""
        names, goal = facts.names, (path, function)
        for name, bindings in names.module_scope.bindings.items():
            for binding in bindings:
                is_renamed = binding.target is not None and name != function
                if is_renamed and (binding.target or "").rpartition(".")[2] == function:
                    others = self._importing(importer)
                    if others and self._leads_to(importer, binding.target or "") == goal:
                        yield binding.node
        passing = {path} | self._reached_from(path, function.encode())
        for module in names.star_imports:
            located = self._project.module_of(importer, module)
            if located is not None and located[0] in passing:
                yield facts.tree.module
        for node in facts.tree.every(cst.Name, cst.Attribute):
            parent = facts.tree.parent(node)
            is_part = isinstance(parent, cst.Attribute) and parent.attr is node
            used = None if is_part else names.qualified(node)
            if used is None or used.rpartition(".")[2] != function:
                continue
            if not isinstance(parent, cst.ImportAlias) and self._leads_to(importer, used) == goal:
                yield node

    def _leads_to(self, path: str, name: str) -> tuple[str, str] | None:
        """Return the file that defines what a name in a file stands for, and its name there."""
        located = self._project.module_of(path, name)
        for _ in range(_MOST_STEPS):
            if located is None or not located[1]:
                return None
            with self._borrowed(located[0]) as facts:
                onward = None if facts is None else reexported(facts, located[1])
            if onward is None:
                return located
            located = self._project.module_of(located[0], onward)
        return None


def reexported(facts: ModuleFacts, name: str) -> str | None:
    """Return the qualified name that a file imports something by which others get from it."""
    top, dot, rest = name.partition(".")
    only = facts.names.module_scope.sole_binding(top)
    target = None if only is None else only.target
    return None if target is None else f"{target}{dot}{rest}"


def _function_named(facts: ModuleFacts, name: str) -> Function | None:
    """Return the function that a file binds a name to; of a class, what makes an object of it."""
    top, _, method = name.partition(".")
    only = facts.names.module_scope.sole_binding(top)
    if only is None:
        return None
    made = only.node
    if isinstance(made, cst.ClassDef):
        own = None if method else initializer(made, facts.names)
        return own or _method(made, method or "__init__", facts)
    if method:
        return None
    if isinstance(made, cst.FunctionDef):
        return made
    return function_of(only.value, facts.names)


def _class_at_top(facts: ModuleFacts, name: str) -> cst.ClassDef | None:
    """Return the class of the file whose method a dotted name is."""
    only = facts.names.module_scope.sole_binding(name.partition(".")[0])
    made = None if only is None else only.node
    return made if isinstance(made, cst.ClassDef) else None


def _method(cls: cst.ClassDef, name: str, facts: ModuleFacts) -> cst.FunctionDef | None:
    for _ in range(_MOST_STEPS):
        for statement in cls.body.body:
            if isinstance(statement, cst.FunctionDef) and statement.name.value == name:
                return statement
        bases = [base.value for base in cls.bases if isinstance(base.value, cst.Name)]
        above = [each.node for base in bases[:1] for each in facts.names.bindings(base)]
        only = above[0] if len(above) == 1 else None
        if not isinstance(only, cst.ClassDef):
            break
        cls = only
    return None


def _call_at(use: cst.CSTNode, asked: CallsAsked, facts: ModuleFacts) -> CallsFromElsewhere:
    """Return what is asked of one use of a function: it may be no call."""
    call = facts.tree.parent(use) if facts.tree.contains(use) else None
    if not isinstance(call, cst.Call) or call.func is not use or asked is CallsAsked.USES:
        return _UNKNOWN
    if asked is CallsAsked.COMPILES:
        functions = facts.fact(TracedFunctions)
        by = functions.around(use, COMPILING) or functions.only_from(use, COMPILING)
        return CallsFromElsewhere(True, traced_by=None if by is None else by.tracing.name)
    if asked is CallsAsked.CATCHES:
        return CallsFromElsewhere(True, caught=caught_around(call, FileView(facts)))
    kind = Kind.IMPORTS if asked is CallsAsked.IMPORTS else Kind.STARTS
    event = timeline(facts).before(call, kind)
    if event is None:
        return _UNKNOWN
    here = EffectOrigin(facts.path, facts.line_of(event.node), event.what)
    return CallsFromElsewhere(True, event.origin or here)
