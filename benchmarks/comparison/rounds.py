"""Measuring in turns, so that what else the machine does meets every tool alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.comparison.measure import Cost
    from benchmarks.comparison.tools import Tool


def alternate(
    tools: Sequence[Tool],
    measure: Callable[[Tool], Cost],
    *,
    rounds: int,
    slow_rounds: int,
    say: Callable[[str], None],
) -> dict[str, list[Cost]]:
    """Give what each tool cost, by its name: each has its turn in each round.

    Those that remember are run once before; so is every other but the slow ones, so that none is
    the first to read the files.
    """
    costs: dict[str, list[Cost]] = {tool.name: [] for tool in tools}
    for tool in tools:
        if tool.primed or not tool.slow:
            measure(tool)
    for number in range(rounds):
        for tool in tools:
            if tool.slow and number >= slow_rounds:
                continue
            cost = measure(tool)
            costs[tool.name].append(cost)
            say(
                f"round {number + 1} of {rounds}: {tool.name}: {cost.wall:.3f} s, "
                f"{cost.cpu:.3f} s of processor, {cost.peak / 1e6:.0f} MB"
            )
    return costs
