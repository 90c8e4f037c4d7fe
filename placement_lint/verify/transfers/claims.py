"""What each effect of the transfer table says of a call, and whether that is what was seen."""

from __future__ import annotations

from dataclasses import dataclass, field

from placement_lint.jaxmodel.transfer import Effect, Gives, Row
from placement_lint.verify.transfers.calls import AWAY, COMMITTED, HOME, NUMPY, OUTSIDE, Recipe

Places = set[tuple[tuple[int, ...], bool]]
"""Sets of devices, and whether what is there is committed."""


@dataclass
class CallOutcome:
    """What one call did."""

    moved: bool = False
    error: str = ""
    is_array: bool = False
    places: Places = field(default_factory=set)
    """Where the arrays of the result are."""
    staged: bool = False
    """Whether an array was filled on one device to be put on another."""

    def __str__(self) -> str:
        return self.error or f"{'moved, ' if self.moved else ''}gave {written(self.places)}"


def written(places: Places) -> str:
    """Write where arrays are: `0U` uncommitted on device 0, `1+2C` committed to two."""
    words = [
        f"{'+'.join(map(str, devices))}{'C' if committed else 'U'}"
        for devices, committed in sorted(places)
    ]
    return " ".join(words) or "no array"


_COMPUTES = {
    Effect.COMPUTE, Effect.COPY, Effect.ITERATE, Effect.SAMPLE, Effect.SAMPLER, Effect.TRANSFORM,
}  # fmt: skip
_KEEPS = {Effect.IDENTITY, Effect.REGROUP}
_MAKES = {Effect.CREATE, Effect.LOAD, Effect.UNPICKLE}
_LOOKS = {Effect.HOST, Effect.PLAIN}


def expected(
    row: Row, effect: Effect, recipe: Recipe, situation: str
) -> tuple[bool | None, Places]:
    """Return whether an operand moves (None: either), and where the arrays of the result may be."""
    default = ((0 if situation in {OUTSIDE, COMMITTED} else 1,), False)
    operand = ((2 if situation == AWAY else 1,), situation == COMMITTED)
    if effect in _COMPUTES:
        if situation == NUMPY:
            return False, set() if row.keeps_numpy else {default}
        if situation == COMMITTED:
            return None, {operand, default} if row.loses else {operand}
        return situation != HOME, {default}
    if effect is Effect.CREATE and row.follows and situation == COMMITTED:
        return None, {operand}
    if effect in _MAKES:
        return False, {default}
    if effect in _LOOKS:
        return False, set()
    if effect in _KEEPS:
        return False, {operand}
    if effect is Effect.CONVERT:
        return False, {default if situation == NUMPY else operand}
    if effect is Effect.KEY:
        return None, {operand if situation == COMMITTED else default}
    if effect is Effect.COMMIT:
        return None, {((recipe.device,), True)}
    if effect is Effect.STATE:
        if situation == COMMITTED:
            return None, {operand, default}
        return False, {default}
    if effect is Effect.INITIALISE:
        return None, {operand, default} if situation == COMMITTED else {default}
    if effect is Effect.RESTORE:
        return False, {((2 if situation == AWAY else 1,), True)}
    if effect is Effect.DISTRIBUTE:
        return None, {((1, 2), True)}
    message = f"{row.name}: its recipes must say what each of them shows"
    raise AssertionError(message)


def disagreements(
    row: Row, effect: Effect, recipe: Recipe, found: dict[str, CallOutcome]
) -> list[str]:
    """Compare what calls did with what an effect says."""
    wrong = []
    for situation, outcome in found.items():
        text = f"{recipe.expression} {situation}: {outcome}"
        if outcome.error:
            wrong.append(text)
            continue
        move, places = expected(row, effect, recipe, situation)
        if row.gives is Gives.NOTHING:
            places = set()
        if move is not None and outcome.moved is not move:
            wrong.append(f"{text}; expected {'a' if move else 'no'} move")
        if row.loses and situation == COMMITTED:
            lost = expected(row, effect, recipe, situation)[1] - {((1,), True)}
            agrees = lost <= outcome.places <= places
        else:
            agrees = outcome.places <= places and bool(outcome.places) is bool(places)
        if not agrees:
            wrong.append(f"{text}; expected {written(places)}")
        elif outcome.places and (row.gives is Gives.ARRAY) is not outcome.is_array:
            wrong.append(f"{text}; it gives {'one array' if outcome.is_array else 'a container'}")
    return wrong
