"""placement-lint as a plugin of flake8: the entry point `JDP`.

flake8 hands over one file at a time, and so does each of its processes. The files that it was
asked for are taken for one run, as `placement-lint` takes those named to it: what one of them says
counts for the others, whichever is being checked. Standard input is looked at alone.

- Which files are checked is for flake8 to say; those that our own settings exclude are left out,
  as `placement-lint` would leave them out of the same paths.
- Settings are read as on the command line; with `flake8 --isolated` none are.
- `# noqa` comments are left to flake8. Our own comments hold.
- A file that Python cannot parse is flake8's to report (E999).
- Notebooks are no files for flake8; `placement-lint` reads them itself.
"""

from __future__ import annotations

import codecs
import functools
import multiprocessing
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from placement_lint.config.load import SettingsLoader
from placement_lint.config.values import SettingsError
from placement_lint.files.discovery import SUFFIXES, find_files, is_excluded
from placement_lint.files.notebook import is_notebook
from placement_lint.files.opening import masked
from placement_lint.files.source import Source, declared_encoding
from placement_lint.limits.budget import limits_of
from placement_lint.lint.file_results import tool_finding
from placement_lint.lint.linter import Linter
from placement_lint.lint.suppressions.baseline import Baselines
from placement_lint.report.escape import escape
from placement_lint.rules.registry import all_rules
from placement_lint.rules.selection import UnknownSelectorError, select_rules
from placement_lint.rules.tool.io_error import IoError
from placement_lint.version import __version__

if TYPE_CHECKING:
    import argparse
    import ast
    from collections.abc import Iterable, Iterator, Sequence

    from placement_lint.config.settings import Settings
    from placement_lint.findings import Finding

_STDIN = "-"
_CODE = re.compile(r"JDP[0-9]{3}")


class Plugin:
    """What flake8 makes one of for each file that Python can parse."""

    name = "placement-lint"
    version = __version__
    _options: ClassVar[argparse.Namespace | None] = None

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        """Take what flake8 knows of a file."""
        # To ask for the tree is to be asked only about what Python parses; it has no comments.
        del tree
        self._filename = filename
        self._lines = lines

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Note what flake8 was asked, and look around before it starts its processes."""
        cls._options = options
        # Who calls flake8 as a library says later which files are meant.
        if _STDIN not in options.filenames and (options.filenames or _is_command()):
            try:
                _host(*_asked(options))
            except SettingsError as error:
                raise _fatal(error) from error

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """Return line, column from 0, and text of each finding in the file."""
        for finding in self._findings():
            text = f"{finding.code} {escape(finding.message)}"
            yield finding.span.line, finding.span.column - 1, text, type(self)

    @property
    def _is_stdin(self) -> bool:
        """Return whether the text is that of standard input: flake8 gives its name as displayed."""
        told = {} if self._options is None else vars(self._options)
        names = {_STDIN, told.get("stdin_display_name")}
        return _STDIN in told.get("filenames", ()) and self._filename in names

    def _findings(self) -> Iterable[Finding]:
        if is_notebook(self._filename):
            return ()
        try:
            host = _host(*_asked(self._options))
            if self._is_stdin:
                return host.in_text("".join(self._lines), self._filename)
            return host.in_file(self._filename)
        except SettingsError as error:
            if multiprocessing.parent_process() is None:
                raise _fatal(error) from error
            # An exception in one of several processes may leave flake8 waiting without end.
            message = f"cannot be checked: {error}"
            return (tool_finding(IoError, self._filename, message),)


class _Host:
    """One call of flake8: the files that it was asked for, and how they are to be checked."""

    def __init__(self, paths: Sequence[str], codes: Sequence[str], *, isolated: bool) -> None:
        # A rule that is off by default is on where flake8 is asked for it by its whole code.
        options = {"extend_select": tuple(codes)} if codes else {}
        self._loader = SettingsLoader(isolated=isolated, options=options)
        self._named = {os.path.realpath(path) for path in paths if path != _STDIN}
        found = find_files([path for path in paths if path != _STDIN], self._loader.for_folder)
        self._baselines = Baselines(self._loader.for_file)
        for path in found.files:
            self._baselines.of(path)
        here = self._loader.for_folder(".")
        self._linter = Linter(
            self._settings_for,
            folders=found.walked > 0,
            respect_noqa=False,
            limits=limits_of(here.time_limit, here.memory_limit, jobs=os.cpu_count() or 1),
        )
        self._linter.files = found.files
        self._linter.select()
        self._under = {os.path.realpath(path): path for path in found.files}

    def in_file(self, filename: str) -> Iterable[Finding]:
        """Return what is found in a file, as part of the run where it belongs to it."""
        real = os.path.realpath(filename)
        if real in self._under:
            return self._new(self._linter.check_file(self._under[real]))
        path = Path(filename).as_posix()
        settings = self._loader.for_file(path)
        if is_excluded(path, settings) and (settings.force_exclude or real not in self._named):
            return ()
        if path.endswith(SUFFIXES) and self._is_walked(real):
            # Left out for another reason: git ignores it.
            return ()
        linter = Linter(self._settings_for, respect_noqa=False, store=self._linter.store)
        linter.files = [path]
        return self._new(linter.check_file(path))

    def in_text(self, text: str, name: str) -> Iterable[Finding]:
        """Return what is found in standard input."""
        path = Path(name).as_posix()
        settings = self._loader.for_file(path)
        if settings.force_exclude and is_excluded(path, settings):
            return ()
        linter = Linter(self._settings_for, respect_noqa=False)
        outcome, _ = linter.check_text(path, _encoded(text))
        return self._baselines.new(outcome.findings, lambda _: masked(Source(path, text)))

    def _new(self, findings: Iterable[Finding]) -> Iterable[Finding]:
        """Return the findings that no baseline knows."""
        return self._baselines.new(findings, self._linter.store.source_if_readable)

    def _settings_for(self, path: str) -> Settings:
        settings = self._loader.for_file(path)
        try:
            select_rules(settings, "")
        except UnknownSelectorError as error:
            message = f"{settings.source or 'the settings'}: {error}"
            raise SettingsError(message) from error
        return settings

    def _is_walked(self, real: str) -> bool:
        """Return whether a file lies in a folder that was named."""
        return any(str(parent) in self._named for parent in Path(real).parents)


def _encoded(text: str) -> bytes:
    """Return the bytes that are read as this text, whatever encoding its first lines declare."""
    data = text.encode("utf-8", "surrogatepass")
    if data.startswith(codecs.BOM_UTF8):
        return data
    try:
        return text.encode(declared_encoding(data))
    except (SyntaxError, LookupError, UnicodeError):
        # Such a file cannot be read, and it is a finding that says so.
        return data


def _asked(options: argparse.Namespace | None) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Return what a run depends on: the paths, rules that are asked for by name, and --isolated."""
    told: dict[str, Any] = {} if options is None else vars(options)
    selected = [*(told.get("select") or ()), *(told.get("extend_select") or ())]
    known = {rule.code for rule in all_rules()}
    codes = sorted({code for code in selected if _CODE.fullmatch(code) and code in known})
    # flake8 reads this one before the others, and does not hand it on.
    isolated = "--isolated" in sys.argv[1:] and options is not None
    return tuple(told.get("filenames") or ["."]), tuple(codes), isolated


@functools.lru_cache(maxsize=1)
def _host(paths: tuple[str, ...], codes: tuple[str, ...], isolated: bool) -> _Host:
    return _Host(paths, codes, isolated=isolated)


def _is_command() -> bool:
    """Return whether this is the command `flake8` or `python -m flake8`."""
    program = Path(sys.argv[0])
    return program.stem == "flake8" or program.parts[-2:] == ("flake8", "__main__.py")


def _fatal(error: Exception) -> Exception:
    """Return what flake8 shows as one line, and ends with."""
    message = f"placement-lint: {error}"
    try:
        from flake8.exceptions import ExecutionError
    except ImportError:  # whoever calls us, it is not flake8
        return SettingsError(message)
    fatal: Exception = ExecutionError(message)
    return fatal
