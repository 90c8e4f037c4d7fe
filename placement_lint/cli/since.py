"""`--new-since` and `--diff-against`: a run beside an earlier commit."""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING

from placement_lint.cli.git import Repository
from placement_lint.files.discovery import SUFFIXES
from placement_lint.files.folders import may_be_read
from placement_lint.lint.suppressions.comments import NEVER_SILENT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from placement_lint.cli.git import Lines
    from placement_lint.cli.parser import Parser
    from placement_lint.findings import Finding, Span
    from placement_lint.lint.results import Outcome

_WRITING = ("fix", "diff", "write_baseline", "update_baseline")


def demand_sense(args: argparse.Namespace, parser: Parser, *, from_stdin: bool) -> None:
    """End the run where the options cannot go together."""
    for name in ("new_since", "diff_against"):
        if getattr(args, name) is None:
            continue
        option = f"--{name.replace('_', '-')}"
        if from_stdin:
            parser.error(f"{option}: standard input is not in a commit")
        for other in (*_WRITING, *(("add_noqa",) if name == "diff_against" else ())):
            if getattr(args, other) not in {None, False}:
                parser.error(f"{option} and --{other.replace('_', '-')} cannot be combined")
    if args.diff_against is not None and not args.statistics:
        parser.error("--diff-against compares counts: it needs --statistics")


def demand_commits(args: argparse.Namespace) -> None:
    """Raise SettingsError for what is not there to compare with, before anything is linted."""
    if args.new_since is not None:
        Repository("--new-since", args.new_since)
    if args.diff_against is not None:
        repository = Repository("--diff-against", args.diff_against)
        for path in args.paths:
            repository.inside(path)


def only_new(outcome: Outcome, ref: str) -> tuple[Outcome, int]:
    """Leave out the findings of which no place has changed since a commit; give their number.

    Raises SettingsError.
    """
    changed = Repository("--new-since", ref).changed_lines()
    kept = tuple(each for each in outcome.findings if _is_new(each, changed))
    return replace(outcome, findings=kept), len(outcome.findings) - len(kept)


def _is_new(finding: Finding, changed: Mapping[str, Lines | None]) -> bool:
    if finding.code in NEVER_SILENT:
        return True
    places = [(finding.path, finding.span), *((each.path, each.span) for each in finding.related)]
    return any(_has_changed(path, span, changed) for path, span in places)


def _has_changed(path: str, span: Span, changed: Mapping[str, Lines | None]) -> bool:
    lines = changed.get(os.path.realpath(path), ())
    if lines is None:
        return True
    return any(first <= span.end_line and span.line <= last for first, last in lines)


def _is_needed(path: str) -> bool:
    return path.endswith(SUFFIXES) or may_be_read(os.path.basename(path))


def findings_at(
    args: argparse.Namespace, run: Callable[[argparse.Namespace], Outcome]
) -> tuple[Finding, ...]:
    """Return what a run with these options finds in the files of the commit `--diff-against`.

    They are written to a temporary directory, in which `run` is called. Raises SettingsError.
    """
    repository = Repository("--diff-against", args.diff_against)
    paths = [repository.inside(path) for path in args.paths or ["."]]
    here = os.getcwd()
    below = repository.inside(here)
    given = vars(args)
    configs = [os.path.abspath(each) if os.path.isfile(each) else each for each in args.config]
    baseline = None if args.baseline is None else os.path.abspath(args.baseline)
    with tempfile.TemporaryDirectory(prefix="placement-lint-") as folder:
        repository.write_tree(folder, _is_needed)
        # What git ignores is looked for up to here.
        os.makedirs(os.path.join(folder, ".git"), exist_ok=True)
        there = [path for path in paths if os.path.exists(os.path.join(folder, path))]
        if not there:
            return ()
        os.makedirs(os.path.join(folder, below), exist_ok=True)
        os.chdir(os.path.join(folder, below))
        try:
            changed = {
                "paths": [os.path.relpath(os.path.join(folder, path)) for path in there],
                "config": configs,
                "baseline": baseline,
                "no_cache": True,
                "quiet": True,
                "verbose": False,
            }
            return run(argparse.Namespace(**{**given, **changed})).findings
        finally:
            os.chdir(here)
