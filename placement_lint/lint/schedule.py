"""Looking at files for findings: each alone, or several as one program."""

from __future__ import annotations

import contextlib
import functools
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

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
from placement_lint.lint.progress import ProgressCount, no_progress
from placement_lint.lint.results import FixedFile, FixMode, SkipKind, Skipped
from placement_lint.lint.tasks import Change, CheckedFile, Request, Task, failure
from placement_lint.prefilter.conditions import NAMED_SUPPRESSION, text_of_source
from placement_lint.project.graph import closure
from placement_lint.project.imported_names import filter_text
from placement_lint.rules.tool.internal_error import InternalError
from placement_lint.rules.tool.io_error import IoError
from placement_lint.syntax.code_digest import code_digest
from placement_lint.syntax.deep_stack import run_deep
from placement_lint.syntax.python_parser import may_be_broken
from placement_lint.timing import WAITING, apart, timed, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from placement_lint.findings import Finding
    from placement_lint.limits.budget import Total
    from placement_lint.lint.check_program import Component, ComponentCheck
    from placement_lint.lint.fixes.apply import FixResult
    from placement_lint.lint.select_files import Selection
    from placement_lint.project.project import Project
    from placement_lint.project.queries import TrackedQueries
    from placement_lint.rules.base import Rule


MOST_ATTEMPTS = 8
"""How often files are analysed as one program, each time without one more that ran out of time or
memory, before each is checked alone."""


def check_all(
    tasks: Sequence[Task],
    check_alone: FileChecker,
    jobs: int,
    progress: ProgressCount | None = None,
) -> list[CheckedFile]:
    """Check files, each alone; with several jobs in processes, whose death is a finding."""
    progress = progress or ProgressCount(len(tasks), no_progress)
    if jobs <= 1:
        return run_deep(_check_here, tasks, check_alone, progress)
    from placement_lint.lint.pool import Died, map_isolated

    def note(one: CheckedFile | Died) -> None:
        progress.add(1, 1 if isinstance(one, Died) else len(one.findings))

    checked: list[CheckedFile] = []
    with timed(WAITING):
        done = map_isolated(check_alone.elsewhere(current_budget()), tasks, jobs, note)
    for task, one in zip(tasks, done, strict=True):
        if isinstance(one, Died):
            finding = tool_finding(InternalError, task.path, InternalError.describe_death())
            checked.append(CheckedFile(task.path, FileResult((finding,))))
        else:
            checked.append(_added(one))
    return checked


def _check_here(
    tasks: Sequence[Task], check_alone: FileChecker, progress: ProgressCount
) -> list[CheckedFile]:
    checked: list[CheckedFile] = []
    for task in tasks:
        checked.append(_added(check_alone(task)))
        progress.add(1, len(checked[-1].findings))
    return checked


def _added(checked: CheckedFile) -> CheckedFile:
    """Note how long it took to look at a file."""
    watch().add(checked.seconds)
    return checked


@dataclass(frozen=True)
class FileChecker:
    """What is done with each file that is to be looked at alone."""

    project: Project
    fix: FixMode
    is_timed: bool = False
    """Whether to say what took how long: it may be another process that looks."""

    def __call__(self, task: Task) -> CheckedFile:
        """Read a file, and look at it."""
        if not self.is_timed:
            return self._check(task)
        with apart() as own:
            checked = self._check(task)
        return replace(checked, seconds=own.seconds)

    def elsewhere(self, budget: Budget | None) -> WorkerChecker:
        """Return what another process of the run does with each file."""
        if budget is None:
            return WorkerChecker(self, Limits(), None)
        total = None
        with contextlib.suppress(ImportError, OSError):
            # Where nothing can be shared, there are no processes either.
            total = budget.shared_total()
        return WorkerChecker(self, budget.limits, total)

    def _check(self, task: Task) -> CheckedFile:
        checked = self._within_limits(task)
        collect_if_many()
        failed = self.project.take_failed()
        out = self.project.expenses.take_new()
        if any(finding.code == IoError.code for finding in checked.result.findings):
            self.project.start_afresh()
        if not (failed or out):
            return checked
        beside = (
            *(failure(path, error) for path, error in failed.items()),
            *(unfinished(path, *each) for path, each in out.items()),
        )
        return replace(checked, beside=(*checked.beside, *beside), out=frozenset(out), answers=None)

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
    return check_alone(task.path, task.request, fix, project)


class WorkerChecker:
    """What another process does with each file that it is given."""

    def __init__(self, examiner: FileChecker, limits: Limits, total: Total | None) -> None:
        """Take what a process may take, and what holds the time that all of the run have taken."""
        self._examiner = examiner
        self._limits = limits
        self._total = total

    def __call__(self, task: Task) -> CheckedFile:
        """Read a file, and look at it."""
        with using(self._budget):
            return run_deep(self._examiner, task)

    @functools.cached_property
    def _budget(self) -> Budget:
        return Budget(self._limits, total=self._total)


def ran_out(path: str, error: LimitError, seconds: float) -> CheckedFile:
    """Return what is to be said of a file in which nothing was found before something ran out."""
    if error.path is not None:
        give_up(error)
    finding = unfinished(path, error.with_traceback(None), seconds)
    return CheckedFile(path, FileResult((finding,)))


def check_alone(path: str, request: Request, fix: FixMode, project: Project) -> CheckedFile:
    """Check a file alone; what goes wrong is a finding.

    Raises LimitError where the file, or the run, took more than it may before there was a result.
    """
    findings: list[Finding] = []
    with isolating(lambda error: findings.append(failure(path, error))):
        try:
            with spending(path):
                return _check_alone(path, request, fix, project)
        except (UnreadableError, NotPythonError) as error:
            findings.append(tool_finding(IoError, path, IoError.describe(str(error))))
    return CheckedFile(path, FileResult(tuple(findings)))


def _check_alone(path: str, request: Request, fix: FixMode, project: Project) -> CheckedFile:
    store = project.store
    source = store.source(path)
    asked = project.questions(path)
    options = _with_sight(request.options, source, project)
    if fix is FixMode.NONE:
        try:
            may_fire, beside = _rules_to_run(source, options, project, asked), []
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
        return CheckedFile(path, fixed.result, skipped=_unfixable(source, fixed.result, request))
    return CheckedFile(path, fixed.result, _change(source, store.read(path), fixed))


def _rules_to_run(
    source: Source, options: FileOptions, project: Project, asked: TrackedQueries
) -> tuple[type[Rule], ...] | None:
    """Return the rules that can fire in a file; None where that is not known."""
    asked.brings_donation()
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


def check_component(
    component: Component,
    selection: Selection,
    project: Project,
    fix: FixMode,
) -> dict[str, CheckedFile]:
    """Check files that have to do with one another, if it is not known what is found in them."""
    requests, previous = selection.requests, selection.previous
    digest = ""
    if previous is not None:
        accelerated = {
            path for path in component.paths & requests.keys() if requests[path].options.accelerator
        }
        digest = previous.group(
            component.paths, accelerated, component.placing, component.importers
        )
        known = previous.results(digest, project)
        if known is not None:
            return {path: CheckedFile(path, result) for path, result in known.items()}
    options_for = _options_in(requests, project)
    together, checked = _attempted(component, selection, options_for, project, fix)
    if together is None:
        return {}
    if previous is not None:
        previous.looked_at.update(checked)
        results = {path: one.result for path, one in checked.items()}
        if (
            together.is_readable
            and not together.without
            and all(
                _may_be_remembered(source, options_for(source), results.get(path, FileResult(())))
                for path, source in together.sources.items()
            )
        ):
            answers = {path: asked.answers for path, asked in together.asked.items()}
            reads = together.reads
            reads.codes = {
                path: code_digest(source.text) for path, source in together.sources.items()
            }
            reads.words = {
                path: dict(analysis.facts.said) for path, analysis in together.analyses.items()
            }
            previous.now.groups[digest] = Group(results, answers, reads)
        else:
            previous.is_certain = False
    together.free()
    collect_if_many()
    return checked


def _attempted(
    component: Component,
    selection: Selection,
    options_for: Callable[[Source], FileOptions],
    project: Project,
    fix: FixMode,
) -> tuple[ComponentCheck | None, dict[str, CheckedFile]]:
    """Check files as one program; without those that run out of something.

    Each of these is still to be checked alone, with what it has left. None: so are all.
    """
    from placement_lint.lint.check_program import group

    requests = selection.requests
    without = set(component.paths & selection.left_out)
    # What is at the expense of none of them is at that of all.
    first = min(component.placing)
    account = f"the component of {first}"
    allow(account, _seconds_of([requests[path] for path in component.placing]))
    for _ in range(MOST_ATTEMPTS):
        try:
            with spending(account):
                together = group(component, options_for, project, frozenset(without))
                checked = _check_together(together, requests, project, fix)
        except (TimeUpError, MemoryUpError) as error:
            stopped = error.with_traceback(None)
        else:
            return together, checked
        bar(stopped)
        free()
        # Work was broken off, and some of it may be half done.
        project.start_afresh()
        if stopped.path not in component.paths:
            selection.leave_out(first, type(stopped)(first))
            without.add(first)
            break
        without.add(stopped.path)
        selection.leave_out(stopped.path, stopped)
    for path in component.paths:
        selection.incomplete.setdefault(path, min(without))
    return None, {}


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
            skipped = _unfixable(source, fixed.result, request)
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


def _unfixable(source: Source, result: FileResult, request: Request) -> Skipped | None:
    """Return why a file is not fixed although findings in it have fixes."""
    fixable = {rule.code for rule in request.options.rules if rule.fix is not None}
    if not any(finding.code in fixable for finding in result.findings):
        return None
    if not result.exact:
        reason = "not fixed: its line ends (carriage returns) or form feeds would be lost"
        return Skipped(source.path, reason, SkipKind.NOT_FIXED)
    if not source.rewritable:
        reason = f"not fixed: {source.encoding} does not give its bytes back"
        return Skipped(source.path, reason, SkipKind.NOT_FIXED)
    return None
