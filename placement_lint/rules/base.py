"""What a rule is: a claim with a page, visitors over LibCST nodes, and fixes as text edits.

A rule is one class in one file. Its docstring is its page, in fixed sections. Its methods
`visit_Call`, `visit_With`, … are called for every node of that type, in source order, in one walk
that all rules share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import libcst as cst

    from placement_lint.findings import Applicability, Confidence, Edit, Severity
    from placement_lint.prefilter.conditions import Needs
    from placement_lint.syntax.edits import Editor
    from placement_lint.syntax.spelling import Needed

EditBuilder: TypeAlias = "Callable[[Editor], Sequence[Edit] | None]"

SECTIONS = (
    "What it does",
    "Why is this bad?",
    "Example",
    "Use instead",
    "Fix safety",
    "What it does not flag",
    "Verified by",
    "References",
)
"""The sections of every rule's page, in order."""


class Rule:
    """One rule. A subclass with a `code` of its own, in a module below this package, is found by
    itself: there is no list to keep.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    """In kebab case; reads after "allow": *allow device-put-discarded*."""
    severity: ClassVar[Severity]
    fix: ClassVar[Applicability | None] = None
    """The best fix that the rule has; None: it cannot be fixed automatically."""
    fix_takes_effect: ClassVar[bool] = False
    """Whether its fixes make something take effect that had none. A safe one is tried before it is
    offered: see `lint.fixes.trial`."""
    advice: ClassVar[str] = ""
    """What to do about a finding that has no fix, in one imperative sentence without a period."""
    pedantic: ClassVar[bool] = False
    """Off unless selected."""
    follows_callers: ClassVar[bool] = False
    """What it finds in a file may depend on files that import it."""
    follows_arrays: ClassVar[bool] = True
    """Whether it asks where arrays are: for one that does not, no files are executed together."""
    follows_arrays_in: ClassVar[Needs | None] = None
    """What one file of a run has to say for it to ask that of any; None: it may ask at once."""
    holds_on_any_mesh: ClassVar[bool] = False
    """What it finds in a function is so whatever mesh the program sets, where no word of the file
    says so."""
    versions: ClassVar[tuple[str | None, str | None]] = (None, None)
    """The JAX versions that have the hazard: from the first one up to, not with, the second."""
    needs: ClassVar[Needs]
    """What a file must contain for the rule to be able to fire: the file filter."""


@dataclass(frozen=True)
class FixPlan:
    """A fix that is not worked out before its finding is known to be reported."""

    applicability: Applicability
    message: str
    build: EditBuilder
    """Returns the edits, all to be applied or none; None where the text allows no fix after all."""
    imports: tuple[Needed, ...] = ()
    """What has to be imported for it: of each `Spelling` that it writes, the imports."""
    otherwise: FixPlan | None = None
    """The next best fix, where the text does not allow this one."""
    group: str = ""
    """See `Fix.group`."""


LaterPlan: TypeAlias = "Callable[[], FixPlan | None]"
"""Returns a fix once all rules have checked the file: by then all is asked that it depends on."""


@dataclass(frozen=True)
class Draft:
    """A finding in terms of nodes, before it has a place in the text."""

    rule: type[Rule]
    node: cst.CSTNode
    message: str
    confidence: Confidence
    severity: Severity
    fix: FixPlan | LaterPlan | None
    related: tuple[tuple[cst.CSTNode, str, str], ...]
    """Nodes, with the path of the file that each is in and what to say of it."""
    advice: str = ""
    """What to do where no fix can be offered; empty: what the rule says."""
    steps: int = 0
    """How many of the related places, the first ones, are the way of an array to the finding."""
