"""The files of a run, sorted into those that can hold a finding and those that cannot."""

from __future__ import annotations

import contextlib
import functools
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from placement_lint.files.notebook import NotPythonError, is_notebook
from placement_lint.files.source import UnreadableError
from placement_lint.files.store import FileStore, digest
from placement_lint.isolation import isolating
from placement_lint.jaxmodel.own_models import may_name_one
from placement_lint.limits.budget import (
    LimitError,
    TimeUpError,
    allow,
    current_budget,
    give_up,
    spending,
)
from placement_lint.lint.check_file import NeedsError, passes_filter, rules_that_may_fire
from placement_lint.lint.file_results import (
    FileOptions,
    FileResult,
    syntax_finding,
    tool_finding,
    unfinished,
)
from placement_lint.lint.incremental.records import Checked, ImportGain, Prefiltered
from placement_lint.lint.results import Skipped
from placement_lint.lint.tasks import CheckedFile, Request, Task, failure
from placement_lint.prefilter.conditions import JAX, FileText, text_of_source
from placement_lint.prefilter.early_exit import has_long_lines, may_say_something
from placement_lint.prefilter.import_words import import_words
from placement_lint.project.donating_files import WORD as DONATION
from placement_lint.project.donating_files import brings_donation
from placement_lint.project.file_facts import FactsByFile
from placement_lint.project.given_files import may_be_given
from placement_lint.project.imported_names import (
    imported_names,
    meanings,
    with_imports,
    with_meanings,
)
from placement_lint.project.placing_files import Placing
from placement_lint.project.platform import may_pin
from placement_lint.project.project import Project
from placement_lint.project.roots import mentions_roots
from placement_lint.project.sharing_files import shared_names, sharing
from placement_lint.project.small_programs import LIGHTER, says_where, small_programs
from placement_lint.rules.tool.io_error import IoError
from placement_lint.semantic.program_queries import GIVING
from placement_lint.syntax.parse import guard
from placement_lint.timing import FILTER, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from placement_lint.findings import Finding
    from placement_lint.lint.check_program import Component
    from placement_lint.lint.incremental.revision import PreviousRun
    from placement_lint.project.sharing_files import Names
    from placement_lint.rules.base import Rule

T = TypeVar("T")

_TIMES_FASTER = 20
"""How much longer it takes to check a file than to see that it can be parsed."""
_REVEAL = b"# reveal:"


class Selection:
    """The files of a run, sorted into those that may hold a finding and those that cannot."""

    def __init__(self, store: FileStore, previous: PreviousRun | None = None) -> None:
        self.store = store
        self.previous = previous
        self.files: list[str] = []
        self.tasks: list[Task] = []
        self.findings: list[Finding] = []
        self.skipped: list[Skipped] = []
        self.requests: dict[str, Request] = {}
        self.left_out: set[str] = set()
        """Files that ran out of time or memory when several were analysed as one program."""
        self.incomplete: dict[str, str] = {}
        """Files that are not analysed with others as one program; and because of which one."""
        self.exhausted: list[CheckedFile] = []
        """Files of which it is known that they run out of time or memory, and what came of them."""
        self.is_complete = False
        """Whether it is known of every file whether it can hold a finding."""
        self._mentioning: list[str] = []
        known = None if previous is None else previous.facts
        self._facts_by_file = FactsByFile(known)
        self._undecided: list[Task] = []
        self._to_parse: set[str] = set()
        self._carrying: list[str] = []
        self._sharing: dict[str, Names] = {}
        """The files that define what others may share: what puts arrays, and meshes."""
        self._saying_where: list[str] = []
        self._sizes: dict[str, int] = {}
        self._committing: list[str] = []
        self._importing_jax: dict[str, bool | None] = {}
        """Of the files that carry placements and were read, what their bytes tell of that."""
        self._choosing: list[str] = []
        self._donating: list[str] = []
        self._asks_where = False
        self._giving: list[str] = []

    def fail(self, path: str, error: UnreadableError) -> None:
        """Note a file that cannot be read."""
        self.files.append(path)
        self.findings.append(tool_finding(IoError, path, IoError.describe(str(error))))

    def _isolating(self, path: str, *, taken: bool = True) -> isolating:
        """Return a block of work on a file; where it fails, that is said of the file.

        `taken`: it is noted already as one of the run.
        """

        def note(error: Exception) -> None:
            if not taken:
                self.files.append(path)
            self.findings.append(failure(path, error))

        return isolating(note)

    def run_out(self, path: str, request: Request, error: LimitError) -> None:
        """Note a file that took more than it may before anything was found in it."""
        give_up(error)
        self.files.append(path)
        self.requests[path] = request
        seconds = request.options.time_limit
        self.findings.append(unfinished(path, error.with_traceback(None), seconds))

    def attempt(self, work: Callable[[], T], otherwise: T) -> T:
        """Do what is about the files together; where it fails, each is still checked alone."""
        with isolating(lambda error: self.findings.append(failure(self.files[0], error))):
            return work()
        return otherwise

    def take(self, path: str, request: Request) -> None:
        """Sort a file, by its bytes where these are not known already.

        Raises RunOverError where the run has taken all its time.
        """
        allow(path, request.options.time_limit)
        try:
            with spending(path):
                self._take(path, request)
        except LimitError as error:
            self.run_out(path, request, error)

    def _take(self, path: str, request: Request) -> None:
        with self._isolating(path, taken=False):
            try:
                with timed(FILTER):
                    data = self._read(path)
            except UnreadableError as error:
                self.fail(path, error)
                return
            self._take_read(path, data, request)

    def _read(self, path: str) -> bytes | None:
        return self.store.read(path) if self.previous is None else self.previous.read(path)

    def _take_read(self, path: str, data: bytes | None, request: Request) -> None:
        previous = self.previous
        if previous is not None and self._is_known_exhausted(path, request, previous):
            return
        if data is not None:
            self.add(path, data, request)
        elif previous is not None:
            self._file(path, request, previous.sorted(path))
            self.files.append(path)

    def _is_known_exhausted(self, path: str, request: Request, previous: PreviousRun) -> bool:
        """Return whether a file is known to exceed its limits; then it is not tried again."""
        known = previous.known_exhausted(path)
        budget = current_budget()
        if known is None or budget is None:
            return False
        self.files.append(path)
        self.requests[path] = request
        self.left_out.add(path)
        self.exhausted.append(CheckedFile(path, known.result))
        budget.account(path).barred = TimeUpError
        if known.is_closed:
            budget.exhaust(TimeUpError(path))
        return True

    def add(self, path: str, data: bytes, request: Request) -> None:
        """Sort a file by its bytes. Raises LimitError where it takes more than it may."""
        with self._isolating(path, taken=False):
            try:
                with timed(FILTER):
                    self._sort(path, data, request)
            except UnreadableError as error:
                self.fail(path, error)
                return
            except NotPythonError as error:
                self.skipped.append(Skipped(path, str(error)))
            self.files.append(path)

    def _sort(self, path: str, data: bytes, request: Request) -> None:
        words = self._words(path, data)
        self._facts_by_file[path].named = import_words(words)
        if not may_say_something(words) and _words_are_known(request.options):
            self._sort_plain(path, words, request)
            return
        places = request.options.asks_for_placements
        placing = Placing(path, words if places else b"", self.store)
        asks = request.options.reveal and _REVEAL in words
        text = FileText(words, jax=JAX in words, path=path)
        before = len(self.findings)
        puts, meshes, makers = shared_names(path, words, self.store) if places else ((), (), ())
        passes, may_fire = self._judged(text, path, request, asks=asks)
        found = Prefiltered(
            size=len(words),
            mentions_roots=mentions_roots(words),
            carries=placing.carries,
            commits=placing.commits,
            puts=puts,
            meshes=meshes,
            makers=makers,
            says_where=places and says_where(text),
            chooses=may_pin(path, words),
            passes=passes,
            donates=DONATION in words and JAX in words,
            gives=any(word in words for word in GIVING),
            asks_where=places and request.options.asks_where(text),
            is_to_be_parsed=JAX in words,
        )
        self._file(path, request, found, may_fire)
        if found.carries:
            self._importing_jax[path] = placing.imports_jax
        if text.knows_names:
            imported_names(text, self._facts_by_file[path])
        if not found.passes:
            self._guard(path, words)
        if self.previous is not None and len(self.findings) == before:
            self.previous.now.sorted[path] = found

    def _sort_plain(self, path: str, words: bytes, request: Request) -> None:
        """Sort a file that has no word of any rule: only what it imports may make it pass."""
        found = Prefiltered(
            size=len(words),
            mentions_roots=False,
            carries=False,
            commits=False,
            chooses=False,
            passes=False,
        )
        self._file(path, request, found)
        before = len(self.findings)
        self._guard(path, words)
        if self.previous is not None and len(self.findings) == before:
            self.previous.now.sorted[path] = found

    def _guard(self, path: str, words: bytes) -> None:
        """Report a file that looks like an attack on the parser, though nobody will parse it."""
        if has_long_lines(words):
            source = self.store.source(path)
            guarded = guard(source)
            if guarded is not None:
                self.findings.append(syntax_finding(source, guarded))

    def _judged(
        self, text: FileText, path: str, request: Request, *, asks: bool
    ) -> tuple[bool, tuple[type[Rule], ...] | None]:
        """Return whether a file passes by its text, and the rules that can fire, if it tells."""
        if asks or may_name_one(request.options.models, text.data):
            return True, None
        if not self._passes(text, path, request):
            return False, None
        with contextlib.suppress(NeedsError):
            return True, rules_that_may_fire(text, request.options.rules)
        return True, None

    def _passes(self, text: FileText, path: str, request: Request) -> bool:
        try:
            return passes_filter(text, request.options.rules)
        except NeedsError as error:
            # Whether there is anything to see, all rules can tell that look.
            self.findings.append(failure(path, error.error, error.rule))
            return True

    def _file(
        self,
        path: str,
        request: Request,
        found: Prefiltered,
        may_fire: tuple[type[Rule], ...] | None = None,
    ) -> None:
        """Put a file where it belongs. `may_fire`: the rules that can fire in it, if known."""
        self.requests[path] = request
        if found.carries:
            self._carrying.append(path)
        elif found.commits:
            self._committing.append(path)
        if found.puts or found.meshes or found.makers:
            self._sharing[path] = (found.puts, found.meshes, found.makers)
        if found.says_where:
            self._saying_where.append(path)
        self._sizes[path] = found.size
        self._asks_where |= found.asks_where
        if found.donates:
            self._donating.append(path)
        if found.gives:
            self._giving.append(path)
        if found.chooses:
            self._choosing.append(path)
        if found.mentions_roots:
            self._mentioning.append(path)
        task = Task(path, request, found.size, may_fire=may_fire if found.passes else None)
        (self.tasks if found.passes else self._undecided).append(task)
        if found.is_to_be_parsed and not found.passes:
            self._to_parse.add(path)

    @property
    def project(self) -> Project:
        """The files as modules of one program, as they are on the disk from now on."""
        known = None if self.previous is None else self.previous.summary
        budget = current_budget()
        closed = [one.path for one in self.exhausted if budget and budget.is_closed(one.path)]
        return Project(
            self.files,
            self._mentioning,
            known,
            self._facts_by_file,
            closed,
            self.store,
            donating=self._donating,
            giving=self._giving,
            known_donations=None if self.previous is None else self.previous.donations,
            known_calls=None if self.previous is None else self.previous.calls,
        )

    def with_reexports(self) -> Project:
        """Add the files that could hold a finding by what they import from other files."""
        project = self.project
        is_worth_it = self.attempt(
            lambda: bool(self._donating or self._giving) or project.exports_roots, False
        )
        for task in self._undecided if is_worth_it else ():
            if not self._may_gain(task.path, project):
                continue
            try:
                with self._isolating(task.path), spending(task.path):
                    self.tasks += [task] if self._gains(task, project) else []
            except LimitError as error:
                self.run_out(task.path, task.request, error)
                self.files.pop()
        self.is_complete = True
        return project

    @property
    def left(self) -> int:
        """How many of the files that were taken are to be looked at once more."""
        return len(self.tasks) + len(self._to_parse)

    @property
    def parse_tasks(self) -> list[Task]:
        """The files in which no rule can find anything, but that they cannot be parsed."""
        decided = {task.path for task in self.tasks}
        return [
            replace(task, size=task.size // _TIMES_FASTER, only_parse=True)
            for task in self._undecided
            if task.path in self._to_parse and task.path not in decided
        ]

    def _may_gain(self, path: str, project: Project) -> bool:
        """Return whether what a file imports has to be looked at, by words that are known."""
        return bool(self._donating or self._giving) or project.may_import_names(path)

    def _gains(self, task: Task, project: Project) -> bool:
        """Return whether a file passes the prefilter by what it imports from other files."""
        donates = brings_donation(task.path, project)
        given = may_be_given(task.path, project)
        if not (donates or given or project.may_bring_names(task.path)):
            return False
        facts = self._facts_by_file[task.path]
        imported, text = facts.imported, None
        if imported is None:
            text = self._text_at(task.path)
            if text is None:
                return False
            imported = imported_names(text, facts)
            if imported is None:
                full = with_imports(text, task.path, project)
                return self._passes(full, task.path, task.request)
        stands_for = meanings(imported, task.path, project)
        if not (stands_for or donates or given):
            return False
        names_digest = digest(repr((stands_for, donates, given)).encode("utf-8", "surrogatepass"))
        known = None if self.previous is None else self.previous.gains(task.path, names_digest)
        if known is None:
            text = text or self._text_at(task.path)
            if text is None:
                return False
            before = len(self.findings)
            full = with_meanings(text, stands_for, task.path, project)
            known = self._passes(full, task.path, task.request)
            if self.previous is not None and len(self.findings) == before:
                self.previous.now.gains[task.path] = ImportGain(names_digest, known)
        return known

    def pin(self, project: Project) -> None:
        """Note the files that belong to programs which only ever use the CPU."""
        if len(self.files) < 2 or not (self._carrying and self._choosing):
            return
        from placement_lint.project.platform import pinned_files

        for path in pinned_files(self._choosing, project) & self.requests.keys():
            request = self.requests[path]
            options = replace(request.options, accelerator=False)
            self.requests[path] = replace(request, options=options)
        self.tasks = [replace(task, request=self.requests[task.path]) for task in self.tasks]

    def in_order(self, tasks: Iterable[Task]) -> list[Task]:
        """Return what is to be checked alone, with what it has taken so far: the largest first.

        So none of them is what all the others' processes wait for.
        """
        budget = current_budget()
        tasks = sorted(tasks, key=lambda task: (-task.size, task.path))
        if budget is None:
            return tasks
        return [replace(task, spent=budget.spent(task.path)) for task in tasks]

    def size(self, path: str) -> int:
        """Return how many bytes of text a file has; 0 where it is not one of the run."""
        return self._sizes.get(path, 0)

    def spent(self, paths: Iterable[str]) -> dict[str, float]:
        """Return the seconds that each of some files has taken so far."""
        budget = current_budget()
        return {} if budget is None else {path: budget.spent(path) for path in paths}

    def components(self, project: Project) -> list[Component]:
        """Return the files that may have to be interpreted together."""
        any_start = self._carrying or self._sharing or self._saying_where or self._donating
        if len(self.files) < 2 or not (any_start and self._asks_where):
            return []
        from placement_lint.lint.check_program import components
        from placement_lint.project.test_fixtures import fixture_links

        def to_execute(paths: Iterable[str]) -> list[str]:
            return [path for path in paths if self.requests[path].options.follows_arrays]

        shared = sharing(self._sharing, project.imports, self.store)
        starts = (*self._saying_where, *self._donating)
        links = (*project.imports, *project.fact(fixture_links))
        saying_jax = {*self._mentioning}
        sizes = {
            path: size if path in saying_jax else size // LIGHTER
            for path, size in self._sizes.items()
        }
        small = small_programs(starts, sizes, links, saying_jax)
        shared = (shared | small) & self.requests.keys()
        carrying = to_execute([*dict.fromkeys((*self._carrying, *sorted(shared)))])
        # Files without JAX place nothing; in a small program they may name its axes.
        committing = to_execute([*self._committing, *sorted(small & self.requests.keys())])
        return components(carrying, committing, project, self._importing_jax)

    def recalled(self, tasks: Iterable[Task], project: Project) -> list[CheckedFile]:
        """Return what would be found in files, where that is known."""
        if self.previous is None:
            return []
        known = []
        for task in tasks:
            accelerator = task.request.options.accelerator
            result = self.previous.checked(task.path, project, accelerator=accelerator)
            if result is not None:
                known.append(CheckedFile(task.path, result))
        return known

    def noted(self, checked: Iterable[CheckedFile]) -> list[CheckedFile]:
        """Remember what was found in files that were looked at alone."""
        checked = [*checked]
        if self.previous is None:
            return checked
        for one in checked:
            self.previous.looked_at.add(one.path)
            if one.is_only_parsed:
                known = self.previous.now.sorted
                if one.path in known:
                    known[one.path] = replace(known[one.path], is_to_be_parsed=False)
            elif one.answers is not None:
                accelerator = self.requests[one.path].options.accelerator
                record = Checked(one.result, one.answers, accelerator)
                self.previous.now.checked[one.path] = record
                self.previous.note_layout(one.path, one.result)
            else:
                self.previous.is_certain = False
            self.previous.learn(one.learned)
        return checked

    def note_exhausted(self, checked: Iterable[CheckedFile]) -> None:
        """Remember which files ran out of time or memory, for whoever looks again soon."""
        budget, previous = current_budget(), self.previous
        if budget is None or previous is None:
            return
        results = {
            finding.path: FileResult((finding,))
            for finding in self.findings
            if finding.code == IoError.code
        }
        results |= {one.path: one.result for one in (*checked, *self.exhausted)}
        for path, result in results.items():
            if budget.is_exhausted(path):
                is_closed = budget.is_closed(path)
                previous.note_exhausted(path, result, is_closed=is_closed)

    def _text_at(self, path: str) -> FileText | None:
        source = self.store.source_if_readable(path)
        return None if source is None else text_of_source(source)

    def _words(self, path: str, data: bytes) -> bytes:
        """Return what the file filter searches: the code as UTF-8.

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
        return self.store.source(path).text.encode("utf-8", "surrogatepass")


def _words_are_known(options: FileOptions) -> bool:
    """Return whether no file without one of the known words can pass."""
    return not (options.reveal or options.models) and _are_ours(options.rules)


@functools.cache
def _are_ours(rules: tuple[type[Rule], ...]) -> bool:
    return all(rule.__module__.startswith("placement_lint.rules.") for rule in rules)
