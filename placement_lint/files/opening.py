"""From the bytes of a Python file or a notebook to its source, in which only Python stands."""

from __future__ import annotations

from placement_lint.files.source import CELL_WORDS, Source


def open_source(path: str, data: bytes) -> Source:
    """Decode a file or a notebook. Raises UnreadableError, or NotPythonError."""
    if not path.endswith(".ipynb"):
        return decode(path, data)
    from placement_lint.files.notebook import read_notebook

    return read_notebook(path, data)


def decode(path: str, data: bytes) -> Source:
    """Decode a source, and mask what only IPython understands, in a script in cells.

    Raises UnreadableError where the bytes are not in their encoding, or that is unknown.
    """
    return masked(Source.from_bytes(path, data))


def masked(source: Source) -> Source:
    """Return a script with Python in the place of what only IPython understands."""
    if source.cells or not any(word in source.content for word in CELL_WORDS):
        return source
    from placement_lint.files import script_cells

    return script_cells.masked(source)
