"""What every format is given of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from placement_lint.report.colour import Colours

if TYPE_CHECKING:
    from placement_lint.lint.outcome import Outcome, Skipped


@dataclass(frozen=True)
class Report:
    """A run, and what is known around it."""

    outcome: Outcome
    """Its findings are those to be written; `omitted` says how many more there are."""
    root: str
    """The folder that services want paths told from; see `paths.source_root`."""
    exit_code: int = 0
    omitted: int = 0
    failed: tuple[Skipped, ...] = ()
    """What was asked for and could not be done: a path that is not there, a wrong setting (which
    has no path). Those with a path are among the skipped ones too."""
    colours: Colours = field(default_factory=Colours)
