"""Classes of Flax's modules whose methods are traced: `nn.remat(Block)`, `@nn.jit`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.tracing import LIFTING
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import applied, class_named
from placement_lint.syntax.import_statements import modules_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree

_CALLED = "__call__"
"""The method that is traced where none is named."""


@dataclass(frozen=True)
class LiftedMethod:
    """A method that is traced because of what is done with its class, or with itself."""

    method: cst.FunctionDef
    by: str
    """The qualified name of what does so."""
    is_always: bool
    """No other use in the file calls it as it is."""


def lifted_methods(tree: Tree, names: Names) -> Iterator[LiftedMethod]:
    """Yield the methods of a file that Flax traces."""
    if not _imports_flax(names):
        return
    lifted: dict[int, tuple[cst.ClassDef, str, list[cst.CSTNode]]] = {}
    for node in tree.every(cst.Call):
        by = names.qualified(node.func)
        arguments = Arguments(node)
        target = arguments.get(0, "target") if by in LIFTING else None
        if by is None or target is None or arguments.get(None, "methods") is not None:
            continue
        cls = class_named(target, names)
        if cls is not None:
            lifted.setdefault(id(cls), (cls, by, []))[2].append(target)
    for cls, by, targets in lifted.values():
        method = method_of(cls)
        if method is not None:
            uses = names.uses(cls.name.value, names.scope(cls))
            others = [x for x in uses if x not in targets and not tree.is_inside(x, cls)]
            yield LiftedMethod(method, by, is_always=not others)
    for definition in tree.every(cst.ClassDef, cst.FunctionDef):
        for decorator in definition.decorators:
            made, _ = applied(decorator.decorator, names)
            by = None if made is None else names.qualified(made)
            if by not in LIFTING or by is None:
                continue
            method = method_of(definition) if isinstance(definition, cst.ClassDef) else definition
            if method is not None:
                yield LiftedMethod(method, by, is_always=True)


def lifted_names(tree: Tree, names: Names) -> Iterator[str]:
    """Yield the qualified names of what a file gives to `nn.remat` and its like."""
    for node in tree.every(cst.Call) if _imports_flax(names) else ():
        if names.qualified(node.func) in LIFTING:
            target = Arguments(node).get(0, "target")
            name = None if target is None else names.qualified(target)
            if name is not None:
                yield name


def _imports_flax(names: Names) -> bool:
    """Return whether a file imports Flax, or from its own package what may be it."""
    return any(
        name.partition(".")[0] in {"", "flax"}
        for statement in names.import_statements
        for name in modules_named(statement)
    )


def method_of(cls: cst.ClassDef) -> cst.FunctionDef | None:
    """Return the method of the class of a module that is traced where none is named."""
    found = (line for line in cls.body.body if isinstance(line, cst.FunctionDef))
    return next((each for each in found if each.name.value == _CALLED), None)
