"""The files of one run: their modules, and what rules may ask about all of them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from placement_lint.project.modules import Modules

if TYPE_CHECKING:
    from placement_lint.project.dependencies import Dependencies
    from placement_lint.project.program_view import WholeRun
    from placement_lint.project.queries import TrackedQueries


class Project(Modules):
    """The modules of one run, with the view of the whole that answers the questions of a file."""

    @functools.cached_property
    def view(self) -> WholeRun:
        """What rules may ask about the run; it finds out nothing before it is asked."""
        from placement_lint.project.program_view import WholeRun

        return WholeRun(self)

    def questions(self, path: str) -> TrackedQueries:
        """Return what puts the questions of a file to the run, and keeps the answers."""
        from placement_lint.project.queries import TrackedQueries

        return TrackedQueries(self, path, lambda: self.view)

    def still_gives(self, answers: Dependencies, path: str) -> bool:
        """Return whether a file would be given the same answers by the run as it is now."""
        from placement_lint.project.queries import still_hold

        return still_hold(answers, self, path, lambda: self.view)
