"""Trace on a program that JAX copies arrays for in many ways."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from typing import TYPE_CHECKING

from tests.fixture_cases import FIXTURES
from tests.marks import NEEDS_JAX
from tests.trace.running import Traced, trace

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = NEEDS_JAX
SOURCE = FIXTURES / "trace" / "copies.py"
LINES = SOURCE.read_text(encoding="utf-8").splitlines()
MAKES, MAKES_AGAIN = (
    next(n for n, line in enumerate(LINES, 1) if line.endswith(end) and "jnp.ones" in line)
    for end in ("# makes", "# makes again")
)


def test_copies(tmp_path: Path) -> None:
    """One test, not many: the program takes long to start."""
    shutil.copy(SOURCE, tmp_path)
    done = trace(tmp_path, "copies.py")
    check_it_ran(done)
    check_every_copy_is_counted_at_its_line(done)
    check_the_bytes_are_those_of_the_whole_array(done)
    check_large_arrays_are_told_apart_by_the_line_that_made_them(done)
    check_creations_are_in_the_users_file(done)
    check_what_no_rule_speaks_of_is_beside(done)
    check_missed_alarms_say_what_to_do(done)


def check_it_ran(done: Traced) -> None:
    assert (done.code, done.out, done.err, done.report["failed"]) == (0, "", "", None)


def check_every_copy_is_counted_at_its_line(done: Traced) -> None:
    wanted: Counter[tuple[int, str, str]] = Counter()
    for number, line in enumerate(LINES, 1):
        if " # moves: " in line:
            for part in line.partition(" # moves: ")[2].split("; "):
                kind, count, shape = part.split(" ", 2)
                wanted[number, kind, shape] += int(count)
    seen: Counter[tuple[int, str, str]] = Counter()
    for line in done.report["lines"]:
        for array in line["arrays"]:
            seen[line["at"]["line"], line["kind"], str(tuple(array["shape"]))] += array["count"]
    assert len(wanted) >= 14
    assert seen == wanted


def check_the_bytes_are_those_of_the_whole_array(done: Traced) -> None:
    sizes = {"float32": 4}
    for line in done.report["lines"]:
        for array in line["arrays"]:
            if array["dtype"] in sizes:
                size = sizes[array["dtype"]]
                for length in array["shape"]:
                    size *= length
                assert array["bytes"] == array["count"] * size


def check_large_arrays_are_told_apart_by_the_line_that_made_them(done: Traced) -> None:
    ((line,),) = [
        [line for line in lines if line["arrays"][0]["shape"] == [2, 1024, 1024]]
        for place, lines in done.lines("dragged").items()
        if "large_ones" in lines[0]["at"]["function"]
    ]
    made = {(a["made"]["line"], a["made_exactly"]): a["count"] for a in line["arrays"]}
    assert made == {(MAKES, True): 2, (MAKES_AGAIN, True): 2}


def check_creations_are_in_the_users_file(done: Traced) -> None:
    maker = next(n for n, line in enumerate(LINES, 1) if "jnp.asarray(np.ones(" in line)
    for lines in done.lines("dragged").values():
        for line in lines:
            for array in line["arrays"]:
                assert array["made"]["line"] in {maker, MAKES, MAKES_AGAIN}
                assert array["made_exactly"]


def check_what_no_rule_speaks_of_is_beside(done: Traced) -> None:
    judged = {line["kind"]: line["judgement"] for line in done.report["lines"]}
    assert judged["followed"] == judged["small"] == "beside"


def check_missed_alarms_say_what_to_do(done: Traced) -> None:
    missed = [line for line in done.report["lines"] if line["judgement"] == "not-flagged"]
    assert len(missed) == done.report["summary"]["not_flagged"]
    for line in missed:
        assert re.search(r"missed alarm: please report", line["help"])
    assert missed
