"""Programs of several files, made of fixture programs and cases at random."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from placement_lint.config.settings import Settings
from placement_lint.findings import Applicability
from placement_lint.lint.linter import Linter
from placement_lint.lint.results import FixMode, Outcome
from tests.composed.files import cases_by_code, compiles, decorated, dice_of
from tests.composed.properties import said
from tests.program_cases import PROGRAMS, ProgramCase, read_program

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

_APPLIED = {False: {Applicability.SAFE}, True: {Applicability.SAFE, Applicability.UNSAFE}}


@functools.cache
def hazards() -> tuple[ProgramCase, ...]:
    """Give the programs in which something is found."""
    return tuple(read_program(path) for path in sorted(PROGRAMS.glob("hazards/*.txt")))


def random_program(seed: int) -> dict[str, str]:
    """Give the files of two programs in one folder; hazards of other rules stand below some."""
    dice = dice_of(f"program {seed}")
    texts: dict[str, str] = {}
    for program in dice.sample(hazards(), 2):
        texts |= program.texts()
    codes = sorted(cases_by_code())
    for path, text in texts.items():
        if dice.random() < 0.6:
            case = dice.choice(cases_by_code()[dice.choice(codes)])
            mixed = f"{text}\n{decorated(case.before.text, dice.randrange(100), dice)}"
            texts[path] = mixed if compiles(mixed) else text
    return {path: _with_line_ends(text, dice) for path, text in texts.items()}


def _with_line_ends(text: str, dice: random.Random) -> str:
    return text.replace("\n", "\r\n") if dice.random() < 0.2 else text


def problems(texts: dict[str, str], folder: Path, *, unsafe: bool) -> Iterator[str]:
    """Give what fixing a program breaks."""
    for path, text in texts.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
    outcome = _run(texts, folder, FixMode.APPLY, unsafe=unsafe)
    for finding in outcome.findings:
        if finding.code in {"JDP900", "JDP903"}:
            yield finding.message
        if finding.fix is not None and finding.fix.applicability in _APPLIED[unsafe]:
            yield f"left, though it has a fix: {finding.code} in {finding.path}"
    after = {path: (folder / path).read_bytes().decode() for path in texts}
    for path, text in texts.items():
        if compiles(text) and not compiles(after[path]):
            yield f"{path} does not compile any more"
        if said(after[path]) != said(text):
            yield f"comments of {path} are lost, new or elsewhere"
        if text.count("\r\n") == text.count("\n") != 0 and "\r\n" in text:
            bare = after[path].replace("\r\n", "")
            yield from ["bare line feeds"] if "\n" in bare else []
    changed = {str(folder / path) for path in texts if after[path] != texts[path]}
    if changed != {fixed.path for fixed in outcome.fixed}:
        yield "what is said to be fixed is not what was changed"
    again = _run(texts, folder, FixMode.DIFF, unsafe=unsafe)
    if again.fixed:
        yield f"a second run changes more: {[fixed.path for fixed in again.fixed]}"
    if again.findings != outcome.findings:
        yield "a second run finds something else"


def _run(texts: dict[str, str], folder: Path, mode: FixMode, *, unsafe: bool) -> Outcome:
    settings = Settings(select=("ALL",), unsafe_fixes=unsafe)
    return Linter(lambda _: settings, fix=mode).check([str(folder / path) for path in texts])
