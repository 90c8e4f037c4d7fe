"""What the rules about donation say of random programs, and what JAX does when these run.

`python -m tests.differential.donation_compare FIRST LAST` compares the programs of these numbers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field

from placement_lint.files.source import Source
from placement_lint.findings import Confidence
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions
from placement_lint.rules.registry import all_rules
from tests.differential.donation_programs import random_program

SEEDS = (1, 2, 3, 4)
_LEVELS = list(Confidence)
_LEAST = Confidence.POSSIBLE
_RULES = frozenset({"JDP801", "JDP802", "JDP803"})


@dataclass
class Totals:
    """What came of many programs."""

    programs: int = 0
    uses: int = 0
    """Lines that raise in a run, since an array is gone."""
    missed: list[tuple[int, str]] = field(default_factory=list)
    """Of these, those of which nothing is said at any level: the program, and the line."""
    only_possible: list[tuple[int, str]] = field(default_factory=list)
    """Of these, those that are only said to be possible, which is not reported by default."""
    false: list[tuple[int, str]] = field(default_factory=list)
    """Findings that are definite, on lines that a run executes without an error."""
    likely: int = 0
    likely_false: list[tuple[int, str]] = field(default_factory=list)
    """Findings that are likely, on lines that some runs execute, and none with an error."""
    possible: int = 0
    possible_false: list[tuple[int, str]] = field(default_factory=list)
    """The same of findings that are only possible."""
    errors: Counter[str] = field(default_factory=Counter)


class DonationOracle:
    """A process that runs programs on JAX."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.differential.donation_oracle"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "JAX_PLATFORMS": "cpu"},
        )

    def ask(self, text: str) -> list[dict[str, object]]:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("no pipes")
        stdin.write(json.dumps({"text": text, "seeds": SEEDS}) + "\n")
        stdin.flush()
        answer: list[dict[str, object]] = json.loads(stdout.readline())
        return answer

    def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(timeout=30)
        if self._process.stdout is not None:
            self._process.stdout.close()


def compare(number: int, oracle: DonationOracle, totals: Totals) -> None:
    """Run a program, and add what came of it."""
    text = random_program(number)
    lines = text.split("\n")
    rules = tuple(rule for rule in all_rules() if rule.code in _RULES)
    found = lint_source(
        Source("program.py", text), FileOptions(rules, min_confidence=_LEAST)
    ).findings
    said: dict[int, Confidence] = {}
    for each in found:
        if each.code in _RULES:
            line = each.span.line
            said[line] = min(each.confidence, said.get(line, each.confidence), key=_LEVELS.index)
    again = {each.span.line for each in found if " iteration" in each.message}
    strange = [each.message for each in found if each.code not in _RULES]
    if strange:
        raise AssertionError(strange)
    totals.programs += 1
    passed: set[int] = set()
    raised: set[int] = set()
    for run in oracle.ask(text):
        executed, failing = _numbers(run["executed"]), _numbers(run["failing"])
        error = str(run["error"])
        if error not in {"", "gone"}:
            totals.errors[error] += 1
        if error == "gone":
            raised |= failing
            totals.uses += 1
            line = min(failing & _after_head(lines), default=0)
            use = (number, lines[line - 1].strip())
            best = min((said[each] for each in failing & {*said}), key=_LEVELS.index, default=None)
            if best is None:
                totals.missed.append(use)
            elif best is _LEAST:
                totals.only_possible.append(use)
        sure = {line for line, each in said.items() if each is Confidence.DEFINITE}
        # What is deleted from the second iteration on is no error in a run that has but one.
        false = sure & executed - failing - (again - _numbers(run["repeated"]))
        totals.false += [(number, lines[line - 1].strip()) for line in sorted(false)]
        passed |= executed - failing
    for level in (Confidence.LIKELY, Confidence.POSSIBLE):
        these = {line for line, each in said.items() if each is level}
        count = len(these & (passed | raised))
        wrong = [(number, lines[line - 1].strip()) for line in sorted(these & passed - raised)]
        if level is Confidence.LIKELY:
            totals.likely += count
            totals.likely_false += wrong
        else:
            totals.possible += count
            totals.possible_false += wrong


def compared(numbers: range) -> Totals:
    """Return what came of the programs of these numbers."""
    oracle, totals = DonationOracle(), Totals()
    try:
        for number in numbers:
            compare(number, oracle, totals)
    finally:
        oracle.close()
    return totals


def _numbers(given: object) -> set[int]:
    if not isinstance(given, list):
        raise TypeError(given)
    return {int(each) for each in given}


def _after_head(lines: list[str]) -> set[int]:
    start = next(at for at, line in enumerate(lines) if line.startswith("def main"))
    return set(range(start + 1, len(lines) + 1))


def _show(totals: Totals) -> None:
    print(f"{totals.programs} programs, {totals.uses} uses after donation")
    print(f"missed {len(totals.missed)}, false definite {len(totals.false)}")
    print(f"only possible {len(totals.only_possible)}")
    print(f"likely {totals.likely}, of these on no line that raised {len(totals.likely_false)}")
    print(f"possible {totals.possible}, of these on none {len(totals.possible_false)}")
    for name in ("false", "missed", "only_possible", "likely_false"):
        counted = Counter(line for _, line in getattr(totals, name))
        for line, count in counted.most_common(30):
            numbers = [number for number, each in getattr(totals, name) if each == line][:4]
            print(f"  {name} {count}: {line} {numbers}")
    print(totals.errors.most_common(12))


if __name__ == "__main__":
    _show(compared(range(int(sys.argv[1]), int(sys.argv[2]))))
