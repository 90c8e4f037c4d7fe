"""Where code sets environment variables: `os.environ["X"] = …` and its like."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from placement_lint.syntax.calls import Arguments, elements_or_self, string_value
from placement_lint.syntax.definitions import texts_of

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
            yield from _set_at(_environ_key(target.target, names), node.value, names)
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
            key, value = arguments.get(0, "key"), arguments.get(1, "value", "default")
            yield from _set_at(key, value, names)
        elif called == "os.environ.update":
            for argument in node.args:
                if argument.keyword is not None:
                    yield Setting(argument.keyword.value, argument, argument.value)
                elif not argument.star:
                    yield from _in_dict(argument.value, names)


def _set_at(
    key: cst.BaseExpression | None, value: cst.BaseExpression | None, names: Names
) -> Iterator[Setting]:
    """Yield the variables that are set by a key: each of those that a loop gives it."""
    name = string_value(key)
    if key is not None and name is not None:
        yield Setting(name, key, value)
    elif isinstance(key, cst.Name):
        yield from _in_loop(key, names)


def variables_set(node: cst.CSTNode, names: Names) -> list[str]:
    """Return the names of the variables that a node sets."""
    return [setting.name for setting in settings(node, names)]


def _environ_key(target: cst.BaseExpression, names: Names) -> cst.BaseExpression | None:
    if not isinstance(target, cst.Subscript) or names.qualified(target.value) != "os.environ":
        return None
    part = target.slice[0].slice
    return part.value if isinstance(part, cst.Index) else None


def _in_loop(key: cst.Name, names: Names) -> Iterator[Setting]:
    """Yield what is set by a name that a loop goes through: `for name, value in {…}.items()`."""
    loop = names.sole_definition(key)
    if not isinstance(loop, cst.For) or not names.tree.is_inside(key, loop.body):
        return
    if isinstance(loop.target, cst.Name):
        yield from (Setting(name, key, None) for name in texts_of(key, names))
        return
    drawn = loop.iter
    parts = loop.target.elements if isinstance(loop.target, cst.Tuple) else ()
    first = parts[0].value if len(parts) == 2 else None
    if not isinstance(first, cst.Name) or first.value != key.value:
        return
    if isinstance(drawn, cst.Call) and isinstance(drawn.func, cst.Attribute):
        if drawn.func.attr.value == "items" and not drawn.args:
            yield from _in_dict(drawn.func.value, names)
        return
    for pair in elements_or_self(_written(drawn, names)):
        given = elements_or_self(pair)
        name = string_value(given[0]) if len(given) == 2 else None
        if name is not None:
            yield Setting(name, given[0], given[1])


def _written(node: cst.BaseExpression, names: Names) -> cst.BaseExpression:
    """Return what a name is bound to once, or what is written out."""
    value = names.sole_value(node) if isinstance(node, cst.Name) else None
    return value if isinstance(value, cst.BaseExpression) else node


def _in_dict(node: cst.BaseExpression, names: Names) -> Iterator[Setting]:
    node = _written(node, names)
    if isinstance(node, cst.Dict):
        for element in node.elements:
            name = string_value(element.key) if isinstance(element, cst.DictElement) else None
            if isinstance(element, cst.DictElement) and name is not None:
                yield Setting(name, element.key, element.value)
    elif isinstance(node, cst.Call) and names.qualified(node.func) == "builtins.dict":
        for argument in node.args:
            if argument.keyword is not None:
                yield Setting(argument.keyword.value, argument, argument.value)
