"""Findings as the diagnostics of documents."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING

from lsprotocol.types import (
    CodeDescription,
    Diagnostic,
    DiagnosticRelatedInformation,
    DiagnosticSeverity,
    DiagnosticTag,
    Location,
    Position,
    Range,
)

from placement_lint.files.store import FileStore
from placement_lint.findings import Severity
from placement_lint.integrations.lsp.positions import Places
from placement_lint.integrations.lsp.text_documents import Notebook, Text
from placement_lint.integrations.lsp.uris import uri_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from placement_lint.findings import Finding, Related
    from placement_lint.integrations.lsp.analysis import Snapshot, SnapshotResult
    from placement_lint.integrations.lsp.projects import Problem
    from placement_lint.lint.lookup import Revealed

SOURCE = "placement-lint"
_SEVERITIES = {
    Severity.ERROR: DiagnosticSeverity.Error,
    Severity.WARNING: DiagnosticSeverity.Warning,
    Severity.INFO: DiagnosticSeverity.Information,
}
_TAGS = {
    "JDP602": [DiagnosticTag.Deprecated],
    "JDP902": [DiagnosticTag.Unnecessary],
}


class DiagnosticConverter:
    """Writes the findings of one snapshot as diagnostics."""

    def __init__(
        self,
        seen: SnapshotResult,
        encoding: str,
        *,
        related: bool,
        link: Callable[[str], str | None] | None = None,
    ) -> None:
        """Take what was found, and whether the editor shows related places.

        `link` gives the URL of the page of a rule; None where the editor makes no use of it.
        """
        self.seen = seen
        self._link = link
        self._encoding = encoding
        self._related = related
        self._files = FileStore()
        self._places: dict[str, Places] = {}

    def of(self, path: str) -> dict[str, list[Diagnostic]]:
        """Return the diagnostics of a file, by the address of the document: of each cell's, too."""
        snapshot = self.seen.snapshot
        document = snapshot.documents.get(path)
        if isinstance(document, Notebook):
            by_uri: dict[str, list[Diagnostic]] = {uri: [] for uri in document.texts}
        else:
            by_uri = {address(snapshot, path): []}
        for finding in self.seen.findings.get(path, ()):
            where = self.document(path, finding.cell)
            if where is not None:
                uri, places = where
                by_uri.setdefault(uri, []).append(self.diagnostic(finding, places))
        for each in self.seen.revealed.get(path, ()):
            where = self.document(path, None)
            if where is not None:
                uri, places = where
                by_uri[uri].append(_revealed(each, places))
        return by_uri

    def document(self, path: str, cell: int | None) -> tuple[str, Places] | None:
        """Return the address of a file, or of a cell of a notebook, and where its lines are."""
        snapshot = self.seen.snapshot
        document = snapshot.documents.get(path)
        if isinstance(document, Notebook):
            text = None if cell is None else document.text_of(cell)
            if text is None:
                # Of the notebook as a whole: it is said at its first cell.
                text = next(iter(document.texts.values()), None)
            return None if text is None else (text.uri, text.places)
        if isinstance(document, Text):
            return document.uri, document.places
        return uri_of(path), self._on_disk(path)

    def _on_disk(self, path: str) -> Places:
        if path not in self._places:
            source = self._files.source_if_readable(path)
            text = "" if source is None else source.text
            self._places[path] = Places(text, self._encoding)
        return self._places[path]

    def diagnostic(self, finding: Finding, places: Places) -> Diagnostic:
        """Return the diagnostic of one finding."""
        message = finding.message
        shown: list[DiagnosticRelatedInformation] = []
        for each in finding.related:
            where = self._location(each) if self._related else None
            if where is not None:
                shown.append(where)
                continue
            inside = "" if each.cell is None else f"cell {each.cell}:"
            place = f"{short(each.path, self.seen.snapshot)}:{inside}{each.span.line}"
            message += f"\n{each.message}: {place}"
        return Diagnostic(
            range=places.range(finding.span),
            message=message,
            severity=_SEVERITIES[finding.severity],
            code=finding.code,
            code_description=self._description(finding.code),
            source=SOURCE,
            tags=_TAGS.get(finding.code),
            related_information=shown or None,
            data=_data(finding),
        )

    def _description(self, code: str) -> CodeDescription | None:
        url = None if self._link is None else self._link(code)
        return None if url is None else CodeDescription(url)

    def _location(self, related: Related) -> DiagnosticRelatedInformation | None:
        is_open = related.path in self.seen.snapshot.documents
        if related.cell is not None and not is_open:
            # A cell has an address only in an editor that has the notebook open.
            return None
        where = self.document(related.path, related.cell)
        if where is None:
            return None
        uri, places = where
        location = Location(uri, places.range(related.span))
        return DiagnosticRelatedInformation(location, related.message)


def address(snapshot: Snapshot, path: str) -> str:
    """Return the address of a file as the editor writes it, if it is open."""
    document = snapshot.documents.get(path)
    return uri_of(path) if document is None else document.uri


def short(path: str, snapshot: Snapshot) -> str:
    """Return a path for the reader: from the folder of the workspace that it is in."""
    from placement_lint.integrations.lsp.analysis import is_inside

    roots = [root for root in snapshot.roots if is_inside(path, root)]
    return os.path.relpath(path, max(roots, key=len)) if roots else path


def digest(diagnostics: Iterable[Diagnostic]) -> str:
    """Return what stands for diagnostics: the same for the same."""
    parts = [
        [
            *(each.range.start.line, each.range.start.character),
            *(each.range.end.line, each.range.end.character),
            *(each.code, each.message, repr(each.related_information), repr(each.data)),
        ]
        for each in diagnostics
    ]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).hexdigest()


def of_problem(problem: Problem) -> Diagnostic:
    """Return the diagnostic of settings that cannot be used."""
    line = problem.line - 1
    return Diagnostic(
        range=Range(Position(line, problem.column - 1), Position(line + 1, 0)),
        message=problem.message,
        severity=DiagnosticSeverity.Error,
        code="settings",
        source=SOURCE,
    )


def _data(finding: Finding) -> dict[str, object]:
    # Not what fixes it: to work that out for each change may take as long as to find it.
    return {
        "name": finding.name,
        "confidence": finding.confidence.value,
        "help": finding.advice or None,
    }


def _revealed(each: Revealed, places: Places) -> Diagnostic:
    start = places.position(each.line, each.column)
    end = places.position(each.line, each.column + len(each.name))
    return Diagnostic(
        range=Range(start, end),
        message=f"`{each.name}` is {each.description}",
        severity=DiagnosticSeverity.Information,
        code="reveal",
        source=SOURCE,
    )
