"""The contexts that one `with` statement enters: what they change, and what is restored after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain import mesh_contexts
from placement_lint.placement.domain.library_values import ExitStack
from placement_lint.placement.domain.mesh_contexts import ANY_CHANGE, ANY_MESH_BY_WITH, ANY_MESHES
from placement_lint.placement.domain.program_values import External, Instance
from placement_lint.placement.domain.values import (
    UNKNOWN,
    DefaultDeviceContext,
    PlainContext,
    Value,
    value,
)
from placement_lint.placement.engine.contexts import (
    changes_meshes,
    entered_default,
    entered_meshes,
    is_called_mesh,
    is_neutral_context,
    sets_mesh,
    with_choice,
)
from placement_lint.syntax.expected_failures import expects_failure

if TYPE_CHECKING:
    from placement_lint.placement.domain.state import DefaultDevice, State
    from placement_lint.placement.engine.protocols import Evaluator, Interpreter
    from placement_lint.placement.facts.module import Module


class EnteredContexts:
    """The contexts of a `with` statement, which are entered when this is made, in `state`."""

    def __init__(
        self,
        program: Interpreter,
        module: Module,
        expressions: Evaluator,
        node: cst.With,
        state: State,
    ) -> None:
        self._program = program
        self._module = module
        self._expressions = expressions
        self._node = node
        self._blocks_outside, self._meshes_outside = state.blocks, state.meshes
        self._contexts = [self._enter(item, state) for item in node.items]
        self._blocks_inside, self._meshes_inside = state.blocks, state.meshes
        self._stacks = frozenset(
            atom.site
            for held in self._contexts
            for atom in held
            if isinstance(atom, ExitStack) and atom.site is not None
        )
        if any(
            sets_mesh(held) and not _is_made_here(item.item)
            for item, held in zip(node.items, self._contexts, strict=True)
        ):
            # It was set before, and what was in force before that is restored.
            self._meshes_outside = ANY_MESHES

    def leave(self, state: State) -> bool:
        """Leave the contexts on one way out; tell whether one of them may hide an error."""
        hides = False
        for held in reversed(self._contexts):
            hides |= self._expressions.calls.objects.left(held, state)
        state.blocks = self._blocks_after(state.blocks)
        state.meshes = mesh_contexts.left(self._meshes_outside, self._meshes_inside, state.meshes)
        return hides

    def hide_errors(self) -> bool:
        """Return whether the body may end early, and the program goes on: `contextlib.suppress`."""
        names = self._module.names
        return any(
            isinstance(item.item, cst.Call)
            and names.qualified(item.item.func) in {"contextlib.suppress", "pytest.raises"}
            for item in self._node.items
        )

    def expect_failure(self) -> bool:
        """Return whether the body is there to fail: `pytest.raises`."""
        names = self._module.names
        return any(expects_failure(item.item, names) for item in self._node.items)

    def may_hide_errors(self) -> bool:
        """Return whether the program itself says what becomes of an error in the body."""
        return any(
            isinstance(atom, Instance)
            or (
                isinstance(atom, PlainContext | DefaultDeviceContext)
                and atom.maker is not None
                and self._program.suspensions.may_hide(atom.maker)
            )
            for held in self._contexts
            for atom in held
        )

    def _enter(self, item: cst.WithItem, state: State) -> Value:
        held = self._expressions.evaluate(item.item, state)
        if held == UNKNOWN and isinstance(item.item, cst.Call):
            held = self._entered_elsewhere(item.item, state)
        if held == UNKNOWN and is_neutral_context(self._module, item.item):
            held = value(PlainContext())
        elif held == UNKNOWN and is_called_mesh(item.item):
            is_mesh = self._module.is_given_as_mesh(item.item)
            held = value(PlainContext(meshes=ANY_MESH_BY_WITH if is_mesh else ANY_CHANGE))
        objects = self._expressions.calls.objects
        held = objects.contexts(held)
        given = objects.entered_value(held, state)
        entered = entered_default(held)
        if entered is not None:
            module_of = self._program.module_of
            entered = with_choice(entered, held, self._module, item.item, module_of)
            state.blocks = (*state.blocks, entered)
        if changes_meshes(held):
            self._program.reach.asks_meshes()
            state.meshes = entered_meshes(held, state.meshes)
        if item.asname is not None:
            self._expressions.targets.assign(item.asname.name, given, state)
        return held

    def _entered_elsewhere(self, call: cst.Call, state: State) -> Value:
        """Return the context that a function or class of another file makes, which is read now."""
        held = self._expressions.evaluate(call.func, state)
        if not held or not all(isinstance(atom, External) for atom in held):
            return UNKNOWN
        self._expressions.calls.objects.read(call.func, held, state)
        return self._expressions.evaluate(call, state)

    def _blocks_after(self, now: tuple[DefaultDevice, ...]) -> tuple[DefaultDevice, ...]:
        """Return the blocks around the next statement, from those around the end of the body.

        Leaving a default device restores the one before, whatever was entered since. Leaving
        anything else ends only what was entered through it.
        """
        if self._blocks_inside != self._blocks_outside:
            return self._blocks_outside
        for position, block in enumerate(now):
            if block.owners & self._stacks:
                return now[:position]
        return now


def _is_made_here(node: cst.BaseExpression) -> bool:
    """Return whether a context is made where it is entered: `set_mesh(mesh) if mesh else …`."""
    if isinstance(node, cst.IfExp):
        return _is_made_here(node.body) and _is_made_here(node.orelse)
    return isinstance(node, cst.Call)
