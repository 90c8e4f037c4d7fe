"""What the editor at the other end can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lsprotocol.types import ClientCapabilities


@dataclass(frozen=True)
class EditorCapabilities:
    """Those of its capabilities that matter to us."""

    pulls: bool = False
    """It asks for diagnostics by itself, and again when it is told that they have changed. An
    editor that does the one and not the other is sent them, as ever: it would not learn that a
    change in one file has fixed another. Nobody is given both: they would be shown twice."""
    shows_related: bool = False
    links_codes: bool = False
    """It makes the code of a diagnostic a link to a page about it."""
    versioned_edits: bool = False
    resolves_edits: bool = False
    shows_documents: bool = False
    gives_settings: bool = False
    registers_settings: bool = False
    watches_files: bool = False
    refreshes_hints: bool = False

    @classmethod
    def of(cls, capabilities: ClientCapabilities) -> EditorCapabilities:
        """Read them."""

        def has(path: str) -> Any:
            found: Any = capabilities
            for name in path.split("."):
                found = getattr(found, name, None)
            return found

        resolved = has("text_document.code_action.resolve_support.properties") or ()
        return cls(
            pulls=has("text_document.diagnostic") is not None
            and bool(has("workspace.diagnostics.refresh_support")),
            shows_related=bool(
                has("text_document.publish_diagnostics.related_information")
                or has("text_document.diagnostic.related_information")
            ),
            links_codes=bool(
                has("text_document.publish_diagnostics.code_description_support")
                or has("text_document.diagnostic.code_description_support")
            ),
            versioned_edits=bool(has("workspace.workspace_edit.document_changes")),
            resolves_edits="edit" in resolved
            and bool(has("text_document.code_action.data_support")),
            shows_documents=bool(has("window.show_document.support")),
            gives_settings=bool(has("workspace.configuration")),
            registers_settings=bool(has("workspace.did_change_configuration.dynamic_registration")),
            watches_files=bool(has("workspace.did_change_watched_files.dynamic_registration")),
            refreshes_hints=bool(has("workspace.inlay_hint.refresh_support")),
        )
