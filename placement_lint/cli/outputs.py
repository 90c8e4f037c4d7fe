"""Where the findings of a run go, in which formats: at least one place, any number of files."""

from __future__ import annotations

import os
import sys

from placement_lint.cli import streams
from placement_lint.config.options import FORMAT_ALIASES, FORMATS
from placement_lint.report.colour import WIDEST, Colours
from placement_lint.report.formats import render, render_statistics
from placement_lint.report.report import Report

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TextIO

    from placement_lint.findings import Finding
    from placement_lint.lint.results import Outcome, Skipped

STANDARD_OUTPUT = "-"
_STATISTICS = ("flake8", "full", "json")
"""What `--statistics` can be written as; the first two are one text."""
_LONGEST_FORMAT = 12
"""A longer word in front of a colon is the beginning of a file's name."""
_ROOTED = ("github", "gitlab", "markdown", "sarif")
"""What has paths from the top of the repository on."""


class Output:
    """One place for a report."""

    __slots__ = ("file", "form")

    def __init__(self, file: str, form: str | None) -> None:
        """Take a path or `-`, and a format; None: what `--output-format` says."""
        self.file = file
        self.form = form


class Outputs:
    """The places for one run's report."""

    def __init__(
        self,
        asked: Iterable[str],
        *,
        color: str = "auto",
        statistics: bool = False,
        diff: bool = False,
    ) -> None:
        """Take what `--output-file` was given: `FILE` or `FORMAT:FILE`, each.

        Without a `FILE` alone, or `-`, a report is printed as well. Raises OutputError for what
        contradicts itself, and for files that cannot be written.
        """
        self.before: tuple[Finding, ...] | None = None
        """What was found in an earlier commit, for `--statistics` to compare with."""
        self._color = color
        self._statistics = statistics
        self._outputs = [_output(each) for each in asked]
        self.file = next(
            (each.file for each in self._outputs if each.form is None and not _is_printed(each)),
            None,
        )
        """The file that takes the place of standard output, if one does."""
        if diff and any(each.form is not None for each in self._outputs):
            raise streams.OutputError(
                "--diff writes no findings: it cannot be combined with a format of --output-file"
            )
        if diff and statistics:
            raise streams.OutputError(
                "--diff writes no findings: it cannot be combined with --statistics"
            )
        self._demand_different_places()
        for each in self._outputs:
            if not _is_printed(each):
                streams.demand_folder(each.file)
        if not any(each.form is None or _is_printed(each) for each in self._outputs):
            self._outputs.insert(0, Output(STANDARD_OUTPUT, None))

    def _demand_different_places(self) -> None:
        places = [
            STANDARD_OUTPUT if _is_printed(each) else os.path.realpath(each.file)
            for each in self._outputs
        ]
        twice = next((each for each in places if places.count(each) > 1), None)
        if twice is not None:
            what = "standard output" if twice == STANDARD_OUTPUT else twice
            message = f"--output-file: {what} can take one report, not several"
            raise streams.OutputError(message)
        whole = [each.file for each in self._outputs if each.form is None]
        if len(whole) > 1:
            message = (
                f"--output-file: {whole[0]} and {whole[1]} would be the same: "
                f"say the format of one, as in json:{whole[1]}"
            )
            raise streams.OutputError(message)

    def forms(self, setting: str | None) -> set[str]:
        """Return the formats that are asked for; `setting` is the one where none is said."""
        return {form for each in self._outputs if (form := each.form or setting)}

    def demand_statistics(self, setting: str | None) -> None:
        """Raise OutputError where `--statistics` is to be in a format that it is not written in."""
        if not self._statistics:
            return
        for each in self._outputs:
            form = each.form or setting
            if _takes_statistics(each) and form is not None and form not in _STATISTICS:
                message = f"--statistics is written as text or json, not as {form}"
                raise streams.OutputError(message)

    def write(
        self,
        outcome: Outcome,
        setting: str | None,
        *,
        exit_code: int,
        failed: Sequence[Skipped] = (),
        most: int | None = None,
        to_stderr: bool = False,
    ) -> int:
        """Write a report to every place, and give how many findings were left out.

        `setting` is the format where none is said for a place. `most`: write no more findings than
        these. `to_stderr`: standard output is taken by something else. Raises OutputError, or what
        a format raises by our fault, after all has been written that can be.
        """
        root = self._root(setting)
        report = whole = Report(outcome, root, exit_code, failed=tuple(failed))
        omitted = 0 if most is None else max(len(outcome.findings) - most, 0)
        if omitted:
            from dataclasses import replace

            written = replace(outcome, findings=outcome.findings[:most])
            report = Report(written, root, exit_code, omitted, whole.failed)
        problem: Exception | None = None
        for each in self._outputs:
            try:
                if self._statistics and _takes_statistics(each):
                    self._write_one(each, whole, setting, to_stderr=to_stderr)
                else:
                    self._write_one(each, report, setting, to_stderr=to_stderr)
            except Exception as error:
                problem = problem or error
        if problem is not None:
            raise problem
        only_statistics = self._statistics and all(map(_takes_statistics, self._outputs))
        return 0 if only_statistics else omitted

    def _write_one(
        self, output: Output, report: Report, setting: str | None, *, to_stderr: bool
    ) -> None:
        stream = (sys.stderr if to_stderr else sys.stdout) if _is_printed(output) else None
        form = output.form or setting or ("full" if streams.is_terminal(stream) else "flake8")
        report = report.painted(self._colours(stream, form))
        if self._statistics and _takes_statistics(output):
            text = render_statistics(form, report, self.before)
        else:
            text = render(form, report)
        if not _is_printed(output):
            streams.write_file(output.file, text)
        elif not to_stderr:
            streams.write(text)
        elif text:
            streams.complain(text.rstrip("\n"))

    def write_failure(self, message: str, setting: str | None) -> None:
        """Write why there was no run to the SARIF outputs, which have a place for that."""
        from placement_lint.lint.results import Outcome, Skipped

        outcome = Outcome((), (), 0, 0, 0, 0.0, (), lambda _: None)
        report = Report(outcome, self._root("sarif"), 2, failed=(Skipped("", message),))
        for each in self._outputs:
            if (each.form or setting) == "sarif":
                self._write_one(each, report, setting, to_stderr=False)

    def _root(self, setting: str | None) -> str:
        here = os.getcwd()
        if self.forms(setting).isdisjoint(_ROOTED):
            return here
        from placement_lint.report.paths import source_root

        return source_root(os.environ, here)

    def _colours(self, stream: TextIO | None, form: str) -> Colours:
        if form not in {"full", "flake8"}:
            return Colours()
        painted = streams.use_colour(self._color, stream, os.environ)
        linked = stream is not None and streams.use_links(self._color, stream, os.environ)
        return Colours(painted, links=linked, width=min(streams.columns(stream), WIDEST))


def _output(asked: str) -> Output:
    form, colon, file = asked.partition(":")
    form = FORMAT_ALIASES.get(form, form)
    if not colon or (form not in FORMATS and not _is_meant_as_format(form)):
        return Output(_named(asked), None)
    if form not in FORMATS:
        from placement_lint.config.suggest import value_hint

        hint = value_hint(form, FORMATS) or f"use one of {', '.join(FORMATS)}"
        message = (
            f"--output-file: unknown format `{form}`; {hint} (a file of this name: `./{asked}`)"
        )
        raise streams.OutputError(message)
    return Output(_named(file), form)


def _is_meant_as_format(word: str) -> bool:
    """Return whether a word before a colon can be the name of a format, and no drive or path."""
    return 1 < len(word) <= _LONGEST_FORMAT and word.replace("-", "").isalnum()


def _named(file: str) -> str:
    if not file:
        raise streams.OutputError("--output-file: the name of the file is missing")
    return file


def _is_printed(output: Output) -> bool:
    return output.file == STANDARD_OUTPUT


def _takes_statistics(output: Output) -> bool:
    """Return whether a place shows people an overview: files in a format get it all."""
    return output.form is None or _is_printed(output)
