"""A person who waits is shown how far the run is; nobody else is, and no trace of it stays."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from placement_lint.cli.progress import Progress
from placement_lint.lint.progress import ProgressCount

pty = pytest.importorskip("pty", reason="needs a terminal of POSIX")

TOP = str(Path(__file__).parents[2])
# A run that waits after a file for so long that it is a long one, and then until the next is shown.
SLOW = """\
import sys, time
from placement_lint.cli import main
from placement_lint.lint.progress import ProgressCount

reach = ProgressCount.reach
waits = [1.1]

def slow(self, done, findings):
    time.sleep(waits.pop() if waits else 0.12)
    reach(self, done, findings)

ProgressCount.reach = slow
sys.exit(main(sys.argv[1:]))
"""


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_nothing_is_shown_of_a_short_run() -> None:
    stream, clock = io.StringIO(), Clock()
    with Progress(stream, clock=clock) as progress:
        clock.now += 0.9
        progress.update(1, 10, 0)
    assert stream.getvalue() == ""


def test_a_line_is_shown_now_and_then_and_cleared() -> None:
    stream, clock = io.StringIO(), Clock()
    with Progress(stream, clock=clock) as progress:
        for number in range(200):
            clock.now += 1 / 16
            progress.update(number, 1234, number // 150)
    shown = stream.getvalue().split("\r")
    assert shown[0] == ""
    assert shown[1] == "15 of 1,234 files, 0 findings"
    assert "151 of 1,234 files, 1 finding " in shown
    # From the second second on at every other sixteenth of one: at most ten times a second.
    assert len(shown) - 3 == 93
    assert (shown[-2].strip(" "), shown[-1]) == ("", "")
    assert len(shown[-2]) >= max(map(len, shown[1:-2]))


def test_nothing_is_shown_nowhere() -> None:
    clock = Clock()
    with Progress(None, clock=clock) as progress:
        clock.now += 5
        progress.update(1, 2, 3)
        progress.clear()


def test_a_terminal_that_goes_away_ends_nothing() -> None:
    class Gone(io.StringIO):
        writes = 0

        def write(self, _: str) -> int:
            self.writes += 1
            message = "gone"
            raise OSError(message)

    stream, clock = Gone(), Clock()
    with Progress(stream, clock=clock) as progress:
        for _ in range(3):
            clock.now += 5
            progress.update(1, 2, 3)
    assert stream.writes == 1


def test_what_is_told_never_decreases_and_never_exceeds_the_files() -> None:
    told: list[tuple[int, int, int]] = []
    course = ProgressCount(5, lambda *numbers: told.append(numbers))
    course.reach(3, 1)
    course.reach(2, 0)
    course.add(1, 2)
    course.add(7, 0)
    assert told == [(3, 5, 1), (3, 5, 1), (4, 5, 3), (5, 5, 3)]


@pytest.fixture
def slow(tmp_path: Path) -> list[str]:
    """Give the command of a run over a few files that takes a while."""
    for number in range(3):
        text = "import jax\n\n\ndef f(x, d):\n    jax.device_put(x, d)\n"
        (tmp_path / f"m{number}.py").write_text(text, encoding="utf-8")
    return [sys.executable, "-c", SLOW, str(tmp_path), "--isolated", "--no-cache", "-j", "1"]


def on_terminal(command: list[str]) -> tuple[str, str]:
    """Give what a command writes to a file, and what to the terminal that is its error stream."""
    here, there = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": TOP}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=there, env=environment, text=True
    ) as process:
        os.close(there)
        shown = b""
        while True:
            try:
                piece = os.read(here, 4096)
            except OSError:  # Linux's end of a terminal
                break
            if not piece:
                break
            shown += piece
        assert process.stdout is not None
        out = process.stdout.read()
    os.close(here)
    return out, shown.decode()


def test_a_long_run_on_a_terminal_shows_it(slow: list[str]) -> None:
    out, shown = on_terminal(slow)
    assert out.count("JDP204") == 3
    assert "3 of 3 files, " in shown
    progress, summary = shown.rsplit("\r", 2)[0], shown.rsplit("\r", 2)[1]
    assert "\n" not in progress
    assert summary.startswith("Found 3 findings")


def test_quiet_shows_nothing(slow: list[str]) -> None:
    assert on_terminal([*slow, "-q"])[1] == ""


def test_nothing_is_shown_where_no_terminal_is(slow: list[str]) -> None:
    run = subprocess.run(
        slow, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": TOP}, check=False
    )
    assert run.stderr.startswith("Found 3 findings")
    assert "\r" not in run.stderr
    assert "\r" not in run.stdout
