"""Comments that silence findings.

- `# noqa` silences every rule, `# noqa: JDP201, E501` the codes (or beginnings of codes) that it
  lists; the grammar is flake8's, in which `# noqa: because` lists no code and silences all.
- `# placement-lint: ignore[JDP201, device-put-discarded] reason` silences what it lists: codes,
  beginnings of codes (`JDP2`), names. Without brackets it silences nothing: what it is meant for
  must be said.
- `# placement-lint: ignore-file[…]`, alone on any line, does so for the whole file.

A comment holds for a finding from the end of the finding's own line, or of the first or the last
line of the smallest statement around it (of a compound statement, only the header counts); one of
ours also from the lines of comments directly above that statement. Only real comments count:
what stands in a string says nothing.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.rules.tool.internal_error import InternalError
from placement_lint.rules.tool.invalid_syntax import InvalidSyntax
from placement_lint.rules.tool.io_error import IoError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.findings import Finding
    from placement_lint.syntax.edits import Editor

_NOQA = re.compile(r"#\s*noqa(?::\s?(?P<codes>(?:[A-Z]+[0-9]+[,\s]*)+))?", re.IGNORECASE)
_NOQA_CODE = re.compile(r"[A-Z]+[0-9]+")
_OURS = re.compile(r"#\s*placement-lint:\s*(?P<kind>ignore|ignore-file)\[(?P<rules>[^\[\]]*)\]")
_RULE = re.compile(r"[^,\s]+")
_PREFIX = re.compile(r"JDP[0-9]{0,3}")
_NEVER_SILENT = frozenset({IoError.code, InvalidSyntax.code, InternalError.code})
"""What was not analysed must be said, whatever the file says of itself."""
_WithBody = (
    cst.BaseCompoundStatement,
    cst.Else,
    cst.ExceptHandler,
    cst.ExceptStarHandler,
    cst.Finally,
    cst.MatchCase,
)


@dataclass(frozen=True)
class _Silence:
    """What one comment silences: rules by code, beginning of a code or name; None: all of them."""

    rules: frozenset[str] | None

    def covers(self, finding: Finding) -> bool:
        """Tell whether the finding is among them."""
        if self.rules is None or finding.name.upper() in self.rules:
            return True
        return any(_PREFIX.fullmatch(rule) and finding.code.startswith(rule) for rule in self.rules)


class Suppressions:
    """The comments of one file that silence findings in it."""

    def __init__(self, editor: Editor) -> None:
        """Read the comments. Which statement is where is worked out only if one of them counts."""
        self._editor = editor
        self._at_end: dict[int, list[_Silence]] = {}
        self._alone: dict[int, list[_Silence]] = {}
        self._comment_lines: set[int] = set()
        self._whole_file: list[_Silence] = []
        for start, end in editor.spans.comments:
            self._read(start, end)

    def covers(self, finding: Finding) -> bool:
        """Tell whether a comment silences a finding."""
        if finding.code in _NEVER_SILENT:
            return False
        if any(silence.covers(finding) for silence in self._whole_file):
            return True
        if not (self._at_end or self._alone):
            return False
        return any(silence.covers(finding) for silence in self._holding_at(finding))

    # -- the comments -------------------------------------------------------------------------

    def _read(self, start: int, end: int) -> None:
        source = self._editor.source
        text = source.text[start:end]
        line, column = source.position(start)
        alone = not source.line_text(line)[: column - 1].strip()
        if alone:
            self._comment_lines.add(line)
        noqa = _NOQA.search(text)
        if noqa is not None:
            codes = noqa["codes"]
            listed = None if codes is None else frozenset(_NOQA_CODE.findall(codes.upper()))
            self._at_end.setdefault(line, []).append(_Silence(listed))
        for ours in _OURS.finditer(text):
            silence = _Silence(frozenset(_RULE.findall(ours["rules"].upper())))
            if ours["kind"] == "ignore":
                where = self._alone if alone else self._at_end
                where.setdefault(line, []).append(silence)
            elif alone:
                self._whole_file.append(silence)

    # -- the statements -----------------------------------------------------------------------

    def _holding_at(self, finding: Finding) -> Iterable[_Silence]:
        """Give what the comments say that hold for the place of a finding."""
        source = self._editor.source
        line = finding.span.line
        if finding.cell is not None:
            line += next(c.first_line - 1 for c in source.cells if c.number == finding.cell)
        statement = self._statement_at(source.offset(line, finding.span.column))
        first, last, above = (line, line, line) if statement is None else statement
        for own in dict.fromkeys((line, first, last)):
            yield from self._at_end.get(own, ())
        for top in dict.fromkeys((first, above)):
            comment = top - 1
            while comment in self._comment_lines:
                yield from self._alone.get(comment, ())
                comment -= 1

    def _statement_at(self, offset: int) -> tuple[int, int, int] | None:
        """Give the first and last line of the statement or header at an offset.

        The third line is the one on which it begins with its decorators.
        """
        starts, regions = self._regions
        index = bisect.bisect_right(starts, offset) - 1
        if index < 0:
            return None
        end, first, last, above = regions[index]
        return (first, last, above) if offset <= end else None

    @cached_property
    def _regions(self) -> tuple[list[int], list[tuple[int, int, int, int]]]:
        """Every small statement, header and decorator: they lie beside, never in one another."""
        found: list[tuple[int, tuple[int, int, int, int]]] = []
        for node in self._editor.tree.nodes:
            if isinstance(node, cst.BaseSmallStatement | cst.Decorator):
                start, end = self._editor.spans.inner(node)
            elif isinstance(node, _WithBody):
                start, end = self._header(node)
            else:
                continue
            place = self._editor.place((start, end))
            above = place.line
            if isinstance(node, cst.FunctionDef | cst.ClassDef) and node.decorators:
                above = self._editor.line_of(node.decorators[0])
            found.append((start, (end, place.line, place.end_line, above)))
        found.sort()
        return [start for start, _ in found], [region for _, region in found]

    def _header(self, node: cst.CSTNode) -> tuple[int, int]:
        """Give a compound statement, or a part of one, from its keyword to its colon."""
        spans = self._editor.spans
        start, end = spans.inner(node)
        if isinstance(node, cst.Match):
            # Its cases stand in no block of their own; the colon is on the line of the subject.
            return start, spans.outer(node.subject)[1]
        body = getattr(node, "body", None)
        return start, spans.outer(body)[0] if isinstance(body, cst.BaseSuite) else end
