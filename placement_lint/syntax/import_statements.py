"""What an import statement runs, and what it binds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

MISSING_MODULE = frozenset({
    "builtins.ImportError", "builtins.ModuleNotFoundError", "builtins.Exception",
})  # fmt: skip
"""The exceptions by which code catches that a module is missing."""


def modules_named(node: cst.Import | cst.ImportFrom) -> Iterator[str]:
    """Yield, in the order in which they are run, the names of what may be modules in a statement.

    `import a.b` runs `a`, then `a.b`; so does `from a import b`, where `a.b` is a module.
    """
    if isinstance(node, cst.Import):
        for alias in node.names:
            yield from _with_parents(dotted(alias.name))
        return
    module = source_module(node)
    name = module.lstrip(".")
    dots = module[: len(module) - len(name)]
    yield from (dots + each for each in _with_parents(name))
    if not isinstance(node.names, cst.ImportStar):
        yield from (member(module, dotted(alias.name)) for alias in node.names)


def names_bound(node: cst.Import | cst.ImportFrom) -> Iterator[tuple[str, str]]:
    """Yield the variables that a statement binds, each with the qualified name that it stands for.

    Without those of a star.
    """
    if isinstance(node, cst.Import):
        for alias in node.names:
            name = dotted(alias.name)
            top = name.partition(".")[0]
            yield (top, top) if alias.asname is None else (dotted(alias.asname.name), name)
    elif not isinstance(node.names, cst.ImportStar):
        module = source_module(node)
        for alias in node.names:
            name = dotted(alias.name)
            bound = name if alias.asname is None else dotted(alias.asname.name)
            yield bound, member(module, name)


def imported_names(node: cst.Import | cst.ImportFrom) -> list[str]:
    """Return the qualified names that a statement imports; a leading dot for each level.

    Of a star, the module.
    """
    if isinstance(node, cst.Import):
        return [dotted(alias.name) for alias in node.names]
    module = source_module(node)
    if isinstance(node.names, cst.ImportStar):
        return [module]
    return [member(module, dotted(alias.name)) for alias in node.names]


def star_import(node: cst.CSTNode) -> str | None:
    """Return the module of `from module import *`; None for any other node."""
    if not isinstance(node, cst.ImportFrom) or not isinstance(node.names, cst.ImportStar):
        return None
    return source_module(node)


def source_module(node: cst.ImportFrom) -> str:
    """Return the module that names are imported from; a leading dot for each level."""
    return "." * len(node.relative) + (dotted(node.module) if node.module else "")


def _with_parents(name: str) -> Iterator[str]:
    at = name.find(".")
    while at >= 0:
        yield name[:at]
        at = name.find(".", at + 1)
    if name:
        yield name


def member(module: str, name: str) -> str:
    """Return the qualified name of `name` in `from module import name`."""
    return f"{module}{name}" if module.endswith(".") else f"{module}.{name}"
