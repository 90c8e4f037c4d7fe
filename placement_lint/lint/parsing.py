"""What can be parsed of a source, where LibCST does not get through all of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from placement_lint.files.magics import commented_out
from placement_lint.files.source import Source
from placement_lint.lint.file_results import FileResult, syntax_finding
from placement_lint.syntax.annotated import without_parentheses
from placement_lint.syntax.parse import ParsedFile, Unparsable, parse

if TYPE_CHECKING:
    from placement_lint.files.source import Cell
    from placement_lint.files.store import FileStore
    from placement_lint.findings import Finding


@dataclass(frozen=True)
class Parsed:
    """A module, and the text that it is of."""

    source: Source
    """The source, in whose text something may stand in for what cannot be parsed."""
    file: ParsedFile
    broken: tuple[Finding, ...] = ()
    """What cannot be parsed in the cells of a notebook of which nothing is in the text."""


def parsed_or_reported(source: Source, store: FileStore | None) -> ParsedFile | FileResult:
    """Parse a source, whole; where that cannot be done, return its JDP901 finding.

    Needs `run_deep`.
    """
    parsed = parse(source, store, is_lean=False)
    return reported(source, parsed) if isinstance(parsed, Unparsable) else parsed


def reported(source: Source, unparsable: Unparsable) -> FileResult:
    """Return the JDP901 finding that says why a source cannot be parsed."""
    return FileResult((syntax_finding(source, unparsable),))


def parse_what_can_be(
    source: Source, store: FileStore, *, is_lean: bool = True
) -> Parsed | FileResult:
    """Parse a source; where that cannot be done, give its JDP901 finding. Needs `run_deep`.

    Of a notebook, each cell that is broken is left out: the others are still a program. `is_lean`:
    see `parse`.
    """
    parsed = parse(source, store, is_lean=is_lean)
    if not isinstance(parsed, Unparsable):
        return Parsed(source, parsed)
    if not source.cells:
        # What is too deep was not parsed at all; to read so much of it again would take as long.
        text = None if parsed.is_too_deep else without_parentheses(source.text)
        again = (
            parsed if text is None else parse(_standing_in(source, text), store, is_lean=is_lean)
        )
        if text is None or isinstance(again, Unparsable):
            return reported(source, parsed)
        return Parsed(_standing_in(source, text), again)
    texts: list[str] = []
    broken: list[Finding] = []
    for cell in source.cells:
        text = source.text[slice(*source.cell_offsets(cell))]
        plain = without_parentheses(text) or text
        finding = _broken_cell(source, cell, plain, store)
        broken += [] if finding is None else [finding]
        texts.append(plain if finding is None else commented_out(text))
    without_broken = _standing_in(source, "".join(texts))
    again = parse(without_broken, store, is_lean=is_lean)
    # Cells may go on in one another, so that each is broken and all of them together are not.
    if isinstance(again, Unparsable):
        return reported(source, parsed)
    return Parsed(without_broken, again, tuple(broken))


def _standing_in(source: Source, text: str) -> Source:
    return replace(source, text=text, as_written=source.content)


def _broken_cell(source: Source, cell: Cell, text: str, store: FileStore) -> Finding | None:
    """Return what is wrong with a cell, if it cannot be parsed by itself."""
    # Under a name of its own: what is kept of the notebook as a whole is not for its cells.
    alone = Source(f"{source.path}:{cell.number}", text)
    parsed = parse(alone, store)
    if not isinstance(parsed, Unparsable):
        return None
    return replace(syntax_finding(alone, parsed), path=source.path, cell=cell.number)
