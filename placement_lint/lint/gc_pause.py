"""Keep Python's search for cyclic garbage from walking through syntax trees again and again."""

from __future__ import annotations

import atexit
import contextlib
import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_UNSEARCHED = 1_000_000
"""Objects that may be left behind in a pause before they are searched for garbage between two
files: some 150 MB (Python 3.11). A search takes 0.3 s then; one after each file took a tenth of a
run."""


@contextlib.contextmanager
def collection_paused() -> Iterator[None]:
    """Look for cyclic garbage after the block, not in it, but for `collect_if_many`.

    A file's tree lives as long as its analysis, so the searches meanwhile free nothing, and each
    walks through more nodes than the last: with them a file ten times as long costs 13 times as
    much. Blocks may be nested, and a program that has turned the collector off keeps it so. The
    setting is the interpreter's: the threads beside this one have it too.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def collect_if_many() -> None:
    """Look for cyclic garbage in a pause, where there may be much: called between two files."""
    if not gc.isenabled() and gc.get_count()[0] > MOST_UNSEARCHED:
        gc.collect()


@contextlib.contextmanager
def never_collected() -> Iterator[None]:
    """Look for cyclic garbage neither in the block nor after it, but for `collect_if_many`.

    For what a process does last: a search takes a second after a large program, at the end of the
    pause and once more where Python ends, and all is freed then anyway.
    """
    atexit.register(gc.freeze)
    with collection_paused():
        try:
            yield
        finally:
            gc.freeze()
