"""`--watch`: another run after each change, and the last exit code at Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from placement_lint.cli import watch
from tests import warm

Lint = Callable[..., tuple[int, str, str]]
WATCHING = "Watching 2 files for changes; Ctrl-C ends.\n"


@pytest.fixture(autouse=True)
def _without_what_is_broken(files: Path) -> None:
    (files / "broken.py").unlink()


@pytest.fixture
def edits(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """Give a list of what happens while the files are watched; at its end Ctrl-C is pressed."""
    waiting: list[Callable[[], object]] = []

    def pause(seconds: float) -> None:
        if seconds < watch.INTERVAL:
            return
        if not waiting:
            raise KeyboardInterrupt
        waiting.pop(0)()

    monkeypatch.setattr(watch, "pause", pause)
    return waiting


def write(path: str, text: str) -> Callable[[], object]:
    return lambda: Path(path).write_text(text, encoding="utf-8")


def test_it_runs_again_after_each_change(lint: Lint, edits: list[Callable[[], object]]) -> None:
    edits += [
        lambda: None,
        write("placement-lint.toml", 'ignore = ["JDP204"]\n'),
        Path("placement-lint.toml").unlink,
        write("notes.txt", "no run for this\n"),
        Path("hazard.py").unlink,
    ]
    code, out, err = lint("--watch", ".")
    assert code == 0
    assert out.count("hazard.py:5:5: JDP204 ") == 2
    assert err.count("Watching ") == 4
    assert err.startswith("Found 1 finding in 1 of 2 files. 1 fixable with `--fix`.\n" + WATCHING)
    assert err.endswith("No findings in 1 file.\nWatching 1 file for changes; Ctrl-C ends.\n")


@pytest.mark.parametrize(
    "name",
    ["dev-requirements.txt", "ruff.toml", "__init__.py", ".git/info/exclude", "sub/.gitignore"],
)
def test_what_decides_something_about_the_files_is_seen(
    name: str, lint: Lint, edits: list[Callable[[], object]]
) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(".git").mkdir(exist_ok=True)
    Path("sub").mkdir(exist_ok=True)
    edits += [write(name, ""), lambda: None, Path(name).unlink]
    _, _, err = lint("--watch", ".")
    assert err.count("Watching ") == 3


def test_new_files_are_seen(lint: Lint, edits: list[Callable[[], object]]) -> None:
    edits.append(write("new.py", "import os\n"))
    code, out, err = lint("-w")
    assert (code, out.count("JDP204")) == (1, 2)
    assert "in 1 of 3 files" in err


def test_wrong_settings_are_waited_for(lint: Lint, edits: list[Callable[[], object]]) -> None:
    write("placement-lint.toml", "selekt = []\n")()
    edits.append(write("placement-lint.toml", ""))
    code, _, err = lint("--watch", "--quiet", ".")
    assert code == 1
    assert "unknown setting `selekt`" in err
    assert "Watching" not in err


def test_fixing_ends_when_nothing_is_left(lint: Lint, edits: list[Callable[[], object]]) -> None:
    code, _, err = lint("--watch", "--fix", ".")
    assert code == 0
    assert edits == []
    assert err.startswith("Found 1 finding (1 fixed, 0 remaining).\n")


@pytest.mark.parametrize(
    "arguments", [("-",), ("--write-baseline", "b.json"), ("--show-files",), ("--update-baseline",)]
)
def test_what_is_done_once(lint: Lint, arguments: tuple[str, ...]) -> None:
    code, out, err = lint("--watch", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: --watch")


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_interrupted_for_real() -> None:
    line = warm.command("placement_lint", "--watch", "--no-cache", "hazard.py")
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        while b"Watching" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, b"")
    # What is no terminal is not cleared.
    assert out.startswith(b"hazard.py:5:5: JDP204 ")


@pytest.mark.skipif(os.name != "posix", reason="poll as POSIX has it")
def test_it_ends_with_the_program_that_reads_what_it_writes() -> None:
    line = warm.command("placement_lint", "--watch", "--no-cache", "hazard.py")
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        while b"Watching" not in process.stderr.readline():
            pass
        process.stdout.close()
        # Nothing is written any more: it is seen while it waits for changes.
        assert process.wait(timeout=60) == 1
        assert process.stderr.read() == b""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of POSIX")
def test_a_terminal_is_cleared(
    lint: Lint, edits: list[Callable[[], object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    edits.append(write("clean.py", "import sys\n"))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    _, out, _ = lint("--watch", "--color=never", ".")
    assert out.count("\x1b[2J") == 2
