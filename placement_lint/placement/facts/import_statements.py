"""What an import statement runs, and what it binds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator


def modules_named(node: cst.Import | cst.ImportFrom) -> Iterator[str]:
    """Yield, in the order in which they are run, the names of what may be modules in a statement.

    `import a.b` runs `a`, then `a.b`; so does `from a import b`, where `a.b` is a module.
    """
    if isinstance(node, cst.Import):
        for alias in node.names:
            yield from _with_parents(dotted(alias.name))
        return
    dots = "." * len(node.relative)
    module = dotted(node.module) if node.module is not None else ""
    yield from (dots + name for name in _with_parents(module))
    if not isinstance(node.names, cst.ImportStar):
        for alias in node.names:
            yield _member(dots + module, dotted(alias.name))


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
        module = "." * len(node.relative) + (dotted(node.module) if node.module else "")
        for alias in node.names:
            name = dotted(alias.name)
            bound = name if alias.asname is None else dotted(alias.asname.name)
            yield bound, _member(module, name)


def star_import(node: cst.CSTNode) -> str | None:
    """Return the module of `from module import *`; None for any other node."""
    if not isinstance(node, cst.ImportFrom) or not isinstance(node.names, cst.ImportStar):
        return None
    return "." * len(node.relative) + (dotted(node.module) if node.module else "")


def _with_parents(name: str) -> Iterator[str]:
    at = name.find(".")
    while at >= 0:
        yield name[:at]
        at = name.find(".", at + 1)
    if name:
        yield name


def _member(module: str, name: str) -> str:
    return f"{module}{name}" if module.endswith(".") else f"{module}.{name}"
