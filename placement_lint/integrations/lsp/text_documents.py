"""The documents that are open in the editor, with the changes that nobody has saved yet."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from lsprotocol.types import (
    NotebookCell,
    NotebookCellKind,
    PositionEncodingKind,
    TextDocumentContentChangePartial,
)

from placement_lint.files.source import declared_encoding
from placement_lint.integrations.lsp.positions import Places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lsprotocol.types import NotebookCellArrayChange, TextDocumentContentChangeEvent

_PYTHON = frozenset({"python", "ipython"})


@dataclass(frozen=True)
class Text:
    """The text of a document, or of a cell, at one version."""

    uri: str
    version: int | None
    language: str
    text: str
    encoding: str = PositionEncodingKind.Utf16

    @cached_property
    def places(self) -> Places:
        """Where its lines are."""
        return Places(self.text, self.encoding)

    def changed(self, version: int, changes: Sequence[TextDocumentContentChangeEvent]) -> Text:
        """Return it after changes, each of which applies to the text that the last one left."""
        text = self.text
        for change in changes:
            if isinstance(change, TextDocumentContentChangePartial):
                places = Places(text, self.encoding)
                start, end = places.offset(change.range.start), places.offset(change.range.end)
                text = text[:start] + change.text + text[max(start, end) :]
            else:
                text = change.text
        return Text(self.uri, version, self.language, text, self.encoding)

    @cached_property
    def data(self) -> bytes:
        """What the file would hold: in the encoding that its first lines declare."""
        data = self.text.encode("utf-8", "replace")
        try:
            encoding = declared_encoding(data)
            if encoding == "utf-8-sig":
                return data
            # One character for one, so that every column stays where it is.
            return self.text.encode(encoding, "replace")
        except (SyntaxError, LookupError, UnicodeError):
            # Such a file cannot be read, and it is a finding that says so.
            return data


@dataclass(frozen=True)
class Notebook:
    """A notebook: its cells, in order, each with a text of its own."""

    uri: str
    version: int
    cells: tuple[NotebookCell, ...]
    texts: dict[str, Text] = field(default_factory=dict)
    """By the addresses of cells."""

    def text_of(self, number: int) -> Text | None:
        """Return the text of a cell by its number, from 1."""
        if not 0 < number <= len(self.cells):
            return None
        return self.texts.get(self.cells[number - 1].document)

    def number_of(self, uri: str) -> int | None:
        """Return the number of a cell by its address."""
        found = (number for number, cell in enumerate(self.cells, 1) if cell.document == uri)
        return next(found, None)

    def restructured(self, change: NotebookCellArrayChange) -> tuple[NotebookCell, ...]:
        """Return the cells after some were put in, moved or taken out."""
        cells = list(self.cells)
        cells[change.start : change.start + change.delete_count] = change.cells or ()
        return tuple(cells)

    @cached_property
    def data(self) -> bytes:
        """A file of such a notebook: with its code, in its order, and nothing else."""
        return json.dumps(
            {
                "cells": [self._cell(cell) for cell in self.cells],
                "metadata": {"language_info": {"name": "python"}},
                "nbformat": 4,
                "nbformat_minor": 5,
            }
        ).encode()

    def _cell(self, cell: NotebookCell) -> dict[str, object]:
        text = self.texts.get(cell.document)
        if cell.kind is NotebookCellKind.Code and text is not None and text.language in _PYTHON:
            code = {"cell_type": "code", "metadata": {}, "source": text.text}
            return {**code, "execution_count": None, "outputs": []}
        return {"cell_type": "raw", "metadata": {}, "source": ""}
