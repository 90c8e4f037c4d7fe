"""Writing what fixes made of the files of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.lint.file_results import tool_finding
from placement_lint.lint.results import SkipKind, Skipped
from placement_lint.lint.tasks import Change, CheckedFile, failure
from placement_lint.rules.tool.io_error import IoError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def written(examined: Iterable[CheckedFile]) -> list[CheckedFile]:
    """Write what fixes made of files; where that fails, report them as they are.

    Files that a fix has edited together are written together, or none of them is.
    """
    done = {one.path: one for one in examined}
    waiting = {path: one.change for path, one in sorted(done.items()) if one.change is not None}
    while waiting:
        first = next(iter(waiting))
        paths = [path for path in waiting if path in {first, *waiting[first].linked}]
        group = {path: waiting.pop(path) for path in paths}
        done |= _unwritten(group)
    return [*done.values()]


def _unwritten(group: Mapping[str, Change]) -> dict[str, CheckedFile]:
    """Write files, and give what is to be reported of those that could not be."""
    from placement_lint.files.write import Replacement, WriteError, replace_files

    try:
        replace_files(Replacement(path, each.before, each.after) for path, each in group.items())
    except WriteError as error:
        reason = IoError.describe_unwritten(str(error))
        finding = tool_finding(IoError, error.path, reason)
        note = f"not fixed: its fix also edits {error.path}, which cannot be written"
        kind = SkipKind.NOT_FIXED
        return {
            path: CheckedFile(path, each.unchanged, unwritten=finding)
            if path == error.path
            else CheckedFile(path, each.unchanged, skipped=Skipped(path, note, kind))
            for path, each in group.items()
        }
    except Exception as error:  # our fault, and no reason to lose the other files
        return {
            path: CheckedFile(path, each.unchanged, unwritten=failure(path, error))
            for path, each in group.items()
        }
    return {}
