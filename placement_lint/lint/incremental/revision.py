"""What is known of the files of a run from the last one, and what is noted for the next."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from placement_lint.files.neighbours import Neighbours
from placement_lint.files.store import digest
from placement_lint.lint.incremental.file_state import FileState
from placement_lint.lint.incremental.moved_lines import (
    NotMovedError,
    moved_lines,
    moved_results,
    names_a_line,
)
from placement_lint.lint.incremental.records import Records, TextDigest
from placement_lint.project.dependencies import CallsMade, Donated
from placement_lint.syntax.code_digest import code_digest, layout_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from placement_lint.files.store import FileStore
    from placement_lint.lint.file_results import FileResult
    from placement_lint.lint.incremental.records import Checked, Group, Prefiltered
    from placement_lint.project.dependencies import Learned, Summarised
    from placement_lint.project.file_facts import FileFacts
    from placement_lint.project.project import Project


_NOTEBOOK = ".ipynb"


@dataclass(frozen=True)
class ExhaustedFile:
    """What came of a file that ran out of time or memory."""

    content: str
    """A digest of its bytes."""
    settings: str
    """A digest."""
    result: FileResult
    is_closed: bool
    """Whether nothing more is to be asked of it; else it is only not to be interpreted."""


@dataclass(frozen=True)
class Layout:
    """A text, and what of it beside its code decided what was found."""

    text: str
    digest: str
    """Of all but what its comments say."""
    words: Mapping[bytes, bool]
    """What was looked for in the text, comments included, and whether it is there."""


@dataclass
class Layouts:
    """Those of the files of a session, by path."""

    alone: dict[str, Layout] = field(default_factory=dict)
    """Of files that were checked alone."""
    together: dict[str, Layout] = field(default_factory=dict)
    """Of files that were executed with others: the words are in `ProgramReads`."""


class PreviousRun:
    """The records of the last run, and those that this one makes for the next."""

    def __init__(
        self,
        before: Records | None,
        seen: Mapping[str, FileState],
        settings: Callable[[str], str],
        store: FileStore,
        beside: Mapping[str, str] | None = None,
    ) -> None:
        """Take the records of the last run, and what gives the digest of a file's settings.

        `beside`: what that run's property of the same name gave.
        """
        self._store = store
        self.now = Records()
        self.exhausted: dict[str, ExhaustedFile] = {}
        """What ran out of time or memory, and would again: kept by whoever looks again soon, not
        from one run of the program to the next."""
        self.layouts: Layouts | None = None
        """For a session in which somebody types; None in a run of the program."""
        self.files: dict[str, FileState] = {}
        """The files of this run."""
        self.looked_at: set[str] = set()
        """Those in which something had to be found out."""
        self.is_certain = True
        """Whether the same will be found as long as nothing changes."""
        self._before = before or Records()
        self._seen = seen
        self._settings = settings
        self._beside = beside or {}
        self._unread: set[str] = set()
        self._same_code: dict[str, bool] = {}
        """Of files that were asked about, whether their code is what it was."""

    @property
    def recalled(self) -> int:
        """Of how many files it was known already what is in them."""
        return len(self._unread - self.looked_at)

    def read(self, path: str) -> bytes | None:
        """Read a file; None where it is what it was, and so are its settings.

        Raises UnreadableError.
        """
        seen = self._seen.get(path)
        settings = self._settings(path)
        is_sorted = path in self._before.sorted and path in self._before.texts
        if is_sorted and seen is not None and seen.stamp == self._store.stamp_now(path):
            self._note(path, seen.stamp, seen.content, settings)
            if self._is_unchanged(path):
                self._unread.add(path)
                return None
        data = self._store.read(path)
        self._note(path, self._store.stamp(path), self._store.digest(path), settings)
        if is_sorted and self._is_unchanged(path):
            self._unread.add(path)
            return None
        return data

    def sorted(self, path: str) -> Prefiltered:
        """Return what the bytes say of a file that need not be read."""
        found = self.now.sorted[path] = self._before.sorted[path]
        return found

    def known_exhausted(self, path: str) -> ExhaustedFile | None:
        """Return what came of a file that ran out of something, and is what it was."""
        known, text = self.exhausted.get(path), self.now.texts.get(path)
        if (
            known is None
            or text is None
            or (known.content, known.settings)
            != (
                text.content,
                text.settings,
            )
        ):
            return None
        return known

    def note_exhausted(self, path: str, result: FileResult, *, is_closed: bool) -> None:
        """Note what came of a file that ran out of something."""
        text = self.now.texts.get(path)
        if text is not None:
            self.exhausted[path] = ExhaustedFile(text.content, text.settings, result, is_closed)

    def summary(self, path: str) -> Summarised | None:
        """Return the record of what executing an unchanged file does."""
        return self._before.summaries.get(path) if self._has_same_text(path) else None

    def donations(self, path: str) -> Donated | None:
        """Return what the names of a file donated, if its code is what it was."""
        before = self._before.donations.get(path)
        if before is None or not before.is_settled:
            return None
        if path not in self._same_code:
            self._same_code[path] = self._has_same_text(path) or before.code == code_digest(
                self._store.text(path)
            )
        return before if self._same_code[path] else None

    def calls(self, path: str) -> CallsMade | None:
        """Return in which lines an unchanged file calls functions."""
        return self._before.calls.get(path) if self._has_same_text(path) else None

    def learn(self, learned: Learned) -> None:
        """Note what was found out of files: each process has found out some of it."""
        self.now.summaries.update(learned.summaries)
        for path, donated in learned.donations.items():
            if path not in self.now.donations:
                self.now.donations[path] = Donated(
                    donated.code or code_digest(self._store.text(path))
                )
            self.now.donations[path].add(donated)
        for path, calls in learned.calls.items():
            self.now.calls.setdefault(path, CallsMade()).add(calls)

    def facts(self, path: str) -> FileFacts | None:
        """Return what is known of a text that is what it was."""
        return self._before.facts_by_file.get(path) if self._has_same_text(path) else None

    def gains(self, path: str, names_digest: str) -> bool | None:
        """Return whether a file passes the filter by its imports; None where that is not known."""
        before = self._before.gains.get(path)
        if before is None or before.names_digest != names_digest or not self._is_unchanged(path):
            return None
        self.now.gains[path] = before
        return before.passes

    def checked(self, path: str, project: Project, *, accelerator: bool) -> FileResult | None:
        """Return what was found in a file, if it would be found again."""
        before = self._before.checked.get(path)
        if before is None or before.accelerator != accelerator:
            return None
        is_same = self._is_unchanged(path) or self._has_same_layout(path)
        found = before if is_same else self._moved(path, before)
        if (
            found is None
            or not self._is_known_beside(path, found.result)
            or not project.still_gives(found.answers, path)
        ):
            return None
        if found is not before:
            self.note_layout(path, found.result)
        self.now.checked[path] = found
        return found.result

    def group(
        self,
        paths: Iterable[str],
        accelerated: Collection[str],
        placing: Collection[str],
        importers: Mapping[str, Iterable[tuple[str, str]]],
    ) -> str:
        """Return a digest of what decides how files are executed together, but for their texts."""
        rows = [
            f"{path!r} {text.settings} {path in accelerated} {path in placing} "
            f"{sorted(importers.get(path, ()))}"
            for path in sorted(paths)
            if (text := self.now.texts.get(path)) is not None
        ]
        return digest("\n".join(rows).encode("utf-8", "surrogatepass"))

    def results(self, group: str, project: Project) -> Mapping[str, FileResult] | None:
        """Return what was found in the files of a group, if it would be found again."""
        from placement_lint.project.program_texts import still_reads

        before = self._before.groups.get(group)
        if before is None or not all(
            self._is_known_beside(path, result) for path, result in before.results.items()
        ):
            return None
        changed = {path for path in self.now.texts if not self._has_same_text(path)}
        executed = changed & before.reads.codes.keys()
        if not (
            self.now.texts.keys() >= before.reads.codes.keys()
            and all(
                before.reads.codes[path] == code_digest(self._store.text(path))
                and self._says(path, before.reads.words.get(path, {}))
                for path in executed
            )
            and still_reads(before.reads, changed, project)
            and all(project.still_gives(given, path) for path, given in before.answers.items())
        ):
            return None
        moved = self._moved_group(before, executed)
        if moved is before:
            self.now.groups[group] = before
        elif moved is not None:
            self.note_group(group, moved)
        return None if moved is None else moved.results

    def _moved_group(self, group: Group, executed: Iterable[str]) -> Group | None:
        """Return what was found in files of which some have lines elsewhere; None: not known."""
        placed = [
            path
            for path in executed
            if not (says_nothing_of(path, group.results) or self._is_laid_out_alike(path))
        ]
        if not placed:
            return group
        known = {} if self.layouts is None else self.layouts.together
        moves = {
            path: move
            for path in placed
            if path in known
            and (move := moved_lines(known[path].text, self._store.text(path))) is not None
        }
        with contextlib.suppress(NotMovedError):
            if len(moves) == len(placed):
                return replace(group, results=moved_results(group.results, moves))
        return None

    def _moved(self, path: str, checked: Checked) -> Checked | None:
        """Return what was found in a file that was checked alone, where its code is now.

        None where that is not what it was.
        """
        known = self._known_layout(path)
        move = None if known is None else moved_lines(known.text, self._store.text(path))
        with contextlib.suppress(NotMovedError):
            if move is not None:
                results = moved_results({path: checked.result}, {path: move})
                return replace(checked, result=results[path])
        return None

    def note_layout(self, path: str, result: FileResult) -> None:
        """Note what decided what was found in a file that was checked alone."""
        if self.layouts is not None and not path.endswith(_NOTEBOOK):
            text = self._store.text(path)
            self.layouts.alone[path] = Layout(text, layout_digest(text), result.words)

    def note_group(self, name: str, group: Group) -> None:
        """Note what was found in files that were executed together."""
        self.now.groups[name] = group
        if self.layouts is not None:
            for path in group.reads.codes:
                if not path.endswith(_NOTEBOOK):
                    text = self._store.text(path)
                    self.layouts.together[path] = Layout(text, layout_digest(text), {})

    def _has_same_layout(self, path: str) -> bool:
        """Return whether a file that was checked alone only has other comments, or texts in
        docstrings, of which none decides anything.
        """
        known = self._known_layout(path)
        return known is not None and known.digest == layout_digest(self._store.text(path))

    def _known_layout(self, path: str) -> Layout | None:
        """Return the layout of a file that was checked alone, if its settings are what they were,
        and all that was looked for in the text.
        """
        known = None if self.layouts is None else self.layouts.alone.get(path)
        before, now = self._before.texts.get(path), self.now.texts.get(path)
        if (
            known is None
            or before is None
            or now is None
            or before.settings != now.settings
            or not self._says(path, known.words)
        ):
            return None
        return known

    def _is_laid_out_alike(self, path: str) -> bool:
        """Return whether the same holds of a file that was executed with others, but for words."""
        known = None if self.layouts is None else self.layouts.together.get(path)
        return known is not None and known.digest == layout_digest(self._store.text(path))

    def _says(self, path: str, words: Mapping[bytes, bool]) -> bool:
        """Return whether the text of a file has these words, and has not the others."""
        data = self._store.text(path).encode("utf-8", "surrogatepass")
        return all((word in data) is known for word, known in words.items())

    @property
    def beside(self) -> dict[str, str]:
        """What shows a change beside the files of which it decides something what lies there."""
        results = [(path, checked.result) for path, checked in self.now.checked.items()]
        for group in self.now.groups.values():
            results += group.results.items()
        neighbours = self._store.shared(Neighbours)
        return {path: neighbours.stamp(path) for path, result in results if result.asks_beside}

    def _is_known_beside(self, path: str, result: FileResult) -> bool:
        """Return whether what lies beside a file is what it was, if that decides something."""
        if not result.asks_beside:
            return True
        stamp = self._beside.get(path)
        return bool(stamp) and stamp == self._store.shared(Neighbours).stamp(path)

    def _note(self, path: str, stamp: tuple[int, int, int, int], content: str, key: str) -> None:
        self.now.texts[path] = TextDigest(content, key)
        self.files[path] = FileState(stamp, content, key)

    def _is_unchanged(self, path: str) -> bool:
        return path in self.now.texts and self.now.texts[path] == self._before.texts.get(path)

    def _has_same_text(self, path: str) -> bool:
        before, now = self._before.texts.get(path), self.now.texts.get(path)
        return before is not None and now is not None and before.content == now.content


def says_nothing_of(path: str, results: Mapping[str, FileResult]) -> bool:
    """Return whether no result depends on in which lines of a file its code is.

    So it is where nothing was found in it, or points into it. A message that names a line may mean
    one of any file.
    """
    name = os.path.basename(path)
    for result in results.values():
        for finding in (*result.findings, *(each.finding for each in result.suppressed)):
            edits = () if finding.fix is None else finding.fix.edits
            places = [finding.path, *(each.path for each in finding.related)]
            places += [each.path for each in edits]
            if path in places or names_a_line(finding, name):
                return False
    return True
