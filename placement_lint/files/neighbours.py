"""What the files beside a file import, by the words of their import statements."""

from __future__ import annotations

import functools
import re
from pathlib import Path

_STATEMENT = re.compile(rb"^[ \t]*(?:from|import)[ \t][^#\n]*", re.MULTILINE)
_WORD = re.compile(rb"\w+")


def is_imported_beside(path: str) -> bool:
    """Return whether a file in the same folder, or in the one above, may import a file."""
    file = Path(path).absolute()
    word = file.stem.encode()
    for folder in (file.parent, file.parent.parent):
        for other in sorted(folder.glob("*.py")):
            if other == file:
                continue
            try:
                status = other.stat()
                imported = _imported(other, status.st_mtime_ns, status.st_size)
            except OSError:
                # What nobody can read, nobody can run.
                continue
            if word in imported:
                return True
    return False


@functools.lru_cache(maxsize=4096)
def _imported(path: Path, _changed: int, _size: int) -> frozenset[bytes]:
    """Return the words of the import statements of a file, as it was at a time."""
    lines = b"\n".join(_STATEMENT.findall(path.read_bytes()))
    return frozenset(_WORD.findall(lines))
