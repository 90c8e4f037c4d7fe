"""`placement-lint explain FILE:LINE[:COLUMN]`: what is found at a place, and how it came there."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from placement_lint.cli import streams
from placement_lint.cli.parser import USAGE_ERROR, Parser, add_color
from placement_lint.config.load import SettingsLoader
from placement_lint.config.values import SettingsError
from placement_lint.files.discovery import display_path
from placement_lint.limits.budget import limits_of
from placement_lint.lint.linter import Linter
from placement_lint.report import full
from placement_lint.report.colour import Colours
from placement_lint.report.escape import escape
from placement_lint.report.json import finding_to_dict
from placement_lint.report.text import place
from placement_lint.rules.pages import find_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.findings import Finding
    from placement_lint.lint.results import Outcome

_FORM = "FILE:LINE[:COLUMN]"


class Spot(NamedTuple):
    """A place as reports name it; columns count from 1."""

    path: str
    line: int
    column: int | None = None
    cell: int | None = None

    def has(self, finding: Finding) -> bool:
        """Return whether a finding is on this line, and around this column if one is named."""
        span = finding.span
        if self.cell is not None and finding.cell != self.cell:
            return False
        if self.column is None:
            return span.line <= self.line <= span.end_line
        here = (self.line, self.column)
        return (span.line, span.column) <= here <= (span.end_line, span.end_column)


def main(arguments: Sequence[str]) -> int:
    """Run the command. The exit code is 1 if something is found there, 0 if not, 2 if it fails."""
    parser = Parser(
        "placement-lint explain",
        description="Explain the findings at a place: how the array came there, and what to write.",
    )
    parser.add_argument("spot", metavar=_FORM, help="a place as reports name it")
    parser.add_argument(
        "--output-format",
        choices=("text", "json"),
        default="text",
        metavar="FORMAT",
        help="text or json",
    )
    add_color(parser)
    args = parser.parse_args(arguments)
    spot = parse(args.spot)
    if spot is None:
        parser.error(f"`{args.spot}` names no line; use {_FORM}")
    if not os.path.isfile(spot.path):
        parser.error(f"no such file: {spot.path}")
    try:
        loader = SettingsLoader()
        settings = loader.for_file(spot.path)
        limits = limits_of(settings.time_limit, settings.memory_limit)
        outcome = Linter(loader.for_file, limits=limits).check([spot.path])
    except (SettingsError, OSError) as error:
        streams.fail(str(error))
        return USAGE_ERROR
    found = [finding for finding in outcome.findings if spot.has(finding)]
    if not found and _is_here(spot.path):
        # What follows from other files of the program is found with them alone.
        try:
            whole = _check_all(loader)
        except (SettingsError, OSError) as error:
            streams.fail(str(error))
            return USAGE_ERROR
        path = display_path(os.path.relpath(spot.path))
        findings = [finding for finding in whole.findings if finding.path == path]
        outcome = replace(whole, findings=tuple(findings))
        found = [finding for finding in findings if spot.has(finding)]
    if args.output_format == "json":
        streams.write(json.dumps([_as_json(finding) for finding in found], indent=2) + "\n")
    elif found:
        colours = Colours(streams.use_colour(args.color, sys.stdout, os.environ))
        parts = (
            full.render([finding], outcome.sources, colours) + _reason(finding) for finding in found
        )
        streams.write("\n".join(parts))
    else:
        streams.write(_nothing(spot, outcome.findings))
    return 1 if found else 0


def _is_here(path: str) -> bool:
    """Return whether a file is in the current directory, or below it."""
    here = os.path.realpath(".")
    try:
        return os.path.commonpath([here, os.path.realpath(path)]) == here
    except ValueError:  # on another drive
        return False


def _check_all(loader: SettingsLoader) -> Outcome:
    """Check what `placement-lint` checks in the current directory.

    That is at hand in the cache if it was just run.
    """
    from placement_lint.cli.check_options import usable_processors
    from placement_lint.cli.filters import filters_by
    from placement_lint.cli.progress import shown_on_terminal
    from placement_lint.files.discovery import find_files
    from placement_lint.lint.incremental.cache import cache_for

    here = loader.for_folder(".")
    jobs = usable_processors()
    found = find_files(["."], filters_by(loader))
    with shown_on_terminal(quiet=False) as progress:
        linter = Linter(
            loader.for_file,
            folders=found.walked > 0,
            jobs=jobs,
            limits=limits_of(here.time_limit, here.memory_limit, jobs=jobs),
            cache=cache_for(str(here.project or "."), ["."]),
            here=here,
            on_progress=progress.update,
        )
        return linter.check(found.files)


def parse(text: str) -> Spot | None:
    """Read `FILE:LINE`, `FILE:LINE:COLUMN` or `FILE:cell N:LINE:COLUMN`; None for what is none."""
    path = text.rstrip(":")
    numbers: list[int] = []
    while len(numbers) < 2:
        before, _, last = path.rpartition(":")
        if not before or not _is_number(last):
            break
        path, numbers = before, [int(last), *numbers]
    if not numbers:
        return None
    cell = None
    before, _, last = path.rpartition(":")
    if before and last.startswith("cell ") and _is_number(last[5:]):
        path, cell = before, int(last[5:])
    return Spot(path, numbers[0], numbers[1] if len(numbers) > 1 else None, cell)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _reason(finding: Finding) -> str:
    page = find_page(finding.code)
    if page is None:
        return ""
    why = page.section("Why is this bad?").strip().split("\n\n")[0]
    more = f"See `placement-lint rule {finding.code}` for an example and what is not flagged.\n"
    return f"\n{why}\n\n{more}"


def _nothing(spot: Spot, findings: Sequence[Finding]) -> str:
    """Return the answer where nothing is found, with the places near it where something is."""
    where = f"{escape(spot.path)}:{spot.line}"
    near = sorted(findings, key=lambda each: abs(each.span.line - spot.line))[:3]
    others = "".join(f"  {place(each.path, each.span, each.cell)}: {each.code}\n" for each in near)
    return f"No findings at {where}.\n" + (f"Near it:\n{others}" if others else "")


def _as_json(finding: Finding) -> dict[str, object]:
    page = find_page(finding.code)
    why = "" if page is None else page.section("Why is this bad?").strip()
    return {**finding_to_dict(finding), "why": why}
