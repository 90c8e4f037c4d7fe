"""The command line: `placement-lint [PATH ...]`, and one module a command.

Nothing is imported before it is known to be needed: `--help` and `--version` load no rules.
"""

from __future__ import annotations

import os
import sys

from placement_lint.cli import streams

TYPE_CHECKING = False  # `typing` takes as long to import as Python itself to start

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FAILURE = 2
_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, and give its exit code. `argv` is without the program's name."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(arguments)
    except SystemExit as stop:
        # The option parser's way to be done.
        return stop.code if isinstance(stop.code, int) else FAILURE
    except KeyboardInterrupt:
        return _INTERRUPTED
    except streams.OutputError as error:
        streams.fail(str(error))
        return FAILURE
    except Exception as error:
        if isinstance(error, OSError) and _is_nowhere():
            streams.fail("the current directory is gone: change to another one")
            return FAILURE
        # The last resort: no traceback reaches a user.
        return _unexpected(error)


def _is_nowhere() -> bool:
    """Return whether there is no current folder any more: somebody may have deleted it."""
    try:
        os.getcwd()
    except OSError:
        return True
    return False


def _run(arguments: list[str]) -> int:
    command, rest = "check", arguments
    if arguments == ["--version"]:
        return _version()
    if arguments in (["--help"], ["-h"]) and _print_help():
        return 0
    if arguments and arguments[0] in _COMMANDS:
        command, rest = arguments[0], arguments[1:]
    return _COMMANDS[command](rest)


def _version() -> int:
    from placement_lint.version import __version__

    streams.write(f"placement-lint {__version__}\n")
    return 0


def _print_help() -> bool:
    """Print the text that the parser of options would make; tell whether it was there."""
    from placement_lint.cli.help import kept

    text = kept() if streams.columns(sys.stdout) >= streams.HELP_WIDTH else None
    if text is None:
        return False
    streams.write(text)
    return True


def _check(arguments: list[str]) -> int:
    if "--daemon" in arguments:
        from placement_lint.cli import daemon

        if daemon.is_asked_for(arguments):
            return daemon.check(arguments)
    if not {"--help", "-h"} & {*arguments}:
        from placement_lint.cli import repeated

        code = repeated.repeat(arguments)
        if code is not None:
            return code
    from placement_lint.cli import check

    return check.main(arguments)


def _rule(arguments: list[str]) -> int:
    from placement_lint.cli import rule

    return rule.main(arguments)


def _verify(arguments: list[str]) -> int:
    from placement_lint.cli import verify
    from placement_lint.cli.parser import Parser

    parser = Parser(
        "placement-lint verify",
        description="Run the hazard and the fix of each rule on the installed JAX, and report "
        "whether the hazard happens and the fix removes it.",
    )
    verify.add_arguments(parser)
    return verify.run(parser.parse_args(arguments), parser)


def _trace(arguments: list[str]) -> int:
    from placement_lint.cli import trace

    return trace.main(arguments)


def _server(arguments: list[str]) -> int:
    from placement_lint.cli import server

    return server.main(arguments)


def _daemon(arguments: list[str]) -> int:
    from placement_lint.cli import daemon

    return daemon.main(arguments)


def _clean(arguments: list[str]) -> int:
    from placement_lint.cli import clean

    return clean.main(arguments)


def _explain(arguments: list[str]) -> int:
    from placement_lint.cli import explain

    return explain.main(arguments)


def _generate_shell_completion(arguments: list[str]) -> int:
    from placement_lint.cli import completion

    return completion.main(arguments, _COMMANDS)


_COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "check": _check,
    "rule": _rule,
    "explain": _explain,
    "verify": _verify,
    "trace": _trace,
    "server": _server,
    "daemon": _daemon,
    "clean": _clean,
    "generate-shell-completion": _generate_shell_completion,
}


def _unexpected(error: Exception) -> int:
    from placement_lint.report.escape import escape
    from placement_lint.version import __version__

    if isinstance(error, BrokenPipeError):
        # A command that writes for itself; nobody reads on.
        streams.close(sys.stdout)
        return FAILURE
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = ""
    if trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "?")
        place = f" (in {module}, line {trace.tb_lineno})"
    streams.complain(
        f"error: placement-lint {__version__} failed: "
        f"{type(error).__name__}: {escape(str(error))}{place}; please report this"
    )
    return FAILURE
