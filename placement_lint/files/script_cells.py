"""Scripts in cells: Python files in which comments such as `# %%` begin the cells of a notebook.

VS Code, Spyder, PyCharm and Jupytext run them cell by cell. They are plain Python, but for what
such an editor is also given: `%matplotlib inline`, `!pip install jax`. That is masked as it is in
notebooks; a file that Python reads as it is stays as it is.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from placement_lint.files.python_tree import parsed
from placement_lint.files.source import CELL_WORDS as WORDS
from placement_lint.files.source import Cell

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.files.source import Source

# What VS Code takes for the beginning of a cell; `# In[1]:` is what nbconvert writes.
_MARKER = re.compile(r"^#[ \t]*(?:%%|<codecell>|In\[[\d ]*\])[^\r\n]*", re.MULTILINE)
_LINE_END = re.compile(r"\r\n|\r|\n")
# A line that could be what only IPython understands, wherever in a statement it stands.
_CANDIDATE = re.compile(r"^[ \t]*[%!?,;/]|\?[ \t]*$|=[ \t]*[%!]", re.MULTILINE)


def has_cells(text: str) -> bool:
    """Return whether a text is that of a script in cells."""
    return any(word in text for word in WORDS) and _MARKER.search(text) is not None


def begins_cell(text: str) -> bool:
    """Return whether a text begins with a line that begins a cell."""
    return _MARKER.match(text) is not None


def may_be_masked(text: str) -> bool:
    """Return whether there may be a line in a text that only IPython understands."""
    return _CANDIDATE.search(text) is not None


def masked(source: Source) -> Source:
    """Return a source with Python in place of what only IPython understands, if it has cells."""
    text = source.content
    if not has_cells(text) or not may_be_masked(text) or parsed(text) is not None:
        return source if source.as_written is None else replace(source, text=text, as_written=None)
    from placement_lint.files.magics import mask

    starts = [0, *(match.start() for match in _MARKER.finditer(text))]
    ends = [*starts[1:], len(text)]
    pieces = [_mask_cell(text[a:b], mask) for a, b in zip(starts, ends, strict=True)]
    told = "".join(pieces)
    if told == text:
        return replace(source, text=text, as_written=None)
    return replace(source, text=told, as_written=text)


def cells_of(source: Source) -> list[Cell]:
    """Return the cells of a script, which count from 1, with the lines that begin them.

    What stands above the first of those lines is a cell too. Empty where there are none.
    """
    if not has_cells(source.text):
        return []
    lines = [source.position(match.start())[0] for match in _MARKER.finditer(source.text)]
    firsts = [1, *lines] if lines[0] > 1 else lines
    behind = [*firsts[1:], len(source.line_starts) + 1]
    return [
        Cell(number, first, end - first)
        for number, (first, end) in enumerate(zip(firsts, behind, strict=True), 1)
    ]


def _mask_cell(text: str, mask: Callable[[str], str]) -> str:
    """Mask one cell. The line that begins it is no part of it: a `%%magic` may follow."""
    marker = _MARKER.match(text)
    end = marker.end() if marker else 0
    line_end = _LINE_END.match(text, end)
    end = line_end.end() if line_end and marker else end
    return text[:end] + mask(text[end:])
