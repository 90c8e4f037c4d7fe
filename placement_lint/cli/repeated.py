"""A run of which nothing has changed since the last one: what that one wrote is written again.

It is known before anything else is imported. Where something has changed, or a run has left no
record (see `run_record.py`), it finds out for itself.
"""

from __future__ import annotations

import os

from placement_lint.files.folders import OWN, upwards

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def repeat(arguments: Sequence[str]) -> int | None:
    """Write what the last run with these arguments wrote, and return its exit code.

    None where there is none, or something has changed. Raises OutputError.
    """
    name = ""
    for path, is_own in _folders(arguments):
        if not os.path.isdir(path):
            continue
        from placement_lint.cli import run_record

        name = name or run_record.name_of(arguments)
        code = run_record.repeated(name, path, is_own=is_own)
        if code is not None:
            return code
    return None


def _folders(arguments: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield where there may be a record, and whether nobody has asked for it there."""
    given = os.environ.get("PLACEMENT_LINT_CACHE_DIR", "")
    for word, following in zip(arguments, [*arguments[1:], ""], strict=False):
        if word == "--cache-dir":
            given = following
        elif word.startswith("--cache-dir="):
            given = word.partition("=")[2]
    if given:
        yield given, False
        return
    for folder in upwards(os.getcwd()):
        yield os.path.join(folder, OWN), True
