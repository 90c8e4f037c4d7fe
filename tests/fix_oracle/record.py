"""A recorded run: so many programs, fixed and run, and what came of it, as JSON.

`record.schema.json` says what is in it. A reader refuses a record of another version, and one whose
counts do not add up.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from tests import records
from tests.differential.oracle_client import OracleError
from tests.fix_oracle.client import WatchClient
from tests.fix_oracle.examine import CUT, NOT_STARTED, NOTHING_FIXED, RAN, CheckedFile, examine
from tests.fix_oracle.judge import (
    BROKEN,
    CHANGED,
    COMMITTED,
    COPIED,
    DISPLACED,
    FINDING,
    LEFT,
    MOVED,
    PRINTED,
    RAISED,
    VALUE,
)
from tests.fix_oracle.sources import (
    FAMILIES,
    GENERATORS,
    TOO_LARGE,
    WRITTEN,
    Program,
    fixture_programs,
    own_programs,
    program_named,
    random_programs,
    written_programs,
)
from tests.records import RECORDS, in_parallel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

VERSION = 1
SUFFIX = "-fixes.json"
_BATCH = 20
_MAX_SHOWN = 200

NAMES = {
    MOVED: "moved", CHANGED: "changed", DISPLACED: "displaced", COMMITTED: "committed",
    VALUE: "value", PRINTED: "printed", RAISED: "raised", LEFT: "copy_left", COPIED: "copied",
    FINDING: "new_finding", BROKEN: "broken",
}  # fmt: skip
"""What each verdict is called in a record."""

_STATES = {RAN: "ran", CUT: "raised_before", NOT_STARTED: "not_run", NOTHING_FIXED: "nothing_fixed"}


@dataclass
class Family:
    """What came of the programs of one family."""

    family: str
    programs: int = 0
    nothing_fixed: int = 0
    """Programs in which there is nothing to fix."""
    not_run: int = 0
    """Fixed programs that cannot run by themselves."""
    raised_before: int = 0
    """Fixed programs that raise before they are fixed too: compared up to there."""
    ran: int = 0
    """Fixed programs that run to their end."""
    wrong: int = 0
    """Programs that a fix made something of that it must not."""
    placing: int = 0
    """Ways to fix a program by a rule that is there to place arrays: where is not compared."""
    operations: int = 0
    """Operations that ran on the same device, or should have."""
    exempt: int = 0
    """Of these, the ones that index an array where the fix committed it."""
    arrays: int = 0
    leftovers: int = 0
    """Of these, the last values of loops that nothing reads, on another device."""
    copies: int = 0
    """Implicit copies that the findings spoke of, and that were made before."""
    said: int = 0
    """Operations and arrays that are elsewhere, as the message of an unsafe fix says."""
    cut: int = 0
    """Runs too long to be seen whole."""
    safe: Counter[str] = field(default_factory=Counter)
    """Findings fixed by `--fix`, by code."""
    unsafe: Counter[str] = field(default_factory=Counter)
    """Findings fixed by `--fix --unsafe-fixes`, by code."""
    verdicts: Counter[str] = field(default_factory=Counter)
    """Programs with each verdict, by the way to fix: `safe moved`."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Why programs cannot run."""

    @property
    def fixed(self) -> int:
        """How many programs were fixed."""
        return self.programs - self.nothing_fixed

    def add(self, more: Family) -> None:
        """Add the counts of another batch."""
        records.add_counts(self, more, key="family")

    def count(self, examined: CheckedFile) -> None:
        """Add one program."""
        self.programs += 1
        state = _STATES[examined.state]
        setattr(self, state, getattr(self, state) + 1)
        if examined.state == NOT_STARTED:
            self.reasons[examined.reason.partition(":")[0]] += 1
        self.wrong += examined.wrong
        self.safe += examined.codes(unsafe=False)
        self.unsafe += examined.codes(unsafe=True)
        for how, judged in examined.judged.items():
            for name in ("placing", "operations", "exempt", "arrays", "leftovers", "copies", "said",
                         "cut"):  # fmt: skip
                setattr(self, name, getattr(self, name) + getattr(judged, name))
            for what in {verdict.what for verdict in judged.verdicts}:
                self.verdicts[f"{how} {NAMES[what]}"] += 1


@dataclass(frozen=True)
class Shown:
    """One verdict, with what makes its program again."""

    program: str
    how: str
    what: str
    codes: list[str]
    """The rules whose fixes were applied."""


@dataclass
class Record:
    """A whole run."""

    seed: int
    families: list[Family]
    failures: list[Shown]
    never_started: list[str]
    """Programs of several files of which nothing says how they start, and those that are too
    large."""
    date: str
    seconds: float
    jobs: int
    tools: dict[str, str]
    source: str
    """A digest of the analyser that was run."""
    judged_again: list[str] = field(default_factory=list)
    """Programs that were examined once more afterwards: what is said of them is what came then."""

    @property
    def programs(self) -> int:
        """How many programs there were."""
        return sum(family.programs for family in self.families)

    @property
    def fixed(self) -> int:
        """How many were fixed."""
        return sum(family.fixed for family in self.families)

    def verdicts(self) -> Counter[str]:
        """Count the programs with each verdict, over all families."""
        return sum((family.verdicts for family in self.families), Counter())


def shares(programs: int, seed: int) -> dict[str, list[int]]:
    """Give the numbers of the random programs of each family: half of them are training loops."""
    # Numbers far apart, so that runs with different seeds have no programs in common.
    first = seed * 1_000_000
    others = len(GENERATORS) - 1
    each = programs // 2 // others
    return {
        family: [*range(first, first + (programs - each * others if family == "loops" else each))]
        for family in GENERATORS
    }


def run(
    programs: int, seed: int, jobs: int, families: Sequence[str] = FAMILIES,
    progress: Callable[[int, int], None] | None = None,
    say: Callable[[Shown], None] | None = None,
) -> Record:  # fmt: skip
    """Examine random programs of some families, and what is written of them, in parallel.

    `programs` are those of all families of random programs together.

    Each failure is said as soon as it and all before it are known.
    """
    started = time.monotonic()
    written, never_started = written_programs()
    never_started += [f"{name}: {why}" for name, why in TOO_LARGE.items()]
    those: dict[str, Sequence[Program | int]] = {
        **shares(programs, seed),
        **dict(zip(WRITTEN, (fixture_programs(), written, own_programs()), strict=True)),
    }
    batches = [
        (family, those[family][start : start + _BATCH])
        for family in families
        for start in range(0, len(those[family]), _BATCH)
    ]
    total: dict[str, Family] = {}
    shown: list[Shown] = []
    for counts, found in in_parallel(batches, _batch, _start_oracle, jobs, progress):
        total.setdefault(counts.family, Family(counts.family)).add(counts)
        shown += found
        if say is not None:
            for each in found:
                say(each)
    return Record(
        seed, [*total.values()], shown[:_MAX_SHOWN], never_started,
        **records.circumstances(started, jobs),
    )  # fmt: skip


_oracle: WatchClient | None = None


def _start_oracle(cache: str) -> None:
    global _oracle  # noqa: PLW0603
    _oracle = WatchClient(cache)


def _batch(batch: tuple[str, Sequence[Program | int]]) -> tuple[Family, list[Shown]]:
    """Examine some programs in this process, with its own oracle."""
    assert _oracle is not None
    family, those = batch
    counts, shown = Family(family), []
    for each in those:
        program = random_programs(family, each) if isinstance(each, int) else each
        try:
            examined = examine(_oracle, program)
        except OracleError as error:
            raise OracleError(f"{program.name}: {error}") from error
        counts.count(examined)
        shown += list(failures(examined))
    return counts, shown


def failures(examined: CheckedFile) -> Iterator[Shown]:
    """Give what is wrong with what the fixes made of a program."""
    for how, judged in examined.judged.items():
        applied = examined.fixed[how].applied if how in examined.fixed else []
        codes = sorted({each.code for each in applied})
        for verdict in judged.verdicts:
            yield Shown(examined.program.name, str(how), str(verdict), codes)


def again(record: Record, oracle: WatchClient) -> None:
    """Examine the programs that went wrong once more, and put what comes of them in its place."""
    found = record.failures
    if len(found) >= _MAX_SHOWN:
        message = "the record does not show all that went wrong"
        raise ValueError(message)
    record.failures = []
    for name in dict.fromkeys(each.program for each in found):
        examined = examine(oracle, program_named(name))
        (family,) = (each for each in record.families if each.family == examined.program.family)
        family.wrong += examined.wrong - 1
        now = list(failures(examined))
        family.verdicts.subtract(_kinds(each for each in found if each.program == name))
        family.verdicts.update(_kinds(now))
        family.verdicts = +family.verdicts
        record.failures += now
        record.judged_again.append(name)


def _kinds(shown: Iterable[Shown]) -> set[str]:
    return {f"{each.how} {NAMES[each.what.partition(':')[0]]}" for each in shown}


# -- reading and writing -------------------------------------------------------------------------


def as_json(record: Record) -> str:
    """Give the text of a record."""
    # Not `asdict`, which makes a counter anew from its pairs.
    families = [
        {
            name: dict(sorted(value.items())) if isinstance(value, Counter) else value
            for name, value in vars(family).items()
        }
        for family in record.families
    ]
    totals = {"fixed": record.fixed, "verdicts": dict(sorted(record.verdicts().items()))}
    parts = {
        "families": families,
        "never_started": record.never_started,
        "failures": [asdict(each) for each in record.failures],
        "judged_again": record.judged_again,
    }
    return records.as_json(record, VERSION, totals, parts)


def write(record: Record, folder: Path) -> Path:
    """Write a record: one for a day."""
    return records.write(as_json(record), record.date, SUFFIX, folder)


def read(path: Path) -> Record:
    """Read a record. Raises ValueError for another format, or counts that do not add up."""
    whole = records.read(path, VERSION)
    counters = ("safe", "unsafe", "verdicts", "reasons")
    families = [
        Family(**{**counts, **{name: Counter(counts[name]) for name in counters}})
        for counts in whole["families"]
    ]
    for each in families:
        if each.ran + each.raised_before + each.not_run != each.fixed:
            raise ValueError(f"{path}: {each.family}: {each.fixed} fixed programs do not add up")
    record = Record(
        whole["seed"], families, [Shown(**each) for each in whole["failures"]],
        whole["never_started"], **records.circumstances_of(whole),
        judged_again=whole.get("judged_again", []),
    )  # fmt: skip
    said = (whole["programs"], whole["fixed"], whole["verdicts"])
    if said != (record.programs, record.fixed, dict(record.verdicts())):
        raise ValueError(f"{path}: the totals are not those of the families")
    return record


def newest(folder: Path = RECORDS) -> Path | None:
    """Give the newest record, by its date."""
    return records.newest(SUFFIX, folder)


def summary(record: Record) -> Iterator[str]:
    """Give the record as lines for a reader."""
    yield (
        f"{record.programs} programs in {record.seconds:.0f} s with {record.jobs} jobs; "
        f"{record.fixed} fixed"
    )
    for each in record.families:
        verdicts = ", ".join(f"{count} {name}" for name, count in sorted(each.verdicts.items()))
        yield (
            f"{each.family}: {each.programs} programs, {each.fixed} fixed ({each.ran} ran, "
            f"{each.raised_before} raised before too, {each.not_run} cannot run), {each.wrong} "
            f"wrong: {verdicts or 'nothing'}; findings {each.safe.total()} safe, "
            f"{each.unsafe.total()} with unsafe; {each.operations} operations, {each.exempt} index "
            f"what was committed, {each.said} moved as said; {each.arrays} arrays, "
            f"{each.leftovers} left over; {each.copies} copies spoken of"
        )
        for reason, count in each.reasons.most_common():
            yield f"    cannot run: {count} {reason}"
    if record.never_started:
        yield f"{len(record.never_started)} programs are not run: nothing starts them, or too large"
