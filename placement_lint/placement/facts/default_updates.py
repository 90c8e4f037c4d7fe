"""Which functions leave another default device behind than they found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.platforms import PLATFORMS, meant_platform
from placement_lint.syntax.calls import Arguments, is_none, string_value

if TYPE_CHECKING:
    from placement_lint.placement.facts.module import Module

_MANAGERS = frozenset({"contextlib.contextmanager"})
_LISTING = frozenset({"jax.devices", "jax.local_devices"})


def updates_in_function(module: Module) -> bool:
    """Return whether a function that nobody in the program calls may leave another default device
    than it found.
    """
    updates: set[cst.CSTNode] = set()
    undone: set[cst.CSTNode] = set()
    for node in module.tree.every(cst.Call):
        if not _is_update(node, module):
            continue
        function = module.tree.around(node, cst.FunctionDef)
        if isinstance(function, cst.FunctionDef) and not _chooses_accelerator(node, module):
            updates.add(node)
            undoing = _undoing(node, function, module)
            undone |= set() if undoing is None else {node, undoing}
    return updates > undone


def _is_update(node: cst.CSTNode, module: Module) -> bool:
    return (
        isinstance(node, cst.Call)
        and module.names.qualified(node.func) == "jax.config.update"
        and string_value(Arguments(node).get(0, "name")) == "jax_default_device"
    )


def _chooses_accelerator(update: cst.Call, module: Module) -> bool:
    """Return whether a default device is set that is one of those that are the default anyway.

    `jax.devices()[2]`, `jax.devices("gpu")[index]`: what is on the host is copied there as well.
    """
    device = Arguments(update).get(1, "val")
    if not isinstance(device, cst.Subscript) or not isinstance(device.value, cst.Call):
        return False
    listing = device.value
    if module.names.qualified(listing.func) not in _LISTING:
        return False
    name = string_value(Arguments(listing).get(0, "backend")) or ""
    return not listing.args or (meant_platform(name) or name) in PLATFORMS - {"cpu"}


def _undoing(update: cst.Call, function: cst.FunctionDef, module: Module) -> cst.Call | None:
    """Return the call that surely sets the default device back which a function sets.

    Where others run meanwhile, in the body of a decorator or of a generator, they see it; what runs
    in a block that the function manages is executed there.
    """
    tree = module.tree
    is_nested = any(isinstance(each, cst.FunctionDef) for each in tree.ancestors(function))
    if is_nested or function.asynchronous is not None:
        return None
    if function.name.value == "__enter__":
        return _set_back_by_exit(function, module)
    decorators = {module.names.qualified(each.decorator) for each in function.decorators}
    if decorators.isdisjoint(_MANAGERS) and any(tree.every(cst.Yield, below=function)):
        return None
    inside: cst.CSTNode = update
    for around in tree.ancestors(update):
        found = None
        if isinstance(around, cst.BaseSuite):
            found = _set_back_behind(inside, around, module)
        elif isinstance(around, cst.Try | cst.TryStar) and inside is around.body:
            found = _set_back_at_end(around, module)
        if found is not None or around is function:
            return found
        inside = around
    return None


def _set_back_by_exit(enter: cst.FunctionDef, module: Module) -> cst.Call | None:
    """Return what sets the default device back at the end of the blocks of a class."""
    cls = module.tree.around(enter, cst.ClassDef)
    methods = () if cls is None else cls.body.body
    leave = next(
        (each for each in methods if isinstance(each, cst.FunctionDef) and _is_exit(each)), None
    )
    if leave is None or any(module.tree.every(cst.Return, below=enter)):
        return None
    for each in leave.body.body:
        found = _setting_back(each, module)
        if isinstance(each, cst.Try | cst.TryStar):
            found = _set_back_at_end(each, module)
        if found is not None:
            return found
        if not isinstance(each, cst.SimpleStatementLine):
            return None
    return None


def _is_exit(function: cst.FunctionDef) -> bool:
    return function.name.value == "__exit__" and function.asynchronous is None


def _set_back_behind(
    statement: cst.CSTNode, suite: cst.BaseSuite, module: Module
) -> cst.Call | None:
    """Return what sets back further down what a statement sets, if nothing leaves before that."""
    behind = False
    for each in suite.body:
        if behind:
            found = _setting_back(each, module)
            if isinstance(each, cst.Try | cst.TryStar):
                found = _set_back_at_end(each, module)
            if found is not None:
                return found
            if any(module.tree.every(cst.Return, cst.Break, cst.Continue, below=each)):
                return None
        behind = behind or each is statement
    return None


def _set_back_at_end(node: cst.Try | cst.TryStar, module: Module) -> cst.Call | None:
    body = () if node.finalbody is None else node.finalbody.body.body
    return next(filter(None, (_setting_back(each, module) for each in body)), None)


def _setting_back(statement: cst.CSTNode, module: Module) -> cst.Call | None:
    """Return the call of a statement that sets the default device to none, or that of before."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    (only,) = statement.body
    call = only.value if isinstance(only, cst.Expr) else None
    if not isinstance(call, cst.Call) or not _is_update(call, module):
        return None
    return call if _is_of_before(Arguments(call).get(1, "val"), module) else None


def _is_of_before(held: cst.BaseExpression | None, module: Module) -> bool:
    """Return whether a value is none, or the default device that was kept."""
    if held is None or is_none(held):
        return held is not None
    kept: list[cst.BaseExpression | None] = [held]
    if isinstance(held, cst.Name):
        kept = [module.names.sole_value(held)]
    elif isinstance(held, cst.Attribute) and isinstance(held.value, cst.Name):
        cls = module.tree.around(held, cst.ClassDef)
        kept = [
            each.value
            for each in module.tree.every(cst.Assign, below=cls)
            for target in each.targets
            if isinstance(target.target, cst.Attribute)
            and target.target.attr.value == held.attr.value
            and not is_none(each.value)
        ]
    names = {None if each is None else module.names.qualified(each) for each in kept}
    return names == {"jax.config.jax_default_device"}
