"""Which default device is in force where ways meet, and after something was left."""

from __future__ import annotations

from placement_lint.placement.environment import (
    ANY_DEVICE,
    SYSTEM,
    DefaultDevice,
    State,
    Variables,
    meet,
)
from placement_lint.placement.values import SYSTEM_DEFAULT, Device, Place

CPU = Device("cpu", 0)
GPU = Device("gpu", 1)
STACK = frozenset({Place("m", 7)})
ON_CPU = DefaultDevice(frozenset({CPU}), Place("m", 1))
PUSHED = DefaultDevice(frozenset({CPU}), Place("m", 2), owners=STACK)


def state(*blocks: DefaultDevice, base: DefaultDevice | None = None) -> State:
    return State(base or DefaultDevice(SYSTEM), blocks, Variables())


def met(*states: State) -> State:
    found = meet(states)
    assert found is not None
    return found


def test_nothing_meets() -> None:
    assert meet([None, None]) is None


def test_the_same_block_on_both_ways_stays_certain() -> None:
    assert met(state(ON_CPU), state(ON_CPU)).default == ON_CPU


def test_what_one_way_entered_may_be_absent() -> None:
    default = met(state(ON_CPU), state(ON_CPU, PUSHED)).default
    assert default.devices == {CPU}
    default = met(state(), state(PUSHED)).default
    assert default.devices == {CPU, SYSTEM_DEFAULT}
    assert default.is_chosen
    assert default.expression is None


def test_around_an_absent_block_is_what_is_there_now() -> None:
    joined = met(state(), state(PUSHED))
    joined.base = DefaultDevice(frozenset({GPU}))
    assert joined.default.devices == {CPU, GPU}


def test_entering_round_after_round_comes_to_an_end() -> None:
    head = state()
    for _ in range(3):
        after = head.copy()
        after.blocks = (*after.blocks, PUSHED)
        joined = met(head, after)
        if joined.blocks == head.blocks:
            break
        head = joined
    else:
        raise AssertionError(head.blocks)
    assert head.default.devices == {CPU, SYSTEM_DEFAULT}


def test_two_spellings_of_one_device_keep_an_expression() -> None:
    other = DefaultDevice(frozenset({CPU}), Place("m", 5))
    default = met(state(base=ON_CPU), state(base=other)).default
    assert default.devices == {CPU}
    assert default.expression == Place("m", 1)


def test_two_devices_have_no_expression() -> None:
    default = met(state(base=ON_CPU), state()).default
    assert default.devices == {CPU, SYSTEM_DEFAULT}
    assert default.expression is None


def test_leaving_ends_what_was_entered_later() -> None:
    inner = DefaultDevice(frozenset({GPU}), owners=frozenset({Place("m", 9)}))
    inside = state(ON_CPU, PUSHED, inner)
    assert inside.release(STACK)
    assert inside.blocks == (ON_CPU,)
    assert not inside.release(STACK)


def test_a_callee_sees_all_that_may_be_in_force() -> None:
    maybe = DefaultDevice(frozenset({GPU}), may_be_absent=True)
    seen = state(PUSHED, ON_CPU, maybe).seen_by_callee()
    assert [block.devices for block in seen] == [{CPU}, {GPU}]
    assert all(block.inherited for block in seen)


def test_forgetting_leaves_nothing_known() -> None:
    lost = state(ON_CPU)
    lost.forget_default()
    assert lost.default.devices == ANY_DEVICE
    assert len(lost.blocks) == 1
