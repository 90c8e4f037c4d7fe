"""Looking at files for findings: each alone, or several as one program."""

from __future__ import annotations

import contextlib
import functools
import json
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from placement_lint.files.notebook import NotPythonError
from placement_lint.files.source import Source, UnreadableError
from placement_lint.isolation import isolating
from placement_lint.jaxmodel.own_models import may_name_one
from placement_lint.limits.budget import (
    Budget,
    LimitError,
    Limits,
    MemoryUpError,
    TimeUpError,
    allow,
    bar,
    current_budget,
    free,
    give_up,
    spending,
    using,
)
from placement_lint.lint.check_file import NeedsError, lint_source, rules_that_may_fire
from placement_lint.lint.file_results import (
    FileOptions,
    FileResult,
    Sight,
    tool_finding,
    unfinished,
)
from placement_lint.lint.gc_pause import collect_if_many
from placement_lint.lint.incremental.records import Group
from placement_lint.lint.results import FixedFile, FixMode, SkipKind, Skipped
from placement_lint.lint.tasks import Change, CheckedFile, ComponentTask, Request, Task, failure
from placement_lint.prefilter.conditions import NAMED_SUPPRESSION, text_of_source
from placement_lint.project.dependencies import Learned
from placement_lint.project.graph import closure
from placement_lint.project.imported_names import brought, filter_text
from placement_lint.rules.tool.internal_error import InternalError
from placement_lint.rules.tool.io_error import IoError
from placement_lint.syntax.code_digest import code_digest
from placement_lint.syntax.deep_stack import run_deep
from placement_lint.syntax.python_parser import may_be_broken
from placement_lint.timing import WAITING, apart, timed, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from placement_lint.findings import Finding
    from placement_lint.limits.budget import Account, Total
    from placement_lint.lint.check_program import Component, ComponentCheck
    from placement_lint.lint.fixes.apply import FixResult
    from placement_lint.lint.progress import ProgressCount
    from placement_lint.lint.select_files import Selection
    from placement_lint.project.project import Project
    from placement_lint.project.queries import TrackedQueries
    from placement_lint.rules.base import Rule


MOST_ATTEMPTS = 8
"""How often files are analysed as one program, each time without one more that ran out of time or
memory, before each is checked alone."""


@dataclass(frozen=True)
class CheckedComponent:
    """What came of one component."""

    task: ComponentTask
    files: dict[str, CheckedFile] = field(default_factory=dict)
    """Those of which more need not be found out: others are checked alone."""
    findings: tuple[Finding, ...] = ()
    """What is to be said of other files, and of what went wrong."""
    left_out: frozenset[str] = frozenset()
    """Files that ran out of time or memory."""
    incomplete: Mapping[str, str] = field(default_factory=dict)
    """Files that were not checked as parts of the program; and because of which one."""
    out: frozenset[str] = frozenset()
    """Files of which it needed to know something that takes more than they may."""
    group: Group | None = None
    """What the next run is to know; None where it may find something else."""
    learned: Learned = field(default_factory=Learned)
    """What was found out of files on the way."""
    accounts: tuple[Account, ...] = ()
    """What its files have taken."""
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)
    """How long each part of the work took, if that was asked for."""

    @property
    def count(self) -> int:
        """How many findings there are."""
        return sum(len(one.findings) for one in self.files.values())


@dataclass(frozen=True)
class Components:
    """The components of a run, with what decides how their files are checked."""

    by_first: Mapping[str, Component] = field(default_factory=dict)
    requests: Mapping[str, Request] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()
    """Files that are no part of any program."""

    @classmethod
    def of(cls, components: Iterable[Component], selection: Selection) -> Components:
        """Take components of a run."""
        by_first = {component.first: component for component in components}
        return cls(by_first, selection.requests, frozenset(selection.left_out))


def check_all(
    tasks: Sequence[Task | ComponentTask],
    checker: FileChecker,
    jobs: int,
    released: Callable[[CheckedComponent], Sequence[Task]],
    progress: ProgressCount,
    most: int = 0,
) -> tuple[list[CheckedComponent], list[CheckedFile]]:
    """Check components and lone files; with several jobs in processes, whose death is a finding.

    `released` tells which files of a component are to be checked alone after it; `most` is how many
    tasks there may be then. What came of them is in the order of the files' names, whatever was
    done first.
    """
    components: list[CheckedComponent] = []
    files: list[CheckedFile] = []

    def note(one: CheckedFile | CheckedComponent) -> Sequence[Task]:
        watch().add(one.seconds)
        if isinstance(one, CheckedFile):
            files.append(one)
            progress.add(1, len(one.findings))
            return ()
        components.append(one)
        progress.add(len(one.files), one.count)
        return released(one)

    if jobs <= 1:
        run_deep(_check_here, tasks, checker, note)
    else:
        _check_elsewhere(tasks, checker, jobs, note, most)
    components.sort(key=lambda one: one.task.first)
    files.sort(key=lambda one: one.path)
    return components, files


Note: TypeAlias = "Callable[[CheckedFile | CheckedComponent], Sequence[Task]]"
"""Takes what came of a task, and gives what is to be done because of it."""


def _check_here(tasks: Sequence[Task | ComponentTask], checker: FileChecker, note: Note) -> None:
    pending = deque(tasks)
    while pending:
        pending += note(checker(pending.popleft()))


def _check_elsewhere(
    tasks: Sequence[Task | ComponentTask],
    checker: FileChecker,
    jobs: int,
    note: Note,
    most: int,
) -> None:
    from placement_lint.lint.pool import Died, map_isolated

    def done(
        task: Task | ComponentTask, one: CheckedFile | CheckedComponent | Died
    ) -> Sequence[Task]:
        return note(checker.died(task) if isinstance(one, Died) else one)

    with timed(WAITING):
        map_isolated(checker.elsewhere(current_budget()), tasks, jobs, done, most=most)


@dataclass(frozen=True)
class FileChecker:
    """What is done with each component, and with each file that is to be looked at alone."""

    project: Project
    fix: FixMode
    is_timed: bool = False
    """Whether to say what took how long: it may be another process that looks."""
    components: Components = field(default_factory=Components)

    def __call__(self, task: Task | ComponentTask) -> CheckedFile | CheckedComponent:
        """Read files, and look at them."""
        if not self.is_timed:
            return self._of(task)
        with apart() as own:
            checked = self._of(task)
        return replace(checked, seconds=own.seconds)

    def _of(self, task: Task | ComponentTask) -> CheckedFile | CheckedComponent:
        return self.alone(task) if isinstance(task, Task) else self.together(task)

    def died(self, task: Task | ComponentTask) -> CheckedFile | CheckedComponent:
        """Return what is to be said where a process died of a task.

        Which file of a component it was is said when each is checked alone.
        """
        if isinstance(task, Task):
            finding = tool_finding(InternalError, task.path, InternalError.describe_death())
            return CheckedFile(task.path, FileResult((finding,)))
        component = self.components.by_first[task.first]
        place = min(component.placing)
        finding = tool_finding(InternalError, place, InternalError.describe_death())
        without = dict.fromkeys(component.paths - {place}, place)
        return CheckedComponent(task, findings=(finding,), incomplete=without)

    def together(self, task: ComponentTask) -> CheckedComponent:
        """Check the files of a component that are one program; what goes wrong is a finding."""
        component, requests = self.components.by_first[task.first], self.components.requests
        for path in component.paths & requests.keys():
            allow(path, requests[path].options.time_limit, task.spent.get(path, 0.0))
        attempts = _Attempts(component, self.components, self.project, self.fix)
        failed: list[Finding] = []
        checked: dict[str, CheckedFile] = {}
        group = None
        with isolating(lambda error: failed.append(failure(min(component.placing), error))):
            try:
                together, checked = attempts.run()
                if together is not None:
                    group = attempts.recorded(together, checked) if task.group else None
                    together.free()
            except LimitError:
                # The run is over: that is said of each file when it is its turn alone.
                checked = {}
        collect_if_many()
        beside, out = self._beside()
        budget = current_budget()
        return CheckedComponent(
            task,
            checked,
            (*attempts.left_out.values(), *failed, *beside),
            frozenset(attempts.left_out),
            attempts.incomplete,
            out,
            None if beside else group,
            self.project.view.take_learned() if task.group else Learned(),
            () if budget is None else budget.accounts_of(component.paths),
        )

    def _beside(self) -> tuple[tuple[Finding, ...], frozenset[str]]:
        """Return what failed of other files, and which of them have taken too much."""
        failed = self.project.take_failed()
        out = self.project.expenses.take_new()
        beside = (
            *(failure(path, error) for path, error in failed.items()),
            *(unfinished(path, *each) for path, each in out.items()),
        )
        return beside, frozenset(out)

    def elsewhere(self, budget: Budget | None) -> WorkerChecker:
        """Return what another process of the run does with each file."""
        if budget is None:
            return WorkerChecker(self, Limits(), None)
        total = None
        with contextlib.suppress(ImportError, OSError):
            # Where nothing can be shared, there are no processes either.
            total = budget.shared_total()
        return WorkerChecker(self, budget.limits, total)

    def alone(self, task: Task) -> CheckedFile:
        """Read a file, and look at it."""
        checked = self._within_limits(task)
        collect_if_many()
        beside, out = self._beside()
        if any(finding.code == IoError.code for finding in checked.result.findings):
            self.project.forget_results()
        if not beside:
            return checked
        return replace(checked, beside=(*checked.beside, *beside), out=out, answers=None)

    def _within_limits(self, task: Task) -> CheckedFile:
        seconds = task.request.options.time_limit
        allow(task.path, seconds, task.spent)
        try:
            with spending(task.path):
                return check_task(task, self.fix, self.project)
        except UnreadableError as error:
            finding = tool_finding(IoError, task.path, IoError.describe(str(error)))
            return CheckedFile(task.path, FileResult((finding,)))
        except LimitError as error:
            return ran_out(task.path, error, seconds)
        except Exception as error:  # our fault, and no reason to lose the other files
            return CheckedFile(task.path, FileResult((failure(task.path, error),)))


def check_task(task: Task, fix: FixMode, project: Project) -> CheckedFile:
    """Check a file as the task asks; what goes wrong is a finding.

    Raises LimitError where the file, or the run, took more than it may before there was a result.
    """
    if task.only_parse:
        findings: list[Finding] = []
        with isolating(lambda error: findings.append(failure(task.path, error))):
            source = project.store.source_if_readable(task.path)
            if source is not None and not may_be_broken(source):
                return CheckedFile(task.path, FileResult(()), is_only_parsed=True)
        if findings:
            return CheckedFile(task.path, FileResult(tuple(findings)))
    return check_alone(task.path, task.request, fix, project, task.may_fire)


class WorkerChecker:
    """What another process does with each task that it is given."""

    def __init__(self, checker: FileChecker, limits: Limits, total: Total | None) -> None:
        """Take what a process may take, and what holds the time that all of the run have taken."""
        self._checker = checker
        self._limits = limits
        self._total = total

    def __call__(self, task: Task | ComponentTask) -> CheckedFile | CheckedComponent:
        """Read files, and look at them."""
        with using(self._budget):
            return run_deep(self._checker, task)

    @functools.cached_property
    def _budget(self) -> Budget:
        return Budget(self._limits, total=self._total)


def ran_out(path: str, error: LimitError, seconds: float) -> CheckedFile:
    """Return what is to be said of a file in which nothing was found before something ran out."""
    if error.path is not None:
        give_up(error)
    finding = unfinished(path, error.with_traceback(None), seconds)
    return CheckedFile(path, FileResult((finding,)))


def check_alone(
    path: str,
    request: Request,
    fix: FixMode,
    project: Project,
    may_fire: tuple[type[Rule], ...] | None = None,
) -> CheckedFile:
    """Check a file alone; what goes wrong is a finding.

    `may_fire` has the rules that can fire by what the file says itself, if that is known.
    Raises LimitError where the file, or the run, took more than it may before there was a result.
    """
    findings: list[Finding] = []
    with isolating(lambda error: findings.append(failure(path, error))):
        try:
            with spending(path):
                return _check_alone(path, request, fix, project, may_fire)
        except (UnreadableError, NotPythonError) as error:
            findings.append(tool_finding(IoError, path, IoError.describe(str(error))))
    return CheckedFile(path, FileResult(tuple(findings)))


def _check_alone(
    path: str,
    request: Request,
    fix: FixMode,
    project: Project,
    may_fire: tuple[type[Rule], ...] | None,
) -> CheckedFile:
    store = project.store
    source = store.source(path)
    asked = project.questions(path)
    options = _with_sight(request.options, source, project)
    if fix is FixMode.NONE:
        try:
            may_fire, beside = _rules_to_run(source, options, project, asked, may_fire), []
        except NeedsError as error:
            may_fire, beside = None, [failure(path, error.error, error.rule)]
        result = lint_source(source, options, asked.name, asked, may_fire=may_fire, store=store)
        if beside:
            return CheckedFile(path, result, beside=tuple(beside))
        if not _may_be_remembered(source, options, result):
            return CheckedFile(path, result)
        learned = project.view.take_learned()
        return CheckedFile(path, result, answers=asked.answers, learned=learned)
    from placement_lint.lint.fixes.apply import fix_source

    unsafe = request.unsafe_fixes
    fixed = fix_source(source, options, asked.name, asked, unsafe=unsafe, store=store)
    if fixed.text == source.content:
        return CheckedFile(path, fixed.result, skipped=_unfixable(source, fixed, request))
    return CheckedFile(path, fixed.result, _change(source, store.read(path), fixed))


def _rules_to_run(
    source: Source,
    options: FileOptions,
    project: Project,
    asked: TrackedQueries,
    known: tuple[type[Rule], ...] | None,
) -> tuple[type[Rule], ...] | None:
    """Return the rules that can fire in a file; None where that is not known.

    `known`: those that can by what it says itself.
    """
    asked.brings_donation()
    imported = project.facts_by_file[source.path].imported
    if known is not None and imported is not None and not brought(imported, source.path, project):
        for name in sorted(imported):
            asked.name(name)
        return known
    text = filter_text(source, project)
    if text.mentions.may_hide_names or (
        options.models
        and may_name_one(options.models, source.text.encode("utf-8", "surrogatepass"))
    ):
        return None
    # Which rules look depends on what each of these stands for in the run as it is now.
    for name in sorted(text.mentions.names):
        asked.name(name)
    return rules_that_may_fire(text, options.rules)


def _may_be_remembered(source: Source, options: FileOptions, result: FileResult) -> bool:
    """Return whether what was found depends on nothing but the files of the run."""
    passing = {InternalError.code, IoError.code}
    return not _asks_for_sight(options, source) and not any(
        finding.code in passing for finding in result.findings
    )


def component_task(component: Component, selection: Selection) -> ComponentTask:
    """Return what there is to do about a component."""
    previous, requests = selection.previous, selection.requests
    group = ""
    if previous is not None:
        accelerated = {
            path for path in component.paths & requests.keys() if requests[path].options.accelerator
        }
        group = previous.group(component.paths, accelerated, component.placing, component.importers)
    return ComponentTask(
        component.first,
        sum(map(selection.size, component.paths)),
        selection.spent(component.paths),
        group,
    )


def cached_component(
    task: ComponentTask, selection: Selection, project: Project
) -> dict[str, CheckedFile] | None:
    """Return what is found in a component, if that is known from the last run."""
    previous = selection.previous
    known = None if previous is None else previous.results(task.group, project)
    if known is None:
        return None
    return {path: CheckedFile(path, result) for path, result in known.items()}


def take_up(checked: CheckedComponent, selection: Selection, project: Project) -> None:
    """Note what came of a component, in this process or another one."""
    selection.findings += checked.findings
    selection.left_out |= checked.left_out
    for path, because_of in checked.incomplete.items():
        selection.incomplete.setdefault(path, because_of)
    project.expenses.exhausted |= checked.out
    budget, previous = current_budget(), selection.previous
    if budget is not None:
        for account in checked.accounts:
            budget.note(account)
    if previous is None:
        return
    previous.looked_at.update(checked.files)
    previous.learn(checked.learned)
    if checked.group is not None:
        previous.note_group(checked.task.group, checked.group)
    else:
        previous.is_certain = False


def check_component(
    component: Component, selection: Selection, project: Project, fix: FixMode
) -> dict[str, CheckedFile]:
    """Check the files of a component here and now, if it is not known what is found in them."""
    task = component_task(component, selection)
    known = cached_component(task, selection, project)
    if known is not None:
        return known
    program = Components.of([component], selection)
    checked = FileChecker(project, fix, components=program).together(task)
    take_up(checked, selection, project)
    return checked.files


class _Attempts:
    """The attempts to check the files of a component as one program."""

    def __init__(
        self,
        component: Component,
        known: Components,
        project: Project,
        fix: FixMode,
    ) -> None:
        self.component = component
        self.requests = known.requests
        self.project = project
        self.fix = fix
        self.without = set(component.paths & known.left_out)
        self.left_out: dict[str, Finding] = {}
        """The files that ran out of something, and what is to be said of each."""
        self.incomplete: dict[str, str] = {}
        """The files that are not checked as parts of the program; and because of which one."""
        self.options_for = _options_in(known.requests, project)

    def run(self) -> tuple[ComponentCheck | None, dict[str, CheckedFile]]:
        """Check files as one program; without those that run out of something.

        Each of these is still to be checked alone, with what it has left. None: so are all.
        """
        from placement_lint.lint.check_program import group

        component, requests, project = self.component, self.requests, self.project
        # What is at the expense of none of them is at that of all.
        first = min(component.placing)
        account = f"the component of {first}"
        allow(account, _seconds_of([requests[path] for path in component.placing]))
        for _ in range(MOST_ATTEMPTS):
            try:
                with spending(account):
                    together = group(component, self.options_for, project, frozenset(self.without))
                    checked = _check_together(together, requests, project, self.fix)
            except (TimeUpError, MemoryUpError) as error:
                stopped = error.with_traceback(None)
            else:
                return together, checked
            bar(stopped)
            free()
            # Work was broken off, and some of it may be half done.
            project.forget_results()
            if stopped.path not in component.paths:
                self._leave_out(first, type(stopped)(first))
                break
            self._leave_out(stopped.path, stopped)
        for path in component.paths:
            self.incomplete.setdefault(path, min(self.without))
        return None, {}

    def _leave_out(self, path: str, error: LimitError) -> None:
        self.without.add(path)
        seconds = self.requests[path].options.time_limit
        self.left_out[path] = unfinished(path, error, seconds)

    def recorded(
        self, together: ComponentCheck, checked: Mapping[str, CheckedFile]
    ) -> Group | None:
        """Return what the next run is to know; None where it may find something else."""
        results = {path: one.result for path, one in checked.items()}
        if (
            not together.is_readable
            or together.without
            or not all(
                _may_be_remembered(
                    source, self.options_for(source), results.get(path, FileResult(()))
                )
                for path, source in together.sources.items()
            )
        ):
            return None
        answers = {path: asked.answers for path, asked in together.asked.items()}
        reads = together.reads
        reads.codes = {path: code_digest(source.text) for path, source in together.sources.items()}
        reads.words = {
            path: dict(analysis.facts.said) for path, analysis in together.analyses.items()
        }
        return Group(results, answers, reads)


def incomplete(
    selection: Selection, project: Project, checked: Iterable[CheckedFile]
) -> list[Finding]:
    """Return the JDP900 findings of the files that were checked without one that ran out.

    Those are the files that import it, in any number of steps; and those that it imports, if they
    were to be analysed with it as one program.
    """
    exhausted = selection.left_out.union(project.expenses.exhausted, *(one.out for one in checked))
    without = dict(selection.incomplete)
    if exhausted:
        imported: dict[str, set[str]] = {}
        importers: dict[str, set[str]] = {}
        for importer, target, _ in project.imports:
            imported.setdefault(importer, set()).add(target)
            importers.setdefault(target, set()).add(importer)
        for path in sorted(exhausted):
            affected = closure([path], importers)
            if path in selection.left_out:
                affected |= closure([path], imported)
            for other in affected:
                without.setdefault(other, path)
    return [
        tool_finding(IoError, path, IoError.describe_incomplete(without[path]))
        for path in sorted(without.keys() & selection.requests.keys() - exhausted)
    ]


def _seconds_of(requests: Sequence[Request]) -> int:
    """Return how many seconds files may take together; 0: any number."""
    limits = [request.options.time_limit for request in requests]
    return sum(limits) if all(limits) else 0


def _options_in(
    requests: Mapping[str, Request], project: Project
) -> Callable[[Source], FileOptions]:
    """Return what tells by which options a file of a program is checked."""
    return lambda source: _with_sight(requests[source.path].options, source, project)


def _check_together(
    together: ComponentCheck, requests: Mapping[str, Request], project: Project, fix: FixMode
) -> dict[str, CheckedFile]:
    """Check files as one program; give what came of each, and of others that it led into."""
    if fix is FixMode.NONE:
        return {path: CheckedFile(path, result) for path, result in together.lint().items()}
    from placement_lint.lint.check_program import check_together
    from placement_lint.lint.fixes.apply import fix_sources

    # Also the files that something carried a placement into: they may be edited as well.
    opened = {path: project.store.source_if_readable(path) for path in together.lint()}
    sources = {path: source for path, source in opened.items() if source is not None}
    as_read = _options_in(requests, project)
    options = {path: as_read(source) for path, source in sources.items()}

    def options_for(source: Source) -> FileOptions:
        return options[source.path] if source.path in options else as_read(source)

    def lint(current: Mapping[str, Source]) -> dict[str, FileResult]:
        return check_together(
            current, options_for, project, together.members, without=together.without
        )

    unsafe = {path: requests[path].unsafe_fixes for path in sources}
    checked: dict[str, CheckedFile] = {}
    try:
        done = fix_sources(sources, lint, unsafe=unsafe)
    except Exception as error:  # our fault, and no reason to lose the findings
        checked = {path: CheckedFile(path, result) for path, result in lint(sources).items()}
        first = min(checked)
        findings = (failure(first, error), *checked[first].result.findings)
        checked[first] = CheckedFile(first, replace(checked[first].result, findings=findings))
        return checked
    for path, fixed in done.items():
        request, source = requests[path], sources[path]
        if fixed.text == source.content:
            skipped = _unfixable(source, fixed, request)
            checked[path] = CheckedFile(path, fixed.result, skipped=skipped)
        else:
            change = _change(source, project.store.read(path), fixed)
            checked[path] = CheckedFile(path, fixed.result, change)
    return checked


def _change(source: Source, data: bytes, fixed: FixResult) -> Change:
    after = fixed.source.to_bytes()
    mark = "\ufeff" if source.bom else ""
    texts = (mark + source.content, mark + fixed.text)
    if source.cells:
        encoding = json.detect_encoding(data)
        texts = (data.decode(encoding), after.decode(encoding))
    file = FixedFile(source.path, *texts, fixed.counts)
    return Change(file, data, after, fixed.original, fixed.linked)


def _with_sight(options: FileOptions, source: Source, project: Project) -> FileOptions:
    """Note where a file imports, from beside it, what is not in the run, if that matters."""
    if not _asks_for_sight(options, source):
        return options
    if project.sees_imports_of(source.path, source.text):
        return options
    return replace(options, sight=Sight.PART)


def _asks_for_sight(options: FileOptions, source: Source) -> bool:
    """Return whether it matters what there is beside the run."""
    return options.sight is not Sight.WHOLE and NAMED_SUPPRESSION.met_by(text_of_source(source))


def _unfixable(source: Source, fixed: FixResult, request: Request) -> Skipped | None:
    """Return why a file is not fixed although findings in it have fixes."""
    fixable = {rule.code for rule in request.options.rules if rule.fix is not None}
    if not any(finding.code in fixable for finding in fixed.result.findings):
        return None
    if not fixed.result.exact:
        reason = "not fixed: its line ends (carriage returns) or form feeds would be lost"
        return Skipped(source.path, reason, SkipKind.NOT_FIXED)
    if not source.rewritable:
        reason = f"not fixed: {source.encoding} does not give its bytes back"
        return Skipped(source.path, reason, SkipKind.NOT_FIXED)
    return Skipped(source.path, fixed.why_held, SkipKind.NOT_FIXED) if fixed.held else None
