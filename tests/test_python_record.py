"""What is noted of a run of the tests on one Python."""

from __future__ import annotations

from tests.python_record import counted, failed_in, merged, node_id, with_another_try

REPORT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" errors="1" failures="1" skipped="2" tests="7">
<testcase classname="tests.a" name="one"/>
<testcase classname="tests.a" name="two"><failure message="x">y</failure></testcase>
<testcase classname="tests.b" name="three"><error message="x">y</error></testcase>
</testsuite></testsuites>"""


def test_a_report_is_counted() -> None:
    assert counted(REPORT) == {"passed": 3, "skipped": 2, "failed": 2}
    assert failed_in(REPORT) == ["tests.a::two", "tests.b::three"]


def test_a_run_takes_the_place_of_an_earlier_one_on_that_python() -> None:
    first = merged(None, "3.10", {"passed": 1}, "2026-01-02")
    second = merged(first, "3.9", {"not_run": "no"}, "2026-01-02")
    third = merged(second, "3.10", {"passed": 2}, "2026-01-02")
    assert [*third["runs"].items()] == [("3.9", {"not_run": "no"}), ("3.10", {"passed": 2})]
    assert first["runs"] == {"3.10": {"passed": 1}}, "as it was"


def test_what_failed_is_run_again_by_its_name() -> None:
    assert node_id("tests.cli.test_trace::test_one[a-b.c]") == (
        "tests/cli/test_trace.py::test_one[a-b.c]"
    )
    assert node_id("tests.cli.test_check.TestFixes::test_two") == (
        "tests/cli/test_check.py::TestFixes::test_two"
    )


def test_a_second_try_stands_beside_the_first() -> None:
    first = {"passed": 5, "skipped": 0, "failed": 1, "failures": ["tests.a::two"]}
    again = {"passed": 1, "skipped": 0, "failed": 0, "failures": [], "python": "3.10.1"}
    both = with_another_try(first, again)
    assert both == {**first, "again": {"passed": 1, "failed": 0, "failures": []}}
