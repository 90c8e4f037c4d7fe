"""Lists and dicts that change: what is known of them, and of how many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.placement.domain.containers import (
    Containers,
    anonymous,
    changed,
    changed_holders,
    emptied,
    merged,
    of_site,
    sited,
    sites,
    view_of,
    with_item,
    with_more,
    without_item,
)
from placement_lint.placement.domain.places import Place, Site
from placement_lint.placement.domain.program_values import Instance
from placement_lint.placement.domain.values import (
    HOST,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Mapping,
    Sequence,
    Value,
    join,
    value,
)

if TYPE_CHECKING:
    from placement_lint.placement.domain.state import Variable
    from placement_lint.placement.domain.values import Container

ONE: Site = (Place("m", 1),)
TWO: Site = (Place("m", 2), Place("m", 3))
CALL = Place("m", 9)
CLASS = Place("m", 8)


def listed(*items: Value, site: Site | None = None) -> Sequence:
    return Sequence(items, join(*items) if items else NOTHING, site)


def nested(depth: int, site: Site) -> Value:
    inner = value(listed(PLAIN, site=site))
    for level in range(depth):
        inner = value(listed(inner) if level % 2 else Mapping((("x", inner),), NOTHING))
    return inner


def test_what_lists_hold_together_changes_once() -> None:
    """Tables of states hold the same states in many places: each change would take them all."""
    times: list[Container] = []

    def change(container: Container) -> Container:
        times.append(container)
        return emptied(container)

    held = value(listed(PLAIN, site=ONE))
    for _ in range(3):
        held = value(listed(*[held] * 8))
    after = changed(held, ONE, change, surely=True)
    assert {*of_site(after, ONE)} == {listed(site=ONE)}
    assert len(times) <= 8


def test_a_list_that_grows_without_end_is_not_followed_item_by_item() -> None:
    grown: Sequence | Mapping = listed()
    for _ in range(128):
        grown = with_more(grown, (PLAIN,), PLAIN, -1)
    assert grown == listed(*[PLAIN] * 128)
    assert with_more(grown, (HOST,), HOST, -1) == Sequence(None, PLAIN | HOST)


def test_a_dict_that_grows_without_end_is_not_followed_key_by_key() -> None:
    grown: Sequence | Mapping = Mapping((), NOTHING)
    for number in range(128):
        grown = with_item(grown, str(number), PLAIN)
    assert isinstance(grown, Mapping)
    assert len(grown.items) == 128
    more = with_item(grown, "more", HOST)
    assert more == Mapping(grown.items, HOST)
    again = with_item(more, "0", HOST)
    assert isinstance(again, Mapping)
    assert dict(again.items)["0"] == HOST


def test_sites_are_looked_for_so_deep() -> None:
    assert {*sites(nested(4, ONE))} == {ONE}
    assert list(sites(nested(5, ONE))) == []
    assert {*of_site(nested(4, ONE), ONE)} == {listed(PLAIN, site=ONE)}
    assert list(of_site(nested(5, ONE), ONE)) == []
    assert list(of_site(nested(1, ONE), TWO)) == []
    assert anonymous(nested(4, ONE)) == nested_without(4)


def nested_without(depth: int) -> Value:
    inner = value(listed(PLAIN))
    for level in range(depth):
        inner = value(listed(inner) if level % 2 else Mapping((("x", inner),), NOTHING))
    return inner


def test_a_change_goes_so_deep_and_leaves_all_else_as_it_is() -> None:
    held = nested(4, ONE)
    after = changed(held, ONE, emptied, surely=True)
    assert {*of_site(after, ONE)} == {listed(site=ONE)}
    assert changed(held, TWO, emptied, surely=True) is held
    deep = nested(5, ONE)
    assert changed(deep, ONE, emptied, surely=True) is deep
    mixed = value(listed(PLAIN, site=ONE), listed(PLAIN, site=TWO))
    assert changed(mixed, ONE, emptied, surely=False) == mixed | {listed(site=ONE)}


def test_a_container_without_a_site_gets_one() -> None:
    held = value(listed(PLAIN), listed(HOST, site=TWO))
    assert sited(held, ONE) == value(listed(PLAIN, site=ONE), listed(HOST, site=TWO))
    assert sited(PLAIN, ONE) == PLAIN


def test_holders() -> None:
    known = Containers()
    held = value(listed(value(listed(PLAIN, site=TWO)), site=ONE))
    for number in range(70):
        known.hold(("scope", str(number)), held)
    assert known.holders(ONE) == [("scope", str(number)) for number in range(64)]
    assert known.holders(TWO) == known.holders(ONE)
    assert known.holders((CALL,)) == []
    assert known.named(held) == held
    other = value(listed(PLAIN, site=(CALL,)))
    assert known.named(other) == {listed(PLAIN)}


def test_a_change_is_worked_out_once_for_many_variables() -> None:
    worked_out: list[Container] = []

    def change(container: Container) -> Container:
        worked_out.append(container)
        return with_item(container, "k", HOST)

    other = value(listed(PLAIN, site=TWO))
    held_by: dict[Variable, Value | None] = {
        (0, f"v{i}"): value(Mapping(((f"k{i}", PLAIN),), NOTHING, ONE)) for i in range(8)
    }
    held_by |= {(0, "unbound"): None, (0, "other"): other}
    each = dict(changed_holders(held_by, ONE, change, surely=True))
    assert len(each) == len(set(each.values())) == 8
    assert other not in each.values()

    # With one more, all come to hold the same, and the next change is one.
    held_by |= {(0, "v8"): value(Mapping((), NOTHING, ONE))}
    held_by |= {(0, "pair"): value(listed(held_by[0, "v0"] or NOTHING, PLAIN))}
    together = dict(changed_holders(held_by, ONE, change, surely=True))
    pair = together.pop((0, "pair"))
    assert len(together) == 9
    (alike,) = set(together.values())
    assert pair not in (alike, held_by[0, "pair"])
    worked_out.clear()
    assert len(dict(changed_holders(dict(together), ONE, change, surely=True))) == 9
    assert len(worked_out) == len(alike)


def test_what_is_made_again_is_not_one() -> None:
    known = Containers()
    known.made(ONE, again=False)
    assert known.is_one(ONE)
    known.made(ONE, again=False)
    assert not known.is_one(ONE)
    known.made(TWO, again=True)
    assert not known.is_one(TWO)


def test_what_an_object_holds_is_its_own() -> None:
    known, owner = Containers(), Instance(CLASS, CALL)
    owned = known.owned(value(listed(PLAIN, site=TWO)), owner, again=False)
    assert owned == {listed(PLAIN, site=(CALL, CLASS, TWO[-1]))}
    assert known.is_one((CALL, CLASS, TWO[-1]))
    assert known.owned(owned, owner, again=True) == owned
    known.hold(("scope", "x"), value(listed(PLAIN, site=ONE)))
    shared = value(listed(PLAIN, site=ONE))
    assert known.owned(shared, owner, again=False) == shared
    known.owned(value(listed(PLAIN, site=TWO)), owner, again=True)
    assert not known.is_one((CALL, CLASS, TWO[-1]))


def test_what_objects_of_two_classes_hold_that_one_call_makes() -> None:
    known = Containers()
    held = value(listed(PLAIN, site=TWO))
    one, other = (known.owned(held, Instance(cls, CALL), again=False) for cls in (CLASS, CALL))
    assert one != other


def test_what_a_call_made_is_of_that_call() -> None:
    known = Containers()
    held = value(listed(PLAIN, site=ONE), listed(HOST, site=TWO))
    returned = known.returned(held, {ONE}, CALL, again=False)
    assert returned == value(listed(PLAIN, site=(CALL, ONE[-1])), listed(HOST, site=TWO))
    assert known.is_one((CALL, ONE[-1]))
    known.returned(held, {ONE}, CALL, again=True)
    assert not known.is_one((CALL, ONE[-1]))


def test_merging() -> None:
    base = Mapping((("x", PLAIN),), NOTHING)
    assert merged(base, value(Mapping(((1, HOST),), NOTHING))) == Mapping(
        ((1, HOST), ("x", PLAIN)), NOTHING
    )
    assert merged(base, value(Mapping((), HOST))) == Mapping((("x", PLAIN | HOST),), HOST)
    loose = Mapping((("x", join(PLAIN, UNKNOWN)),), UNKNOWN)
    assert merged(base, value(listed(PLAIN))) == loose
    assert merged(base, PLAIN | HOST) == loose


def test_views() -> None:
    mapping = Mapping((("x", PLAIN),), HOST, ONE)
    either = PLAIN | HOST
    assert view_of(mapping, "values") == Sequence(None, either, views=(ONE, "values"))
    pair = Sequence((PLAIN, either), either)
    assert view_of(mapping, "items") == Sequence(None, value(pair), views=(ONE, "items"))
    assert view_of(Mapping((), HOST), "values") == Sequence(None, HOST)


def test_taking_out() -> None:
    three = listed(PLAIN, HOST, UNKNOWN)
    assert without_item(three, 1) == listed(PLAIN, UNKNOWN)
    assert without_item(three, -3) == listed(HOST, UNKNOWN)
    assert without_item(three, 3) == Sequence(None, join(PLAIN, HOST, UNKNOWN))
    assert without_item(three, -4) == Sequence(None, join(PLAIN, HOST, UNKNOWN))
    assert without_item(three, None, reverse=True) == listed(UNKNOWN, HOST, PLAIN)
    assert without_item(listed(PLAIN), 0) == listed()
    mapping = Mapping(((1, HOST), ("x", PLAIN)), NOTHING)
    assert without_item(mapping, 1) == Mapping((("x", PLAIN),), NOTHING)
    assert without_item(mapping, "x") == Mapping(((1, HOST),), NOTHING)
    assert without_item(mapping, None) == Mapping((), PLAIN | HOST)
