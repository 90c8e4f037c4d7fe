"""Writing to the standard streams and to files, whatever they are connected to."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO


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
    _write(sys.stderr, text + "\n", "standard error")


def write_file(path: str, text: str) -> None:
    """Write a file in UTF-8. Raises OutputError."""
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        message = f"{path}: {error.strerror or error}"
        raise OutputError(message) from error


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether a person reads a stream."""
    return stream is not None and stream.isatty()


def use_colour(choice: str, stream: TextIO | None, environment: Mapping[str, str]) -> bool:
    """Decide on colour: by `--color`, then NO_COLOR, then FORCE_COLOR, then the terminal."""
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR", "") not in {"", "0"}:
        return True
    return is_terminal(stream) and environment.get("TERM") != "dumb"


def close(stream: TextIO) -> None:
    """Send what is still to be written nowhere, so that the interpreter does not fail at exit."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def _write(stream: TextIO | None, text: str, name: str) -> None:
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
