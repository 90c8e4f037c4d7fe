"""Applying fixes: to a fixpoint, or not at all."""

from __future__ import annotations

import bisect
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from placement_lint import __version__
from placement_lint.findings import Applicability
from placement_lint.lint.file import FileOptions, FileResult, lint_source, tool_finding
from placement_lint.rules.tool.internal_error import InternalError
from placement_lint.rules.tool.invalid_syntax import InvalidSyntax
from placement_lint.syntax.deep_stack import run_deep

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from placement_lint.files.source import Source
    from placement_lint.findings import Edit, Finding, Fix
    from placement_lint.syntax.names import ExportResolver

MAX_ROUNDS = 100
_Place = tuple[int, int]


@dataclass(frozen=True)
class FixResult:
    """What fixing made of one file."""

    text: str
    counts: Mapping[str, int]
    """How many findings were fixed, by code."""
    result: FileResult
    """What is found in the text as it is now."""
    original: FileResult
    """What was found before anything was fixed."""


def fix_source(
    source: Source, options: FileOptions, exports: ExportResolver | None = None, *, unsafe: bool
) -> FixResult:
    """Apply every fix that may be applied, and every one that this makes possible, and so on.

    A text that cannot be edited exactly, and a notebook, is only linted. If fixes end in a text
    that does not parse, that does not compile where the original did, that cannot be encoded, or
    if they never end, then all of them are taken back, and a JDP903 finding says which rules'
    fixes those were.
    """
    original = lint_source(source, options, exports)
    return _Fixing(source, options, exports, original, unsafe=unsafe).run()


class _Fixing:
    """The fixes of one file, round by round."""

    def __init__(
        self,
        source: Source,
        options: FileOptions,
        exports: ExportResolver | None,
        original: FileResult,
        *,
        unsafe: bool,
    ) -> None:
        self.source = source
        self.options = options
        self.exports = exports
        self.original = original
        self.allowed = {Applicability.SAFE, *([Applicability.UNSAFE] if unsafe else ())}
        self.counts: Counter[str] = Counter()

    def run(self) -> FixResult:
        from placement_lint.syntax.edits import apply_edits

        current, result = self.source, self.original
        if current.cells or not result.exact or _broken(result) is not None:
            return self._unchanged()
        seen = {current.text}
        for _ in range(MAX_ROUNDS):
            accepted = _Accepted(current)
            codes = [
                finding.code
                for finding in result.findings
                if finding.fix is not None and self._applies(finding.fix) and accepted.add(finding)
            ]
            if not codes:
                break
            self.counts.update(codes)
            try:
                current = replace(current, text=apply_edits(current, accepted.edits))
            except ValueError:
                return self._taken_back("the edits of one of them overlap", codes)
            if current.text in seen:
                return self._taken_back("they lead back to a text that was there before", codes)
            seen.add(current.text)
            result = lint_source(current, self.options, self.exports)
            problem = _broken(result)
            if problem is not None:
                return self._taken_back(f"the result has {problem.message}", codes)
            if not result.exact:
                return self._taken_back("the result cannot be edited exactly", codes)
        else:
            return self._taken_back(f"they did not end after {MAX_ROUNDS} rounds", codes)
        if current.text == self.source.text:
            return self._unchanged()
        reason = self._objection(current)
        if reason is not None:
            return self._taken_back(reason, self.counts)
        return FixResult(current.text, dict(sorted(self.counts.items())), result, self.original)

    def _applies(self, fix: Fix) -> bool:
        ours = all(edit.path == self.source.path for edit in fix.edits)
        return ours and fix.applicability in self.allowed

    def _objection(self, current: Source) -> str | None:
        """Say why a text must not be written, if it must not."""
        try:
            current.encode(current.text)
        except UnicodeEncodeError:
            return f"the file's encoding ({current.encoding}) cannot hold the result"
        if _compiles(self.source) and not _compiles(current, when_too_deep=True):
            return "the result does not compile"
        return None

    def _unchanged(self) -> FixResult:
        return FixResult(self.source.text, {}, self.original, self.original)

    def _taken_back(self, reason: str, codes: Iterable[str]) -> FixResult:
        message = (
            f"the fixes of {', '.join(sorted(set(codes)))} were taken back: {reason} "
            f"(placement-lint {__version__}); please report it"
        )
        finding = tool_finding(InternalError, self.source.path, message)
        result = replace(self.original, findings=(finding, *self.original.findings))
        return FixResult(self.source.text, {}, result, self.original)


class _Accepted:
    """The edits of one round: those of the first finding that wants to edit a place."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.edits: list[Edit] = []
        self._known: set[Edit] = set()
        self._places: list[_Place] = []

    def add(self, finding: Finding) -> bool:
        """Take all edits of a finding's fix, or none where one of them touches another's place."""
        if finding.fix is None:
            return False
        new = [edit for edit in dict.fromkeys(finding.fix.edits) if edit not in self._known]
        places = [self._place(edit) for edit in new]
        if any(self._touches(place) for place in places):
            return False
        self.edits += new
        self._known.update(new)
        for place in places:
            bisect.insort(self._places, place)
        return True

    def _place(self, edit: Edit) -> _Place:
        span = edit.span
        return (
            self.source.offset(span.line, span.column),
            self.source.offset(span.end_line, span.end_column),
        )

    def _touches(self, place: _Place) -> bool:
        # Accepted places do not overlap, so only the neighbours can touch.
        index = bisect.bisect_left(self._places, place)
        neighbours = self._places[max(index - 1, 0) : index + 1]
        return any(start <= place[1] and place[0] <= end for start, end in neighbours)


def _broken(result: FileResult) -> Finding | None:
    """Give the finding that says that the analysis did not get through."""
    failures = {InvalidSyntax.code, InternalError.code}
    return next((finding for finding in result.findings if finding.code in failures), None)


def _compiles(source: Source, *, when_too_deep: bool = False) -> bool:
    """Tell whether this Python compiles a text; of one too deep to tell, say what is asked."""
    return run_deep(_try_to_compile, source, when_too_deep)


def _try_to_compile(source: Source, when_too_deep: bool) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source.text, source.path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
        except (RecursionError, MemoryError):
            return when_too_deep
    return True
