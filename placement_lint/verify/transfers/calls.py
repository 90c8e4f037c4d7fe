"""Calls that show what a function does with arrays, and the situations in which they are made.

In an expression, `f` is the function. The operands are named by letters: `x` a positive definite
matrix, `v` a vector between 0 and 1, `p` another of sum 1, `n` a vector of integers, `m` booleans,
`z` complex numbers, `b` bytes, `s` and `i` a float and an integer without dimensions, `image` and
`signal`, `t` a tree of `x` and `v`, `k` a key and `raw` one of the old kind. All of them live where
the situation says. `d0` … `d3` are devices; `own(dtype)` makes an operand that nothing else uses,
`load` imports a module, and `folder` has some files of arrays.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from placement_lint.jaxmodel.transfer import Effect

OPERANDS = frozenset("x v p n m z b s i image signal t k raw".split())


@dataclass(frozen=True)
class Recipe:
    """One call of a row."""

    expression: str
    effect: Effect | None = None
    """What it shows; None: the row's effect."""
    situations: tuple[str, ...] | None = None
    """Where it is called; None: wherever the effect says something."""
    device: int = 3
    """The device to which it commits."""

    @property
    def operands(self) -> frozenset[str]:
        """The operands that it uses."""
        return OPERANDS.intersection(re.findall(r"\b[a-z]+\b", self.expression))

    @property
    def takes_arrays(self) -> bool:
        """Whether it is given arrays."""
        return bool(self.operands) or "own(" in self.expression

    @property
    def takes_keys(self) -> bool:
        """Whether it is given a key, which no NumPy array is."""
        return not self.operands.isdisjoint({"k", "raw"})


AWAY, HOME, OUTSIDE, COMMITTED, NUMPY = "away", "home", "outside", "committed", "numpy"
"""The situations: see bench."""

GENERIC = (
    "f(x)", "f(x, x)", "f(n)", "f(n, n)", "f(v)", "f(v, v)", "f(v, v, v)", "f(m)", "f(x, 1)",
    "f(v, n)", "f(v, 1, 2)",
)  # fmt: skip
"""What is tried, in this order, for a function that has no recipe of its own."""
