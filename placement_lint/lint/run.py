"""Many files: which of them can hold a finding, and what is found in those."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING

from placement_lint.files.store import FileStore
from placement_lint.findings import Confidence
from placement_lint.limits.budget import (
    Budget,
    LimitError,
    Limits,
    RunOverError,
    allow,
    limits_of,
    spending,
    using,
)
from placement_lint.lint.file_results import FileOptions, Sight, unfinished
from placement_lint.lint.fixes.write_back import written
from placement_lint.lint.progress import Course, tell_nobody
from placement_lint.lint.results import FixMode, Outcome
from placement_lint.lint.schedule import (
    Examiner,
    examine_all,
    examine_neighbours,
    examine_task,
    incomplete,
    ran_out,
)
from placement_lint.lint.select_files import Sifted
from placement_lint.lint.tasks import Examined, Request, Task, failure
from placement_lint.project.project import Project
from placement_lint.rules.selection import select_rules
from placement_lint.syntax.deep_stack import run_deep
from placement_lint.timing import FIXING, PROGRAM, timed, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from placement_lint.config.settings import Settings
    from placement_lint.lint.check_program import Neighbours
    from placement_lint.lint.incremental.revision import Recollection
    from placement_lint.lint.progress import Tell

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
    limits: Limits | None = None,
    most_seconds: Callable[[str], int] | None = None,
    store: FileStore | None = None,
) -> Outcome:
    """Check files, each by its own settings. Raises UnknownSelectorError for a wrong setting.

    `folders` says that these are all the files of the folders that were asked for.
    `recollection` is asked what is known of files already, and notes what is found out. `tell` is
    told all along how far the run is. `limits` is what the run may take; `most_seconds` tells what
    a file may take at most, whatever its settings are.
    """
    sight = Sight.WHOLE if folders else Sight.IMPORTS

    def request(path: str) -> Request:
        most = 0 if most_seconds is None else most_seconds(path)
        settings = settings_for(path)
        return request_for(settings, path, reveal=reveal, sight=sight, most_seconds=most)

    return check_files(
        files,
        request,
        jobs=jobs,
        fix=fix,
        recollection=recollection,
        tell=tell,
        limits=limits,
        store=store,
    )


def lint_text(
    data: bytes,
    path: str,
    settings: Settings,
    *,
    fix: FixMode = FixMode.NONE,
    store: FileStore | None = None,
) -> tuple[Outcome, bytes | None]:
    """Check the bytes of one file under a name.

    Gives with what was found the bytes as they are after fixing; None where no fixes were asked.
    """
    started = time.perf_counter()
    request = request_for(settings, path)
    store = store or FileStore()
    store.replace({path: data})
    sifted = Sifted(store)
    with using(Budget(limits_of(settings.time_limit, settings.memory_limit))):
        examined = run_deep(examine_text, sifted, path, request, fix)
    fixed = _fixed(examined)
    outcome = _outcome(sifted, examined, started)
    return outcome, None if fix is FixMode.NONE else fixed.get(path, data)


def check_files(
    files: Iterable[str],
    request_for: Callable[[str], Request],
    *,
    jobs: int = 1,
    fix: FixMode = FixMode.NONE,
    parallel_bytes: int | None = None,
    recollection: Recollection | None = None,
    tell: Tell = tell_nobody,
    limits: Limits | None = None,
    store: FileStore | None = None,
) -> Outcome:
    """Check files, each as asked; with several jobs in processes, where the text is worth it.

    That is from `parallel_bytes` on: `PARALLEL_BYTES` if they are not given. `limits` is what the
    run may take: by default, of the memory its share.
    """
    with using(Budget(limits_of(jobs=jobs) if limits is None else limits)):
        return _checked(
            files, request_for, jobs, fix, parallel_bytes, recollection, tell, store or FileStore()
        )


def _checked(
    files: Iterable[str],
    request_for: Callable[[str], Request],
    jobs: int,
    fix: FixMode,
    parallel_bytes: int | None,
    recollection: Recollection | None,
    tell: Tell,
    store: FileStore,
) -> Outcome:
    started = time.perf_counter()
    paths = sorted(dict.fromkeys(files))
    course = Course(len(paths), tell)
    worth = PARALLEL_BYTES if parallel_bytes is None else parallel_bytes
    look = functools.partial(_look, paths, request_for, store, jobs=jobs, parallel_bytes=worth)
    sifted, examined = look(fix=fix, course=course, recollection=recollection)
    if fix is FixMode.APPLY:
        with timed(FIXING):
            examined = written(examined)
        store.renew()
        if len(paths) > 1 and any(one.change or one.unwritten for one in examined):
            # What was found in a file depends on the others, as they were then; and of those
            # that could not be written, as they are not.
            sifted, again = look(fix=FixMode.NONE, course=Course(len(paths), tell_nobody))
            examined = _seen_again(examined, again)
    return _outcome(sifted, examined, started)


def _look(
    paths: Sequence[str],
    request_for: Callable[[str], Request],
    store: FileStore,
    *,
    jobs: int,
    parallel_bytes: int,
    fix: FixMode,
    course: Course,
    recollection: Recollection | None = None,
) -> tuple[Sifted, list[Examined]]:
    """Look at every file in which something can be found; give the files, and what came of it."""
    look = _Look(paths, store, fix, course, recollection)
    try:
        run_deep(look.prepare, request_for)
    except RunOverError:
        look.break_off()
    else:
        look.examine(jobs, parallel_bytes)
    return look.sifted, look.examined


class _Look:
    """One look at the files of a run."""

    def __init__(
        self,
        paths: Sequence[str],
        store: FileStore,
        fix: FixMode,
        course: Course,
        recollection: Recollection | None,
    ) -> None:
        self.paths = paths
        self.fix = fix
        self.course = course
        self.recollection = recollection
        self.sifted = Sifted(store, recollection)
        self.project: Project | None = None
        self.examined: list[Examined] = []
        self.parse_tasks: list[Task] = []

    def prepare(self, request_for: Callable[[str], Request]) -> None:
        """Sort the files, and check those of which several are one program.

        Raises RunOverError where the run has taken all its time by then.
        """
        sifted, course = self.sifted, self.course
        for path in self.paths:
            sifted.take(path, request_for(path))
            course.reach(len(sifted.files) - sifted.left, len(sifted.findings))
        no_groups: list[Neighbours] = []
        nothing_found: dict[str, Examined] = {}
        nothing_recalled: list[Examined] = []
        with timed(PROGRAM):
            project = self.project = sifted.with_reexports()
            sifted.attempt(lambda: sifted.pin(project), None)
            groups = sifted.attempt(lambda: sifted.neighbourhoods(project), no_groups)
        for neighbours in groups:
            together = functools.partial(examine_neighbours, neighbours, sifted, project, self.fix)
            found = sifted.attempt(together, nothing_found)
            course.add(len(found), sum(len(one.findings) for one in found.values()))
            self.examined += found.values()
        done = {one.path for one in self.examined}
        sifted.tasks = [task for task in sifted.tasks if task.path not in done]
        self.parse_tasks = [task for task in sifted.parse_tasks if task.path not in done]
        recalled = sifted.attempt(lambda: sifted.recalled(project), nothing_recalled)
        course.add(len(recalled), sum(len(one.findings) for one in recalled))
        self.examined += recalled

    def examine(self, jobs: int, parallel_bytes: int) -> None:
        """Check the other files, each alone."""
        sifted, project = self.sifted, self.project
        if project is None:
            return
        tasks = sifted.in_order((*sifted.tasks, *self.parse_tasks))
        if sum(task.size for task in tasks) < parallel_bytes:
            jobs = 1
        examiner = Examiner(project, self.fix, is_timed=watch().is_running)
        self.examined += sifted.noted(examine_all(tasks, examiner, jobs, self.course))
        if self.recollection is not None:
            self.recollection.now.summaries.update(project.view.take_learned())
            self.recollection.now.wordings = project.wordings.known(sifted.files)
        sifted.findings += [failure(path, error) for path, error in project.take_failed().items()]
        exhausted = project.expenses.take_new()
        sifted.findings += [unfinished(path, *each) for path, each in exhausted.items()]
        sifted.note_exhausted(self.examined)
        self.examined += sifted.exhausted
        sifted.findings += incomplete(sifted, project, self.examined)

    def break_off(self) -> None:
        """Say of each file that was not checked that the run was over before."""
        done = {one.path for one in self.examined}
        open_paths = {task.path for task in (*self.sifted.tasks, *self.sifted.parse_tasks)}
        if not self.sifted.is_complete:
            open_paths.update(self.paths)
        known = {finding.path for finding in self.sifted.findings}
        for path in sorted(open_paths - done - known):
            self.examined.append(ran_out(path, RunOverError(), 0))
        self.sifted.files = [*self.paths]
        if self.recollection is not None:
            self.recollection.is_certain = False


def examine_text(sifted: Sifted, path: str, request: Request, fix: FixMode) -> list[Examined]:
    """Check one file without others, if it can hold a finding."""
    seconds = request.options.time_limit
    allow(path, seconds)
    try:
        with spending(path):
            sifted.add(path, sifted.store.read(path), request)
            tasks = (*sifted.tasks, *sifted.parse_tasks)
            return [examine_task(task, fix, Project(store=sifted.store)) for task in tasks]
    except LimitError as error:
        sifted.files[:] = [path]
        return [ran_out(path, error, seconds)]


def _seen_again(examined: Iterable[Examined], again: Iterable[Examined]) -> list[Examined]:
    """Give what is found in files now, and what came of their fixes."""
    now = {one.path: one for one in again}
    seen = [one.seen_again(now.pop(one.path, None)) for one in examined]
    return [*seen, *now.values()]


def _fixed(examined: Iterable[Examined]) -> dict[str, bytes]:
    return {one.path: one.change.after for one in examined if one.change is not None}


def _outcome(sifted: Sifted, examined: Sequence[Examined], started: float) -> Outcome:
    # Findings are about the files as fixed, whether or not they were written.
    sifted.store.replace(_fixed(examined))
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
        sources=sifted.store.source_if_readable,
        revealed=tuple(sorted(each for one in done for each in one.result.revealed)),
        suppressed=tuple(sorted(suppressed, key=lambda each: each.finding.sort_key)),
    )


def request_for(
    settings: Settings,
    path: str,
    *,
    reveal: bool = False,
    sight: Sight = Sight.IMPORTS,
    most_seconds: int = 0,
) -> Request:
    """Give how a file is checked by its settings. Raises UnknownSelectorError for a wrong one.

    `most_seconds` is the most that it may take, whatever the settings say; 0: what they say.
    """
    seconds = settings.file_time_limit
    if most_seconds:
        seconds = min(seconds or most_seconds, most_seconds)
    options = FileOptions(
        rules=select_rules(settings, path),
        accelerator=settings.accelerator,
        target_jax=settings.target_jax,
        min_confidence=Confidence(settings.min_confidence),
        sight=sight,
        reveal=reveal,
        time_limit=seconds,
    )
    return Request(options, settings.unsafe_fixes)
