"""Edits of findings as the edits of an editor."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lsprotocol.types import (
    OptionalVersionedTextDocumentIdentifier,
    TextDocumentEdit,
    TextEdit,
    WorkspaceEdit,
)

from placement_lint.files.opening import open_source
from placement_lint.integrations.lsp.text_documents import Notebook

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.findings import Edit
    from placement_lint.integrations.lsp.diagnostics import DiagnosticConverter
    from placement_lint.integrations.lsp.positions import Places
    from placement_lint.lint.tasks import Change

_MARK = "\ufeff"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class EditWriter:
    """Writes edits of the files of one snapshot."""

    def __init__(self, converter: DiagnosticConverter, *, versioned: bool) -> None:
        """Take where the documents are, and whether the editor looks at their versions."""
        self._converter = converter
        self._versioned = versioned

    def workspace_edit(self, edits: Iterable[Edit]) -> WorkspaceEdit | None:
        """Return edits that are made all or none; None where one is in what cannot be found."""
        by_uri: dict[str, list[TextEdit]] = {}
        for edit in edits:
            where = self._converter.document(edit.path, edit.cell)
            if where is None:
                return None
            uri, places = where
            by_uri.setdefault(uri, []).append(TextEdit(places.range(edit.span), edit.text))
        return self._written(by_uri)

    def of_changes(self, changes: Iterable[Change]) -> WorkspaceEdit | None:
        """Return what makes of files what fixes have made of them."""
        by_uri: dict[str, list[TextEdit]] = {}
        for change in changes:
            path = change.file.path
            document = self._converter.seen.snapshot.documents.get(path)
            if isinstance(document, Notebook):
                after = open_source(path, change.after).cell_texts
                for number, text in after.items():
                    cell = document.text_of(number)
                    if cell is not None:
                        # What reads a notebook ends each cell's last line.
                        ended = cell.text.endswith(("\n", "\r"))
                        edit = least(cell.places, text if ended else text[:-1])
                        by_uri |= {} if edit is None else {cell.uri: [edit]}
                continue
            where = self._converter.document(path, None)
            if where is None:
                return None
            uri, places = where
            has_mark = places.text.startswith(_MARK)
            before, after_it = (
                text if has_mark else text.removeprefix(_MARK)
                for text in (change.file.before, change.file.after)
            )
            if before != places.text:
                # Its encoding cannot hold all of it, or it was written in the meantime.
                return None
            edit = least(places, after_it)
            by_uri |= {} if edit is None else {uri: [edit]}
        return self._written(by_uri)

    def _written(self, by_uri: dict[str, list[TextEdit]]) -> WorkspaceEdit:
        if not self._versioned:
            return WorkspaceEdit(changes=by_uri)
        return WorkspaceEdit(
            document_changes=[
                TextDocumentEdit(
                    OptionalVersionedTextDocumentIdentifier(uri, self._version(uri)),
                    list(edits),
                )
                for uri, edits in by_uri.items()
            ]
        )

    def _version(self, uri: str) -> int | None:
        for document in self._converter.seen.snapshot.documents.values():
            if isinstance(document, Notebook):
                if uri in document.texts:
                    return document.texts[uri].version
            elif document.uri == uri:
                return document.version
        return None


def least(places: Places, after: str) -> TextEdit | None:
    """Return the edit of as few lines as possible that makes one text of another."""
    before = places.text
    if before == after:
        return None
    old, new = _lines(before), _lines(after)
    most = min(len(old), len(new))
    first = next((at for at in range(most) if old[at] != new[at]), most)
    most -= first
    last = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    start = sum(map(len, old[:first]))
    end = len(before) - sum(map(len, old[len(old) - last :]))
    text = after[sum(map(len, new[:first])) : len(after) - sum(map(len, new[len(new) - last :]))]
    return TextEdit(places.stretch(start, end), text)


def _lines(text: str) -> list[str]:
    return _LINE.findall(text)
