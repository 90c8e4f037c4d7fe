"""What rules ask about committing single expressions: all that they asked is answered together.

To answer, the program is executed again. One execution for each expression would take a time that
grows with the square of their number, so one execution commits all of them. Where arrays of two of
them meet there, what comes of either alone is not known of that: it takes an execution of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.placement.counterfactual.commitments import Commitment, Commitments
    from placement_lint.placement.counterfactual.protocols import ExecutedProgram
    from placement_lint.placement.domain.consequences import Destination
    from placement_lint.placement.domain.places import Place

_MOST_TOGETHER = 16
"""How often expressions are committed together: once for each rule and module that asks."""
_MOST_ALONE = 4
"""How many expressions are committed in executions of their own."""


@dataclass
class _Questions:
    """What was asked of the same kind of commitment, since that was answered last."""

    targets: dict[Place, Destination] = field(default_factory=dict)
    answers: dict[Place, Commitment | None] = field(default_factory=dict)


class Requests:
    """What is asked of a program that was executed."""

    def __init__(self, program: ExecutedProgram) -> None:
        self._program = program
        self._asked: dict[tuple[bool, bool], _Questions] = {}
        self._together = self._alone = 0

    def ask(
        self, place: Place, target: Destination, *, moves: bool, rebinds: bool
    ) -> Callable[[], Commitment | None]:
        """Ask what comes of committing what an expression gives: see `Supposition`.

        The answer is given by what is returned. It takes an execution of the program, for all that
        was asked by then.
        """
        asked = self._asked.setdefault((moves, rebinds), _Questions())
        asked.targets[place] = target

        def answer() -> Commitment | None:
            if asked.targets:
                self._answer(asked, moves=moves, rebinds=rebinds)
            return asked.answers[place]

        return answer

    def _answer(self, asked: _Questions, *, moves: bool, rebinds: bool) -> None:
        targets, asked.targets = asked.targets, {}

        def committing(targets: dict[Place, Destination], *, gives_up: bool) -> Commitments:
            from placement_lint.placement.counterfactual.commitments import Commitments

            return Commitments(
                self._program, targets, moves=moves, rebinds=rebinds, gives_up=gives_up
            )

        self._together += 1
        together = committing(targets, gives_up=self._together > _MOST_TOGETHER)
        for place, target in targets.items():
            answer = together.of([place])
            if len(targets) > 1 and not together.is_apart(place):
                self._alone += 1
                alone = committing({place: target}, gives_up=self._alone > _MOST_ALONE)
                answer = alone.of([place])
            asked.answers[place] = answer
