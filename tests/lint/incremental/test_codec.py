"""What is kept between two runs comes back as it was, or not at all."""

from __future__ import annotations

import json

import pytest

from placement_lint.lint.incremental import records
from placement_lint.lint.incremental.codec import summary_from_json, summary_to_json
from placement_lint.project import file_facts
from placement_lint.semantic.module_summary import Does, Either, Imports, Kind, Perhaps, Summary

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


EMPTY = records.to_json(records.Records())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("gains", ["told", "yes"]), ("gains", [7, True]), ("gains", ["told"]),
        ("sorted", ["7", *[True] * 5]), ("sorted", [7, *[1] * 5]), ("sorted", [7, True]),
        ("facts_by_file", [None, None, None, None, "no"]),
        ("facts_by_file", [None, None, None, None, 1]),
    ],
)  # fmt: skip
def test_what_is_no_memory(key: str, value: object) -> None:
    assert key in EMPTY
    assert records.from_json(json.loads(json.dumps(EMPTY))) == records.Records()
    with pytest.raises((KeyError, TypeError, ValueError)):
        records.from_json({**EMPTY, key: {"a.py": value}})


@pytest.mark.parametrize("pins", [None, True, False])
def test_how_a_file_chooses_its_platform(*, pins: bool | None) -> None:
    said = file_facts.FileFacts({"np": ["numpy"]}, [("a", "b")], frozenset({"jax"}), None, pins)
    assert file_facts.from_json(json.loads(json.dumps(file_facts.to_json(said)))) == said
