from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from placement_lint.findings import Finding, Severity, Span
from placement_lint.lint.results import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

_FINDING = Finding(
    code="JDP204",
    name="device-put-discarded",
    message="nothing moves",
    path="a.py",
    span=Span(2, 5, 2, 8),
    severity=Severity.ERROR,
)
_OUTCOME = Outcome(
    findings=(),
    skipped=(),
    files=1,
    parsed=1,
    cached=0,
    seconds=0.12345,
    fixed=(),
    sources=lambda _: None,
)


@pytest.fixture
def make_finding() -> Callable[..., Finding]:
    """Return a maker of findings with only what a test is about."""
    return lambda **changes: replace(_FINDING, **changes)


@pytest.fixture
def make_outcome() -> Callable[..., Outcome]:
    """Return a maker of outcomes with only what a test is about."""
    return lambda **changes: replace(_OUTCOME, **changes)
