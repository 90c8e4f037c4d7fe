"""Code that runs on some versions of JAX only, or whose author knows that it is deprecated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.enclosing import catches, is_asserted_to_fail, is_caught, passed_exits
from placement_lint.syntax.definitions import function_of
from placement_lint.syntax.import_statements import MISSING_MODULE
from placement_lint.syntax.tree import children

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.definitions import Function
    from placement_lint.syntax.names import Binding

_CAUGHT = MISSING_MODULE | {
    "builtins.AttributeError", "builtins.BaseException", "builtins.NotImplementedError",
    "builtins.TypeError",
}  # fmt: skip
_WORDS = (
    "version", "hasattr", "getattr", "jax_v", "has_", "at_least", "supports_", "new_jax", "old_jax",
    "legacy_jax", "jax_ge", "jax_gt", "jax_le", "jax_lt", "new_shard_map",
)  # fmt: skip
_IN_FUNCTIONS = ("version", "hasattr")
"""The words that say so in the body of a function that a condition calls."""
_ASKING = frozenset({"builtins.dir", "importlib.util.find_spec", "inspect.signature"})
_MAX_NAMES = 16
"""How many names of one condition are followed."""


def is_guarded(node: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether code runs only where an old part of JAX is there, or expects that it is not.

    In a `try` whose failure is caught, or in the handler of one; in a branch of a test of the
    version or of an attribute, or behind one that leaves; where a failure is expected; and what
    only a type checker reads.
    """
    if ctx.module.path.endswith(".pyi"):
        return True
    if is_caught(node, ctx, _CAUGHT) or is_asserted_to_fail(node, ctx):
        return True
    child = node
    for ancestor in ctx.ancestors(node):
        if isinstance(ancestor, cst.ExceptHandler) and child is ancestor.body:
            if catches(ancestor, ctx, _CAUGHT):
                return True
        elif isinstance(ancestor, cst.If | cst.IfExp) and child is not ancestor.test:
            if asks_for_version(ancestor.test, ctx):
                return True
        elif isinstance(ancestor, cst.Match) and child is not ancestor.subject:
            if asks_for_version(ancestor.subject, ctx):
                return True
        elif isinstance(ancestor, cst.BooleanOperation) and child is ancestor.right:
            if asks_for_version(ancestor.left, ctx):
                return True
        elif isinstance(ancestor, cst.FunctionDef | cst.ClassDef) and any(
            asks_for_version(each.decorator, ctx)
            for each in ancestor.decorators
            # A decorator does not guard itself.
            if each is not child
        ):
            return True
        child = ancestor
    if any(asks_for_version(each.test, ctx) for each in passed_exits(node, ctx)):
        return True
    return ctx.is_type_checking_only(node)


def asks_for_version(test: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether a condition asks for the version of JAX, or for what only some versions have.

    By its words, by those of what its names are bound to in the file, or by being bound where a
    missing module or attribute is caught.
    """
    pending, names = [test], 0
    while pending:
        node = pending.pop()
        if _has_word(node, _WORDS) or ctx.called(node) in _ASKING:
            return True
        if isinstance(node, cst.Call):
            function = function_of(node.func, ctx.names)
            if function is not None and _is_about_versions(function, ctx):
                return True
        if isinstance(node, cst.Name) and names < _MAX_NAMES:
            names += 1
            bindings = ctx.names.bindings(node)
            if len(bindings) == 1 and bindings[0].value is not None:
                pending.append(bindings[0].value)
            elif not any(map(_is_package, bindings)) and any(
                _is_bound_by_failure(_statement(each.node, ctx), ctx) for each in bindings
            ):
                return True
        if isinstance(node, cst.Attribute) and names < _MAX_NAMES:
            names += 1
            pending += _attribute_values(node, ctx)
        pending += children(node)
    return False


def _is_about_versions(function: Function, ctx: FileView) -> bool:
    """Return whether the body of a function has a word that asks for the version."""
    known = ctx.module.fact(_functions)
    if id(function) not in known:
        known[id(function)] = any(
            _has_word(part, _IN_FUNCTIONS)
            for part in ctx.tree.every(cst.Name, cst.Attribute, below=function)
        )
    return known[id(function)]


def _functions(_facts: ModuleFacts) -> dict[int, bool]:
    """Make the store of one file: which of its functions are about versions."""
    return {}


def _is_package(binding: Binding) -> bool:
    """Return whether a name is bound to a whole package: that it is missing is no older version."""
    return binding.target is not None and "." not in binding.target


def _attribute_values(node: cst.Attribute, ctx: FileView) -> list[cst.BaseExpression]:
    """Return what is assigned to an attribute of an object of its own, or in the class."""
    if not isinstance(node.value, cst.Name) or node.value.value not in {"cls", "self"}:
        return []
    stored = ctx.module.stored
    name = node.attr.value
    found = [*stored.get(name, ()), *stored.get(f"self.{name}", ())][:_MAX_NAMES]
    statements = (
        ctx.parent(around) if isinstance(around, cst.AssignTarget) else around
        for around in map(ctx.parent, found)
    )
    return [
        each.value
        for each in statements
        if isinstance(each, cst.Assign | cst.AnnAssign) and each.value is not None
    ]


def deprecation_is_known(node: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether the warnings of code are ignored or recorded: by a block or a decorator."""
    if any(_handles_warnings(item.item) for item in ctx.with_items(node)):
        return True
    return any(
        _handles_warnings(each.decorator)
        for ancestor in ctx.ancestors(node)
        if isinstance(ancestor, cst.FunctionDef | cst.ClassDef)
        for each in ancestor.decorators
    )


def _handles_warnings(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Call) and _has_word(node.func, ("warning",))


def _has_word(node: cst.CSTNode, words: Sequence[str]) -> bool:
    text = (
        node.value
        if isinstance(node, cst.Name)
        else node.attr.value
        if isinstance(node, cst.Attribute)
        else ""
    ).lower()
    return any(word in text for word in words)


def _statement(node: cst.CSTNode, ctx: FileView) -> cst.CSTNode:
    """Return a node, or the statement of the imported name that it is, which trees leave out."""
    return node if ctx.tree.contains(node) else ctx.module.import_statement(node)


def _is_bound_by_failure(node: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether a name is bound where it is caught that something is missing."""
    child = node
    for ancestor in ctx.ancestors(node):
        if isinstance(ancestor, cst.ExceptHandler) and child is ancestor.body:
            return catches(ancestor, ctx, _CAUGHT)
        if isinstance(ancestor, cst.FunctionDef | cst.ClassDef):
            return False
        child = ancestor
    return False
