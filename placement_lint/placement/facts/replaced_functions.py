"""What a file puts in the place of functions of JAX, as tests do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.calls import Arguments, string_value
from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.pytest_fixtures import pytest_fixture

if TYPE_CHECKING:
    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree


class ReplacedFunctions:
    """The functions of JAX that a file replaces, and where."""

    def __init__(self, tree: Tree, names: Names) -> None:
        """Find what `mock.patch`, `monkeypatch.setattr` and `setattr` replace."""
        self._tree = tree
        self._regions: dict[str, list[cst.CSTNode]] = {}
        for call in tree.every(cst.Call):
            name = replaced_name(call, names)
            if name is not None:
                self._regions.setdefault(name, []).append(_region(call, tree, names))

    def holds_for(self, name: str, node: cst.CSTNode) -> bool:
        """Return whether a name, or what it is in, may stand for something else where a node is."""
        if not self._regions:
            return False
        parts = name.split(".")
        wholes = (".".join(parts[:end]) for end in range(2, len(parts) + 1))
        return any(
            self._tree.is_inside(node, region)
            for whole in wholes
            for region in self._regions.get(whole, ())
        )


def _region(call: cst.Call, tree: Tree, names: Names) -> cst.CSTNode:
    """Return where a replacement is in effect: in its `with`, in what it decorates, else in the
    test that it is in. What prepares tests does so for all of them.
    """
    for ancestor in tree.ancestors(call):
        if isinstance(ancestor, cst.WithItem | cst.Decorator):
            return tree.parent(ancestor) or tree.module
        if isinstance(ancestor, cst.FunctionDef):
            is_test = ancestor.name.value.startswith("test")
            is_alone = is_test and pytest_fixture(ancestor, names) is None
            return ancestor if is_alone else tree.module
    return tree.module


def replaced_name(call: cst.Call, names: Names) -> str | None:
    """Return the qualified name of what a call replaces by `setattr`, `monkeypatch`, `mock.patch`.

    None for any other call, and where that is not known.
    """
    if dotted(call.func).rpartition(".")[2] not in {"setattr", "patch", "object"}:
        return None
    arguments = Arguments(call)
    first = arguments.get(0, "target")
    name = None if first is None else string_value(first) or names.qualified(first)
    attribute = string_value(arguments.get(1, "name", "attribute"))
    return f"{name}.{attribute}" if name is not None and attribute else name
