"""What a rule sees of the file that it visits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Confidence
from placement_lint.rules.base import Draft
from placement_lint.semantic.file_view import FileView

if TYPE_CHECKING:
    from collections.abc import Sequence

    import libcst as cst

    from placement_lint.findings import Severity
    from placement_lint.placement.domain.places import Place
    from placement_lint.rules.base import FixPlan, LaterPlan, Rule
    from placement_lint.semantic.model import ModuleFacts


class Context(FileView):
    """One file as one rule sees it: what may be asked about it, and where to report."""

    __slots__ = ("_drafts", "_rule")

    def __init__(self, module: ModuleFacts, rule: type[Rule], drafts: list[Draft]) -> None:
        super().__init__(module)
        self._rule = rule
        self._drafts = drafts

    def beside(self, path: str) -> Context | None:
        """Return another file of the program as this rule sees it; None if it was not read."""
        facts = self.module.siblings.get(path)
        return None if facts is None else Context(facts, self._rule, [])

    @property
    def rule(self) -> type[Rule]:
        """The rule that sees the file."""
        return self._rule

    def passed(self, _node: cst.CSTNode) -> tuple[cst.BaseExpression, Context] | None:
        """Return what is passed for the parameter that a name is, in the one call of its function
        that is followed, and the file that this stands in; None where no call is.
        """
        return None

    def node_at(self, place: Place | None) -> tuple[cst.CSTNode, Context] | None:
        """Return the node at a place of the program, with its file as this rule sees it.

        None for no place, and for one in a file that was not read.
        """
        there = None if place is None else self.beside(place.module)
        return None if place is None or there is None else (there.tree.nodes[place.node], there)

    def function_at(self, place: Place | None) -> tuple[cst.FunctionDef, Context] | None:
        """Return the `def` at a place of the program, with its file; None for anything else."""
        import libcst as cst

        placed = self.node_at(place)
        if placed is None or not isinstance(placed[0], cst.FunctionDef):
            return None
        return placed[0], placed[1]

    # -- reporting --------------------------------------------------------------------------

    @property
    def reported(self) -> int:
        """How many findings there are so far."""
        return len(self._drafts)

    def report(
        self,
        node: cst.CSTNode,
        message: str,
        *,
        fix: FixPlan | LaterPlan | None = None,
        related: Sequence[tuple[cst.CSTNode, str, str]] = (),
        journey: Sequence[tuple[cst.CSTNode, str, str]] = (),
        confidence: Confidence = Confidence.DEFINITE,
        severity: Severity | None = None,
        advice: str = "",
    ) -> None:
        """Report a finding at a node. Related places: node, path of its file, message.

        `journey`: the related places that an array passed on its way to the node, in that order.
        `advice`: what to do where no fix can be offered, if it is not what the rule says.
        """
        rule = self._rule
        draft = Draft(
            rule,
            node,
            message,
            confidence,
            severity or rule.severity,
            fix,
            (*journey, *related),
            advice,
            len(journey),
        )
        self._drafts.append(draft)
