"""The recorded runs: the newest one must show what is asked for, and records can be read again."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from tests.fix_oracle.examine import (
    NOT_STARTED,
    NOTHING_FIXED,
    RAN,
    CheckedFile,
)
from tests.fix_oracle.fixing import How
from tests.fix_oracle.judge import MOVED, RAISED, WHATS, Judgement, Verdict
from tests.fix_oracle.record import (
    NAMES,
    Family,
    Record,
    Shown,
    again,
    as_json,
    failures,
    newest,
    read,
    shares,
    summary,
    write,
)
from tests.fix_oracle.sources import FAMILIES, GENERATORS, Program
from tests.records import RECORDS
from tests.report.held_to import demand_json

if TYPE_CHECKING:
    from tests.fix_oracle.client import WatchClient

PROGRAMS = 10_000
SCHEMA = str(Path(__file__).parent / "record.schema.json")


def shortcomings(record: Record) -> list[str]:
    """Say in what a record does not show what is asked for."""
    found = []
    if record.programs < PROGRAMS:
        found.append(f"{record.programs} programs")
    families = {family.family for family in record.families}
    found += [f"no {name}" for name in FAMILIES if name not in families]
    for each in record.families:
        if each.verdicts or each.wrong:
            found.append(f"{each.family}: {each.wrong} wrong, {dict(each.verdicts)}")
        # Programs that are not fixed, or not run, show nothing.
        if each.family in GENERATORS and each.ran < each.programs / 10:
            found.append(f"{each.family}: only {each.ran} of {each.programs} are fixed and run")
        if each.not_run > each.fixed / 4:
            found.append(f"{each.family}: {each.not_run} of {each.fixed} cannot run")
        if each.cut > each.ran / 10:
            found.append(f"{each.family}: {each.cut} runs are not seen whole")
        if each.copies < each.ran / 4:
            found.append(f"{each.family}: only {each.copies} copies were made before")
    return found


@pytest.mark.parametrize("path", sorted(RECORDS.glob("*-fixes.json")), ids=lambda path: path.name)
def test_records_are_of_the_schema(path: Path) -> None:
    demand_json(path.read_text(encoding="utf-8"), SCHEMA)


def test_the_newest_record_shows_what_is_asked_for() -> None:
    path = newest()
    if path is None:
        pytest.skip(f"no record in {RECORDS}: python -m tests.fix_oracle --record makes one")
    assert shortcomings(read(path)) == []


def good_record() -> Record:
    families = [
        Family(
            name, programs=2000, nothing_fixed=800, not_run=100, raised_before=20, ran=1080,
            operations=9000, exempt=500, arrays=800, leftovers=10, copies=4000, said=5,
            safe=Counter({"JDP201": 1500}), unsafe=Counter({"JDP401": 20}),
            reasons=Counter({"NameError": 100}),
        )
        for name in FAMILIES
    ]  # fmt: skip
    return Record(
        3,
        families,
        [],
        ["clean/some"],
        "2026-01-31",
        700.5,
        2,
        {"python": "3.11.7"},
        "0123456789ab",
    )


def test_a_good_record_has_no_shortcomings() -> None:
    assert shortcomings(good_record()) == []
    demand_json(as_json(good_record()), SCHEMA)


def test_what_went_wrong_is_examined_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what goes right by now nothing is left but that it was looked at twice."""
    record = good_record()
    others, loops = record.families[1], record.families[0]
    assert loops.family == "loops"
    for family, many in ((loops, 2), (others, 1)):
        family.wrong, family.verdicts = many, Counter({"safe moved": many, "unsafe raised": 1})
    record.failures = [
        Shown("loops/1", "safe", f"{MOVED}: main:1: x", ["JDP201"]),
        Shown("loops/1", "safe", f"{MOVED}: main:2: x", ["JDP201"]),
        Shown("loops/2", "safe", f"{MOVED}: main:1: x", ["JDP201"]),
        Shown("loops/2", "unsafe", f"{RAISED}: main:1: x", ["JDP201"]),
    ]

    def examined(_: WatchClient, program: Program) -> CheckedFile:
        found = CheckedFile(program, RAN)
        if program.name == "loops/2":
            found.judged[How(unsafe=True)] = Judgement([Verdict(RAISED, "main:1", "x")])
        return found

    monkeypatch.setattr("tests.fix_oracle.record.examine", examined)
    again(record, cast("WatchClient", None))
    assert (loops.wrong, loops.verdicts) == (1, Counter({"unsafe raised": 1}))
    assert (others.wrong, others.verdicts) == (1, Counter({"safe moved": 1, "unsafe raised": 1}))
    assert [each.program for each in record.failures] == ["loops/2"]
    assert record.judged_again == ["loops/1", "loops/2"]
    demand_json(as_json(record), SCHEMA)


def test_the_schema_takes_no_other_names() -> None:
    whole = json.loads(as_json(good_record()))
    whole["families"][0]["verdicts"] = {"safe nonsense": 1}
    with pytest.raises(AssertionError):
        demand_json(json.dumps(whole), SCHEMA)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"verdicts": Counter({"safe moved": 1})}, "safe moved"),
        ({"wrong": 1}, "1 wrong"),
        ({"ran": 100}, "only 100 of 2000"),
        ({"not_run": 500}, "500 of 1200 cannot run"),
        ({"cut": 200}, "200 runs"),
        ({"copies": 20}, "only 20 copies"),
    ],
)
def test_what_is_wanting_is_said(change: dict[str, object], said: str) -> None:
    record = good_record()
    for name, value in change.items():
        setattr(record.families[0], name, value)
    (found,) = shortcomings(record)
    assert said in found


def test_families_that_are_not_there_are_said() -> None:
    record = good_record()
    del record.families[1:]
    assert shortcomings(record) == [
        "2000 programs",
        *(f"no {name}" for name in FAMILIES[1:]),
    ]


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    record = good_record()
    record.failures.append(Shown("loops/3", "safe", "an operation runs elsewhere", ["JDP201"]))
    path = write(record, tmp_path / "new")
    assert path.name == "2026-01-31-fixes.json"
    assert read(path) == record
    assert as_json(read(path)) == path.read_text(encoding="utf-8")
    assert len(list(summary(record))) == 2 + 2 * len(record.families)
    later = write(dataclasses.replace(record, date="2026-02-01"), tmp_path / "new")
    assert newest(tmp_path / "new") == later
    assert newest(tmp_path) is None


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("version", 2, "version 2"), ("programs", 11, "totals"), ("fixed", 0, "totals"),
        ("verdicts", {"safe moved": 1}, "totals"), ("families", 1, "do not add up"),
    ],
)  # fmt: skip
def test_what_does_not_add_up_is_refused(
    tmp_path: Path, key: str, value: object, said: str
) -> None:
    path = write(good_record(), tmp_path)
    whole = json.loads(path.read_text())
    if key == "families":
        whole["families"][0]["ran"] = value
    else:
        whole[key] = value
    path.write_text(json.dumps(whole))
    with pytest.raises(ValueError, match=said):
        read(path)


def test_a_family_counts_what_came_of_a_program() -> None:
    program = Program("loops", "loops/3", {"main": ""}, [0])
    family = Family("loops")
    family.count(CheckedFile(program, NOTHING_FIXED))
    family.count(CheckedFile(program, NOT_STARTED, "NameError: name 'f'"))
    wrong = Judgement(operations=5, copies=2)
    wrong.add(MOVED, "main:1:1", "x")
    wrong.add(MOVED, "main:2:1", "x")
    examined = CheckedFile(program, RAN, judged={How(unsafe=False): wrong})
    family.count(examined)
    assert (family.programs, family.fixed, family.not_run, family.ran) == (3, 2, 1, 1)
    assert (family.wrong, family.operations, family.copies) == (1, 5, 2)
    assert family.verdicts == {"safe moved": 1}
    assert family.reasons == {"NameError": 1}
    twice = Family("loops")
    twice.add(family)
    twice.add(family)
    assert (twice.family, twice.programs, twice.verdicts) == ("loops", 6, {"safe moved": 2})
    assert [each.what for each in failures(examined)] == [f"{MOVED}: main:{n}:1: x" for n in (1, 2)]


def test_every_verdict_has_a_name_in_records() -> None:
    assert {*NAMES} == {*WHATS}
    assert len(set(NAMES.values())) == len(WHATS)


def test_half_of_the_random_programs_are_training_loops() -> None:
    found = shares(10_000, 2)
    assert sum(map(len, found.values())) == 10_000
    assert len(found["loops"]) == 5000
    assert found["level 1"][0] == 2_000_000
    assert not set(shares(100, 1)["loops"]) & set(found["loops"])
