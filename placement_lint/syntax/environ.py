"""Where code sets environment variables: `os.environ["X"] = …` and its like."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from placement_lint.syntax.calls import Arguments, string_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.syntax.names import Names

_SETTERS = frozenset({"os.environ.setdefault", "os.putenv"})


class Setting(NamedTuple):
    """One variable that is set."""

    name: str
    key: cst.CSTNode
    """The node that names it: a string, or the argument of a keyword."""
    value: cst.BaseExpression | None
    """None for `|=` and the like, where it is not to be seen."""


def settings(node: cst.CSTNode, names: Names) -> Iterator[Setting]:
    """Yield each variable that an assignment or a call sets by its name."""
    if isinstance(node, cst.Assign):
        for target in node.targets:
            key = _environ_key(target.target, names)
            name = string_value(key)
            if key is not None and name is not None:
                yield Setting(name, key, node.value)
    elif isinstance(node, cst.AugAssign):
        key = _environ_key(node.target, names)
        name = string_value(key)
        if key is not None and name is not None:
            yield Setting(name, key, None)
        elif names.qualified(node.target) == "os.environ":
            yield from _in_dict(node.value, names)
    elif isinstance(node, cst.Call):
        called = names.qualified(node.func)
        arguments = Arguments(node)
        if called in _SETTERS:
            key = arguments.get(0, "key")
            name = string_value(key)
            if key is not None and name is not None:
                yield Setting(name, key, arguments.get(1, "value", "default"))
        elif called == "os.environ.update":
            for argument in node.args:
                if argument.keyword is not None:
                    yield Setting(argument.keyword.value, argument, argument.value)
                elif not argument.star:
                    yield from _in_dict(argument.value, names)


def variables_set(node: cst.CSTNode, names: Names) -> list[str]:
    """Return the names of the variables that a node sets."""
    return [setting.name for setting in settings(node, names)]


def _environ_key(target: cst.BaseExpression, names: Names) -> cst.BaseExpression | None:
    if not isinstance(target, cst.Subscript) or names.qualified(target.value) != "os.environ":
        return None
    part = target.slice[0].slice
    return part.value if isinstance(part, cst.Index) else None


def _in_dict(node: cst.BaseExpression, names: Names) -> Iterator[Setting]:
    if isinstance(node, cst.Dict):
        for element in node.elements:
            if isinstance(element, cst.DictElement):
                name = string_value(element.key)
                if name is not None:
                    yield Setting(name, element.key, element.value)
    elif isinstance(node, cst.Call) and names.qualified(node.func) == "builtins.dict":
        for argument in node.args:
            if argument.keyword is not None:
                yield Setting(argument.keyword.value, argument, argument.value)
