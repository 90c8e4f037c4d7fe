"""What was seen, and the verdict over what was seen in the hazard and in its fix.

A blind observation must not pass, so an `Observation` carries what was measured, and how the
instrument showed that it can see (`control`). The verdict asks for the sign in the hazard, its
absence in the fix, and different measurements by the same instruments in the two.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

Measured = bool | int | float | str


class InvalidObservationError(ValueError):
    """What `observe` gave back says nothing."""


class BlindInstrumentError(RuntimeError):
    """An instrument did not see what it was shown as its control."""


@dataclass(frozen=True)
class Observation:
    """One thing that was measured while the code ran.

    `seen` tells whether the hazard's sign is in `measured`; `control` says what the instrument
    was shown, and saw, before it was believed.
    """

    instrument: str
    what: str
    measured: Measured
    text: str
    seen: bool
    control: str

    def __post_init__(self) -> None:
        # Proofs are not type-checked, and JSON is not either.
        fields: dict[str, object] = vars(self)
        if not isinstance(fields["seen"], bool):
            msg = f"`seen` of {self.what!r} is not a bool"
            raise InvalidObservationError(msg)
        for name in ("instrument", "what", "text", "control"):
            value = fields[name]
            if not isinstance(value, str) or not value.strip():
                msg = f"an observation without {name!r} says nothing"
                raise InvalidObservationError(msg)
        measured = fields["measured"]
        nothing = not isinstance(measured, bool | int | float | str) or measured == ""
        if nothing or (isinstance(measured, float) and not math.isfinite(measured)):
            msg = f"{self.what!r} measured nothing: {measured!r}"
            raise InvalidObservationError(msg)

    def as_json(self) -> dict[str, Any]:
        """Return the form that `from_json` reads."""
        return asdict(self)

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> "Observation":
        """Read what `as_json` wrote; raises InvalidObservationError for anything else."""
        try:
            return Observation(**value)
        except TypeError as error:
            raise InvalidObservationError(str(error)) from error


def as_observations(value: object) -> tuple[Observation, ...]:
    """Return what `observe` returned as a tuple of observations.

    Raises InvalidObservationError when it is not one observation or a sequence of at least one.
    """
    if isinstance(value, Observation):
        return (value,)
    if isinstance(value, list | tuple) and value:
        for item in value:
            if not isinstance(item, Observation):
                msg = f"observe() returned a {type(item).__name__} among its observations"
                raise InvalidObservationError(msg)
        return tuple(value)
    if isinstance(value, list | tuple):
        raise InvalidObservationError("observe() saw nothing: it returned no observation")
    msg = f"observe() returned {type(value).__name__}, which is not an Observation"
    raise InvalidObservationError(msg)


@dataclass(frozen=True)
class SideOutcome:
    """One run of one side. `failure` is the short reason why there is nothing to judge, or ""."""

    observations: tuple[Observation, ...] = ()
    failure: str = ""
    seconds: float = 0.0
    stage: str = ""
    output: str = ""


@dataclass(frozen=True)
class Verdict:
    """The claim of one rule, judged. `problems` is empty exactly when it holds."""

    reproduced: bool
    cured: bool
    problems: tuple[str, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """Whether the hazard was seen, the fix was seen to cure it, and nothing else is amiss."""
        return self.reproduced and self.cured and not self.problems


def judge(hazard: SideOutcome, fixed: SideOutcome) -> Verdict:
    """Compare what was seen in the hazard with what was seen in its fix."""
    problems = []
    if hazard.failure:
        problems.append(f"hazard: {hazard.failure}")
    if fixed.failure:
        problems.append(f"fixed: {fixed.failure}")
    unseen = [item.what for item in hazard.observations if not item.seen]
    left = [item.what for item in fixed.observations if item.seen]
    if not hazard.failure:
        if not hazard.observations:
            problems.append("hazard: nothing was observed")
        problems.extend(f"the hazard was not reproduced: {what}" for what in unseen)
    if not fixed.failure:
        if not fixed.observations:
            problems.append("fixed: nothing was observed")
        problems.extend(f"the fix does not cure: {what}" for what in left)
    reproduced = not hazard.failure and bool(hazard.observations) and not unseen
    cured = not fixed.failure and bool(fixed.observations) and not left
    if reproduced and cured:
        problems.extend(_incomparable(hazard.observations, fixed.observations))
    return Verdict(reproduced, cured, tuple(problems))


def _incomparable(hazard: Sequence[Observation], fixed: Sequence[Observation]) -> list[str]:
    """Reasons why the two sides were not observed in the same way, or not with open eyes."""
    kinds = [[(item.instrument, item.what) for item in side] for side in (hazard, fixed)]
    if kinds[0] != kinds[1]:
        return ["the hazard and its fix were observed in different ways"]
    return [
        f"the observation is blind: the same was measured in both: {before.what}: {before.text}"
        for before, after in zip(hazard, fixed, strict=True)
        if before.measured == after.measured
    ]
