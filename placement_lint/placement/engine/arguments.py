"""The arguments of a call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from placement_lint.placement.domain.values import (
    NOTHING,
    UNKNOWN,
    Mapping,
    Sequence,
    Value,
    iterated_of,
    join,
)

if TYPE_CHECKING:
    from collections import abc

    import libcst as cst


Operand: TypeAlias = "tuple[int, Value]"
"""The place of an expression, and what it may be."""


@dataclass
class CallArguments:
    """The arguments of a call, evaluated."""

    positional: list[Value]
    keywords: dict[str, Value] = field(default_factory=dict)
    rest: Value | None = None
    """What further positional ones are; None: there are no more."""
    more: Value | None = None
    """What further ones of other names are, by keyword; None: there are no more."""

    def every(self) -> list[Value]:
        """Give every argument."""
        others = (self.rest or UNKNOWN, self.more or NOTHING)
        return [*self.positional, *self.keywords.values(), *others]

    def numbered(self, first: int = 0) -> dict[int | str, Value]:
        """Give them by position, counted from `first`, and by keyword."""
        found: dict[int | str, Value] = dict(enumerate(self.positional, first))
        found.update(self.keywords)
        return found

    def given_before(
        self, bound: abc.Sequence[Value], by_name: abc.Iterable[tuple[str, Value]]
    ) -> CallArguments:
        """Give them behind what was bound before."""
        return CallArguments(
            [*bound, *self.positional], {**dict(by_name), **self.keywords}, self.rest, self.more
        )


def sort_arguments(arguments: abc.Iterable[tuple[cst.Arg, Value]]) -> CallArguments:
    """Sort the arguments of a call, of which iterators are consumed already."""
    found = CallArguments([])
    for argument, held in arguments:
        only = next(iter(held)) if len(held) == 1 else None
        if argument.star == "*":
            items = only.items if isinstance(only, Sequence) else None
            if found.rest is None and items is not None:
                found.positional += items
            else:
                found.rest = join(*filter(None, (found.rest, iterated_of(held) or UNKNOWN)))
        elif argument.star == "**":
            more = UNKNOWN
            if isinstance(only, Mapping):
                found.keywords.update(only.items)
                more = only.element
            if more:
                found.more = more if found.more is None else join(found.more, more)
        elif argument.keyword is not None:
            found.keywords[argument.keyword.value] = held
        elif found.rest is not None:
            found.rest = join(found.rest, held)
        else:
            found.positional.append(held)
    return found
