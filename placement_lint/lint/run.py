"""Many files: which of them can hold a finding, and what is found in those."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING

from placement_lint.findings import Confidence
from placement_lint.lint.course import Course, tell_nobody
from placement_lint.lint.examined import Examined, Request, failure
from placement_lint.lint.examining import (
    Examiner,
    examine_all,
    examine_neighbours,
    examine_task,
)
from placement_lint.lint.file import (
    FileOptions,
)
from placement_lint.lint.outcome import FixMode, Outcome
from placement_lint.lint.reading import Sources, reopened
from placement_lint.lint.sifting import Sifted
from placement_lint.lint.target import forget
from placement_lint.lint.unused import Sight
from placement_lint.lint.writing import written
from placement_lint.rules.selection import select_rules
from placement_lint.timing import FIXING, PROGRAM, timed, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from placement_lint.config.settings import Settings
    from placement_lint.files.source import Source
    from placement_lint.lint.course import Tell
    from placement_lint.lint.recollection import Recollection
    from placement_lint.lint.together import Neighbours

PARALLEL_BYTES = 500_000
"""What is worth starting processes for: they take some 0.4 s to be ready, and a file some 2.5 µs a
byte (LibCST 1.9.0, Python 3.11)."""


def lint_paths(
    files: Sequence[str],
    settings_for: Callable[[str], Settings],
    *,
    jobs: int = 1,
    fix: FixMode = FixMode.NONE,
    reveal: bool = False,
    folders: bool = False,
    recollection: Recollection | None = None,
    tell: Tell = tell_nobody,
) -> Outcome:
    """Check files, each by its own settings. Raises UnknownSelectorError for a wrong setting.

    `folders` says that these are all the files of the folders that were asked for.
    `recollection` is asked what is known of files already, and notes what is found out. `tell` is
    told all along how far the run is.
    """
    sight = Sight.WHOLE if folders else Sight.IMPORTS

    def request(path: str) -> Request:
        return request_for(settings_for(path), path, reveal=reveal, sight=sight)

    return check_files(files, request, jobs=jobs, fix=fix, recollection=recollection, tell=tell)


def lint_text(
    data: bytes, path: str, settings: Settings, *, fix: FixMode = FixMode.NONE
) -> tuple[Outcome, bytes | None]:
    """Check the bytes of one file under a name.

    Gives with what was found the bytes as they are after fixing; None where no fixes were asked.
    """
    started = time.perf_counter()
    forget()
    request = request_for(settings, path)
    sifted = Sifted()
    sifted.add(path, data, request)
    tasks = (*sifted.tasks, *sifted.parse_tasks)
    examined = [examine_task(task, data, fix) for task in tasks]
    after = data
    for each in examined:
        if each.change is not None:
            after = each.change.after

    def source_of(name: str) -> Source | None:
        return reopened(path, after) if name == path else None

    outcome = _outcome(sifted, examined, started, source_of)
    return outcome, None if fix is FixMode.NONE else after


def check_files(
    files: Iterable[str],
    request_for: Callable[[str], Request],
    *,
    jobs: int = 1,
    fix: FixMode = FixMode.NONE,
    parallel_bytes: int | None = None,
    recollection: Recollection | None = None,
    tell: Tell = tell_nobody,
) -> Outcome:
    """Check files, each as asked; with several jobs in processes, where the text is worth it.

    That is from `parallel_bytes` on: `PARALLEL_BYTES` if they are not given.
    """
    started = time.perf_counter()
    forget()
    paths = sorted(dict.fromkeys(files))
    course = Course(len(paths), tell)
    worth = PARALLEL_BYTES if parallel_bytes is None else parallel_bytes
    look = functools.partial(_look, paths, request_for, jobs=jobs, parallel_bytes=worth)
    sifted, examined = look(fix=fix, course=course, recollection=recollection)
    if fix is FixMode.APPLY:
        with timed(FIXING):
            examined = written(examined)
        if len(paths) > 1 and any(one.change or one.unwritten for one in examined):
            # What was found in a file depends on the others, as they were then; and of those
            # that could not be written, as they are not.
            sifted, again = look(fix=FixMode.NONE, course=Course(len(paths), tell_nobody))
            examined = _seen_again(examined, again)
    fixed = {one.path: one.change.after for one in examined if one.change is not None}
    return _outcome(sifted, examined, started, Sources(fixed))


def _look(
    paths: Sequence[str],
    request_for: Callable[[str], Request],
    *,
    jobs: int,
    parallel_bytes: int,
    fix: FixMode,
    course: Course,
    recollection: Recollection | None = None,
) -> tuple[Sifted, list[Examined]]:
    """Look at every file in which something can be found; give the files, and what came of it."""
    sifted = Sifted(recollection)
    for path in paths:
        sifted.take(path, request_for(path))
        course.reach(len(sifted.files) - sifted.left, len(sifted.findings))
    no_groups: list[Neighbours] = []
    nothing_found: dict[str, Examined] = {}
    nothing_recalled: list[Examined] = []
    with timed(PROGRAM):
        project = sifted.with_reexports()
        sifted.attempt(lambda: sifted.pin(project), None)
        groups = sifted.attempt(lambda: sifted.neighbourhoods(project), no_groups)
    program: dict[str, Examined] = {}
    for neighbours in groups:
        together = functools.partial(examine_neighbours, neighbours, sifted, project, fix)
        found = sifted.attempt(together, nothing_found)
        course.add(len(found), sum(len(one.findings) for one in found.values()))
        program |= found
    sifted.tasks = [task for task in sifted.tasks if task.path not in program]
    parse_tasks = [task for task in sifted.parse_tasks if task.path not in program]
    recalled = sifted.attempt(lambda: sifted.recalled(project), nothing_recalled)
    course.add(len(recalled), sum(len(one.findings) for one in recalled))
    examined = [*program.values(), *recalled]
    # The largest first, so that none of them is what all the others' processes wait for.
    every = (*sifted.tasks, *parse_tasks)
    tasks = sorted(every, key=lambda task: (-task.size, task.path))
    if sum(task.size for task in tasks) < parallel_bytes:
        jobs = 1
    examiner = Examiner(project, fix, is_timed=watch().is_running)
    examined += sifted.noted(examine_all(tasks, examiner, jobs, course))
    if recollection is not None:
        recollection.now.summaries.update(project.view.take_learned())
        recollection.now.wordings = project.wordings.known(sifted.files)
    sifted.findings += [failure(path, error) for path, error in project.take_failed().items()]
    return sifted, examined


def _seen_again(examined: Iterable[Examined], again: Iterable[Examined]) -> list[Examined]:
    """Give what is found in files now, and what came of their fixes."""
    now = {one.path: one for one in again}
    seen = [one.seen_again(now.pop(one.path, None)) for one in examined]
    return [*seen, *now.values()]


def _outcome(
    sifted: Sifted,
    examined: Iterable[Examined],
    started: float,
    sources: Callable[[str], Source | None],
) -> Outcome:
    done = sorted(examined, key=lambda one: one.path)
    # Of what failed, several may have heard.
    every = (*sifted.findings, *(finding for one in done for finding in one.findings))
    findings = dict.fromkeys(every)
    suppressed = [each for one in done for each in one.result.suppressed]
    skipped = [*sifted.skipped, *(one.skipped for one in done if one.skipped is not None)]
    return Outcome(
        findings=tuple(sorted(findings, key=lambda finding: finding.sort_key)),
        skipped=tuple(sorted(skipped, key=lambda skip: (skip.path, skip.reason))),
        files=len(sifted.files),
        parsed=sum(one.result.parsed for one in done),
        cached=0 if sifted.recollection is None else sifted.recollection.recalled,
        seconds=time.perf_counter() - started,
        fixed=tuple(one.change.file for one in done if one.change is not None),
        sources=sources,
        revealed=tuple(sorted(each for one in done for each in one.result.revealed)),
        suppressed=tuple(sorted(suppressed, key=lambda each: each.finding.sort_key)),
    )


def request_for(
    settings: Settings, path: str, *, reveal: bool = False, sight: Sight = Sight.IMPORTS
) -> Request:
    """Give how a file is checked by its settings. Raises UnknownSelectorError for a wrong one."""
    options = FileOptions(
        rules=select_rules(settings, path),
        accelerator=settings.accelerator,
        target_jax=settings.target_jax,
        min_confidence=Confidence(settings.min_confidence),
        sight=sight,
        reveal=reveal,
        time_limit=settings.file_time_limit,
    )
    return Request(options, settings.unsafe_fixes)
