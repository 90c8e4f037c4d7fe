import json
from typing import Any

import pytest

from placement_lint.verify.observation import (
    InvalidObservationError,
    Observation,
    SideOutcome,
    as_observations,
    judge,
)


def seen(measured: Any = 8, **changes: Any) -> Observation:
    return observation(measured, seen=True, **changes)


def gone(measured: Any = 0, **changes: Any) -> Observation:
    return observation(measured, seen=False, **changes)


def observation(measured: Any, **changes: Any) -> Observation:
    fields = {
        "instrument": "guard",
        "what": "bytes copied",
        "measured": measured,
        "text": f"{measured} bytes",
        "control": "saw 7 bytes",
    }
    return Observation(**{**fields, **changes})


def outcome(*observations: Observation) -> SideOutcome:
    return SideOutcome(observations=observations)


def test_a_hazard_that_is_seen_and_a_fix_that_removes_it_hold() -> None:
    verdict = judge(outcome(seen(8), seen("a")), outcome(gone(0), gone("b")))
    assert verdict.ok
    assert verdict.problems == ()


def test_a_hazard_that_is_not_reproduced_fails() -> None:
    verdict = judge(outcome(gone(1)), outcome(gone(0)))
    assert not verdict.ok
    assert not verdict.reproduced
    assert verdict.problems == ("the hazard was not reproduced: bytes copied",)


def test_a_fix_that_does_not_cure_fails() -> None:
    verdict = judge(outcome(seen(8)), outcome(seen(7)))
    assert not verdict.ok
    assert verdict.reproduced
    assert not verdict.cured
    assert verdict.problems == ("the fix does not cure: bytes copied",)


def test_every_one_of_several_observations_counts() -> None:
    assert not judge(outcome(seen(8), gone(1)), outcome(gone(0), gone(0))).ok
    assert not judge(outcome(seen(8), seen(8)), outcome(gone(0), seen(1))).ok


def test_an_instrument_that_measures_the_same_in_both_is_blind_whatever_it_claims() -> None:
    verdict = judge(outcome(seen(8)), outcome(gone(8)))
    assert not verdict.ok
    assert "the observation is blind: the same was measured in both" in verdict.problems[0]


@pytest.mark.parametrize(
    "fixed",
    [
        outcome(gone(0), gone(0)),
        outcome(gone(0, what="something else")),
        outcome(gone(0, instrument="another instrument")),
    ],
)
def test_both_sides_must_be_observed_in_the_same_way(fixed: SideOutcome) -> None:
    verdict = judge(outcome(seen(8)), fixed)
    assert verdict.problems == ("the hazard and its fix were observed in different ways",)


def test_a_side_without_observations_fails() -> None:
    assert not judge(outcome(), outcome(gone())).ok
    assert not judge(outcome(seen()), outcome()).ok
    assert not judge(outcome(), outcome()).ok


def test_a_failed_side_fails_with_its_reason() -> None:
    verdict = judge(SideOutcome(failure="no answer within 1 s"), outcome(gone()))
    assert verdict.problems == ("hazard: no answer within 1 s",)
    assert not verdict.reproduced
    verdict = judge(outcome(seen()), SideOutcome(failure="ended by SIGSEGV"))
    assert verdict.problems == ("fixed: ended by SIGSEGV",)
    assert verdict.reproduced
    assert not verdict.cured


@pytest.mark.parametrize("measured", [None, "", float("nan"), float("inf"), [], {}])
def test_an_observation_that_measured_nothing_cannot_be_made(measured: Any) -> None:
    with pytest.raises(InvalidObservationError, match="measured nothing"):
        seen(measured)


@pytest.mark.parametrize("field", ["what", "instrument", "text", "control"])
@pytest.mark.parametrize("value", ["", "  ", None, 3])
def test_an_observation_says_what_it_is(field: str, value: Any) -> None:
    with pytest.raises(InvalidObservationError, match="says nothing"):
        seen(8, **{field: value})


@pytest.mark.parametrize("value", [None, 1, "yes"])
def test_seen_is_yes_or_no(value: Any) -> None:
    with pytest.raises(InvalidObservationError, match="not a bool"):
        observation(8, seen=value)


@pytest.mark.parametrize("measured", [0, 8, 1.5, True, "cpu:0, uncommitted"])
def test_json_and_back(measured: Any) -> None:
    before = seen(measured)
    assert Observation.from_json(json.loads(json.dumps(before.as_json()))) == before


@pytest.mark.parametrize("value", [{}, {"seen": True}, {"surprise": 1}])
def test_json_of_something_else_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(InvalidObservationError):
        Observation.from_json(value)


def test_what_observe_may_return() -> None:
    one, other = seen(1), seen(2)
    assert as_observations(one) == (one,)
    assert as_observations([one, other]) == (one, other)
    assert as_observations((one,)) == (one,)


@pytest.mark.parametrize("value", [None, True, 8, "moved", {}, (), [], [None], (seen(), "moved")])
def test_what_observe_may_not_return(value: object) -> None:
    with pytest.raises(InvalidObservationError, match=r"observe\(\)"):
        as_observations(value)
