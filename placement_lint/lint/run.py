"""Many files: which of them can hold a finding, and what is found in those."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING

from placement_lint.files.store import FileStore
from placement_lint.findings import Confidence
from placement_lint.jaxmodel.own_models import rows_of
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
from placement_lint.lint.file_results import ABOUT_COMMENTS, FileOptions, Sight, unfinished
from placement_lint.lint.fixes.write_back import written
from placement_lint.lint.gc_pause import collection_paused
from placement_lint.lint.progress import ProgressCount, no_progress
from placement_lint.lint.results import FixMode, Outcome
from placement_lint.lint.schedule import (
    Components,
    FileChecker,
    cached_component,
    check_all,
    check_task,
    component_task,
    incomplete,
    ran_out,
    take_up,
)
from placement_lint.lint.select_files import Selection
from placement_lint.lint.tasks import CheckedFile, Request, Task, failure
from placement_lint.project.project import Project
from placement_lint.rules.registry import rules_in
from placement_lint.rules.selection import select_rules
from placement_lint.rules.treatment import treatment_of
from placement_lint.syntax.deep_stack import run_deep
from placement_lint.timing import FIXING, PROGRAM, timed, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from placement_lint.config.settings import Settings
    from placement_lint.lint.check_program import Component
    from placement_lint.lint.incremental.revision import PreviousRun
    from placement_lint.lint.progress import OnProgress
    from placement_lint.lint.schedule import CheckedComponent
    from placement_lint.lint.tasks import ComponentTask
    from placement_lint.rules.base import Rule

PARALLEL_BYTES = 500_000
"""What is worth starting processes for: they take some 0.4 s to be ready, and a file some 2.5 µs a
byte (LibCST 1.9.0, Python 3.11)."""


def check_text(
    path: str, request: Request, fix: FixMode, limits: Limits, store: FileStore
) -> tuple[Outcome, bytes | None]:
    """Check one file alone.

    Returns with the outcome the bytes as they are after fixing; None without fixing.
    """
    started = time.perf_counter()
    selection = Selection(store)
    before = store.read(path)
    with using(Budget(limits)):
        checked = run_deep(_check_text, selection, path, request, fix)
    outcome = _outcome(selection, checked, started)
    return outcome, None if fix is FixMode.NONE else _fixed(checked).get(path, before)


def check_files(
    files: Iterable[str],
    request_for: Callable[[str], Request],
    *,
    jobs: int = 1,
    fix: FixMode = FixMode.NONE,
    parallel_bytes: int | None = None,
    previous: PreviousRun | None = None,
    on_progress: OnProgress = no_progress,
    limits: Limits | None = None,
    store: FileStore | None = None,
) -> Outcome:
    """Check files, each as asked; with several jobs in processes, where the text is worth it.

    That is from `parallel_bytes` on: `PARALLEL_BYTES` if they are not given. `limits` is what the
    run may take: by default, of the memory its share.
    """
    budget = Budget(limits_of(jobs=jobs) if limits is None else limits)
    with using(budget), collection_paused():
        return _checked(
            files,
            request_for,
            jobs,
            fix,
            parallel_bytes,
            previous,
            on_progress,
            store or FileStore(),
        )


def _checked(
    files: Iterable[str],
    request_for: Callable[[str], Request],
    jobs: int,
    fix: FixMode,
    parallel_bytes: int | None,
    previous: PreviousRun | None,
    on_progress: OnProgress,
    store: FileStore,
) -> Outcome:
    started = time.perf_counter()
    paths = sorted(dict.fromkeys(files))
    progress = ProgressCount(len(paths), on_progress)
    worth = PARALLEL_BYTES if parallel_bytes is None else parallel_bytes
    run_pass = functools.partial(
        _run_pass, paths, request_for, store, jobs=jobs, parallel_bytes=worth
    )
    selection, checked = run_pass(fix=fix, progress=progress, previous=previous)
    if fix is FixMode.APPLY:
        with timed(FIXING):
            checked = written(checked)
        store.renew()
        if len(paths) > 1 and any(one.change or one.unwritten for one in checked):
            # What was found in a file depends on the others, as they were then; and of those
            # that could not be written, as they are not.
            selection, again = run_pass(
                fix=FixMode.NONE, progress=ProgressCount(len(paths), no_progress)
            )
            checked = _seen_again(checked, again)
    return _outcome(selection, checked, started)


def _run_pass(
    paths: Sequence[str],
    request_for: Callable[[str], Request],
    store: FileStore,
    *,
    jobs: int,
    parallel_bytes: int,
    fix: FixMode,
    progress: ProgressCount,
    previous: PreviousRun | None = None,
) -> tuple[Selection, list[CheckedFile]]:
    """Check every file in which something can be found; return the files, and the results."""
    one_pass = _Pass(paths, store, fix, progress, previous)
    try:
        run_deep(one_pass.prepare, request_for)
        one_pass.check(jobs, parallel_bytes)
    except RunOverError:
        one_pass.break_off()
    return one_pass.selection, one_pass.checked


class _Pass:
    """One pass over the files of a run."""

    def __init__(
        self,
        paths: Sequence[str],
        store: FileStore,
        fix: FixMode,
        progress: ProgressCount,
        previous: PreviousRun | None,
    ) -> None:
        self.paths = paths
        self.fix = fix
        self.progress = progress
        self.previous = previous
        self.selection = Selection(store, previous)
        self.project: Project | None = None
        self.checked: list[CheckedFile] = []
        self.groups = Components()
        self.components: list[ComponentTask] = []
        """Those of which it is not known what is found in them."""
        self.in_components: dict[str, str] = {}
        """The files of these, each with the name of its component."""
        self.alone: list[Task] = []
        self.waiting: dict[str, list[Task]] = {}
        """What is to be checked alone after a component, if no part of its program."""

    def prepare(self, request_for: Callable[[str], Request]) -> None:
        """Sort the files, and find those that are one program.

        Raises RunOverError where the run has taken all its time by then.
        """
        selection, progress = self.selection, self.progress
        for path in self.paths:
            selection.take(path, request_for(path))
            progress.reach(len(selection.files) - selection.left, len(selection.findings))
        no_groups: list[Component] = []
        with timed(PROGRAM):
            project = self.project = selection.with_reexports()
            selection.attempt(lambda: selection.pin(project), None)
            groups = selection.attempt(lambda: selection.components(project), no_groups)
        for component in groups:
            whole = selection.attempt(functools.partial(component_task, component, selection), None)
            if whole is None:
                continue
            recall = functools.partial(cached_component, whole, selection, project)
            found = selection.attempt(recall, None)
            if found is None:
                self.components.append(whole)
                self.in_components |= dict.fromkeys(component.paths, whole.first)
            else:
                progress.add(len(found), sum(len(one.findings) for one in found.values()))
                self.checked += found.values()
        self.groups = Components.of(groups, selection)
        done = {one.path for one in self.checked}
        for task in (*selection.tasks, *selection.parse_tasks):
            if task.path in self.in_components:
                self.waiting.setdefault(self.in_components[task.path], []).append(task)
            elif task.path not in done:
                self.alone.append(task)
        self.alone = self._unknown(self.alone)

    def _unknown(self, tasks: Sequence[Task]) -> list[Task]:
        """Return the files of which it is not known what is found in them; take up the others."""
        selection, project = self.selection, self.project
        nothing: list[CheckedFile] = []
        if project is None or not tasks:
            return []
        asked = [task for task in tasks if not task.only_parse]
        recalled = selection.attempt(lambda: selection.recalled(asked, project), nothing)
        self.progress.add(len(recalled), sum(len(one.findings) for one in recalled))
        self.checked += recalled
        known = {one.path for one in recalled}
        return [task for task in tasks if task.path not in known]

    def check(self, jobs: int, parallel_bytes: int) -> None:
        """Check the components, and all other files alone."""
        selection, project = self.selection, self.project
        if project is None:
            return
        self._take_what_failed(project)
        waiting = [task for tasks in self.waiting.values() for task in tasks]
        if sum(task.size for task in (*self.alone, *waiting)) < parallel_bytes:
            jobs = 1
        timed_too = watch().is_running
        checker = FileChecker(project, self.fix, timed_too, self.groups)
        components = sorted(self.components, key=lambda task: (-task.size, task.first))
        tasks: list[Task | ComponentTask] = [*components, *selection.in_order(self.alone)]
        most = len(tasks) + len(waiting)
        together, alone = check_all(tasks, checker, jobs, self._released, self.progress, most)
        for one in together:
            take_up(one, selection, project)
            self.checked += one.files.values()
        # A program may have led into a file that no import statement leads to.
        done = {one.path for one in self.checked}
        self.checked += selection.noted(one for one in alone if one.path not in done)
        if self.previous is not None:
            self.previous.now.facts_by_file = project.facts_by_file.known(selection.files)
        self._take_what_failed(project)
        selection.note_exhausted(self.checked)
        self.checked += selection.exhausted
        selection.findings += incomplete(selection, project, self.checked)

    def _released(self, component: CheckedComponent) -> list[Task]:
        """Return the files of a component that are to be checked alone, the largest first."""
        tasks = self.waiting.get(component.task.first, ())
        left = [task for task in tasks if task.path not in component.files]
        return self.selection.in_order(run_deep(self._unknown, left))

    def _take_what_failed(self, project: Project) -> None:
        """Report what failed, or took too much, of files that others asked about."""
        selection = self.selection
        if self.previous is not None:
            self.previous.learn(project.view.take_learned())
        selection.findings += [
            failure(path, error) for path, error in project.take_failed().items()
        ]
        exhausted = project.expenses.take_new()
        selection.findings += [unfinished(path, *each) for path, each in exhausted.items()]

    def break_off(self) -> None:
        """Report each file that was not checked because the run was over."""
        done = {one.path for one in self.checked}
        open_paths = {task.path for task in (*self.selection.tasks, *self.selection.parse_tasks)}
        if not self.selection.is_complete:
            open_paths.update(self.paths)
        known = {finding.path for finding in self.selection.findings}
        for path in sorted(open_paths - done - known):
            self.checked.append(ran_out(path, RunOverError(), 0))
        self.selection.files = [*self.paths]
        if self.previous is not None:
            self.previous.is_certain = False


def _check_text(
    selection: Selection, path: str, request: Request, fix: FixMode
) -> list[CheckedFile]:
    """Check one file without others, if it can hold a finding."""
    seconds = request.options.time_limit
    allow(path, seconds)
    try:
        with spending(path):
            selection.add(path, selection.store.read(path), request)
            tasks = (*selection.tasks, *selection.parse_tasks)
            return [check_task(task, fix, Project(store=selection.store)) for task in tasks]
    except LimitError as error:
        selection.files[:] = [path]
        return [ran_out(path, error, seconds)]


def _seen_again(checked: Iterable[CheckedFile], again: Iterable[CheckedFile]) -> list[CheckedFile]:
    """Return what is found in files now, and what came of their fixes."""
    now = {one.path: one for one in again}
    seen = [one.seen_again(now.pop(one.path, None)) for one in checked]
    return [*seen, *now.values()]


def _fixed(checked: Iterable[CheckedFile]) -> dict[str, bytes]:
    return {one.path: one.change.after for one in checked if one.change is not None}


def _outcome(selection: Selection, checked: Sequence[CheckedFile], started: float) -> Outcome:
    # Findings are about the files as fixed, whether or not they were written.
    selection.store.replace(_fixed(checked))
    done = sorted(checked, key=lambda one: one.path)
    # Of what failed, several may have heard.
    every = (*selection.findings, *(finding for one in done for finding in one.findings))
    findings = dict.fromkeys(every)
    suppressed = [each for one in done for each in one.result.suppressed]
    skipped = [*selection.skipped, *(one.skipped for one in done if one.skipped is not None)]
    return Outcome(
        findings=tuple(sorted(findings, key=lambda finding: finding.sort_key)),
        skipped=tuple(sorted(skipped, key=lambda skip: (skip.path, skip.reason))),
        files=len(selection.files),
        parsed=sum(one.result.parsed for one in done),
        cached=0 if selection.previous is None else selection.previous.recalled,
        seconds=time.perf_counter() - started,
        fixed=tuple(one.change.file for one in done if one.change is not None),
        sources=selection.store.source_if_readable,
        revealed=tuple(sorted(each for one in done for each in one.result.revealed)),
        suppressed=tuple(sorted(suppressed, key=lambda each: each.finding.sort_key)),
    )


def request_for(
    settings: Settings,
    path: str,
    *,
    reveal: bool = False,
    sight: Sight = Sight.IMPORTS,
    respect_noqa: bool = True,
    most_seconds: int = 0,
    offers_fixes: bool = True,
    candidates: frozenset[str] | None = None,
) -> Request:
    """Return how a file is checked by its settings. Raises UnknownSelectorError for a wrong one.

    `most_seconds` is the most that it may take, whatever the settings say; 0: what they say.
    `candidates` are the modules of the rules that may find something in it, where that is known and
    no setting names a rule: the others are not imported.
    """
    seconds = settings.file_time_limit
    if most_seconds:
        seconds = min(seconds or most_seconds, most_seconds)
    options = FileOptions(
        rules=_rules(settings, path, candidates),
        accelerator=settings.accelerator,
        target_jax=settings.target_jax,
        models=rows_of(settings.models),
        min_confidence=Confidence(settings.min_confidence),
        treatment=treatment_of(settings),
        sight=sight,
        reveal=reveal,
        respect_noqa=respect_noqa,
        offers_fixes=offers_fixes,
        time_limit=seconds,
    )
    return Request(options, settings.unsafe_fixes)


def _rules(
    settings: Settings, path: str, candidates: frozenset[str] | None
) -> tuple[type[Rule], ...]:
    if candidates:
        rules = rules_in(candidates)
        about_comments = not set(ABOUT_COMMENTS).isdisjoint(rules)
        # What is noted of a file depends on whether any rule asks where arrays are, and what a
        # comment silences on what all of them find.
        if not about_comments and any(rule.follows_arrays for rule in rules):
            return rules
    return select_rules(settings, path)
