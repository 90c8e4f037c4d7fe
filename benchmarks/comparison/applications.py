"""`python benchmarks/applications.py`: whole repositories, beside LibCST and mypy."""

from __future__ import annotations

import argparse
import datetime as dt
import json
import statistics
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.comparison import command, report
from benchmarks.comparison.measure import Cost, FailedError, cost_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from benchmarks.comparison.tools import Installed

KEPT = command.REPOSITORY / "benchmarks" / "applications.json"
_MYPY = "mypy==2.4.1"
_LIMITED = 'ulimit -t "$1"; said=$2; shift 2; exec "$@" > "$said"'
"""A process that takes longer is killed; what it prints is kept."""
_NOT_DONE = "JDP900"
_LEAST = 3.0
"""Seconds that a run may take however few lines mention jax."""
_MOST_BY_LINES, _MOST_BY_MYPY, _MOST_MEMORY = 1.0, 1.5, 400e6


@dataclass(frozen=True)
class Measured:
    """The medians of one tool: seconds of processor time, and bytes of the largest process."""

    cpu: float
    peak: float


@dataclass(frozen=True)
class Application:
    """What the tools took on one repository; None where they did not come to an end."""

    name: str
    files: int
    """Of Python, that mention jax."""
    lines: int
    """In these."""
    ours: Measured | None
    left: int
    """The files that we did not check to the end."""
    parse: Measured | None
    mypy: Measured | None

    @property
    def to_parse(self) -> float | None:
        """Our time as a multiple of LibCST's."""
        return self.ours.cpu / self.parse.cpu if self.ours and self.parse else None

    @property
    def to_mypy(self) -> float | None:
        """Our time as a multiple of mypy's."""
        return self.ours.cpu / self.mypy.cpu if self.ours and self.mypy else None

    @property
    def missed(self) -> tuple[str, ...]:
        """The bars that are not met."""
        if self.ours is None or self.left:
            return ("done",)
        few = self.ours.cpu <= _LEAST
        found = {
            "LibCST": not few and (self.to_parse or 0) > _MOST_BY_LINES,
            "mypy": (self.to_mypy or 0) > _MOST_BY_MYPY,
            "memory": self.ours.peak > _MOST_MEMORY,
        }
        return tuple(name for name, is_missed in found.items() if is_missed)


@dataclass(frozen=True)
class Applications:
    """One run over some repositories."""

    date: str
    machine: str
    rounds: int
    limit: int
    applications: tuple[Application, ...]


def read(path: Path) -> Applications | None:
    """Give the numbers that are kept in a file; None where there is none."""
    if not path.is_file():
        return None
    data = json.loads(path.read_text(encoding="utf-8"))

    def measured(found: dict[str, float] | None) -> Measured | None:
        return None if found is None else Measured(**found)

    tools = ("ours", "parse", "mypy")
    data["applications"] = tuple(
        Application(**{**each, **{tool: measured(each[tool]) for tool in tools}})
        for each in data["applications"]
    )
    return Applications(**data)


def part(done: Applications | None) -> str:
    """Give the part of the page that is about repositories."""
    if done is None:
        return ""
    limit = f"more than {done.limit} s"

    def seconds(found: Measured | None) -> str:
        return limit if found is None else report.seconds(found.cpu)

    def times(found: float | None) -> str:
        return "" if found is None else f"{found:.2f} x"

    rows = [
        (
            each.name,
            f"{each.lines:,}",
            seconds(each.ours),
            f"{each.ours.peak / 1e6:.0f} MB" if each.ours else "",
            str(each.left),
            seconds(each.parse),
            times(each.to_parse),
            "not done" if each.mypy is None else seconds(each.mypy),
            times(each.to_mypy),
            f"**{', '.join(each.missed)}**" if each.missed else "",
        )
        for each in done.applications
    ]
    tools = ("LibCST", "times", "mypy", "times")
    head = ("repository", "lines with jax", "cold", "memory", "files not done", *tools, "missed")
    return "\n".join(
        [
            "\n## Repositories\n",
            f"Measured on {done.date} by `python benchmarks/applications.py`, on {done.machine}.",
            f"Processor time, medians (rounds: {done.rounds}). placement-lint ran without a cache",
            "and with `-j 1`; LibCST parsed all files that mention jax; mypy ran without a cache,",
            "with `--ignore-missing-imports` and without libraries. Where mypy is not done, it",
            "stopped at once, because of names that are no valid module names. The last column has",
            "the targets that are missed: no more time than LibCST (or 3 s) and than 1.5 x mypy,",
            "no more than 400 MB, and every file checked.\n",
            *report.table(head, rows),
            "",
        ]
    )


def summary(done: Applications | None) -> str:
    """Give what the README shows of repositories: the first run over each."""
    if done is None:
        return ""
    rows = [
        (
            each.name,
            f"{each.lines:,}",
            report.seconds(each.ours.cpu) if each.ours else f"more than {done.limit} s",
            f"{each.ours.peak / 1e6:.0f} MB" if each.ours else "",
            report.seconds(each.parse.cpu) if each.parse else "",
            "no" if each.missed else "yes",
        )
        for each in done.applications
    ]
    head = (
        "application",
        "lines with jax",
        "processor",
        "memory",
        "LibCST's parse",
        "targets met",
    )
    return "\n".join(
        [
            f"First runs over applications, on {done.date} on {done.machine}, with",
            "`-j 1` ([record](benchmarks/applications.json)):",
            "",
            *report.table(head, rows),
        ]
    )


def main(arguments: Sequence[str]) -> int:
    """Run the command and give its exit code: 1 where a bar is not met."""
    parser = argparse.ArgumentParser(prog="benchmarks/applications.py", description=__doc__)
    parser.add_argument("directory", type=Path, help="folder with one repository in each folder")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="these repositories")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each tool (default: 3)")
    parser.add_argument(
        "--limit", type=int, default=300, help="seconds for each process (default: 300)"
    )
    parser.add_argument(
        "--work",
        type=Path,
        default=command.REPOSITORY / ".benchmarks",
        help="folder for the environment of the tools (default: .benchmarks)",
    )
    args = parser.parse_args(arguments)
    work = args.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    runs = _Runs(command.install(work / "venv", _MYPY), work, args.limit, args.rounds)
    tops = [top for top in sorted(args.directory.resolve().iterdir()) if top.is_dir()]
    done: list[Application] = []
    for top in tops:
        if args.only is None or top.name in args.only:
            done.append(runs.application(top))
            date = dt.datetime.now(dt.timezone.utc).date().isoformat()
            found = Applications(date, command.machine(), args.rounds, args.limit, tuple(done))
            # After each: what is measured is kept when somebody ends the run.
            KEPT.write_text(json.dumps(asdict(found), indent=1) + "\n", encoding="utf-8")
    from benchmarks.comparison import publish

    publish.publish(command.KEPT, command.REPOSITORY)
    return int(any(each.missed for each in done))


class _Runs:
    """The tools, with their limits."""

    def __init__(self, installed: Installed, work: Path, limit: int, rounds: int) -> None:
        self._installed = installed
        self._said = work / "said.txt"
        self._listed = work / "with-jax.txt"
        self._limit = limit
        self._rounds = rounds

    def application(self, top: Path) -> Application:
        """Measure the tools on one repository, in turns."""
        paths = [path for path in sorted(top.rglob("*.py")) if b"jax" in path.read_bytes()]
        self._listed.write_text("\n".join(map(str, paths)), encoding="utf-8")
        ours = [self._installed.program("placement-lint"), "check", str(top), "--isolated", "-q"]
        ours += ["--exit-zero", "--no-cache", "-j", "1", "--output-format", "flake8"]
        # Scripts of the same name are different modules by the folders that they are in.
        mypy = [self._installed.program("mypy"), ".", "--ignore-missing-imports"]
        mypy += ["--explicit-package-bases", "--config-file=", "--cache-dir=/dev/null"]
        costs: dict[str, list[Cost | None]] = {"ours": [], "parse": [], "mypy": []}
        left = 0
        for _ in range(self._rounds):
            costs["ours"].append(self._cost(ours, top, {0}))
            left = max(left, self._said.read_text(encoding="utf-8").count(f" {_NOT_DONE} "))
            parsing = self._installed.child("parsing", str(self._listed))
            costs["parse"].append(self._cost(parsing, top, {0}))
            costs["mypy"].append(self._cost(mypy, top, {0, 1}))
        found = {name: _median(each) for name, each in costs.items()}
        lines = sum(path.read_bytes().count(b"\n") for path in paths)
        print(top.name, found, left, file=sys.stderr)
        return Application(top.name, len(paths), lines, left=left, **found)

    def _cost(self, words: Sequence[str], top: Path, allowed: Collection[int]) -> Cost | None:
        limited = ["sh", "-c", _LIMITED, "sh", str(self._limit), str(self._said), *words]
        try:
            return cost_of(limited, top, self._installed.environment, allowed)
        except FailedError as error:
            print(error, file=sys.stderr)
            return None


def _median(costs: Sequence[Cost | None]) -> Measured | None:
    done = [cost for cost in costs if cost is not None]
    if len(done) < len(costs) or not done:
        return None
    cpu = statistics.median(cost.cpu for cost in done)
    return Measured(round(cpu, 3), statistics.median(cost.peak for cost in done))
