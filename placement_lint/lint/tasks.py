"""What is to be done with a file of a run, or a component, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from placement_lint.lint.file_results import FileOptions, FileResult, tool_finding
from placement_lint.project.dependencies import Learned
from placement_lint.rules.tool.internal_error import InternalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from placement_lint.findings import Finding
    from placement_lint.lint.results import FixedFile, Skipped
    from placement_lint.project.dependencies import Dependencies
    from placement_lint.rules.base import Rule


@dataclass(frozen=True)
class Request:
    """How one file is to be checked."""

    options: FileOptions
    unsafe_fixes: bool = False


@dataclass(frozen=True)
class Task:
    """One file that may hold a finding."""

    path: str
    request: Request
    size: int
    only_parse: bool = False
    """No rule can find anything in it: what is asked is whether it can be parsed."""
    spent: float = 0.0
    """The seconds of processor time that it has taken by now."""
    may_fire: tuple[type[Rule], ...] | None = None
    """The rules that can fire by what it says itself; None: not known."""


@dataclass(frozen=True)
class ComponentTask:
    """One component of a run: it is checked before those of its files that are checked alone."""

    first: str
    """By which of its files it is known."""
    size: int
    spent: Mapping[str, float]
    """The seconds of processor time that its files have taken by now."""
    group: str = ""
    """What the next run knows its results by; "" where nothing is kept."""


@dataclass(frozen=True)
class Change:
    """What fixes make of a file's bytes."""

    file: FixedFile
    before: bytes
    after: bytes
    unchanged: FileResult
    """What is to be reported where the file cannot be written."""
    linked: frozenset[str] = frozenset()
    """The files that fixes have edited together with it."""


@dataclass(frozen=True)
class CheckedFile:
    """What came of one file."""

    path: str
    result: FileResult
    change: Change | None = None
    skipped: Skipped | None = None
    unwritten: Finding | None = None
    """Why what fixes made of it could not be written."""
    answers: Dependencies | None = None
    """What other files told it; None where that is not all that it depends on."""
    learned: Learned = field(default_factory=Learned)
    """What was found out of other files on the way."""
    beside: tuple[Finding, ...] = ()
    """What failed of other files that were asked on the way."""
    is_only_parsed: bool = False
    """Whether it can be parsed was all that was asked, and it can be."""
    out: frozenset[str] = frozenset()
    """Files of which it needed to know something that takes more than they may."""
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)
    """How long each part of the work took, if that was asked for."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything to be reported of the file."""
        unwritten = () if self.unwritten is None else (self.unwritten,)
        return (*unwritten, *self.result.findings, *self.beside)

    def seen_again(self, other: CheckedFile | None) -> CheckedFile:
        """Take the result of another look at the file; None: nothing can be found in it any more.

        What went wrong with its fixes is still said.
        """
        if other is None:
            other = CheckedFile(self.path, FileResult(()))
        wrong = [found for found in self.result.findings if found.code == InternalError.code]
        findings = tuple(dict.fromkeys([*wrong, *other.result.findings]))
        result = replace(other.result, findings=findings)
        return replace(self, result=result, beside=(*self.beside, *other.beside))


def failure(path: str, error: Exception, rule: type[Rule] | None = None) -> Finding:
    """Return the JDP903 finding of a file on which the work failed, or that of one rule."""
    return tool_finding(InternalError, path, InternalError.describe(rule, error))
