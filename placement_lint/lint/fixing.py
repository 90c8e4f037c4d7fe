"""Applying fixes: to a fixpoint, or not at all."""

from __future__ import annotations

import ast
import bisect
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from placement_lint import __version__
from placement_lint.files.notebook import is_notebook
from placement_lint.findings import Applicability
from placement_lint.lint.file import FileOptions, FileResult, lint_source, tool_finding
from placement_lint.rules.tool.internal_error import InternalError
from placement_lint.rules.tool.invalid_syntax import InvalidSyntax
from placement_lint.syntax.deep_stack import run_deep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from placement_lint.files.source import Source
    from placement_lint.findings import Edit, Finding
    from placement_lint.rules.run_view import RunView
    from placement_lint.syntax.names import ExportResolver

MAX_ROUNDS = 100
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
) -> FixResult:
    """Apply every fix that may be applied to one file; see `fix_sources`."""

    def lint(sources: Mapping[str, Source]) -> dict[str, FileResult]:
        return {path: lint_source(each, options, exports, run) for path, each in sources.items()}

    return fix_sources({source.path: source}, lint, unsafe={source.path: unsafe})[source.path]


def fix_sources(
    sources: Mapping[str, Source],
    lint: Callable[[Mapping[str, Source]], Mapping[str, FileResult]],
    *,
    unsafe: Mapping[str, bool],
) -> dict[str, FixResult]:
    """Apply every fix that may be applied, and every one that this makes possible, and so on.

    `lint` checks the files as they are after each round, together: a fix may edit several of them,
    and is applied in all or in none. `unsafe` says, by path, whose findings may have unsafe fixes
    applied. A text that cannot be edited exactly is only linted. If fixes end in a
    text that does not parse, that does not compile where the original did, that cannot be encoded,
    or if they never end, then all of them are taken back, in every file, and a JDP903 finding says
    which rules' fixes those were.
    """
    return _Fixing(sources, lint, unsafe).run()


class _TakenBackError(Exception):
    """Fixes went wrong: in which file, and how."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason


class _Fixing:
    """The fixes of some files, round by round."""

    def __init__(
        self,
        sources: Mapping[str, Source],
        lint: Callable[[Mapping[str, Source]], Mapping[str, FileResult]],
        unsafe: Mapping[str, bool],
    ) -> None:
        self.sources = sources
        self.lint = lint
        self.unsafe = unsafe
        self.original = lint(sources)
        self.fixable = {
            path
            for path, source in sources.items()
            if is_writable(source)
            and path in self.original
            and self.original[path].exact
            and _broken(self.original[path]) is None
        }
        self.counts: dict[str, Counter[str]] = {path: Counter() for path in sources}

    def run(self) -> dict[str, FixResult]:
        codes: Counter[str] = Counter()
        try:
            current, results = self._rounds(codes)
            self._check(current)
        except _TakenBackError as error:
            return self._taken_back(error, codes)
        return {
            path: FixResult(
                current[path],
                dict(sorted(self.counts[path].items())),
                result,
                self.original.get(path, result),
            )
            for path, result in results.items()
        }

    def _check(self, current: Mapping[str, Source]) -> None:
        for path, source in current.items():
            changed = source.content != self.sources[path].content
            reason = self._objection(path, source) if changed else None
            if reason is not None:
                raise _TakenBackError(path, reason)

    def _rounds(self, codes: Counter[str]) -> tuple[dict[str, Source], Mapping[str, FileResult]]:
        from placement_lint.syntax.edits import edited as after

        current, results = dict(self.sources), self.original
        seen = {path: {source.content} for path, source in current.items()}
        for _ in range(MAX_ROUNDS):
            accepted = {path: _Accepted(current[path]) for path in sorted(self.fixable)}
            codes.clear()
            for finding in _in_order(results):
                if self._is_applicable(finding) and _accept(finding, accepted):
                    codes[finding.code] += 1
                    self.counts[_edited_first(finding)][finding.code] += 1
            edited = {path: each.edits for path, each in accepted.items() if each.edits}
            if not edited:
                return current, results
            for path, edits in edited.items():
                try:
                    source = after(current[path], edits)
                except ValueError:
                    reason = "the edits of one of them overlap"
                    raise _TakenBackError(path, reason) from None
                if source.content in seen[path]:
                    raise _TakenBackError(path, "they lead back to a text that was there before")
                seen[path].add(source.content)
                current[path] = source
            results = self.lint(current)
            for path in edited:
                problem = _broken(results[path])
                if problem is not None:
                    raise _TakenBackError(path, f"the result has {problem.message}")
                if not results[path].exact:
                    raise _TakenBackError(path, "the result cannot be edited exactly")
        raise _TakenBackError(min(edited), f"they did not end after {MAX_ROUNDS} rounds")

    def _is_applicable(self, finding: Finding) -> bool:
        fix = finding.fix
        if fix is None or any(edit.path not in self.fixable for edit in fix.edits):
            return False
        if fix.applicability is Applicability.UNSAFE:
            return self.unsafe.get(finding.path, False)
        return fix.applicability is Applicability.SAFE

    def _objection(self, path: str, current: Source) -> str | None:
        """Say why a text must not be written, if it must not."""
        try:
            current.to_bytes()
        except UnicodeEncodeError:
            return f"the file's encoding ({current.encoding}) cannot hold the result"
        before, after = _programs(self.sources[path]), _programs(current)
        for was, now in zip(before, after, strict=True):
            if was != now and _compiles(was, path) and not _compiles(now, path, when_too_deep=True):
                return "the result does not compile"
        return None

    def _taken_back(self, error: _TakenBackError, codes: Iterable[str]) -> dict[str, FixResult]:
        every = set(codes).union(*self.counts.values())
        message = (
            f"the fixes of {', '.join(sorted(every))} were taken back: {error.reason} "
            f"(placement-lint {__version__}); please report it"
        )
        kept: dict[str, FixResult] = {}
        for path, result in self.original.items():
            shown = result
            if path == error.path:
                finding = tool_finding(InternalError, path, message)
                shown = replace(result, findings=(finding, *result.findings))
            kept[path] = FixResult(self.sources[path], {}, shown, result)
        return kept


def _edited_first(finding: Finding) -> str:
    """Give the file that a finding's fix edits, which may be another than it is about."""
    edits = () if finding.fix is None else finding.fix.edits
    return edits[0].path if edits else finding.path


def _in_order(results: Mapping[str, FileResult]) -> list[Finding]:
    """Give the findings of all files in the order of every report."""
    every = [finding for result in results.values() for finding in result.findings]
    return sorted(every, key=lambda finding: finding.sort_key)


def _accept(finding: Finding, accepted: Mapping[str, _Accepted]) -> bool:
    """Take all edits of a finding's fix, or none where one of them touches another's place."""
    if finding.fix is None:
        return False
    by_path: dict[str, list[Edit]] = {}
    for edit in dict.fromkeys(finding.fix.edits):
        by_path.setdefault(edit.path, []).append(edit)
    if not all(accepted[path].fits(edits) for path, edits in by_path.items()):
        return False
    for path, edits in by_path.items():
        accepted[path].add(edits)
    return True


class _Accepted:
    """The edits of one round: those of the first finding that wants to edit a place."""

    def __init__(self, source: Source) -> None:
        from placement_lint.syntax.edits import offsets

        self.source = source
        self._offsets = offsets
        self.edits: list[Edit] = []
        self._known: set[Edit] = set()
        self._places: list[_Place] = []

    def fits(self, edits: list[Edit]) -> bool:
        """Tell whether none of these edits touches a place that is edited otherwise."""
        return not any(self._touches(self._place(edit)) for edit in self._new(edits))

    def add(self, edits: list[Edit]) -> None:
        """Take edits that fit."""
        new = self._new(edits)
        self.edits += new
        self._known.update(new)
        for edit in new:
            bisect.insort(self._places, self._place(edit))

    def _new(self, edits: list[Edit]) -> list[Edit]:
        return [edit for edit in edits if edit not in self._known]

    def _place(self, edit: Edit) -> _Place:
        return self._offsets(self.source, edit)

    def _touches(self, place: _Place) -> bool:
        # Accepted places do not overlap, so only the neighbours can touch.
        index = bisect.bisect_left(self._places, place)
        neighbours = self._places[max(index - 1, 0) : index + 1]
        return any(start <= place[1] and place[0] <= end for start, end in neighbours)


def _broken(result: FileResult) -> Finding | None:
    """Give the finding that says that the analysis did not get through."""
    failures = {InvalidSyntax.code, InternalError.code}
    return next((finding for finding in result.findings if finding.code in failures), None)


def is_writable(source: Source) -> bool:
    """Tell whether a file can be given another text: a notebook's bytes may be out of the way."""
    if not source.cells:
        return True
    if source.document is None:
        return False
    from placement_lint.files.notebook_json import NotRewritableError, demand_rewritable

    try:
        demand_rewritable(source.document)
    except NotRewritableError:
        return False
    return True


def _programs(source: Source) -> list[str]:
    """Give what has to compile by itself: the text, or each cell of a notebook."""
    if not source.cells:
        return [source.text]
    return [source.text[slice(*source.cell_offsets(cell))] for cell in source.cells]


def _compiles(text: str, path: str, *, when_too_deep: bool = False) -> bool:
    """Tell whether this Python compiles a text; of one too deep to tell, say what is asked."""
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
