"""What an editor offers to do about a finding: fix it, silence it, explain it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol.types import CodeAction, CodeActionKind, Command, Range

from placement_lint.findings import Applicability
from placement_lint.lint.fixes.finalize import in_own_cells
from placement_lint.lint.suppressions.add_noqa import comments_for
from placement_lint.lint.suppressions.comments import NEVER_SILENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lsprotocol.types import Diagnostic, Position

    from placement_lint.findings import Finding
    from placement_lint.integrations.lsp.diagnostics import DiagnosticConverter
    from placement_lint.integrations.lsp.workspace_edits import EditWriter
    from placement_lint.syntax.edits import Editor

FIX_ALL = f"{CodeActionKind.SourceFixAll.value}.placementLint"
EXPLAIN = "placement-lint.explain"
APPLY_ALL = "placement-lint.fixAll"
"""The command that does what FIX_ALL does, for editors that offer commands but no such actions."""
RULES = "placement-lint.rules"
"""The command that lists the rules, for editors that have the user choose one to explain."""


def wants(only: Sequence[str] | None, kind: str) -> bool:
    """Return whether an editor asks for actions of a kind: for it, or for one that it is a part of.

    One that asks for nothing in particular wants what fixes one thing, and what fixes all.
    """
    if only is None:
        return True
    kinds = [getattr(each, "value", each) for each in only]
    return any(not each or kind == each or kind.startswith(f"{each}.") for each in kinds)


class CodeActions:
    """The actions for the findings of one document."""

    def __init__(
        self, converter: DiagnosticConverter, writer: EditWriter, editor: Editor | None
    ) -> None:
        """Take how edits are written, and the parsed document, if it can be parsed."""
        self._converter = converter
        self._writer = writer
        self._editor = editor

    def about(
        self, path: str, uri: str, place: Range, fixed: Sequence[Finding]
    ) -> Iterator[CodeAction]:
        """Return what can be done about the findings that touch a stretch of a document.

        `fixed` are the findings of the file with their fixes.
        """
        touched = [*self._touching(path, uri, place, fixed)]
        seen: set[tuple[str, object]] = set()
        for finding, diagnostic in touched:
            action = self._mend(finding, diagnostic)
            if action is not None and (action.title, repr(action.edit)) not in seen:
                seen.add((action.title, repr(action.edit)))
                yield action
        for finding, diagnostic in touched:
            action = self._silence(finding, diagnostic)
            if action is not None and (action.title, repr(action.edit)) not in seen:
                seen.add((action.title, repr(action.edit)))
                yield action
        codes = {finding.code: diagnostic for finding, diagnostic in touched}
        for code, diagnostic in codes.items():
            title = f"Explain {code}"
            yield CodeAction(
                title=title,
                kind=CodeActionKind.QuickFix,
                diagnostics=[diagnostic],
                command=Command(title, EXPLAIN, arguments=[code]),
            )

    def touches(self, path: str, uri: str, place: Range) -> bool:
        """Return whether a finding touches a stretch of a document."""
        found = self._converter.seen.findings.get(path, ())
        return any(True for _ in self._touching(path, uri, place, found))

    def _touching(
        self, path: str, uri: str, place: Range, fixed: Sequence[Finding]
    ) -> Iterator[tuple[Finding, Diagnostic]]:
        for finding, its in zip(self._converter.seen.findings.get(path, ()), fixed, strict=True):
            where = self._converter.document(path, finding.cell)
            if where is not None and where[0] == uri:
                diagnostic = self._converter.diagnostic(finding, where[1])
                if touch(diagnostic.range, place):
                    yield its, diagnostic

    def _mend(self, finding: Finding, diagnostic: Diagnostic) -> CodeAction | None:
        fix = finding.fix
        if fix is None or not fix.edits or fix.applicability is Applicability.DISPLAY:
            return None
        edit = self._writer.workspace_edit(fix.edits)
        if edit is None:
            return None
        is_safe = fix.applicability is Applicability.SAFE
        return CodeAction(
            title=f"{fix.message} ({finding.code}{'' if is_safe else ', unsafe'})",
            kind=CodeActionKind.QuickFix,
            diagnostics=[diagnostic],
            is_preferred=True if is_safe else None,
            edit=edit,
        )

    def _silence(self, finding: Finding, diagnostic: Diagnostic) -> CodeAction | None:
        editor = self._editor
        if editor is None or finding.code in NEVER_SILENT:
            return None
        placed = in_own_cells(comments_for([finding], editor), editor)
        edit = self._writer.workspace_edit(placed) if placed else None
        if edit is None:
            return None
        return CodeAction(
            title=f"Suppress {finding.code} here",
            kind=CodeActionKind.QuickFix,
            diagnostics=[diagnostic],
            edit=edit,
        )


def has_safe_fix(findings: Iterable[Finding]) -> bool:
    """Return whether a finding has a safe fix."""
    fixes = [finding.fix for finding in findings]
    return any(fix is not None and fix.applicability is Applicability.SAFE for fix in fixes)


def touch(one: Range, other: Range) -> bool:
    """Return whether two stretches have a place in common, if only where one ends."""
    start = max(_place(one.start), _place(other.start))
    return start <= min(_place(one.end), _place(other.end))


def _place(position: Position) -> tuple[int, int]:
    return position.line, position.character
