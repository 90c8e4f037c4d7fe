"""Files of a run as others ask about them: opened once, and kept while there is room."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.semantic.program_queries import RunView

MOST_KEPT = 500_000
"""Characters of text. The tree of one and its names take some 100 bytes for each (LibCST 1.9.0,
Python 3.11)."""


class OpenFiles:
    """The facts of files, which many names are asked of, one after another.

    Each who borrows a file finds nothing in it that was worked out for another: what was found
    while a question was still open may not hold for the next one.
    """

    def __init__(
        self,
        open_file: Callable[[str], ModuleFacts | None],
        questions: Callable[[str], RunView],
        *,
        is_barred: Callable[[str], bool],
    ) -> None:
        """`open_file` parses a file, and `questions` returns what a file asks the run by.

        `is_barred`: nothing more is to be found out of a file.
        """
        self._open = open_file
        self._questions = questions
        self._is_barred = is_barred
        self._kept: OrderedDict[str, tuple[ModuleFacts, int]] = OrderedDict()
        self._characters = 0

    @contextlib.contextmanager
    def borrowed(self, path: str) -> Iterator[ModuleFacts | None]:
        """Lend the facts of a file for a block; None where it cannot be parsed.

        Whoever borrows a file within the block of another that has it gets facts of its own.
        """
        if self._is_barred(path):
            yield None
            return
        facts, size = self._kept.pop(path, (None, 0))
        if facts is None:
            facts = self._open(path)
            if facts is None:
                yield None
                return
            size = len(facts.text)
        else:
            self._characters -= size
            facts.begin_again(self._questions(path))
        try:
            yield facts
        except BaseException:
            # Work was broken off, and some of it may be half done.
            facts.free()
            raise
        self._keep(path, facts, size)

    def _keep(self, path: str, facts: ModuleFacts, size: int) -> None:
        if path in self._kept or size > MOST_KEPT:
            facts.free()
            return
        self._kept[path] = (facts, size)
        self._characters += size
        while self._characters > MOST_KEPT:
            _, (oldest, length) = self._kept.popitem(last=False)
            self._characters -= length
            oldest.free()
