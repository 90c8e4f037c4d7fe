"""A run with a cache: nothing is looked at again that cannot have changed its meaning."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from placement_lint.config.line_length import line_length
from placement_lint.findings import INTERNAL_ERROR, IO_ERROR
from placement_lint.lint.incremental.cache import Last, digest, recall
from placement_lint.lint.progress import tell_nobody
from placement_lint.project.sources import Sources
from placement_lint.project.target import deciding_text, forget
from placement_lint.timing import CACHE, IMPORTING, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from placement_lint.config.settings import Settings
    from placement_lint.limits.budget import Limits
    from placement_lint.lint.incremental.cache import Cache
    from placement_lint.lint.progress import Tell
    from placement_lint.lint.results import Outcome

_DEPENDING_ON_CHANCE = frozenset({IO_ERROR, INTERNAL_ERROR})
"""Findings of what could not be read, and of our own failures: the next run tries again."""


def lint_cached(
    files: Sequence[str],
    settings_for: Callable[[str], Settings],
    here: Settings,
    cache: Cache,
    *,
    jobs: int = 1,
    folders: bool = False,
    prepare: Callable[[], None] = lambda: None,
    tell: Tell = tell_nobody,
    limits: Limits | None = None,
) -> Outcome:
    """Check files as `lint_paths` does, by what the last run left in the cache where that holds.

    The settings are the same for all the files of a folder, but for `per_file_ignores`.
    `here` are the settings of the folder that the tool was called in. `prepare` is called before
    any file is looked at, and `tell` is told all along how far the run is. `limits` is what the run
    may take.
    """
    started = time.perf_counter()
    forget()
    files = sorted(dict.fromkeys(files))
    digests = Digests(settings_for)
    surroundings = [folders, _digest(here, "", None), packages_around(files)]
    with timed(CACHE):
        last = cache.last()
        if last is not None:
            sources = Sources()
            outcome, renewed = recall(last, files, digests, surroundings, sources, started)
            if outcome is not None:
                if renewed:
                    cache.keep_stamps(renewed, last)
                return outcome
    prepare()
    return _lint(
        files, settings_for, cache, jobs, folders, digests, surroundings, last, tell, limits
    )


def _lint(
    files: Sequence[str],
    settings_for: Callable[[str], Settings],
    cache: Cache,
    jobs: int,
    folders: bool,
    digests: Callable[[str], str],
    surroundings: Any,
    last: Last | None,
    tell: Tell,
    limits: Limits | None,
) -> Outcome:
    with timed(IMPORTING):
        from placement_lint.lint.incremental.records import Memory
        from placement_lint.lint.incremental.revision import Recollection
        from placement_lint.lint.run import lint_paths

    usable = last is not None and last.surroundings == surroundings
    with timed(CACHE):
        before = cache.memory(last) if last is not None and usable else None
    seen = last.files if last is not None and before is not None else {}
    recollection = Recollection(before or Memory(), seen, digests)
    outcome = lint_paths(
        files,
        settings_for,
        jobs=jobs,
        folders=folders,
        recollection=recollection,
        tell=tell,
        limits=limits,
    )
    is_certain = recollection.is_certain and not any(
        finding.code in _DEPENDING_ON_CHANCE for finding in outcome.findings
    )
    kept = outcome if is_certain and len(recollection.files) == len(files) else None
    with timed(CACHE):
        cache.keep(recollection.files, surroundings, kept, recollection.now)
    return outcome


class Digests:
    """Gives, by its path, what stands for all that is set for a file: one for each folder."""

    def __init__(self, settings_for: Callable[[str], Settings]) -> None:
        self._settings_for = settings_for
        self._of_folder: dict[str, str] = {}
        self._of_settings: dict[tuple[int, str, int | None], str] = {}

    def __call__(self, path: str) -> str:
        """Give it for one file."""
        folder = os.path.dirname(path)
        if folder not in self._of_folder:
            settings = self._settings_for(path)
            target = deciding_text(settings.target_jax, path)
            length = line_length(path)
            by_settings = (id(settings), target, length)
            if by_settings not in self._of_settings:
                self._of_settings[by_settings] = _digest(settings, target, length)
            self._of_folder[folder] = self._of_settings[by_settings]
        return self._of_folder[folder]


def _digest(settings: Settings, target: str, length: int | None) -> str:
    told = [
        settings.select,
        settings.extend_select,
        settings.ignore,
        settings.extend_ignore,
        sorted(settings.per_file_ignores.items()),
        sorted(settings.extend_per_file_ignores.items()),
        str(settings.root),
        settings.accelerator,
        settings.min_confidence,
        target,
        length,
    ]
    return digest(json.dumps(told).encode())[:16]


def packages_around(files: Sequence[str]) -> str:
    """Give what stands for which of the folders that files lie in, or above them, are packages."""
    within = {os.path.abspath(folder) for folder in {os.path.dirname(path) for path in files}}
    folders = set(within)
    for folder in within:
        above = os.path.dirname(folder)
        while above not in folders:
            folders.add(above)
            above = os.path.dirname(above)
    packages = [
        folder for folder in sorted(folders) if os.path.exists(os.path.join(folder, "__init__.py"))
    ]
    return digest("\n".join(packages).encode("utf-8", "surrogatepass"))
