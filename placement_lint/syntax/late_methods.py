"""Dataclasses whose methods are compiled when they are first called.

`dataclasses` writes the methods of each class as a text, and compiles it: five times for a frozen
class. A run over one file imports some 400 of them, with those of LibCST's nodes, and calls few
of their methods. To compile all of them takes a third of such a run.
"""

from __future__ import annotations

import contextlib

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


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
                exec(text, scope, defined)  # noqa: S102
                made = next(iter(defined.values()))(*args, **kwargs)
                compiled.extend([made] if is_one else made)
            return compiled

        methods = (*(_method(name, n, functions) for n, name in enumerate(names)),)
        return methods[0] if is_one else methods

    found[text.removeprefix("def ").partition("(")[0]] = create


def _method(
    name: str, number: int, functions: Callable[[], list[Callable[..., Any]]]
) -> Callable[..., Any]:
    """Return what stands for a method of a class until it is called, and then makes way for it."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        function = functions()[number]
        function.__qualname__ = method.__qualname__
        for each in type(self).__mro__:
            if vars(each).get(name) is method:
                setattr(each, name, function)
        return function(self, *args, **kwargs)

    method.__name__ = name
    return method
