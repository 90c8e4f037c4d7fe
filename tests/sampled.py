"""Which items of a parametrised test the default run takes: the marker `sampled(one_in=…)`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    Positions = dict[tuple[str, str], dict[int, int]]


def leave_out(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Mark with `every` what the sample leaves out, unless this run asks for tests by name."""
    if asks_by_name(config):
        return
    positions: Positions = {}
    for item in items:
        marker = item.get_closest_marker("sampled")
        if marker is not None and _turn(item, positions) % marker.kwargs["one_in"]:
            item.add_marker(pytest.mark.every)


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


def _turn(item: pytest.Item, positions: Positions) -> int:
    """Give the number that decides: the sum of the positions in each list of parameters.

    So every value of a list has its turn, with one value or another of the other lists.
    """
    assert isinstance(item, pytest.Function)
    function = item.nodeid.partition("[")[0]
    lists = [_first_name(mark) for mark in item.iter_markers("parametrize")]
    assert lists, f"{item.nodeid} has no parameters of which to take a sample"
    total = 0
    for name in lists:
        # What pytest itself counts is the number of the item, not of the value in its list.
        known = positions.setdefault((function, name), {})
        total += known.setdefault(id(item.callspec.params[name]), len(known))
    return total


def _first_name(mark: pytest.Mark) -> str:
    names = mark.args[0]
    return str(re.split(r"[,\s]+", names.strip())[0] if isinstance(names, str) else names[0])
