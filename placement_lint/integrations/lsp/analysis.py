"""The analysis behind the server: which files belong together, and what is found in them.

One thread uses it, one question after the other. A question comes with a snapshot: the documents as
they were when it was asked.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from placement_lint.files.discovery import SUFFIXES, find_files, is_excluded
from placement_lint.files.store import FileStore
from placement_lint.findings import Applicability
from placement_lint.integrations.lsp.projects import ProjectSettings
from placement_lint.limits.budget import limits_of
from placement_lint.lint.incremental.run_cache import MemoryCache
from placement_lint.lint.linter import Linter
from placement_lint.syntax.deep_stack import run_deep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from placement_lint.files.source import Source
    from placement_lint.findings import Finding
    from placement_lint.integrations.lsp.projects import Problem
    from placement_lint.integrations.lsp.settings import EditorSettings
    from placement_lint.integrations.lsp.text_documents import Notebook, Text
    from placement_lint.lint.lookup import NameInfo, NameLookup, Revealed
    from placement_lint.lint.tasks import Change
    from placement_lint.syntax.edits import Editor

MOST_FILES = 20_000
"""In a folder with more Python files than this (somebody's home) only those that are open are
looked at."""
_REMEMBERED = 8


@dataclass(frozen=True)
class Snapshot:
    """Everything that an answer depends on, as it was at one moment."""

    number: int
    """Later views have larger ones."""
    documents: Mapping[str, Text | Notebook]
    """What is open, by path."""
    roots: tuple[str, ...]
    """The folders of the workspace."""
    settings: EditorSettings
    surroundings: int
    """Which files there are, and their settings, are read again when this number changes."""

    @cached_property
    def texts(self) -> dict[str, bytes]:
        """What stands in for files."""
        return {path: document.data for path, document in self.documents.items()}


@dataclass
class SnapshotResult:
    """What came of a look at all files of the workspace."""

    snapshot: Snapshot
    findings: dict[str, list[Finding]] = field(default_factory=dict)
    """By path, without fixes: see `AnalysisService.with_fixes`."""
    revealed: dict[str, list[Revealed]] = field(default_factory=dict)
    """Answers to `# reveal: name` comments, by path."""
    problems: tuple[Problem, ...] = ()
    too_many: tuple[str, ...] = ()
    """Folders of which only the open files were looked at."""
    passed_over: frozenset[str] = frozenset()
    """Open files that the settings exclude."""


class _Folder:
    """One folder of the workspace; or, without one, what is open outside of all of them."""

    def __init__(self, root: str | None, settings: ProjectSettings) -> None:
        self.root = root
        self.linter = Linter(
            settings.for_file,
            folders=root is not None,
            reveal=True,
            offers_fixes=False,
            cache=MemoryCache(),
            store=FileStore(is_lasting=True),
        )
        self.found: frozenset[str] = frozenset()
        self.is_too_large = False
        self.known_to_be_open: set[str] = set()

    def discover(self, settings: ProjectSettings) -> None:
        """Look for the files of the folder."""
        self.linter.settings_for = settings.for_file
        here = settings.for_folder(self.root or os.getcwd())
        self.linter.limits = limits_of(here.time_limit, here.memory_limit)
        if self.root is not None:
            files = find_files([self.root], settings.for_folder).files
            self.is_too_large = len(files) > MOST_FILES
            self.found = frozenset(() if self.is_too_large else map(os.path.normpath, files))


class AnalysisService:
    """Answers questions about the documents of a snapshot."""

    def __init__(self) -> None:
        """Begin with no folders."""
        self._folders: dict[str | None, _Folder] = {}
        self._settings: ProjectSettings | None = None
        self._editor_settings: EditorSettings | None = None
        self._surroundings = -1
        self._known: OrderedDict[tuple[int, str], NameLookup | None] = OrderedDict()
        self._editors: OrderedDict[tuple[str, bytes], Editor | None] = OrderedDict()
        self._fixed: OrderedDict[tuple[int, str], list[Finding]] = OrderedDict()

    def look(self, snapshot: Snapshot) -> SnapshotResult:
        """Find what there is to find in every file of the workspace."""
        seen = SnapshotResult(snapshot)
        passed_over = self._prepare(snapshot)
        roots = [*self._folders]
        for folder in self._folders.values():
            if not folder.linter.files:
                continue
            folder.linter.begin(snapshot.texts)
            outcome = folder.linter.check()
            folder.linter.store.keep_only(folder.linter.files)
            for finding in outcome.findings:
                if _root_of(finding.path, roots) == folder.root:
                    seen.findings.setdefault(finding.path, []).append(finding)
            for each in outcome.revealed:
                if _root_of(each.path, roots) == folder.root:
                    seen.revealed.setdefault(each.path, []).append(each)
        if self._settings is not None:
            seen.problems = tuple(sorted(self._settings.problems, key=str))
        folders = self._folders.values()
        seen.too_many = tuple(str(folder.root) for folder in folders if folder.is_too_large)
        seen.passed_over = passed_over
        return seen

    def name_at(
        self,
        snapshot: Snapshot,
        path: str,
        place: Callable[[Source], int],
        where: Callable[[str, int], str],
    ) -> NameInfo | None:
        """Return what is known of the name at a place. `place` gives its offset in the text."""
        known = self._known_in(snapshot, path)
        if known is None:
            return None
        return run_deep(known.at, place(known.editor.source), where)

    def bound_to_arrays(
        self, snapshot: Snapshot, path: str, first: int, last: int
    ) -> list[NameInfo]:
        """Return the names that are bound, on some lines of the text, to arrays that are
        uncommitted, or on a mesh.
        """
        known = self._known_in(snapshot, path)
        return [] if known is None else run_deep(lambda: [*known.bound_to_arrays(first, last)])

    def _known_in(self, snapshot: Snapshot, path: str) -> NameLookup | None:
        key = (snapshot.number, path)
        if key not in self._known:
            self._prepare(snapshot)
            self._known[key] = self._linter_of(path, snapshot).lookup(path)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return self._known[key]

    def with_fixes(self, seen: SnapshotResult, path: str) -> list[Finding]:
        """Return what was found in a file with the fixes for it, which a look leaves out."""
        found = seen.findings.get(path, [])
        key = (seen.snapshot.number, path)
        if found and key not in self._fixed:
            self._prepare(seen.snapshot)
            self._fixed[key] = self._linter_of(path, seen.snapshot).with_fixes(found, path)
            while len(self._fixed) > _REMEMBERED:
                self._fixed.popitem(last=False)
        return self._fixed[key] if found else []

    def fixes(self, seen: SnapshotResult, path: str) -> list[Change]:
        """Return what safe fixes make of a file, and of what else its own fixes edit."""
        fixes = [finding.fix for finding in self.with_fixes(seen, path)]
        edited = [
            edit.path
            for fix in fixes
            if fix is not None and fix.applicability is Applicability.SAFE
            for edit in fix.edits
        ]
        self._prepare(seen.snapshot)
        return self._linter_of(path, seen.snapshot).fixes(dict.fromkeys([path, *edited]))

    def editor(self, snapshot: Snapshot, path: str) -> Editor | None:
        """Return where the nodes of an open file stand."""
        key = (path, snapshot.texts.get(path, b""))
        if key not in self._editors:
            self._prepare(snapshot)
            self._editors[key] = self._linter_of(path, snapshot).editor(path)
            while len(self._editors) > _REMEMBERED:
                self._editors.popitem(last=False)
        return self._editors[key]

    # -- which files there are --------------------------------------------------------------------

    def _prepare(self, snapshot: Snapshot) -> frozenset[str]:
        """Bring folders, files and settings up to date; give what is open and passed over."""
        settings, is_new = self._renewed_settings(snapshot)
        wanted: list[str | None] = [*snapshot.roots, None]
        self._folders = {
            root: self._folders.get(root) or _Folder(root, settings) for root in wanted
        }
        by_root: dict[str | None, list[str]] = {}
        for path in snapshot.documents:
            by_root.setdefault(_root_of(path, wanted), []).append(path)
        passed_over: set[str] = set()
        for root, folder in self._folders.items():
            opened = by_root.get(root, [])
            unknown = [*_unknown(opened, folder)]
            if is_new or folder.linter.settings_for != settings.for_file or unknown:
                folder.discover(settings)
                folder.known_to_be_open = set(opened)
            refused = {path for path in opened if _is_passed_over(path, folder, settings)}
            folder.linter.files = sorted({*folder.found, *opened} - refused)
            passed_over |= refused
        return frozenset(passed_over)

    def _renewed_settings(self, snapshot: Snapshot) -> tuple[ProjectSettings, bool]:
        """Return the settings of the projects, and whether they were read again."""
        is_same = (
            self._surroundings == snapshot.surroundings
            and self._editor_settings == snapshot.settings
        )
        if self._settings is not None and is_same:
            return self._settings, False
        before = self._settings if self._editor_settings == snapshot.settings else None
        self._settings = ProjectSettings(snapshot.settings, before)
        self._editor_settings = snapshot.settings
        self._surroundings = snapshot.surroundings
        return self._settings, True

    def _linter_of(self, path: str, snapshot: Snapshot) -> Linter:
        linter = self._folders[_root_of(path, [*self._folders])].linter
        linter.begin(snapshot.texts)
        return linter


def _unknown(opened: list[str], folder: _Folder) -> Iterator[str]:
    """Return the open files that may have come into being since the files were looked for."""
    for path in opened:
        if path not in folder.found and path not in folder.known_to_be_open:
            yield path


def _is_passed_over(path: str, folder: _Folder, settings: ProjectSettings) -> bool:
    """Return whether an open file is one that a run over its folder would pass over."""
    if folder.root is None or path in folder.found or folder.is_too_large:
        return False
    if is_excluded(path, settings.for_file(path)):
        return True
    # The walk did not find what is there: git ignores it. What has another suffix was asked for.
    return path.endswith(SUFFIXES) and os.path.exists(path)


def _root_of(path: str, roots: list[str | None]) -> str | None:
    """Return the innermost folder that a file is in."""
    inside = [root for root in roots if root is not None and is_inside(path, root)]
    return max(inside, key=len, default=None)


def is_inside(path: str, root: str) -> bool:
    """Return whether a path lies below a folder."""
    return path.startswith(root if root.endswith(os.sep) else root + os.sep)
