"""What is kept between two runs comes back as it was, or not at all."""

from __future__ import annotations

import dataclasses
import enum
import json
import types
import typing
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement_lint.findings import (
    Applicability,
    Confidence,
    Edit,
    Finding,
    Fix,
    Related,
    Severity,
    Span,
)
from placement_lint.lint.file_results import FileResult
from placement_lint.lint.incremental.codec import Codec
from placement_lint.lint.incremental.records import (
    Checked,
    Group,
    ImportGain,
    Prefiltered,
    Records,
    TextDigest,
    records_codec,
    types_of_records,
)
from placement_lint.lint.results import Suppressed
from placement_lint.project.dependencies import (
    CallsMade,
    Dependencies,
    Donated,
    ProgramReads,
    Summarised,
)
from placement_lint.project.file_facts import FileFacts
from placement_lint.semantic.module_summary import (
    Does,
    Either,
    Imports,
    Kind,
    Perhaps,
    Step,
    Summary,
)
from placement_lint.semantic.program_queries import EffectOrigin, ImportEffects, KnownType

SUMMARIES = Codec(tuple[Step, ...])
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
    assert SUMMARIES.decode(json.loads(json.dumps(SUMMARIES.encode(summary)))) == summary


@pytest.mark.parametrize(
    "value",
    [
        *(None, 7, [7], [[]], [[0, ["no kind", "x", 1]]], [[0, [3, "x", 1]]], [[7, ["a"]]]),
        *([{"surely": []}], [[2, [[], [], []]]], [[1, [3]]], [["1", ["a"]]], [[0, ["sets", "x"]]]),
    ],
)
def test_what_is_no_summary(value: object) -> None:
    with pytest.raises((IndexError, TypeError, ValueError)):
        SUMMARIES.decode(value)


FINDING = Finding(
    *("JDP201", "a-name", "what", "a.py", Span(1, 2, 3, 4), Severity.ERROR, Confidence.LIKELY),
    related=(
        Related("there", "b.py", Span(1, 1, 1, 1), 3),
        Related("here", "c.py", Span(1, 1, 1, 1)),
    ),
    fix=Fix(Applicability.SAFE, "do", (Edit("a.py", Span(1, 1, 1, 1), "text", 2),), "group"),
)
RESULT = FileResult((FINDING,), exact=False, suppressed=(Suppressed(FINDING, "why"),))
ORIGIN = EffectOrigin("a.py", 3, "f()")
DEPENDENCIES = Dependencies(
    {"a.b": "jax.jit", "c": None},
    {"numpy", "os"},
    {"f": ORIGIN, "g": None},
    {(b"\xff", b"jax"): True, (): False},
    {"a": ImportEffects(ORIGIN, None, {"JAX_PLATFORMS": ORIGIN}, None)},
    {"a.py": "b.py"},
    types={
        ("", "b.mesh", True): KnownType("jax.sharding.Mesh"),
        ("b.py", "C.pair", False): KnownType(
            "builtins.tuple", items=(KnownType("C", "b.py"), None)
        ),
        ("", "b.none", False): None,
    },
    version_flags={"b.NEW": True, "b.OTHER": None},
)
FACTS = FileFacts(
    frozenset({"numpy", "np"}),
    {"np": ["numpy"]},
    [("a", "b")],
    frozenset({"jax"}),
    {"a": ("b",)},
    True,
)
READS = ProgramReads(
    {"a.py": "code"},
    {"a.py": {b"pinned_host": True}},
    {("a.py", "b.c"): ("b.py", "c"), ("a.py", "os"): None},
    {"mark": ["put"]},
    {("b.py", "mark"): True},
    {"b.py": False},
    ["put"],
    {"b.py": "does"},
)
RECORDS = Records(
    {"a.py": TextDigest("c", "s")},
    {"a.py": Prefiltered(7, True, True, True, True, True, ("put",), ("mesh",), ("maker",), True)},
    {"a.py": FACTS},
    {"a.py": ImportGain("told", True)},
    {"a.py": Checked(RESULT, DEPENDENCIES, False)},
    {"a.py": Summarised((STARTS, Either((Imports("a"),), ())), DEPENDENCIES)},
    {"a.py": Donated("code", {"f": None}, {"g": "b.g"}, DEPENDENCIES, False)},
    {"a.py": CallsMade({"f": 3, "g": None}, DEPENDENCIES)},
    {"digest": Group({"a.py": RESULT}, {"a.py": DEPENDENCIES}, READS)},
)
CODEC = records_codec()


_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    Any: st.none(),
    bool: st.booleans(),
    bytes: st.binary(max_size=3),
    int: st.integers(0, 9),
    str: st.text("ab.", max_size=3),
    types.NoneType: st.none(),
}
"""What the leaves of a record may be."""


def _values(kind: Any, depth: int) -> st.SearchStrategy[Any]:
    """Return values of a type; a part of itself is left out below a depth."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if origin in {typing.Union, types.UnionType}:
        shallow = [each for each in arguments if depth or not dataclasses.is_dataclass(each)]
        return st.one_of([_values(each, depth) for each in shallow or arguments[:1]])
    size = 3 if depth > 0 else 0
    if origin is tuple and arguments[-1] is not ...:
        return st.tuples(*(_values(each, depth) for each in arguments))
    if origin in {list, tuple}:
        return st.lists(_values(arguments[0], depth - 1) if size else st.none(), max_size=size).map(
            origin
        )
    if origin in {set, frozenset}:
        return st.sets(_values(arguments[0], depth - 1) if size else st.none(), max_size=size).map(
            origin
        )
    if origin in {dict, Mapping}:
        keys, values = (_values(each, depth - 1) for each in arguments)
        return st.dictionaries(keys, values, max_size=size) if size else st.just({})
    if issubclass(kind, enum.Enum):
        return st.sampled_from([*kind])
    hints = typing.get_type_hints(kind, localns=types_of_records())
    fields = [each.name for each in dataclasses.fields(kind) if each.metadata.get("kept", True)]
    return st.builds(kind, **{name: _values(hints[name], depth - 1) for name in fields})


_TYPES = types_of_records()
_CLASSES = sorted(name for name, kind in _TYPES.items() if dataclasses.is_dataclass(kind))


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", _CLASSES)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_whatever_a_part_of_a_record_holds_comes_back(name: str, data: st.DataObject) -> None:
    codec = Codec(_TYPES[name], _TYPES)
    value = data.draw(_values(_TYPES[name], 3))
    assert codec.decode(json.loads(json.dumps(codec.encode(value)))) == value


def test_a_set_of_several_types_is_written_in_one_way() -> None:
    kinds = [KnownType("B"), None, KnownType("A", "a.py"), KnownType("A", items=(None,))]
    codec = Codec(frozenset[KnownType | None], types_of_records())
    assert codec.encode(frozenset(kinds)) == codec.encode(frozenset(reversed(kinds)))
    assert codec.decode(codec.encode(frozenset(kinds))) == frozenset(kinds)


@pytest.mark.parametrize("records", [Records(), RECORDS, Records(facts_by_file={"a": FileFacts()})])
def test_records(records: Records) -> None:
    encoded = json.dumps(CODEC.encode(records))
    assert CODEC.decode(json.loads(encoded)) == records
    assert json.dumps(CODEC.encode(CODEC.decode(json.loads(encoded)))) == encoded


def test_what_is_not_kept() -> None:
    parsed = replace(RESULT, parsed=True, failed=(FINDING,))
    records = Records(checked={"a.py": Checked(parsed, Dependencies(), True)})
    assert CODEC.decode(CODEC.encode(records)).checked["a.py"].result == RESULT


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (1, ["7", *[True] * 6]), (1, [7, *[1] * 6]), (1, [7, True]),
        (2, [None, None, None, None, "no"]), (2, [None, None, None, None, 1]),
        (3, ["told", "yes"]), (3, [7, True]), (3, ["told"]), (3, {}),
    ],
)  # fmt: skip
def test_what_is_no_record(field: int, value: object) -> None:
    encoded = CODEC.encode(Records())
    encoded[field] = {"a.py": value}
    with pytest.raises((IndexError, TypeError, ValueError)):
        CODEC.decode(encoded)
