"""Evaluation of calls: by name, by the transfer table, by the kind of object that is called."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.jaxmodel.callbacks import DATA_LOADER, HOST_CALLBACKS
from placement_lint.jaxmodel.transfer import Effect, Gives
from placement_lint.placement.domain.containers import is_container, sited
from placement_lint.placement.domain.contents import element_of
from placement_lint.placement.domain.library_values import (
    Executor,
    ExitStack,
    LibraryFunction,
    TensorFile,
)
from placement_lint.placement.domain.sharding import Sharding
from placement_lint.placement.domain.values import (
    PLAIN,
    UNKNOWN,
    AnyTree,
    Array,
    DefaultDeviceContext,
    Future,
    Generator,
    Host,
    LibraryMethod,
    Mapping,
    PlainContext,
    Sequence,
    Thread,
    Value,
    value,
)
from placement_lint.placement.engine.program_calls import ObjectCalls
from placement_lint.placement.engine.pytrees import tree_of
from placement_lint.placement.overlays.builtins import builtin, numpy_function, of_same_type
from placement_lint.placement.overlays.higher_order import (
    BoundFunction,
    applied_to,
    library_call_of,
)
from placement_lint.placement.overlays.methods import MethodCalls
from placement_lint.placement.overlays.registry import (
    LibraryCall,
    ObjectCall,
    lazy_functions,
    models_by_effect,
    models_by_name,
    models_of_objects,
)
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.domain.values import Atom
    from placement_lint.placement.engine.arguments import CallArguments
    from placement_lint.placement.engine.protocols import Evaluator


_GIVEN_FUNCTIONS = HOST_CALLBACKS | {DATA_LOADER}
"""What runs functions of the program elsewhere."""

_WITH_METHODS = (
    AnyTree, Array, DefaultDeviceContext, Executor, ExitStack, Future, Generator, Host, Mapping,
    PlainContext, Sequence, TensorFile, Thread,
)  # fmt: skip
"""What has methods that are known here, and is no module or class."""


class Calls:
    """Evaluates the calls of one body."""

    def __init__(self, expressions: Evaluator) -> None:
        self.on = expressions
        self.names = expressions.names
        self.objects = ObjectCalls(expressions)
        self.methods = MethodCalls(expressions)
        self._at_once: cst.Call | None = None
        """The call that gives the iterator which is consumed now."""

    def call(self, node: cst.Call, state: State) -> Value:
        """Return what a call may return."""
        self.on.record.saw_default(self.on.index(node), state.default)
        qualified = self.names.qualified(node.func)
        if isinstance(node.func, cst.Attribute) and self._is_of_variable(node.func, state):
            return self.methods.method(node, node.func, Arguments(node), state)
        if qualified is not None and self.on.module.replaced.holds_for(qualified, node):
            return self._of_replacement(node, state)
        if qualified is not None:
            held = self._library_call(node, qualified, state)
            if qualified in _GIVEN_FUNCTIONS:
                self._saw_given(node)
            if held is not None:
                return sited(held, self.on.targets.made(node)) if is_container(held) else held
        elif isinstance(node.func, cst.Attribute):
            return self.methods.method(node, node.func, Arguments(node), state)
        made = of_same_type(LibraryCall(self.on, node, state))
        if made is not None:
            return sited(made, self.on.targets.made(node)) if is_container(made) else made
        return self.objects.called(node, self.on.evaluate(node.func, state), state)

    def _of_replacement(self, node: cst.Call, state: State) -> Value:
        """Return what may be given by what a test has put in the place of a function."""
        call = LibraryCall(self.on, node, state)
        for argument in node.args:
            call.escapes(call.argument(argument.value))
        return UNKNOWN

    def _saw_given(self, node: cst.Call) -> None:
        """Remember the arguments of a call that gives functions away, which were evaluated, and
        the objects of which these are attributes.
        """
        seen = self.on.record.values
        given: dict[int, Value] = {}
        for argument in node.args:
            each: cst.BaseExpression | None = argument.value
            while each is not None:
                place = self.on.index(each)
                if place in seen:
                    given[place] = seen[place]
                each = each.value if isinstance(each, cst.Attribute) else None
        self.on.module.record.given.saw(self.on.index(node), given)

    def at_once(self, node: cst.Call, state: State) -> Value:
        """Call what gives an iterator, all of which is consumed here."""
        before, self._at_once = self._at_once, node
        try:
            return self.call(node, state)
        finally:
            self._at_once = before

    def is_at_once(self, node: cst.Call) -> bool:
        """Return whether a call gives the iterator that is consumed now."""
        return node is self._at_once

    def gives_iterator(self, name: str) -> bool:
        """Return whether what is called gives an iterator, and touches nothing before."""
        return name in lazy_functions()

    def kept_function(self, node: cst.Call, atom: Atom, state: State) -> Value | None:
        """Call a function of a library that a variable or a field holds, perhaps a partial of it.

        None for everything else that it may hold.
        """
        function = library_call_of(atom)
        if function is None:
            return None
        held: Value | None
        if isinstance(atom, LibraryFunction):
            held = self._library_call(node, atom.name, state)
        else:
            call = LibraryCall(self.on, node, state, function.name)
            keywords = {a.keyword.value: call.argument(a.value) for a in node.args if a.keyword}
            given = [call.operand(a.value) for a in node.args if not a.keyword]
            if any(a.star for a in node.args):
                for argument in node.args:
                    call.escapes(call.argument(argument.value))
                return UNKNOWN
            together = tuple((dict(function.keywords) | keywords).items())
            held = applied_to(call, replace(function, keywords=together), given)
        if held is None:
            return UNKNOWN
        return sited(held, self.on.targets.made(node)) if is_container(held) else held

    def with_given(self, node: cst.CSTNode, name: str, given: CallArguments, state: State) -> Value:
        """Call a function of a library with arguments that are evaluated already."""
        if not isinstance(node, cst.Call) or given.rest is not None or given.more is not None:
            for held in given.every():
                self.on.escapes(held, state)
            return UNKNOWN
        function = BoundFunction(name, keywords=tuple(given.keywords.items()))
        place = self.on.index(node)
        positional = [(place, held) for held in given.positional]
        return applied_to(LibraryCall(self.on, node, state, name), function, positional)

    def library_method(
        self,
        node: cst.CSTNode,
        method: LibraryMethod,
        given: CallArguments | None,
        state: State,
    ) -> Value:
        """Call a method of a library; `given`: its arguments, where they are evaluated already."""
        call = ObjectCall(self.on, node, state, method.name, method.receiver, given)
        return models_of_objects()[method.name](call)

    def of_library(
        self, node: cst.BaseExpression, given: CallArguments, state: State
    ) -> Value | None:
        """Call what an expression names, if that makes an object of a library: `@hk.transform`."""
        name = self.names.qualified(node)
        model = None if name is None else models_of_objects().get(name)
        if model is None or name is None:
            return None
        return model(ObjectCall(self.on, node, state, name, None, given))

    def _is_of_variable(self, function: cst.Attribute, state: State) -> bool:
        """Return whether it is a method of an array or a container that a module of ours holds."""
        owner = self.names.qualified(function.value)
        if owner is None or not self.on.program.linking.is_in_module(self.on.module, owner):
            return False
        held = self.on.evaluate(function.value, state)
        return any(isinstance(atom, _WITH_METHODS) for atom in held)

    def _library_call(self, node: cst.Call, qualified: str, state: State) -> Value | None:
        """Call a function of JAX, NumPy or Python; None for one of another package."""
        if qualified in lazy_functions() and node is not self._at_once and _is_simple(node):
            return self.on.iteration.later(node, [argument.value for argument in node.args], state)
        call = LibraryCall(self.on, node, state, qualified)
        row = self.names.table.get(qualified)
        if row is not None and row is not transfer.TABLE.get(qualified):
            return _as_given(row, models_by_effect()[row.effect](call))
        model = models_by_name().get(qualified)
        if model is not None:
            return model(call)
        object_model = models_of_objects().get(qualified)
        if object_model is not None:
            return object_model(ObjectCall(self.on, node, state, qualified))
        if row is not None:
            return models_by_effect()[row.effect](call)
        if qualified.startswith("numpy."):
            return numpy_function(call)
        if qualified.startswith("builtins."):
            return builtin(call)
        if qualified.startswith("jax."):
            for _, given in self.on.arguments(node, state):
                self.on.escapes(given, state)
            return value(Sharding()) if qualified.startswith("jax.sharding.") else UNKNOWN
        return None


def _as_given(row: transfer.Row, held: Value) -> Value:
    """Return what a call gives by a row of the settings, of what its effect makes."""
    if row.gives is Gives.NOTHING:
        return PLAIN
    if row.effect in {Effect.HOST, Effect.IDENTITY, Effect.PLAIN}:
        return held
    array = element_of(held) if is_container(held) else held
    return tree_of(array or UNKNOWN) if row.gives is Gives.ARRAYS else array or UNKNOWN


def _is_simple(node: cst.Call) -> bool:
    """Return whether all arguments are passed by position, each evaluated to what is iterated."""
    is_sentinel = isinstance(node.func, cst.Name) and node.func.value == "iter"
    return (
        bool(node.args)
        and not (is_sentinel and len(node.args) > 1)
        and all(
            not argument.star
            and argument.keyword is None
            and not isinstance(argument.value, cst.GeneratorExp | cst.List | cst.Tuple)
            for argument in node.args
        )
    )
