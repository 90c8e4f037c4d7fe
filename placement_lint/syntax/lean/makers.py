"""Making nodes of LibCST's classes without calling these: that takes a fifth of the time or less.

The classes are frozen and check what they are given, by a call for each field and more. A maker
fills the slots of a class that has the same ones and no more, and then makes the object one of
LibCST's.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import libcst as cst

_PLAIN = ("__new__", "__init__", "__setattr__", "__delattr__")
"""What LibCST's classes do in their own way, and only `object`'s way is fast."""


def by_type(maker: Any, prefix: str) -> dict[type[ast.AST], Callable[[Any], Any]]:
    """Return the methods of an object by the type of Python's nodes that their names end in."""
    owner: Any = type(maker)
    return {kind: getattr(maker, name) for kind, name in _methods(owner, prefix)}


@functools.cache
def _methods(owner: type, prefix: str) -> list[tuple[type[ast.AST], str]]:
    return [
        (kind, f"{prefix}{kind.__name__}")
        for kind in vars(ast).values()
        if isinstance(kind, type) and hasattr(owner, f"{prefix}{kind.__name__}")
    ]


def maker(kind: type[cst.CSTNode], *given: str) -> Callable[..., Any]:
    """Return a function that makes a node from these fields, in this order.

    All other fields have their defaults, each of which is one object for all nodes. It is compiled
    when it is first called: most programs have few kinds of nodes. Raises TypeError then where a
    field has no default.
    """
    scope: dict[str, Any] = {}
    exec(_NOT_YET, scope)  # noqa: S102
    make: Callable[..., Any] = scope["make"]
    scope["compiled"] = functools.partial(_compiled, make, kind, given)
    return make


_NOT_YET = compile(
    "def make(*given, **named): return compiled()(*given, **named)", __file__, "exec"
)


def _compiled(make: Any, kind: type[cst.CSTNode], given: tuple[str, ...]) -> Callable[..., Any]:
    """Replace the code of a function by that which makes a node, and return the function."""
    values = make.__globals__
    values |= {"kind": kind, "unfinished": _unfinished(kind)}
    lines = [f"def make({', '.join(given)}):", "    node = unfinished()"]
    for field in dataclasses.fields(kind):
        name = field.name
        if name not in given:
            values[f"default_{name}"] = _default(field)
        lines.append(f"    node.{name} = {name if name in given else f'default_{name}'}")
    lines += ["    node.__class__ = kind", "    return node"]
    exec("\n".join(lines), values)  # noqa: S102 - as dataclasses does it, from names of fields
    make.__code__ = values["make"].__code__
    found: Callable[..., Any] = make
    return found


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is dataclasses.MISSING:
        message = f"{field.name} has no default"
        raise TypeError(message)
    return field.default_factory()


def _unfinished(kind: type[cst.CSTNode]) -> type:
    """Return a class with the slots of a node type, whose objects may become nodes of it."""
    body: dict[str, Any] = {name: getattr(object, name) for name in _PLAIN}
    # Else there could be no object: these are abstract in what LibCST's classes inherit from.
    abstract = "__abstractmethods__"
    body |= {name: None for base in kind.__mro__ for name in getattr(base, abstract, ())}
    body["__slots__"] = tuple(field.name for field in dataclasses.fields(kind))
    make: Any = type(kind)
    unfinished: type = make(kind.__name__, kind.__bases__, body)
    return unfinished
