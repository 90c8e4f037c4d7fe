"""What the numbers say: the bars, and the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.comparison import tools
from benchmarks.comparison.trees import LONG_FILE, MONOREPO, PACKAGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.comparison.results import Results, Row, Tree

BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"
PICTURE = "benchmarks/results.svg"
_HOW = """\
All tools ran on the same files in the same run, in turns; the numbers are medians of the rounds.
Memory is that of the largest process. Runs of under 5 s had more rounds, and those of flake8 and
Fixit, which are slow, fewer. ruff, flake8 and Fixit use all processors, as they do by default, and
so does placement-lint where no `-j` is named. The one file that changes is another at each turn.
"""


@dataclass(frozen=True)
class Bar:
    """What is demanded of one number."""

    what: str
    value: float
    bar: float
    unit: str
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether it is as demanded."""
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Its row in the table."""
        sign = "≥" if self.at_least else "≤"
        return (
            self.what,
            f"{sign} {_number(self.bar)}{self.unit}",
            f"{_number(self.value)}{self.unit}",
            "yes" if self.met else "**no**",
        )


def bars(results: Results) -> list[Bar]:
    """Give every bar that the numbers can answer."""
    return [
        *_of_packages(results.tree(PACKAGES)),
        *_of_monorepo(results.tree(MONOREPO)),
        *(bar for tree in results.trees for bar in _warm(tree)),
        *_of_start(results),
        *_of_growth(results),
    ]


def _of_packages(tree: Tree | None) -> Iterator[Bar]:
    if tree is None:
        return
    floor, cold_1 = tree.row(tools.PARSING), tree.row(tools.OURS_COLD_1)
    if floor and cold_1:
        what = "packages, cold: processor time against LibCST's parse of what mentions jax"
        yield Bar(what, cold_1.median_cpu / floor.median_cpu, 0.35, " x")
    cold, ruff, flake8 = (
        tree.row(name) for name in (tools.OURS_COLD_2, tools.RUFF_COLD, tools.FLAKE8)
    )
    if cold and ruff:
        ratio = cold.median_wall / ruff.median_wall
        yield Bar("packages, cold: wall time against ruff's", ratio, 20, " x")
    if cold and flake8:
        ratio = flake8.median_wall / cold.median_wall
        yield Bar("packages, cold: times faster than flake8", ratio, 9, " x", at_least=True)


def _of_monorepo(tree: Tree | None) -> Iterator[Bar]:
    if tree is None:
        return
    cold_1, cold, ruff = (
        tree.row(name) for name in (tools.OURS_COLD_1, tools.OURS_COLD_2, tools.RUFF_COLD)
    )
    if cold and ruff:
        ratio = cold.median_wall / ruff.median_wall
        yield Bar("10,000 files, cold: wall time against ruff's", ratio, 6, " x")
    if cold_1:
        yield Bar("10,000 files, cold: memory", cold_1.median_peak / 1e6, 250, " MB")


def _warm(tree: Tree) -> Iterator[Bar]:
    warm, ruff = tree.row(tools.OURS_WARM), tree.row(tools.RUFF_WARM)
    if warm and ruff:
        ratio = warm.median_wall / ruff.median_wall
        yield Bar(f"{tree.name}, warm: wall time against ruff's", ratio, 1, " x")


def _of_start(results: Results) -> Iterator[Bar]:
    bare = results.started(tools.PASS)
    if bare is None:
        return
    for name in (tools.VERSION, tools.HELP, tools.RULE):
        row = results.started(name)
        if row:
            ratio = row.median_wall / bare.median_wall
            yield Bar(f"`placement-lint {name}` against `python -c pass`", ratio, 2, " x")
    for name, bar in ((tools.HOOK_PLAIN, 60), (tools.HOOK_JAX, 250)):
        row = results.started(name)
        if row:
            more = 1000 * (row.median_wall - bare.median_wall)
            yield Bar(f"{name}, over `python -c pass`", more, bar, " ms")


def _of_growth(results: Results) -> Iterator[Bar]:
    if results.growth:
        worst = max(each.ratio for each in results.growth)
        yield Bar("growth of the time with a file 10 times as long, at worst", worst, 12, " x")


def page(results: Results) -> str:
    """Give the page of the results, as Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    parts = [
        "# What it costs\n",
        f"Measured on {results.date} by `python benchmarks/peers.py`, which writes this page.",
        f"{results.machine}. {versions}.\n",
        _HOW,
        f"![Bars of the wall time of each tool on each tree.]({_beside(PICTURE)})\n",
        "## Bars\n",
        *table(("what", "bar", "measured", "met"), [bar.cells for bar in bars(results)]),
    ]
    for tree in results.trees:
        parts += ["", f"## {_title(tree)}\n", *_rows(tree.rows, "s")]
    if results.start_up:
        parts += ["", "## Starting\n", *_rows(results.start_up, "ms")]
    if results.growth:
        cells = [(each.shape, f"{each.ratio:.1f}") for each in results.growth]
        parts += ["", "## Growth of the time with ten times the text\n"]
        parts += table(("shape", "times"), cells)
    return "\n".join(parts) + "\n"


def summary(results: Results, repositories: str = "") -> str:
    """Give what the README says between its markers.

    That is a picture and a table of all trees, the targets that are missed, and what is measured of
    `repositories`.
    """
    tree = results.tree(PACKAGES)
    if tree is None:
        return ""
    others = [each for each in results.trees if each is not tree]
    files, lines = tree.size.files, tree.size.lines
    order = (
        tools.OURS_COLD_2,
        tools.OURS_WARM,
        tools.RUFF_COLD,
        tools.RUFF_WARM,
        tools.FLAKE8,
        tools.FIXIT,
    )
    rows = [row for row in map(tree.row, order) if row is not None]
    cells = [
        (
            row.tool,
            *(seconds(row.median_wall), seconds(row.median_cpu), _memory(row)),
            *(seconds(at.median_wall) if (at := each.row(row.tool)) else "" for each in others),
        )
        for row in rows
    ]
    head = ("", "packages: wall", "processor", "memory", *map(_column, others))
    missed = [
        f"- {bar.what}: {bar.cells[2]} (target {bar.cells[1]})"
        for bar in bars(results)
        if not bar.met
    ]
    return "\n".join(
        [
            f"![Bars of the wall time of each tool on each tree.]({PICTURE})",
            "",
            f"Measured on {results.date} on {results.machine} ([record](benchmarks/results.json)).",
            f"The [packages](benchmarks/packages.txt) have {files:,} files of {lines:,} lines.",
            "",
            *table(head, cells),
            "",
            *(["Missed targets:", "", *missed] if missed else ["All targets are met."]),
            *(["", repositories] if repositories else []),
        ]
    )


def _column(tree: Tree) -> str:
    size = tree.size
    files = "one file" if size.files == 1 else f"{size.files:,} files"
    return f"{files}, {size.lines:,} lines: wall"


def with_summary(readme: str, results: Results | None, repositories: str = "") -> str:
    """Give the README with what the results say between its markers: nothing without any."""
    head, _, rest = readme.partition(BEGIN)
    _, _, tail = rest.partition(END)
    text = summary(results, repositories) if results is not None else ""
    return f"{head}{BEGIN}\n{text}{chr(10) if text else ''}{END}{tail}"


def _title(tree: Tree) -> str:
    what = {
        PACKAGES: "packages of the JAX ecosystem",
        MONOREPO: "a repository of which 2 % mention jax, written by a program",
        LONG_FILE: "one file",
    }.get(tree.name, tree.name)
    size = tree.size
    return (
        f"{what[0].upper()}{what[1:]}: {size.files:,} files, {size.lines:,} lines, of which "
        f"{size.jax_lines:,} in files that mention jax; parsed are files of "
        f"{size.parsed_lines:,} lines"
    )


def _rows(rows: tuple[Row, ...], unit: str) -> list[str]:
    def time(wall: float) -> str:
        return f"{1000 * wall:.1f} ms" if unit == "ms" else seconds(wall)

    cells = [
        (
            row.tool,
            time(row.median_wall),
            f"{time(min(row.wall))} to {time(max(row.wall))}",
            time(row.median_cpu),
            _memory(row),
            str(row.rounds),
        )
        for row in rows
    ]
    return table(("", "wall", "least to most", "processor", "memory", "rounds"), cells)


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Give the lines of a table; all columns but the first are numbers."""
    columns = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    rule = "|" + "|".join(["---", *["--:"] * (len(head) - 1)]) + "|"
    return [columns[0], rule, *columns[1:]]


def seconds(found: float) -> str:
    """Write a time as the tables have it."""
    return f"{found:.2f} s" if found < 10 else f"{found:.0f} s"


def _memory(row: Row) -> str:
    return f"{row.median_peak / 1e6:.0f} MB"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.2f}"


def _beside(path: str) -> str:
    return path.rpartition("/")[2]
