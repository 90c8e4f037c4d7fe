"""What decides the findings of one file, and what its analysis gives: data, and no analysis."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from placement_lint.findings import Confidence, Finding, Span
from placement_lint.limits.budget import LimitError, MemoryUpError, RunOverError, current_limits
from placement_lint.limits.machine import MEGABYTE
from placement_lint.lint.results import NOT_KEPT
from placement_lint.rules.tool.internal_error import InternalError
from placement_lint.rules.tool.invalid_syntax import InvalidSyntax
from placement_lint.rules.tool.io_error import IoError
from placement_lint.rules.tool.unknown_code_in_suppression import UnknownCodeInSuppression
from placement_lint.rules.tool.unused_suppression import UnusedSuppression

if TYPE_CHECKING:
    from collections.abc import Mapping

    from placement_lint.files.source import Source
    from placement_lint.jaxmodel.effects import Row
    from placement_lint.lint.lookup import Revealed
    from placement_lint.lint.results import Suppressed
    from placement_lint.prefilter.conditions import FileText
    from placement_lint.rules.base import Rule
    from placement_lint.rules.treatment import Treatment
    from placement_lint.syntax.parse import Unparsable

ABOUT_COMMENTS: tuple[type[Rule], ...] = (UnusedSuppression, UnknownCodeInSuppression)


class Sight(enum.IntEnum):
    """How much of a program a run sees of what a file is part of."""

    PART = 0
    """Not even every file that it imports."""
    IMPORTS = 1
    """All that it imports; not all that imports it."""
    WHOLE = 2
    """All that there is, as far as anyone can tell: the run was given folders."""


@dataclass(frozen=True)
class FileOptions:
    """What decides the findings of one file, beside its text."""

    rules: tuple[type[Rule], ...]
    accelerator: bool = True
    target_jax: str = "newest"
    """The setting `target-jax`, or the newest known, whatever a project says."""
    models: tuple[Row, ...] = ()
    """What the settings say that functions of other packages do."""
    min_confidence: Confidence = Confidence.LIKELY
    respect_suppressions: bool = True
    respect_noqa: bool = True
    """Whether a `# noqa` silences, or somebody else sees to that."""
    sight: Sight = Sight.IMPORTS
    """How much of the program is seen, which decides what is known of unused suppressions."""
    treatment: Treatment | None = None
    """What the settings make of findings."""
    reveal: bool = False
    """Answer the `# reveal: name` comments of the file."""
    offers_fixes: bool = True
    """Whether findings come with their fixes. To work these out may take as long as all else: an
    editor asks for them where it offers one."""
    time_limit: int = 0
    """Seconds of processor time that the file may take; 0: any number. It is kept to where there is
    a budget; see `placement_lint.limits.budget`."""

    @property
    def follows_arrays(self) -> bool:
        """Whether anything is asked of the file that depends on where arrays are."""
        return self.accelerator and self.asks_for_placements

    @property
    def asks_for_placements(self) -> bool:
        """Whether a rule may ask where arrays are, be there an accelerator or not."""
        return self.reveal or any(rule.follows_arrays for rule in self.rules)

    def asks_where(self, text: FileText) -> bool:
        """Return whether, by what a file says, a rule may ask where arrays of the run are."""
        return self.reveal or any(
            rule.follows_arrays
            and (rule.follows_arrays_in is None or text.meets(rule.follows_arrays_in))
            for rule in self.rules
        )


@dataclass(frozen=True)
class FileResult:
    """What the analysis of one file gave."""

    findings: tuple[Finding, ...]
    parsed: bool = field(default=False, metadata=NOT_KEPT)
    exact: bool = True
    """Whether the file may be edited: LibCST gives its text back unchanged."""
    revealed: tuple[Revealed, ...] = field(default=(), metadata=NOT_KEPT)
    suppressed: tuple[Suppressed, ...] = ()
    """The findings that comments in the file silence."""
    asks_beside: bool = False
    """Whether what files beside it import decides something: they need not be of the run."""
    words: Mapping[bytes, bool] = field(default_factory=dict, compare=False, metadata=NOT_KEPT)
    """What was looked for in the text, comments included, and whether it is there."""
    failed: tuple[Finding, ...] = field(default=(), metadata=NOT_KEPT)
    """Those of the findings that say of one rule that it failed: what the others say stands."""

    @property
    def every(self) -> tuple[Finding, ...]:
        """All findings, also those that comments silence."""
        return (*self.findings, *(each.finding for each in self.suppressed))

    @property
    def says_something(self) -> bool:
        """Whether a rule found something, silenced or not; comments do not count."""
        about_comments = {rule.code for rule in ABOUT_COMMENTS}
        return bool(self.suppressed) or any(f.code not in about_comments for f in self.findings)


def unfinished(
    path: str, error: LimitError, seconds: float, what: str = "checked to the end"
) -> Finding:
    """Return the JDP900 finding of a file that exceeded a limit; `seconds` is its time limit."""
    if error.path not in {None, path}:
        # What it asked of another file.
        return tool_finding(IoError, path, IoError.describe_incomplete(str(error.path)))
    limits = current_limits()
    if isinstance(error, RunOverError):
        message = IoError.describe_run_over(int(limits.seconds))
    elif isinstance(error, MemoryUpError):
        message = IoError.describe_memory_up(limits.memory // MEGABYTE, what)
    else:
        message = IoError.describe_time_up(int(seconds), what)
    return tool_finding(IoError, path, message)


def is_unfinished(result: FileResult) -> bool:
    """Return whether a file was not checked to the end."""
    return any(finding.code == IoError.code for finding in result.findings)


def internal_error(source: Source, rule: type[Rule] | None, error: Exception) -> Finding:
    """Return the JDP903 finding of a rule (or, without one, of the analysis) that failed."""
    return tool_finding(InternalError, source.path, InternalError.describe(rule, error))


def tool_finding(
    rule: type[Rule],
    path: str,
    message: str,
    *,
    line: int = 1,
    column: int = 1,
    cell: int | None = None,
) -> Finding:
    """Return a finding of the tool about its own work on a file."""
    return Finding(
        code=rule.code,
        name=rule.name,
        message=message,
        path=path,
        span=Span(line, column, line, column),
        severity=rule.severity,
        cell=cell,
        advice=rule.advice,
    )


def syntax_finding(source: Source, unparsable: Unparsable) -> Finding:
    """Return the JDP901 finding that says why a source cannot be parsed."""
    line, column = unparsable.line, unparsable.column
    cell = source.cell_at(line)
    shift = cell.first_line - 1 if cell else 0
    return tool_finding(
        InvalidSyntax,
        source.path,
        InvalidSyntax.describe(unparsable.reason),
        line=max(line - shift, 1),
        column=max(column, 1),
        cell=cell.number if cell else None,
    )
