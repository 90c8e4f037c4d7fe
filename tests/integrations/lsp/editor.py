"""An editor without a screen: pygls' own client, speaking to the real server in its own process."""

from __future__ import annotations

import asyncio
import functools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from placement_lint.integrations.lsp.uris import uri_of
from tests import warm

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from typing_extensions import Self

TOP = Path(__file__).parents[3]
COMMAND = (sys.executable, "-m", "placement_lint", "server")
PATIENCE = 240


def environment() -> dict[str, str]:
    """Give the environment of a server that is this checkout's."""
    return {**os.environ, "PYTHONPATH": str(TOP)}


def conversation(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make a test of one that waits for answers."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        async def talk() -> None:
            await asyncio.wait_for(test(*args, **kwargs), PATIENCE)

        asyncio.run(talk())

    return run


class Editor:
    """One editor with one server: `async with Editor(folder) as editor`."""

    def __init__(
        self,
        *roots: Path,
        options: object = None,
        pulls: bool = False,
        encodings: list[types.PositionEncodingKind] | None = None,
        settings: object = None,
        related: bool = True,
        links: bool = True,
        environment: dict[str, str] | None = None,
        **capabilities: Any,
    ) -> None:
        self.client: Any = LanguageClient("an editor", "1")
        self.roots = roots
        self.options = options
        self.pulls = pulls
        self.encodings = encodings
        self.settings = settings
        self.related = related
        self.links = links
        self.environment = environment
        self.capabilities = capabilities
        self.published: dict[str, types.PublishDiagnosticsParams] = {}
        self.publications: list[types.PublishDiagnosticsParams] = []
        self.messages: list[str] = []
        self.applied: list[types.WorkspaceEdit] = []
        self.shown: list[str] = []
        self.refreshes = 0
        self.registered: list[str] = []
        self.server: types.ServerCapabilities = types.ServerCapabilities()
        self._news = asyncio.Condition()
        self._versions: dict[str, int] = {}
        self._texts: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        self._listen()
        around = self.environment or environment()
        where: dict[str, Any] = {"cwd": self.roots[0] if self.roots else None, "env": around}
        line = warm.command("placement_lint", "server", environment=around)
        await self.client.start_io(*line, **where)
        answer = await self.client.initialize_async(
            types.InitializeParams(
                capabilities=self._capabilities(),
                process_id=os.getpid(),
                workspace_folders=[
                    types.WorkspaceFolder(uri_of(str(root)), root.name) for root in self.roots
                ],
                initialization_options=self.options,
            )
        )
        self.server = answer.capabilities
        self.client.initialized(types.InitializedParams())
        return self

    async def __aexit__(self, *_: object) -> None:
        process = self.client._server
        assert process is not None
        if process.returncode is None:
            await self.client.shutdown_async(None)
            self.client.exit(None)
        await asyncio.wait_for(process.wait(), 60)
        stop: Any = self.client.stop
        await stop()
        # The transport is closed a turn of the loop later.
        await asyncio.sleep(0)

    @property
    def process(self) -> asyncio.subprocess.Process:
        process: asyncio.subprocess.Process | None = self.client._server
        assert process is not None
        return process

    def _capabilities(self) -> types.ClientCapabilities:
        diagnostics = types.PublishDiagnosticsClientCapabilities(
            related_information=self.related, code_description_support=self.links
        )
        text = types.TextDocumentClientCapabilities(publish_diagnostics=diagnostics)
        workspace = types.WorkspaceClientCapabilities(
            workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
            configuration=self.settings is not None,
        )
        if self.pulls:
            text.diagnostic = types.DiagnosticClientCapabilities()
            workspace.diagnostics = types.DiagnosticWorkspaceClientCapabilities(True)
        general = types.GeneralClientCapabilities(position_encodings=self.encodings)
        known = types.ClientCapabilities(
            text_document=text,
            workspace=workspace,
            general=general,
            notebook_document=types.NotebookDocumentClientCapabilities(
                types.NotebookDocumentSyncClientCapabilities()
            ),
        )
        for name, value in self.capabilities.items():
            setattr(known, name, value)
        return known

    def _listen(self) -> None:
        client = self.client

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        async def publish(params: types.PublishDiagnosticsParams) -> None:
            self.published[params.uri] = params
            self.publications.append(params)
            await self._tell()

        @client.feature(types.WINDOW_SHOW_MESSAGE)
        async def show_message(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)
            await self._tell()

        @client.feature(types.WINDOW_SHOW_DOCUMENT)
        async def show_document(params: types.ShowDocumentParams) -> types.ShowDocumentResult:
            self.shown.append(params.uri)
            return types.ShowDocumentResult(True)

        @client.feature(types.WORKSPACE_APPLY_EDIT)
        async def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            self.applied.append(params.edit)
            return types.ApplyWorkspaceEditResult(True)

        @client.feature(types.WORKSPACE_DIAGNOSTIC_REFRESH)
        async def refresh(params: None) -> None:
            self.refreshes += 1
            await self._tell()

        @client.feature(types.CLIENT_REGISTER_CAPABILITY)
        async def register(params: types.RegistrationParams) -> None:
            self.registered += [each.method for each in params.registrations]
            await self._tell()

        @client.feature(types.WORKSPACE_CONFIGURATION)
        async def configuration(params: types.ConfigurationParams) -> list[object]:
            return [self.settings for _ in params.items]

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait until something has happened."""
        async with self._news:
            await asyncio.wait_for(self._news.wait_for(happened), PATIENCE / 2)

    # -- documents ------------------------------------------------------------------------------

    def open(self, path: Path | str, text: str | None = None) -> str:
        """Open a file, or a document that is in none; give its address."""
        uri = path if isinstance(path, str) else uri_of(str(path))
        if text is None:
            assert isinstance(path, Path)
            text = path.read_bytes().decode()
        self._versions[uri], self._texts[uri] = 1, text
        item = types.TextDocumentItem(uri, "python", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def change(self, uri: str, *changes: types.TextDocumentContentChangeEvent) -> int:
        """Send changes; give the version of the document after them."""
        self._versions[uri] += 1
        document = types.VersionedTextDocumentIdentifier(self._versions[uri], uri)
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(document, list(changes))
        )
        return self._versions[uri]

    def write(self, uri: str, text: str) -> int:
        """Make another text of a whole document."""
        self._texts[uri] = text
        return self.change(uri, types.TextDocumentContentChangeWholeDocument(text))

    def replace(self, uri: str, old: str, new: str) -> int:
        """Make another text of a document, sent as a whole."""
        assert old in self._texts[uri]
        return self.write(uri, self._texts[uri].replace(old, new))

    def text(self, uri: str) -> str:
        """Give the text that the server was told."""
        return self._texts[uri]

    def close(self, uri: str) -> None:
        """Close a document."""
        self.client.text_document_did_close(
            types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
        )

    def save(self, path: Path, text: str) -> None:
        """Write a file, and say that it was saved."""
        path.write_text(text, encoding="utf-8")
        self.client.text_document_did_save(
            types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri_of(str(path))))
        )

    async def diagnostics(self, uri: str, version: int | None = 1) -> list[types.Diagnostic]:
        """Wait for the diagnostics of a version of a document."""
        await self.until(lambda: uri in self.published and self.published[uri].version == version)
        return list(self.published[uri].diagnostics)

    async def codes(self, uri: str, version: int | None = 1) -> list[tuple[str, int]]:
        """Wait for the diagnostics of a version of a document: their codes and lines, from 1."""
        return codes(await self.diagnostics(uri, version))

    async def pull(self, uri: str, before: str | None = None) -> Any:
        """Ask for the diagnostics of a document."""
        return await self.client.text_document_diagnostic_async(
            types.DocumentDiagnosticParams(
                types.TextDocumentIdentifier(uri), previous_result_id=before
            )
        )

    # -- requests -------------------------------------------------------------------------------

    async def actions(
        self, uri: str, line: int, *only: str, characters: tuple[int, int] = (0, 200)
    ) -> list[Any]:
        """Ask what can be done about a line, counted from 1."""
        first, last = characters
        place = types.Range(types.Position(line - 1, first), types.Position(line - 1, last))
        found = await self.client.text_document_code_action_async(
            types.CodeActionParams(
                types.TextDocumentIdentifier(uri),
                place,
                types.CodeActionContext([], only=list(only) or None),
            )
        )
        return list(found or ())

    async def hover(self, uri: str, line: int, character: int) -> str:
        """Point at a place, the line counted from 1, the character from 0."""
        found = await self.client.text_document_hover_async(
            types.HoverParams(
                types.TextDocumentIdentifier(uri), types.Position(line - 1, character)
            )
        )
        if found is None:
            return ""
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value

    async def hints(self, uri: str) -> list[tuple[int, str]]:
        """Ask for the inlay hints of a document: lines, from 1, and labels."""
        found = await self.client.text_document_inlay_hint_async(
            types.InlayHintParams(
                types.TextDocumentIdentifier(uri),
                types.Range(types.Position(0, 0), types.Position(1000, 0)),
            )
        )
        return [(hint.position.line + 1, str(hint.label)) for hint in found or ()]


def codes(diagnostics: Any) -> list[tuple[str, int]]:
    """Give the codes of diagnostics, with their lines from 1."""
    return [(each.code, each.range.start.line + 1) for each in diagnostics]


def edits_of(edit: Any) -> dict[str, list[Any]]:
    """Give the edits of a workspace edit, by document."""
    assert edit is not None
    if edit.document_changes is not None:
        return {each.text_document.uri: list(each.edits) for each in edit.document_changes}
    return {uri: list(edits) for uri, edits in (edit.changes or {}).items()}


def applied(text: str, edits: list[Any]) -> str:
    """Make edits in a text as an editor does: by UTF-16, all in the text as it was."""
    data = text.encode("utf-16-le")
    starts = [0]
    for index in range(0, len(data), 2):
        is_feed = data[index : index + 2] == b"\n\0"
        is_return = data[index : index + 2] == b"\r\0"
        if is_feed or (is_return and data[index + 2 : index + 4] != b"\n\0"):
            starts.append(index + 2)

    def offset(place: types.Position) -> int:
        return starts[place.line] + 2 * place.character

    pieces = sorted(
        (offset(each.range.start), offset(each.range.end), number, each.new_text)
        for number, each in enumerate(edits)
    )
    for start, end, _, new in reversed(pieces):
        data = data[:start] + new.encode("utf-16-le") + data[end:]
    return data.decode("utf-16-le")
