"""Writing to the standard streams and to files, whatever they are connected to."""

from __future__ import annotations

import os
import stat
import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TextIO


_LINKING_PROGRAMS = ("Hyper", "WezTerm", "ghostty", "iTerm.app", "rio", "tabby", "vscode", "zed")
_LINKING_VARIABLES = ("DOMTERM", "KONSOLE_VERSION", "WT_SESSION")
_LINKING_TERMS = ("alacritty", "contour", "foot", "xterm-ghostty", "xterm-kitty")
_FIRST_LINKING_VTE = 5001
"""0.50 has links, and falls over them; see github.com/Alhadis/OSC8-Adoption for all of these."""


_ERROR = "standard error"

HELP_WIDTH = 96
"""Columns of the kept text of `--help`; on a narrower terminal it is worked out."""


class OutputError(Exception):
    """Output that could not be written; the message says where and why."""


def write(text: str) -> None:
    """Write to standard output. Raises OutputError; a reader that has gone is none."""
    _write(sys.stdout, text, "standard output")


def write_bytes(data: bytes) -> None:
    """Write bytes to standard output. Raises OutputError; a reader that has gone is none."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        close(sys.stdout)
    except OSError as error:
        close(sys.stdout)
        message = f"standard output: {error.strerror or error}"
        raise OutputError(message) from error


def complain(text: str) -> None:
    """Write a line to standard error, where that can be done at all."""
    _write(sys.stderr, text + "\n", _ERROR)


def fail(message: str) -> None:
    """Print a line on standard error: why what was asked for is not done."""
    from placement_lint.report.escape import escape, shortened

    complain(f"error: {escape(shortened(message))}")


def write_file(path: str, text: str) -> None:
    """Write a file in UTF-8, whole or not at all. Raises OutputError.

    What is no regular file, such as a pipe, is written to as it is.
    """
    from placement_lint.files.temporary import target_of, write_whole

    data = text.encode("utf-8", "backslashreplace")
    try:
        target = target_of(path)
        if os.path.lexists(target) and not os.path.isfile(target):
            with open(target, "wb") as file:
                file.write(data)
        else:
            write_whole(target, data)
    except OSError as error:
        raise OutputError(_why_not(path, error)) from error


def demand_folder(path: str) -> None:
    """Raise OutputError for a file that cannot be written, as far as its folder tells."""
    target = os.path.realpath(path)
    if os.path.isdir(target):
        message = f"{path}: cannot be written: it is a directory"
        raise OutputError(message)
    if not os.path.isdir(os.path.dirname(target)):
        folder = os.path.dirname(path) or os.path.dirname(target)
        message = f"{path}: cannot be written: there is no directory {folder}"
        raise OutputError(message)


def _why_not(path: str, error: OSError) -> str:
    try:
        demand_folder(path)
    except OutputError as folder:
        return str(folder)
    return f"{path}: cannot be written: {error.strerror or error}"


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a person reads a stream."""
    return stream is not None and stream.isatty()


def columns(stream: TextIO | None) -> int:
    """Return the width of a terminal; of what is none, that of a line of text of any length."""
    if stream is None or not is_terminal(stream):
        return sys.maxsize
    try:
        # 0 is what some say who do not know.
        return os.get_terminal_size(stream.fileno()).columns or sys.maxsize
    except (OSError, ValueError):
        return sys.maxsize


def is_log(environment: Mapping[str, str]) -> bool:
    """Return whether what is printed goes to the log of a build, which may hold commands for it."""
    return any(
        environment.get(name, "").lower() not in {"", "0", "false"}
        for name in ("CI", "GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION")
    )


def use_colour(choice: str, stream: TextIO | None, environment: Mapping[str, str]) -> bool:
    """Decide on colour: by `--color`, then NO_COLOR, then FORCE_COLOR, then the terminal."""
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR", "") not in {"", "0"}:
        return True
    return is_terminal(stream) and environment.get("TERM") != "dumb"


def use_links(choice: str, stream: TextIO | None, environment: Mapping[str, str]) -> bool:
    """Decide on links: by FORCE_HYPERLINK, then as on colour, and by what the terminal is.

    None that does not understand a link may be sent one: some print what they do not know.
    """
    forced = environment.get("FORCE_HYPERLINK", "")
    if choice == "never" or forced == "0":
        return False
    if forced:
        return True
    if not is_terminal(stream) or not use_colour(choice, stream, environment):
        return False
    if environment.get("TERM_PROGRAM") in _LINKING_PROGRAMS:
        return True
    if any(environment.get(name) for name in _LINKING_VARIABLES):
        return True
    version = environment.get("VTE_VERSION", "")
    if version.isdigit() and int(version) >= _FIRST_LINKING_VTE:
        return True
    return environment.get("TERM", "").startswith(_LINKING_TERMS)


def is_pipe(stream: TextIO | None) -> bool:
    """Return whether another program reads a stream, as far as that is known."""
    try:
        return stream is not None and stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def has_reader(stream: TextIO | None) -> bool:
    """Return whether a pipe is still read: nobody may have written to it since its reader left."""
    if not is_pipe(stream) or stream is None:
        return False
    try:
        import select

        poll = select.poll()
    except (ImportError, AttributeError):  # Windows
        return True
    poll.register(stream.fileno(), select.POLLERR)
    return not any(event & select.POLLERR for _, event in poll.poll(0))


def close(stream: TextIO) -> None:
    """Send what is still to be written nowhere, so that the interpreter does not fail at exit."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


_written: list[list[tuple[bool, str]]] = []


def note_written() -> list[tuple[bool, str]]:
    """Return where all is noted that is written from now on: whether to standard output, and what.

    What notes it for an earlier caller ends.
    """
    _written[:] = [[]]
    return _written[0]


def write_again(texts: Iterable[tuple[bool, str]]) -> None:
    """Write what was noted. Raises OutputError."""
    for is_output, text in texts:
        if is_output:
            write(text)
        else:
            _write(sys.stderr, text, _ERROR)


def _write(stream: TextIO | None, text: str, name: str) -> None:
    for noted in _written:
        noted.append((name != _ERROR, text))
    if stream is None:
        return
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        close(stream)
    except OSError as error:
        close(stream)
        if stream is not sys.stderr:
            message = f"{name}: {error.strerror or error}"
            raise OutputError(message) from error
