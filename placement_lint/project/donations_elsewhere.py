"""What functions and classes donate, as far as other files than their own call them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.project.donating_files import brings_donation
from placement_lint.semantic.donation.exported import exported
from placement_lint.syntax.deep_stack import run_deep

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from placement_lint.project.modules import Modules
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.semantic.program_queries import DonationElsewhere

_MOST_STEPS = 8
"""Re-exports of one name."""


class DonationsElsewhere:
    """What is donated in the files of a run, as far as other files ask for it."""

    def __init__(
        self,
        project: Modules,
        borrowed: Callable[[str], AbstractContextManager[ModuleFacts | None]],
    ) -> None:
        """`borrowed` lends the facts of a file."""
        self._project = project
        self._borrowed = borrowed
        self._known: dict[tuple[str, str], DonationElsewhere | None] = {}

    def of(self, path: str, name: str) -> DonationElsewhere | None:
        """Return what something donates that a file names; None: nothing, or it is not known."""
        located = self._project.module_of(path, name)
        for _ in range(_MOST_STEPS):
            if located is None or not located[1] or located[0] == path:
                return None
            if located in self._known:
                return self._known[located]
            file, rest = located
            donates = file in self._project.donating
            if not donates and not brings_donation(file, self._project):
                return None
            # What leads back to it while it is executed donates nothing before that.
            self._known[located] = None
            with self._borrowed(file) as facts:
                if facts is None:
                    return None
                top, dot, below = rest.partition(".")
                bindings = facts.names.module_scope.bindings.get(top, [])
                target = bindings[0].target if len(bindings) == 1 else None
                if target is None:
                    self._known[located] = run_deep(exported, facts, rest)
                    return self._known[located]
            del self._known[located]
            located = self._project.module_of(file, f"{target}{dot}{below}")
        return None
