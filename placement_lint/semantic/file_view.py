"""What may be asked about the code of one file: names, surroundings, the run, placements."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, cast

import libcst as cst

from placement_lint.semantic.expressed_words import expressed_words
from placement_lint.semantic.replaced_names import is_replaced
from placement_lint.syntax.guards import TYPE_CHECKING_NAMES
from placement_lint.syntax.import_statements import modules_named
from placement_lint.syntax.imports import importable
from placement_lint.syntax.spelling import Spelling

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from placement_lint.jaxmodel.versions import TargetVersions
    from placement_lint.placement.flow import Flow
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.names import Names, Scope
    from placement_lint.syntax.tree import Tree

_FUNCTION_TYPES = frozenset({cst.FunctionDef, cst.Lambda})


class FileView:
    """One file, as it is asked about its names, surroundings and placements."""

    __slots__ = ("module", "names", "tree")

    def __init__(self, module: ModuleFacts) -> None:
        self.module = module
        self.tree: Tree = module.tree
        self.names: Names = module.names

    # -- names ------------------------------------------------------------------------------

    def name(self, node: cst.CSTNode | None) -> str | None:
        """Return the qualified name that a name or attribute chain provably stands for."""
        if node is None:
            return None
        name = self.names.qualified(node)
        # Everything asks this, and few files replace anything.
        if name is None or not self.module.may_replace_names:
            return name
        return None if is_replaced(name, node, self.module) else name

    def called(self, node: cst.CSTNode | None) -> str | None:
        """Return the qualified name of what a call calls; None for anything but a call."""
        return self.name(node.func) if isinstance(node, cst.Call) else None

    def is_call(self, node: cst.CSTNode | None, *names: str) -> bool:
        return isinstance(node, cst.Call) and self.name(node.func) in names

    def spell(self, qualified: str, at: cst.CSTNode) -> str | None:
        """Return a qualified name in the names that the file has at a node.

        None where none of them leads there, so that an import would be needed.
        """
        place = self.tree.index(at)
        scope = self.names.scope(at)
        targets = list(accumulate(qualified.split("."), "{}.{}".format))
        for target in reversed(targets):
            found: list[str] = []
            current: Scope | None = scope
            while current is not None:
                found += [
                    alias
                    for alias in self.names.aliases(current).get(target, ())
                    if self.names.owner(alias, scope) is current
                    and self._is_bound_before(alias, place, scope)
                ]
                current = current.parent
            if found:
                return min(found, key=lambda alias: (len(alias), alias)) + qualified[len(target) :]
        return None

    def reach(self, qualified: str, at: cst.CSTNode) -> Spelling | None:
        """Return how a qualified name is written at a node, by a new import where that is needed.

        None where there is no right place for one, or its name is taken.
        """
        spelled = self.spell(qualified, at)
        if spelled is not None:
            return Spelling(spelled)
        return importable(qualified, at, self.module.path, self.names, self._brings_jax)

    def _brings_jax(self, statement: cst.Import | cst.ImportFrom) -> bool:
        """Return whether what a statement imports from the run has imported JAX."""
        run, path = self.module.run, self.module.path
        effects = (run.importing(path, name) for name in modules_named(statement))
        return any(effect.imports_jax is not None for effect in effects)

    def _is_bound_before(self, alias: str, place: int, scope: Scope) -> bool:
        """Return whether a binding that runs at run time is above a place in the same scope."""
        owner = self.names.owner(alias, scope)
        if owner is None:
            return False
        for binding in owner.bindings[alias]:
            node = binding.node
            if not self.tree.contains(node):
                # An import alias: its statement is what the walk came by.
                node = self.module.import_statement(node)
            if self.is_type_checking_only(node):
                continue
            if owner is not scope or self.tree.index(node) < place:
                return True
        return False

    def is_type_checking_only(self, node: cst.CSTNode) -> bool:
        """Return whether a node is in the body of an `if TYPE_CHECKING:`."""
        child = node
        for ancestor in self.tree.ancestors(node):
            if isinstance(ancestor, cst.If) and child is ancestor.body:
                test = ancestor.test
                if self.name(test) in TYPE_CHECKING_NAMES:
                    return True
            child = ancestor
        return False

    # -- surroundings -----------------------------------------------------------------------

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self.tree.parent(node)

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the parent, its parent, and so on up to the module."""
        return self.tree.ancestors(node)

    def statement(self, node: cst.CSTNode) -> cst.BaseSmallStatement | cst.BaseCompoundStatement:
        """Return the smallest statement around a node: a small one, or a compound one's header."""
        for candidate in (node, *self.tree.ancestors(node)):
            if isinstance(candidate, cst.BaseSmallStatement | cst.BaseCompoundStatement):
                return candidate
        message = "a node outside of every statement"
        raise LookupError(message)

    def statement_line(self, node: cst.CSTNode) -> cst.SimpleStatementLine | None:
        """Return the line of simple statements that a node is in; None for a compound one's header.

        Parts of a line of its own are not looked for inside of lambdas: these are expressions.
        """
        for candidate in (node, *self.tree.ancestors(node)):
            if isinstance(candidate, cst.SimpleStatementLine):
                return candidate
            if isinstance(candidate, cst.BaseCompoundStatement | cst.SimpleStatementSuite):
                return None
        return None

    def function(self, node: cst.CSTNode) -> cst.FunctionDef | cst.Lambda | None:
        """Return the innermost function that a node is evaluated in, None for the module's own
        code.

        A decorator, a default and an annotation are evaluated where the function is defined.
        """
        child, is_outside = node, False
        for ancestor in self.tree.ancestors(node):
            # Most are of other types, of which `isinstance` would ask each time.
            kind = type(ancestor)
            if kind is cst.Param:
                param = cast("cst.Param", ancestor)
                is_outside = child is param.default or child is param.annotation
            elif kind in _FUNCTION_TYPES:
                if not is_outside and not isinstance(child, cst.Decorator | cst.Annotation):
                    return cast("cst.FunctionDef | cst.Lambda", ancestor)
                is_outside = False
            child = ancestor
        return None

    def with_items(self, node: cst.CSTNode) -> Iterator[cst.WithItem]:
        """Yield the items of every `with` whose body a node is in, innermost first.

        For a node in an item itself: the items before it, which are entered by then. The search
        ends at the function that holds the node: its caller's blocks are not seen. A decorator and
        a default are run in the blocks around the function.
        """
        child: cst.CSTNode = node
        holder: cst.CSTNode | None = None
        for ancestor in self.tree.ancestors(node):
            # Most are of other types, of which `isinstance` would ask each time.
            kind = type(ancestor)
            if kind in _FUNCTION_TYPES:
                holder = holder or self.function(node)
                if ancestor is holder:
                    return
            elif kind is cst.With:
                block = cast("cst.With", ancestor)
                if child is block.body:
                    yield from reversed(block.items)
                elif isinstance(child, cst.WithItem):
                    yield from reversed(block.items[: list(block.items).index(child)])
            child = ancestor

    def inside_with(self, node: cst.CSTNode, *names: str) -> bool:
        """Return whether a node is in a `with` of a call of one of these qualified names."""
        return any(self.is_call(item.item, *names) for item in self.with_items(node))

    # -- the run ----------------------------------------------------------------------------

    @property
    def target(self) -> TargetVersions:
        """The versions of JAX that the file is meant for."""
        return self.module.target

    def program_calls(self, function: str) -> bool:
        """Return whether this file, or another one of a program that it is part of, calls it."""
        if self.module.fact(_called_names).get(function) is not None:
            return True
        return self.module.run.calls(self.module.path, function) is not None

    def calls_of(self, function: str) -> list[cst.Call]:
        """Return every call of a function in this file, by its qualified name."""
        return self.module.fact(_called_names).get(function, [])

    # -- placement --------------------------------------------------------------------------

    @property
    def flow(self) -> Flow:
        """Where the arrays of this file live; worked out when the first rule asks."""
        return self.module.array_flow

    def may_say(self, words: AbstractSet[str]) -> bool:
        """Return whether this file, or one that is executed with it, may say one of some words.

        Asked before `flow` is, which executes a file that is a program of its own: what such a
        file says is what its expressions stand for, and what its texts and keywords are.
        """
        return self.module.is_executed or not self.module.fact(expressed_words).isdisjoint(words)


def _called_names(facts: ModuleFacts) -> dict[str, list[cst.Call]]:
    found: dict[str, list[cst.Call]] = {}
    for node in facts.tree.every(cst.Call):
        name = facts.names.qualified(node.func)
        if name is not None:
            found.setdefault(name, []).append(node)
    return found
