"""Applying fixes: to a fixpoint, or not at all."""

from __future__ import annotations

import ast
import bisect
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from placement_lint.files.notebook import is_notebook
from placement_lint.files.store import FileStore
from placement_lint.findings import Applicability
from placement_lint.limits.budget import LimitError, exhaustion_of, limit_of
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import (
    FileOptions,
    FileResult,
    is_unfinished,
    tool_finding,
    unfinished,
)
from placement_lint.rules.tool.internal_error import InternalError
from placement_lint.rules.tool.invalid_syntax import InvalidSyntax
from placement_lint.syntax.deep_stack import run_deep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from placement_lint.files.source import Source
    from placement_lint.findings import Edit, Finding
    from placement_lint.semantic.program_queries import RunView
    from placement_lint.syntax.names import ExportResolver

MAX_ROUNDS = 100
_OF_THE_TOOL = "JDP9"
"""How the codes of rules begin that are not about the program."""
_NOTHING = FileResult(())
_Place = tuple[int, int]


@dataclass(frozen=True)
class FixResult:
    """What fixing made of one file."""

    source: Source
    counts: Mapping[str, int]
    """How many findings were fixed, by code."""
    result: FileResult
    """What is found in the text as it is now."""
    original: FileResult
    """What was found before anything was fixed."""
    linked: frozenset[str]
    """This file, and those that a fix has edited together with it: all are written, or none."""
    held: tuple[str, ...] = ()
    """The rules whose safe fixes were left out: more would be found in the files then."""

    @property
    def why_held(self) -> str:
        """Why such fixes were left out, as a remark on the file."""
        return f"the fix of {' and '.join(self.held)} brings up findings in the program"

    @property
    def text(self) -> str:
        """The text as it is now."""
        return self.source.content


def fix_source(
    source: Source,
    options: FileOptions,
    exports: ExportResolver | None = None,
    run: RunView | None = None,
    *,
    unsafe: bool,
    store: FileStore | None = None,
) -> FixResult:
    """Apply every fix that may be applied to one file; see `fix_sources`."""
    files = store or FileStore()

    def lint(sources: Mapping[str, Source]) -> dict[str, FileResult]:
        return {
            path: lint_source(each, options, exports, run, store=files)
            for path, each in sources.items()
        }

    return fix_sources({source.path: source}, lint, unsafe={source.path: unsafe})[source.path]


def fix_sources(
    sources: Mapping[str, Source],
    lint: Callable[[Mapping[str, Source]], Mapping[str, FileResult]],
    *,
    unsafe: Mapping[str, bool],
) -> dict[str, FixResult]:
    """Apply every fix that may be applied, and every one that this makes possible, and so on.

    `lint` checks the files as they are after each round, together: a fix may edit several of them,
    and is applied in all or in none. `unsafe` says, by path, where unsafe fixes may be applied. A
    text that cannot be edited exactly is only linted.

    In each round the findings are asked in the order of every report. A fix waits for the next
    round where it touches what an earlier one edits, shares but a part of its edits with it, or is
    of its group. If fixes end in a text that does not parse, that does not compile where the
    original did, that cannot be encoded, or if they never end, then all fixes of that file, and of
    those that a fix edited together with it, are taken back, and a JDP903 finding says which rules'
    fixes those were. The other files are fixed without them. Where a round runs out of time or
    memory, nothing is fixed, and a JDP900 finding says so beside what was found at first.

    Safe fixes by which something takes effect are left out where one of the files then has a
    finding that it had not: see `fixes.trial`, which tries each in its own file.
    """
    given_up: dict[str, Finding] = {}
    frozen: set[str] = set()
    held: set[tuple[str, str]] = set()
    original = lint(sources)
    while True:
        fixing = _Fixing(sources, lint, original, unsafe, frozen, held)
        try:
            done = fixing.run(given_up)
            brought_up = fixing.brought_up()
            if not brought_up:
                return done
            held |= brought_up
        except _TakenBackError as error:
            together = fixing.links.of(error.path)
            given_up[error.path] = error.finding(together)
            frozen |= together
        except LimitError as error:
            ran_out = error.with_traceback(None)
            break
    path = next((each for each in sources if each == ran_out.path), min(sources))
    given_up[path] = unfinished(path, ran_out, limit_of(path), "fixed")
    return _Fixing(sources, lint, original, unsafe, sources).run(given_up)


class _TakenBackError(Exception):
    """Fixes of some rules went wrong: in which file, and how."""

    def __init__(self, path: str, codes: Iterable[str], reason: str) -> None:
        super().__init__(reason)
        self.path = path
        self.codes = sorted(set(codes))
        self.reason = reason

    def finding(self, together: Iterable[str]) -> Finding:
        """Return the finding that names the files in which fixes are taken back."""
        others = sorted({*together} - {self.path})
        message = InternalError.describe_taken_back(self.codes, self.reason, others)
        return tool_finding(InternalError, self.path, message)


class _Links:
    """Which files fixes have edited together."""

    def __init__(self) -> None:
        self._groups: dict[str, frozenset[str]] = {}

    def join(self, paths: Iterable[str]) -> None:
        group = frozenset().union(*map(self.of, paths))
        self._groups.update(dict.fromkeys(group, group))

    def of(self, path: str) -> frozenset[str]:
        return self._groups.get(path, frozenset({path}))


class _Fixing:
    """The fixes of some files, round by round."""

    def __init__(
        self,
        sources: Mapping[str, Source],
        lint: Callable[[Mapping[str, Source]], Mapping[str, FileResult]],
        original: Mapping[str, FileResult],
        unsafe: Mapping[str, bool],
        frozen: Iterable[str],
        held: AbstractSet[tuple[str, str]] = frozenset(),
    ) -> None:
        """`frozen` are files that stay as they are; `held` rules whose fixes are left out of one
        file each.
        """
        self.sources = sources
        self.lint = lint
        self.unsafe = unsafe
        self.held = held
        self.original = original
        self.fixable = {
            path
            for path, source in sources.items()
            if is_writable(source)
            and path in original
            and original[path].exact
            and not is_unfinished(original[path])
            and _broken(original[path], original[path].failed) is None
        }.difference(frozen)
        self.counts: dict[str, Counter[str]] = {path: Counter() for path in sources}
        self.links = _Links()
        self._current = dict(sources)
        self._history = {path: _History(source.content) for path, source in sources.items()}
        self._compiled: dict[str, list[bool]] = {}
        self._results: Mapping[str, FileResult] = {}
        """What is found at the end, also in files that were not to be fixed."""

    def run(self, complaints: Mapping[str, Finding]) -> dict[str, FixResult]:
        """Fix what can be fixed. Raises _TakenBackError for the first file where that fails."""
        self._results = results = self._to_the_end()
        done: dict[str, FixResult] = {}
        for path in self.sources.keys() & results.keys():
            result = results[path]
            original = self.original.get(path, result)
            if path in complaints:
                result = replace(result, findings=(complaints[path], *result.findings))
            counts = dict(sorted(self.counts[path].items()))
            source = self._current[path]
            held = tuple(sorted(code for held, code in self.held if held == path))
            done[path] = FixResult(source, counts, result, original, self.links.of(path), held)
        return done

    def brought_up(self) -> set[tuple[str, str]]:
        """Return the files and rules of the fixes by which something took effect, if more is found
        then in any of the files; who applies unsafe fixes accepts that.
        """
        if any(self.unsafe.values()):
            return set()
        from placement_lint.rules.registry import taking_effect

        codes = taking_effect()
        applied = {
            (path, code) for path, counts in self.counts.items() for code in counts if code in codes
        }
        if not applied:
            return set()
        before, after = _codes(self.original), _codes(self._results)
        fixed = Counter[str]()
        for counts in self.counts.values():
            fixed.update(counts)
        is_more = any(
            count > max(before[code] - fixed[code], 0)
            for code, count in after.items()
            if not code.startswith(_OF_THE_TOOL)
        )
        return applied if is_more else set()

    def _to_the_end(self) -> Mapping[str, FileResult]:
        results = self.original
        for _ in range(MAX_ROUNDS):
            changed = self._round(results)
            if not changed:
                return results
            results = self.lint(self._current)
            for path, result in results.items():
                if is_unfinished(result) and not is_unfinished(self.original.get(path, _NOTHING)):
                    raise exhaustion_of(path)
            for path in changed:
                self._check(path, results[path])
        path = min(changed)
        raise self._wrong(path, f"they did not end after {MAX_ROUNDS} rounds")

    def _round(self, results: Mapping[str, FileResult]) -> list[str]:
        """Apply what can be applied at once, and give the files that this has edited."""
        from placement_lint.syntax.edits import edited

        accepted = _Round(self._current)
        codes: dict[str, set[str]] = {}
        for finding in _in_order(results):
            if not self._is_applicable(finding) or not accepted.takes(finding):
                continue
            paths = _edited_by(finding)
            self.links.join(paths)
            self.counts[paths[0]][finding.code] += 1
            for path in paths:
                codes.setdefault(path, set()).add(finding.code)
        for path, edits in accepted.edits.items():
            history = self._history[path]
            history.rounds.append(codes[path])
            try:
                source = edited(self._current[path], edits)
            except ValueError:
                raise self._wrong(path, "the edits of one of them overlap") from None
            before = history.seen(source.content)
            # One file may stay as it is where another of the same fix does not.
            is_alone = len(self.links.of(path)) == 1
            if before is not None and (is_alone or source.content != self._current[path].content):
                reason = "they lead back to a text that was there before"
                raise self._wrong(path, reason, since=before)
            self._current[path] = source
        return [*accepted.edits]

    def _is_applicable(self, finding: Finding) -> bool:
        fix = finding.fix
        if fix is None or not fix.edits or (finding.path, finding.code) in self.held:
            return False
        paths = _edited_by(finding)
        if not self.fixable.issuperset(paths):
            return False
        if fix.applicability is Applicability.UNSAFE:
            return all(self.unsafe.get(path, False) for path in {finding.path, *paths})
        return fix.applicability is Applicability.SAFE

    def _check(self, path: str, result: FileResult) -> None:
        """Check a file after a round. Raises _TakenBackError where it must not be written."""
        problem = _broken(result, self.original[path].failed)
        if problem is not None:
            raise self._wrong(path, f"the result has {problem.message}")
        if not result.exact:
            raise self._wrong(path, "the result cannot be edited exactly")
        source = self._current[path]
        try:
            source.to_bytes()
        except UnicodeError:
            reason = f"the file's encoding ({source.encoding}) cannot hold the result"
            raise self._wrong(path, reason) from None
        if not self._still_compiles(path, source):
            raise self._wrong(path, "the result does not compile")

    def _still_compiles(self, path: str, source: Source) -> bool:
        before, after = _programs(self.sources[path]), _programs(source)
        if path not in self._compiled:
            self._compiled[path] = [_compiles(text, path) for text in before]
        return all(
            not did or was == now or _compiles(now, path, when_too_deep=True)
            for did, was, now in zip(self._compiled[path], before, after, strict=True)
        )

    def _wrong(self, path: str, reason: str, *, since: int = -1) -> _TakenBackError:
        """Blame the fixes of the last round, or of all since an earlier one."""
        return _TakenBackError(path, set().union(*self._history[path].rounds[since:]), reason)


def _codes(results: Mapping[str, FileResult]) -> Counter[str]:
    return Counter(finding.code for result in results.values() for finding in result.findings)


class _History:
    """What a file was after each round, and what made it that."""

    def __init__(self, text: str) -> None:
        self._texts = {text: 0}
        self.rounds: list[set[str]] = []
        """The codes of the fixes of each round."""

    def seen(self, text: str) -> int | None:
        """Note a text; give the number of rounds after which it was there before, if it was."""
        before = self._texts.setdefault(text, len(self.rounds))
        return None if before == len(self.rounds) else before


def _edited_by(finding: Finding) -> list[str]:
    """Return the files that a finding's fix edits, of which it may be in none."""
    edits = () if finding.fix is None else finding.fix.edits
    return [*dict.fromkeys(edit.path for edit in edits)]


def _in_order(results: Mapping[str, FileResult]) -> list[Finding]:
    """Return the findings of all files in the order of every report."""
    every = [finding for result in results.values() for finding in result.findings]
    return sorted(every, key=lambda finding: finding.sort_key)


class _Round:
    """The fixes of one round: those of the first finding that wants to edit a place."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._sources = sources
        self._files: dict[str, _Accepted] = {}
        self._whole: set[frozenset[Edit]] = set()
        self._groups: set[tuple[str, str]] = set()

    @property
    def edits(self) -> dict[str, list[Edit]]:
        """What is to be applied, by file."""
        return {path: self._files[path].edits for path in sorted(self._files)}

    def takes(self, finding: Finding) -> bool:
        """Take all edits of a finding's fix, or none where one of them cannot be made now."""
        fix = finding.fix
        if fix is None:
            return False
        if frozenset(fix.edits) in self._whole:
            # Two findings of one mistake: fixing it fixes both.
            return True
        group = (finding.path, fix.group)
        if fix.group and group in self._groups:
            return False
        by_path: dict[str, list[Edit]] = {}
        for edit in dict.fromkeys(fix.edits):
            by_path.setdefault(edit.path, []).append(edit)
        files = {path: self._files.get(path, _Accepted(self._sources[path])) for path in by_path}
        if not all(files[path].fits(edits) for path, edits in by_path.items()):
            return False
        for path, edits in by_path.items():
            files[path].add(edits)
        self._files |= files
        self._whole.add(frozenset(fix.edits))
        self._groups.add(group)
        return True


class _Accepted:
    """The edits of one round in one file."""

    def __init__(self, source: Source) -> None:
        from placement_lint.syntax.edits import offsets

        self.source = source
        self._offsets = offsets
        self.edits: list[Edit] = []
        self._lines: set[Edit] = set()
        self._places: list[_Place] = []

    def fits(self, edits: list[Edit]) -> bool:
        """Return whether none of these edits touches a place that is edited otherwise."""
        return not any(self._touches(self._place(edit)) for edit in self._new(edits))

    def add(self, edits: list[Edit]) -> None:
        """Take edits that fit."""
        for edit in self._new(edits):
            self.edits.append(edit)
            bisect.insort(self._places, self._place(edit))
            if _inserts_lines(edit):
                self._lines.add(edit)

    def _new(self, edits: list[Edit]) -> list[Edit]:
        # Two fixes may both need an import. Another edit that two have in common, such as the
        # beginning of a call around what begins at one place, is one that both need for themselves.
        return [edit for edit in edits if edit not in self._lines]

    def _place(self, edit: Edit) -> _Place:
        return self._offsets(self.source, edit)

    def _touches(self, place: _Place) -> bool:
        # Accepted places do not overlap, so only the neighbours can touch.
        index = bisect.bisect_left(self._places, place)
        neighbours = self._places[max(index - 1, 0) : index + 1]
        return any(start <= place[1] and place[0] <= end for start, end in neighbours)


def _inserts_lines(edit: Edit) -> bool:
    """Return whether an edit inserts whole lines and changes none."""
    span = edit.span
    is_empty = (span.line, span.column) == (span.end_line, span.end_column)
    return is_empty and span.column == 1 and edit.text.endswith("\n")


def _broken(result: FileResult, known: Sequence[Finding]) -> Finding | None:
    """Return the finding that says that the analysis did not get through.

    `known` say of single rules that they failed on the file as it was: what the others say of it
    they also say without those.
    """
    failures = {InvalidSyntax.code, InternalError.code}
    return next(
        (found for found in result.findings if found.code in failures and found not in known), None
    )


def is_writable(source: Source) -> bool:
    """Return whether a file can be given another text, and all its other bytes stay as they are."""
    if not source.cells:
        return source.rewritable
    if source.document is None:
        return False
    from placement_lint.files.notebook_json import NotRewritableError, demand_rewritable

    try:
        demand_rewritable(source.document)
    except NotRewritableError:
        return False
    return True


def _programs(source: Source) -> list[str]:
    """Return what has to compile by itself: the text, or each cell of a notebook."""
    if not source.cells:
        return [source.text]
    return [source.text[slice(*source.cell_offsets(cell))] for cell in source.cells]


def _compiles(text: str, path: str, *, when_too_deep: bool = False) -> bool:
    """Return whether this Python compiles a text; of one too deep to tell, say what is asked."""
    return run_deep(_try_to_compile, text, path, when_too_deep)


def _try_to_compile(text: str, path: str, when_too_deep: bool) -> bool:
    # A cell may wait for something outside of any function.
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if is_notebook(path) else 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, path, "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
        except (RecursionError, MemoryError):
            return when_too_deep
    return True
