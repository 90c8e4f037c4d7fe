"""`--watch`: lint again whenever a file changes that a run reads, until Ctrl-C."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from placement_lint.cli import streams
from placement_lint.cli.filters import filters_by
from placement_lint.config.load import SettingsLoader
from placement_lint.config.values import SettingsError
from placement_lint.files.discovery import find_files
from placement_lint.files.folders import OWN, decides, upwards

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from placement_lint.cli.parser import Parser

INTERVAL = 0.3
"""Seconds between two looks at the files, at least."""
_SHARE = 0.05
"""Of the time that looking may take; a large project is looked at less often."""
_SETTLING = 0.05
"""Seconds in which nothing more changes: an editor saves several files one after the other."""
_CLEAR = "\x1b[2J\x1b[H"

_Stamps = dict[str, tuple[int, int, int]]


class Stamps(NamedTuple):
    """What shows a change of anything that a run reads."""

    sources: _Stamps
    others: _Stamps
    """Of what decides something about the sources."""


def demand_sense(args: argparse.Namespace, parser: Parser, *, from_stdin: bool) -> None:
    """End the run where it cannot be repeated."""
    if from_stdin:
        parser.error("--watch: standard input does not change")
    for name in ("write_baseline", "update_baseline", "show_files", "show_settings"):
        if getattr(args, name):
            parser.error(f"--watch and --{name.replace('_', '-')}: that is done once")


def watch(
    run: Callable[[], int],
    stamps: Callable[[], Stamps],
    *,
    is_quiet: bool,
) -> int:
    """Run again after each change of the stamps; return the last exit code.

    It ends at Ctrl-C, and when the program that reads its output has ended.
    """
    code: int | None = None
    to_pipe = streams.is_pipe(sys.stdout)

    def is_read() -> bool:
        return not to_pipe or streams.has_reader(sys.stdout)

    try:
        while True:
            before = stamps()
            if streams.is_terminal(sys.stdout):
                streams.write(_CLEAR)
            code = run()
            if not is_quiet:
                count = len(before.sources)
                files = "1 file" if count == 1 else f"{count:,} files"
                streams.complain(f"Watching {files} for changes; Ctrl-C ends.")
            if not _wait(before, stamps, is_read):
                return code
    except KeyboardInterrupt:
        if code is None:
            raise
        return code


def _wait(before: Stamps, stamps: Callable[[], Stamps], is_read: Callable[[], bool]) -> bool:
    """Return True when the stamps are others, and have been the same for a moment.

    Return False when nobody reads any more what is written.
    """
    interval = INTERVAL
    while is_read():
        pause(interval)
        started = time.process_time()
        now = stamps()
        interval = max(INTERVAL, (time.process_time() - started) / _SHARE)
        if now != before:
            break
    while is_read():
        pause(_SETTLING)
        settled = stamps()
        if settled == now:
            return True
        now = settled
    return False


def pause(seconds: float) -> None:
    time.sleep(seconds)


def stamps_of(
    paths: Sequence[str], configs: Sequence[str], options: Mapping[str, object], *, isolated: bool
) -> Stamps:
    """Return what shows a change of the files to lint, and of what settings may be read from."""
    stamps = Stamps({}, {})
    try:
        loader = SettingsLoader(isolated=isolated, configs=configs, options=options)
        found = find_files(paths, filters_by(loader))
        files = found.files
        # Not those of our own cache, which the first run makes.
        globs = tuple(each for each in found.globs if f"{os.sep}{OWN}{os.sep}" not in each)
    except SettingsError:
        # Until the settings are right again, they are what is waited for.
        files, globs = (), ()
    for path in (*configs, *globs):
        _stamp(path, stamps.others)
    seen: set[str] = set()
    for path in (*files, *(os.path.join(path, "") for path in paths)):
        _stamp(path, stamps.sources)
        for folder in upwards(os.path.abspath(os.path.dirname(path))):
            if folder in seen:
                break
            seen.add(folder)
            for name in filter(decides, _names_in(folder)):
                _stamp(os.path.join(folder, name), stamps.others)
    return stamps


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _stamp(path: str, stamps: _Stamps) -> None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return
    # A directory's own times change with whatever is written there, a cache or a report.
    if not os.path.isdir(path):
        stamps[path] = (status.st_size, status.st_ino, status.st_mtime_ns)
