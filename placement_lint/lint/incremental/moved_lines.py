"""Findings in a text of which nothing has changed but lines that have no code: they are moved.

Somebody who types makes room for a line, or writes a comment above one: the code is what it was.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from placement_lint.syntax.code_digest import code_digest, decides_something, ends_between_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from placement_lint.findings import Finding, Related, Span
    from placement_lint.lint.file_results import FileResult

_CODELESS = re.compile(r"\s*(?:#.*)?")
_PLACED = ("placement-lint", "ruff:", "flake8:", "reveal:")
"""What comments say of which it matters how far they are from what they are about."""
_LINE = re.compile(r"\blines? \d")


class NotMovedError(Exception):
    """What was found depends on more than where the code is."""


@dataclass(frozen=True)
class MovedLines:
    """Which lines of a text were moved by others, without code, that came or went before them."""

    kept: int
    """So many lines are where they were."""
    first: int
    """From this line on, they were moved."""
    by: int

    def span(self, span: Span) -> Span:
        """Return where a span is now. Raises NotMovedError for one that is not all in code."""
        return replace(span, line=self._line(span.line), end_line=self._line(span.end_line))

    def _line(self, line: int) -> int:
        if line <= self.kept:
            return line
        if line >= self.first:
            return line + self.by
        raise NotMovedError(line)


def moved_lines(old: str, new: str) -> MovedLines | None:
    """Return how the lines of a text were moved; None where its code is not what it was."""
    before, now = old.split("\n"), new.split("\n")
    most = min(len(before), len(now))
    kept = next((at for at in range(most) if before[at] != now[at]), most)
    left = most - kept
    same = next((at for at in range(left) if before[-1 - at] != now[-1 - at]), left)
    gone, come = before[kept : len(before) - same], now[kept : len(now) - same]
    if not all(map(_has_no_code, (*gone, *come))) or any(word in old for word in _PLACED):
        return None
    if not ends_between_lines("".join(f"{line}\n" for line in before[:kept])):
        return None
    if code_digest(old) != code_digest(new):
        return None
    return MovedLines(kept, len(before) - same + 1, len(now) - len(before))


def moved_results(
    results: Mapping[str, FileResult], moves: Mapping[str, MovedLines]
) -> dict[str, FileResult]:
    """Return what was found in files, where it is now. Raises NotMovedError."""
    return {path: _moved_result(result, moves) for path, result in results.items()}


def names_a_line(finding: Finding, name: str) -> bool:
    """Return whether what is said of a finding names a line, or a file."""
    texts = (finding.message, finding.advice, *(each.message for each in finding.related))
    return any(name in text or _LINE.search(text) for text in texts)


def _has_no_code(line: str) -> bool:
    return _CODELESS.fullmatch(line) is not None and not decides_something(line)


def _moved_result(result: FileResult, moves: Mapping[str, MovedLines]) -> FileResult:
    if result.revealed:
        raise NotMovedError
    return replace(
        result,
        findings=_moved_findings(result.findings, moves),
        suppressed=tuple(
            replace(each, finding=_moved(each.finding, moves)) for each in result.suppressed
        ),
        failed=_moved_findings(result.failed, moves),
    )


def _moved_findings(
    findings: Iterable[Finding], moves: Mapping[str, MovedLines]
) -> tuple[Finding, ...]:
    return tuple(_moved(finding, moves) for finding in findings)


def _moved(finding: Finding, moves: Mapping[str, MovedLines]) -> Finding:
    is_placed = finding.cell is not None or finding.fix is not None
    if is_placed or any(names_a_line(finding, path.rpartition("/")[2]) for path in moves):
        raise NotMovedError
    related = tuple(_moved_related(each, moves) for each in finding.related)
    if finding.path not in moves:
        return replace(finding, related=related)
    return replace(finding, span=moves[finding.path].span(finding.span), related=related)


def _moved_related(related: Related, moves: Mapping[str, MovedLines]) -> Related:
    if related.path not in moves:
        return related
    return replace(related, span=moves[related.path].span(related.span))
