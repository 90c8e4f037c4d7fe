"""Measuring in turns, so that what else the machine does meets every tool alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.comparison.measure import Cost
    from benchmarks.comparison.tools import Tool


_QUICK = 5.0
"""Seconds of a quick run."""


def alternate(
    tools: Sequence[Tool],
    measure: Callable[[Tool], Cost],
    *,
    rounds: int,
    slow_rounds: int,
    quick_rounds: int = 1,
    say: Callable[[str], None],
) -> dict[str, list[Cost]]:
    """Return what each tool cost, by its name: each has its turn in each round.

    Tools of which the first run was quick have `quick_rounds` turns at least: what else the
    machine does is much of a short run. Those that remember are run once before, or before each
    turn; so is the first one that is not slow, so that the files were read by then.
    """
    costs: dict[str, list[Cost]] = {tool.name: [] for tool in tools}
    first = next((tool for tool in tools if not tool.slow), None)
    for tool in tools:
        if tool.primed or tool is first:
            measure(tool)
    for number in range(max(rounds, quick_rounds)):
        for tool in tools:
            known = costs[tool.name]
            is_quick = bool(known) and known[0].wall < _QUICK
            turns = slow_rounds if tool.slow else max(rounds, quick_rounds * is_quick)
            if number >= turns:
                continue
            if tool.unchanged:
                measure(tool)
            cost = measure(tool)
            known.append(cost)
            say(
                f"round {number + 1}: {tool.name}: {cost.wall:.3f} s, "
                f"{cost.cpu:.3f} s of processor, {cost.peak / 1e6:.0f} MB"
            )
    return costs
