"""The language server: what the editor says, and what it is answered."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from placement_lint.config.values import SettingsError
from placement_lint.files.store import FileStore
from placement_lint.integrations.lsp import hover, parent_process
from placement_lint.integrations.lsp.capabilities import EditorCapabilities
from placement_lint.integrations.lsp.code_actions import (
    APPLY_ALL,
    EXPLAIN,
    FIX_ALL,
    RULES,
    CodeActions,
    has_safe_fix,
    touch,
    wants,
)
from placement_lint.integrations.lsp.diagnostics import DiagnosticConverter
from placement_lint.integrations.lsp.protocol import Protocol
from placement_lint.integrations.lsp.publish import Publisher, every
from placement_lint.integrations.lsp.rule_pages import RulePages, listed, page_of
from placement_lint.integrations.lsp.scheduler import Scheduler
from placement_lint.integrations.lsp.settings import EditorSettings, has_settings, read_settings
from placement_lint.integrations.lsp.text_documents import Notebook, Text
from placement_lint.integrations.lsp.uris import path_of, uri_of
from placement_lint.integrations.lsp.workspace import Workspace
from placement_lint.integrations.lsp.workspace_edits import EditWriter
from placement_lint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.files.source import Source
    from placement_lint.findings import Finding
    from placement_lint.integrations.lsp.analysis import SnapshotResult

_SECTION = "placement-lint"
_WATCHED = ("**/*.{py,pyi,ipynb}", "**/*.{toml,cfg,ini}", "**/*requirement*", "**/.gitignore")
"""As globs: `discovery.SUFFIXES`, and most of what `folders.may_be_read` says."""


class Server:
    """One conversation with one editor."""

    def __init__(self) -> None:
        """Register what is answered."""
        cells = types.NotebookDocumentFilterWithCells(
            cells=[types.NotebookCellLanguage("python")], notebook="jupyter-notebook"
        )
        self.pygls = LanguageServer(
            "placement-lint",
            __version__,
            text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
            notebook_document_sync=types.NotebookDocumentSyncOptions([cells]),
            protocol_cls=Protocol,
        )
        self.workspace = Workspace()
        self.capabilities = EditorCapabilities()
        self.scheduler = Scheduler(self.workspace, self._tell, self._failed)
        self.publishing = Publisher(
            self.workspace,
            self.pygls.text_document_publish_diagnostics,
            lambda: self.pygls.workspace_diagnostic_refresh(None),
        )
        self._shown: set[str] = set()
        self._wrong_settings: str | None = None
        self._pages = RulePages()
        self._news = asyncio.Event()
        self._register()

    @property
    def protocol(self) -> Protocol:
        """What is said, and how."""
        return cast("Protocol", self.pygls.protocol)

    def _register(self) -> None:
        feature = self._feature
        feature(types.INITIALIZE, self._initialize)
        feature(types.INITIALIZED, self._initialized)
        feature(types.TEXT_DOCUMENT_DID_OPEN, self._opened)
        feature(types.TEXT_DOCUMENT_DID_CHANGE, self._changed)
        feature(types.TEXT_DOCUMENT_DID_CLOSE, self._closed)
        feature(types.TEXT_DOCUMENT_DID_SAVE, self._saved)
        feature(types.NOTEBOOK_DOCUMENT_DID_OPEN, self._notebook_opened)
        feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE, self._notebook_changed)
        feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE, self._notebook_closed)
        feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, self._files_changed)
        feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION, self._settings_changed)
        feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, self._folders_changed)
        kinds = [types.CodeActionKind.QuickFix, FIX_ALL]
        options = types.CodeActionOptions(code_action_kinds=kinds, resolve_provider=True)
        feature(types.TEXT_DOCUMENT_CODE_ACTION, self._code_actions, options)
        feature(types.CODE_ACTION_RESOLVE, self._resolve)
        feature(types.TEXT_DOCUMENT_HOVER, self._hover)
        feature(types.TEXT_DOCUMENT_INLAY_HINT, self._inlay_hints)

        @self.pygls.command(EXPLAIN)
        async def explain(code: str) -> str:
            return await self._explain(code)

        @self.pygls.command(APPLY_ALL)
        async def fix_all(uri: str) -> bool:
            return await self._apply_all(uri)

        @self.pygls.command(RULES)
        async def list_rules() -> list[dict[str, str]]:
            return listed()

    def _feature(self, method: str, handler: Callable[[Any], Any], options: Any = None) -> None:
        """Have a method of the protocol answered. pygls marks functions, which methods refuse."""
        if inspect.iscoroutinefunction(handler):

            async def answer(params: Any) -> Any:
                return await handler(params)

            self.pygls.feature(method, options)(answer)
        else:

            def take(params: Any) -> None:
                handler(params)

            self.pygls.feature(method, options)(take)

    # -- the beginning --------------------------------------------------------------------------

    def _initialize(self, params: types.InitializeParams) -> None:
        self.capabilities = EditorCapabilities.of(params.capabilities)
        self.workspace.encoding = str(
            getattr(self.protocol.workspace.position_encoding, "value", None)
            or self.protocol.workspace.position_encoding
        )
        folders = [folder.uri for folder in params.workspace_folders or ()]
        if not folders and params.root_uri:
            folders = [params.root_uri]
        elif not folders and params.root_path:
            folders = [uri_of(os.path.abspath(params.root_path))]
        self.workspace.set_roots(folders)
        self._take_settings(params.initialization_options)
        if params.process_id is not None:
            parent_process.watch(params.process_id, lambda: self.protocol.on_exit(1))
        if self.capabilities.pulls:
            options = types.DiagnosticOptions(
                inter_file_dependencies=True,
                workspace_diagnostics=self.workspace.settings.whole_workspace,
                identifier="placement-lint",
            )
            self._feature(types.TEXT_DOCUMENT_DIAGNOSTIC, self._pull, options)
            if self.workspace.settings.whole_workspace:
                self._feature(types.WORKSPACE_DIAGNOSTIC, self._pull_all)

    async def _initialized(self, _params: types.InitializedParams) -> None:
        self._say_wrong_settings()
        registrations = []
        if self.capabilities.watches_files:
            watchers = [types.FileSystemWatcher(pattern) for pattern in _WATCHED]
            registrations.append(
                types.Registration(
                    "placement-lint-files",
                    types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
                    types.DidChangeWatchedFilesRegistrationOptions(watchers),
                )
            )
        if self.capabilities.registers_settings:
            registrations.append(
                types.Registration(
                    "placement-lint-settings",
                    types.WORKSPACE_DID_CHANGE_CONFIGURATION,
                    types.DidChangeConfigurationRegistrationOptions(_SECTION),
                )
            )
        if registrations:
            params = types.RegistrationParams(registrations)
            with contextlib.suppress(JsonRpcException):
                # An editor that refuses what it said it can do does without.
                await self.pygls.client_register_capability_async(params)
        await self._ask_for_settings()
        if self.workspace.settings.whole_workspace:
            self.scheduler.soon()

    # -- settings -------------------------------------------------------------------------------

    def _take_settings(self, sent: Any) -> None:
        try:
            self.workspace.set_settings(read_settings(sent))
            self._wrong_settings = None
        except SettingsError as error:
            self._wrong_settings = str(error)

    def _say_wrong_settings(self) -> None:
        if self._wrong_settings is not None:
            self._show(self._wrong_settings, types.MessageType.Error)

    async def _ask_for_settings(self) -> None:
        if not self.capabilities.gives_settings:
            return
        items = [types.ConfigurationItem(section=_SECTION)]
        try:
            sent = await self.pygls.workspace_configuration_async(types.ConfigurationParams(items))
        except JsonRpcException:
            return  # an editor that has none to give
        table = _plain(sent[0]) if sent else None
        if has_settings(table):
            self._new_settings(table)

    def _new_settings(self, sent: Any) -> None:
        before: EditorSettings = self.workspace.settings
        self._take_settings(sent)
        self._say_wrong_settings()
        if self.workspace.settings != before:
            self.scheduler.soon()
            if self.capabilities.refreshes_hints:
                self.pygls.workspace_inlay_hint_refresh(None)

    async def _settings_changed(self, params: types.DidChangeConfigurationParams) -> None:
        sent = _plain(params.settings)
        if has_settings(sent):
            self._new_settings(sent)
        else:
            await self._ask_for_settings()

    def _folders_changed(self, params: types.DidChangeWorkspaceFoldersParams) -> None:
        gone = {path_of(folder.uri) for folder in params.event.removed}
        kept = [uri_of(root) for root in self.workspace.roots if root not in gone]
        self.workspace.set_roots([*kept, *(folder.uri for folder in params.event.added)])
        self.scheduler.soon()

    def _files_changed(self, params: types.DidChangeWatchedFilesParams) -> None:
        matters = False
        for change in params.changes:
            path = path_of(change.uri)
            in_number = change.type is not types.FileChangeType.Changed
            if path is not None and self.workspace.file_changed(path, in_number=in_number):
                matters = True
        if matters:
            self.scheduler.soon()

    # -- documents ------------------------------------------------------------------------------

    def _opened(self, params: types.DidOpenTextDocumentParams) -> None:
        if self.workspace.opened(params.text_document):
            self.publishing.forget(params.text_document.uri)
            self.scheduler.soon()

    def _changed(self, params: types.DidChangeTextDocumentParams) -> None:
        if self.workspace.edited(params):
            self.scheduler.soon()

    def _closed(self, params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        if self.workspace.closed(uri) is not None:
            self.publishing.clear(uri)
            self.scheduler.soon()

    def _saved(self, params: types.DidSaveTextDocumentParams) -> None:
        path = path_of(params.text_document.uri)
        if path is not None and not self.capabilities.watches_files:
            # Nobody else says what is new beside it.
            self.workspace.surroundings += 1
            self.workspace.changed()
            self.scheduler.soon()

    def _notebook_opened(self, params: types.DidOpenNotebookDocumentParams) -> None:
        self.workspace.notebook_opened(params)
        self.scheduler.soon()

    def _notebook_changed(self, params: types.DidChangeNotebookDocumentParams) -> None:
        for uri in self.workspace.notebook_edited(params):
            self.publishing.clear(uri)
        self.scheduler.soon()

    def _notebook_closed(self, params: types.DidCloseNotebookDocumentParams) -> None:
        self.workspace.notebook_closed(params)
        for cell in params.cell_text_documents:
            self.publishing.clear(cell.uri)
        self.scheduler.soon()

    # -- diagnostics ----------------------------------------------------------------------------

    def _tell(self, seen: SnapshotResult) -> None:
        converter = self._converter(seen)
        if self.capabilities.pulls:
            self.publishing.refresh_where_needed(converter)
        else:
            self.publishing.push(converter)
        self.publishing.push_problems(seen)
        messages = {problem.message for problem in seen.problems}
        for message in sorted(messages - self._shown):
            self._show(message, types.MessageType.Error)
        for folder in seen.too_many:
            message = f"{folder} contains too many Python files: only open ones are checked"
            messages.add(message)
            if message not in self._shown:
                self._show(message, types.MessageType.Warning)
        self._shown = messages
        self._news.set()
        self._news = asyncio.Event()

    async def _pull(
        self, params: types.DocumentDiagnosticParams
    ) -> types.RelatedFullDocumentDiagnosticReport | types.RelatedUnchangedDocumentDiagnosticReport:
        uri = params.text_document.uri
        converter = self._converter(await self.scheduler.current())
        path = self.workspace.path_of(uri)
        if path is None:
            return types.RelatedFullDocumentDiagnosticReport([])
        identity, diagnostics = self.publishing.pulled(converter, path, uri)
        if identity == params.previous_result_id:
            return types.RelatedUnchangedDocumentDiagnosticReport(identity)
        return types.RelatedFullDocumentDiagnosticReport(diagnostics, result_id=identity)

    async def _pull_all(
        self, params: types.WorkspaceDiagnosticParams
    ) -> types.WorkspaceDiagnosticReport:
        before = {each.uri: each.value for each in params.previous_result_ids}
        while True:
            news = self._news
            converter = self._converter(await self.scheduler.current())
            items: list[Any] = []
            published = set()
            is_new = False
            for path, uri, version, diagnostics in every(converter):
                published.add(uri)
                identity, _ = self.publishing.pulled(converter, path, uri)
                if before.get(uri) == identity:
                    items.append(
                        types.WorkspaceUnchangedDocumentDiagnosticReport(
                            uri, identity, version=version
                        )
                    )
                else:
                    is_new = True
                    items.append(
                        types.WorkspaceFullDocumentDiagnosticReport(
                            uri, diagnostics, version=version, result_id=identity
                        )
                    )
            for uri in before.keys() - published:
                is_new = True
                items.append(types.WorkspaceFullDocumentDiagnosticReport(uri, []))
            if is_new or not before:
                return types.WorkspaceDiagnosticReport(items)
            # The editor asks again at once: it is answered when there is something to say.
            await news.wait()

    def _converter(self, seen: SnapshotResult) -> DiagnosticConverter:
        return DiagnosticConverter(
            seen,
            self.workspace.encoding,
            related=self.capabilities.shows_related,
            link=self._pages.link if self.capabilities.links_codes else None,
        )

    # -- what can be done -----------------------------------------------------------------------

    async def _code_actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        seen = await self.scheduler.current()
        path = self.workspace.path_of(uri)
        if path is None:
            return []
        converter = self._converter(seen)
        writer = self._writer(converter)
        only = params.context.only
        actions: list[types.CodeAction] = []
        touches = CodeActions(converter, writer, None).touches(path, uri, params.range)
        is_automatic = params.context.trigger_kind == types.CodeActionTriggerKind.Automatic
        if not touches and only is None and is_automatic:
            # Some editors ask as the cursor moves: nobody has to work out fixes for that.
            return []
        is_asked = touches and wants(only, types.CodeActionKind.QuickFix.value)
        fixed: list[Finding] = []
        if is_asked or wants(only, FIX_ALL):
            fixed = await self.scheduler.ask(self.scheduler.analysis.with_fixes, seen, path)
        if is_asked:
            editor = await self.scheduler.ask(self.scheduler.analysis.editor, seen.snapshot, path)
            offers = CodeActions(converter, writer, editor)
            actions += offers.about(path, uri, params.range, fixed)
        if wants(only, FIX_ALL) and has_safe_fix(fixed):
            action = types.CodeAction(
                title="Apply all safe fixes (placement-lint)",
                kind=FIX_ALL,
                data={"path": path},
            )
            # One that asks for these alone, as on each save, is about to apply them.
            if only or not self.capabilities.resolves_edits:
                action = await self._resolve(action)
            actions.append(action)
        return actions

    async def _resolve(self, action: types.CodeAction) -> types.CodeAction:
        sent = _plain(action.data)
        path = sent.get("path") if isinstance(sent, dict) else None
        if isinstance(path, str):
            action.edit = await self._all_safe_fixes(path) or types.WorkspaceEdit(changes={})
        return action

    async def _all_safe_fixes(self, path: str) -> types.WorkspaceEdit | None:
        seen = await self.scheduler.current()
        if path not in seen.snapshot.documents:
            return None
        fixes = await self.scheduler.ask(self.scheduler.analysis.fixes, seen, path)
        return self._writer(self._converter(seen)).of_changes(fixes)

    async def _apply_all(self, uri: str) -> bool:
        """Have the editor apply all safe fixes of a document; return whether it applied any."""
        path = self.workspace.path_of(uri)
        if path is None:
            message = f"{uri} is not open"
            raise JsonRpcInvalidParams(message)
        edit = await self._all_safe_fixes(path)
        if edit is None or not (edit.changes or edit.document_changes):
            return False
        params = types.ApplyWorkspaceEditParams(edit, label="Apply all safe fixes (placement-lint)")
        return bool((await self.pygls.workspace_apply_edit_async(params)).applied)

    def _writer(self, converter: DiagnosticConverter) -> EditWriter:
        return EditWriter(converter, versioned=self.capabilities.versioned_edits)

    async def _explain(self, code: str) -> str:
        page = page_of(code)
        if page is None:
            message = f"there is no rule {code}"
            raise JsonRpcInvalidParams(message)
        file = self._pages.file(code) if self.capabilities.shows_documents else None
        if file is not None:
            params = types.ShowDocumentParams(file, take_focus=True)
            with contextlib.suppress(JsonRpcException):
                await self.pygls.window_show_document_async(params)
        else:
            self._show(page, types.MessageType.Info)
        return page

    # -- what is known --------------------------------------------------------------------------

    async def _hover(self, params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        seen = await self.scheduler.current()
        place = self._place(seen, uri)
        if place is None:
            return None
        path, text, cell = place
        line, column = text.places.line_and_column(params.position)

        def offset(source: Source) -> int:
            return source.offset(line, column, cell)

        known = await self.scheduler.ask(
            self.scheduler.analysis.name_at,
            seen.snapshot,
            path,
            offset,
            hover.linked(seen.snapshot),
        )
        here = types.Range(params.position, params.position)
        found = [
            number
            for number, finding in enumerate(seen.findings.get(path, ()))
            if finding.cell == cell and touch(text.places.range(finding.span), here)
        ]
        findings: list[Finding] = []
        if found:
            fixed = await self.scheduler.ask(self.scheduler.analysis.with_fixes, seen, path)
            findings = [fixed[number] for number in found]
        before = self._lines_before(seen, path, cell)
        return hover.hover(known, findings, text.places, before, self._pages.link)

    async def _inlay_hints(self, params: types.InlayHintParams) -> list[types.InlayHint]:
        if not self.workspace.settings.inlay_hints:
            return []
        seen = await self.scheduler.current()
        place = self._place(seen, params.text_document.uri)
        if place is None:
            return []
        path, text, cell = place
        before = self._lines_before(seen, path, cell)
        first, last = params.range.start.line + 1 + before, params.range.end.line + 1 + before
        known = await self.scheduler.ask(
            self.scheduler.analysis.bound_to_arrays, seen.snapshot, path, first, last
        )
        last_line = text.places.count + before
        return [
            hover.hint(each, before, text.places) for each in known if each.span.line <= last_line
        ]

    def _place(self, seen: SnapshotResult, uri: str) -> tuple[str, Text, int | None] | None:
        """Return the path of a document, its text, and which cell of a notebook it is."""
        path = self.workspace.path_of(uri)
        document = None if path is None else seen.snapshot.documents.get(path)
        if path is None or document is None:
            return None
        if isinstance(document, Text):
            return path, document, None
        number = document.number_of(uri)
        text = None if number is None else document.text_of(number)
        return None if text is None else (path, text, number)

    def _lines_before(self, seen: SnapshotResult, path: str, cell: int | None) -> int:
        document = seen.snapshot.documents.get(path)
        if cell is None or not isinstance(document, Notebook):
            return 0
        source = FileStore({path: document.data}).source_if_readable(path)
        return 0 if source is None else source.lines_before(cell)

    # -- what goes wrong, and the end -----------------------------------------------------------

    def _show(self, message: str, kind: types.MessageType) -> None:
        self.pygls.window_show_message(types.ShowMessageParams(kind, f"placement-lint: {message}"))

    def _failed(self, error: Exception) -> None:
        text = "".join(traceback.format_exception(error))
        print(text, file=sys.stderr)
        message = f"the analysis failed: {type(error).__name__}; please report this"
        self.pygls.window_log_message(types.LogMessageParams(types.MessageType.Error, text))
        self._show(message, types.MessageType.Error)

    def delete_pages(self) -> None:
        """Delete the pages of rules that were written to be shown."""
        self._pages.delete()


def _plain(value: Any) -> Any:
    """Return what was sent as dictionaries and lists, whatever it was made into on the way."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if hasattr(value, "_asdict"):
        return {key: _plain(each) for key, each in value._asdict().items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value
