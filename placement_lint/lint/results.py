"""What a run gives: findings, what was passed over, what fixes have changed."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from placement_lint.files.source import Source
    from placement_lint.findings import Finding
    from placement_lint.lint.lookup import Revealed

NOT_KEPT = {"kept": False}
"""The metadata of a field of which the cache keeps nothing: it has its default again."""


class SkipKind(enum.Enum):
    """What was not done about a file."""

    NOT_LINTED = "not linted"
    EXCLUDED = "excluded"
    """It is not linted, as the settings ask for."""
    NOT_FIXED = "not fixed"
    NOT_SILENCED = "not silenced"


@dataclass(frozen=True)
class Skipped:
    """A file, or a part of the work on it, that was passed over, and why."""

    path: str
    reason: str
    """For `NOT_FIXED` and `NOT_SILENCED` it says so itself."""
    kind: SkipKind = SkipKind.NOT_LINTED


@dataclass(frozen=True)
class Suppressed:
    """A finding that a comment silences, and why: what the comment says of that."""

    finding: Finding
    reason: str = ""


@dataclass(frozen=True)
class FixedFile:
    """A file that fixes have changed, or would change."""

    path: str
    before: str
    """Its text, with the byte order mark if it has one."""
    after: str
    counts: Mapping[str, int]
    """How many findings were fixed, by code."""


@dataclass(frozen=True)
class Outcome:
    """What came of a run."""

    findings: tuple[Finding, ...]
    """What is left after fixing, in the order of every report."""
    skipped: tuple[Skipped, ...]
    files: int
    parsed: int
    cached: int
    """Of how many files it was known already what is in them."""
    seconds: float
    fixed: tuple[FixedFile, ...]
    sources: Callable[[str], Source | None]
    """Gives the text that the findings of a file are about; None where it cannot be had."""
    revealed: tuple[Revealed, ...] = ()
    """Answers to `# reveal: name` comments."""
    suppressed: tuple[Suppressed, ...] = ()
    """What comments silence, in the order of every report."""


def empty_outcome(files: int, seconds: float) -> Outcome:
    """Return the outcome of a run over files in which nothing can be found."""
    return Outcome((), (), files, 0, 0, seconds, (), lambda _: None)


class FixMode(enum.Enum):
    """What happens to fixes: nothing; they are written; they are worked out and not written."""

    NONE = enum.auto()
    APPLY = enum.auto()
    DIFF = enum.auto()
