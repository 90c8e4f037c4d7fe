"""What every format is given of a run."""

from __future__ import annotations

from placement_lint.report.colour import Colours

TYPE_CHECKING = False

if TYPE_CHECKING:
    from placement_lint.lint.results import Outcome, Skipped


class Report:
    """A run, and what is known around it."""

    # No dataclass: it takes longer to make than a report of nothing, which a commit hook writes.
    def __init__(
        self,
        outcome: Outcome,
        root: str,
        exit_code: int = 0,
        omitted: int = 0,
        failed: tuple[Skipped, ...] = (),
        colours: Colours | None = None,
    ) -> None:
        """`outcome` has the findings that are to be written; `omitted` is how many more there are.

        `root` is the directory that services want paths relative to; see `paths.source_root`.
        `failed` is what was asked for and could not be done: a path that is not there, a wrong
        setting (which has no path). Those with a path are among the skipped ones too.
        """
        self.outcome = outcome
        self.root = root
        self.exit_code = exit_code
        self.omitted = omitted
        self.failed = failed
        self.colours = colours or Colours()

    def painted(self, colours: Colours) -> Report:
        return Report(self.outcome, self.root, self.exit_code, self.omitted, self.failed, colours)
