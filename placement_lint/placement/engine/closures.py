"""Functions that calls give, each of which closes over what its call was given.

One body may be many functions: `to_host = putter(cpu)` and `to_gpu = putter(gpu)`.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.platforms import PLATFORMS
from placement_lint.placement.domain.contents import map_atoms
from placement_lint.placement.domain.program_values import Function, Instance
from placement_lint.placement.domain.values import (
    PLAIN,
    UNKNOWN,
    Atom,
    Closure,
    Computation,
    Method,
    Partial,
    Plain,
    Value,
    sole,
    value,
)
from placement_lint.syntax.calls import string_value
from placement_lint.syntax.definitions import class_of_method

if TYPE_CHECKING:
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.engine.protocols import Interpreter
    from placement_lint.placement.facts.module import Module


class Closures:
    """Distinguishes the functions that different calls of one function give."""

    def __init__(self, program: Interpreter) -> None:
        self._program = program
        self._names: dict[Place, tuple[frozenset[str], frozenset[str]]] = {}
        self._again: dict[Place, bool] = {}

    def given(self, maker: Place, bindings: dict[str, Value], made: Value) -> Value:
        """Return what a call gave: each function in it closes over what that call was given.

        `bindings`: what the parameters of the function held that was called.
        """
        names, keys = self._closed_over(maker)
        if not names or not self._is_called_again(maker):
            return made
        # All of them, or none: what one was given is not to be read by another one.
        closed = tuple(
            (name, _kept(bindings.get(name, UNKNOWN), is_key=name in keys))
            for name in sorted(names)
        )
        return self._with_closed(made, maker, closed)

    def decorated(self, made: Atom, given: Value, by: Value, apart: bool) -> Atom:
        """Return what a decorator gave that was given a function; in whose body it is.

        Where that has nothing to do with placements, it does not matter which function it calls.
        `by`: the decorator; of a bound method or an object that is called, the object counts too.
        `apart`: what another decorator of the function gives matters, and so does each below it.
        """
        if not isinstance(made, Function):
            return made
        module, node = self._program.module_of(made.place), self._program.node(made.place)
        around = module.tree.around(node, cst.FunctionDef)
        if around is None:
            return made
        decorator = sole(by)
        receiver = decorator.receiver if isinstance(decorator, Method) else decorator
        is_method = isinstance(decorator, Method | Instance)
        is_needed = (
            apart
            or module.puts_arrays(node)
            or enters_something(module, node)
            # What it calls is another one for each function.
            or any(isinstance(atom, Closure) for atom in given)
        )
        if not is_needed:
            return made
        closed = [given]
        is_bound = class_of_method(around, module.names) is not None
        if is_bound:
            if not is_method or receiver is None:
                return made
            closed.insert(0, value(receiver))
        params = [*around.params.posonly_params, *around.params.params]
        names = [each.name.value for each in params]
        if len(names) < len(closed):
            return made
        return Closure(made.place, tuple(zip(names, closed, strict=False)))

    def inherited(self, made: Value, closure: Closure) -> Value:
        """Return what the call of a closure gave: functions in it close over the same."""
        return self._with_closed(made, closure.function, closure.closed)

    def _with_closed(
        self, made: Value, maker: Place, closed: tuple[tuple[str, Value], ...]
    ) -> Value:
        def change(atom: Atom) -> Atom:
            if isinstance(atom, Function) and self._maker_of(atom.place) == maker:
                return Closure(atom.place, closed)
            if isinstance(atom, Closure) and self._maker_of(atom.function) == maker:
                known = dict(atom.closed)
                more = tuple(each for each in closed if each[0] not in known)
                return replace(atom, closed=(*atom.closed, *more)) if more else atom
            if isinstance(atom, Computation):
                of = frozenset(map(change, atom.of))
                return atom if of == atom.of else replace(atom, of=of)
            if isinstance(atom, Partial):
                function = change(atom.function)
                return atom if function is atom.function else replace(atom, function=function)
            return atom

        return map_atoms(made, change) if closed else made

    def _maker_of(self, function: Place) -> Place | None:
        """Return the function in whose body another one is."""
        module, node = self._program.module_of(function), self._program.node(function)
        for around in module.tree.ancestors(node):
            if isinstance(around, cst.FunctionDef | cst.Lambda):
                return module.place(around)
            if isinstance(around, cst.ClassDef):
                return None
        return None

    def _is_called_again(self, maker: Place) -> bool:
        """Return whether a function may be called several times, by its name in the text."""
        if maker not in self._again:
            self._again[maker] = self._may_be_called_again(maker)
        return self._again[maker]

    def _may_be_called_again(self, maker: Place) -> bool:
        module, node = self._program.module_of(maker), self._program.node(maker)
        if not isinstance(node, cst.FunctionDef):
            return False
        scope = module.names.scope(node)
        is_method = isinstance(scope.node, cst.ClassDef)
        is_visible = is_method or scope is module.names.module_scope
        if is_visible and len(self._program.modules) > 1:
            # Other files may call it, too.
            return True
        if is_method:
            return _is_called_twice(module, node.name.value)
        calls = [
            call
            for use in module.names.uses(node.name.value, scope)
            if isinstance(call := module.tree.parent(use), cst.Call) and call.func is use
        ]
        return len(calls) > 1

    def _closed_over(self, maker: Place) -> tuple[frozenset[str], frozenset[str]]:
        """Return the parameters of a function that functions inside of it read, and of these the
        ones whose text matters there: `table[name]`.
        """
        found = self._names.get(maker)
        if found is None:
            module, node = self._program.module_of(maker), self._program.node(maker)
            found = _closed_over(module, node)
            self._names[maker] = found
        return found


def _is_called_twice(module: Module, method: str) -> bool:
    """Return whether a file calls a method of that name in several places, of whatever object."""
    calls = (
        call
        for call in module.tree.every(cst.Call)
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == method
    )
    return next(islice(calls, 1, None), None) is not None


def _closed_over(module: Module, node: cst.CSTNode) -> tuple[frozenset[str], frozenset[str]]:
    if not isinstance(node, cst.FunctionDef) or not any(
        True for _ in module.tree.every(cst.FunctionDef, cst.Lambda, below=node.body)
    ):
        return frozenset(), frozenset()
    scope = module.names.scope(node.body)
    params = (*node.params.posonly_params, *node.params.params, *node.params.kwonly_params)
    names: set[str] = set()
    keys: set[str] = set()
    for name in (each.name.value for each in params):
        if scope.sole_binding(name) is None:
            # It is bound to something else, perhaps by one of the functions.
            continue
        for use in module.names.uses(name, scope):
            if module.names.scope(use) is not scope:
                names.add(name)
                parent = module.tree.parent(use)
                if isinstance(parent, cst.Index) or _says_what_is_donated(parent):
                    keys.add(name)
    return frozenset(names), frozenset(keys)


def _says_what_is_donated(around: cst.CSTNode | None) -> bool:
    """Return whether a name is passed as what is donated: `donate_argnames=donate`."""
    keyword = around.keyword if isinstance(around, cst.Arg) else None
    if keyword is not None:
        return keyword.value == "donate_argnames"
    if not isinstance(around, cst.Assign) or len(around.targets) != 1:
        return False
    target = around.targets[0].target
    index = target.slice[0].slice if isinstance(target, cst.Subscript) else None
    return isinstance(index, cst.Index) and string_value(index.value) == "donate_argnames"


def _kept(held: Value, *, is_key: bool) -> Value:
    """Return what a function closes over: a text only where it says something about placements."""
    only = sole(held)
    if not isinstance(only, Plain) or only.text is None:
        return held
    return held if is_key or only.text in PLATFORMS else PLAIN


def enters_something(module: Module, function: cst.CSTNode) -> bool:
    """Return whether a function has a block of a context: `with self:`."""
    return next(iter(module.tree.every(cst.With, below=function)), None) is not None
