"""Which default device is in force where ways meet, and after something was left."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_lint.placement.domain.devices import SYSTEM_DEFAULT, Device
from placement_lint.placement.domain.places import Place
from placement_lint.placement.domain.state import (
    ANY_DEVICE,
    SYSTEM,
    DefaultDevice,
    State,
    Variables,
    meet,
)
from placement_lint.placement.domain.values import HOST, PLAIN, Plain, value

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


def test_what_only_one_way_entered_last_is_one_of_all_of_them() -> None:
    other = DefaultDevice(frozenset({GPU}), Place("m", 8), owners=frozenset({Place("m", 9)}))
    third = DefaultDevice(frozenset({None}), Place("m", 5), owners=STACK)
    joined = met(state(ON_CPU, PUSHED, third), state(ON_CPU, other))
    assert len(joined.blocks) == 2
    assert joined.blocks[0] == ON_CPU
    assert joined.blocks[1] == DefaultDevice(
        frozenset({CPU, GPU, None}), is_chosen=True, owners=STACK | {Place("m", 9)}
    )
    same = met(state(PUSHED), state(replace(PUSHED, expression=Place("m", 1))))
    assert same.blocks[0].expression == Place("m", 1)
    assert not same.blocks[0].is_chosen


def test_what_may_be_absent_on_a_way_may_be_absent() -> None:
    maybe = DefaultDevice(frozenset({GPU}), may_be_absent=True)
    assert met(state(maybe), state(PUSHED)).blocks[0].may_be_absent
    assert not met(state(PUSHED), state(ON_CPU)).blocks[0].may_be_absent


def test_what_was_inherited_or_chosen_stays_so() -> None:
    inherited = ON_CPU.for_callee()
    chosen = replace(ON_CPU, is_chosen=True, expression=Place("m", 3))
    default = met(state(base=inherited), state(base=chosen)).default
    assert default.inherited
    assert default.is_chosen
    assert default.devices == {CPU}


def test_blocks_of_ones_own_are_not_inherited() -> None:
    inside = state(ON_CPU.for_callee(), replace(PUSHED, inherited=True, may_be_absent=True))
    assert [block.inherited for block in inside.alternatives()] == [True, True]
    assert [block.inherited for block in inside.alternatives(1)] == [False, True]
    assert [block.inherited for block in inside.alternatives(2)] == [True, True]
    assert [block.inherited for block in state(PUSHED).alternatives(0)] == [False]


A, B, C = ("scope", "a"), ("scope", "b"), ("scope", "c")


def test_variables_are_joined_by_what_has_changed() -> None:
    before = Variables()
    before[A] = before[B] = PLAIN
    one, other = before.copy(), before.copy()
    one[A] = HOST
    other[C] = HOST
    assert one.get(A) == HOST
    assert other.get(A) == PLAIN
    assert set(one.differences(other)) == {A, C}
    assert not one.equals(other)
    assert one.equals(one.copy())
    joined = Variables.joined([one, other])
    assert [joined.get(key) for key in (A, B, C)] == [PLAIN | HOST, PLAIN, HOST]


def test_what_is_unbound_on_one_way_holds_what_is_outside() -> None:
    before = Variables(outside=lambda key: PLAIN if key in {A, C} else None)
    one, other = before.copy(), before.copy()
    one[A] = HOST
    one[B] = HOST
    joined = Variables.joined([one, other])
    assert joined.get(A) == PLAIN | HOST
    assert joined.get(B) == HOST
    assert Variables.joined([one, one.copy()]).get(A) == HOST
    later = joined.copy()
    later[C] = HOST
    assert Variables.joined([later, joined.copy()]).get(C) == PLAIN | HOST
    further = Variables.joined([joined.copy(), before.copy()])
    assert further.get(A) == PLAIN | HOST


def test_what_was_assigned_since_is_known_also_where_it_is_the_same() -> None:
    before = Variables()
    before[A] = before[B] = PLAIN
    for number in range(20):
        before["scope", str(number)] = PLAIN
    after = before.copy()
    after[A] = PLAIN
    after[C] = HOST
    assert set(after.assigned_since(before)) == {A, C}
    assert set(after.differences(before)) == {C}


def test_a_callee_changes_what_it_changes() -> None:
    before = Variables()
    before[A] = PLAIN
    inner, entry = before.enter()
    assert inner.get(A) == PLAIN
    assert inner.changes(entry) == {}
    inner[A] = HOST
    for number in range(20):
        inner.freeze()
        inner["scope", str(number)] = PLAIN
    assert inner.changes(entry)[A] == HOST
    assert len(inner.changes(entry)) == 21
    assert before.get(A) == PLAIN


class Counted:
    """What a variable may belong to, which knows how often it was looked up."""

    asked = 0

    def __hash__(self) -> int:
        self.asked += 1
        return 1


@pytest.mark.parametrize("bound", [True, False])
def test_what_many_calls_above_was_bound_is_searched_once(bound: bool) -> None:
    """Otherwise what parsers do that call themselves took time with the square of their depth."""
    key, local = (Counted(), "text"), ("scope", "local")
    variables = Variables()
    if bound:
        variables[key] = HOST
    for number in range(1_000):
        variables, _ = variables.enter()
        variables[local] = PLAIN
        branch = variables.copy()
        branch["scope", str(number)] = HOST
        variables = Variables.joined([variables, branch])
        assert variables.get(key) == (HOST if bound else None)
    assert key[0].asked < 20_000


def test_what_was_looked_up_before_is_not_what_is_bound_later() -> None:
    key = ("scope", "x")
    outer, _ = Variables().enter()
    inner, _ = outer.enter()
    assert inner.get(key) is None
    inner[key] = PLAIN
    assert inner.get(key) == PLAIN
    assert outer.get(key) is None
    outer[key] = HOST
    assert outer.get(key) == HOST
    assert inner.get(key) == PLAIN
    again, _ = outer.enter()
    assert again.get(key) == HOST


STEPS = st.lists(
    st.tuples(st.sampled_from(["bind", "enter", "copy", "join", "read"]), st.integers(0, 3)),
    max_size=40,
)


@given(STEPS)
def test_it_is_what_dicts_hold(steps: list[tuple[str, int]]) -> None:
    variables, expected = Variables(), dict[str, set[int]]()
    other, expected_other = Variables(), expected
    for step, (what, number) in enumerate(steps):
        key = ("scope", str(number))
        if what == "bind":
            variables[key] = value(Plain(str(step)))
            expected = {**expected, str(number): {step}}
        elif what == "enter":
            variables, _ = variables.enter()
        elif what == "copy":
            other, expected_other = variables, expected
            variables = variables.copy()
        elif what == "join":
            variables = Variables.joined([variables, other.copy()])
            expected = {
                name: expected.get(name, set()) | expected_other.get(name, set())
                for name in {*expected, *expected_other}
            }
        held = variables.get(key)
        found = None if held is None else {int(a.text or -1) for a in held if isinstance(a, Plain)}
        assert found == expected.get(str(number))
