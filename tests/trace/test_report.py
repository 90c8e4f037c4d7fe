"""The report, as text and as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from placement_lint.cli.trace import Look, Shown
from placement_lint.trace import as_json, text, words
from placement_lint.trace.join import Judgement, match
from placement_lint.trace.page import page
from placement_lint.trace.record import Move, TraceRecord
from placement_lint.trace.recorder import FOLLOWED, PULLED, SPREAD
from tests.trace.test_join import TEXT, finding, host_run, move, recompilation, record

if TYPE_CHECKING:
    from placement_lint.findings import Finding


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(TEXT)
    return str(tmp_path / "program.py")


def shown(path: str) -> str:
    return Shown()(path)


LOOK = Look(False, shown)


def one_of_each(path: str) -> tuple[TraceRecord, list[Finding]]:
    """Give a run and findings of which each has another state."""
    findings = [finding(path, 6, 6), finding(path, 7, 6, made=4), finding(path, 9, 9)]
    seen = record(
        path,
        move(path, 6, (6, 10), count=3),
        move(path, 5, (5, 18)),
        move(path, 8, (4, 11), kind=FOLLOWED, made=None),
        lines={1, 2, 3, 4, 5, 6, 7, 8},
    )
    return seen, findings


def test_a_line_for_each_thing(path: str) -> None:
    seen, findings = one_of_each(path)
    seen.elsewhere.append(("a forked process", None))
    joined = match(seen, findings, {}, [("odd\x1b.py", "not a Python file")])
    assert text.short(joined, LOOK).splitlines() == [
        "program.py:6:6: confirmed JDP201: float32[8,4] copied 3 times, 384 bytes in 3 ms, "
        "from cpu:1 to cpu:0; made at program.py:3:9",
        "program.py:7:6: did not move JDP201: it moves",
        "program.py:9:9: not reached JDP201: it moves",
        "program.py:5:5: not flagged: float32[8,4] copied once, 128 bytes in 1 ms, "
        f"from cpu:1 to cpu:0; made at program.py:3:9; {text.REPORT_IT}",
        "program.py:8:4: beside: an array of the default device was copied to where it was used: "
        "float32[8,4] copied once, 128 bytes in 1 ms, from cpu:1 to cpu:0",
        "note: not covered: a forked process, started at outside of your files",
        "note: odd\\x1b.py was not linted: not a Python file",
        "4 implicit copies at 2 places: 512 bytes in 4 ms "
        "(1 confirmed, 1 did not move, 1 not reached, 1 not flagged)",
    ]


def test_in_full(path: str) -> None:
    seen = record(path, move(path, 6, (6, 10), count=3), move(path, 5, (5, 18)))
    seen.stage.append("cpu:0 stands in for the accelerator")
    said = text.full(match(seen, [finding(path, 6, 6)], {}), LOOK)
    assert said.startswith(
        "placement-lint trace: Python 3.13.0, JAX 0.12.0\ncpu:0 stands in for the accelerator\n"
        "times are those of a simulated accelerator\n\n"
        "confirmed JDP201 it moves\n--> program.py:6:6\n  |\n6 | d = (a[0],\n  |      ^\n  |\n"
        "copied 3 times, 384 bytes in 3 ms: float32[8,4], 128 bytes, from cpu:1 to cpu:0\n"
        "note: made here\n--> program.py:3:9\n  |\n3 |     a = jnp.ones((8, 4))\n"
    )
    assert "\nnot flagged an array of the host was copied, and no rule reported it\n" in said
    assert f"help: {text.REPORT_IT}\n" in said
    assert "\x1b" not in said
    assert "\x1b[1;31mconfirmed JDP201\x1b[0m" in text.full(
        match(seen, [finding(path, 6, 6)], {}), Look(True, Shown())
    )


def test_state_of_one_device_that_meets_a_mesh(path: str) -> None:
    met = move(path, 6, (6, 10), kind=SPREAD)
    seen = record(path, met, compiled=[recompilation(path, 6, made=3, others=1)])
    joined = match(seen, [finding(path, 3, 9, code="JDP706")], {})
    said = text.full(joined, LOOK)
    assert (
        "copied once, 128 bytes in 1 ms: float32[8,4], 128 bytes, from cpu:1 to cpu:0\n"
        "note: copied here\n--> program.py:6:6\n"
    ) in said
    assert (
        "compiled again jit(step) once, 200 ms: float32[8,4] (and 1 other operand) was on cpu:0 "
        "before, and is P('data') on 8 devices\nnote: compiled here\n--> program.py:6:6\n"
    ) in said
    assert "Compiled again:" not in said
    assert "; 1 compilation because of a changed sharding: 200 ms, 20.0% of the run (" in (
        text.summary(joined, 1.0)
    )
    (line, _) = text.short(joined, LOOK).splitlines()
    assert line.endswith(
        "compiled again jit(step) once, 200 ms: float32[8,4] (and 1 other operand) was on cpu:0 "
        "before, and is P('data') on 8 devices; made at program.py:3:9, at program.py:6:6"
    )


def test_what_is_compiled_again_without_a_finding(path: str) -> None:
    seen = record(path, compiled=[recompilation(path, 6, made=None, before="NumPy")])
    joined = match(seen, [finding(path, 3, 9, code="JDP706")], {})
    expected = (
        "program.py:6:6: compiled again jit(step) once, 200 ms: float32[8,4] was NumPy before, "
        "and is P('data') on 8 devices"
    )
    assert text.short(joined, LOOK).splitlines()[0] == expected
    assert f"Compiled again:\n  {expected}\n" in text.full(joined, LOOK)
    assert "<h2>Compiled again</h2>" in page(joined, LOOK, 1.0, ["train.py"])
    value = json.loads(
        as_json.render(joined, command=[], devices="virtual", status=0, seconds=1.0, show=LOOK.path)
    )
    (again,) = value["recompilations"]
    assert again["because"]["before"] == "NumPy"


def test_an_array_that_is_replicated_again_is_a_missed_alarm(path: str) -> None:
    first = move(path, 6, (6, 10), kind=SPREAD)
    later = Move(**{**vars(first), "again": True, "source": ()})
    joined = match(record(path, Move(**{**vars(first), "source": ()}), later), [], {})
    assert [line.count for line in joined.judged(Judgement.NOT_FLAGGED)] == [2]
    said = text.full(joined, LOOK)
    assert "the same array was copied to several devices more than once, and no rule" in said
    assert "from NumPy to cpu:0" in said
    once = match(record(path, first), [], {})
    assert [line.judgement for line in once.lines] == [Judgement.BESIDE]


def test_an_unsure_creation_is_said_to_be_unsure(path: str) -> None:
    sure = move(path, 6, (6, 10))
    unsure = Move(**{**vars(sure), "exact": False})
    for each, expected in ((sure, False), (unsure, True)):
        said = text.full(match(record(path, each), [finding(path, 6, 6)], {}), LOOK)
        assert ("or where another one like it was" in said) is expected
    both = text.full(match(record(path, unsure, sure), [finding(path, 6, 6)], {}), LOOK)
    assert both.count("note: made here") == 1
    assert "or where another one like it was" not in both


def test_summaries(path: str) -> None:
    counts = "(0 confirmed, 0 did not move, 0 not reached, 0 not flagged)"
    assert text.summary(match(record(path), [], {})) == f"nothing moved {counts}"
    copied = match(record(path, move(path, 6, (6, 10), count=3)), [], {})
    assert ": 384 bytes in 3 ms, 0.3% of the run (" in text.summary(copied, 1.0)
    assert ": 384 bytes in 3 ms (" in text.summary(copied)
    assert text.copies(copied) == "3 implicit copies"
    assert text.copies(match(record(path), [], {})) == ""
    assert text.summary(match(TraceRecord(), [], {})) == f"the program never imported JAX {counts}"
    beside = match(record(path, move(path, 8, (4, 11), kind=FOLLOWED)), [], {})
    assert (
        text.summary(beside)
        == f"nothing moved in the scope of the rules (128 bytes outside) {counts}"
    )


def ran(path: str) -> TraceRecord:
    """Return a record of computations on the host: flagged, coming back, after the first, alone."""
    seen = record(path, move(path, 6, (6, 10), kind=PULLED), move(path, 9, (9, 12), kind=PULLED))
    seen.host_runs += [
        host_run(path, 6, (6, 10), count=1, copied=128),
        host_run(path, 6, (6, 10), count=9, after=6),
        host_run(path, 5, (5, 18), count=1, copied=256),
        host_run(path, 5, (5, 18), count=3, after=5),
        host_run(path, 8, (4, 11), count=2, after=6),
        host_run(path, 9, (9, 12), count=1, copied=128, made=None),
    ]
    return seen


def test_what_ran_on_the_host(path: str) -> None:
    joined = match(ran(path), [finding(path, 6, 6, code="JDP208")], {})
    because = "because of float32[16] committed there"
    assert text.short(joined, LOOK).splitlines() == [
        f"program.py:6:6: confirmed JDP208: jit(step) 10 times, 100 ms, on cpu:1, {because} at "
        "program.py:3:9; float32[8,4] copied once, 128 bytes in 1 ms, from cpu:1 to cpu:0; "
        "made at program.py:3:9",
        f"program.py:5:5: not flagged: jit(step) 4 times, 40 ms, on cpu:1, {because} at "
        f"program.py:3:9; 256 bytes copied there; {text.REPORT_IT}",
        f"program.py:8:4: beside: jit(step) twice, 20 ms, on cpu:1, {because} at program.py:3:9, "
        "after program.py:6:1",
        f"program.py:9:9: beside: jit(step) once, 10 ms, on cpu:1, {because}; "
        "128 bytes copied there",
        "1 implicit copy at 1 place: 128 bytes in 1 ms; 17 computations on the host because of a "
        "committed operand at 4 places: 170 ms "
        "(1 confirmed, 0 did not move, 0 not reached, 1 not flagged)",
    ]
    nothing = TraceRecord("3.13.0", "0.12.0", host_runs=ran(path).host_runs[4:5])
    assert text.summary(match(nothing, [], {})).startswith("nothing moved; 2 computations on the ")


def test_what_ran_on_the_host_in_full(path: str) -> None:
    said = text.full(match(ran(path), [finding(path, 6, 6, code="JDP208")], {}), LOOK)
    because = "on cpu:1, because of float32[16] committed there"
    made = "--> program.py:3:9\n  |\n3 |     a = jnp.ones((8, 4))\n"
    assert (
        f"ran on the host jit(step) 10 times, 100 ms, {because}\n"
        f"note: committed to the host here\n{made}"
    ) in said
    assert "\ncopied once, 128 bytes in 1 ms: float32[8,4]" in said
    assert (
        "\nnot flagged a computation ran on the host repeatedly, on its own earlier results" in said
    )
    assert f"\nran on the host jit(step) 4 times, 40 ms, {because}\n" in said
    head, *rest = said.partition("Also ran on the host:\n")[2].splitlines()
    assert head.startswith("  program.py:8:4: jit(step) twice, 20 ms, ")
    assert rest[0].startswith("  program.py:9:9: jit(step) once, 10 ms, ")


def test_json_of_what_ran_on_the_host(path: str) -> None:
    joined = match(ran(path), [finding(path, 6, 6, code="JDP208")], {})
    value = json.loads(
        as_json.render(joined, command=[], devices="virtual", status=0, seconds=1.0, show=LOOK.path)
    )
    places = value["host_runs"]
    assert [(p["at"]["line"], p["judgement"], p["count"], p["bytes"]) for p in places] == [
        (6, "flagged", 10, 128), (5, "not-flagged", 4, 256), (8, "beside", 2, 0),
        (9, "beside", 1, 128),
    ]  # fmt: skip
    assert [p["help"] for p in places] == [None, text.REPORT_IT, None, None]
    first, second = places[0]["computations"]
    assert (first["after"], second["after"]["line"]) == (None, 6)
    assert {key: first[key] for key in ("function", "device", "count", "bytes", "seconds")} == {
        "function": "jit(step)", "device": "cpu:1", "count": 1, "bytes": 128, "seconds": 0.01,
    }  # fmt: skip
    assert first["because"]["made"]["line"] == 3
    assert (first["because"]["shape"], first["because"]["made_exactly"]) == ([16], True)
    (found,) = value["findings"]
    assert (found["host_runs"], found["host_seconds"], found["count"]) == (10, 0.1, 1)
    summary = value["summary"]
    assert (summary["host_runs"], summary["host_seconds"]) == (17, 0.17)
    assert (summary["copies"], summary["not_flagged"]) == (1, 1)


def test_a_mistake_of_ours_is_said(path: str) -> None:
    seen = record(path)
    seen.failed = "KeyError: 1"
    said = text.notes(match(seen, [], {}), LOOK)
    assert said == ["note: watching ended early: KeyError: 1; please report this"]


def rendered(path: str, status: int = 0) -> dict[str, object]:
    seen = record(path, move(path, 6, (6, 10), count=3), move(path, 5, (5, 18)))
    seen.elsewhere.append(("a forked process", None))
    joined = match(seen, [finding(path, 6, 6)], {})
    value: dict[str, object] = json.loads(
        as_json.render(
            joined, command=["a.py", "-x"], devices="virtual", status=status, seconds=1.23456,
            show=LOOK.path,
        )
    )  # fmt: skip
    return value


def test_json(path: str) -> None:
    value = rendered(path)
    place = {"path": "program.py", "line": 6, "column": 6, "end_line": 6, "end_column": 10,
             "function": "<module>"}  # fmt: skip
    assert value["version"] == 1
    assert value["program"] == {
        "command": ["a.py", "-x"], "exit_code": 0, "signal": None, "seconds": 1.235,
    }  # fmt: skip
    assert value["environment"] == {
        "python": "3.13.0", "jax": "0.12.0", "devices": "virtual", "stage": [],
    }  # fmt: skip
    lines = value["lines"]
    assert isinstance(lines, list)
    first, second = lines
    (array,) = first.pop("arrays")
    assert first == {
        "at": place, "kind": "dragged", "judgement": "flagged", "count": 3, "bytes": 384,
        "seconds": 0.003, "help": None,
    }  # fmt: skip
    assert array.pop("made")["line"] == 3
    assert array == {
        "shape": [8, 4], "dtype": "float32", "from": ["cpu:1"], "to": ["cpu:0"], "count": 3,
        "bytes": 384, "seconds": 0.003, "made_exactly": True, "again": False,
    }  # fmt: skip
    assert (second["judgement"], second["help"]) == ("not-flagged", text.REPORT_IT)
    assert value["findings"] == [
        {"code": "JDP201", "name": "jdp201", "message": "it moves", "path": "program.py",
         "line": 6, "column": 6, "speaks_of_moves": True, "state": "confirmed", "count": 3,
         "bytes": 384, "seconds": 0.003, "host_runs": 0, "host_seconds": 0,
         "recompilations": 0, "compile_seconds": 0},
    ]  # fmt: skip
    assert value["not_covered"] == [{"what": "a forked process", "at": None}]
    assert value["summary"] == {
        "copies": 4, "bytes": 512, "seconds": 0.004, "confirmed": 1, "reached": 0,
        "not_reached": 0, "unknown": 0, "not_flagged": 1, "host_runs": 0, "host_seconds": 0,
        "recompilations": 0, "compile_seconds": 0,
    }  # fmt: skip
    assert value["host_runs"] == []


def test_json_of_a_signal(path: str) -> None:
    program = rendered(path, -9)["program"]
    assert isinstance(program, dict)
    assert (program["exit_code"], program["signal"]) == (None, 9)


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (999_949, "999.9 kB"),
     (999_999, "1.0 MB"), (3_145_728, "3.1 MB"), (6_500_000_000, "6.5 GB"), (10**18, "1000.0 PB")],
)  # fmt: skip
def test_sizes(count: int, said: str) -> None:
    assert words.size(count) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0, "0 µs"), (5.6e-6, "5.6 µs"), (0.0123, "12.3 ms"), (1.25, "1.2 s"), (1234.5, "1,234 s")],
)
def test_times(value: float, said: str) -> None:
    assert words.seconds(value) == said


def test_routes(path: str) -> None:
    one = move(path, 6, (6, 10))
    many = Move(**{**vars(one), "target": ("cpu:0", "cpu:1", "cpu:2"), "shape": None})
    assert words.route(one) == "cpu:1 to cpu:0"
    assert words.route(many) == "cpu:1 to 3 devices"
    assert words.array(many) == "arrays of many shapes"
    assert [words.times(n) for n in (1, 2, 1500)] == ["once", "twice", "1,500 times"]


def test_the_page_says_all_of_it(path: str) -> None:
    seen, findings = one_of_each(path)
    seen.elsewhere.append(("a <forked> process", None))
    made = page(match(seen, findings, {}, []), LOOK, 0.5, ["-m", "a<b"])
    for part in ("Confirmed", "Not flagged", "Did not move", "Not reached", "Bytes copied"):
        assert f"<h2>{part}" in made
    for part in ("<code>-m a&lt;b</code>", "a &lt;forked&gt; process", "0.8% of the run"):
        assert part in made
    assert "384 bytes in 3 ms, 3 times" in made
    ids = re.findall(r"<article id='([^']+)'", made)
    assert len(ids) == len({*ids})
    assert {*re.findall(r"href='#([^']+)'", made)} == {"program.py:5", "program.py:6"} <= {*ids}
    assert not re.search(r"<script|<link|https?:", made)


def test_the_page_of_a_run_without_copies(path: str) -> None:
    made = page(match(record(path), [], {}, []), LOOK, 0.5, ["program.py"])
    assert "<p class='sum ok'>nothing moved" in made
    assert "<h2>" not in made
