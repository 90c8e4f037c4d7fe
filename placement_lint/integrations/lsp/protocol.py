"""pygls' protocol, where the specification asks for more than pygls does, or for something else.

- Text is kept by `documents`: pygls (2.1) ends lines at form feeds and U+2028 too, which puts
  every later change on a wrong line, and takes a change of a part of a notebook's cell for all of
  it where changes of whole texts were agreed on.
- A request before `initialize`, or after `shutdown`, is answered, with an error; one whose
  parameters cannot be understood as well. (pygls shows a message, and the editor waits forever.)
- A second `initialize` is answered as the first one was, and changes nothing: JupyterLab connects
  each window to the same process, and a window that gets an error never begins.
- `exit` ends the process at once, with the code that the specification asks for. pygls waits for
  its thread that reads standard input, and gives 0.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol, lsp_method

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

INVALID_REQUEST = -32600
NOT_INITIALIZED = -32002


class Protocol(LanguageServerProtocol):
    """What is said between the editor and us."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Begin before `initialize`."""
        self.is_initialized = False
        self.was_shut_down = False
        self.on_exit: Callable[[int], None] = sys.exit
        super().__init__(*args, **kwargs)

    # -- messages -------------------------------------------------------------------------------

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Make what was sent into what it means; where that cannot be done, say so to a request."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], None, error.to_response_error())
            raise

    def handle_message(self, message: Any) -> None:
        """Answer a request that comes too early or too late; take everything else as it is."""
        method = getattr(message, "method", None)
        identity = getattr(message, "id", None)
        if method is None or method == types.EXIT:
            super().handle_message(message)
        elif self.was_shut_down:
            if identity is not None:
                self.refuse(identity, INVALID_REQUEST, "the server was shut down")
        elif not self.is_initialized and method != types.INITIALIZE:
            if identity is not None:
                self.refuse(identity, NOT_INITIALIZED, "the server is not initialized yet")
        elif self.is_initialized and method == types.INITIALIZE:
            if identity is None:
                return
            again = types.InitializeResult(self.server_capabilities, self.server_info)
            self._send_response(identity, again)
        else:
            self.is_initialized = True
            self.was_shut_down = method == types.SHUTDOWN
            super().handle_message(message)

    def refuse(self, identity: Any, code: int, message: str) -> None:
        """Answer a request with an error; `identity` is None where it has none that is one."""
        # As a table: pygls leaves a null out.
        error = {"code": code, "message": message}
        self._send_data({"jsonrpc": self.VERSION, "id": identity, "error": error})

    # -- the end --------------------------------------------------------------------------------

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_: Any) -> Generator[Any, Any, None]:
        """End the process."""
        self.on_exit(0 if self.was_shut_down else 1)
        yield from ()

    # -- documents: what pygls would do with them is left out ------------------------------------

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Take a document that was opened."""
        self._tell(types.TEXT_DOCUMENT_DID_OPEN, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Take the changes of a document."""
        self._tell(types.TEXT_DOCUMENT_DID_CHANGE, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Forget a document."""
        self._tell(types.TEXT_DOCUMENT_DID_CLOSE, params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(self, params: types.DidOpenNotebookDocumentParams) -> None:
        """Take a notebook that was opened."""
        self._tell(types.NOTEBOOK_DOCUMENT_DID_OPEN, params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(
        self, params: types.DidChangeNotebookDocumentParams
    ) -> None:
        """Take the changes of a notebook."""
        self._tell(types.NOTEBOOK_DOCUMENT_DID_CHANGE, params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(
        self, params: types.DidCloseNotebookDocumentParams
    ) -> None:
        """Forget a notebook."""
        self._tell(types.NOTEBOOK_DOCUMENT_DID_CLOSE, params)

    @lsp_method(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def lsp_workspace__did_change_workspace_folders(
        self, params: types.DidChangeWorkspaceFoldersParams
    ) -> None:
        """Folders were added to the workspace, or taken from it."""
        self._tell(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, params)

    def _tell(self, method: str, params: Any) -> None:
        handler = self.fm.features.get(method)
        if handler is not None:
            handler(params)
