"""The data path, drawn: what a batch costs against the size of the dataset, and the memory beside.

Two panels on log axes. The point is a slope: the uncommitted dataset's line rises with the
dataset, the others do not. matplotlib draws it (the extra `report`); the colours are left to the
page, light or dark, as CSS variables.
"""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from placement_lint.html_page import PALETTE
from placement_lint.verify.datapath_run import BEST, GOOD, SLOW, DataPathResult
from placement_lint.verify.sizes import format_seconds, format_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class _Line:
    """How one way of loading is drawn."""

    way: str
    name: str
    code: str
    colour: str
    width: float
    dashes: str
    marker: str


# What lies under another is drawn first, and wider.
_LINES = (
    _Line(
        SLOW,
        "uncommitted",
        "with jax.default_device(cpu): load_file(path)",
        "bad",
        3.4,
        "solid",
        "o",
    ),
    _Line("as-is", "on the accelerator", "load_file(path)", "plain", 1.6, "dashed", "s"),
    _Line(
        GOOD,
        "committed",
        "with jax.default_device(cpu): device_put(load_file(path), cpu)",
        "good",
        2.4,
        "solid",
        "o",
    ),
    _Line(BEST, "memory-mapped", "np.memmap, the next batch prefetched", "best", 2.4, "solid", "D"),
)


@dataclass(frozen=True)
class _Panel:
    """What one half of the drawing shows, and what it says beside its lines."""

    key: str
    title: str
    words: Callable[[float], str]
    ticks: Sequence[float]
    bad: str
    good: str


_PANELS = (
    _Panel(
        "item_seconds",
        "Time to get the next batch",
        format_seconds,
        [10.0**power for power in range(-7, 5)],
        "copies the whole dataset,\nfor every batch",
        "moves the batch only",
    ),
    _Panel(
        "peak_bytes_on_accelerator",
        "Accelerator memory in use, at most",
        lambda count: format_size(int(count)),
        [1024.0 * 16**power for power in range(10)],
        "room for the whole dataset",
        "room for a batch or two",
    ),
)
_HEIGHT_OF_LABEL = 0.115  # of a panel's height; a label has two lines


def svg(results: Sequence[DataPathResult], *, stacked: bool = False) -> str:
    """Return the drawing as an SVG element whose colours are the variables of `PALETTE`.

    Its text stays text, in the page's own font. `stacked`: one chart below the other, for a narrow
    page; its parts have other ids than those of the wide drawing.
    """
    import matplotlib as mpl

    stand_ins = {role: f"#{number:06x}" for number, role in enumerate(PALETTE, start=0x0A0B01)}
    buffer = io.StringIO()
    # The same run gives the same page, byte for byte.
    salt = "placement-lint, stacked" if stacked else "placement-lint"
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": salt}):
        drawing = _draw(results, stand_ins, stacked=stacked)
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        drawing.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    text = buffer.getvalue()
    for role, stand_in in stand_ins.items():
        text = text.replace(stand_in, f"var(--{role})")
    if stacked:
        text = re.sub(r'id="', 'id="stacked-', text)
        text = re.sub(r'(url\(#|href="#)', r"\1stacked-", text)
    text = text.replace("'DejaVu Sans', ", "").replace("DejaVu Sans", "inherit")
    return text[text.index("<svg") :]


def png(results: Sequence[DataPathResult]) -> bytes:
    """Return the drawing as a small picture for a light page, some 1,400 pixels wide."""
    from PIL import Image

    drawing = _draw(results, {role: light for role, (light, _) in PALETTE.items()})
    large, small = io.BytesIO(), io.BytesIO()
    drawing.savefig(large, format="png", dpi=120, facecolor="white")
    Image.open(large).convert("RGB").quantize(64).save(small, format="png", optimize=True)
    return small.getvalue()


def _draw(
    results: Sequence[DataPathResult], colours: Mapping[str, str], *, stacked: bool = False
) -> "Figure":
    from matplotlib.figure import Figure

    if stacked:
        drawing = Figure(figsize=(4.8, 8.6))
        both = drawing.subplots(2, 1)
        drawing.subplots_adjust(left=0.13, right=0.75, top=0.85, bottom=0.07, hspace=0.35)
    else:
        drawing = Figure(figsize=(11.5, 5))
        both = drawing.subplots(1, 2)
        drawing.subplots_adjust(left=0.065, right=0.885, top=0.79, bottom=0.12, wspace=0.54)
    for axes, panel in zip(both, _PANELS, strict=True):
        _draw_panel(axes, panel, results, colours)
    handles, labels = both[0].get_legend_handles_labels()
    drawing.legend(
        handles,
        labels,
        loc="upper left",
        bbox_to_anchor=(0.005, 1.0),
        ncols=1 if stacked else 2,
        frameon=False,
        fontsize=8.5 if stacked else 9.5,
        labelcolor=colours["ink"],
        handlelength=2.6,
        columnspacing=2.2,
    )
    return drawing


def _draw_panel(
    axes: "Axes", panel: _Panel, results: Sequence[DataPathResult], colours: Mapping[str, str]
) -> None:
    """Draw one number of every way against the size of the dataset."""
    drawn = [(line, *_points(results, line.way, panel.key)) for line in _LINES]
    drawn = [(line, xs, ys) for line, xs, ys in drawn if xs]
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    for line, xs, ys in drawn:
        axes.plot(
            xs,
            ys,
            color=colours[line.colour],
            linewidth=line.width,
            linestyle=line.dashes,
            marker=line.marker,
            markersize=5.5,
            label=line.code,
            gid=f"{panel.key}-{line.way}",
        )
    _dress(axes, panel, results, colours, [y for _, _, ys in drawn for y in ys])
    numbers = [ys for _, _, ys in drawn]
    slow = [ys for line, _, ys in drawn if line.way == SLOW]
    _remark(axes, panel.bad, colours["bad"], slow, numbers)
    flat = [ys[:1] for line, _, ys in drawn if line.way in {GOOD, BEST}]
    _remark(axes, panel.good, colours["soft"], flat, numbers)
    _label(axes, colours, [(line, ys[-1], panel.words(ys[-1])) for line, _, ys in drawn])


def _remark(
    axes: "Axes",
    text: str,
    colour: str,
    lines: Sequence[Sequence[float]],
    numbers: Sequence[Sequence[float]],
) -> None:
    """Write what lines mean, from the left, as high as the highest of them is in its middle.

    numbers: of all lines. The text goes above those that would run through it.
    """
    if not lines:
        return
    height = max(ys[len(ys) // 2] for ys in lines)
    behind = (y for ys in numbers for y in ys[: len(ys) // 2 + 1])
    height = max(height, *(y for y in behind if height <= y <= 4 * height))
    axes.annotate(
        text,
        (axes.get_xlim()[0], height),
        xytext=(12, 7),
        textcoords="offset points",
        va="bottom",
        color=colour,
        fontsize=9.5,
        fontstyle="italic",
        annotation_clip=False,
    )


def _points(
    results: Sequence[DataPathResult], way: str, key: str
) -> tuple[list[float], list[float]]:
    """Return sizes and numbers of a way; what is not known, or nothing, has no place on log
    axes.
    """
    known = [
        (float(result.size), float(value[key]))
        for result in results
        for value in result.ways
        if value["way"] == way and value[key]
    ]
    return [size for size, _ in known], [number for _, number in known]


def _dress(
    axes: "Axes",
    panel: _Panel,
    results: Sequence[DataPathResult],
    colours: Mapping[str, str],
    numbers: Sequence[float],
) -> None:
    """Return the axes their ticks in words, a quiet grid and their names."""
    sizes = sorted({float(result.size) for result in results})
    if numbers:
        axes.set_ylim(min(numbers) / 4, max(numbers) * 4)
    low, high = axes.get_ylim()
    shown = [tick for tick in panel.ticks if low <= tick <= high]
    axes.set_yticks(shown, [panel.words(tick).replace(".00 s", " s") for tick in shown])
    axes.set_xticks(sizes, [format_size(int(size)) for size in sizes])
    axes.set_xlim(sizes[0] / 1.5, sizes[-1] * 1.5)
    axes.minorticks_off()
    axes.grid(visible=True, axis="y", color=colours["grid"], linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(colours["grid"])
    axes.tick_params(length=0, labelcolor=colours["soft"], labelsize=10, pad=6)
    axes.set_xlabel("size of the dataset", color=colours["soft"], fontsize=10, labelpad=6)
    axes.set_title(
        panel.title, loc="left", color=colours["ink"], fontsize=12.5, fontweight="bold", pad=10
    )


def _label(
    axes: "Axes", colours: Mapping[str, str], labels: Sequence[tuple[_Line, float, str]]
) -> None:
    """Write at each line's end what it comes to and its name, moved apart where they overlap."""
    to_panel = axes.transData + axes.transAxes.inverted()
    x_end = axes.get_xlim()[1]
    wanted = sorted(
        ((float(to_panel.transform((x_end, y))[1]), line, words) for line, y, words in labels),
        key=lambda item: (item[0], item[1].way),
    )
    for height, (_, line, words) in zip(_apart([item[0] for item in wanted]), wanted, strict=True):
        for text, weight, side in ((words, "bold", "bottom"), (line.name, "normal", "top")):
            axes.annotate(
                text,
                (1.015, height),
                xycoords="axes fraction",
                va=side,
                color=colours[line.colour],
                fontsize=9.5,
                fontweight=weight,
                annotation_clip=False,
            )


def _apart(heights: Sequence[float]) -> list[float]:
    """Move rising heights up, as little as needed, so that labels do not touch; then all down."""
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + _HEIGHT_OF_LABEL) if placed else height)
    moved = (sum(placed) - sum(heights)) / len(heights) if heights else 0.0
    # Half the way back keeps a crowd around where it belongs.
    return [height - moved / 2 for height in placed]


def captions(results: Sequence[DataPathResult]) -> dict[str, Any]:
    """Return the numbers of the largest size that the page's headline names; empty without any."""
    whole = [result for result in results if result.ratio is not None]
    if not whole:
        return {}
    largest = max(whole, key=lambda result: result.size)
    seconds = {str(value["way"]): float(value["item_seconds"]) for value in largest.ways}
    return {
        "size": format_size(largest.size),
        "slow": format_seconds(seconds[SLOW]),
        "good": format_seconds(seconds[GOOD]),
        "ratio": f"{seconds[SLOW] / seconds[GOOD]:,.0f}",
    }
