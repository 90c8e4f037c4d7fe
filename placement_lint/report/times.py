"""What took the time of a run, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.timing import WAITING, rows

if TYPE_CHECKING:
    from collections.abc import Mapping


def table(lasted: float, seconds: Mapping[str, float]) -> str:
    """Return a line for each part of the work, and what all of them come to.

    `lasted` is how long the run took; what several processes do at once takes longer than that.
    """
    found = [*rows(seconds)]
    worked = sum(its for part, its in found if part != WAITING)
    width = max((len(part) for part, _ in found), default=0)
    lines = ["time in seconds:"]
    for part, its in found:
        share = "" if part == WAITING or not worked else f"{its / worked:5.0%}"
        lines.append(f"  {part:<{width}}  {its:8.3f}  {share}".rstrip())
    lines.append(f"  {'the whole run':<{width}}  {lasted:8.3f}")
    return "\n".join(lines)
