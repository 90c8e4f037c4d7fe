"""Errors in settings as they are printed: with the place in the file, and the line itself."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from placement_lint.config.values import SettingsError
    from placement_lint.config.where import SettingsPlace


def located(error: SettingsError) -> str:
    """Return the message, with line and column behind the file that it begins with."""
    from placement_lint.config.where import place_of

    return _with_place(error, place_of(error))


def fail(error: SettingsError) -> None:
    """Print an error of the settings on standard error."""
    from placement_lint.cli import streams
    from placement_lint.config.where import place_of
    from placement_lint.report.escape import escape_line

    place = place_of(error)
    streams.fail(_with_place(error, place))
    if place is None or not place.text.strip() or len(place.text) > streams.HELP_WIDTH:
        return
    blank = " " * len(str(place.line)) + " |"
    # A tab is as wide above the mark as in the line.
    indent = "".join(char if char == "\t" else " " for char in place.text[: place.column - 1])
    mark = "^" * place.length
    streams.complain(
        f"{blank}\n{place.line} | {escape_line(place.text)}\n{blank} {indent}{mark}\n{blank}"
    )


def _with_place(error: SettingsError, place: SettingsPlace | None) -> str:
    message = str(error)
    if place is None or not message.startswith(f"{error.path}: "):
        return message
    rest = message[len(str(error.path)) :]
    if error.place is not None:
        rest = rest.partition(" (at line ")[0]
    return f"{error.path}:{place.line}:{place.column}{rest}"
