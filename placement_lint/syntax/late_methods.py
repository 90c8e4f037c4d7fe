"""Dataclasses whose methods are compiled when they are first called.

`dataclasses` writes the methods of each class as a text, and compiles it: five times for a frozen
class. A run over one file imports some 400 of them, with those of LibCST's nodes, and calls few
of their methods. To compile all of them takes a third of such a run.

Of every other class that is initialized at all, a run makes one or two objects: what initializes
these is not compiled either.
"""

from __future__ import annotations

import contextlib
import functools

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import CodeType
    from typing import Any


_FIRST = 3
"""So many objects of a class are initialized by what is the same for all classes, and takes a few
times as long; to compile it takes as long as some twenty of them."""


@contextlib.contextmanager
def compiled_late() -> Iterator[None]:
    """Let dataclasses that are made in the block compile their methods when these are called.

    It is the interpreter's `dataclasses` that does so: a block is for who owns the process. In one
    that is forked again and again, each fork would compile for itself.
    """
    import dataclasses

    scope = vars(dataclasses)
    if "exec" in scope:
        yield
        return
    scope["exec"] = _executed_late
    try:
        yield
    finally:
        del scope["exec"]


def _executed_late(text: str, scope: dict[str, Any], found: dict[str, Any]) -> None:
    """Do what `exec` does with a text that defines a function which gives the methods."""
    # The last line of what `dataclasses` compiles: one function, or several of them in a tuple.
    _, _, returned = text.rpartition("\n return ")
    is_one = not returned.startswith("(")
    names = [returned] if is_one else returned[1:-1].rstrip(",").split(",")
    if not all(map(str.isidentifier, names)):
        exec(text, scope, found)  # noqa: S102
        return

    def create(*args: Any, **kwargs: Any) -> Any:
        compiled: list[Callable[..., Any]] = []

        def functions() -> list[Callable[..., Any]]:
            if not compiled:
                defined: dict[str, Any] = {}
                exec(_code(text), scope, defined)  # noqa: S102
                made = next(iter(defined.values()))(*args, **kwargs)
                compiled.extend([made] if is_one else made)
            return compiled

        methods = (*(_method(name, n, functions) for n, name in enumerate(names)),)
        return methods[0] if is_one else methods

    found[text.removeprefix("def ").partition("(")[0]] = create


@functools.cache
def _code(text: str) -> CodeType:
    """Return the code of a text. That of some classes is the same."""
    return compile(text, "<string>", "exec")


def _method(
    name: str, number: int, functions: Callable[[], list[Callable[..., Any]]]
) -> Callable[..., Any]:
    """Return what stands for a method of a class until it is called, and then makes way for it."""
    initialized = 0 if name == "__init__" else _FIRST

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal initialized
        owners = [each for each in type(self).__mro__ if vars(each).get(name) is method]
        if initialized < _FIRST and owners:
            initialized += 1
            held = _held(owners[0], args, kwargs)
            if held is not None:
                _initialize(self, owners[0], held)
                return None
        function = functions()[number]
        function.__qualname__ = method.__qualname__
        for each in owners:
            setattr(each, name, function)
        return function(self, *args, **kwargs)

    method.__name__ = name
    return method


def _held(cls: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the fields of an object hold that is made so; None where that is not so simple,
    or wrong.
    """
    import dataclasses

    fields = dataclasses.fields(cls)
    is_simple = len(fields) == len(cls.__dataclass_fields__) and all(each.init for each in fields)
    positional = [each.name for each in fields if not each.kw_only]
    given = dict(zip(positional, args, strict=False))
    if not is_simple or len(args) > len(positional) or not given.keys().isdisjoint(kwargs):
        return None
    given |= kwargs
    held: dict[str, Any] = {}
    for each in fields:
        if each.name in given:
            held[each.name] = given.pop(each.name)
        elif each.default is not dataclasses.MISSING:
            held[each.name] = each.default
        elif each.default_factory is not dataclasses.MISSING:
            held[each.name] = each.default_factory()
        else:
            return None
    return None if given else held


def _initialize(self: Any, cls: Any, held: Mapping[str, Any]) -> None:
    """Do what the initializer of a dataclass does."""
    put = object.__setattr__ if cls.__dataclass_params__.frozen else setattr
    for name, value in held.items():
        put(self, name, value)
    if hasattr(cls, "__post_init__"):
        self.__post_init__()
