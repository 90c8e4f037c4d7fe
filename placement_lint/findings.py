"""What the analysis says: findings, the places they point at, and the fixes they offer.

Every consumer (the text and JSON reports, the fixer, an editor) reads these same frozen values.
Lines and columns count from 1, columns in code points; an end is exclusive.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

IO_ERROR, INVALID_SYNTAX, INTERNAL_ERROR = "JDP900", "JDP901", "JDP903"
"""The codes of findings about files that could not be checked, wholly or by one rule."""


class Severity(enum.Enum):
    """How bad a hazard is: it crashes or does nothing; is slow or misplaced; is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Confidence(enum.Enum):
    """How sure a finding is. `--min-confidence` leaves out what is less sure."""

    DEFINITE = "definite"
    """It happens on every path that leads to the line."""
    LIKELY = "likely"
    """It happens on some path, or under one assumption about code that is not seen."""
    POSSIBLE = "possible"
    """It happens only where a choice that the program makes when it runs comes out one way, or
    where the value may be something else. Not reported by default."""

    def reaches(self, least: Confidence) -> bool:
        """Return whether this is at least as sure."""
        order = list(Confidence)
        return order.index(self) <= order.index(least)


class Applicability(enum.Enum):
    """Who may apply a fix: `--fix`; `--fix --unsafe-fixes`; nobody but the reader."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


@dataclass(frozen=True, order=True)
class Span:
    """A stretch of one file (of one cell, in a notebook), from its start up to its end."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, order=True)
class Related:
    """A second place that a finding is about, such as where an array was made."""

    message: str
    path: str
    span: Span
    cell: int | None = None
    """The cell of a notebook whose lines the span counts."""
    is_step: bool = False
    """It is on the way of an array to the finding: those that are come first, in that order."""


@dataclass(frozen=True, order=True)
class Edit:
    """The replacement of one span by a text. An empty span inserts, an empty text deletes."""

    path: str
    span: Span
    text: str
    cell: int | None = None
    """The cell of a notebook whose lines the span counts."""


@dataclass(frozen=True)
class Fix:
    """Edits that are applied all or none, and what they do in one imperative sentence."""

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...]
    group: str = ""
    """Of the fixes for one file with one name here, a round applies the first alone; the others
    wait for what is found after it. For fixes that do not touch one another's text and still must
    not both be applied to what was found once."""


@dataclass(frozen=True)
class Finding:
    """One thing that the analysis says of one place."""

    code: str
    name: str
    message: str
    path: str
    span: Span
    severity: Severity
    confidence: Confidence = Confidence.DEFINITE
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    cell: int | None = None
    advice: str = ""
    """What to do, in one imperative sentence. Empty where a fix says it."""

    @property
    def key(self) -> tuple[object, ...]:
        """What it says of which place, whatever is to be done about it."""
        return (*self.sort_key, self.severity, self.confidence, self.related)

    @property
    def sort_key(self) -> tuple[str, int, Span, str, str]:
        """The order of every report: by place, then by code."""
        return (self.path, self.cell or 0, self.span, self.code, self.message)
