"""Many files: which of them can hold a finding, and what is found in those."""

from __future__ import annotations

import functools
import json
import re
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from placement_lint.files.notebook import NotPythonError, is_notebook
from placement_lint.files.source import Source, UnreadableError, read_bytes
from placement_lint.findings import Confidence
from placement_lint.lint.coarse import has_long_lines
from placement_lint.lint.course import Course, tell_nobody
from placement_lint.lint.file import (
    FileOptions,
    FileResult,
    guard,
    lint_source,
    passes_filter,
    rules_that_may_fire,
    text_of_source,
    tool_finding,
)
from placement_lint.lint.memory import Checked, Group, Sorted
from placement_lint.lint.outcome import FixedFile, FixMode, Outcome, Skipped
from placement_lint.lint.pinning import PINS
from placement_lint.lint.project import Project, mentions_roots, outside_of_roots
from placement_lint.lint.questions import Answers, Questions
from placement_lint.lint.reading import Sources, open_source, reopened
from placement_lint.lint.target import forget
from placement_lint.lint.together import carries, commits
from placement_lint.lint.unused import Sight
from placement_lint.rules.needs import NAMED_SUPPRESSION, FileText
from placement_lint.rules.selection import select_rules
from placement_lint.rules.tool.internal_error import InternalError
from placement_lint.rules.tool.invalid_syntax import InvalidSyntax
from placement_lint.rules.tool.io_error import IoError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from placement_lint.config.settings import Settings
    from placement_lint.findings import Finding
    from placement_lint.lint.course import Tell
    from placement_lint.lint.fixing import FixResult
    from placement_lint.lint.memory import ModuleEffects
    from placement_lint.lint.recollection import Recollection
    from placement_lint.lint.together import Neighbours, Together
    from placement_lint.rules.base import Rule

PARALLEL_BYTES = 500_000
"""What is worth starting processes for: they take some 0.4 s to be ready, and a file some 2.5 µs a
byte (LibCST 1.9.0, Python 3.11)."""

_JAX = b"jax"
_REVEAL = b"# reveal:"
_STAR_IMPORT = re.compile(r"\bimport[\s\\(]*\*")


@dataclass(frozen=True)
class Request:
    """How one file is to be checked."""

    options: FileOptions
    unsafe_fixes: bool = False


@dataclass(frozen=True)
class _Task:
    """One file that may hold a finding."""

    path: str
    request: Request
    size: int


@dataclass(frozen=True)
class _Change:
    """What fixes make of a file's bytes."""

    file: FixedFile
    before: bytes
    after: bytes
    unchanged: FileResult
    """What is to be reported where the file cannot be written."""
    linked: frozenset[str] = frozenset()
    """The files that fixes have edited together with it."""


@dataclass(frozen=True)
class _Examined:
    """What came of one file."""

    path: str
    result: FileResult
    change: _Change | None = None
    skipped: Skipped | None = None
    unwritten: Finding | None = None
    """Why what fixes made of it could not be written."""
    answers: Answers | None = None
    """What other files told it; None where that is not all that it depends on."""
    effects: Mapping[str, ModuleEffects] = field(default_factory=dict)
    """What was found out of modules on the way."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything to be reported of the file."""
        beside = () if self.unwritten is None else (self.unwritten,)
        return (*beside, *self.result.findings)

    def seen_again(self, other: _Examined | None) -> _Examined:
        """Take the result of another look at the file; None: nothing can be found in it any more.

        What went wrong with its fixes is still said.
        """
        if other is None:
            other = _Examined(self.path, FileResult(()))
        wrong = [found for found in self.result.findings if found.code == InternalError.code]
        findings = tuple(dict.fromkeys([*wrong, *other.result.findings]))
        return replace(self, result=replace(other.result, findings=findings))


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

    def request_for(path: str) -> Request:
        return _request(settings_for(path), path, reveal=reveal, sight=sight)

    return check_files(files, request_for, jobs=jobs, fix=fix, recollection=recollection, tell=tell)


def lint_text(
    data: bytes, path: str, settings: Settings, *, fix: FixMode = FixMode.NONE
) -> tuple[Outcome, bytes | None]:
    """Check the bytes of one file under a name.

    Gives with what was found the bytes as they are after fixing; None where no fixes were asked.
    """
    started = time.perf_counter()
    forget()
    request = _request(settings, path)
    sifted = _Sifted()
    sifted.add(path, data, request)
    examined = [_examine(task.path, data, task.request, fix) for task in sifted.tasks]
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
    parallel_bytes: int = PARALLEL_BYTES,
    recollection: Recollection | None = None,
    tell: Tell = tell_nobody,
) -> Outcome:
    """Check files, each as asked; with several jobs in processes, where the text is worth it."""
    started = time.perf_counter()
    forget()
    paths = sorted(dict.fromkeys(files))
    course = Course(len(paths), tell)
    look = functools.partial(_look, paths, request_for, jobs=jobs, parallel_bytes=parallel_bytes)
    sifted, examined = look(fix=fix, course=course, recollection=recollection)
    if fix is FixMode.APPLY:
        examined = _written(examined)
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
) -> tuple[_Sifted, list[_Examined]]:
    """Look at every file in which something can be found; give the files, and what came of it."""
    sifted = _Sifted(recollection)
    for path in paths:
        sifted.take(path, request_for(path))
        course.reach(len(sifted.files) - len(sifted.tasks), len(sifted.findings))
    project = sifted.with_reexports()
    sifted.pin(project)
    program: dict[str, _Examined] = {}
    for neighbours in sifted.neighbourhoods(project):
        found = _examine_neighbours(neighbours, sifted, project, fix)
        course.add(len(found), sum(len(one.findings) for one in found.values()))
        program |= found
    sifted.tasks = [task for task in sifted.tasks if task.path not in program]
    recalled = sifted.recalled(project)
    course.add(len(recalled), sum(len(one.findings) for one in recalled))
    examined = [*program.values(), *recalled]
    # The largest first, so that none of them is what all the others' processes wait for.
    tasks = sorted(sifted.tasks, key=lambda task: (-task.size, task.path))
    if sum(task.size for task in tasks) < parallel_bytes:
        jobs = 1
    examined += sifted.noted(_examine_all(tasks, _Examiner(project, fix), jobs, course))
    if recollection is not None:
        recollection.now.effects.update(project.view.take_learned())
    return sifted, examined


def _seen_again(examined: Iterable[_Examined], again: Iterable[_Examined]) -> list[_Examined]:
    """Give what is found in files now, and what came of their fixes."""
    now = {one.path: one for one in again}
    seen = [one.seen_again(now.pop(one.path, None)) for one in examined]
    return [*seen, *now.values()]


def _examine_all(
    tasks: Sequence[_Task], examine: _Examiner, jobs: int, course: Course | None = None
) -> list[_Examined]:
    examined: list[_Examined] = []
    course = course or Course(len(tasks), tell_nobody)
    if jobs <= 1:
        for task in tasks:
            examined.append(examine(task))
            course.add(1, len(examined[-1].findings))
        return examined
    from placement_lint.lint.pool import Died, map_isolated

    def note(one: _Examined | Died) -> None:
        course.add(1, 1 if isinstance(one, Died) else len(one.findings))

    for task, one in zip(tasks, map_isolated(examine, tasks, jobs, note), strict=True):
        if isinstance(one, Died):
            reason = InvalidSyntax.describe("the process that parsed it died of it")
            finding = tool_finding(InvalidSyntax, task.path, reason)
            examined.append(_Examined(task.path, FileResult((finding,))))
        else:
            examined.append(one)
    return examined


class _Sifted:
    """The files of a run, sorted into those that may hold a finding and those that cannot."""

    def __init__(self, recollection: Recollection | None = None) -> None:
        self.recollection = recollection
        self.files: list[str] = []
        self.tasks: list[_Task] = []
        self.findings: list[Finding] = []
        self.skipped: list[Skipped] = []
        self.requests: dict[str, Request] = {}
        self._mentioning: list[str] = []
        self._imported: dict[str, frozenset[str]] = {}
        """Of files that do not pass by their own words: the names that come by imports."""
        self._undecided: list[_Task] = []
        self._carrying: list[str] = []
        self._committing: list[str] = []
        self._choosing: list[str] = []

    def fail(self, path: str, error: UnreadableError) -> None:
        """Note a file that cannot be read."""
        self.files.append(path)
        self.findings.append(tool_finding(IoError, path, IoError.describe(str(error))))

    def take(self, path: str, request: Request) -> None:
        """Sort a file, by its bytes where these are not known already."""
        recollection = self.recollection
        try:
            data = read_bytes(path) if recollection is None else recollection.read(path)
        except UnreadableError as error:
            self.fail(path, error)
            return
        if data is not None:
            self.add(path, data, request)
        elif recollection is not None:
            self._file(path, request, recollection.sorted(path))
            self.files.append(path)

    def add(self, path: str, data: bytes, request: Request) -> None:
        """Sort a file by its bytes."""
        try:
            self._sort(path, data, request)
        except UnreadableError as error:
            self.fail(path, error)
            return
        except NotPythonError as error:
            self.skipped.append(Skipped(path, str(error)))
        # Our fault, and no reason to lose the other files.
        except Exception as error:
            self.findings.append(_failure(path, error))
        self.files.append(path)

    def _sort(self, path: str, data: bytes, request: Request) -> None:
        words = _words(path, data)
        in_python = not is_notebook(path)
        places = in_python and _asks_for_placements(request.options)
        asks = request.options.reveal and _REVEAL in words
        text = FileText(words, jax=_JAX in words, path=path)
        found = Sorted(
            size=len(words),
            mentions_roots=mentions_roots(words),
            carries=places and carries(words),
            commits=places and commits(words),
            chooses=in_python and any(word in words for word in PINS),
            passes=asks or passes_filter(text, request.options.rules),
        )
        self._file(path, request, found)
        if not found.passes and text.knows_names:
            imported = text.mentions.imported
            if imported is not None:
                self._imported[path] = outside_of_roots(imported)
        guarded = None
        if not found.passes and has_long_lines(words):
            # Nobody will parse it, but whoever planted it shall not go unnamed.
            guarded = guard(open_source(path, data))
            self.findings += [] if guarded is None else [guarded]
        if self.recollection is not None and guarded is None:
            self.recollection.now.sorted[path] = found

    def _file(self, path: str, request: Request, found: Sorted) -> None:
        """Put a file where it belongs."""
        self.requests[path] = request
        if found.carries:
            self._carrying.append(path)
        elif found.commits:
            self._committing.append(path)
        if found.chooses:
            self._choosing.append(path)
        if found.mentions_roots:
            self._mentioning.append(path)
        (self.tasks if found.passes else self._undecided).append(_Task(path, request, found.size))

    @property
    def project(self) -> Project:
        """The files as modules of one program, as they are on the disk from now on."""
        known = None if self.recollection is None else self.recollection.effects
        return Project(self.files, self._mentioning, known)

    def with_reexports(self) -> Project:
        """Add the files that could hold a finding by what they import from other files."""
        project = self.project
        for task in self._undecided if project.hands_names_on else ():
            try:
                if self._may_gain(task.path, project) and _imports_enough(task, project):
                    self.tasks.append(task)
            except Exception as error:
                self.findings.append(_failure(task.path, error))
        return project

    def _may_gain(self, path: str, project: Project) -> bool:
        """Tell whether a name in a file may be one of JAX by what another file passes on."""
        imported = self._imported.get(path)
        return imported is None or any(map(project.candidates(path), imported))

    def pin(self, project: Project) -> None:
        """Note the files that belong to programs which only ever use the CPU."""
        if len(self.files) < 2 or not (self._carrying and self._choosing):
            return
        from placement_lint.lint.pinning import pinned_files

        for path in pinned_files(self._choosing, project) & self.requests.keys():
            request = self.requests[path]
            options = replace(request.options, accelerator=False)
            self.requests[path] = replace(request, options=options)
        self.tasks = [replace(task, request=self.requests[task.path]) for task in self.tasks]

    def neighbourhoods(self, project: Project) -> list[Neighbours]:
        """Give the files that may have to be interpreted together."""
        if len(self.files) < 2 or not self._carrying:
            return []
        from placement_lint.lint.together import neighbourhoods

        def with_accelerator(paths: Iterable[str]) -> list[str]:
            return [path for path in paths if self.requests[path].options.accelerator]

        carrying = with_accelerator(self._carrying)
        return neighbourhoods(carrying, with_accelerator(self._committing), project)

    def recalled(self, project: Project) -> list[_Examined]:
        """Take out the files of which it is known what would be found in them."""
        if self.recollection is None:
            return []
        known = {}
        for task in self.tasks:
            accelerator = task.request.options.accelerator
            result = self.recollection.checked(task.path, project, accelerator=accelerator)
            if result is not None:
                known[task.path] = _Examined(task.path, result)
        self.tasks = [task for task in self.tasks if task.path not in known]
        return [*known.values()]

    def noted(self, examined: Iterable[_Examined]) -> list[_Examined]:
        """Remember what was found in files that were looked at alone."""
        examined = [*examined]
        if self.recollection is None:
            return examined
        for one in examined:
            self.recollection.looked_at.add(one.path)
            if one.answers is not None:
                accelerator = self.requests[one.path].options.accelerator
                checked = Checked(one.result, one.answers, accelerator)
                self.recollection.note_checked(one.path, checked)
            else:
                self.recollection.is_certain = False
            self.recollection.now.effects.update(one.effects)
        return examined


def _asks_for_placements(options: FileOptions) -> bool:
    return options.reveal or any(rule.follows_callers for rule in options.rules)


def _imports_enough(task: _Task, project: Project) -> bool:
    """Tell whether a file passes the filter by what it imports from other files of the run."""
    source = reopened(task.path)
    if source is None or not project.reexported(task.path, source.text):
        return False
    return passes_filter(_text_of(source, project), task.request.options.rules)


def _text_of(source: Source, project: Project | None) -> FileText:
    """Give what the filter looks into, with what comes by imports from other files of the run."""
    data = source.text.encode("utf-8", "surrogatepass")
    names = ""
    if project is not None and project.hands_names_on:
        names = project.reexported(source.path, source.text)
    exports = project.candidates(source.path) if project is not None and names else None
    is_jax = _JAX in data or "jax" in names
    return FileText(data, jax=is_jax, imported=names, exports=exports, path=source.path)


def _looking(
    source: Source, options: FileOptions, project: Project | None, asked: Questions | None
) -> tuple[type[Rule], ...] | None:
    """Give the rules that can fire in a file; None where that is not known."""
    text = _text_of(source, project)
    if asked is not None:
        if text.mentions.is_open or _STAR_IMPORT.search(source.text):
            return None
        # Which rules look depends on what each of these stands for in the run as it is now.
        for name in sorted(text.mentions.names):
            asked.name(name)
    return rules_that_may_fire(text, options.rules)


@dataclass(frozen=True)
class _Examiner:
    """What a process does with each file that it is given."""

    project: Project
    fix: FixMode

    def __call__(self, task: _Task) -> _Examined:
        try:
            data = read_bytes(task.path)
        except UnreadableError as error:
            finding = tool_finding(IoError, task.path, IoError.describe(str(error)))
            return _Examined(task.path, FileResult((finding,)))
        return _examine(task.path, data, task.request, self.fix, self.project)


def _examine(
    path: str, data: bytes, request: Request, fix: FixMode, project: Project | None = None
) -> _Examined:
    try:
        source = open_source(path, data)
        asked = None if project is None else Questions(project, path)
        exports = None if asked is None else asked.name
        options = _with_sight(request.options, source, project)
        if fix is FixMode.NONE:
            looking = _looking(source, options, project, asked)
            result = lint_source(source, options, exports, asked, looking=looking)
            if project is None or asked is None or not _may_be_remembered(source, options, result):
                return _Examined(path, result)
            effects = project.view.take_learned()
            return _Examined(path, result, answers=asked.answers, effects=effects)
        from placement_lint.lint.fixing import fix_source

        fixed = fix_source(source, options, exports, asked, unsafe=request.unsafe_fixes)
        if fixed.text == source.content:
            return _Examined(path, fixed.result, skipped=_unfixable(source, fixed.result, request))
        return _Examined(path, fixed.result, _change(source, data, fixed))
    except (UnreadableError, NotPythonError) as error:
        # It was readable a moment ago.
        finding = tool_finding(IoError, path, IoError.describe(str(error)))
    except Exception as error:  # our fault, and no reason to lose the other files
        finding = _failure(path, error)
    return _Examined(path, FileResult((finding,)))


def _may_be_remembered(source: Source, options: FileOptions, result: FileResult) -> bool:
    """Tell whether what was found depends on nothing but the files of the run."""
    return not _asks_for_sight(options, source) and not any(
        finding.code == InternalError.code for finding in result.findings
    )


def _examine_neighbours(
    neighbours: Neighbours,
    sifted: _Sifted,
    project: Project,
    fix: FixMode,
) -> dict[str, _Examined]:
    """Check files that have to do with one another, if it is not known what is found in them."""
    from placement_lint.lint.together import group

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
            return {path: _Examined(path, result) for path, result in known.items()}
    options_for = _options_in(requests, project)
    together = group(neighbours, options_for, project)
    examined = _examine_together(together, requests, project, fix)
    if recollection is not None:
        recollection.looked_at.update(examined)
        results = {path: one.result for path, one in examined.items()}
        if all(
            _may_be_remembered(source, options_for(source), results.get(path, FileResult(())))
            for path, source in together.sources.items()
        ):
            answers = {path: asked.answers for path, asked in together.asked.items()}
            recollection.note_group(digest, Group(results, answers))
        else:
            recollection.is_certain = False
    return examined


def _options_in(
    requests: Mapping[str, Request], project: Project
) -> Callable[[Source], FileOptions]:
    """Give what tells by which options a file of a program is checked."""
    return lambda source: _with_sight(requests[source.path].options, source, project)


def _examine_together(
    together: Together, requests: Mapping[str, Request], project: Project, fix: FixMode
) -> dict[str, _Examined]:
    """Check files as one program; give what came of each, and of others that it led into."""
    if fix is FixMode.NONE:
        return {path: _Examined(path, result) for path, result in together.lint().items()}
    from placement_lint.lint.fixing import fix_sources
    from placement_lint.lint.together import lint_together

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
        return lint_together(current, options_for, project, together.members)

    unsafe = {path: requests[path].unsafe_fixes for path in sources}
    examined: dict[str, _Examined] = {}
    try:
        done = fix_sources(sources, lint, unsafe=unsafe)
    except Exception as error:  # our fault, and no reason to lose the findings
        examined = {path: _Examined(path, result) for path, result in lint(sources).items()}
        first = min(examined)
        findings = (_failure(first, error), *examined[first].result.findings)
        examined[first] = _Examined(first, replace(examined[first].result, findings=findings))
        return examined
    for path, fixed in done.items():
        request, source = requests[path], sources[path]
        if fixed.text == source.content:
            skipped = _unfixable(source, fixed.result, request)
            examined[path] = _Examined(path, fixed.result, skipped=skipped)
        else:
            change = _change(source, data[path], fixed)
            examined[path] = _Examined(path, fixed.result, change)
    return examined


def _change(source: Source, data: bytes, fixed: FixResult) -> _Change:
    after = fixed.source.to_bytes()
    mark = "\ufeff" if source.bom else ""
    texts = (mark + source.text, mark + fixed.text)
    if source.cells:
        encoding = json.detect_encoding(data)
        texts = (data.decode(encoding), after.decode(encoding))
    file = FixedFile(source.path, *texts, fixed.counts)
    return _Change(file, data, after, fixed.original, fixed.linked)


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
        return Skipped(source.path, reason)
    if not source.rewritable:
        return Skipped(source.path, f"not fixed: {source.encoding} does not give its bytes back")
    return None


def _written(examined: Iterable[_Examined]) -> list[_Examined]:
    """Write what fixes made of files; where that fails, report them as they are.

    Files that a fix has edited together are written together, or none of them is.
    """
    done = {one.path: one for one in examined}
    waiting = {path: one.change for path, one in sorted(done.items()) if one.change is not None}
    while waiting:
        first = next(iter(waiting))
        paths = [path for path in waiting if path in {first, *waiting[first].linked}]
        group = {path: waiting.pop(path) for path in paths}
        done |= _unwritten(group)
    return [*done.values()]


def _unwritten(group: Mapping[str, _Change]) -> dict[str, _Examined]:
    """Write files, and give what is to be reported of those that could not be."""
    from placement_lint.files.write import Replacement, WriteError, replace_files

    try:
        replace_files(Replacement(path, each.before, each.after) for path, each in group.items())
    except WriteError as error:
        reason = IoError.describe_unwritten(str(error))
        finding = tool_finding(IoError, error.path, reason)
        note = f"not fixed: what mends it also edits {error.path}, which cannot be written"
        return {
            path: _Examined(path, each.unchanged, unwritten=finding)
            if path == error.path
            else _Examined(path, each.unchanged, skipped=Skipped(path, note))
            for path, each in group.items()
        }
    return {}


def _failure(path: str, error: Exception) -> Finding:
    return tool_finding(InternalError, path, InternalError.describe(None, error))


def _outcome(
    sifted: _Sifted,
    examined: Iterable[_Examined],
    started: float,
    sources: Callable[[str], Source | None],
) -> Outcome:
    done = sorted(examined, key=lambda one: one.path)
    findings = [*sifted.findings, *(finding for one in done for finding in one.findings)]
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
    )


def _request(
    settings: Settings, path: str, *, reveal: bool = False, sight: Sight = Sight.IMPORTS
) -> Request:
    options = FileOptions(
        rules=select_rules(settings, path),
        accelerator=settings.accelerator,
        target_jax=settings.target_jax,
        min_confidence=Confidence(settings.min_confidence),
        sight=sight,
        reveal=reveal,
    )
    return Request(options, settings.unsafe_fixes)


def _words(path: str, data: bytes) -> bytes:
    """Give what the file filter searches: the code as UTF-8.

    Raises UnreadableError, or NotPythonError for a notebook in another language.
    """
    # Without an encoding declared in the first two lines, bytes that are UTF-8 are the text.
    second_line = data.find(b"\n") + 1
    head = data[: data.find(b"\n", second_line)] if second_line else data
    if not is_notebook(path) and b"coding" not in head:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            pass
        else:
            return data
    return open_source(path, data).text.encode("utf-8", "surrogatepass")
