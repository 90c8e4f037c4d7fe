"""Some inputs of each kind that are tried, and what tries them, broken on purpose.

`python -m tests.fuzz` tries as many as there is time for; `pytest -m fuzz tests/fuzz` a few hundred
of each kind.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from placement_lint.lint import check_file
from placement_lint.lint.linter import Linter
from tests.composed.files import compiles
from tests.fuzz import kinds, mutations, oracle, record
from tests.fuzz.grammar import program, rules
from tests.fuzz.oracle import Input, Verdict, judge
from tests.fuzz.readers import READERS, seeds_of
from tests.fuzz.reduction import reduced
from tests.fuzz.running import Problem, Tally, try_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from placement_lint.lint.results import Outcome

GOOD = b"import jax\n\n\ndef f(x, d):\n    jax.device_put(x, d)\n    return x\n"
MANY = 300


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", kinds.KINDS)
def test_many(kind: str) -> None:
    if kind == "hypothesmith":
        pytest.importorskip(kind, reason="the fuzz extra brings it")
    count = 20 if kind in {"together", "hypothesmith"} else MANY
    tally = Tally(kind, 0)
    try_numbers(tally, jobs=2, until=time.monotonic() + 3_000, count=count, say=lambda _: None)
    assert tally.numbers == count
    assert not tally.problems, tally.places


# -- the inputs -----------------------------------------------------------------------------------


def test_inputs_are_the_same_at_every_run_and_various() -> None:
    for kind in ("mutations", "grammar", "programs"):
        made = [each for number in range(20) for each in kinds.inputs_of(kind, number)]
        again = [each for number in range(20) for each in kinds.inputs_of(kind, number)]
        assert made == again
        assert len({each.data for each in made}) > 18


def test_about_half_of_what_is_made_compiles() -> None:
    for make in (mutations.mutation, program):
        texts = [make(number).data.decode("utf-8", "replace") for number in range(100)]
        assert 25 < sum(map(compiles, texts)) < 90, make


def test_the_grammar_has_every_construct() -> None:
    told = rules(strange=True)
    assert {"expr", "simple", "compound", "pattern", "target", "decorator"} <= told.keys()
    assert sum(map(len, told.values())) > 250
    text = "\n".join(form for forms in told.values() for form in forms)
    for word in ("async with", "except*", "match", ":=", "yield", "nonlocal", "import *", "type "):
        assert word in text, word


def test_readers_take_what_they_are_meant_for(subtests: pytest.Subtests) -> None:
    for name, read in READERS.items():
        for number, data in enumerate(seeds_of(name)):
            with subtests.test(f"{name} {number}"):
                read(data)


# -- what is seen ---------------------------------------------------------------------------------


def test_nothing_is_wrong_with_a_good_file() -> None:
    assert judge(Input("fuzzed.py", GOOD)) == Verdict((), parsed=True, found=1, fixed=True)


def test_a_rule_that_fails_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(check_file.Analysis, "place", fail)
    assert any("ZeroDivisionError" in each for each in judge(Input("fuzzed.py", GOOD)).problems)


def test_a_filter_that_is_too_strict_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("placement_lint.lint.select_files.passes_filter", lambda *_: False)
    assert judge(Input("fuzzed.py", GOOD)).problems == (
        "only without the filter: JDP204 in line 5",
    )


@pytest.mark.parametrize(
    ("fixed", "problem"),
    [
        (GOOD + b"return 1\n", "does not compile"),
        (GOOD + b"(\n", "does not parse"),
        (GOOD.replace(b"\n", b"\r\n"), "line ends"),
        (b"\xef\xbb\xbf" + GOOD, "encoding"),
        (GOOD + b"# new\n", "comments"),
        (GOOD + b"jax.device_put(f, 1)\n", "left, though it has a fix"),
        (b"\xff", "cannot be read"),
    ],
)
def test_what_fixing_breaks_is_seen(
    fixed: bytes, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Linter.check_text

    def broken(linter: Linter, path: str, data: bytes) -> tuple[Outcome, bytes | None]:
        outcome, after = real(linter, path, data)
        if after is not None and data == GOOD:
            outcome, _ = real(Linter(linter.settings_for), path, fixed)
            return outcome, fixed
        return outcome, after

    monkeypatch.setattr(Linter, "check_text", broken)
    assert any(problem in each for each in judge(Input("fuzzed.py", GOOD)).problems)


def test_what_takes_too_long_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "SECONDS", -1.0)
    assert any("took" in each for each in judge(Input("fuzzed.py", GOOD)).problems)


# -- running --------------------------------------------------------------------------------------


def looks(kind: str, number: int) -> Iterator[tuple[Input, Verdict]]:
    """Stands in for what is looked at: one number dies, one says nothing, one is wrong."""
    given = Input("fuzzed.py", b"%d" % number)
    if number == 3:
        os._exit(7)
    if number == 5:
        time.sleep(60)
    yield given, Verdict(("it is 7",) if number == 7 else (), parsed=True)


@pytest.mark.every
def test_what_kills_a_process_or_hangs_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.fuzz.running.SILENCE", 5.0)
    said: list[Problem] = []
    tally = Tally("mutations", 0)
    until = time.monotonic() + 100
    try_numbers(tally, look=looks, jobs=1, until=until, count=9, say=said.append)
    assert [(each.number, each.what) for each in said] == [
        (3, "the process died with exit code 7"),
        (5, "no answer for 5 s"),
        (7, "it is 7"),
    ]
    assert (tally.inputs, tally.parsed, tally.numbers) == (7, 7, 7)
    path = record.add([tally, tally], tmp_path)
    assert record.add([tally], tmp_path) == path
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
    assert [run["inputs"] for run in runs] == [7, 7, 7]
    assert runs[0]["problems"] == {
        "it is N": 1, "no answer for N s": 1, "the process died with exit code N": 1,
    }  # fmt: skip


def test_time_ends_a_run() -> None:
    tally = Tally("mutations", 0)
    try_numbers(tally, jobs=1, until=time.monotonic(), count=None, say=lambda _: None)
    assert tally.inputs == 0


def test_what_shows_a_problem_is_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    def judged(given: Input) -> Verdict:
        return Verdict(("two of them",) if given.data.count(b"jax.device") > 1 else ())

    monkeypatch.setattr("tests.fuzz.reduction.verdict_on", judged)
    problem = Problem("mutations", 0, "two of them", Input("fuzzed.py", GOOD * 2))
    assert reduced(problem) == b"jax.device_putjax.device_put"
    assert reduced(replace(problem, what="another")) == GOOD * 2
