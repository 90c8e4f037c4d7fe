"""`placement-lint [PATH ...]`: lint, report, and fix where asked."""

from __future__ import annotations

import os
import sys
import time

from placement_lint.cli import streams
from placement_lint.cli.check_options import check_parser
from placement_lint.cli.parser import USAGE_ERROR, settings_in
from placement_lint.config.options import SEVERITIES
from placement_lint.report.escape import escape, escape_line, escape_path
from placement_lint.timing import FINDING_FILES, IMPORTING, REPORT, timed, watch

TYPE_CHECKING = False

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Sequence

    from placement_lint.cli.adopting import Adoption
    from placement_lint.cli.outputs import Outputs
    from placement_lint.cli.parser import Parser
    from placement_lint.cli.progress import Progress
    from placement_lint.config.settings import Settings
    from placement_lint.files.discovery import Found
    from placement_lint.findings import Finding
    from placement_lint.limits.budget import Limits
    from placement_lint.lint.incremental.cache import Cache
    from placement_lint.lint.results import FixMode, Outcome, Skipped

CLEAN, FINDINGS, FAILED = 0, 1, USAGE_ERROR
_STDIN = "-"
_STDIN_NAME = "stdin"
_TOOL_CODES = "JDP9"
_SHOWN_SKIPS = 10


def main(arguments: Sequence[str]) -> int:
    """Run the command and give its exit code."""
    parser = check_parser()
    args = parser.parse_mixed(arguments, "paths")
    if any(name.startswith("PLACEMENT_LINT_") for name in os.environ):
        from placement_lint.cli import environment

        environment.add_from(os.environ, args, parser)

    if not args.watch:
        from placement_lint.lint.gc_pause import never_collected
        from placement_lint.syntax.late_methods import compiled_late
        from placement_lint.syntax.late_patterns import patterns_compiled_late
        from placement_lint.syntax.lazy import deferred

        # LibCST imports it for names that nobody here needs.
        deferred_parts = deferred("libcst.metadata")
        with deferred_parts, never_collected(), compiled_late(), patterns_compiled_late():
            return _run(args, parser, arguments)
    from placement_lint.cli.watch import demand_sense, stamps_of, watch

    demand_sense(args, parser, from_stdin=_is_stdin(args))
    paths, options = args.paths or ["."], settings_in(args)
    return watch(
        lambda: _run(args, parser),
        lambda: stamps_of(paths, args.config, options, isolated=args.isolated),
        is_quiet=args.quiet,
    )


def _run(args: argparse.Namespace, parser: Parser, arguments: Sequence[str] | None = None) -> int:
    """Run the command once. `arguments`: what it was called with, if it is called but once."""
    # Not before it is known that this is not about the help.
    from placement_lint.cli.outputs import Outputs
    from placement_lint.config.values import SettingsError

    try:
        outputs = Outputs(
            args.output_file, color=args.color, statistics=args.statistics, diff=args.diff
        )
        outputs.demand_statistics(args.output_format)
        try:
            return _CheckCommand(args, parser, outputs, arguments).run()
        except SettingsError as error:
            from placement_lint.cli import settings_errors

            settings_errors.fail(error)
            outputs.write_failure(str(error), args.output_format)
            return FAILED
    except streams.OutputError as error:
        streams.fail(str(error))
        return FAILED


class _CheckCommand:
    """One run of the command."""

    def __init__(
        self,
        args: argparse.Namespace,
        parser: Parser,
        outputs: Outputs,
        arguments: Sequence[str] | None = None,
    ) -> None:
        from placement_lint.config.load import SettingsLoader
        from placement_lint.files.store import FileStore

        self.args = args
        self.outputs = outputs
        self._arguments = arguments
        self._began = time.time_ns()
        self._written: Sequence[tuple[bool, str]] = ()
        if arguments is not None:
            self._written = streams.note_written()
        self._cache: Cache | None = None
        self.loader = SettingsLoader(
            isolated=args.isolated, configs=args.config, options=settings_in(args)
        )
        self.from_stdin = _is_stdin(args)
        if self.from_stdin and any(path != _STDIN for path in args.paths):
            option = "" if _STDIN in args.paths else "--stdin-filename: "
            parser.error(f"{option}standard input is linted alone, without other paths")
        self.store = FileStore()
        self.failed = False
        if args.new_since is not None or args.diff_against is not None:
            from placement_lint.cli import since

            since.demand_sense(args, parser, from_stdin=self.from_stdin)
        self._parser = parser
        self.adoption: Adoption | None = None
        if self._adopts_expressly:
            from placement_lint.cli.adopting import demand_sense

            demand_sense(args, parser, from_stdin=self.from_stdin)

    def run(self) -> int:
        return self._stdin() if self.from_stdin else self._paths()

    def _paths(self) -> int:
        from placement_lint.cli.filters import filters_by
        from placement_lint.files.discovery import find_files

        if self.args.timing:
            watch().start()
        if self.args.new_since is not None or self.args.diff_against is not None:
            from placement_lint.cli.since import demand_commits

            demand_commits(self.args)
        paths = self.args.paths or ["."]
        # Without those of the run itself there is none; with wrong ones elsewhere there is.
        here = self.loader.for_folder(".")
        with timed(FINDING_FILES):
            found = find_files(paths, filters_by(self.loader))
        self._say_what_cannot_be_read(found)
        if self.args.show_files or self.args.show_settings:
            self._check_all_selectors(found.files)
            self._show(found.files)
            return FAILED if self.failed else CLEAN
        self._say_what_is_left_out(found, paths)
        if self.args.verbose and not self.args.quiet:
            from placement_lint.cli import notes

            notes.say_targets(found.files, self.loader, self.store)
        if self._writes(here):
            from placement_lint.files.folders import one_in_each
            from placement_lint.files.temporary import sweep

            sweep({folder or "." for folder in one_in_each(found.files)})
        return self._check(found, paths, here)

    def _check(self, found: Found, paths: Sequence[str], here: Settings) -> int:
        """Check files, and write what is found."""
        from dataclasses import replace

        from placement_lint.cli.progress import shown_on_terminal
        from placement_lint.lint.results import SkipKind, Skipped

        with shown_on_terminal(quiet=self.args.quiet) as progress:
            outcome = self._lint(found, paths, here, progress)
            outcome = self._adopted(
                outcome, found, lambda: self._lint(found, paths, here, progress)
            )
        if self.args.new_since is not None:
            outcome = self._only_new(outcome)
        if self.args.diff_against is not None:
            self._compare_with_before()
        self._say_what_is_known(outcome)
        self._say_skipped(outcome.skipped)
        missing = [Skipped(skip.path, skip.reason) for skip in found.failed]
        skipped = [
            *(*outcome.skipped, *missing),
            *(Skipped(skip.path, skip.reason) for skip in found.skipped),
            *(Skipped(path, "excluded", SkipKind.EXCLUDED) for path in found.excluded),
        ]
        outcome = replace(outcome, skipped=tuple(sorted(skipped, key=lambda skip: skip.path)))
        code = self._done(outcome, here, missing)
        self._keep_written(found, paths, here, code)
        return code

    def _say_what_cannot_be_read(self, found: Found) -> None:
        for failed in found.failed:
            self.failed = True
            streams.fail(f"{failed.path}: {failed.reason}{_command_hint(failed.path)}")
        for each in found.unread:
            where = escape(os.path.relpath(each.path))
            self._warn(f"{where} cannot be read and is ignored: {each.reason}")

    def _show(self, files: Sequence[str], *, excluded: bool = False) -> None:
        """Print which files are linted, and by which settings, as far as that is asked for."""
        if self.args.show_files and not excluded:
            streams.write("".join(f"{escape_path(path)}\n" for path in files))
        if self.args.show_settings:
            from placement_lint.cli import notes

            notes.show_settings(self.loader, files or ("",))

    def _keep_written(self, found: Found, paths: Sequence[str], here: Settings, code: int) -> None:
        """Keep what was written for the next run, where it depends on nothing but files."""
        args, cache, arguments = self.args, self._cache, self._arguments
        says_more = (args.verbose, args.timing, args.statistics, args.output_file, args.config)
        if cache is None or arguments is None or any(says_more) or args.new_since is not None:
            return
        is_kept = cache.is_kept and not cache.problem
        is_whole = not self.failed and self.adoption is None and not self.loader.is_extended
        if is_kept and is_whole and here.output_format in {None, "flake8", "full"}:
            from placement_lint.cli import run_record

            run = run_record.FinishedRun(paths, found, self._written, code, self._began)
            run_record.keep(arguments, run, cache.folder)

    def linted(self) -> Outcome:
        """Lint, say nothing of it, and leave out what a baseline knows."""
        from placement_lint.cli.filters import filters_by
        from placement_lint.cli.progress import Progress
        from placement_lint.files.discovery import find_files

        here = self.loader.for_folder(".")
        found = find_files(self.args.paths, filters_by(self.loader))
        outcome = self._lint(found, self.args.paths, here, Progress(None))
        return self._adopted(outcome, found, lambda: outcome)

    def _only_new(self, outcome: Outcome) -> Outcome:
        from placement_lint.cli.since import only_new

        outcome, count = only_new(outcome, self.args.new_since)
        if count and not self.args.quiet:
            what = "1 finding" if count == 1 else f"{count} findings"
            streams.complain(f"{what} in unchanged lines not shown.")
        return outcome

    def _compare_with_before(self) -> None:
        from placement_lint.cli.since import findings_at

        self.outputs.before = findings_at(
            self.args, lambda args: _CheckCommand(args, self._parser, self.outputs).linted()
        )

    @property
    def _adopts_expressly(self) -> bool:
        args = self.args
        return args.add_noqa is not None or args.write_baseline is not None or args.update_baseline

    def _adopts(self, outcome: Outcome, files: Sequence[str], *, folders: bool) -> bool:
        """Return whether there is anything to be done about findings that are there already."""
        if self._adopts_expressly:
            return True
        # Nothing to be left out, and nothing to be found no longer.
        if not (outcome.findings or folders):
            return False
        from placement_lint.files.folders import one_in_each

        settings = map(self.loader.for_file, one_in_each(files).values())
        return any(each.baseline is not None for each in settings)

    def _adopted(self, outcome: Outcome, found: Found, again: Callable[[], Outcome]) -> Outcome:
        """Take known findings out of what was found, and silence others where asked."""
        folders = found.walked > 0
        if not self._adopts(outcome, found.files, folders=folders):
            return outcome
        from placement_lint.cli.adopting import Adoption

        if self.args.update_baseline and not any(
            self.loader.for_file(path).baseline for path in found.files or ("",)
        ):
            from placement_lint.config.values import SettingsError

            raise SettingsError(
                "--update-baseline: there is no baseline; name one with --baseline FILE"
            )
        self.adoption = Adoption(self.args, self.loader.for_file, self.store, folders=folders)
        outcome = self.adoption.applied(outcome, found.files, again)
        for problem in self.adoption.unusable():
            self.failed = True
            streams.fail(problem)
        return outcome

    def _lint(
        self, found: Found, paths: Sequence[str], here: Settings, progress: Progress
    ) -> Outcome:
        from placement_lint.lint.results import FixMode, empty_outcome
        from placement_lint.prefilter.early_exit import MOST_FILES, nothing_can_be_found

        mode, folders = self._fix_mode(here), found.walked > 0
        self.store.renew()
        is_small = len(found.files) <= MOST_FILES
        selects = is_small and any(
            each.names_rules or each.models for each in self._settings_of(found.files)
        )
        if is_small and not self.args.reveal and not selects:
            # A commit hook is called for every file, and most have nothing to do with JAX.
            started = time.perf_counter()
            if nothing_can_be_found(found.files, self.store):
                return empty_outcome(len(found.files), time.perf_counter() - started)
        from placement_lint.lint.linter import Linter

        cache = None
        if mode is FixMode.NONE and not (self.args.no_cache or self.args.reveal):
            from placement_lint.lint.incremental.cache import cache_for

            cache = cache_for(str(here.project or "."), paths, self.args.cache_dir)
            self._cache = cache
        linter = Linter(
            self.loader.for_file,
            folders=folders,
            fix=mode,
            reveal=self.args.reveal,
            jobs=self.args.jobs,
            limits=self._limits(here),
            cache=cache,
            here=here,
            store=self.store,
            on_progress=progress.update,
            prepare=lambda: self._check_all_selectors(found.files),
        )
        outcome = linter.check(found.files)
        if cache is not None and cache.problem and (self.args.verbose or cache.is_unexpected):
            progress.clear()
            self._warn(f"results are not cached: {escape(cache.problem)}")
        return outcome

    def _limits(self, here: Settings) -> Limits:
        from placement_lint.limits.budget import limits_of

        return limits_of(here.time_limit, here.memory_limit, jobs=self.args.jobs)

    def _check_all_selectors(self, files: Iterable[str]) -> None:
        from placement_lint.cli.selectors import check_selectors

        check_selectors(self._settings_of(files), self.args)

    def _settings_of(self, files: Iterable[str]) -> list[Settings]:
        """Return the settings of the current folder, and those of files."""
        return [self.loader.for_folder("."), *map(self.loader.for_file, files)]

    def _say_what_is_known(self, outcome: Outcome) -> None:
        for each in outcome.revealed:
            place = f"{escape_path(each.path)}:{each.line}:{each.column}"
            streams.write(f"{place}: {escape(f'{each.name} is {each.description}')}\n")

    def _stdin(self) -> int:
        from placement_lint.cli.selectors import check_selectors
        from placement_lint.config.values import SettingsError
        from placement_lint.files.discovery import display_path, is_excluded
        from placement_lint.regular import most_of, too_large

        path = display_path(self.args.stdin_filename or _STDIN_NAME)
        settings = self.loader.for_file(path)
        check_selectors([settings], self.args)
        excluded = settings.force_exclude and is_excluded(path, settings)
        if self.args.show_files or self.args.show_settings:
            self._show([path], excluded=excluded)
            return CLEAN
        most = most_of(path)
        data = b"" if sys.stdin is None else sys.stdin.buffer.read(most + 1)
        if len(data) > most:
            message = f"standard input: {too_large(most).strerror}"
            raise SettingsError(message)

        from placement_lint.lint.results import FixMode

        if self.args.timing:
            watch().start()
        with timed(IMPORTING):
            from placement_lint.lint.linter import Linter

        mode = self._fix_mode(settings)
        if excluded:
            self._warn("standard input was not linted: its name is excluded")
            if mode is FixMode.APPLY or (self.args.add_noqa is not None and not self.args.diff):
                streams.write_bytes(data)
            return CLEAN
        if self.args.verbose and not self.args.quiet:
            from placement_lint.cli import notes

            notes.say_targets([path], self.loader, self.store)
        linter = Linter(self.loader.for_file, fix=mode, store=self.store)
        outcome, fixed = linter.check_text(path, data)
        if self._adopts(outcome, [path], folders=False):
            from placement_lint.cli.adopting import Adoption

            self.adoption = Adoption(self.args, self.loader.for_file, self.store, folders=False)
            outcome, silenced = self.adoption.applied_to_text(outcome, path)
            if silenced is not None and not self.args.diff:
                mode, fixed = FixMode.APPLY, silenced
        self._say_skipped(outcome.skipped)
        if mode is FixMode.APPLY:
            streams.write_bytes(data if fixed is None else fixed)
        # Where the fixed text takes standard output, the findings go beside it.
        return self._done(outcome, settings, to_stderr=mode is FixMode.APPLY)

    def _writes(self, settings: Settings) -> bool:
        """Return whether linted files may be written."""
        return (settings.fix or self.args.add_noqa is not None) and not self.args.diff

    def _fix_mode(self, settings: Settings) -> FixMode:
        from placement_lint.lint.results import FixMode

        if self.args.add_noqa is not None:
            # --diff is about the comments then.
            return FixMode.NONE
        if self.args.diff:
            return FixMode.DIFF
        return FixMode.APPLY if settings.fix else FixMode.NONE

    def _done(
        self,
        outcome: Outcome,
        settings: Settings,
        failed: Sequence[Skipped] = (),
        *,
        to_stderr: bool = False,
    ) -> int:
        """Write what is to be said of a run, and give its exit code."""
        code = self._exit_code(outcome, settings)
        omitted = 0
        with timed(REPORT):
            if self.args.diff:
                self._report_beside_diff(outcome, settings)
                self._diff(outcome)
            else:
                self.outputs.demand_statistics(settings.output_format)
                omitted = self.outputs.write(
                    outcome,
                    settings.output_format,
                    exit_code=code,
                    failed=failed,
                    most=settings.max_findings,
                    to_stderr=to_stderr,
                )
        if omitted:
            more = "1 more finding is" if omitted == 1 else f"{omitted} more findings are"
            streams.complain(f"note: {more} not written: max-findings")
        if self.args.timing:
            from placement_lint.report.times import table

            streams.complain(table(watch().stop(), watch().seconds))
        self._summarise(outcome)
        return code

    def _report_beside_diff(self, outcome: Outcome, settings: Settings) -> None:
        """Print what could not be read or parsed to standard error: the diff is the output."""
        from dataclasses import replace

        from placement_lint.cli.outputs import Outputs

        form = settings.output_format
        Outputs((), color=self.args.color).write(
            replace(outcome, findings=tuple(_of_tool(outcome.findings))),
            form if form in {"flake8", "full"} else None,
            exit_code=FAILED,
            to_stderr=True,
        )

    def _diff(self, outcome: Outcome) -> None:
        from placement_lint.report import diff
        from placement_lint.report.colour import Colours

        text = diff.render(outcome.fixed)
        if self.outputs.file is not None:
            streams.write_file(self.outputs.file, text)
            return
        if streams.is_terminal(sys.stdout) or streams.is_log(os.environ):
            text = "\n".join(map(escape_line, text.split("\n")))
        enabled = streams.use_colour(self.args.color, sys.stdout, os.environ)
        streams.write(diff.painted(text, Colours(enabled)))

    def _summarise(self, outcome: Outcome) -> None:
        from placement_lint.report import summary

        if self.args.show_fixes and outcome.fixed:
            from placement_lint.rules.registry import all_rules

            names = {rule.code: rule.name for rule in all_rules()}
            streams.complain(summary.fixes(outcome.fixed, names).rstrip("\n"))
        if self.adoption is not None and self.adoption.say(outcome):
            return
        if self.args.quiet:
            return
        if self.args.verbose:
            streams.complain(
                f"{outcome.parsed} of {outcome.files} files parsed, {outcome.cached} from the "
                f"cache, in {outcome.seconds:.2f} s"
            )
        if self.args.diff:
            streams.complain(summary.would_fix(outcome.fixed, outcome.findings))
        elif outcome.files or outcome.findings:
            streams.complain(summary.summary(outcome))

    def _say_what_is_left_out(self, found: Found, paths: Sequence[str]) -> None:
        if self.args.verbose:
            for path in found.excluded:
                streams.complain(f"note: {escape(path)} is excluded")
        from placement_lint.lint.results import Skipped

        self._say_skipped(Skipped(skip.path, skip.reason) for skip in found.skipped)
        if found.files or found.failed:
            return
        if found.excluded_only:
            self._warn("nothing to lint: all given paths are excluded")
        else:
            self._warn(f"no Python files found under {', '.join(map(escape, paths))}")

    def _say_skipped(self, skipped: Iterable[Skipped]) -> None:
        if self.args.quiet:
            return
        from placement_lint.lint.results import SkipKind

        listed = sorted(skipped, key=lambda skip: (skip.path, skip.reason))
        most = len(listed) if self.args.verbose else _SHOWN_SKIPS
        for skip in listed[:most]:
            is_linted = skip.kind in {SkipKind.NOT_FIXED, SkipKind.NOT_SILENCED}
            what = skip.reason if is_linted else f"not linted: {skip.reason}"
            streams.complain(f"note: {escape(skip.path)}: {escape(what)}")
        if len(listed) > most:
            streams.complain(f"note: {len(listed) - most} more like these; -v lists them")

    def _warn(self, text: str) -> None:
        if not self.args.quiet:
            streams.complain(f"warning: {text}")

    def _exit_code(self, outcome: Outcome, settings: Settings) -> int:
        from placement_lint.findings import INTERNAL_ERROR

        findings: Iterable[Finding] = outcome.findings
        if self.failed or any(finding.code == INTERNAL_ERROR for finding in findings):
            return FAILED
        counted = SEVERITIES[: SEVERITIES.index(settings.fail_on) + 1]
        counting = [finding for finding in findings if finding.severity.value in counted]
        found: Iterable[object] = counting
        if self.args.diff:
            found = [*outcome.fixed, *_of_tool(counting)]
        elif self.args.exit_non_zero_on_fix:
            found = [*outcome.fixed, *counting]
        return FINDINGS if found and not self.args.exit_zero else CLEAN


def _is_stdin(args: argparse.Namespace) -> bool:
    return _STDIN in args.paths or args.stdin_filename is not None


def _command_hint(path: str) -> str:
    """Return what to add about a path that is not there, if it is meant as a command."""
    if os.path.lexists(path) or not path.isidentifier():
        return ""
    from placement_lint.cli.hints import command_hint

    hint = command_hint(path)
    return "" if hint is None else f"; {hint}"


def _of_tool(findings: Iterable[Finding]) -> Iterable[Finding]:
    return (finding for finding in findings if finding.code.startswith(_TOOL_CODES))
