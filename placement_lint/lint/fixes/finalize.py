"""From the plan of a fix to the fix that is offered: what no rule has to think of by itself.

Whatever a rule wants to write, no comment may be lost by it or said twice, what stands in an
f-string must be possible there on every Python, and a cell of a notebook must stand by itself.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from placement_lint.config.line_length import DEFAULT
from placement_lint.files.line_ends import with_line_feeds
from placement_lint.findings import Fix
from placement_lint.syntax.code_text import strings_and_comments
from placement_lint.syntax.edits import offsets
from placement_lint.syntax.imports import import_edits
from placement_lint.syntax.wrapping import within

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from placement_lint.findings import Edit
    from placement_lint.lint.fixes.notebook_cells import Cells
    from placement_lint.project.target import ProjectMetadata
    from placement_lint.rules.base import FixPlan
    from placement_lint.syntax.edits import Editor


def offer(plan: FixPlan | None, editor: Editor, metadata: ProjectMetadata) -> Fix | None:
    """Work out a fix, or the next best one where the text does not allow it."""
    while plan is not None:
        edits = plan.build(editor)
        if edits:
            needed = import_edits(plan.imports, editor)
            edits = None if needed is None else _wrapped([*needed, *edits], editor, metadata)
        placed = None if not edits else allowed(edits, editor)
        if placed:
            return Fix(plan.applicability, plan.message, tuple(placed), plan.group)
        plan = plan.otherwise
    return None


def _wrapped(edits: Sequence[Edit], editor: Editor, metadata: ProjectMetadata) -> list[Edit]:
    """Split the lines that become too long for the project, or for a file that is formatted."""
    return [
        edit
        for own, there in _by_file(edits, editor.of)
        for edit in within(own, there, _limit(there, metadata))
    ]


def _limit(editor: Editor, metadata: ProjectMetadata) -> int:
    limit = metadata.line_length(editor.source.path)
    if limit is not None:
        return limit
    return DEFAULT if editor.widest_line <= DEFAULT else sys.maxsize


def allowed(edits: Sequence[Edit], editor: Editor) -> list[Edit] | None:
    """Return edits as they are to be made; None where they must not be made at all."""
    kept: list[Edit] = []
    for own, there in _by_file(edits, editor.of):
        if not _keeps_comments(own, there) or not _fits_strings(own, there):
            return None
        of_cells = in_own_cells(own, there)
        if of_cells is None:
            return None
        kept += of_cells
    return kept


def placed(fix: Fix, editor: Editor) -> Fix | None:
    """Assign the edits of a fix to cells, in notebooks; None if it cannot be made there."""
    edits = in_own_cells(fix.edits, editor)
    return None if edits is None else replace(fix, edits=tuple(edits))


def in_own_cells(edits: Sequence[Edit], editor: Editor) -> list[Edit] | None:
    """Assign the edits of one file to its cells, if it has cells; None if they break one."""
    if editor.source.cells:
        return _cells_of(editor).split(edits)
    if editor.has_cells:
        return list(edits) if _cells_of(editor).keep(edits) else None
    if editor.source.as_written is None:
        return list(edits)
    from placement_lint.lint.fixes.notebook_cells import touches_stand_in

    is_touched = any(touches_stand_in(editor.source, edit) for edit in edits)
    return None if is_touched else list(edits)


def _cells_of(editor: Editor) -> Cells:
    """Return the cells of a file, the same ones for each of its fixes."""
    from placement_lint.lint.fixes.notebook_cells import Cells

    return editor.derived(Cells)


def _by_file(
    edits: Sequence[Edit], editor_of: Callable[[str], Editor]
) -> list[tuple[list[Edit], Editor]]:
    by_path: dict[str, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.path, []).append(edit)
    return [(own, editor_of(path)) for path, own in by_path.items()]


# -- comments ---------------------------------------------------------------------------------


def _keeps_comments(edits: Sequence[Edit], editor: Editor) -> bool:
    """Return whether the comments in what is replaced are those in what replaces it, in order."""
    source = editor.source
    before: list[str] = []
    after: list[str] = []
    for edit in sorted(dict.fromkeys(edits), key=lambda edit: offsets(source, edit)):
        start, end = offsets(source, edit)
        if start < end and editor.has_comment((start, end)):
            before += [
                source.text[first:last]
                for first, last in editor.spans.comments
                if start <= first and last <= end
            ]
        after += comments(edit.text)
    return before == after


def comments(text: str) -> list[str]:
    """Return the comments in a piece of Python that begins and ends outside of strings."""
    text = with_line_feeds(text)
    return [text[start:end] for start, end, _ in strings_and_comments(text) if text[start] == "#"]


# -- f-strings --------------------------------------------------------------------------------


def _fits_strings(edits: Sequence[Edit], editor: Editor) -> bool:
    """Return whether what is written into an f-string can stand in one before Python 3.12."""
    for edit in edits:
        start, end = offsets(editor.source, edit)
        for first, last, quote in editor.formatted_strings:
            if not first < start <= end < last:
                continue
            if quote in edit.text or "\\" in edit.text or comments(edit.text):
                return False
            if len(quote) == 1 and ("\n" in edit.text or "\r" in edit.text):
                return False
    return True
