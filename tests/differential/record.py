"""A recorded run: so many random programs of every level, and what came of them, as JSON.

The format is fixed, so that records of different days can be compared: `version` says which one it
is, and a reader refuses another. A record says with which versions of what it was made.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from tests import records
from tests.differential.analysis import analyse
from tests.differential.compare import (
    ELSEWHERE,
    FAILED,
    FALSE_DEFINITE,
    MISSED,
    NOT_ALWAYS,
    Comparison,
    compare,
)
from tests.differential.oracle_client import OracleClient, OracleError
from tests.differential.programs import LEVELS, random_program
from tests.records import RECORDS, in_parallel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

VERSION = 1
_SUFFIX = "-random-programs.json"
_BATCH = 25
_MAX_SHOWN = 100

_WHATS = {
    FALSE_DEFINITE: "false_definite", NOT_ALWAYS: "not_always", MISSED: "missed",
    ELSEWHERE: "misplaced", FAILED: "failed",
}  # fmt: skip


@dataclass
class Level:
    """What came of the programs of one level."""

    level: int
    programs: int = 0
    disagreeing: int = 0
    """Programs with at least one disagreement."""
    false_definite: int = 0
    """Definite alarms where nothing moved in any run."""
    not_always: int = 0
    """Definite alarms that a run came by without a move."""
    missed: int = 0
    """Moves of operands of which the analyser says that they are known, and do not move."""
    misplaced: int = 0
    """Operands that were on another device, or otherwise committed, than the analyser says."""
    failed: int = 0
    """Findings about the analyser itself."""
    uses: int = 0
    """Operands whose placement matters, each counted once for a program."""
    unknown: int = 0
    moves: int = 0
    found: int = 0
    by_choice: int = 0
    unattributed: int = 0
    alarms: int = 0
    false_likely: int = 0
    runs: int = 0
    cut: int = 0
    """Runs that an error of the program ended."""
    errors: Counter[str] = field(default_factory=Counter)

    @property
    def unknown_share(self) -> float:
        """The share of operands of which the analyser does not know where they are."""
        return self.unknown / max(self.uses, 1)

    def add(self, more: Level | Comparison) -> None:
        """Add the counts of another batch, or of one program."""
        records.add_counts(self, more, key="level")


@dataclass(frozen=True)
class Shown:
    """One disagreement, with what makes its program again."""

    level: int
    program: int
    what: str


@dataclass
class Record:
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


def run(
    programs: int, seed: int, jobs: int, levels: Sequence[int] = LEVELS,
    progress: Callable[[int, int], None] | None = None,
    say: Callable[[Shown], None] | None = None,
) -> Record:  # fmt: skip
    """Run so many programs, an equal share of each level, in parallel.

    Each disagreement is said as soon as it and all before it are known.
    """
    started = time.monotonic()
    share = -(-programs // len(levels))
    # Numbers far apart, so that runs with different seeds have no programs in common.
    first = seed * 1_000_000
    batches = [
        (level, range(first + start, first + min(start + _BATCH, share)))
        for start in range(0, share, _BATCH)
        for level in levels
    ]
    total = {level: Level(level) for level in levels}
    shown: list[Shown] = []
    for counts, found in in_parallel(batches, _batch, _start_oracle, jobs, progress):
        total[counts.level].add(counts)
        shown += found
        if say is not None:
            for each in found:
                say(each)
    return Record(
        seed,
        list(total.values()),
        shown[:_MAX_SHOWN],
        **records.circumstances(started, jobs),
    )


_oracle: OracleClient | None = None


def _start_oracle(cache: str) -> None:
    global _oracle  # noqa: PLW0603
    _oracle = OracleClient(cache)


def _batch(batch: tuple[int, range]) -> tuple[Level, list[Shown]]:
    """Run some programs in this process, with its own oracle."""
    assert _oracle is not None
    level, numbers = batch
    counts, shown = Level(level), []
    for number in numbers:
        comparison = compared(_oracle, level, number)
        counts.add(comparison)
        counts.programs += 1
        counts.disagreeing += bool(comparison.disagreements)
        for each in comparison.disagreements:
            name = _WHATS[each.what]
            setattr(counts, name, getattr(counts, name) + 1)
            shown.append(Shown(level, number, str(each)))
    return counts, shown


def compared(oracle: OracleClient, level: int, number: int) -> Comparison:
    """Run one program, by its number. Raises OracleError, which then says which one it was."""
    modules = random_program(number, level)
    try:
        return compare(modules, analyse(modules), oracle.run(modules, seeds_of(number)))
    except OracleError as error:
        raise OracleError(f"program {number} of level {level}: {error}") from error


def seeds_of(number: int) -> list[int]:
    """Give the seeds of the inputs with which a program is run: all yes, all no, and mixed."""
    return [0, 1, number % 1_000_000 + 2]


# -- reading and writing -------------------------------------------------------------------------


def as_json(record: Record) -> str:
    """Give the text of a record."""
    # Not `asdict`, which makes a counter anew from its pairs.
    levels = [
        {
            **vars(level),
            "errors": dict(sorted(level.errors.items())),
            "unknown_share": round(level.unknown_share, 4),
        }
        for level in record.levels
    ]
    disagreements = [asdict(each) for each in record.disagreements]
    parts = {"levels": levels, "disagreements": disagreements}
    return records.as_json(record, VERSION, {}, parts)


def write(record: Record, folder: Path) -> Path:
    """Write a record: one for a day."""
    return records.write(as_json(record), record.date, _SUFFIX, folder)


def read(path: Path) -> Record:
    """Read a record. Raises ValueError for another format, or counts that do not add up."""
    whole = records.read(path, VERSION)
    levels = []
    for counts in whole["levels"]:
        said = counts.pop("unknown_share")
        level = Level(**{**counts, "errors": Counter(counts["errors"])})
        if abs(level.unknown_share - said) > 0.0001:
            raise ValueError(f"{path}: the share of unknown of level {level.level} is not {said}")
        levels.append(level)
    record = Record(
        whole["seed"], levels, [Shown(**each) for each in whole["disagreements"]],
        **records.circumstances_of(whole),
    )  # fmt: skip
    if record.programs != whole["programs"]:
        raise ValueError(f"{path}: {record.programs} programs, not {whole['programs']}")
    return record


def newest(folder: Path = RECORDS) -> Path | None:
    """Give the newest record, by its date."""
    return records.newest(_SUFFIX, folder)


def summary(record: Record) -> Iterator[str]:
    """Give the record as lines for a reader."""
    yield f"{record.programs} programs in {record.seconds:.0f} s with {record.jobs} jobs"
    for level in record.levels:
        yield (
            f"level {level.level}: {level.programs} programs, {level.false_definite} false "
            f"definite, {level.not_always} not always, {level.missed} missed, "
            f"{level.misplaced} misplaced, {level.failed} failed; {level.unknown_share:.1%} of "
            f"{level.uses} uses unknown; {level.moves} moves, {level.found} found, "
            f"{level.by_choice} by choice; {level.alarms} alarms, {level.false_likely} likely ones "
            f"where nothing moved; {level.cut} of {level.runs} runs cut"
        )
