"""Whether a file in which no rule could find anything can be parsed at all.

Exit code 0 says that everything was checked; a file that nobody can parse was not. To parse every
file with LibCST would take most of the time of a run, so Python's own parser is asked first, which
takes a twentieth of that. Only what it refuses is parsed with LibCST, which has the last word: it
also reads the syntax of newer Pythons.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from placement_lint.files.python_tree import parsed
from placement_lint.syntax.code_text import strings_and_comments
from placement_lint.syntax.parser_guard import DEFAULT_LIMITS, too_deep

if TYPE_CHECKING:
    import ast

    from placement_lint.files.source import Source
    from placement_lint.files.store import FileStore

_MOST_IN_FIELDS = 100_000_000
"""Fields of a formatted string times its characters: a fortieth of a second."""
_LAST = "\nnonlocal _"
"""Behind a module that can be parsed it is the first mistake, found before any code is made."""
_REFUSED = "nonlocal declaration not allowed at module level"


def may_be_broken(source: Source) -> bool:
    """Return whether a source has to be parsed by LibCST to know whether that can be done.

    Takes time and memory by the size of the source: a tenth of a microsecond and, at worst, 700
    bytes a character. What is too large or too deep for LibCST may be broken.
    """
    text = source.text
    if _is_too_much(text):
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text + _LAST, "<a source>", "exec", dont_inherit=True)
        except SyntaxError as error:
            return error.msg != _REFUSED
        except (ValueError, RecursionError, MemoryError):
            return True
    return True


def python_tree(source: Source, store: FileStore) -> ast.Module | None:
    """Parse a source with Python's own parser, once; None where it refuses it, or it is too large.

    Takes a microsecond for each character at most.
    """
    return store.derived(_parsed, source)


def tree_of(text: str) -> ast.Module | None:
    """Parse a text with Python's own parser; None where it refuses it, or it is too large."""
    return None if _is_too_much(text) else parsed(text)


def _parsed(source: Source, _: ast.Module | None) -> ast.Module | None:
    return tree_of(source.text)


def _is_too_much(text: str) -> bool:
    """Return whether Python's own parser may take too long for a source, or too much memory.

    Up to 3.11 it reads a formatted string from its beginning for each of the fields: 70,000 fields
    in 210,000 characters take 4 seconds.
    """
    # A text of fewer characters has fewer tokens.
    if len(text) > DEFAULT_LIMITS.tokens and too_deep(text) is not None:
        return True
    if text.count("{") * len(text) <= _MOST_IN_FIELDS:
        return False
    work = 0
    for start, end, is_formatted in strings_and_comments(text):
        if is_formatted:
            work += text.count("{", start, end) * (end - start)
    return work > _MOST_IN_FIELDS
