"""Whether a program pins itself to the CPU: then the host is the default device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.calls import Arguments, string_value
from placement_lint.syntax.environ import settings
from placement_lint.syntax.guards import is_main_guard

if TYPE_CHECKING:
    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree

_OPTIONS = frozenset({"jax_platforms", "jax_platform_name"})
_VARIABLES = frozenset({"JAX_PLATFORMS", "JAX_PLATFORM_NAME"})


def pins_cpu(tree: Tree, names: Names) -> bool:
    """Return whether the module sets the platform to the CPU, unconditionally."""
    return any(
        _sets_cpu(node, names) and not _is_conditional(node, tree)
        for node in tree.every(cst.Call, cst.Assign, cst.AugAssign)
    )


def _sets_cpu(node: cst.CSTNode, names: Names) -> bool:
    if isinstance(node, cst.Call) and names.qualified(node.func) == "jax.config.update":
        arguments = Arguments(node)
        return string_value(arguments.get(0, "name")) in _OPTIONS and _is_cpu(
            string_value(arguments.get(1, "val"))
        )
    return any(
        setting.name in _VARIABLES and _is_cpu(string_value(setting.value))
        for setting in settings(node, names)
    )


def _is_cpu(text: str | None) -> bool:
    return text is not None and text.split(",")[0].strip() == "cpu"


def _is_conditional(node: cst.CSTNode, tree: Tree) -> bool:
    return any(
        isinstance(ancestor, cst.IfExp | cst.Match | cst.ExceptHandler | cst.While)
        or (isinstance(ancestor, cst.If) and not _is_always_true(ancestor.test))
        for ancestor in tree.ancestors(node)
    )


def _is_always_true(test: cst.BaseExpression) -> bool:
    """Return whether a condition holds whenever the file is run as a program."""
    return is_main_guard(test) or (isinstance(test, cst.Name) and test.value == "True")
