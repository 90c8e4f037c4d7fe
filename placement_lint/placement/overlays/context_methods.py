"""Methods by which contexts are entered and left without a `with` statement."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.library_values import (
    ExitStack,
)
from placement_lint.placement.domain.mesh_contexts import ANY_MESHES
from placement_lint.placement.domain.values import (
    NONE,
    PLAIN,
    UNKNOWN,
    PlainContext,
    Value,
    value,
)
from placement_lint.placement.engine.contexts import (
    changes_meshes,
    entered_by_hand,
    entered_default,
    entered_meshes,
    entered_under_condition,
    is_neutral_context,
)

if TYPE_CHECKING:
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.engine.arguments import Operand
    from placement_lint.placement.engine.protocols import Evaluator

ENTERING = frozenset({"enter_context", "enter_async_context"})
"""Methods of an `ExitStack` that enter what they are given."""
BY_HAND = frozenset({"__enter__", "__exit__"})


class ContextMethods:
    """Evaluates methods of stacks of contexts, and of contexts themselves."""

    def __init__(self, expressions: Evaluator) -> None:
        self.on = expressions

    def of_exit_stack(
        self, node: cst.Call, stack: ExitStack, name: str, operands: list[Operand], state: State
    ) -> Value:
        site = self.on.module.place(node) if stack.site is None else stack.site
        owners = frozenset({site})
        if name in ENTERING and operands:
            given = operands[0][1]
            if given == UNKNOWN and is_neutral_context(self.on.module, node.args[0].value):
                given = value(PlainContext())
            given = self.on.calls.objects.contexts(given)
            self.on.program.suspensions.stack(site, given)
            entered = entered_default(given)
            # It stays until the stack is left, wherever that is.
            self._enter_meshes(given, state)
            outside = len(state.blocks)
            gives = self.on.calls.objects.entered_value(given, state)
            if entered is not None:
                entered = entered_under_condition(entered, self.on.module, node)
                state.blocks = (*state.blocks, entered)
            state.blocks = (
                *state.blocks[:outside],
                *(replace(block, owners=owners) for block in state.blocks[outside:]),
            )
            return gives
        if name in {"close", "aclose"}:
            state.release(owners)
            return PLAIN
        if name in {"__exit__", "__aexit__"}:
            # Hardly any of what is entered through a stack hides errors.
            state.release(owners)
            return NONE
        if name in {"__enter__", "__aenter__"}:
            return value(stack)
        if name == "pop_all":
            # What it holds stays entered, until the new stack is left.
            taken = self.on.module.place(node)
            state.blocks = tuple(
                replace(block, owners=frozenset({taken})) if block.owners == owners else block
                for block in state.blocks
            )
            return value(ExitStack(taken))
        return UNKNOWN

    def by_hand(self, receiver: cst.BaseExpression, held: Value, name: str, state: State) -> Value:
        """`context.__enter__()` and `context.__exit__(…)`."""
        self._enter_meshes(held, state)
        if all(isinstance(atom, PlainContext) for atom in held):
            return PLAIN
        owners = entered_by_hand(held)
        if not owners or (name == "__enter__" and isinstance(receiver, cst.Call)):
            # Entered and dropped: from JAX 0.5.3 on it stays in force, before it did not.
            state.forget_default()
        elif name == "__enter__":
            entered = entered_default(held)
            if entered is not None:
                state.blocks = (*state.blocks, replace(entered, owners=owners))
        elif not state.release(owners):
            state.forget_default()
        return PLAIN

    def _enter_meshes(self, held: Value, state: State) -> None:
        """Enter the meshes of a context, or leave them: which are in force is not known then."""
        if changes_meshes(held):
            self.on.program.reach.asks_meshes()
            if entered_meshes(held, state.meshes) != state.meshes:
                state.meshes = ANY_MESHES
