"""The numbers of a comparison, as they are kept in `results.json`."""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.comparison.measure import Cost


@dataclass(frozen=True)
class Row:
    """What one tool cost on one tree, round by round."""

    tool: str
    wall: tuple[float, ...]
    cpu: tuple[float, ...]
    peak: tuple[int, ...]

    @classmethod
    def of(cls, tool: str, costs: list[Cost]) -> Row:
        """Take the costs of its rounds."""
        return cls(
            tool,
            tuple(round(cost.wall, 4) for cost in costs),
            tuple(round(cost.cpu, 4) for cost in costs),
            tuple(cost.peak for cost in costs),
        )

    @property
    def rounds(self) -> int:
        """How often it was measured."""
        return len(self.wall)

    @property
    def median_wall(self) -> float:
        """Seconds."""
        return statistics.median(self.wall)

    @property
    def median_cpu(self) -> float:
        """Seconds."""
        return statistics.median(self.cpu)

    @property
    def median_peak(self) -> float:
        """Bytes."""
        return statistics.median(self.peak)


@dataclass(frozen=True)
class Size:
    """How much there is in a tree, and how much of it the filter lets through."""

    files: int = 0
    lines: int = 0
    size: int = 0
    jax_files: int = 0
    jax_lines: int = 0
    parsed_files: int = 0
    parsed_lines: int = 0


@dataclass(frozen=True)
class Tree:
    """What was measured on one tree."""

    name: str
    size: Size
    rows: tuple[Row, ...]

    def row(self, tool: str) -> Row | None:
        """Give what a tool cost."""
        return next((row for row in self.rows if row.tool == tool), None)


@dataclass(frozen=True)
class Growth:
    """How the time of one shape of file grew with ten times its size."""

    shape: str
    ratio: float


@dataclass(frozen=True)
class Results:
    """All of a comparison."""

    date: str
    machine: str
    versions: dict[str, str]
    trees: tuple[Tree, ...] = ()
    start_up: tuple[Row, ...] = ()
    growth: tuple[Growth, ...] = field(default=())

    def tree(self, name: str) -> Tree | None:
        """Give what was measured on a tree."""
        return next((tree for tree in self.trees if tree.name == name), None)

    def started(self, tool: str) -> Row | None:
        """Give what it cost to start something."""
        return next((row for row in self.start_up if row.tool == tool), None)


def written(results: Results) -> str:
    """Give results as the text of their file."""
    return json.dumps(asdict(results), indent=1) + "\n"


def read(path: Path) -> Results | None:
    """Read a file of results; None where there is none."""
    if not path.is_file():
        return None
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return Results(
        data["date"],
        data["machine"],
        data["versions"],
        tuple(
            Tree(tree["name"], Size(**tree["size"]), tuple(map(_row, tree["rows"])))
            for tree in data["trees"]
        ),
        tuple(map(_row, data["start_up"])),
        tuple(Growth(**each) for each in data["growth"]),
    )


def _row(data: dict[str, Any]) -> Row:
    return Row(data["tool"], tuple(data["wall"]), tuple(data["cpu"]), tuple(data["peak"]))
