"""Code that runs on some versions of JAX only, or whose author knows that it is deprecated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.known_packages import LIBRARY_PREFIXES
from placement_lint.jaxmodel.removed import OLD_APIS
from placement_lint.semantic.beside import definition_beside
from placement_lint.semantic.called_from import is_so_at_calls, passed_here
from placement_lint.semantic.enclosing import (
    catches,
    is_asserted_to_fail,
    is_caught,
    passed_asserts,
    passed_exits,
)
from placement_lint.semantic.object_classes import class_of_object
from placement_lint.syntax.calls import string_value
from placement_lint.syntax.definitions import class_named, function_of, parameter_named
from placement_lint.syntax.import_statements import MISSING_MODULE
from placement_lint.syntax.tree import children

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
_KNOWN = (*LIBRARY_PREFIXES, "os.")
"""Of calls, whose result is not the version of JAX unless a word says so."""
_OF_JAX = frozenset(
    part
    for api in OLD_APIS
    for name in (api.name, api.replacement or "")
    for part in name.split(".")
)
"""Names of parts that came or went, and of the modules that they are in."""
_MAX_NAMES = 16
"""How many names of one condition are followed."""


def is_guarded(node: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether code runs only where an old part of JAX is there, or expects that it is not.

    In a `try` whose failure is caught, or in the handler of one; in a branch of a test of the
    version or of an attribute, or behind one that leaves; where a failure is expected; and what
    only a type checker reads. Also in a function that is called only in such branches.
    """
    if ctx.module.path.endswith(".pyi"):
        return True
    if is_caught(node, ctx, _CAUGHT) or is_asserted_to_fail(node, ctx):
        return True
    return _is_on_condition(node, ctx) or ctx.is_type_checking_only(node)


def _is_on_condition(node: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether a node runs in some versions only, or where some part of JAX is there."""
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
    before = [each.test for each in passed_exits(node, ctx)]
    before += [each.test for each in passed_asserts(node, ctx)]
    if any(asks_for_version(test, ctx) for test in before):
        return True
    return is_so_at_calls(node, ctx, "version", lambda call: _is_on_condition(call, ctx))


def asks_for_version(test: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether a condition asks for the version of JAX, or for what only some versions have.

    By its words, by those of what its names are bound to in the file, or by being bound where a
    missing module or attribute is caught.
    """
    pending, names = [test], 0
    while pending:
        node = pending.pop()
        if ctx.called(node) in _ASKING:
            return True
        if isinstance(node, cst.Call) and _asks_another_object(node, ctx):
            pending += [each.value for each in node.args[2:]]
            continue
        if _has_word(node, _WORDS) and not (isinstance(node, cst.Name) and _is_decided(node, ctx)):
            return True
        if isinstance(node, cst.Call):
            function = function_of(node.func, ctx.names)
            if function is not None and _is_about_versions(function, ctx):
                return True
        if isinstance(node, cst.Name) and names < _MAX_NAMES:
            names += 1
            bindings = ctx.names.bindings(node)
            parameter = parameter_named(node, ctx.names)
            if len(bindings) == 1 and bindings[0].value is not None:
                pending.append(bindings[0].value)
            elif parameter is not None:
                given = passed_here(parameter, ctx)
                pending += given if len(given) == 1 else ()
            elif any(
                _says_version(each, ctx) or _looks_in_jax(each.value, ctx) for each in bindings
            ) or (
                not any(map(_is_package, bindings))
                and any(_is_bound_by_failure(_statement(b.node, ctx), ctx) for b in bindings)
            ):
                return True
        if isinstance(node, cst.Attribute) and names < _MAX_NAMES:
            names += 1
            target = ctx.name(node)
            if target is not None and ctx.module.run.is_about_version(ctx.module.path, target):
                return True
            pending += _attribute_values(node, ctx)
        pending += children(node)
    return False


def exports_version(name: str, view: FileView) -> bool | None:
    """Return whether what a file binds to a name is worked out of the version; None: not known."""
    bindings = _bindings_of(name, view)
    found: list[bool | None] = []
    for binding in bindings:
        if _is_bound_by_failure(_statement(binding.node, view), view):
            return True
        if isinstance(binding.node, cst.FunctionDef):
            found.append(_is_about_versions(binding.node, view) or None)
        elif binding.value is None:
            found.append(None)
        else:
            is_known = not any(_is_unknown_call(each, view) for each in _below(binding.value))
            found.append(asks_for_version(binding.value, view) or (False if is_known else None))
    if True in found:
        return True
    return None if None in found or not found else False


def _bindings_of(name: str, view: FileView) -> list[Binding]:
    """Return what binds a name at the top of a file, or in a class there: `Features.use_mesh`."""
    scope = view.names.module_scope
    *classes, last = name.split(".")
    for each in classes:
        only = scope.sole_binding(each)
        if only is None or not isinstance(only.node, cst.ClassDef):
            return []
        scope = view.names.scope(only.node.body)
    return scope.bindings.get(last, [])


def _is_decided(node: cst.Name, ctx: FileView) -> bool:
    """Return whether what a name is bound to says whether it is about versions, and not its words.

    That is an expression of this file, or what another file of the run exports.
    """
    only = ctx.names.sole_binding(node)
    if only is None:
        return False
    value, target = only.value, only.target
    if value is not None:
        return not any(_is_unknown_call(each, ctx) for each in _below(value))
    if target is None:
        return False
    # What is about versions is found by its words, or is asked for below.
    return ctx.module.run.is_about_version(ctx.module.path, target) is False


def _says_version(binding: Binding, ctx: FileView) -> bool:
    """Return whether what a name is imported from another file for is about versions."""
    target = binding.target
    return target is not None and bool(ctx.module.run.is_about_version(ctx.module.path, target))


def _below(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    pending = [node]
    while pending:
        each = pending.pop()
        yield each
        pending += children(each)


def _is_unknown_call(node: cst.CSTNode, ctx: FileView) -> bool:
    if not isinstance(node, cst.Call):
        return False
    return not (ctx.called(node) or "").startswith(_KNOWN)


def _asks_another_object(node: cst.Call, ctx: FileView) -> bool:
    """Return whether a call asks something for an attribute that has nothing to do with JAX.

    `getattr(config, "dtype", None)`, also of a variable that holds what another module has, as in
    `config = settings.config`.
    """
    if ctx.called(node) not in {"builtins.getattr", "builtins.hasattr"} or len(node.args) < 2:
        return False
    asked = node.args[0].value
    name = string_value(node.args[1].value)
    if name is None or name in _OF_JAX:
        return False
    qualified = ctx.name(asked)
    return qualified is None or (
        "." in qualified
        and not qualified.startswith("jax")
        and bool(bindings := ctx.names.bindings(asked) if isinstance(asked, cst.Name) else ())
        and all(isinstance(each.value, cst.Attribute) for each in bindings)
    )


def _looks_in_jax(value: cst.BaseExpression | None, ctx: FileView) -> bool:
    """Return whether a name is bound to what `getattr(jax, "shard_map", None)` finds."""
    if not isinstance(value, cst.Call) or ctx.called(value) != "builtins.getattr":
        return False
    return not _asks_another_object(value, ctx)


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
    """Return what is assigned to an attribute of an object of its own, or of a class, or in it.

    And of an object by the name that it has here, or in the class that makes it.
    """
    owner = node.value
    if not isinstance(owner, cst.Name):
        return []
    is_own = owner.value in {"cls", "self"} or class_named(owner, ctx.names) is not None
    if not is_own and class_named(class_of_object(owner, ctx), ctx.names) is None:
        return []
    stored = ctx.module.stored
    name = node.attr.value
    named = (name, f"self.{name}", f"{owner.value}.{name}")
    found = [each for key in named for each in stored.get(key, ())][:_MAX_NAMES]
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
    """Return whether the warnings of code are ignored or recorded: by a block or a decorator.

    By what is around the code, the functions that it is in, or all calls of its function.
    """
    around: cst.CSTNode | None = node
    while around is not None:
        if any(
            _handles_warnings(item.item) or _is_quiet(item.item, ctx)
            for item in ctx.with_items(around)
        ):
            return True
        around = ctx.function(around)
    return any(
        _handles_warnings(each.decorator)
        for ancestor in ctx.ancestors(node)
        if isinstance(ancestor, cst.FunctionDef | cst.ClassDef)
        for each in ancestor.decorators
    ) or is_so_at_calls(node, ctx, "warned", lambda call: deprecation_is_known(call, ctx))


def _is_quiet(context: cst.BaseExpression, ctx: FileView) -> bool:
    """Return whether a context manager of the program yields where warnings are handled."""
    function = context.func if isinstance(context, cst.Call) else None
    made: cst.CSTNode | None = None if function is None else function_of(function, ctx.names)
    name, tree = None if function is None else ctx.name(function), ctx.tree
    if made is None and name is not None:
        found = definition_beside(ctx.module, name)
        made, tree = (None, tree) if found is None else (found[0], found[1].tree)
    return isinstance(made, cst.FunctionDef) and any(
        _handles_warnings(item.item)
        for block in tree.every(cst.With, below=made.body)
        if next(tree.every(cst.Yield, below=block), None) is not None
        for item in block.items
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
