"""The folders of files: what holds for a whole folder is asked about one file of each."""

from __future__ import annotations

import os

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OWN = ".placement_lint_cache"
"""Where runs leave what they found out for the next one."""

DECIDING = frozenset({
    *(".placement-lint.toml", "placement-lint.toml", "pyproject.toml", "setup.cfg", "tox.ini"),
    *("ruff.toml", ".ruff.toml", ".git", ".gitignore", "__init__.py"),
})  # fmt: skip
"""What decides something about the files in its folder, and below it: in small letters."""
_REQUIREMENTS = "requirement"
_NAMED_BY_SETTINGS = (".json", ".toml")
"""The ends of the names of what settings may name: a baseline, other settings."""


def decides(name: str) -> bool:
    """Return whether what has a name may decide something about the files in its folder."""
    small = name.lower()
    return small in DECIDING or _REQUIREMENTS in small


def may_be_read(name: str) -> bool:
    """Return whether a run may read what has a name, beside sources."""
    return decides(name) or name.endswith(_NAMED_BY_SETTINGS)


def upwards(folder: str) -> Iterator[str]:
    """Yield a folder, and all that it lies in."""
    yield folder
    while (above := os.path.dirname(folder)) != folder:
        yield above
        folder = above


def one_in_each(paths: Sequence[str]) -> dict[str, str]:
    """Return the folders of files, as they are named in the paths, each with one of its files."""
    if os.altsep is None:
        # What `dirname` does takes a few times as long as to cut off the name.
        paths = [*{path[: path.rfind(os.sep) + 1] or path: path for path in paths}.values()]
    return {os.path.dirname(path): path for path in paths}
