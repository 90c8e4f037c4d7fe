"""Where a file binds a configuration context to something else, and what belongs together."""

from __future__ import annotations

import bisect
import enum
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.config_states import CONFIG_CONTEXTS, ConfigContext
from placement_lint.syntax.calls import is_none, string_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.names import Binding, Scope

_LAST_NAMES = frozenset(name.rpartition(".")[2] for name in CONFIG_CONTEXTS)
_REPLACERS = ("unittest.mock.", "mock.", "pytest.", "functools.partial", "contextlib.")
_MISSING = frozenset({
    "builtins.AttributeError", "builtins.ImportError", "builtins.ModuleNotFoundError",
})  # fmt: skip
_MAKING_WORKERS = ("asyncio.to_thread", "concurrent.futures.", "multiprocessing.", "threading.")
_STARTING = frozenset({"run_in_executor", "start", "submit"})
"""Methods by which threads and processes are started."""


class AssignmentRole(enum.Enum):
    """What an assignment is meant to do."""

    SET = enum.auto()
    RESET = enum.auto()
    """It assigns None."""
    RESTORE = enum.auto()
    """It assigns what was saved from the same attribute before."""


@dataclass(eq=False)
class Assignment:
    """One place at which a configuration context is bound to something else."""

    target: cst.CSTNode
    context: ConfigContext
    role: AssignmentRole
    statement: cst.Assign | None
    """The whole statement, where it is `target = value` and nothing more."""
    value: cst.BaseExpression | None
    is_deliberate: bool
    """A stand-in for the context, or a fallback for a JAX without it: not meant to set anything."""
    reset: Assignment | None = None
    """For a set: what ends it, further down in the same block or in the `finally` of a `try`."""
    guard: cst.Try | None = None
    """For a set with its reset in a `finally`: the whole `try`."""
    leftover: cst.Assign | None = None
    """For a set: where a local variable is bound of which nothing but its reset makes use."""
    saved: cst.Assign | None = None
    """For a restore: the only place at which what it gives back was saved."""
    together: list[Assignment] = field(default_factory=list)
    """For a set: what has to become an update if it, or something beside it, does."""


class ContextAssignments:
    """Every such place of one file."""

    def __init__(self, facts: ModuleFacts) -> None:
        self._facts = facts
        self._tree = facts.tree
        self._names = facts.names
        self._imports: dict[tuple[int, str], list[Binding]] = {}
        self.saved_attributes: set[tuple[str, str]] = set()
        found = list(self._find())
        self._by_target = {id(assignment.target): assignment for assignment in found}
        self._by_context: dict[str, list[Assignment]] = {}
        for assignment in found:
            self._by_context.setdefault(assignment.context.name, []).append(assignment)
        self._set_contexts = {
            each.context.name for each in found if each.role is AssignmentRole.SET
        }
        for group in self._by_context.values():
            self._pair([each for each in group if not each.is_deliberate])

    def at(self, target: cst.CSTNode) -> Assignment | None:
        return self._by_target.get(id(target))

    def is_reported(self, assignment: Assignment) -> bool:
        """Return whether an assignment is a finding of its own: a reset belongs to its set."""
        if assignment.is_deliberate or assignment.role is AssignmentRole.RESTORE:
            return False
        if assignment.role is AssignmentRole.SET:
            return True
        return assignment.context.name not in self._set_contexts

    def is_read(self, context: ConfigContext) -> bool:
        """Return whether code uses what was assigned: as a device, say. Then it is a variable.

        To call the context, or to save it so as to give it back, is another use.
        """
        return context.name in self._read_contexts

    @cached_property
    def _read_contexts(self) -> frozenset[str]:
        read: set[str] = set()
        for node in self._tree.every(cst.Attribute):
            if node.attr.value not in _LAST_NAMES:
                continue
            name = self._names.qualified(node)
            parent = self._tree.parent(node)
            is_called = isinstance(parent, cst.Call) and parent.func is node
            is_saved = isinstance(parent, cst.Assign) and all(
                isinstance(target.target, cst.Name | cst.Attribute) for target in parent.targets
            )
            is_use = not is_called and not is_saved and id(node) not in self._by_target
            if name in CONFIG_CONTEXTS and is_use:
                read.add(name)
        return frozenset(read)

    # -- finding ----------------------------------------------------------------------------

    def _find(self) -> Iterator[Assignment]:
        binders = (
            cst.AnnAssign, cst.Assign, cst.AugAssign, cst.Call, cst.CompFor, cst.Del, cst.For,
            cst.NamedExpr, cst.WithItem,
        )  # fmt: skip
        places = [
            (node, target, context)
            for node in self._tree.every(*binders)
            for target in bound_targets(node)
            if (context := self.context_of(target)) is not None
        ]
        self._note_saved_attributes()
        for node, target, context in places:
            yield self._assignment(node, target, context)

    def context_of(self, target: cst.CSTNode) -> ConfigContext | None:
        """Return the configuration context that assigning to a target would hide or destroy."""
        if isinstance(target, cst.Attribute):
            if target.attr.value in _LAST_NAMES:
                return CONFIG_CONTEXTS.get(self._names.qualified(target) or "")
            return None
        if isinstance(target, cst.Name):
            return self._imported(target)
        if isinstance(target, cst.Call):
            return self._set_by_name(target)
        return None

    def _imported(self, target: cst.Name) -> ConfigContext | None:
        """Return the context that an import surely brought before, in the scope of a name."""
        if target.value not in self._facts.fact(imported_contexts):
            return None
        owner = self._names.owner(target.value, self._names.scope(target))
        for binding in self._context_imports(owner, target.value):
            statement = self._facts.import_statement(binding.node)
            if self._runs_before(statement, target):
                return CONFIG_CONTEXTS.get(binding.target or "")
        return None

    def _context_imports(self, owner: Scope | None, name: str) -> list[Binding]:
        """Return the bindings of a variable that import a context; each variable is
        searched once.
        """
        key = (id(owner), name)
        if key not in self._imports:
            bindings = [] if owner is None else owner.bindings[name]
            self._imports[key] = [each for each in bindings if each.target in CONFIG_CONTEXTS]
        return self._imports[key]

    def _runs_before(self, statement: cst.CSTNode, node: cst.CSTNode) -> bool:
        """Return whether a statement is above a node, in a block that holds them both.

        A `try` counts as the block around it: where its body fails, code below has no such name.
        """
        if self._tree.index(statement) >= self._tree.index(node):
            return False
        for block in self._tree.ancestors(statement):
            if isinstance(block, cst.IndentedBlock | cst.Module):
                if self._tree.is_inside(node, block):
                    return True
                owner = self._tree.parent(block)
                if not isinstance(owner, cst.Try) or owner.body is not block:
                    return False
            elif isinstance(block, cst.Try) and self._tree.is_inside(node, block):
                return False
        return False

    def _set_by_name(self, call: cst.Call) -> ConfigContext | None:
        arguments = call.args
        if len(arguments) < 2 or any(each.star or each.keyword for each in arguments):
            return None
        attribute = string_value(arguments[1].value)
        if attribute not in _LAST_NAMES:
            return None
        if self._names.qualified(call.func) not in {"builtins.setattr", "builtins.delattr"}:
            return None
        return CONFIG_CONTEXTS.get(f"{self._names.qualified(arguments[0].value)}.{attribute}")

    def _note_saved_attributes(self) -> None:
        """Find `self.old = jax.default_device`: assigning `self.old` back is a restore."""
        for node in self._tree.every(cst.Assign):
            name = self._names.qualified(node.value)
            if name in CONFIG_CONTEXTS:
                self.saved_attributes.update(
                    (target.target.attr.value, name)
                    for target in node.targets
                    if isinstance(target.target, cst.Attribute)
                )

    def _assignment(
        self, node: cst.CSTNode, target: cst.CSTNode, context: ConfigContext
    ) -> Assignment:
        value: cst.BaseExpression | None = None
        statement = None
        if isinstance(node, cst.Assign) and len(node.targets) == 1:
            if node.targets[0].target is target:
                statement, value = node, node.value
        elif isinstance(node, cst.AnnAssign):
            value = node.value
        elif isinstance(node, cst.Call) and len(node.args) == 3:
            value = node.args[2].value
        role = AssignmentRole.SET
        if is_none(value):
            role = AssignmentRole.RESET
        elif value is not None and self._is_saved(value, context):
            role = AssignmentRole.RESTORE
        deliberate = self._is_stand_in(value) or self._is_fallback(node, context)
        saved = self._save_of(value) if role is AssignmentRole.RESTORE else None
        return Assignment(target, context, role, statement, value, deliberate, saved=saved)

    def _is_saved(self, value: cst.BaseExpression, context: ConfigContext) -> bool:
        if self._names.qualified(value) == context.name:
            return True
        return (
            isinstance(value, cst.Attribute)
            and (value.attr.value, context.name) in self.saved_attributes
        )

    def _save_of(self, value: cst.BaseExpression | None) -> cst.Assign | None:
        """Return the one assignment that a name's value comes from."""
        bindings = self._names.bindings(value) if isinstance(value, cst.Name) else []
        nodes = [binding.node for binding in bindings]
        return nodes[0] if len(nodes) == 1 and isinstance(nodes[0], cst.Assign) else None

    # -- what is meant to replace the context -------------------------------------------------

    def _is_stand_in(self, value: cst.BaseExpression | None) -> bool:
        """Return whether a value is another context manager: a function, a class, a mock."""
        if value is None:
            return False
        if isinstance(value, cst.Lambda):
            return True
        named = value.func if isinstance(value, cst.Call) else value
        name = self._names.qualified(named)
        if name is not None and name.startswith(_REPLACERS):
            return True
        if not isinstance(named, cst.Name):
            return False
        bindings = self._names.bindings(named)
        if isinstance(value, cst.Call):
            return any(
                isinstance(binding.node, cst.ClassDef) and _is_callable(binding.node)
                for binding in bindings
            )
        return any(
            isinstance(binding.node, cst.FunctionDef | cst.ClassDef)
            or isinstance(binding.value, cst.Lambda)
            for binding in bindings
        )

    def _is_fallback(self, node: cst.CSTNode, context: ConfigContext) -> bool:
        """Return whether a place is reached only where this JAX lacks the context."""
        child = node
        for ancestor in self._tree.ancestors(node):
            if isinstance(ancestor, cst.ExceptHandler) and ancestor.type is not None:
                is_reached_without = self._names.qualified(ancestor.type) in _MISSING
            elif isinstance(ancestor, cst.If) and child is not ancestor.test:
                is_reached_without = self._asks_for(ancestor.test, context)
            else:
                is_reached_without = False
            if is_reached_without:
                return True
            child = ancestor
        return False

    def _asks_for(self, test: cst.BaseExpression, context: ConfigContext) -> bool:
        attribute = context.name.rpartition(".")[2]
        for node in (test, *self._tree.descendants(test)):
            if isinstance(node, cst.Call) and len(node.args) == 2:
                is_asked = self._names.qualified(node.func) == "builtins.hasattr"
                if is_asked and string_value(node.args[1].value) == attribute:
                    return True
            elif isinstance(node, cst.Attribute) and node.attr.value.startswith("__version"):
                return True
        return False

    # -- what belongs together ------------------------------------------------------------------

    def _pair(self, group: list[Assignment]) -> None:
        """Find what ends each set: within one function they are taken to run in this order."""
        open_sets: dict[int, list[Assignment]] = {}
        strays: list[Assignment] = []
        for each in group:
            stack = self._stack(each, open_sets)
            if each.role is AssignmentRole.SET:
                stack.append(each)
            elif stack and self._ends(each, stack) and self._close(stack[-1], each):
                stack.pop()
            else:
                # From here on nobody knows what is in force.
                stack.append(each)
                strays.append(each)
        self._gather(group, strays)

    def _stack(
        self, assignment: Assignment, open_sets: dict[int, list[Assignment]]
    ) -> list[Assignment]:
        """Return what is in force in a function at an assignment, the last one at the end.

        A function that is defined where something is in force begins with that.
        """
        function, *around = [*self._functions(assignment), None]
        if id(function) not in open_sets:
            outer = [open_sets[id(each)][-1] for each in around if open_sets.get(id(each))]
            open_sets[id(function)] = outer[:1]
        return open_sets[id(function)]

    def _functions(self, assignment: Assignment) -> Iterator[cst.CSTNode]:
        for ancestor in self._tree.ancestors(assignment.target):
            if isinstance(ancestor, cst.FunctionDef | cst.Lambda):
                yield ancestor

    def _gather(self, group: list[Assignment], strays: list[Assignment]) -> None:
        """Separate what becomes a block from what becomes an update, which has no effect in a
        block.

        Updates go together: were one of them made before another, the rest would be read again.
        """
        loose = [
            each for each in group if each.role is AssignmentRole.SET and each.reset is None
        ] + strays
        blocks = [each for each in group if each.reset is not None]
        holding = self._holding(blocks, loose)
        while holding:
            for each in holding:
                loose += [each] if each.reset is None else [each, each.reset]
                each.reset = each.guard = each.leftover = None
            blocks = [each for each in blocks if each.reset is not None]
            holding = self._holding(blocks, loose)
        loose.sort(key=lambda each: self._tree.index(each.target))
        updates = [each for each in loose if each.statement is not None]
        is_alone = not any(each.role is not AssignmentRole.SET for each in updates)
        for each in group:
            if each.role is AssignmentRole.SET:
                is_block = each.reset is not None
                each.together = updates if not is_alone else [] if is_block else [each]
                if is_block and any(other.role is AssignmentRole.SET for other in updates):
                    each.together = []

    def _holding(self, blocks: list[Assignment], loose: list[Assignment]) -> list[Assignment]:
        """Return the blocks in which something is that becomes an update."""
        places = sorted(self._tree.index(each.target) for each in loose)
        found: list[Assignment] = []
        for block in blocks:
            next_one = bisect.bisect(places, self._tree.index(block.target))
            end = 0 if block.reset is None else self._tree.index(block.reset.target)
            if next_one < len(places) and places[next_one] < end:
                found.append(block)
        return found

    def _ends(self, last: Assignment, stack: list[Assignment]) -> bool:
        """Return whether an assignment brings back what was in force before the last set."""
        if len(stack) == 1 or stack[-1].role is not AssignmentRole.SET:
            return stack[-1].role is AssignmentRole.SET
        # None would end the outer one too; what was saved in between does not.
        if last.saved is None:
            return False
        outer, inner = (self._tree.index(each.target) for each in stack[-2:])
        return outer < self._tree.index(last.saved) < inner

    def _close(self, first: Assignment, last: Assignment) -> bool:
        """Note what ends a set, if the statements in between can become the body of a `with`."""
        if not isinstance(first.target, cst.Attribute) or first.context.parameter is None:
            return False
        top, bottom = self._line(first), self._line(last)
        if top is None or bottom is None:
            return False
        guard = self._guard(top, bottom)
        if guard is None and self._tree.parent(top) is not self._tree.parent(bottom):
            return False
        start, end = self._tree.ends[self._tree.index(top)], self._tree.index(bottom)
        if start >= end or self._suspends(start, end) or self._starts_workers(start, end):
            return False
        first.reset, first.guard = last, guard
        if self._is_for_nothing_else(last.saved, last):
            first.leftover = last.saved
        return True

    def _is_for_nothing_else(self, saved: cst.Assign | None, restore: Assignment) -> bool:
        """Return whether a local variable holds what was saved for this restore alone."""
        line = None if saved is None else self._tree.parent(saved)
        block = None if line is None else self._tree.parent(line)
        if (
            saved is None
            or not isinstance(line, cst.SimpleStatementLine)
            or not isinstance(block, cst.IndentedBlock)
            or len(line.body) > 1
            or len(block.body) < 2
            or len(saved.targets) > 1
        ):
            return False
        scope = self._names.scope(saved)
        target = saved.targets[0].target
        if not isinstance(scope.node, cst.FunctionDef) or not isinstance(target, cst.Name):
            return False
        return all(
            node is target or node is restore.value
            for node in self._names_by_text.get(target.value, ())
            if self._names.owner(node.value, self._names.scope(node)) is scope
        )

    @cached_property
    def _names_by_text(self) -> dict[str, list[cst.Name]]:
        found: dict[str, list[cst.Name]] = {}
        for node in self._tree.every(cst.Name):
            found.setdefault(node.value, []).append(node)
        return found

    def _guard(self, top: cst.CSTNode, bottom: cst.CSTNode) -> cst.Try | None:
        """Return the `try` in whose `finally` the reset is the last thing that is done.

        The set is above it in the same block, or the first thing in its body.
        """
        body = self._tree.parent(bottom)
        final = None if body is None else self._tree.parent(body)
        guard = None if final is None else self._tree.parent(final)
        if (
            not isinstance(body, cst.IndentedBlock)
            or not isinstance(final, cst.Finally)
            or not isinstance(guard, cst.Try)
            or body.body[-1] is not bottom
        ):
            return None
        block = self._tree.parent(top)
        if block is self._tree.parent(guard):
            return guard
        is_plain = not guard.handlers and guard.orelse is None and len(body.body) == 1
        if block is guard.body and guard.body.body[0] is top and is_plain:
            return guard
        return None

    def _line(self, assignment: Assignment) -> cst.CSTNode | None:
        """Return the line of an assignment that is alone on it."""
        statement = assignment.statement
        line = None if statement is None else self._tree.parent(statement)
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            return None
        has_semicolon = isinstance(line.body[0].semicolon, cst.Semicolon)
        return None if has_semicolon else line

    def _suspends(self, start: int, end: int) -> bool:
        """Return whether nodes `start` up to `end` give control away: then a block would leak."""
        return any(
            isinstance(node, cst.Yield | cst.Await)
            or (
                isinstance(node, cst.For | cst.With | cst.CompFor) and node.asynchronous is not None
            )
            for node in self._executed(start, end)
        )

    def _starts_workers(self, start: int, end: int) -> bool:
        """Return whether nodes `start` up to `end` start threads, which a block does not reach."""
        for node in self._executed(start, end):
            if not isinstance(node, cst.Call):
                continue
            function = node.func
            name = self._names.qualified(function)
            if name is None:
                starts = isinstance(function, cst.Attribute) and function.attr.value in _STARTING
            else:
                starts = name.startswith(_MAKING_WORKERS)
            if starts:
                return True
        return False

    def _executed(self, start: int, end: int) -> Iterator[cst.CSTNode]:
        """Yield nodes `start` up to `end`, but for what functions do that are defined there."""
        index = start
        while index < end:
            node = self._tree.nodes[index]
            is_function = isinstance(node, cst.FunctionDef | cst.Lambda)
            if not is_function:
                yield node
            index = self._tree.ends[index] if is_function else index + 1


def imported_contexts(facts: ModuleFacts) -> frozenset[str]:
    """Return the names under which a file imports configuration contexts, in any scope."""
    return frozenset(
        alias.asname.name.value
        if alias.asname is not None and isinstance(alias.asname.name, cst.Name)
        else alias.name.value
        for node in facts.tree.every(cst.ImportFrom)
        if not isinstance(node.names, cst.ImportStar)
        for alias in node.names
        if isinstance(alias.name, cst.Name) and alias.name.value in _LAST_NAMES
    )


def _is_callable(node: cst.ClassDef) -> bool:
    return any(
        isinstance(each, cst.FunctionDef) and each.name.value == "__call__"
        for each in node.body.body
    )


def bound_targets(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield every single target that a node binds or deletes, and a call itself."""
    if isinstance(node, cst.Call):
        yield node
        return
    pending: list[cst.CSTNode] = []
    if isinstance(node, cst.Assign):
        pending += [each.target for each in reversed(node.targets)]
    elif isinstance(node, cst.WithItem):
        pending += [] if node.asname is None else [node.asname.name]
    elif isinstance(node, cst.AnnAssign):
        pending += [] if node.value is None else [node.target]
    elif isinstance(node, cst.AugAssign | cst.CompFor | cst.Del | cst.For | cst.NamedExpr):
        pending.append(node.target)
    while pending:
        target = pending.pop()
        if isinstance(target, cst.Tuple | cst.List):
            pending.extend(reversed(target.elements))
        elif isinstance(target, cst.Element | cst.StarredElement):
            pending.append(target.value)
        else:
            yield target
