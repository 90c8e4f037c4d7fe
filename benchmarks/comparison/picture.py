"""The picture of the results: how long each tool takes on each tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.comparison import tools

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.comparison.results import Results, Tree

_SHOWN = (
    tools.FIXIT,
    tools.FLAKE8,
    tools.RUFF_COLD,
    tools.OURS_COLD_2,
    tools.RUFF_WARM,
    tools.OURS_WARM,
)
_OURS, _THEIRS, _INK = "#1f6feb", "#b8c0cc", "#24292f"


def draw(results: Results, target: Path) -> bool:
    """Draw a panel for each tree; False where there is nothing to draw with."""
    try:
        import matplotlib as mpl
    except ImportError:
        return False
    mpl.use("svg")
    from matplotlib import pyplot as plt

    shown = results.trees
    if not shown:
        return False
    # The same numbers give the same file.
    style = {"svg.hashsalt": "placement-lint", "svg.fonttype": "none", "font.size": 9}
    with mpl.rc_context(style):
        figure, axes = plt.subplots(
            1,
            len(shown),
            figsize=(1.6 + 3.0 * len(shown), 2.4),
            sharey=True,
            squeeze=False,
            layout="constrained",
        )
        for axis, tree in zip(axes[0], shown, strict=True):
            _draw(axis, tree)
        figure.savefig(target, metadata={"Date": results.date, "Title": "What it costs"})
        plt.close(figure)
    return True


def _draw(axis: Any, tree: Tree) -> None:
    rows = [row for row in map(tree.row, _SHOWN) if row is not None]
    names = [row.tool.removesuffix(", -j 2") for row in rows]
    seconds = [row.median_wall for row in rows]
    colours = [_OURS if "placement-lint" in name else _THEIRS for name in names]
    drawn = axis.barh(names, seconds, color=colours)
    axis.bar_label(drawn, labels=[_label(each) for each in seconds], padding=3, color=_INK)
    # From zero, and linear: a bar is as long as the tool takes.
    axis.set_xlim(0, max(seconds) * 1.25)
    files = "one file" if tree.size.files == 1 else f"{tree.size.files:,} files"
    axis.set_title(f"{files}, {tree.size.lines:,} lines", color=_INK, fontsize=9)
    axis.set_xlabel("seconds")
    axis.spines[["top", "right"]].set_visible(False)


def _label(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"
