"""For a project that has findings already: known ones in a baseline, comments that silence."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from placement_lint.cli import streams
from placement_lint.lint.suppressions import add_noqa
from placement_lint.lint.suppressions import baseline as baselines
from placement_lint.lint.suppressions.comments import NEVER_SILENT
from placement_lint.report.escape import escape
from placement_lint.report.summary import counted
from placement_lint.rules.selection import select_rules

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Sequence

    from placement_lint.cli.parser import Parser
    from placement_lint.config.settings import Settings
    from placement_lint.files.store import FileStore
    from placement_lint.lint.results import FixedFile, Outcome

_NARROWING = ("min_confidence", "target_jax")
"""Options by which a run finds less, nobody can tell of which rule."""


def demand_sense(args: argparse.Namespace, parser: Parser, *, from_stdin: bool) -> None:
    """End the run where what is asked for cannot go together."""
    writes = args.write_baseline is not None or args.update_baseline
    if args.add_noqa is not None:
        if args.fix:
            parser.error(
                "--add-noqa and --fix: apply the fixes first, then suppress the remaining findings"
            )
        if args.write_baseline is not None:
            parser.error(
                "--add-noqa and --write-baseline: findings that are suppressed need no baseline"
            )
        try:
            add_noqa.checked_reason(args.add_noqa)
        except add_noqa.ReasonError as error:
            parser.error(f"--add-noqa: {error}")
    if writes and args.diff:
        parser.error("--diff cannot be combined with --write-baseline or --update-baseline")
    if writes and from_stdin:
        parser.error("a baseline cannot be written for standard input")
    if writes and args.write_baseline is not None and args.update_baseline:
        parser.error("--write-baseline and --update-baseline cannot be combined")


class Adoption:
    """What one run does about findings that are there already."""

    def __init__(
        self,
        args: argparse.Namespace,
        settings_for: Callable[[str], Settings],
        store: FileStore,
        *,
        folders: bool,
    ) -> None:
        """Take the options, and the files. `folders` says that whole folders are looked at."""
        self._args = args
        self._store = store
        self._settings_for = settings_for
        self._folders = folders
        self._baselines = baselines.Baselines(settings_for, is_tolerant=True)
        self._silenced: tuple[FixedFile, ...] = ()

    def applied(
        self, outcome: Outcome, files: Sequence[str], again: Callable[[], Outcome]
    ) -> Outcome:
        """Take known findings out of what was found, and do what else was asked for.

        `again` looks at the files once more. Raises BaselineError.
        """
        if self._args.write_baseline is not None:
            return self._write(outcome, files)
        outcome = self._without_known(outcome)
        self._shrink(outcome, files)
        if self._args.add_noqa is not None:
            outcome = self._silence(outcome, again)
        return outcome

    def applied_to_text(self, outcome: Outcome, path: str) -> tuple[Outcome, bytes | None]:
        """Do so for standard input; give its text with comments where these were asked for."""
        outcome = self._without_known(outcome)
        if self._args.add_noqa is None:
            return outcome, None
        wanted = [each for each in outcome.findings if each.code not in NEVER_SILENT]
        silenced = add_noqa.silence(path, self._store, wanted, self._reason) if wanted else None
        if silenced is None:
            return outcome, self._store.read(path)
        left = tuple(each for each in outcome.findings if each.code in NEVER_SILENT)
        return self._done(replace(outcome, findings=left), [silenced.file]), silenced.after

    def say(self, outcome: Outcome) -> bool:
        """Print what was done, in a sentence each; return whether that is all."""
        if self._args.quiet:
            return self._args.add_noqa is not None
        if self._baselines.known:
            streams.complain(
                f"{counted(self._baselines.known, 'known finding')} not shown: the baseline has "
                f"{'it' if self._baselines.known == 1 else 'them'}."
            )
        if self._args.add_noqa is None:
            return False
        count = sum(sum(file.counts.values()) for file in self._silenced)
        where = f" in {counted(len(self._silenced), 'file')}" if count else ""
        left = f", {len(outcome.findings)} left" if outcome.findings else ""
        done = "Would suppress" if self._args.diff else "Suppressed"
        streams.complain(f"{done} {counted(count, 'finding')}{where}{left}.")
        return True

    # -- baselines ---------------------------------------------------------------------------------

    def _without_known(self, outcome: Outcome) -> Outcome:
        return replace(outcome, findings=self._baselines.new(outcome.findings, outcome.sources))

    def unusable(self) -> list[str]:
        """Return what is wrong with baselines of other folders than the current one."""
        return [str(error) for _, error in sorted(self._baselines.unusable.items())]

    def _write(self, outcome: Outcome, files: Sequence[str]) -> Outcome:
        """Make everything that is found known."""
        path = self._args.write_baseline
        folder = os.path.dirname(path)
        entries = baselines.entries_of(outcome.findings, outcome.sources, folder)
        if os.path.exists(path):
            # What this run did not look at stays.
            looked_at = self._looked_at(outcome, files)
            for entry, count in baselines.load(path).entries.items():
                there = os.path.join(folder, entry.path)
                if os.path.exists(there) and not looked_at(there, entry.code):
                    entries.setdefault(entry, count)
        baselines.write(path, entries)
        if not self._args.quiet:
            total = counted(sum(entries.values()), "finding")
            streams.complain(f"{total} written to {escape(path)}.")
        left = tuple(each for each in outcome.findings if each.code in NEVER_SILENT)
        return replace(outcome, findings=left)

    def _shrink(self, outcome: Outcome, files: Sequence[str]) -> None:
        """Print which entries are no longer found, or remove them."""
        update = self._args.update_baseline
        if not (self._folders or update):
            return
        looked_at = self._looked_at(outcome, files)
        for baseline, left in self._baselines.shrunk(files, looked_at):
            gone = baseline.count - sum(left.values())
            is_one = gone == 1
            if update:
                self._demand_inside(baseline, files)
                baselines.write(baseline.path, left)
            if self._args.quiet:
                continue
            known, file = counted(gone, "finding"), escape(baseline.path)
            if update:
                streams.complain(f"Removed {known} from {file}.")
            else:
                streams.complain(
                    f"note: {known} in {file} no longer {'occurs' if is_one else 'occur'}; "
                    f"--update-baseline removes {'it' if is_one else 'them'}"
                )

    def _demand_inside(self, baseline: baselines.Baseline, files: Sequence[str]) -> None:
        """Raise BaselineError for one that settings name, of which they may not have us write."""
        if self._args.baseline is None and not self._baselines.is_inside(baseline, files):
            message = (
                f"{baseline.path}: not updated: it is outside the project whose settings "
                "name it; pass it with --baseline"
            )
            raise baselines.BaselineError(message)

    def _looked_at(self, outcome: Outcome, files: Iterable[str]) -> Callable[[str, str], bool]:
        """Return a test, for a path and a code, of whether the rule looked at the file."""
        failed = {each.path for each in outcome.findings if each.code in NEVER_SILENT}
        failed.update(skipped.path for skipped in outcome.skipped)
        read = {os.path.realpath(path): path for path in files if path not in failed}
        narrowed = any(getattr(self._args, name, None) is not None for name in _NARROWING)
        codes: dict[str, frozenset[str]] = {}

        def is_checked(path: str, code: str) -> bool:
            # What is carried into a file from another one is seen where both are looked at.
            if narrowed or not self._folders:
                return False
            known_as = read.get(os.path.realpath(path))
            if known_as is None:
                return False
            if known_as not in codes:
                rules = select_rules(self._settings_for(known_as), known_as)
                codes[known_as] = frozenset(rule.code for rule in rules)
            return code in codes[known_as]

        return is_checked

    # -- comments ----------------------------------------------------------------------------------

    @property
    def _reason(self) -> str:
        return add_noqa.checked_reason(self._args.add_noqa)

    def _silence(self, outcome: Outcome, again: Callable[[], Outcome]) -> Outcome:
        silenced, skipped = add_noqa.silence_files(outcome.findings, self._store, self._reason)
        if self._args.diff:
            files = [each.file for each in silenced]
            done = {file.path for file in files}
            left = tuple(
                each
                for each in outcome.findings
                if each.code in NEVER_SILENT or each.path not in done
            )
            outcome = self._done(replace(outcome, findings=left), files)
            return replace(outcome, skipped=(*outcome.skipped, *skipped))
        written, failed = add_noqa.write(silenced)
        if written:
            # What is said then is what a run over the files as they are says.
            self._baselines = baselines.Baselines(self._settings_for, is_tolerant=True)
            outcome = self._without_known(again())
        self._silenced = tuple(each.file for each in written)
        return replace(outcome, skipped=(*outcome.skipped, *skipped, *failed))

    def _done(self, outcome: Outcome, files: Sequence[FixedFile]) -> Outcome:
        self._silenced = tuple(files)
        return replace(outcome, fixed=self._silenced if self._args.diff else ())
