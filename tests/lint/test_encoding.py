"""What is kept between two runs comes back as it was, or not at all."""

from __future__ import annotations

import json

import pytest

from placement_lint.lint import memory, wording
from placement_lint.lint.encoding import summary_from_json, summary_to_json
from placement_lint.rules.summary import Does, Either, Imports, Kind, Perhaps, Summary

STARTS = Does(Kind.STARTS, "jax.devices()", 2)


@pytest.mark.parametrize(
    "summary",
    [
        (),
        (Imports("a.b"), Does(Kind.SETS, "A", 3), STARTS),
        (Perhaps(("a", "b")), Imports("c")),
        (Either((Imports("a"), Perhaps(("b",))), (Either((STARTS,), ()),)), STARTS),
    ],
)
def test_what_executing_a_file_does(summary: Summary) -> None:
    assert summary_from_json(json.loads(json.dumps(summary_to_json(summary)))) == summary


@pytest.mark.parametrize(
    "value",
    [None, 7, [7], [[]], [["no kind", "x", 1]], [[3, "x", 1]], [{"surely": []}], [[[], [], []]]],
)
def test_what_is_no_summary(value: object) -> None:
    with pytest.raises((IndexError, KeyError, TypeError, ValueError)):
        summary_from_json(value)


EMPTY = memory.to_json(memory.Memory())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("gains", ["told", "yes"]), ("gains", [7, True]), ("gains", ["told"]),
        ("sorted", ["7", *[True] * 5]), ("sorted", [7, *[1] * 5]), ("sorted", [7, True]),
        ("wordings", [None, None, None, None, "no"]), ("wordings", [None, None, None, None, 1]),
    ],
)  # fmt: skip
def test_what_is_no_memory(key: str, value: object) -> None:
    assert key in EMPTY
    assert memory.from_json(json.loads(json.dumps(EMPTY))) == memory.Memory()
    with pytest.raises((KeyError, TypeError, ValueError)):
        memory.from_json({**EMPTY, key: {"a.py": value}})


@pytest.mark.parametrize("pins", [None, True, False])
def test_how_a_file_chooses_its_platform(*, pins: bool | None) -> None:
    said = wording.Wording({"np": ["numpy"]}, [("a", "b")], frozenset({"jax"}), None, pins)
    assert wording.from_json(json.loads(json.dumps(wording.to_json(said)))) == said
