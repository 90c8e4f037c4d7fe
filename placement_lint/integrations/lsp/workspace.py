"""What is open in the editor, and what it has set: everything that the analysis goes by."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lsprotocol.types import PositionEncodingKind

from placement_lint.files.discovery import SUFFIXES
from placement_lint.files.folders import may_be_read
from placement_lint.integrations.lsp.analysis import Snapshot
from placement_lint.integrations.lsp.settings import EditorSettings
from placement_lint.integrations.lsp.text_documents import Notebook, Text
from placement_lint.integrations.lsp.uris import path_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lsprotocol import types

_PYTHON = (".py", ".pyi")
_NOTEBOOK = ".ipynb"
_VIRTUAL = ".virtual_documents"


def _of_cells(path: str) -> str:
    """Return the path for the cells of a notebook as one text: a module beside the notebook.

    JupyterLab names such texts by a directory of their own, in which nothing is.
    """
    folder, name = os.path.split(path)
    parts = [part for part in folder.split(os.sep) if part != _VIRTUAL]
    return os.path.join(os.sep.join(parts), f"{name}.py")


class Workspace:
    """The open documents, at the versions that the editor has sent last."""

    def __init__(self) -> None:
        """Begin with nothing open."""
        self.encoding: str = PositionEncodingKind.Utf16
        self.roots: tuple[str, ...] = ()
        self.settings = EditorSettings()
        self.number = 0
        """Counts the changes of anything that is here."""
        self.surroundings = 0
        """Counts the changes of what files there are, and of their settings."""
        self._documents: dict[str, Text | Notebook] = {}
        self._paths: dict[str, str] = {}
        """Where documents and cells are, by address."""

    def snapshot(self) -> Snapshot:
        """Return everything as it is now."""
        documents = dict(self._documents)
        return Snapshot(self.number, documents, self.roots, self.settings, self.surroundings)

    @property
    def open(self) -> list[str]:
        """The paths of the documents."""
        return [*self._documents]

    def path_of(self, uri: str) -> str | None:
        """Return the path of an open document, or of the notebook that a cell is in."""
        return self._paths.get(uri)

    def changed(self) -> None:
        """Note that something is not what it was."""
        self.number += 1

    # -- documents --------------------------------------------------------------------------------

    def opened(self, document: types.TextDocumentItem) -> bool:
        """Take a document that was opened; tell whether it is one that is linted."""
        path = self._path(document.uri)
        is_python = document.language_id == "python" or path.endswith(_PYTHON)
        if path.endswith(_NOTEBOOK):
            # JupyterLab sends the cells of a notebook as one text, under the notebook's name.
            is_python = is_python and not document.text.lstrip().startswith("{")
            path = _of_cells(path)
        if not is_python:
            return False
        self._paths[document.uri] = path
        text = Text(
            document.uri, document.version, document.language_id, document.text, self.encoding
        )
        self._documents[path] = text
        self.changed()
        return True

    def edited(self, params: types.DidChangeTextDocumentParams) -> bool:
        """Take the changes of a document."""
        uri = params.text_document.uri
        path = self._paths.get(uri)
        document = None if path is None else self._documents.get(path)
        if path is None or not isinstance(document, Text):
            return False
        self._documents[path] = document.changed(
            params.text_document.version, params.content_changes
        )
        self.changed()
        return True

    def closed(self, uri: str) -> str | None:
        """Forget a document that was closed; give its path, if it was here."""
        path = self._paths.pop(uri, None)
        if path is not None:
            self._documents.pop(path, None)
            self.changed()
        return path

    # -- notebooks --------------------------------------------------------------------------------

    def notebook_opened(self, params: types.DidOpenNotebookDocumentParams) -> None:
        """Take a notebook with its cells."""
        notebook = params.notebook_document
        path = self._path(notebook.uri)
        if not path.endswith(_NOTEBOOK):
            path += _NOTEBOOK
        self._paths[notebook.uri] = path
        texts = self._texts(params.cell_text_documents, path)
        self._documents[path] = Notebook(
            notebook.uri, notebook.version, tuple(notebook.cells), texts
        )
        self.changed()

    def notebook_edited(self, params: types.DidChangeNotebookDocumentParams) -> list[str]:
        """Take the changes of a notebook; give the addresses of cells that are gone."""
        path = self._paths.get(params.notebook_document.uri)
        notebook = None if path is None else self._documents.get(path)
        if path is None or not isinstance(notebook, Notebook):
            return []
        cells, texts = notebook.cells, dict(notebook.texts)
        gone: list[str] = []
        change = params.change.cells
        if change is not None:
            if change.structure is not None:
                cells = notebook.restructured(change.structure.array)
                gone = [each.uri for each in change.structure.did_close or ()]
                for uri in gone:
                    texts.pop(uri, None)
                    self._paths.pop(uri, None)
                texts |= self._texts(change.structure.did_open or (), path)
            if change.data:
                new = {each.document: each for each in change.data}
                cells = tuple(new.get(each.document, each) for each in cells)
            for content in change.text_content or ():
                uri = content.document.uri
                if uri in texts:
                    texts[uri] = texts[uri].changed(content.document.version, content.changes)
        version = params.notebook_document.version
        self._documents[path] = Notebook(notebook.uri, version, cells, texts)
        self.changed()
        return gone

    def _texts(self, items: Iterable[types.TextDocumentItem], path: str) -> dict[str, Text]:
        texts = {}
        for each in items:
            self._paths[each.uri] = path
            texts[each.uri] = Text(
                each.uri, each.version, each.language_id, each.text, self.encoding
            )
        return texts

    def notebook_closed(self, params: types.DidCloseNotebookDocumentParams) -> str | None:
        """Forget a notebook and its cells."""
        for cell in params.cell_text_documents:
            self._paths.pop(cell.uri, None)
        return self.closed(params.notebook_document.uri)

    # -- surroundings -----------------------------------------------------------------------------

    def set_roots(self, uris: Iterable[str]) -> None:
        """Take the folders of the workspace."""
        paths = (path_of(uri) for uri in uris)
        self.roots = tuple(dict.fromkeys(path for path in paths if path is not None))
        self.changed()

    def set_settings(self, settings: EditorSettings) -> None:
        """Take what the editor has set."""
        self.settings = settings
        self.changed()

    def file_changed(self, path: str, *, in_number: bool) -> bool:
        """Note that a file has changed on the disk; tell whether that matters.

        `in_number`: it is new, or gone.
        """
        name = os.path.basename(path)
        is_source = name.endswith(SUFFIXES)
        if not is_source and not may_be_read(name):
            return False
        if in_number or not is_source:
            self.surroundings += 1
        self.changed()
        return True

    def _path(self, uri: str) -> str:
        """Return the path of a document; one that is in no file has a place of its own."""
        path = path_of(uri)
        if path is not None:
            return path
        name = uri.replace("/", "_").replace("\\", "_").replace(":", "_")
        return os.path.join(self.roots[0] if self.roots else os.getcwd(), name)
