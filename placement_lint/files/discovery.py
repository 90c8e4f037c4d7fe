"""Paths to files: what a run reads, what it passes over, and what it was asked for in vain."""

from __future__ import annotations

import functools
import os
import stat
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from placement_lint.files.globs import Globs
from placement_lint.regular import MOST_OF_SETTINGS, read_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SUFFIXES = (".py", ".pyi", ".ipynb")


class FiltersError(Exception):
    """Settings of a folder that cannot be used; the message says which, and why."""


class Filters(Protocol):
    """The settings that say what is passed over; `Settings` is one."""

    @property
    def exclude(self) -> tuple[str, ...]:
        """Globs, in the syntax of .gitignore."""

    @property
    def extend_exclude(self) -> tuple[str, ...]:
        """More of them."""

    @property
    def force_exclude(self) -> bool:
        """Whether they hold for files that are named as well."""

    @property
    def respect_gitignore(self) -> bool:
        """Whether what git ignores is passed over."""

    @property
    def root(self) -> Path | None:
        """The folder that the globs are relative to; None: the current one."""


@dataclass(frozen=True, order=True)
class Passed:
    """A path that is not linted, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class Found:
    """What a run reads. All paths are as the user gave them, in one order whatever theirs was."""

    files: tuple[str, ...]
    skipped: tuple[Passed, ...]
    """What has the name of a source file and is none."""
    excluded: tuple[str, ...]
    """What was named and is excluded."""
    failed: tuple[Passed, ...]
    """What was asked for and is not there or cannot be looked into."""
    walked: int = 0
    """How many of the named paths are folders that were looked into."""
    unread: tuple[Passed, ...] = ()
    """Files of globs that could not be read, and so ignore nothing."""
    folders: tuple[str, ...] = ()
    """The folders that were looked into, as they really are named."""
    globs: tuple[str, ...] = ()
    """The files of globs that were looked for, whether they are there or not."""
    links: tuple[str, ...] = ()
    """The links in these folders."""

    @property
    def excluded_only(self) -> bool:
        """Whether everything that was named is excluded."""
        return bool(self.excluded) and not (self.files or self.failed or self.walked)


def find_files(
    paths: Sequence[str],
    filters_for_folder: Callable[[str], Filters],
    suffixes: tuple[str, ...] = SUFFIXES,
) -> Found:
    """Find the files to lint.

    A file that is named is linted whatever its name and whatever excludes it, unless
    `force_exclude`. A folder that is named is walked: files with one of the suffixes, without
    what is excluded or git ignores. A glob that excludes the named folder itself is set aside in
    it: naming it is asking for it. Links to folders are not followed, except a named one, and links
    to files only where these lie in a named folder: a link that somebody left there leads to no
    file that nobody asked about. A file that is reached twice is linted once, under its shortest
    path.

    `filters_for_folder` may raise FiltersError: then that folder has failed, with what lies below.
    """
    named = [*dict.fromkeys(map(display_path, paths))]
    walk = _Walk(filters_for_folder, suffixes, frozenset(map(_real, named)))
    for path in named:
        walk.start(path)
    return walk.found()


def display_path(path: str) -> str:
    """Return a path as it is shown: without a leading `./`, with forward slashes."""
    return Path(path).as_posix()


def is_excluded(path: str, filters: Filters) -> bool:
    """Return whether the settings exclude a file, or a folder above it."""
    return is_matched(path, (*filters.exclude, *filters.extend_exclude), filters.root)


def is_matched(path: str, globs: tuple[str, ...], root: Path | None) -> bool:
    """Return whether globs match a path or a folder above it; the path need not exist.

    `root` is the folder that the globs are relative to; None: the current one. Outside of it only
    those globs hold that name no path.
    """
    parts = Path(os.path.abspath(path)).parts
    usable, base = _usable_globs(globs, root, parts)
    return usable.covers(parts[len(base) :], is_folder=os.path.isdir(path))


@dataclass
class _Ignores:
    """The globs that hold in one folder, each with how many leading parts its paths lose."""

    levels: tuple[tuple[Globs, tuple[str, ...]], ...]

    def ignore(self, absolute: tuple[str, ...], *, is_folder: bool) -> bool:
        for globs, base in reversed(self.levels):
            verdict = globs.verdict(absolute[len(base) :], is_folder=is_folder)
            if verdict is not None:
                return verdict
        return False

    def suspects(self, names: set[str]) -> set[str]:
        """Return those names of which a glob may speak."""
        return {name for globs, _ in self.levels for name in globs.suspects(names)}


@dataclass
class _Excludes(_Ignores):
    """Globs of settings, whose folder need not be one around what is asked about."""

    elsewhere: Globs
    """Those that hold outside of that folder."""

    def ignore(self, absolute: tuple[str, ...], *, is_folder: bool) -> bool:
        ((_, base),) = self.levels
        if absolute[: len(base)] == base and len(absolute) > len(base):
            return super().ignore(absolute, is_folder=is_folder)
        return bool(self.elsewhere.verdict(absolute[1:], is_folder=is_folder))


@dataclass
class _Walk:
    filters_for_folder: Callable[[str], Filters]
    suffixes: tuple[str, ...]
    roots: frozenset[str]
    """Where the named folders and files really are."""
    files: dict[str, tuple[bool, int, str]] = field(default_factory=dict)
    """From where a file really is to what it is shown under: a link last, the shortest first."""
    excludes: dict[object, _Ignores] = field(default_factory=dict)
    skipped: set[Passed] = field(default_factory=set)
    failed: set[Passed] = field(default_factory=set)
    excluded: set[str] = field(default_factory=set)
    unread: set[Passed] = field(default_factory=set)
    walked: int = 0
    folders: list[str] = field(default_factory=list)
    globs: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)

    def found(self) -> Found:
        return Found(
            files=tuple(sorted([path for _, _, path in self.files.values()])),
            skipped=tuple(sorted(self.skipped)),
            failed=tuple(sorted(self.failed)),
            excluded=tuple(sorted(self.excluded)),
            walked=self.walked,
            unread=tuple(sorted(self.unread)),
            folders=tuple(sorted({*self.folders})),
            globs=tuple(sorted({*self.globs})),
            links=tuple(sorted({*self.links})),
        )

    def start(self, path: str) -> None:
        try:
            mode = Path(path).stat().st_mode
        except (OSError, ValueError) as error:
            self.failed.add(Passed(path, _reason(error)))
            return
        if stat.S_ISDIR(mode):
            self._folder(path)
        elif not stat.S_ISREG(mode):
            self.failed.add(Passed(path, "not a regular file"))
        else:
            filters = self._filters(os.path.dirname(path) or ".", path)
            if filters is None:
                return
            if filters.force_exclude and is_excluded(path, filters):
                self.excluded.add(path)
            else:
                self._add(path, os.path.realpath(path), is_link=os.path.islink(path))

    def _folder(self, given: str) -> None:
        filters = self._filters(given, given)
        if filters is None:
            return
        if filters.force_exclude and is_excluded(given, filters):
            self.excluded.add(given)
            return
        self.walked += 1
        absolute = Path(os.path.abspath(given))
        real = os.path.realpath(given)
        above = self._ignores_above(absolute) if filters.respect_gitignore else _Ignores(())
        pending = [("" if given == "." else given, real, absolute.parts, above)]
        while pending:
            shown, real, parts, ignores = pending.pop()
            pending += self._entries(shown, real, parts, ignores, absolute.parts)

    def _entries(
        self,
        shown: str,
        real: str,
        parts: tuple[str, ...],
        above: _Ignores,
        given: tuple[str, ...],
    ) -> list[tuple[str, str, tuple[str, ...], _Ignores]]:
        """Take the files of one folder, and give the folders in it that are to be walked."""
        filters = self._filters(shown or ".", shown or ".")
        if filters is None:
            return []
        try:
            with os.scandir(real) as listing:
                entries = sorted(listing, key=attrgetter("name"))
        except OSError as error:
            self.failed.add(Passed(shown or ".", _reason(error)))
            return []
        self.folders.append(real)
        self.links += [entry.path for entry in entries if entry.is_symlink()]
        names = {entry.name for entry in entries}
        ignores = above
        if filters.respect_gitignore:
            ignores = self._inside(above, real, parts, names, given)
        excludes = self._excludes(filters, given)
        suspects = excludes.suspects(names) | ignores.suspects(names)
        folders = []
        start = f"{shown.rstrip('/')}/" if shown else ""
        for entry in entries:
            name = entry.name
            is_folder = _is_folder(entry)
            if not (is_folder or name.endswith(self.suffixes) or _is_folder_link(entry)):
                continue
            if name in suspects and any(
                each.ignore((*parts, name), is_folder=is_folder) for each in (excludes, ignores)
            ):
                continue
            if is_folder:
                folders.append((start + name, entry.path, (*parts, name), ignores))
            else:
                self._candidate(entry, start + name)
        return folders

    def _candidate(self, entry: os.DirEntry[str], path: str) -> None:
        if entry.is_file(follow_symlinks=False):
            # The folder says so itself: there is no need to ask for the file's status.
            self._add(path, entry.path, is_link=False)
            return
        try:
            mode = entry.stat().st_mode
        except OSError as error:
            reason = "a link to nothing" if entry.is_symlink() else _reason(error)
            self.skipped.add(Passed(path, reason))
            return
        if stat.S_ISREG(mode):
            is_link = entry.is_symlink()
            real = os.path.realpath(entry.path) if is_link else entry.path
            if is_link and not self._is_asked_for(real):
                reason = "a link to a file outside of the linted directories"
                self.skipped.add(Passed(path, reason))
            else:
                self._add(path, real, is_link=is_link)
        elif stat.S_ISDIR(mode):
            self.skipped.add(Passed(path, "a link to a directory is not followed"))
        else:
            self.skipped.add(Passed(path, "not a regular file"))

    def _is_asked_for(self, real: str) -> bool:
        """Return whether a file is named, or lies in a named folder, wherever that is."""
        while real not in self.roots:
            above = os.path.dirname(real)
            if above == real:
                return False
            real = above
        return True

    def _filters(self, folder: str, path: str) -> Filters | None:
        """Return the settings of a directory; None if they cannot be used, and a path failed."""
        try:
            return self.filters_for_folder(folder)
        except FiltersError as error:
            self.failed.add(Passed(path, str(error)))
            return None

    def _add(self, path: str, real: str, *, is_link: bool) -> None:
        name = (is_link, len(path), path)
        known = self.files.get(real)
        if known is None or name < known:
            self.files[real] = name

    def _excludes(self, filters: Filters, given: tuple[str, ...]) -> _Ignores:
        """Return the excludes that hold below a named folder."""
        key = (filters.exclude, filters.extend_exclude, filters.root, given)
        if key not in self.excludes:
            lines = (*filters.exclude, *filters.extend_exclude)
            globs, base = _usable_globs(lines, filters.root, given)
            if len(given) > len(base):
                globs = globs.without_those_that_match(given[len(base) :])
            self.excludes[key] = _Excludes(((globs, base),), globs.names_only())
        return self.excludes[key]

    def _ignores_above(self, folder: Path) -> _Ignores:
        """Collect what a repository around a folder ignores, from its root down to above it."""
        if _is_repository(folder):
            return _Ignores(())
        root = next((above for above in folder.parents if _is_repository(above)), None)
        if root is None:
            return _Ignores(())
        ignores = _Ignores(())
        for depth in range(len(root.parts), len(folder.parts)):
            parts = folder.parts[:depth]
            real = str(Path(*parts))
            names = {
                name for name in (".git", ".gitignore") if os.path.exists(os.path.join(real, name))
            }
            ignores = self._inside(ignores, real, parts, names, folder.parts)
        return ignores

    def _inside(
        self,
        above: _Ignores,
        real: str,
        parts: tuple[str, ...],
        names: set[str],
        given: tuple[str, ...],
    ) -> _Ignores:
        """Return what holds inside a folder: what holds above it, and its own .gitignore.

        A repository inside another one has its own rules.
        """
        levels = above.levels
        sources = []
        if ".git" in names:
            levels = ()
            sources.append(os.path.join(real, ".git", "info", "exclude"))
        if ".gitignore" in names:
            sources.append(os.path.join(real, ".gitignore"))
        for source in sources:
            globs = self._read_globs(source)
            if len(given) > len(parts):
                globs = globs.without_those_that_match(given[len(parts) :])
            if globs.globs:
                levels = (*levels, (globs, parts))
        return _Ignores(levels)

    def _read_globs(self, path: str) -> Globs:
        """Read a file of globs. One that cannot be read ignores nothing, as for git."""
        self.globs.append(path)
        try:
            data = read_regular(path, MOST_OF_SETTINGS)
        except (FileNotFoundError, NotADirectoryError):
            return Globs(())
        except OSError as error:
            self.unread.add(Passed(path, _reason(error)))
            return Globs(())
        text = data.decode("utf-8-sig", "surrogateescape")
        return Globs.parse(text.replace("\r\n", "\n").split("\n"))


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # what is wrong with it is said when it is looked at
        return path


def _usable_globs(
    lines: tuple[str, ...], root: Path | None, parts: tuple[str, ...]
) -> tuple[Globs, tuple[str, ...]]:
    """Return the globs that can speak of a path, and the folder that they are relative to."""
    base = (root or Path.cwd()).parts
    globs = _parse_globs(lines)
    shared = min(len(base), len(parts))
    if parts[:shared] != base[:shared]:
        return globs.names_only(), parts[:1]
    return globs, base


@functools.cache
def _parse_globs(lines: tuple[str, ...]) -> Globs:
    return Globs.parse(lines)


def _is_repository(folder: Path) -> bool:
    return os.path.exists(folder / ".git")


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_folder_link(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_symlink() and entry.is_dir()
    except OSError:
        return False


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)
