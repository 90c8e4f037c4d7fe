"""Which functions of a file surely run on tracers, and by which call of JAX.

Stricter than what the interpreter takes for traced: it leaves out whatever *may* be traced, a rule
reports only what *is*.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.callbacks import HOST_CALLBACKS
from placement_lint.jaxmodel.tracing import COMPILING, LIFTING, TRACINGS, TraceKind, Tracing
from placement_lint.jaxmodel.transfer import METHODS_OF_ONE_ARRAY
from placement_lint.semantic.beside import transform_applied, transform_called
from placement_lint.semantic.own_attributes import derived_classes
from placement_lint.syntax.calls import Arguments, elements_or_self
from placement_lint.syntax.definitions import (
    PARTIAL,
    applied,
    class_of_receiver,
    function_of,
    named_function,
    returns_of,
)
from placement_lint.syntax.lifted_classes import lifted_methods

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.definitions import Function
    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree

_DECORATING = frozenset(name for name, tracing in TRACINGS.items() if tracing.decorates)

# What calls a function that it is given at once, as part of the function that it stands in.
_CALLS_AT_ONCE = frozenset({
    "builtins.filter", "builtins.map", "builtins.max", "builtins.min", "builtins.sorted",
    "functools.partial", "functools.reduce", "jax.named_call", "jax.tree.map",
    "jax.tree.map_with_path", "jax.tree.reduce", "jax.tree_map", "jax.tree_util.tree_map",
    "jax.tree_util.tree_map_with_path", "jax.tree_util.tree_reduce",
})  # fmt: skip


_NO_CLASSES = ("builtins.", "collections.", "typing.", "typing_extensions.")
"""What annotations take from there says little of the class of an object."""
_MAX_CALLS = 4
"""Functions that call one another, of which only the last one is traced itself."""


@dataclass(frozen=True)
class TracedBy:
    """How a function comes to be traced."""

    tracing: Tracing
    is_certain: bool
    """False: the function has other uses, or may have some elsewhere, which call it as it is."""


class TracedFunctions:
    """The functions of one file that are surely traced, from their decorators and by calls."""

    def __init__(self, facts: ModuleFacts) -> None:
        self._facts = facts
        self.tree: Tree = facts.tree
        self.names: Names = facts.names
        self._by_id: dict[int, list[TracedBy]] = {}
        self._tracing_arguments: set[int] = set()
        given: list[tuple[Function, Tracing]] = []
        for found in self.tree.every(cst.FunctionDef, cst.Call):
            if isinstance(found, cst.Call):
                given += self._given(found)
                continue
            for decorator in found.decorators:
                tracing = self.tracing(decorator.decorator)
                if tracing is not None and tracing.decorates:
                    self._by_id.setdefault(id(found), []).append(TracedBy(tracing, True))
        for lifted in lifted_methods(self.tree, self.names):
            if lifted.is_always:
                by = TracedBy(LIFTING[lifted.by], True)
                self._by_id.setdefault(id(lifted.method), []).append(by)
        self._note_given(given)

    def _note_given(self, given: list[tuple[Function, Tracing]]) -> None:
        """Note functions that are passed to what traces them."""
        pending = given
        while pending:
            # A function that is called in a traced one is known as traced only once that one is.
            left = []
            for node, tracing in pending:
                others = self._other_uses(node)
                if others is None:
                    left.append((node, tracing))
                    continue
                is_certain = not others and self._is_private(node)
                self._by_id.setdefault(id(node), []).append(TracedBy(tracing, is_certain))
            if len(left) == len(pending):
                break
            pending = left

    # -- asking -------------------------------------------------------------------------------

    def of(self, function: cst.CSTNode) -> list[TracedBy]:
        """Return how a function itself is traced: by each decorator and each call."""
        return self._by_id.get(id(function), [])

    def around(self, node: cst.CSTNode, kinds: frozenset[TraceKind]) -> TracedBy | None:
        """Return how what a node does is traced, in one of the ways; None where it may just run.

        A function inside a traced one counts, unless it is given to what may call it later.
        """
        child = node
        for ancestor in self.tree.ancestors(node):
            inside = isinstance(ancestor, cst.FunctionDef | cst.Lambda) and child is ancestor.body
            child = ancestor
            if not inside or not isinstance(ancestor, cst.FunctionDef | cst.Lambda):
                continue
            found = [each for each in self.of(ancestor) if each.tracing.kind in kinds]
            if found:
                return max(found, key=lambda each: each.is_certain)
            if not self._runs_in_place(ancestor):
                return None
        return None

    def only_from(
        self, node: cst.CSTNode, kinds: frozenset[TraceKind], depth: int = _MAX_CALLS
    ) -> TracedBy | None:
        """Return how what a node does is traced, if only traced functions call the one around it.

        None also where nothing in the file calls it.
        """
        function = next(
            (a for a in self.tree.ancestors(node) if isinstance(a, cst.FunctionDef | cst.Lambda)),
            None,
        )
        if not isinstance(function, cst.FunctionDef) or function.decorators or not depth:
            return None
        found: list[TracedBy] = []
        for use in self._uses(function):
            if self.tree.is_inside(use, function):
                continue
            by = self._given_to_compiled(use, kinds)
            if by is None:
                if not self._is_immediate(use):
                    return None
                by = self.around(use, kinds) or self.only_from(use, kinds, depth - 1)
            if by is None:
                return None
            if not self._may_be_of_array(use):
                found.append(by)
        if not found:
            return None
        is_certain = self._is_private(function) and all(each.is_certain for each in found)
        return TracedBy(found[0].tracing, is_certain)

    def _may_be_of_array(self, use: cst.CSTNode) -> bool:
        """Return whether a method may be an array's instead: `x.mean()`, of no known object."""
        if not isinstance(use, cst.Attribute) or use.attr.value not in METHODS_OF_ONE_ARRAY:
            return False
        return class_of_receiver(use.value, self.names) is None

    def _given_to_compiled(self, use: cst.CSTNode, kinds: frozenset[TraceKind]) -> TracedBy | None:
        """Return how a function is traced that a compiled one is given, as a static argument.

        All that a compiled function can do with it is to call it while it is traced, or to give it
        to others that do; or to a callback on the host.
        """
        argument = self.tree.parent(use)
        call = self.tree.parent(argument) if isinstance(argument, cst.Arg) else None
        if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Name):
            return None
        compiled = named_function(call.func, self.names)
        if not isinstance(compiled, cst.FunctionDef) or len(compiled.decorators) != 1:
            return None
        tracing = self.tracing(compiled.decorators[0].decorator)
        if tracing is None or tracing.kind not in kinds & COMPILING or self._has_callbacks:
            return None
        return TracedBy(tracing, False)

    @cached_property
    def _has_callbacks(self) -> bool:
        return any(
            self.names.qualified(call.func) in HOST_CALLBACKS for call in self.tree.every(cst.Call)
        )

    def function_around(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """Return the function at the top level of the file that a node is in, and in no other."""
        around = [
            a
            for a in self.tree.ancestors(node)
            if isinstance(a, cst.FunctionDef | cst.Lambda | cst.ClassDef)
        ]
        only = around[0] if len(around) == 1 else None
        return only if isinstance(only, cst.FunctionDef) and not only.decorators else None

    def is_traced(self, node: cst.CSTNode) -> bool:
        """Return whether what a node does is certainly traced, in any way."""
        return self.around(node, frozenset(TraceKind)) is not None

    def is_given(self, use: cst.CSTNode) -> bool:
        """Return whether a use of a function, or `functools.partial` of it, is what is traced."""
        return id(use) in self._tracing_arguments

    def tracing(self, node: cst.BaseExpression) -> Tracing | None:
        """Return what a decorator traces with: `@jax.jit`, `@jax.jit(…)`,
        `@partial(jax.jit, …)`.
        """
        made, _ = applied(node, self.names)
        return TRACINGS.get(transform_applied(made, self._facts)[0] or "")

    def definition(self, node: cst.BaseExpression | None) -> Function | None:
        """Return the function that an expression surely is, also inside of a call that
        traces it.
        """
        return function_of(node, self.names, _DECORATING)

    # -- looking ------------------------------------------------------------------------------

    def _given(self, call: cst.Call) -> Iterator[tuple[Function, Tracing]]:
        tracing = TRACINGS.get(transform_called(call, self._facts) or "")
        if tracing is None:
            return
        arguments = Arguments(call)
        for position, keyword in tracing.parameters:
            for function in elements_or_self(arguments.get(position, keyword)):
                definition = (
                    function_of(function, self.names, _DECORATING, or_overriding=True)
                    or self._bound_before(function)
                    or self._made_by(function)
                )
                if definition is None:
                    continue
                self._tracing_arguments.update(
                    id(part) for part in (function, *self.tree.descendants(function))
                )
                for each in (definition, *self._overriding(definition)):
                    yield each, tracing

    def _bound_before(self, node: cst.BaseExpression) -> Function | None:
        """Return the function of which a name is a `functools.partial`, that is only traced:
        `step = partial(train_step, config=config)`, then `jax.jit(step)`.
        """
        made = self.names.sole_value(node) if isinstance(node, cst.Name) else None
        if not isinstance(made, cst.Call) or self.names.qualified(made.func) != PARTIAL:
            return None
        name = node.value if isinstance(node, cst.Name) else ""
        if not all(map(self._is_only_traced, self.names.uses(name, self.names.scope(node)))):
            return None
        found = self.definition(made)
        if found is not None:
            self._tracing_arguments.update(id(part) for part in self.tree.descendants(made))
        return found

    def _made_by(self, node: cst.BaseExpression) -> Function | None:
        """Return the function that a function of the file makes only to be traced:
        `jax.pmap(make_step(rate))`.
        """
        maker = named_function(node.func, self.names) if isinstance(node, cst.Call) else None
        if not isinstance(maker, cst.FunctionDef) or maker.decorators or maker.asynchronous:
            return None
        returned = returns_of(maker, self.names)
        made = named_function(returned[0].value, self.names) if len(returned) == 1 else None
        if not isinstance(made, cst.FunctionDef) or not self.tree.is_inside(made, maker):
            return None
        if any(self.tree.around(use, cst.Return) is None for use in self._uses(made)):
            # It runs without being traced, too.
            return None
        for use in self._uses(maker):
            call = self.tree.parent(use)
            if not isinstance(call, cst.Call) or call.func is not use:
                return None
            given = self.tree.parent(call)
            tracer = self.tree.parent(given) if isinstance(given, cst.Arg) else None
            if not isinstance(tracer, cst.Call):
                return None
            if self.names.qualified(tracer.func) not in TRACINGS:
                return None
        return made

    def _is_only_traced(self, use: cst.CSTNode) -> bool:
        """Return whether a place has a function only to trace it, or to read what it has."""
        parent = self.tree.parent(use)
        if isinstance(parent, cst.AssignTarget):
            return True
        if isinstance(parent, cst.Attribute):
            around = self.tree.parent(parent)
            return not (isinstance(around, cst.Call) and around.func is parent)
        call = self.tree.parent(parent) if isinstance(parent, cst.Arg) else None
        return isinstance(call, cst.Call) and self.names.qualified(call.func) in TRACINGS

    def _overriding(self, function: Function) -> Iterator[cst.FunctionDef]:
        """Yield the methods of subclasses in the file that come in the place of a method.

        `jax.jit(self.step)` in the initializer of a base compiles those.
        """
        cls = self.names.scope(function).node
        if not isinstance(function, cst.FunctionDef) or not isinstance(cls, cst.ClassDef):
            return
        pending, seen = [cls], {id(cls)}
        while pending:
            for derived in self._facts.fact(derived_classes).get(id(pending.pop()), ()):
                if id(derived) in seen:
                    continue
                seen.add(id(derived))
                pending.append(derived)
                bindings = self.names.scope(derived.body).bindings
                made = bindings.get(function.name.value, [])
                if len(made) == 1 and isinstance(made[0].node, cst.FunctionDef):
                    yield made[0].node

    def _other_uses(self, node: Function) -> bool | None:
        """Return whether a function has uses that may call it as it is; None: it is so called.

        Calls inside of functions that are traced are no such uses.
        """
        if isinstance(node, cst.Lambda):
            parent = self.tree.parent(node)
            if not isinstance(parent, cst.Assign):
                return False
        others = False
        for use in self._uses(node):
            if id(use) in self._tracing_arguments:
                continue
            if self.tree.is_inside(use, node):
                continue
            call = self.tree.parent(use)
            if isinstance(call, cst.Call) and call.func is use:
                if not self.is_traced(use):
                    return None
            else:
                others = True
        return others

    def _uses(self, node: Function) -> list[cst.CSTNode]:
        """Return every place that reads a function by its name, or as `self.name`."""
        if isinstance(node, cst.Lambda):
            parent = self.tree.parent(node)
            target = parent.targets[0].target if isinstance(parent, cst.Assign) else None
            if not isinstance(target, cst.Name):
                return []
            name = target.value
        else:
            name = node.name.value
        found: list[cst.CSTNode] = []
        if not isinstance(node, cst.Lambda) and self._is_method(node):
            attributes = self._attributes.get(name, ())
            found += (each for each in attributes if not self._is_of_library(each.value))
        found += (
            each
            for each in self.names.uses(name, self.names.scope(node))
            if not isinstance(self.tree.parent(each), cst.AssignTarget)
        )
        return found

    def _is_of_library(self, node: cst.BaseExpression) -> bool:
        """Return whether an object surely is one that a function of another module makes.

        So is `self.tx` where the file sets no attribute of that name to anything but what
        `optax.adam(…)` and the like give: `self.tx.update` is no method of the file.
        """
        if isinstance(node, cst.Name):
            bindings = self.names.bindings(node)
            if bindings and all(self._is_annotated(each.node) for each in bindings):
                return True
            made = [each.value for each in bindings]
        elif isinstance(node, cst.Attribute):
            made = self._assigned.get(node.attr.value, [])
        elif isinstance(node, cst.Subscript):
            # `x.at[i].add(y)`
            return isinstance(node.value, cst.Attribute) and node.value.attr.value == "at"
        else:
            made = [node]
        return bool(made) and all(
            isinstance(each, cst.Call) and self.names.qualified(each.func) is not None
            for each in made
        )

    def _is_annotated(self, node: cst.CSTNode) -> bool:
        """Return whether a parameter is of a class of another module, `metrics: nnx.MultiMetric`,
        from which none of the file derives.
        """
        annotation = node.annotation if isinstance(node, cst.Param) else None
        if annotation is None or not isinstance(annotation.annotation, cst.Name | cst.Attribute):
            return False
        name = self.names.qualified(annotation.annotation)
        is_class = name is not None and "." in name and not name.startswith(_NO_CLASSES)
        return is_class and name not in self._bases

    @cached_property
    def _bases(self) -> set[str | None]:
        """The names of other modules' classes from which those of the file derive."""
        classes = self.tree.every(cst.ClassDef)
        return {self.names.qualified(base.value) for each in classes for base in each.bases}

    @cached_property
    def _assigned(self) -> dict[str, list[cst.BaseExpression | None]]:
        """What is assigned to attributes, by their names; None: not by a plain assignment."""
        found: dict[str, list[cst.BaseExpression | None]] = {}
        for node in self.tree.every(cst.Attribute):
            target = self.tree.parent(node)
            if isinstance(target, cst.AssignTarget):
                statement = self.tree.parent(target)
                value = statement.value if isinstance(statement, cst.Assign) else None
                found.setdefault(node.attr.value, []).append(value)
            elif isinstance(target, cst.AnnAssign) and target.target is node:
                found.setdefault(node.attr.value, []).append(target.value)
            elif isinstance(target, cst.Element | cst.AugAssign | cst.For | cst.AsName):
                found.setdefault(node.attr.value, []).append(None)
        return found

    def _is_private(self, node: Function) -> bool:
        if isinstance(node, cst.Lambda) or node.name.value.startswith("_"):
            return True
        return any(isinstance(each, cst.FunctionDef) for each in self.tree.ancestors(node))

    def _is_method(self, node: cst.FunctionDef) -> bool:
        suite = self.tree.parent(node)
        return suite is not None and isinstance(self.tree.parent(suite), cst.ClassDef)

    @cached_property
    def _attributes(self) -> dict[str, list[cst.Attribute]]:
        found: dict[str, list[cst.Attribute]] = {}
        for node in self.tree.every(cst.Attribute):
            found.setdefault(node.attr.value, []).append(node)
        return found

    def _runs_in_place(self, node: Function) -> bool:
        """Return whether a nested function runs only as a part of the function around it."""
        if isinstance(node, cst.Lambda):
            parent = self.tree.parent(node)
            if isinstance(parent, cst.Arg):
                return self._is_called_at_once(parent)
            if not isinstance(parent, cst.Assign):
                return False
        elif node.decorators:
            return False
        uses = self._uses(node)
        return bool(uses) and all(self._is_immediate(use) for use in uses)

    def _is_immediate(self, use: cst.CSTNode) -> bool:
        parent = self.tree.parent(use)
        if isinstance(parent, cst.Call) and parent.func is use:
            return True
        return isinstance(parent, cst.Arg) and self._is_called_at_once(parent)

    def _is_called_at_once(self, argument: cst.Arg) -> bool:
        call = self.tree.parent(argument)
        if not isinstance(call, cst.Call):
            return False
        name = self.names.qualified(call.func)
        if name in HOST_CALLBACKS or name is None:
            return False
        return name in _CALLS_AT_ONCE or name in TRACINGS
