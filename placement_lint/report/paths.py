"""Paths as services that show findings beside code want them: from the top of the repository."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_VARIABLES = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
"""Where GitHub and GitLab say what their paths begin at."""


def source_root(environment: Mapping[str, str], folder: str) -> str:
    """Return the directory that paths are relative to.

    The service's, or the repository's around a directory; else that directory itself.
    """
    here = Path(folder)
    around = (here, *here.parents)
    for name in _VARIABLES:
        given = environment.get(name)
        if given:
            found = next((each for each in around if _is_same(each, given)), None)
            if found is not None:
                return str(found)
    return str(next((each for each in around if os.path.lexists(each / ".git")), here))


def relative(path: str, root: str) -> str | None:
    """Return a path relative to a root, with forward slashes; None where it is not below it."""
    whole = os.path.abspath(path)  # noqa: PTH100  (resolves no links, as Path.resolve would)
    above = root.rstrip(os.sep) + os.sep
    if not whole.startswith(above):
        return None
    return whole[len(above) :].replace(os.sep, "/")


def shown(path: str, root: str) -> str:
    """Return a path relative to a root, or as it is where it is elsewhere."""
    return relative(path, root) or path


def _is_same(folder: Path, given: str) -> bool:
    try:
        return folder.samefile(given)
    except (OSError, ValueError):
        return False  # a folder that is not there is none of ours
