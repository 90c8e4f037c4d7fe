"""Addresses of documents, and paths of files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

_DRIVE = re.compile(r"/[A-Za-z]:")


def path_of(uri: str) -> str | None:
    """Return the path of the file that an address names; None where it names none.

    Editors write one path in several ways (`file:///c%3A/x`, `file:///C:/x`): a drive's letter is
    small here.
    """
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return None
    # What stands behind `?` and `#` is not escaped by every editor, and is no query of a file.
    path = unquote(uri.partition(":")[2].removeprefix(f"//{parts.netloc}"))
    if parts.netloc and parts.netloc != "localhost":
        path = f"//{parts.netloc}{path}"
    elif os.name == "nt" and _DRIVE.match(path):
        path = path[1].lower() + path[2:]
    return os.path.normpath(path) if path else None


def uri_of(path: str) -> str:
    """Return the address of a file."""
    return Path(path).as_uri()
