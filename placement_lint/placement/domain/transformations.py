"""What the transformations of a function say of its arguments and its results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from placement_lint.jaxmodel.structures import Structure


@dataclass(frozen=True)
class Usage:
    """Of which arguments a computation takes the data: the others are not moved."""

    positions: tuple[bool, ...]
    rest: bool | None = True
    """Of those behind them; None: perhaps of some."""
    keywords: tuple[tuple[str, bool], ...] | None = None
    """None: their names are not known."""
    more: bool | None = True
    """Of those by other keywords."""

    def of(self, argument: int | str) -> bool | None:
        """Return whether the data of an argument is taken; None: perhaps."""
        if isinstance(argument, int):
            return self.positions[argument] if argument < len(self.positions) else self.rest
        return dict(self.keywords or ()).get(argument, self.more)

    def bound(self) -> Usage:
        """Return the usage of a method whose object is bound."""
        return replace(self, positions=self.positions[1:])


@dataclass(frozen=True)
class Step:
    """One transformation of a function, as far as it says what the function then gives."""

    structure: Structure | None
    """None: of what it gives nothing is known."""
    is_staged: bool
    """All that it computes is one program, which gives all that it gives."""
    argnums: tuple[int, ...] | None = (0,)
    """The arguments that it differentiates by; None: which ones is not known."""
    is_single: bool = True
    """It differentiates by one argument, and gives no tuple of derivatives."""
    has_aux: bool | None = False
    is_plain: bool = True
    """It maps over the first axis of everything."""
    is_whole: bool = False
    """What it compiles is one program over whole arrays: see `tracing.OVER_WHOLE_ARRAYS`."""
