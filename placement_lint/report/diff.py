"""What fixing changes, as a unified diff that `patch` and `git apply` take."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from placement_lint.report.escape import escape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.lint.results import FixedFile
    from placement_lint.report.colour import Colours


def render(fixed: Iterable[FixedFile]) -> str:
    return "".join(_diff(file) for file in fixed)


def _diff(file: FixedFile) -> str:
    path = escape(file.path)
    lines = difflib.unified_diff(_lines(file.before), _lines(file.after), path, path)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def painted(text: str, colours: Colours) -> str:
    """Return a diff for a terminal: what goes and what comes in colours of their own."""
    if not colours.enabled:
        return text
    return "\n".join(_paint(line, colours) for line in text.split("\n"))


def _paint(line: str, colours: Colours) -> str:
    if line.startswith(("--- ", "+++ ")):
        return colours.bold(line)
    if line.startswith("@@"):
        return colours.frame(line)
    if line.startswith("-"):
        return colours.bad(line)
    return colours.good(line) if line.startswith("+") else line


def _lines(text: str) -> list[str]:
    """Split at line feeds alone, as `patch` does; a carriage return is part of its line."""
    return [line + "\n" for line in text.split("\n")[:-1]] + (
        [text.rsplit("\n", 1)[-1]] if text and not text.endswith("\n") else []
    )
