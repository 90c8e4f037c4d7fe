"""Run random programs with meshes, all levels, in parallel; keep a record of what came of them.

`python -m tests.differential.mesh_record --programs 10000 --seed 3 --record`. With `--python`, the
JAX of another environment is asked, which needs safetensors beside it.
"""

from __future__ import annotations

import functools
import math
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from tests import records
from tests.differential.analysis import analyse
from tests.differential.compare import FALSE_DEFINITE
from tests.differential.mesh_client import MeshClient
from tests.differential.mesh_compare import (
    ELSEWHERE,
    MISSED,
    NOT_SPREAD,
    MeshComparison,
    compare_meshes,
)
from tests.differential.mesh_oracle import ACCELERATORS
from tests.differential.mesh_programs import random_program
from tests.differential.programs import LEVELS
from tests.differential.record import Shown, seeds_of

if TYPE_CHECKING:
    from pathlib import Path

VERSION = 1
SUFFIX = "-mesh-programs.json"
_BATCH = 10
_MAX_SHOWN = 100
_WHATS = {ELSEWHERE: "misplaced", NOT_SPREAD: "not_spread", MISSED: "missed"}


@dataclass
class Level:
    """What came of the programs of one level; the fields are those of `MeshComparison`, summed."""

    level: int
    programs: int = 0
    disagreeing: int = 0
    """Programs with at least one disagreement."""
    misplaced: int = 0
    """Expressions whose arrays were elsewhere than the analyser says."""
    not_spread: int = 0
    """Operands that it says to be copied to a mesh, and that were not."""
    missed: int = 0
    """Copies to a mesh of operands that it says to stay."""
    false_definite: int = 0
    """Definite alarms of the rules of single devices where nothing moved in any run."""
    other: int = 0
    """All else that disagrees by the comparison of single devices."""
    places: int = 0
    unknown: int = 0
    on_meshes: int = 0
    known_meshes: int = 0
    known_specs: int = 0
    copies: int = 0
    found: int = 0
    unsure: int = 0
    runs: int = 0
    cut: int = 0
    errors: Counter[str] = field(default_factory=Counter)

    def add(self, more: Level | MeshComparison) -> None:
        """Add the counts of another batch, or of one program."""
        records.add_counts(self, more, key="level")


@dataclass
class MeshRecord:
    """A whole run."""

    seed: int
    levels: list[Level]
    disagreements: list[Shown]
    date: str
    seconds: float
    jobs: int
    tools: dict[str, str]
    source: str
    """A digest of the analyser that was run."""

    @property
    def programs(self) -> int:
        """How many programs were run."""
        return sum(level.programs for level in self.levels)


_client: MeshClient | None = None


def _start(python: str, _: str) -> None:
    global _client  # noqa: PLW0603
    # An oracle keeps what is compiled: to read it from files takes longer.
    _client = MeshClient(python=python)


def compared(client: MeshClient, level: int, number: int) -> MeshComparison:
    """Run one program, by its number."""
    modules = random_program(number, level)
    with ThreadPoolExecutor(1) as beside:
        # The oracle is another process: it runs the program while this one analyses it.
        runs = beside.submit(client.watch, modules, seeds_of(number))
        analysis = analyse(modules, host=ACCELERATORS)
        return compare_meshes(modules, analysis, runs.result())


def _batch(batch: tuple[int, range]) -> tuple[Level, list[Shown]]:
    assert _client is not None
    level, numbers = batch
    counts, shown = Level(level), []
    for number in numbers:
        comparison = compared(_client, level, number)
        counts.add(comparison)
        counts.programs += 1
        counts.disagreeing += bool(comparison.disagreements)
        for each in comparison.disagreements:
            kind = each.what.partition(" (")[0]
            name = "false_definite" if kind == FALSE_DEFINITE else _WHATS.get(kind, "other")
            setattr(counts, name, getattr(counts, name) + 1)
            shown.append(Shown(level, number, str(each)))
    return counts, shown


def run(
    programs: int, seed: int, jobs: int, python: str = sys.executable, minutes: float = math.inf
) -> MeshRecord:
    """Run so many programs, an equal share of each level, in parallel, or those for which there is
    time.
    """
    started = time.monotonic()
    share, first = -(-programs // len(LEVELS)), seed * 1_000_000
    batches = [
        (level, range(first + start, first + min(start + _BATCH, share)))
        for start in range(0, share, _BATCH)
        for level in LEVELS
    ]
    total = {level: Level(level) for level in LEVELS}
    shown: list[Shown] = []
    begin = functools.partial(_start, python)
    for counts, found in records.in_parallel(batches, _batch, begin, jobs, records.say_progress):
        total[counts.level].add(counts)
        shown += found
        for each in found:
            print(f"program {each.program} of level {each.level}: {each.what}", flush=True)
        if time.monotonic() - started > minutes * 60:
            break
    made = {**records.circumstances(started, jobs), "tools": records.tools_of(python)}
    return MeshRecord(seed, list(total.values()), shown[:_MAX_SHOWN], **made)


def as_json(record: MeshRecord) -> str:
    """Give the text of a record."""
    levels = [{**vars(each), "errors": dict(sorted(each.errors.items()))} for each in record.levels]
    shown = [asdict(each) for each in record.disagreements]
    return records.as_json(record, VERSION, {}, {"levels": levels, "disagreements": shown})


def read(path: Path) -> MeshRecord:
    """Read a record. Raises ValueError for another format, or counts that do not add up."""
    whole = records.read(path, VERSION)
    levels = [Level(**{**each, "errors": Counter(each["errors"])}) for each in whole["levels"]]
    shown = [Shown(**each) for each in whole["disagreements"]]
    record = MeshRecord(whole["seed"], levels, shown, **records.circumstances_of(whole))
    if record.programs != whole["programs"]:
        raise ValueError(f"{path}: {record.programs} programs, not {whole['programs']}")
    return record


def main() -> int:
    """Run as the options say."""
    parser = records.parser("tests.differential.mesh_record", __doc__, "how many at most")
    parser.add_argument("--minutes", type=float, default=math.inf, help="after which it ends")
    parser.add_argument(
        "--python", default=sys.executable, metavar="PATH",
        help="of another environment; its record is named for its JAX (%(default)s)",
    )  # fmt: skip
    options = parser.parse_args()
    record = run(options.programs, options.seed, options.jobs, options.python, options.minutes)
    for level in record.levels:
        print(vars(level))
    if options.record is not None:
        jax = record.tools["jax"]
        suffix = SUFFIX if jax == records.tools()["jax"] else f"-jax-{jax}{SUFFIX}"
        print(records.write(as_json(record), record.date, suffix, options.record))
    return 1 if any(level.disagreeing for level in record.levels) else 0


if __name__ == "__main__":
    sys.exit(main())
