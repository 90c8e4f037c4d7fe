"""Random programs with meshes: what the analyser says of them, and what JAX does."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from placement_lint.placement.domain.sharding import Mesh, Sharding, Spec
from placement_lint.placement.domain.values import Array
from tests import records
from tests.differential.mesh_client import MeshClient
from tests.differential.mesh_programs import random_program
from tests.differential.mesh_record import SUFFIX, Level, MeshRecord, as_json, compared, read
from tests.differential.oracle_client import OracleDiedError
from tests.differential.programs import LEVELS
from tests.differential.seats import Seat, seat_of
from tests.marks import RUNS_PROGRAMS
from tests.records import RECORDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.differential.mesh_compare import MeshComparison

PROGRAMS = 2000
WRONG = 0.001
"""The share of programs with an alarm that is wrong or missing, or a failure, in a record."""
MISPLACED = 0.001
"""That of programs with any wrong answer: an array may be elsewhere, and nothing be said of it."""
_SAMPLE = ((3, 4), (5, 0))
_MANY = 100


@pytest.fixture(scope="module")
def client() -> Iterator[MeshClient]:
    made = MeshClient()
    yield made
    made.close()


def test_a_program_of_a_number_is_always_the_same() -> None:
    assert random_program(7, 4) == random_program(7, 4) != random_program(8, 4)


class TestOnJax:
    pytestmark = RUNS_PROGRAMS

    def test_sample(self, client: MeshClient) -> None:
        """A few programs; more with `pytest -m every`, and as many as you like by the command."""
        _agree([compared(client, level, number) for level, number in _SAMPLE])

    def test_an_oracle_that_dies_is_asked_again(
        self, client: MeshClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[str] = []

        def ask(question: str) -> str:
            asked.append(question)
            return "" if len(asked) == 1 else '{"runs": []}'

        monkeypatch.setattr(client, "_asked", ask)
        assert client.watch({}, []) == []
        assert len(asked) == 2
        monkeypatch.setattr(client, "_asked", lambda _: "")
        with pytest.raises(OracleDiedError):
            client.watch({}, [])

    @pytest.mark.every
    @pytest.mark.timeout(1800)
    @pytest.mark.parametrize("level", LEVELS)
    def test_many(self, client: MeshClient, level: int) -> None:
        found = [compared(client, level, number) for number in range(_MANY)]
        wrong = [each for each in found if each.disagreements]
        assert len(wrong) <= _MANY * 0.03, [str(d) for each in wrong for d in each.disagreements]


def _agree(found: list[MeshComparison]) -> None:
    assert [str(each) for one in found for each in one.disagreements] == []
    assert sum(one.on_meshes for one in found) > 10
    assert sum(one.known_meshes for one in found) > 5


DATA, MODEL = ("data", 4), ("model", 2)


@pytest.mark.parametrize(
    ("said", "actual", "admits"),
    [
        (Seat(0, committed=False), Seat(0, committed=False), True),
        (Seat(0, committed=False), Seat(0, committed=True), False),
        (Seat(0), Seat(axes=(DATA,), spec=()), False),
        (Seat(axes=(DATA,)), Seat(axes=(DATA,), spec=(("data",),)), True),
        (Seat(axes=(("data", None),)), Seat(axes=(DATA,), spec=()), True),
        (Seat(axes=(("data", 2),)), Seat(axes=(DATA,), spec=()), False),
        (Seat(axes=(("rows", None),)), Seat(axes=(DATA,), spec=()), False),
        (Seat(axes=(DATA,)), Seat(axes=(DATA, MODEL), spec=()), False),
        (Seat(spec=(("data",),)), Seat(axes=(DATA,), spec=(("data",),)), True),
        (Seat(spec=(("data",),)), Seat(axes=(DATA,), spec=()), False),
        (Seat(spec=()), Seat(axes=(DATA,), spec=(("data",),)), False),
        (Seat(spec=(None,)), Seat(axes=(DATA,), spec=(("data",),)), True),
        (Seat(spec=((), ("model",))), Seat(axes=(DATA, MODEL), spec=((), ("model",))), True),
    ],
)
def test_what_is_said_admits(said: Seat, actual: Seat, admits: bool) -> None:
    assert said.admits(actual) is admits


def test_the_seat_of_an_array() -> None:
    mesh = Mesh(("data", "model"), (4, None))
    sharding = Sharding(mesh=mesh, spec=Spec(("data", None)), is_named=True)
    seat = seat_of(Array(None, committed=True, sharding=sharding), 8)
    assert seat == Seat(axes=(("data", 4), ("model", None)), spec=(("data",),))


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    levels = [Level(number, programs=400, errors=Counter({"ValueError": 1})) for number in LEVELS]
    record = MeshRecord(3, levels, [], "2026-01-31", 7.5, 2, {"jax": "0.10.2"}, "0123456789abcdef")
    path = records.write(as_json(record), record.date, SUFFIX, tmp_path)
    assert read(path) == record


def test_the_newest_record_shows_what_is_asked_for() -> None:
    path = records.newest(SUFFIX, RECORDS)
    if path is None:
        pytest.skip("no record: python -m tests.differential.mesh_record --record makes one")
    record = read(path)
    assert record.programs >= PROGRAMS
    assert {level.level for level in record.levels} == set(LEVELS)
    assert sum(level.disagreeing for level in record.levels) <= record.programs * MISPLACED
    wrong = sum(level.missed + level.other for level in record.levels)
    assert wrong <= record.programs * WRONG
    assert not any(level.false_definite or level.not_spread for level in record.levels)
    for level in record.levels:
        assert level.on_meshes > level.programs
        assert level.cut < level.runs / 4
