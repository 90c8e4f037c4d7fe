"""The names that a loop or a function tests, to decide what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.definitions import class_of_receiver, method_of_class

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.model import ModuleFacts


def names_tested(around: cst.CSTNode, ctx: FileView, *, each_time: bool = False) -> set[str]:
    """Return the names that a loop or a function tests: it waits for those in any case.

    `each_time`: without those that a loop tests only in some iterations, for which it waits then.
    """
    return {each.value for each in names_in_tests(around, ctx, each_time=each_time)}


def names_in_tests(
    around: cst.CSTNode, ctx: FileView, *, each_time: bool = False
) -> list[cst.Name]:
    """Return the names in the tests of a loop or a function, as `names_tested`."""
    return [
        part
        for each in (around, *ctx.tree.descendants(around))
        if isinstance(each, cst.If | cst.IfExp | cst.While | cst.Assert)
        and not (each_time and is_done_sometimes(each, around, ctx))
        for part in (each.test, *ctx.tree.descendants(each.test))
        if isinstance(part, cst.Name) and not _asks_for_structure(part, ctx)
    ]


def is_attribute_tested(target: cst.Attribute, tested: Iterable[cst.Name], ctx: FileView) -> bool:
    """Return whether some names that are tested may look at an attribute of an object: at it, at
    the whole object, or at what a method or a property of it says.
    """
    while isinstance(target.value, cst.Attribute):
        target = target.value
    root, path = target.value, target.attr.value
    if not isinstance(root, cst.Name):
        return True
    cls = class_of_receiver(root, ctx.names)
    for name in tested:
        read = ctx.parent(name)
        if isinstance(read, cst.Attribute) and read.attr is name:
            continue
        if name.value != root.value:
            continue
        if not isinstance(read, cst.Attribute) or read.attr.value == path:
            return True
        call = ctx.parent(read)
        is_called = isinstance(call, cst.Call) and call.func is read
        if is_called or (cls and method_of_class(cls, read.attr.value, ctx.names)):
            return True
    return False


def _varying_names(around: cst.CSTNode, ctx: FileView) -> set[str]:
    """Return the names that a loop binds, as it may for each iteration; a function binds none."""
    if not isinstance(around, cst.For | cst.While):
        return set()
    known = ctx.module.fact(_known_varying)
    if id(around) not in known:
        known[id(around)] = _bound_in(around, ctx)
    return known[id(around)]


def _known_varying(_facts: ModuleFacts) -> dict[int, set[str]]:
    """Make the store of one file: the names that each loop binds."""
    return {}


def _bound_in(around: cst.For | cst.While, ctx: FileView) -> set[str]:
    targets = [around.target] if isinstance(around, cst.For) else []
    targets += [
        each.target
        for each in ctx.tree.every(cst.AssignTarget, cst.AugAssign, cst.AnnAssign, below=around)
    ]
    return {
        part.value
        for target in targets
        for part in (target, *ctx.tree.descendants(target))
        if isinstance(part, cst.Name)
    }


def is_done_sometimes(node: cst.CSTNode, around: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether a node of a loop is below an `if` that differs between the iterations:
    `if step % 100 == 0:`, `if is_last:`.
    """
    varying = _varying_names(around, ctx)
    child = node
    for parent in ctx.ancestors(node) if varying and node is not around else ():
        if parent is around:
            break
        if isinstance(parent, cst.If) and child is parent.body and _is_rare(parent.test):
            tested = (parent.test, *ctx.tree.descendants(parent.test))
            if any(isinstance(each, cst.Name) and each.value in varying for each in tested):
                return True
        child = parent
    return False


def _is_rare(test: cst.BaseExpression) -> bool:
    """Return whether a test may be true in some iterations only, all along.

    Of other comparisons, such as `step > warmup`, all iterations from some on may be.
    """
    return not isinstance(test, cst.Comparison) or all(
        isinstance(each.operator, cst.Equal | cst.Is) for each in test.comparisons
    )


def _asks_for_structure(name: cst.Name, ctx: FileView) -> bool:
    """Return whether a test asks for a key of a dictionary, or for None: no number is needed."""
    parent = ctx.parent(name)
    if isinstance(parent, cst.ComparisonTarget):
        around = ctx.parent(parent)
        return (
            isinstance(parent.operator, cst.In | cst.NotIn)
            and isinstance(around, cst.Comparison)
            and isinstance(around.left, cst.SimpleString)
        )
    return isinstance(parent, cst.Comparison) and all(
        isinstance(each.operator, cst.Is | cst.IsNot) for each in parent.comparisons
    )
