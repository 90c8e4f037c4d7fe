"""Functions whose body does not run when they are called: generators and coroutines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.definitions import is_generator
from placement_lint.syntax.tree import children

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.syntax.names import Names


def suspensions(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield every place below a node at which its function is suspended, in source order.

    Those are `yield`, `await`, `async for` and `async with`; what is in another function, or in a
    generator expression, does not suspend this one.
    """
    pending = list(reversed(children(node)))
    while pending:
        part = pending.pop()
        if isinstance(part, cst.FunctionDef | cst.Lambda):
            # Its defaults and decorators belong to the function around.
            inside: cst.CSTNode = part.body
            pending += [child for child in reversed(children(part)) if child is not inside]
            continue
        if isinstance(part, cst.GeneratorExp):
            pending.append(part.for_in.iter)
            continue
        is_async = isinstance(part, cst.For | cst.With | cst.CompFor) and part.asynchronous
        if isinstance(part, cst.Yield | cst.Await) or is_async:
            yield part
        pending += reversed(children(part))


def kind_of(function: cst.FunctionDef, names: Names) -> str | None:
    """Return what calling a function gives in words, if it does not run its body; else None."""
    generates = is_generator(function, names)
    if function.asynchronous is not None:
        return "an asynchronous generator" if generates else "a coroutine"
    return "a generator" if generates else None
