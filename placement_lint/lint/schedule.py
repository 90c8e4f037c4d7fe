"""Looking at files for findings: each alone, or several as one program."""

from __future__ import annotations

import contextlib
import functools
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from placement_lint.files.notebook import NotPythonError
from placement_lint.files.source import Source, UnreadableError, read_bytes
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
from placement_lint.lint.incremental.records import Group
from placement_lint.lint.progress import Course, tell_nobody
from placement_lint.lint.results import FixedFile, FixMode, SkipKind, Skipped
from placement_lint.lint.tasks import Change, Examined, Request, Task, failure
from placement_lint.prefilter.conditions import NAMED_SUPPRESSION, text_of_source
from placement_lint.project.graph import closure
from placement_lint.project.imported_names import filter_text
from placement_lint.project.project import Project
from placement_lint.project.sources import open_source, reopened
from placement_lint.rules.tool.internal_error import InternalError
from placement_lint.rules.tool.io_error import IoError
from placement_lint.syntax.deep_stack import run_deep
from placement_lint.syntax.python_parser import may_be_broken
from placement_lint.timing import WAITING, apart, timed, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from placement_lint.findings import Finding
    from placement_lint.limits.budget import Total
    from placement_lint.lint.check_program import Neighbours, Together
    from placement_lint.lint.fixes.apply import FixResult
    from placement_lint.lint.parsing import Parsed
    from placement_lint.lint.select_files import Sifted
    from placement_lint.project.queries import Questions
    from placement_lint.rules.base import Rule


MOST_ATTEMPTS = 8
"""How often files are analysed as one program, each time without one more that ran out of time or
memory, before each is checked alone."""


def examine_all(
    tasks: Sequence[Task], examine: Examiner, jobs: int, course: Course | None = None
) -> list[Examined]:
    """Look at files, each alone; with several jobs in processes, whose death is a finding."""
    course = course or Course(len(tasks), tell_nobody)
    if jobs <= 1:
        return run_deep(_examine_here, tasks, examine, course)
    from placement_lint.lint.pool import Died, map_isolated

    def note(one: Examined | Died) -> None:
        course.add(1, 1 if isinstance(one, Died) else len(one.findings))

    examined: list[Examined] = []
    with timed(WAITING):
        done = map_isolated(examine.elsewhere(current_budget()), tasks, jobs, note)
    for task, one in zip(tasks, done, strict=True):
        if isinstance(one, Died):
            finding = tool_finding(InternalError, task.path, InternalError.describe_death())
            examined.append(Examined(task.path, FileResult((finding,))))
        else:
            examined.append(_added(one))
    return examined


def _examine_here(tasks: Sequence[Task], examine: Examiner, course: Course) -> list[Examined]:
    examined: list[Examined] = []
    for task in tasks:
        examined.append(_added(examine(task)))
        course.add(1, len(examined[-1].findings))
    return examined


def _added(examined: Examined) -> Examined:
    """Note how long it took to look at a file."""
    watch().add(examined.seconds)
    return examined


@dataclass(frozen=True)
class Examiner:
    """What is done with each file that is to be looked at alone."""

    project: Project
    fix: FixMode
    is_timed: bool = False
    """Whether to say what took how long: it may be another process that looks."""

    def __call__(self, task: Task) -> Examined:
        """Read a file, and look at it."""
        if not self.is_timed:
            return self._examine(task)
        with apart() as own:
            examined = self._examine(task)
        return replace(examined, seconds=own.seconds)

    def elsewhere(self, budget: Budget | None) -> ExaminerElsewhere:
        """Return what another process of the run does with each file."""
        if budget is None:
            return ExaminerElsewhere(self, Limits(), None)
        total = None
        with contextlib.suppress(ImportError, OSError):
            # Where nothing can be shared, there are no processes either.
            total = budget.shared_total()
        return ExaminerElsewhere(self, budget.limits, total)

    def _examine(self, task: Task) -> Examined:
        examined = self._looked_at(task)
        failed = self.project.take_failed()
        out = self.project.expenses.take_new()
        if any(finding.code == IoError.code for finding in examined.result.findings):
            self.project.start_afresh()
        if not (failed or out):
            return examined
        beside = (
            *(failure(path, error) for path, error in failed.items()),
            *(unfinished(path, *each) for path, each in out.items()),
        )
        return replace(
            examined, beside=(*examined.beside, *beside), out=frozenset(out), answers=None
        )

    def _looked_at(self, task: Task) -> Examined:
        seconds = task.request.options.time_limit
        allow(task.path, seconds, task.spent)
        try:
            with spending(task.path):
                return examine_task(task, read_bytes(task.path), self.fix, self.project)
        except UnreadableError as error:
            finding = tool_finding(IoError, task.path, IoError.describe(str(error)))
            return Examined(task.path, FileResult((finding,)))
        except LimitError as error:
            return ran_out(task.path, error, seconds)
        except Exception as error:  # our fault, and no reason to lose the other files
            return Examined(task.path, FileResult((failure(task.path, error),)))


def examine_task(task: Task, data: bytes, fix: FixMode, project: Project | None = None) -> Examined:
    """Look at the bytes of a file as far as that is asked; what goes wrong is a finding.

    Raises LimitError where the file, or the run, took more than it may before there was a result.
    """
    if task.only_parse:
        try:
            source = reopened(task.path, data)
            if source is not None and not may_be_broken(source):
                return Examined(task.path, FileResult(()), is_only_parsed=True)
        except Exception as error:  # our fault, and no reason to lose the other files
            return Examined(task.path, FileResult((failure(task.path, error),)))
    return examine(task.path, data, task.request, fix, project)


class ExaminerElsewhere:
    """What another process does with each file that it is given."""

    def __init__(self, examiner: Examiner, limits: Limits, total: Total | None) -> None:
        """Take what a process may take, and what holds the time that all of the run have taken."""
        self._examiner = examiner
        self._limits = limits
        self._total = total

    def __call__(self, task: Task) -> Examined:
        """Read a file, and look at it."""
        with using(self._budget):
            return run_deep(self._examiner, task)

    @functools.cached_property
    def _budget(self) -> Budget:
        return Budget(self._limits, total=self._total)


def ran_out(path: str, error: LimitError, seconds: float) -> Examined:
    """Give what is to be said of a file in which nothing was found before something ran out."""
    if error.path is not None:
        give_up(error)
    finding = unfinished(path, error.with_traceback(None), seconds)
    return Examined(path, FileResult((finding,)))


def examine(
    path: str, data: bytes, request: Request, fix: FixMode, project: Project | None = None
) -> Examined:
    """Look at the bytes of a file, alone; what goes wrong is a finding.

    Raises LimitError where the file, or the run, took more than it may before there was a result.
    """
    try:
        with spending(path):
            return _examined(path, data, request, fix, project)
    except (UnreadableError, NotPythonError) as error:
        # It was readable a moment ago.
        finding = tool_finding(IoError, path, IoError.describe(str(error)))
    except Exception as error:  # our fault, and no reason to lose the other files
        finding = failure(path, error)
    return Examined(path, FileResult((finding,)))


def _examined(
    path: str, data: bytes, request: Request, fix: FixMode, project: Project | None
) -> Examined:
    source = open_source(path, data)
    asked = None if project is None else project.questions(path)
    exports = None if asked is None else asked.name
    options = _with_sight(request.options, source, project)
    if fix is FixMode.NONE:
        try:
            looking, beside = _looking(source, options, project, asked), []
        except NeedsError as error:
            looking, beside = None, [failure(path, error.error, error.rule)]
        result = lint_source(source, options, exports, asked, looking=looking)
        if beside:
            return Examined(path, result, beside=tuple(beside))
        if project is None or asked is None or not _may_be_remembered(source, options, result):
            return Examined(path, result)
        summaries = project.view.take_learned()
        return Examined(path, result, answers=asked.answers, summaries=summaries)
    from placement_lint.lint.fixes.apply import fix_source

    fixed = fix_source(source, options, exports, asked, unsafe=request.unsafe_fixes)
    if fixed.text == source.content:
        return Examined(path, fixed.result, skipped=_unfixable(source, fixed.result, request))
    return Examined(path, fixed.result, _change(source, data, fixed))


def _looking(
    source: Source, options: FileOptions, project: Project | None, asked: Questions | None
) -> tuple[type[Rule], ...] | None:
    """Give the rules that can fire in a file; None where that is not known."""
    text = filter_text(source, project)
    if asked is not None:
        if text.mentions.may_hide_names:
            return None
        # Which rules look depends on what each of these stands for in the run as it is now.
        for name in sorted(text.mentions.names):
            asked.name(name)
    return rules_that_may_fire(text, options.rules)


def _may_be_remembered(source: Source, options: FileOptions, result: FileResult) -> bool:
    """Tell whether what was found depends on nothing but the files of the run."""
    passing = {InternalError.code, IoError.code}
    return not _asks_for_sight(options, source) and not any(
        finding.code in passing for finding in result.findings
    )


def examine_neighbours(
    neighbours: Neighbours,
    sifted: Sifted,
    project: Project,
    fix: FixMode,
) -> dict[str, Examined]:
    """Check files that have to do with one another, if it is not known what is found in them."""
    requests, recollection = sifted.requests, sifted.recollection
    digest = ""
    if recollection is not None:
        accelerated = {
            path
            for path in neighbours.paths & requests.keys()
            if requests[path].options.accelerator
        }
        digest = recollection.group(neighbours.paths, accelerated)
        known = recollection.results(digest, project)
        if known is not None:
            return {path: Examined(path, result) for path, result in known.items()}
    options_for = _options_in(requests, project)
    together, examined = _attempted(neighbours, sifted, options_for, project, fix)
    if together is None:
        return {}
    if recollection is not None:
        recollection.looked_at.update(examined)
        results = {path: one.result for path, one in examined.items()}
        if not together.without and all(
            _may_be_remembered(source, options_for(source), results.get(path, FileResult(())))
            for path, source in together.sources.items()
        ):
            answers = {path: asked.answers for path, asked in together.asked.items()}
            recollection.now.groups[digest] = Group(results, answers)
        else:
            recollection.is_certain = False
    together.let_go()
    return examined


def _attempted(
    neighbours: Neighbours,
    sifted: Sifted,
    options_for: Callable[[Source], FileOptions],
    project: Project,
    fix: FixMode,
) -> tuple[Together | None, dict[str, Examined]]:
    """Check files as one program; without those that run out of something.

    Each of these is still to be checked alone, with what it has left. None: so are all.
    """
    from placement_lint.lint.check_program import group

    requests = sifted.requests
    without = set(neighbours.paths & sifted.left_out)
    parsed: dict[str, Parsed] = {}
    # What is at the expense of none of them is at that of all.
    first = min(neighbours.placing)
    component = f"the component of {first}"
    allow(component, _seconds_of([requests[path] for path in neighbours.placing]))
    for _ in range(MOST_ATTEMPTS):
        try:
            with spending(component):
                together = group(neighbours, options_for, project, frozenset(without), parsed)
                examined = _examine_together(together, requests, project, fix)
        except (TimeUpError, MemoryUpError) as error:
            stopped = error.with_traceback(None)
        else:
            return together, examined
        if isinstance(stopped, MemoryUpError):
            parsed.clear()
        bar(stopped)
        free()
        # Work was broken off, and some of it may be half done.
        project.start_afresh()
        if stopped.path not in neighbours.paths:
            sifted.leave_out(first, type(stopped)(first))
            without.add(first)
            break
        without.add(stopped.path)
        sifted.leave_out(stopped.path, stopped)
    for path in neighbours.paths:
        sifted.incomplete.setdefault(path, min(without))
    return None, {}


def incomplete(sifted: Sifted, project: Project, examined: Iterable[Examined]) -> list[Finding]:
    """Give the JDP900 findings of the files that were checked without one that ran out.

    Those are the files that import it, in any number of steps; and those that it imports, if they
    were to be analysed with it as one program.
    """
    exhausted = sifted.left_out.union(project.expenses.exhausted, *(one.out for one in examined))
    without = dict(sifted.incomplete)
    if exhausted:
        imported: dict[str, set[str]] = {}
        importers: dict[str, set[str]] = {}
        for importer, target, _ in project.imports:
            imported.setdefault(importer, set()).add(target)
            importers.setdefault(target, set()).add(importer)
        for path in sorted(exhausted):
            affected = closure([path], importers)
            if path in sifted.left_out:
                affected |= closure([path], imported)
            for other in affected:
                without.setdefault(other, path)
    return [
        tool_finding(IoError, path, IoError.describe_incomplete(without[path]))
        for path in sorted(without.keys() & sifted.requests.keys() - exhausted)
    ]


def _seconds_of(requests: Sequence[Request]) -> int:
    """Give how many seconds files may take together; 0: any number."""
    limits = [request.options.time_limit for request in requests]
    return sum(limits) if all(limits) else 0


def _options_in(
    requests: Mapping[str, Request], project: Project
) -> Callable[[Source], FileOptions]:
    """Give what tells by which options a file of a program is checked."""
    return lambda source: _with_sight(requests[source.path].options, source, project)


def _examine_together(
    together: Together, requests: Mapping[str, Request], project: Project, fix: FixMode
) -> dict[str, Examined]:
    """Check files as one program; give what came of each, and of others that it led into."""
    if fix is FixMode.NONE:
        return {path: Examined(path, result) for path, result in together.lint().items()}
    from placement_lint.lint.check_program import lint_together
    from placement_lint.lint.fixes.apply import fix_sources

    data: dict[str, bytes] = {}
    sources: dict[str, Source] = {}
    for path in together.lint():
        # Also a file that something carried a placement into: it may be edited as well.
        try:
            data[path] = read_bytes(path)
            sources[path] = open_source(path, data[path])
        except (UnreadableError, NotPythonError):
            # Read a moment ago; the file is checked alone, which says what is wrong with it.
            continue
    as_read = _options_in(requests, project)
    options = {path: as_read(source) for path, source in sources.items()}

    def options_for(source: Source) -> FileOptions:
        return options[source.path] if source.path in options else as_read(source)

    def lint(current: Mapping[str, Source]) -> dict[str, FileResult]:
        return lint_together(
            current, options_for, project, together.members, without=together.without
        )

    unsafe = {path: requests[path].unsafe_fixes for path in sources}
    examined: dict[str, Examined] = {}
    try:
        done = fix_sources(sources, lint, unsafe=unsafe)
    except Exception as error:  # our fault, and no reason to lose the findings
        examined = {path: Examined(path, result) for path, result in lint(sources).items()}
        first = min(examined)
        findings = (failure(first, error), *examined[first].result.findings)
        examined[first] = Examined(first, replace(examined[first].result, findings=findings))
        return examined
    for path, fixed in done.items():
        request, source = requests[path], sources[path]
        if fixed.text == source.content:
            skipped = _unfixable(source, fixed.result, request)
            examined[path] = Examined(path, fixed.result, skipped=skipped)
        else:
            change = _change(source, data[path], fixed)
            examined[path] = Examined(path, fixed.result, change)
    return examined


def _change(source: Source, data: bytes, fixed: FixResult) -> Change:
    after = fixed.source.to_bytes()
    mark = "\ufeff" if source.bom else ""
    texts = (mark + source.content, mark + fixed.text)
    if source.cells:
        encoding = json.detect_encoding(data)
        texts = (data.decode(encoding), after.decode(encoding))
    file = FixedFile(source.path, *texts, fixed.counts)
    return Change(file, data, after, fixed.original, fixed.linked)


def _with_sight(options: FileOptions, source: Source, project: Project | None) -> FileOptions:
    """Note where a file imports, from beside it, what is not in the run, if that matters."""
    if not _asks_for_sight(options, source):
        return options
    if (project or Project()).sees_imports_of(source.path, source.text):
        return options
    return replace(options, sight=Sight.PART)


def _asks_for_sight(options: FileOptions, source: Source) -> bool:
    """Tell whether it matters what there is beside the run."""
    return options.sight is not Sight.WHOLE and NAMED_SUPPRESSION.met_by(text_of_source(source))


def _unfixable(source: Source, result: FileResult, request: Request) -> Skipped | None:
    """Say that a file is not mended where findings in it have fixes in principle."""
    mendable = {rule.code for rule in request.options.rules if rule.fix is not None}
    if not any(finding.code in mendable for finding in result.findings):
        return None
    if not result.exact:
        reason = "not fixed: its line ends (carriage returns) or form feeds would be lost"
        return Skipped(source.path, reason, SkipKind.NOT_FIXED)
    if not source.rewritable:
        reason = f"not fixed: {source.encoding} does not give its bytes back"
        return Skipped(source.path, reason, SkipKind.NOT_FIXED)
    return None
