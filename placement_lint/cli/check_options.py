"""The options of `placement-lint check`, in the groups in which `--help` shows them."""

from __future__ import annotations

import os

from placement_lint.cli.parser import Parser, add_color, add_setting

TYPE_CHECKING = False

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Find, explain and fix device-placement mistakes in JAX code.

Commands: check (the default), rule (explain the rules), explain (explain what is found at a place),
verify (reproduce the rules on the installed JAX), trace (run a program and report the copies that
happen), server (the language server), daemon (the background process of --daemon), clean (delete
the cache), generate-shell-completion (for bash, fish or zsh).
`placement-lint COMMAND --help` shows the options of a command."""

_EPILOG = """\
CODES are codes (JDP201), prefixes (JDP2), names (uncommitted-array-indexed) or ALL, separated by
commas. PATTERNS have the syntax of .gitignore. Exit code: 0 clean, 1 findings, 2 wrong usage or
settings, a missing path or an internal error."""


def check_parser() -> Parser:
    """Return the parser of the options of `placement-lint check`."""
    parser = Parser(
        "placement-lint",
        usage="placement-lint [PATH ...] [OPTIONS]\n       placement-lint COMMAND [OPTIONS]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        add_help=False,
    )
    parser.add_argument_group("Paths").add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="files and directories to lint, or - for standard input (default: .)",
    )
    _add_rules(parser.add_argument_group("Rules"))
    _add_files(parser.add_argument_group("Files"))
    _add_fixes(parser.add_argument_group("Fixes"))
    _add_adopting(parser.add_argument_group("Adopting"))
    _add_output(parser.add_argument_group("Output"))
    _add_settings(parser.add_argument_group("Settings"))
    _add_other(parser.add_argument_group("Other"))
    return parser


def _add_rules(rules: argparse._ArgumentGroup) -> None:
    for name in ("select", "extend-select", "ignore", "extend-ignore"):
        add_setting(rules, name)
    add_setting(rules, "per-file-ignores")
    add_setting(rules, "extend-per-file-ignores")
    add_setting(rules, "target-jax")
    add_setting(rules, "min-confidence")


def _add_files(files: argparse._ArgumentGroup) -> None:
    for name in ("exclude", "extend-exclude", "force-exclude", "respect-gitignore"):
        add_setting(files, name)
    files.add_argument("--stdin-filename", metavar="NAME", help="the file name of standard input")
    for name in ("file-time-limit", "time-limit", "memory-limit"):
        add_setting(files, name)
    files.add_argument("--show-files", action="store_true", help="list the files and exit")


def _add_fixes(fixes: argparse._ArgumentGroup) -> None:
    add_setting(fixes, "fix")
    add_setting(fixes, "unsafe-fixes")
    add_setting(fixes, "fixable")
    add_setting(fixes, "unfixable")
    fixes.add_argument(
        "--diff", action="store_true", help="print what --fix would change, and change nothing"
    )
    fixes.add_argument("--show-fixes", action="store_true", help="list what was fixed")


def _add_adopting(adopting: argparse._ArgumentGroup) -> None:
    adopting.add_argument(
        "--add-noqa",
        nargs="?",
        const="",
        metavar="REASON",
        help="suppress the findings with # noqa comments",
    )
    add_setting(adopting, "baseline")
    adopting.add_argument("--write-baseline", metavar="FILE", help="record the findings as known")
    adopting.add_argument(
        "--new-since",
        metavar="REF",
        help="report only findings in lines changed since a git commit or branch",
    )
    adopting.add_argument(
        "--update-baseline",
        action="store_true",
        help="drop fixed findings from the baseline",
    )


def _add_output(output: argparse._ArgumentGroup) -> None:
    add_setting(output, "output-format")
    output.add_argument(
        "-o",
        "--output-file",
        action="append",
        default=[],
        metavar="[FORMAT:]FILE",
        help="write the findings to a file; with a FORMAT, can be repeated",
    )
    add_setting(output, "max-findings")
    output.add_argument(
        "--timing", action="store_true", help="print where the time of the run went"
    )
    output.add_argument(
        "--statistics", action="store_true", help="show counts by rule instead of the findings"
    )
    output.add_argument(
        "--diff-against", metavar="REF", help="with --statistics: beside those of a git commit"
    )
    add_color(output)
    output.add_argument(
        "--reveal",
        action="store_true",
        help="print the inferred placement of names marked `# reveal: name`",
    )
    add_setting(output, "fail-on")
    output.add_argument(
        "-e", "--exit-zero", action="store_true", help="exit with 0 even if there are findings"
    )
    output.add_argument(
        "--exit-non-zero-on-fix",
        action="store_true",
        help="exit with 1 if anything was fixed, even if nothing is left",
    )
    output.add_argument(
        "-w", "--watch", action="store_true", help="lint again whenever a file changes"
    )
    output.add_argument("-q", "--quiet", action="store_true", help="findings and errors only")
    output.add_argument("-v", "--verbose", action="store_true", help="print more about the run")


def _add_settings(settings: argparse._ArgumentGroup) -> None:
    settings.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="FILE|KEY=VALUE",
        help="a settings file to use, or one setting in TOML",
    )
    settings.add_argument("--isolated", action="store_true", help="read no settings files")
    settings.add_argument(
        "--show-settings", action="store_true", help="print the effective settings and exit"
    )


def _add_other(other: argparse._ArgumentGroup) -> None:
    other.add_argument(
        "-j", "--jobs", type=_jobs, default=_jobs("auto"), metavar="N", help="processes, or auto"
    )
    other.add_argument(
        "-n", "--no-cache", action="store_true", help="neither read nor write the cache"
    )
    other.add_argument(
        "--cache-dir",
        metavar="DIR",
        help="cache directory (default: .placement_lint_cache in the project)",
    )
    other.add_argument(
        "--daemon",
        action="store_true",
        help="use a background process that has everything imported, and start it if there is none",
    )
    other.add_argument(
        "-V", "--version", action="version", version=_version(), help="print the version"
    )
    other.add_argument("-h", "--help", action="help", help="print this")


def help_text() -> str:
    """Return the text of `--help`, which is kept beside this file: see `help.txt`."""
    return check_parser().format_help()


def _version() -> str:
    from placement_lint.version import __version__

    return f"placement-lint {__version__}"


def usable_processors() -> int:
    """Return how many processes check files unless it is said."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _jobs(text: str) -> int:
    import argparse

    if text == "auto":
        return usable_processors()
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    message = f"{text!r} is neither a number of processes nor auto"
    raise argparse.ArgumentTypeError(message)
