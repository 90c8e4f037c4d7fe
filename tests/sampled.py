"""Which items of a test a run takes: the markers `sampled(one_in=…)` and `asked_for(by_name=…)`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Positions = dict[str, dict[int, int]]


def make_sample(metafunc: pytest.Metafunc) -> None:
    """Make items of the sample alone where the run leaves out the others: there are thousands."""
    marker = metafunc.definition.get_closest_marker("sampled")
    if marker is not None and _takes_samples_alone(metafunc.config):
        lists: list[str] = _lists(metafunc.definition)
        positions: Positions = {}
        one_in = marker.kwargs["one_in"]
        metafunc._calls[:] = [
            each for each in metafunc._calls if _turn(each.params, lists, positions) % one_in == 0
        ]


def leave_out(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Mark with `every` what the sample leaves out, unless this run asks for tests by name."""
    if asks_by_name(config) or _takes_samples_alone(config):
        return
    positions: dict[str, Positions] = {}
    for item in items:
        marker = item.get_closest_marker("sampled")
        if marker is not None:
            assert isinstance(item, pytest.Function)
            known = positions.setdefault(item.nodeid.partition("[")[0], {})
            if _turn(item.callspec.params, _lists(item), known) % marker.kwargs["one_in"]:
                item.add_marker(pytest.mark.every)


def _takes_samples_alone(config: pytest.Config) -> bool:
    return "every" in left_out_whole(config) and not asks_by_name(config)


def is_left_out(config: pytest.Config, marks: Iterable[pytest.Mark]) -> bool:
    """Return whether a run takes no item of a function with these marks."""
    by_name = asks_by_name(config)
    left_out = left_out_whole(config)
    return any(
        mark.name in left_out or (mark.name == "asked_for" and mark.kwargs["by_name"] != by_name)
        for mark in marks
    )


def left_out_whole(config: pytest.Config) -> frozenset[str]:
    """Give the markers of which a run takes no item: each is in a `not …` that all have to meet."""
    asked = config.option.markexpr
    terms = [] if " or " in asked else asked.split(" and ")
    return frozenset(name for term in terms if (name := term.removeprefix("not ")) != term)


def asks_by_name(config: pytest.Config) -> bool:
    """Tell whether a run takes no sample: it names tests, by `-k` or `::`.

    Where it also asks for the marker `every`, it gets what the sample leaves out.
    """
    by_name = config.option.keyword or any("::" in given for given in config.args)
    return bool(by_name) and "not every" in config.option.markexpr


def _turn(params: Mapping[str, object], lists: Iterable[str], positions: Positions) -> int:
    """Return the number that decides: the sum of the positions in each list of parameters.

    So every value of a list has its turn, with one value or another of the other lists.
    """
    total = 0
    for name in lists:
        # What pytest itself counts is the number of the item, not of the value in its list.
        known = positions.setdefault(name, {})
        total += known.setdefault(id(params[name]), len(known))
    return total


def _lists(test: pytest.Item) -> list[str]:
    """Return the first name of each list of parameters of a test."""
    lists = [_first_name(mark) for mark in test.iter_markers("parametrize")]
    assert lists, f"{test.nodeid} has no parameters of which to take a sample"
    return lists


def _first_name(mark: pytest.Mark) -> str:
    names = mark.args[0]
    return str(re.split(r"[,\s]+", names.strip())[0] if isinstance(names, str) else names[0])
