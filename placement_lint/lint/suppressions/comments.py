"""Comments that silence findings.

- `# noqa` silences every rule, `# noqa: JDP201, E501` the codes (or beginnings of codes) that it
  lists; the grammar is flake8's, in which `# noqa: because` lists no code and silences all.
- `# flake8: noqa: JDP201` and `# ruff: noqa: JDP201`, alone on any line, silence the codes in the
  whole file. Without codes they are meant for those tools.
- `# placement-lint: ignore[JDP201, device-put-discarded] reason` silences what it lists: codes,
  beginnings of codes (`JDP2`), names. Without brackets it silences nothing: what it is meant for
  must be said.
- `# placement-lint: ignore-file[…]`, alone on any line, does so for the whole file.
- `# placement-lint: off[…]`, alone on a line, does so up to the next `# placement-lint: on` that
  is alone on a line, or to the end of the file.
- `# ruff: ignore[…]`, `# ruff: file-ignore[…]` and `# ruff: disable[…]` up to `# ruff: enable[…]`
  hold for codes of ours as ruff has them hold for its own: see `ruff_ranges`.

A comment holds for a finding from the end of the finding's own line (with those that a string or a
backslash joins to it), or of the first or the last line of the smallest statement around it (of a
compound statement, only the header counts); one of ours also from the lines of comments directly
above that statement. Only real comments count: what stands in a string says nothing.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.lint.results import Suppressed
from placement_lint.lint.suppressions.ruff_ranges import RangeComment, silenced_ranges
from placement_lint.rules.redirects import redirected
from placement_lint.rules.tool.internal_error import InternalError
from placement_lint.rules.tool.invalid_syntax import InvalidSyntax
from placement_lint.rules.tool.io_error import IoError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    _Regions: TypeAlias = tuple[list[int], list[tuple[int, int, int, int]]]

    from placement_lint.findings import Finding
    from placement_lint.syntax.edits import Editor

_WORDS = ("noqa", "placement-lint", "ruff")
"""In small letters: what silences something has one of these."""
_NOQA = re.compile(r"#\s*noqa(?::\s?(?P<codes>(?:[A-Z]+[0-9]+[,\s]*)+))?", re.IGNORECASE)
_FILE_NOQA = re.compile(
    r"#\s*(?:flake8|ruff)\s*[:=]\s*noqa\s*:\s*(?P<codes>(?:[A-Z]+[0-9]+[,\s]*)+)", re.IGNORECASE
)
_NOQA_CODE = re.compile(r"(?<![A-Z])[A-Z]+[0-9]+", re.IGNORECASE)
_OURS = re.compile(r"#\s*placement-lint:\s*(?P<kind>ignore|ignore-file)\[(?P<rules>[^\[\]]*)\]")
_NAMELESS = re.compile(r"#\s*placement-lint:\s*(?:ignore(?:-file)?|off)(?![-\[\w])")
_BEGIN = re.compile(r"#\s*placement-lint:\s*off\[(?P<rules>[^\[\]]*)\]")
_END = re.compile(r"#\s*placement-lint:\s*on(?![-\[\w])")
_RUFF = re.compile(
    r"#\s*ruff:\s*(?P<kind>ignore|file-ignore|disable|enable)\[(?P<rules>[^\[\]]*)\]"
)
_MOST_OPEN = 100
"""Of blocks that have begun and not ended; what begins inside of so many holds for nothing."""
_MOST_LINES_ABOVE = 500
"""Of comments above a statement. Each finding looks at them, and there may be as many of both."""
_RULE = re.compile(r"[^,\s]+")
_PREFIX = re.compile(r"JDP[0-9]{0,3}")
NEVER_SILENT = frozenset({IoError.code, InvalidSyntax.code, InternalError.code})
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
class Selector:
    """What a comment names: a code, the beginning of one, or the name of a rule."""

    text: str
    start: int
    end: int
    """Where it stands in the text of the file."""

    def covers(self, code: str, name: str) -> bool:
        """Return whether a rule is meant."""
        upper = redirected(self.text).upper()
        return name.upper() == upper or bool(_PREFIX.fullmatch(upper) and code.startswith(upper))


@dataclass(eq=False)
class Directive:
    """What one comment, or a part of one, silences, and what it has silenced so far."""

    start: int
    end: int
    """From its `#` to the end of what the grammar knows; a reason may follow."""
    is_noqa: bool
    selectors: tuple[Selector, ...] | None
    """None: every rule."""
    of_ruff: bool = False
    """One of the comments that only ruff knows beside us: codes of its rules stand in them too."""
    until: Directive | None = None
    """The comment that ends its range: the same selectors stand there."""
    used: set[Selector] = field(default_factory=set)
    _covered: dict[str, bool] = field(default_factory=dict)
    """Of the codes of findings that it was asked about, whether it silences them."""

    def covers(self, finding: Finding) -> bool:
        """Return whether the finding is among what it silences, and remember it if so."""
        if self.selectors is None:
            return True
        code = finding.code
        if code not in self._covered:
            hits = [each for each in self.selectors if each.covers(code, finding.name)]
            self.used.update(hits)
            self._covered[code] = bool(hits)
        return self._covered[code]


class Suppressions:
    """The comments of one file that silence findings in it."""

    def __init__(self, editor: Editor, *, noqa: bool = True) -> None:
        """Read the comments. Which statement is where is worked out only if one of them counts.

        `noqa` says whether a `# noqa` silences anything, or is only noted to be of use.
        """
        self._editor = editor
        self._noqa = noqa
        self.directives: list[Directive] = []
        """Every one of them that names rules, in the order of the text."""
        self.nameless: list[tuple[int, int]] = []
        """Where comments stand that are meant to silence something and do not say what."""
        self._at_end: dict[int, list[Directive]] = {}
        self._alone: dict[int, list[Directive]] = {}
        self._comment_lines: set[int] = set()
        self._whole_file: list[Directive] = []
        self._blocks: list[tuple[int, tuple[Directive, ...]]] = [(0, ())]
        """From each line on where one begins or ends: which of them hold."""
        self._ranges: list[RangeComment[Directive]] = []
        """The comments of ruff that begin or end a range."""
        for start, end in editor.spans.comments:
            self._read(start, end)

    def apply(self, findings: Iterable[Finding]) -> tuple[list[Finding], list[Suppressed]]:
        """Part the findings that nothing silences from those that a comment does."""
        spoken: list[Finding] = []
        silent: list[Suppressed] = []
        for finding in findings:
            covering = self._covering(finding)
            if covering:
                reasons = (self._reason(directive) for directive in covering)
                silent.append(Suppressed(finding, next(filter(None, reasons), "")))
            else:
                spoken.append(finding)
        return spoken, silent

    def covers(self, finding: Finding) -> bool:
        """Return whether a comment silences a finding."""
        return bool(self._covering(finding))

    def _covering(self, finding: Finding) -> list[Directive]:
        if finding.code in NEVER_SILENT:
            return []
        holding = list(self._whole_file)
        if len(self._blocks) > 1:
            holding += self._blocks_at(finding.span.line + self._lines_before(finding))
        if self._ranges:
            holding += self._ruff_blocks_at(finding.span.line + self._lines_before(finding))
        if self._at_end or self._alone:
            holding += self._holding_at(finding)
        # Each of them is asked: one that silences what another one does is not without use.
        covering = [directive for directive in holding if directive.covers(finding)]
        return [directive for directive in covering if self._noqa or not directive.is_noqa]

    def _lines_before(self, finding: Finding) -> int:
        return self._editor.source.lines_before(finding.cell)

    def _reason(self, directive: Directive) -> str:
        """Return what a comment says behind what it silences, up to another comment."""
        source = self._editor.source
        line, _ = source.position(directive.start)
        end = source.line_starts[line - 1] + len(source.line_text(line))
        return source.text[directive.end : end].partition("#")[0].strip(" \t:,;-")

    # -- the comments -------------------------------------------------------------------------

    def _read(self, start: int, end: int) -> None:
        source = self._editor.source
        text = source.text[start:end]
        line, column = source.position(start)
        alone = not source.line_text(line)[: column - 1].strip()
        if alone:
            self._comment_lines.add(line)
        small = text.lower()
        if not any(word in small for word in _WORDS):
            return
        for noqa in _NOQA.finditer(text):
            directive = _directive(noqa, start, "codes", _NOQA_CODE, is_noqa=True)
            self._at_end.setdefault(line, []).append(directive)
            self.directives.append(directive)
        for whole in _FILE_NOQA.finditer(text) if alone else ():
            directive = _directive(whole, start, "codes", _NOQA_CODE, is_noqa=True)
            self._whole_file.append(directive)
            self.directives.append(directive)
        self.nameless += [
            (start + found.start(), start + found.end()) for found in _NAMELESS.finditer(text)
        ]
        for ours in _OURS.finditer(text):
            directive = _directive(ours, start, "rules", _RULE, is_noqa=False)
            self.directives.append(directive)
            if ours["kind"] == "ignore":
                where = self._alone if alone else self._at_end
                where.setdefault(line, []).append(directive)
            elif alone:
                self._whole_file.append(directive)
        for theirs in _RUFF.finditer(text):
            self._read_of_ruff(theirs, start, line, column if alone else None)
        if alone:
            self._read_blocks(text, start, line)

    def _read_of_ruff(
        self, match: re.Match[str], start: int, line: int, column: int | None
    ) -> None:
        """Read a comment of ruff's; `column` is where it begins if it is alone on its line."""
        directive = _directive(match, start, "rules", _RULE, is_noqa=False)
        directive.of_ruff = True
        if match["kind"] == "ignore":
            where = self._at_end if column is None else self._alone
            where.setdefault(line, []).append(directive)
        elif column is None:
            return
        elif match["kind"] == "file-ignore":
            self._whole_file.append(directive)
        else:
            ends = match["kind"] == "enable"
            selectors = frozenset(each.text.upper() for each in directive.selectors or ())
            self._ranges.append(RangeComment(line, column, selectors, directive, ends=ends))
            if ends:
                return
        self.directives.append(directive)

    def _read_blocks(self, text: str, start: int, line: int) -> None:
        if _END.match(text):
            self._blocks.append((line, ()))
        for begin in _BEGIN.finditer(text):
            directive = _directive(begin, start, "rules", _RULE, is_noqa=False)
            self.directives.append(directive)
            holding = self._blocks[-1][1]
            if len(holding) < _MOST_OPEN:
                self._blocks.append((line, (*holding, directive)))

    def _blocks_at(self, line: int) -> tuple[Directive, ...]:
        index = bisect.bisect_right(self._blocks, line, key=lambda each: each[0])
        return self._blocks[index - 1][1]

    def _ruff_blocks_at(self, line: int) -> tuple[Directive, ...]:
        index = bisect.bisect_right(self._ruff_blocks, line, key=lambda each: each[0])
        return self._ruff_blocks[index - 1][1]

    @cached_property
    def _ruff_blocks(self) -> list[tuple[int, tuple[Directive, ...]]]:
        """From each line on where a range of ruff's begins or ends: which of them hold."""
        starts, _ = self._regions
        statements = [self._editor.source.position(start) for start in starts]
        return silenced_ranges(self._ranges, statements, self._pair)

    def _pair(self, begin: Directive, end: Directive) -> None:
        begin.until = end

    # -- the statements -----------------------------------------------------------------------

    def _holding_at(self, finding: Finding) -> Iterable[Directive]:
        """Return what the comments say that hold for the place of a finding."""
        source = self._editor.source
        line = finding.span.line + source.lines_before(finding.cell)
        statement = self._statement_at(source.offset(line, finding.span.column))
        first, last, above = (line, line, line) if statement is None else statement
        for own in dict.fromkeys((line, self._editor.joined_end(line), first, last)):
            yield from self._at_end.get(own, ())
        yield from self._alone.get(line, ())
        for top in dict.fromkeys((first, above)) if self._alone else ():
            comment = top - 1
            while comment in self._comment_lines and top - comment <= _MOST_LINES_ABOVE:
                yield from self._alone.get(comment, ())
                comment -= 1

    def _statement_at(self, offset: int) -> tuple[int, int, int] | None:
        """Return the first and last line of the statement or header at an offset.

        The third line is the one on which it begins with its decorators.
        """
        # Where headers end, only LibCST knows.
        return _region_at(offset, self._small_regions) or _region_at(offset, self._regions)

    @cached_property
    def _small_regions(self) -> _Regions:
        """Every small statement and decorator."""
        return self._regions_of((cst.BaseSmallStatement, cst.Decorator))

    @cached_property
    def _regions(self) -> _Regions:
        """Every small statement, header and decorator: they lie beside, never in one another."""
        return self._regions_of((cst.BaseSmallStatement, cst.Decorator, *_WithBody))

    def _regions_of(self, kinds: tuple[type[cst.CSTNode], ...]) -> _Regions:
        found: list[tuple[int, tuple[int, int, int, int]]] = []
        for node in self._editor.tree.nodes:
            if not isinstance(node, kinds):
                continue
            if isinstance(node, _WithBody):
                start, end = self._header(node)
            else:
                start, end = self._editor.spans.inner(node)
            place = self._editor.place((start, end))
            above = place.line
            if isinstance(node, cst.FunctionDef | cst.ClassDef) and node.decorators:
                above = self._editor.line_of(node.decorators[0])
            found.append((start, (end, place.line, place.end_line, above)))
        found.sort()
        return [start for start, _ in found], [region for _, region in found]

    def _header(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return a compound statement, or a part of one, from its keyword to its colon."""
        spans = self._editor.spans
        start, end = spans.inner(node)
        if isinstance(node, cst.Match):
            # Its cases stand in no block of their own; the colon is on the line of the subject.
            return start, spans.outer(node.subject)[1]
        body = getattr(node, "body", None)
        return start, spans.outer(body)[0] if isinstance(body, cst.BaseSuite) else end


def _region_at(offset: int, regions: _Regions) -> tuple[int, int, int] | None:
    """Return the lines of the region that an offset is in."""
    starts, places = regions
    index = bisect.bisect_right(starts, offset) - 1
    if index < 0:
        return None
    end, first, last, above = places[index]
    return (first, last, above) if offset <= end else None


def _directive(
    match: re.Match[str], offset: int, group: str, selector: re.Pattern[str], *, is_noqa: bool
) -> Directive:
    """Return what a match in a comment says; `offset` is where the comment stands in the file."""
    if match[group] is None:
        return Directive(offset + match.start(), offset + match.end(), is_noqa, None)
    begin = offset + match.start(group)
    selectors = tuple(
        Selector(found[0], begin + found.start(), begin + found.end())
        for found in selector.finditer(match[group])
    )
    end = selectors[-1].end if is_noqa else offset + match.end()
    return Directive(offset + match.start(), end, is_noqa, selectors)
