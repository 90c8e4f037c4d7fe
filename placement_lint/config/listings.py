"""What lies in the folders of a run, each listed once.

Where a project may say something about itself, a file is looked for in every folder, and most have
none: to list a folder takes less time than to open a few files in vain.
"""

from __future__ import annotations

import os


class Listings:
    """Tells whether a folder may have an entry."""

    def __init__(self) -> None:
        """List nothing yet."""
        self._of_folder: dict[str, str | None] = {}

    def may_have(self, folder: str, word: str) -> bool:
        """Return whether a word, in small letters, is a part of the name of an entry of a folder.

        True for a folder that cannot be listed: it may be possible to open files in it.
        """
        if folder not in self._of_folder:
            self._of_folder[folder] = _listed(folder)
        names = self._of_folder[folder]
        return names is None or word in names

    def is_repository(self, folder: str) -> bool:
        """Return whether a folder is the root of a repository of git."""
        return self.may_have(folder, ".git") and os.path.exists(os.path.join(folder, ".git"))


def _listed(folder: str) -> str | None:
    try:
        return "\n".join(os.listdir(folder)).lower()
    except OSError:
        return None
