"""What functions of jax.random are given that is no array, by their signatures."""

from __future__ import annotations

import inspect

import pytest

from placement_lint.jaxmodel.jax_random import OPTION_NAMES, OPTIONS, ROWS
from placement_lint.jaxmodel.transfer import Effect

_STRINGS = {"method", "mode"}


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_the_positions_are_those_of_options(name: str) -> None:
    # Imported here: most processes that collect tests run none of these.
    jax = pytest.importorskip("jax")
    function = getattr(jax.random, name.removeprefix("jax.random."), None)
    if function is None:
        pytest.skip(f"no {name} in this version")
    names = [*inspect.signature(function).parameters]
    at = OPTIONS[name]
    assert {names[position] for position in at} <= OPTION_NAMES | _STRINGS
    others = {each for position, each in enumerate(names) if position not in at}
    assert not others & OPTION_NAMES - _STRINGS


def test_all_that_draw_have_options() -> None:
    drawing = {row.name for row in ROWS if row.effect is Effect.SAMPLE}
    assert drawing == {*OPTIONS}
