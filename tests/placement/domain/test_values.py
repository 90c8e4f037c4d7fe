"""Sets of alternatives: how they are joined, kept small, and looked through."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from placement_lint.placement.domain.contents import (
    arrays,
    committed_to,
    element_of,
    iterated_of,
    map_arrays,
    without_parts,
)
from placement_lint.placement.domain.devices import Device, differ
from placement_lint.placement.domain.library_values import DeviceList
from placement_lint.placement.domain.places import Place
from placement_lint.placement.domain.program_values import Instance
from placement_lint.placement.domain.values import (
    ANYTHING,
    DOUBT,
    HOST,
    MAX_ALTERNATIVES,
    MAX_DEVICES,
    MAX_NESTING,
    MAX_VERSIONS,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Array,
    Host,
    Mapping,
    Plain,
    Sequence,
    TheDevice,
    Value,
    join,
    limited,
    value,
    without_guesses,
)

if TYPE_CHECKING:
    from placement_lint.placement.domain.keys import Key

CPU, GPU, CUDA, TPU = (Device(name, 0) for name in ("cpu", "gpu", "cuda", "tpu"))
SECOND, SOME, SYSTEM = Device("gpu", 1), Device("gpu", None), Device(None, 0)
ON_CPU, ON_GPU = Array(CPU, committed=True), Array(GPU, committed=True)
MADE = Array(CPU, committed=False)
SITE = (Place("m", 1),)

DIFFERENT = [
    # One, the other, with an accelerator, without one.
    (CPU, CPU, False, False),
    (CPU, GPU, True, True),
    (GPU, CUDA, False, False),
    (GPU, SECOND, True, True),
    (GPU, SOME, None, None),
    (SOME, SOME, None, None),
    (CPU, SOME, True, True),
    (GPU, TPU, True, True),
    (SYSTEM, CPU, True, False),
    (SYSTEM, GPU, False, True),
    (SYSTEM, SECOND, True, True),
    (SYSTEM, SYSTEM, False, False),
    (SYSTEM, Device(None, 1), True, True),
    (SYSTEM, Device("cpu", 1), True, True),
    (None, CPU, None, None),
    (None, None, None, None),
]


@pytest.mark.parametrize(("one", "other", "with_one", "without"), DIFFERENT)
def test_whether_devices_differ(
    one: Device | None, other: Device | None, with_one: bool | None, without: bool | None
) -> None:
    for here, there in ((one, other), (other, one)):
        assert differ(here, there, accelerator=True) is with_one
        assert differ(here, there, accelerator=False) is without


def test_what_has_too_many_alternatives_may_be_anything() -> None:
    few = frozenset(Plain(str(number)) for number in range(MAX_ALTERNATIVES))
    assert limited(few) == few
    assert limited(few | {ON_CPU}) == {ON_CPU, ANYTHING}
    many = frozenset(Array(Device("gpu", n), committed=True) for n in range(MAX_ALTERNATIVES + 1))
    kept = limited(many)
    assert len(kept) == MAX_ALTERNATIVES
    assert ANYTHING in kept
    assert kept - {ANYTHING} < many


def test_joining() -> None:
    assert join() == UNKNOWN
    assert join(PLAIN, NOTHING) == PLAIN
    assert join(PLAIN, HOST) == PLAIN | HOST


def test_an_argument_that_may_be_anything_is_no_array_on_any_of_many_devices() -> None:
    on = [Array(device, committed=True) for device in (CPU, GPU, TPU)]
    rest = Instance(SITE[0], SITE[0])
    assert len(on) == MAX_DEVICES + 1
    assert without_guesses(value(ANYTHING, *on, MADE, rest)) == value(ANYTHING, rest)
    # Where it is one of them for sure, or on one of few devices, all is kept.
    for kept in (value(*on, rest), value(DOUBT, *on, rest), value(ANYTHING, *on[:-1], rest)):
        assert without_guesses(kept) == kept


def test_what_is_supposed_is_kept_beside_anything() -> None:
    cause = frozenset({SITE[0]})
    on = [Array(device, committed=True, supposed=cause) for device in (CPU, GPU, TPU)]
    assert without_guesses(value(ANYTHING, *on)) == value(ANYTHING, *on)


def test_what_was_forgotten_on_one_way_is_forgotten() -> None:
    known = Sequence((value(ON_CPU),), value(ON_CPU), SITE)
    forgotten = Sequence(None, UNKNOWN, SITE)
    other = Sequence(None, PLAIN, (Place("m", 2),))
    assert join(value(known), value(forgotten, other)) == {forgotten, other}
    unsited = Sequence(None, UNKNOWN)
    assert join(value(known), value(unsited)) == {known, unsited}
    items = Mapping((("x", PLAIN),), UNKNOWN, SITE)
    assert join(value(known), value(items)) == {known, items}


def test_of_a_table_that_is_filled_the_last_version_is_known() -> None:
    versions = [
        Mapping((("x", PLAIN), *((f"y{i}", value(ON_CPU)) for i in range(n))), NOTHING, SITE)
        for n in range(MAX_VERSIONS + 1)
    ]
    assert join(*map(value, versions[:-1])) == frozenset(versions[:-1])
    assert join(*map(value, versions)) == {versions[-1]}
    other = Mapping((("x", PLAIN), ("z", PLAIN)), NOTHING, SITE)
    assert join(*map(value, [*versions, other])) == {versions[-1], other}


def test_of_many_versions_of_a_container_what_they_share_is_known() -> None:
    versions = [
        Mapping((("x", PLAIN), (f"y{n}", value(ON_CPU))), NOTHING, SITE)
        for n in range(MAX_VERSIONS + 1)
    ]
    few = join(*map(value, versions[:-1]))
    assert few == frozenset(versions[:-1])
    shared = Mapping((("x", PLAIN),), value(ON_CPU), SITE)
    assert join(*map(value, versions)) == join(few, value(versions[-1])) == {shared}
    lists = [Sequence((PLAIN,) * n, PLAIN, SITE) for n in range(MAX_VERSIONS + 1)]
    assert join(*map(value, lists)) == {Sequence(None, PLAIN, SITE)}
    unsited = [replace(each, site=None) for each in lists]
    assert join(*map(value, unsited)) == frozenset(unsited)


def test_a_dict_with_one_more_item_is_as_if_made_with_it() -> None:
    inner = value(Mapping((("z", nested(2)),), NOTHING))
    for held in (PLAIN, inner, value(ON_CPU, Sequence((inner,), inner))):
        for before in (Mapping((), NOTHING), Mapping((("a", PLAIN), ("x", inner)), PLAIN, SITE)):
            for key in ("a", "b", "x"):
                added = before.with_item(key, held)
                pairs = tuple(sorted((dict(before.items) | {key: held}).items()))
                made = replace(before, items=pairs, order=added.order)
                assert vars(added) == vars(made)
                assert added.order == (() if key in dict(before.items) else (key,))


def nested(depth: int, inner: Value = frozenset({MADE})) -> Value:
    for level in range(depth):
        inner = value(
            Sequence(None, inner) if level % 3 == 0
            else Sequence((inner,), inner) if level % 3 == 1
            else Mapping((("x", inner),), NOTHING)
        )  # fmt: skip
    return inner


def test_arrays_are_looked_for_so_deep() -> None:
    assert set(arrays(nested(4))) == {MADE}
    assert list(arrays(nested(5))) == []
    both = Mapping((("x", value(ON_CPU)),), value(ON_GPU))
    assert set(arrays(value(both, MADE, Plain()))) == {ON_CPU, ON_GPU, MADE}
    deep = value(
        Mapping((), value(Mapping((), value(Mapping((), value(Mapping((), value(MADE))))))))
    )
    assert set(arrays(deep)) == {MADE}
    assert list(arrays(value(Mapping((), deep)))) == []


def test_arrays_are_changed_where_they_are() -> None:
    before = value(
        Sequence((value(MADE), PLAIN), value(MADE), SITE, ("x", "y")),
        Mapping((("x", value(MADE)),), value(MADE), SITE),
        Host(),
    )
    after = map_arrays(before, lambda _: ON_GPU)
    assert after == value(
        Sequence((value(ON_GPU), PLAIN), value(ON_GPU), SITE, ("x", "y")),
        Mapping((("x", value(ON_GPU)),), value(ON_GPU), SITE),
        Host(),
    )
    assert set(arrays(map_arrays(nested(4), lambda _: ON_GPU))) == {ON_GPU}
    assert map_arrays(nested(5), lambda _: ON_GPU) == nested(5)


def test_committing() -> None:
    before = value(MADE, Host(), Plain(), ANYTHING)
    assert committed_to(before, [GPU]) == {ON_GPU}
    assert committed_to(value(MADE), [CPU, GPU]) == {ON_CPU, ON_GPU}
    lists = value(Sequence((value(MADE), PLAIN), value(MADE, Plain()), SITE))
    assert committed_to(lists, [GPU]) == {Sequence((value(ON_GPU),) * 2, value(ON_GPU))}
    dicts = value(Mapping((("x", value(MADE)),), HOST, SITE))
    assert committed_to(dicts, [GPU]) == {Mapping((("x", value(ON_GPU)),), value(ON_GPU))}
    device = value(TheDevice(CPU))
    assert committed_to(device, [GPU]) == device


LISTED = Sequence((value(ON_CPU), PLAIN), value(ON_CPU, Plain()))
SOME_ITEMS = Sequence(None, value(ON_GPU))
DICT = Mapping(((0, PLAIN), ("x", value(ON_CPU))), value(ON_GPU))
ELEMENTS = [
    (value(LISTED), 0, value(ON_CPU)),
    (value(LISTED), -1, PLAIN),
    (value(LISTED), -2, value(ON_CPU)),
    (value(LISTED), 2, NOTHING),
    (value(LISTED), -3, NOTHING),
    (value(LISTED), None, value(ON_CPU, Plain())),
    (value(LISTED), "x", value(ON_CPU, Plain())),
    (value(Sequence((), NOTHING)), None, NOTHING),
    (value(SOME_ITEMS), 7, value(ON_GPU)),
    (value(DICT), "x", value(ON_CPU)),
    (value(DICT), 0, PLAIN),
    (value(DICT), "other", value(ON_GPU)),
    (value(DICT), 1, value(ON_GPU)),
    (value(DICT), None, value(ON_CPU, ON_GPU, Plain())),
    (value(Host(from_file=True)), "x", value(Host(from_file=True))),
    (value(Host(from_file=True)), 0, HOST),
    (PLAIN, None, PLAIN),
    (value(DeviceList("cpu")), 1, value(TheDevice(Device("cpu", 1)))),
    (value(DeviceList("cpu")), -1, value(TheDevice(Device("cpu", None)))),
    (value(DeviceList(None)), None, value(TheDevice(Device(None, None)))),
    (value(MADE), 0, NOTHING),
    (value(MADE, LISTED), 0, value(ON_CPU)),
    (UNKNOWN, 0, UNKNOWN),
]


@pytest.mark.parametrize(("of", "key", "expected"), ELEMENTS)
def test_what_an_index_gives(of: Value, key: Key | None, expected: Value) -> None:
    assert element_of(of, key) == expected


def test_iterating_over_a_dict_gives_its_keys() -> None:
    assert iterated_of(value(DICT)) == PLAIN
    assert iterated_of(value(DICT, SOME_ITEMS)) == PLAIN | {ON_GPU}
    assert iterated_of(value(LISTED), 0) == {ON_CPU}


def test_what_is_in_containers_is_left_out() -> None:
    assert without_parts(value(MADE, LISTED, DICT, Host())) == value(MADE, Plain(), Host())


def test_devices_are_written_as_code_does() -> None:
    assert str(SECOND) == 'jax.devices("gpu")[1]'
    assert str(SYSTEM) == "jax.devices()[0]"
    assert str(SOME) == 'jax.devices("gpu")[…]'


def paired(inner: Value, depth: int) -> Value:
    for _ in range(depth):
        inner = value(Sequence((inner, PLAIN), join(inner, PLAIN)))
    return inner


def test_what_is_nested_too_deeply_is_not_known() -> None:
    held = paired(value(ON_CPU), MAX_NESTING)
    assert repr(held).count("committed=True") == 2**MAX_NESTING
    deeper = paired(held, 3)
    (outermost,) = deeper
    assert isinstance(outermost, Sequence)
    assert outermost.nesting == MAX_NESTING
    assert "committed=True" not in repr(deeper)
    mapping = Mapping((("a", held), ("b", value(ON_GPU))), join(held, value(ON_GPU)))
    assert mapping.nesting == MAX_NESTING
    assert mapping.items == (("a", UNKNOWN), ("b", value(ON_GPU)))
    assert mapping.element == frozenset([ANYTHING, ON_GPU])


def test_equal_objects_are_one() -> None:
    made = Instance(SITE[0], SITE[0])
    assert Instance(cls=SITE[0], site=SITE[0], nth=0) is made
    assert replace(replace(made, nth=1), nth=0) is made
    others = {Instance(SITE[0], SITE[0], nth=1), Instance(SITE[0], SITE[0], SITE[0])}
    assert len(others | {made, Instance(SITE[0], SITE[0], nth=1)}) == 3
