"""Which diagnostics the editor has, and which of them are not what they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol.types import Diagnostic, PublishDiagnosticsParams

from placement_lint.integrations.lsp.diagnostics import DiagnosticConverter, digest, of_problem
from placement_lint.integrations.lsp.text_documents import Notebook, Text
from placement_lint.integrations.lsp.uris import uri_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from placement_lint.integrations.lsp.analysis import Snapshot, SnapshotResult
    from placement_lint.integrations.lsp.workspace import Workspace


class Publisher:
    """Keeps the editor's diagnostics as they have to be."""

    def __init__(
        self,
        workspace: Workspace,
        publish: Callable[[PublishDiagnosticsParams], None],
        refresh: Callable[[], object],
    ) -> None:
        """Take what sends diagnostics, and what asks an editor that pulls to ask again."""
        self._workspace = workspace
        self._publish = publish
        self._refresh = refresh
        self._sent: dict[str, tuple[int | None, str]] = {}
        """By address: the version of the document, and what stands for its diagnostics."""
        self._pulled: dict[str, tuple[object, str]] = {}
        self._sent_of_settings: set[str] = set()
        self._asked_to_refresh: str | None = None

    def push(self, converter: DiagnosticConverter) -> None:
        """Send what is new. A document that was changed since is left to the next look."""
        snapshot = converter.seen.snapshot
        now = self._workspace.snapshot()
        wanted: dict[str, tuple[int | None, list[Diagnostic]]] = {}
        stale: set[str] = set()
        for path in _paths(converter.seen):
            for uri, diagnostics in converter.of(path).items():
                if snapshot.documents.get(path) is not now.documents.get(path):
                    stale.add(uri)
                else:
                    wanted[uri] = (_version(snapshot, path, uri), diagnostics)
        for uri in self._sent.keys() - wanted.keys() - stale:
            self.clear(uri)
        for uri, (version, diagnostics) in wanted.items():
            state = (version, digest(diagnostics))
            if self._sent.get(uri) != state:
                self._sent[uri] = state
                self._publish(PublishDiagnosticsParams(uri, diagnostics, version))

    def forget(self, uri: str) -> None:
        """Send the diagnostics of a document again: it was opened, maybe by another window."""
        self._sent.pop(uri, None)

    def clear(self, uri: str) -> None:
        """Take back the diagnostics of a document that is gone."""
        if self._sent.pop(uri, None) is not None:
            self._publish(PublishDiagnosticsParams(uri, []))
        self._pulled.pop(uri, None)

    def push_problems(self, seen: SnapshotResult) -> None:
        """Publish, for each settings file, why it cannot be used."""
        by_uri: dict[str, list[Diagnostic]] = {}
        for problem in seen.problems:
            if problem.path is not None:
                by_uri.setdefault(uri_of(problem.path), []).append(of_problem(problem))
        for uri in self._sent_of_settings - by_uri.keys():
            self._publish(PublishDiagnosticsParams(uri, []))
        for uri, diagnostics in by_uri.items():
            self._publish(PublishDiagnosticsParams(uri, diagnostics))
        self._sent_of_settings = set(by_uri)

    def pulled(
        self, converter: DiagnosticConverter, path: str, uri: str
    ) -> tuple[str, list[Diagnostic]]:
        """Return the diagnostics of a document, and what stands for them; note that it has them."""
        diagnostics = converter.of(path).get(uri, [])
        identity = digest(diagnostics)
        self._pulled[uri] = (converter.seen.snapshot.documents.get(path), identity)
        return identity, diagnostics

    def refresh_where_needed(self, converter: DiagnosticConverter) -> None:
        """Have an editor ask again where a document is what it was, and its diagnostics are not.

        For a document that was changed it asks by itself.
        """
        snapshot = converter.seen.snapshot
        changed = []
        for path in snapshot.documents:
            for uri, diagnostics in converter.of(path).items():
                document, identity = self._pulled.get(uri, (None, ""))
                now = digest(diagnostics)
                if document is snapshot.documents[path] and identity != now:
                    changed.append(f"{uri} {now}")
        state = "\n".join(changed)
        if changed and state != self._asked_to_refresh:
            self._refresh()
        self._asked_to_refresh = state


def every(
    converter: DiagnosticConverter,
) -> Iterator[tuple[str, str, int | None, list[Diagnostic]]]:
    """Return the diagnostics of all files that have some: path, address, version, diagnostics."""
    snapshot = converter.seen.snapshot
    for path in sorted({*converter.seen.findings, *snapshot.documents}):
        for uri, diagnostics in converter.of(path).items():
            yield path, uri, _version(snapshot, path, uri), diagnostics


def _paths(seen: SnapshotResult) -> Iterable[str]:
    if seen.snapshot.settings.whole_workspace:
        return sorted({*seen.findings, *seen.snapshot.documents})
    return [*seen.snapshot.documents]


def _version(snapshot: Snapshot, path: str, uri: str) -> int | None:
    document = snapshot.documents.get(path)
    if isinstance(document, Notebook):
        text: Text | None = document.texts.get(uri)
        return None if text is None else text.version
    return None if document is None else document.version
