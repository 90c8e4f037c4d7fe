"""One program: fixed in every way, run before and after, judged."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from placement_lint.findings import Applicability
from tests.differential.oracle_client import OracleError
from tests.fix_oracle.fixing import How, findings, fix
from tests.fix_oracle.judge import PRINTED, VALUE, Judgement, asked, judge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fix_oracle.client import WatchClient, Watched
    from tests.fix_oracle.fixing import Fixed, Found
    from tests.fix_oracle.sources import Program

    Modules = dict[str, str]

NOTHING_FIXED = "nothing is fixed"
NOT_STARTED = "it cannot run by itself"
RAN = "it runs to its end"
CUT = "it raises before its end"


@dataclass
class CheckedFile:
    """What came of one program."""

    program: Program
    state: str = NOTHING_FIXED
    reason: str = ""
    """Why it cannot run, or what it raises."""
    judged: dict[How, Judgement] = field(default_factory=dict)
    fixed: dict[How, Fixed] = field(default_factory=dict)

    @property
    def wrong(self) -> bool:
        """Whether some fix did what it must not do."""
        return any(judgement.verdicts for judgement in self.judged.values())

    def codes(self, *, unsafe: bool) -> Counter[str]:
        """Count the findings that were fixed, by code."""
        wanted = How(unsafe=unsafe)
        applied = self.fixed[wanted].applied if wanted in self.fixed else ()
        return Counter(each.code for each in applied)


def ways(modules: Modules, found: list[Found]) -> Iterator[Fixed]:
    """Fix a program in every way: all files together, and of several also each alone."""
    several = sum(1 for text in modules.values() if text.strip()) > 1
    for alone in (False, True)[: 1 + several]:
        if not alone and not any(_may_apply(each) for each in found):
            continue
        safe = fix(modules, How(unsafe=False, alone=alone))
        yield safe
        # Where no unsafe fix is offered, before or after, there is nothing else to apply.
        if any(each.fix is Applicability.UNSAFE for each in (*found, *safe.found)):
            yield fix(modules, How(unsafe=True, alone=alone))


def _may_apply(found: Found) -> bool:
    return found.fix in {Applicability.SAFE, Applicability.UNSAFE}


def examine(oracle: WatchClient, program: Program) -> CheckedFile:
    """Fix a program in every way, run what came of it, and judge. Raises OracleError."""
    modules = program.modules
    result = CheckedFile(program)
    found = findings(modules)
    made: set[tuple[tuple[str, str], ...]] = set()
    for fixed in ways(modules, found):
        texts = tuple(sorted(fixed.modules.items()))
        if fixed.broken:
            result.judged[fixed.how] = judge(modules, fixed, fixed.found, ())
        if fixed.modules != modules and texts not in made:
            # Ways that come to the same text are one.
            made.add(texts)
            result.fixed[fixed.how] = fixed
    if not result.fixed:
        return result
    wanted = {how: asked(fixed) for how, fixed in result.fixed.items()}
    flagged = {place for before, _ in wanted.values() for place in before}
    try:
        originals = oracle.watch(modules, program.seeds, flagged)
    except OracleError as error:
        result.state, result.reason = NOT_STARTED, _last_line(error)
        return result
    _describe(result, originals)
    for how, fixed in result.fixed.items():
        runs = oracle.watch(fixed.modules, program.seeds, wanted[how][1])
        judged = judge(modules, fixed, found, list(zip(originals, runs, strict=True)))
        if any(each.what in {PRINTED, VALUE} for each in judged.verdicts):
            again = oracle.watch(modules, program.seeds, flagged)
            _forgive(judged, originals, again)
        result.judged[how] = judged
    return result


def _describe(result: CheckedFile, runs: list[Watched]) -> None:
    errors = [run.error for run in runs if run.error is not None]
    if not errors:
        result.state = RAN
        return
    result.reason = errors[0].split("\n")[0][:200]
    ran = any(run.error is None or run.events for run in runs)
    result.state = CUT if ran else NOT_STARTED
    if any(run.error is None for run in runs):
        result.state = RAN


def _forgive(judged: Judgement, first: list[Watched], again: list[Watched]) -> None:
    """Take back what differs between two runs of the same text too: times, random numbers."""
    if [run.printed for run in first] != [run.printed for run in again]:
        judged.verdicts = [each for each in judged.verdicts if each.what != PRINTED]
    unstable = {
        path
        for one, other in zip(first, again, strict=True)
        for path, left in one.left.items()
        if path not in other.left or other.left[path].digest != left.digest
    }
    judged.verdicts = [
        each for each in judged.verdicts if each.what != VALUE or each.where not in unstable
    ]


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1][:200]


def report(examined: CheckedFile) -> str:
    """Give what is wrong, for a reader: the verdicts, the program, and what fixing made of it."""
    parts = [f"== {examined.program.name}"]
    for how, judged in examined.judged.items():
        if not judged.verdicts:
            continue
        parts += [f"-- {how}:", *map(str, judged.verdicts)]
        fixed = examined.fixed.get(how)
        if fixed is None:
            continue
        parts += [f"{each.code} {each.message}" for each in fixed.applied]
        for name, text in fixed.modules.items():
            parts += [f"# {name}", text.rstrip()]
    parts += ["-- as it was:"]
    for name, text in examined.program.modules.items():
        parts += [f"# {name}", text.rstrip()]
    return "\n".join(parts)
