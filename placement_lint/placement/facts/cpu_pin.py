"""Whether a program pins itself to the CPU: then the host is the default device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.calls import Arguments, string_value

if TYPE_CHECKING:
    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree

_OPTIONS = frozenset({"jax_platforms", "jax_platform_name"})
_VARIABLES = frozenset({"JAX_PLATFORMS", "JAX_PLATFORM_NAME"})


def pins_cpu(tree: Tree, names: Names) -> bool:
    """Return whether the module sets the platform to the CPU, unconditionally."""
    return any(
        _sets_cpu(node, names) and not _is_conditional(node, tree)
        for node in tree.every(cst.Call, cst.Assign)
    )


def _sets_cpu(node: cst.CSTNode, names: Names) -> bool:
    if isinstance(node, cst.Call):
        name = names.qualified(node.func)
        arguments = Arguments(node)
        key = string_value(arguments.get(0, "name", "key"))
        new = string_value(arguments.get(1, "val", "value", "default"))
        if name == "jax.config.update":
            return key in _OPTIONS and _is_cpu(new)
        if name in {"os.environ.setdefault", "os.putenv"}:
            return key in _VARIABLES and _is_cpu(new)
        if name == "os.environ.update":
            return any(
                isinstance(argument, cst.Dict) and _dict_sets_cpu(argument)
                for argument in arguments.positional
            ) or any(
                variable in _VARIABLES and _is_cpu(string_value(text))
                for variable, text in arguments.keywords.items()
            )
    elif isinstance(node, cst.Assign) and _is_cpu(string_value(node.value)):
        return any(_is_variable(target.target, names) for target in node.targets)
    return False


def _dict_sets_cpu(node: cst.Dict) -> bool:
    return any(
        isinstance(element, cst.DictElement)
        and string_value(element.key) in _VARIABLES
        and _is_cpu(string_value(element.value))
        for element in node.elements
    )


def _is_variable(target: cst.BaseExpression, names: Names) -> bool:
    if not isinstance(target, cst.Subscript) or names.qualified(target.value) != "os.environ":
        return False
    part = target.slice[0].slice
    return isinstance(part, cst.Index) and string_value(part.value) in _VARIABLES


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
    if isinstance(test, cst.Comparison):
        return isinstance(test.left, cst.Name) and test.left.value == "__name__"
    return isinstance(test, cst.Name) and test.value == "True"
