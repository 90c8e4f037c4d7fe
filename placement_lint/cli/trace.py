"""`placement-lint trace SCRIPT [ARG ...]`: run a program, and report the moves that happen."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from placement_lint.cli import streams
from placement_lint.cli.parser import USAGE_ERROR, Parser, add_color, add_devices, add_format
from placement_lint.report.escape import escape, escape_path

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from placement_lint.files.source import Source
    from placement_lint.findings import Span
    from placement_lint.report.colour import Colours
    from placement_lint.trace.join import Joined
    from placement_lint.trace.launch import TraceTarget
    from placement_lint.trace.record import TraceRecord

_DESCRIPTION = """\
Run a program unchanged, and report each line at which JAX copied an uncommitted array to another
device (how often, how many bytes, how long, and the line that made the array), or ran a computation
on the host because one operand is committed there. The report compares this with what linting
finds: confirmed, not reached, or not flagged.

The report goes to standard error, or to a file. The program's input, output and exit code stay the
same. Options of placement-lint go before the script; what follows the script is passed to it."""

_EPILOG = """\
Without an accelerator (or with --devices virtual), virtual CPU devices stand in: the first device
is the accelerator, and jax.devices("cpu") is another. What only a GPU has is not emulated.
Processes that the program starts are not watched; the report names them. Exit code: that of the
program; 2 if it could not be run; 1 with --fail-on-copies if JAX made copies."""


def main(arguments: Sequence[str]) -> int:
    """Run the command and give its exit code: the program's own."""
    from placement_lint.trace.launch import CannotTraceError, arguments_of

    ours, target = arguments_of(arguments)
    parser = _parser()
    args = parser.parse_args(ours)
    if target is None or not target.name:
        parser.error("a script to run is needed, or -m and a module")
    try:
        return _Trace(args, target).run()
    except (CannotTraceError, streams.OutputError) as error:
        streams.fail(str(error))
        return USAGE_ERROR


def _parser() -> Parser:
    parser = Parser(
        "placement-lint trace",
        usage="placement-lint trace [OPTIONS] SCRIPT [ARG ...]\n"
        "       placement-lint trace [OPTIONS] -m MODULE [ARG ...]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add_devices(parser)
    add_format(
        parser,
        ("flake8", "full", "json"),
        "one line per place, full, or JSON (default: full on a terminal)",
    )
    parser.add_argument(
        "--output-file", metavar="FILE", help="write the report there, not to standard error"
    )
    parser.add_argument("--report", metavar="FILE", help="also write the report as an HTML page")
    parser.add_argument(
        "--fail-on-copies",
        action="store_true",
        help="exit with 1 if the program succeeds, and JAX made implicit copies",
    )
    add_color(parser)
    return parser


class _Trace:
    """One run of the command."""

    def __init__(self, args: argparse.Namespace, target: TraceTarget) -> None:
        self.args = args
        self.target = target
        self.shown = Shown()
        self.copies = ""
        """How many there were; empty: none."""

    def run(self) -> int:
        from placement_lint.trace import launch, record

        self.target.check()
        devices = launch.choose_devices(self.args.devices, os.environ)
        for file in (self.args.output_file, self.args.report):
            if file is not None:
                # Better now than after hours of running.
                streams.write_file(file, "")
        with tempfile.TemporaryDirectory(prefix="placement-lint-") as name:
            folder = Path(name)
            started = time.monotonic()
            status = launch.run(self.target, folder, devices, os.environ)
            seconds = time.monotonic() - started
            seen = record.read(folder)
        if seen.refused is not None:
            raise launch.CannotTraceError(seen.refused)
        problem = self._report(seen, devices, status, seconds)
        if problem is not None:
            streams.fail(problem)
            return launch.end_like(status) or USAGE_ERROR
        return launch.end_like(status) or int(self.args.fail_on_copies and bool(self.copies))

    def _report(self, seen: TraceRecord, devices: str, status: int, seconds: float) -> str | None:
        """Write the report; give what went wrong, for the program's exit code comes first."""
        from placement_lint.trace.join import join
        from placement_lint.trace.text import copies

        joined = join(seen, self.shown.relative)
        self.copies = copies(joined)
        try:
            self._write(joined, devices, status, seconds)
        except streams.OutputError as error:
            return str(error)
        return None

    def _write(self, joined: Joined, devices: str, status: int, seconds: float) -> None:
        command = [*(["-m"] if self.target.is_module else []), self.target.name]
        command += self.target.arguments
        if self.args.report is not None:
            from placement_lint.trace.page import page

            look = Look(False, self.shown)
            streams.write_file(self.args.report, page(joined, look, seconds, command))
        to_file = self.args.output_file
        on_terminal = to_file is None and streams.is_terminal(sys.stderr)
        chosen = self.args.output_format or ("full" if on_terminal else "flake8")
        if chosen == "json":
            from placement_lint.trace import as_json

            text = as_json.render(
                joined,
                command=command,
                devices=devices,
                status=status,
                seconds=seconds,
                show=self.shown,
            )
        else:
            from placement_lint.trace import text as as_text

            stream = sys.stderr if to_file is None else None
            painted = streams.use_colour(self.args.color, stream, os.environ)
            render = as_text.full if chosen == "full" else as_text.short
            text = render(joined, Look(painted, self.shown), seconds)
        if to_file is None:
            streams.complain(text.rstrip("\n"))
        else:
            streams.write_file(to_file, text)


class Look:
    """Shows things as the linter's own reports do."""

    def __init__(self, painted: bool, path: Callable[[str], str]) -> None:
        """Take whether to paint, and what gives a path as it is shown."""
        from placement_lint.report.colour import Colours

        self._colours: Colours = Colours(painted)
        self.bad = self._colours.bad
        self.good = self._colours.good
        self.bold = self._colours.bold
        self.help = self._colours.help
        self.path = path
        self.escape = escape

    def frame(self, path: str, span: Span, mark: str) -> list[str]:
        """Return the lines of a span of a file, underlined."""
        from placement_lint.report.frame import frame
        from placement_lint.trace.record import source_of

        source: Source | None = source_of(path)
        return [] if source is None else frame(source, span, self._colours, mark=mark)


class Shown:
    """Paths as the linter shows them: relative to the current directory if they are below it."""

    def __init__(self) -> None:
        """Remember the directory: the program may remove it while it runs."""
        self._here = os.path.join(os.getcwd(), "")

    def relative(self, path: str) -> str:
        """Return a path to be linted under."""
        return path.removeprefix(self._here)

    def __call__(self, path: str) -> str:
        """Return a path for the reader."""
        return escape_path(Path(self.relative(path)).as_posix())
