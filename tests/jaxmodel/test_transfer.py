"""The transfer table: JAX agrees with every row of it, and it is sound in itself."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from placement_lint.jaxmodel import transfer
from placement_lint.jaxmodel.transfer import ROWS, TABLE, Effect, Row
from placement_lint.verify.transfers.calls import AWAY, COMMITTED, HOME, NUMPY, Recipe
from placement_lint.verify.transfers.claims import CallOutcome, disagreements
from tests.jaxmodel import transfer_recipes
from tests.jaxmodel.transfer_expressions import BY_MODULE
from tests.jaxmodel.transfer_run import is_selected, run, sample

MEASURED = ("0.4.30", "0.5.3", "0.6.2", "0.7.2", "0.10.2", "0.12.0.1")
OTHER_PACKAGES = ("equinox", "flax", "optax", "orbax")
OTHERS = tuple(f"{package}." for package in OTHER_PACKAGES)
_ONE_IN = 64
NUMERICS = ("jax.image.", "jax.nn.", "jax.ops.", "jax.scipy.")
GROUPS = {
    "numerics": NUMERICS,
    "jax.numpy": ("jax.numpy.",),
    "the rest": tuple(f"-{name}" for name in (*NUMERICS, "jax.numpy.", *OTHERS)),
}
"""The rows of JAX, NumPy and Python, in parts that take about the same time."""


def needs(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        names = ", ".join(row.name for row in ROWS if row.name.startswith(f"{package}."))
        pytest.skip(f"{package} is not installed; not executed: {names}")


def agrees(*words: str) -> None:
    needs("jax")
    needs("safetensors")
    report = run(sys.executable, *words, time_limit=880)
    print(report.summary())
    assert report.rows
    assert report.disagreements == []
    assert report.unexecuted == []


@pytest.mark.every
@pytest.mark.timeout(900)
def test_jax_agrees_with_a_sample_of_the_rows() -> None:
    """Rows of every kind and module; that every row agrees with JAX, the record says.

    `pytest -m every tests/jaxmodel/test_transfer.py` executes every row on the JAX that is
    installed. Without that on each of the versions, no row can change: see test_transfer_record.
    """
    agrees(*sample([row for row in ROWS if not row.name.startswith(OTHERS)], _ONE_IN))


@pytest.mark.every
@pytest.mark.timeout(900)
@pytest.mark.parametrize("group", GROUPS)
def test_jax_agrees_with_every_row(group: str) -> None:
    agrees(*GROUPS[group])


def test_the_sample_has_rows_of_every_effect_and_module_in_it() -> None:
    ours = [row for row in ROWS if not row.name.startswith(OTHERS)]
    words = tuple(sample(ours, _ONE_IN))
    chosen = [row for row in ROWS if is_selected(row.name, words)]
    assert {row.effect for row in chosen} == {row.effect for row in ours}
    assert {row.gives for row in chosen} == {row.gives for row in ours}
    modules = {row.name.rpartition(".")[0] for row in ours}
    missing = modules - {row.name.rpartition(".")[0] for row in chosen}
    assert all(module.startswith("jax.scipy.") for module in missing)
    assert len(ours) / 20 < len(chosen) < len(ours) / 2
    assert len(sample(ours, 1)) == len({row.name for row in ours})


@pytest.mark.every
@pytest.mark.timeout(900)
@pytest.mark.parametrize("one_in", [_ONE_IN, 1], ids=["sample", "all"])
def test_other_packages_agree_with_their_rows(one_in: int) -> None:
    for package in OTHER_PACKAGES:
        needs(package)
    words = sample([row for row in ROWS if row.name.startswith(OTHERS)], one_in)
    report = run(sys.executable, *words, time_limit=880)
    print(report.summary())
    assert report.disagreements == []
    assert [row.name for row in report.rows if not row.calls] == []


def test_every_row_is_in_one_group() -> None:
    groups = {**GROUPS, "others": OTHERS}
    for row in ROWS:
        found = [name for name, words in groups.items() if is_selected(row.name, words)]
        assert len(found) == 1, (row.name, found)


def test_no_two_rows_speak_of_one_version() -> None:
    rows: dict[str, list[Row]] = {}
    for row in ROWS:
        rows.setdefault(row.name, []).append(row)
    for name, same in rows.items():
        for version in MEASURED:
            speaking = [row for row in same if _speaks_of(row, version)]
            assert len(speaking) <= 1, (name, version)


def _speaks_of(row: Row, version: str) -> bool:
    first = MEASURED.index(row.since) if row.since else 0
    last = MEASURED.index(row.until) if row.until else len(MEASURED) - 1
    return first <= MEASURED.index(version) <= last


def test_ranges_are_of_measured_versions() -> None:
    for row in ROWS:
        assert {row.since, row.until} <= {None, *MEASURED}, row
        if row.device is not None:
            assert {row.device.since, row.device.stages_until} <= {None, *MEASURED}, row


def test_the_table_holds_the_newest_row_of_a_name() -> None:
    for name, row in TABLE.items():
        assert row is [each for each in ROWS if each.name == name][-1]


def test_every_recipe_is_of_a_row() -> None:
    names = {row.name for row in ROWS}
    written = {
        f"{module}.{name}"
        for module, recipes in BY_MODULE.items()
        for text in recipes.values()
        for name in text.split()
    }
    written |= {
        *(name.partition("<")[0] for name in transfer_recipes.SEVERAL),
        *transfer_recipes.NOTHING_TO_DO, *transfer_recipes.VALUE_UNUSED,
        *transfer_recipes.WITH_DEVICE,
    }  # fmt: skip
    assert written - names == set()


def test_a_row_that_is_not_certain_shows_it() -> None:
    for row in ROWS:
        shown = {recipe.effect for recipe in transfer_recipes.recipes_of(row)}
        if not row.certain:
            assert shown & {Effect.IDENTITY, Effect.CREATE}, row


def test_methods_are_of_one_kind() -> None:
    kinds = [
        transfer.COMPUTING_METHODS,
        transfer.HOST_METHODS,
        transfer.IDENTITY_METHODS,
        transfer.SAME_WHEN_EQUAL_METHODS,
    ]
    assert sum(map(len, kinds)) == len(frozenset().union(*kinds))


COMPUTED = {
    AWAY: CallOutcome(moved=True, is_array=True, places={((1,), False)}),
    HOME: CallOutcome(is_array=True, places={((1,), False)}),
    COMMITTED: CallOutcome(is_array=True, places={((1,), True)}),
    NUMPY: CallOutcome(is_array=True, places={((1,), False)}),
}
KEPT = {
    AWAY: CallOutcome(is_array=True, places={((2,), False)}),
    HOME: CallOutcome(is_array=True, places={((1,), False)}),
    COMMITTED: CallOutcome(is_array=True, places={((1,), True)}),
}


@pytest.mark.parametrize(
    ("effect", "outcomes", "wrong"),
    [
        (Effect.COMPUTE, COMPUTED, []),
        (Effect.IDENTITY, KEPT, []),
        (Effect.COMPUTE, KEPT, [AWAY, AWAY]),
        (Effect.IDENTITY, COMPUTED, [AWAY, AWAY]),
        (Effect.HOST, KEPT, [AWAY, HOME, COMMITTED]),
        (Effect.CREATE, COMPUTED, [AWAY, COMMITTED]),
        (Effect.COMMIT, COMPUTED, [AWAY, HOME, COMMITTED, NUMPY]),
        (Effect.PLAIN, {AWAY: CallOutcome(moved=True)}, [AWAY]),
        (Effect.COMPUTE, {AWAY: CallOutcome(moved=True)}, [AWAY]),
        (Effect.COMPUTE, {HOME: CallOutcome(error="TypeError")}, [HOME]),
        (Effect.COMPUTE, {HOME: CallOutcome(places={((1,), False)})}, [HOME]),
    ],
)
def test_what_disagrees_is_seen(
    effect: Effect, outcomes: dict[str, CallOutcome], wrong: list[str]
) -> None:
    found = disagreements(Row("jax.f", effect), effect, Recipe("f(x)"), outcomes)
    assert [text.split()[1].rstrip(":") for text in found] == wrong
