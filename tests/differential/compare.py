"""Where the analyser and JAX disagree about a program."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.differential.analysis import Alarm, Analysis, Span, bare

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.differential.oracle_client import Run, Use

FALSE_DEFINITE = "false definite alarm: nothing moved in any run"
NOT_ALWAYS = "definite alarm, but a run came by without a move"
MISSED = "missed move"
ELSEWHERE = "an operand is not where it is said to be"
FAILED = "the analyser failed"


@dataclass(frozen=True)
class Disagreement:
    """One thing that the analyser says and JAX does not do, or the other way round."""

    what: str
    file: str
    span: Span
    text: str

    def __str__(self) -> str:
        """Say where."""
        line, column = self.span[:2]
        return f"{self.what}: {self.file}:{line}:{column + 1}: {self.text}"


@dataclass
class Comparison:
    """The outcome for one program."""

    disagreements: list[Disagreement] = field(default_factory=list)
    uses: int = 0
    unknown: int = 0
    moves: int = 0
    found: int = 0
    by_choice: int = 0
    """Moves that depend on a device that is chosen at run time: known, and told to nobody."""
    unattributed: int = 0
    false_likely: int = 0
    alarms: int = 0
    cut: int = 0
    runs: int = 0
    errors: Counter[str] = field(default_factory=Counter)


def compare(modules: dict[str, str], analysis: Analysis, runs: list[Run]) -> Comparison:
    """Compare what the analyser says of a program with what JAX did when it ran."""
    return _Comparing(modules, analysis, runs).compare()


class _Comparing:
    def __init__(self, modules: dict[str, str], analysis: Analysis, runs: list[Run]) -> None:
        self.modules = modules
        self.analysis = analysis
        self.runs = runs
        self.result = Comparison(runs=len(runs))

    def compare(self) -> Comparison:
        for run in self.runs:
            if run.error is not None:
                self.result.cut += 1
                self.result.errors[run.error.split(":")[0]] += 1
        for failure in self.analysis.failures:
            self.result.disagreements.append(Disagreement(FAILED, failure, (0, 0, 0, 0), failure))
        self._missed()
        for alarm in self.analysis.alarms:
            self._alarm(alarm)
        return self.result

    def _bare(self, module: str, places: Iterable[Span]) -> list[Span]:
        return [bare(self.modules[module], place) for place in places]

    def _text(self, file: str, span: Span) -> str:
        lines = self.modules[file].split("\n")
        if span[0] == span[2]:
            return f"`{lines[span[0] - 1][span[1] : span[3]]}` in `{lines[span[0] - 1].strip()}`"
        return lines[span[0] - 1].strip()

    # -- moves -----------------------------------------------------------------------------------

    def _missed(self) -> None:
        alarmed = {(alarm.file, alarm.span) for alarm in self.analysis.alarms}
        judged: dict[tuple[str, tuple[Span, ...]], list[Use]] = {}
        for run in self.runs:
            for use in run.uses:
                if use.known and use.operands:
                    operands = tuple(self._bare(use.module, use.operands))
                    judged.setdefault((use.module, operands), []).append(use)
                elif use.known and use.moved and use.away and not use.small:
                    self.result.unattributed += 1
        for (module, operands), uses in judged.items():
            self.result.uses += 1
            unknown = module not in self.analysis.skipped and all(
                (module, span) not in self.analysis.known for span in operands
            )
            open_ = any((module, span) in self.analysis.undecided for span in operands)
            self.result.unknown += unknown or open_
            for span in operands:
                self._placed(module, span, uses)
            if not any(use.moved and use.away and not use.small for use in uses):
                continue
            self.result.moves += 1
            if any((module, span) in alarmed for span in operands):
                self.result.found += 1
            elif any((module, span) in self.analysis.possible for span in operands):
                self.result.by_choice += 1
            elif not unknown and not open_:
                self._disagree(MISSED, module, operands[0])

    def _placed(self, module: str, span: Span, uses: list[Use]) -> None:
        """Compare where an operand was with where the analyser says that it may be."""
        said = self.analysis.placements.get((module, span))
        # What is in an object is not looked at: of it nothing is said.
        if said and any((use.device, use.committed) not in said for use in uses if not use.small):
            self._disagree(ELSEWHERE, module, span)

    # -- alarms ----------------------------------------------------------------------------------

    def _alarm(self, alarm: Alarm) -> None:
        self.result.alarms += 1
        reached = [run for run in self.runs if self._reached(run, alarm)]
        if not reached:
            return
        moved = [self._moved(run, alarm) for run in reached]
        if not any(moved):
            if alarm.definite:
                self._disagree(FALSE_DEFINITE, alarm.file, alarm.span)
            else:
                self.result.false_likely += 1
        elif alarm.definite and not all(moved):
            self._disagree(NOT_ALWAYS, alarm.file, alarm.span)

    def _reached(self, run: Run, alarm: Alarm) -> bool:
        """Tell whether the operand was evaluated, and its operation not cut off by an error."""
        lines = range(alarm.span[0], alarm.span[2] + 1)
        if any(file == alarm.file and line in lines for file, line in run.error_places):
            return False
        return any(
            file == alarm.file and bare(self.modules[file], place) == alarm.span
            for file, place in run.evaluated
        )

    def _moved(self, run: Run, alarm: Alarm) -> bool:
        for use in run.uses:
            if not use.moved or use.module != alarm.file:
                continue
            if alarm.span in self._bare(use.module, use.operands):
                return True
            if not use.operands and _inside(alarm.span, use.operation):
                return True
        return False

    def _disagree(self, what: str, file: str, span: Span) -> None:
        self.result.disagreements.append(Disagreement(what, file, span, self._text(file, span)))


def _inside(inner: Span, outer: Span) -> bool:
    return outer[:2] <= inner[:2] and inner[2:] <= outer[2:]
