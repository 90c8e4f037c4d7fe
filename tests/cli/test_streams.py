from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import pytest

from placement_lint.cli import main, streams
from placement_lint.cli.streams import OutputError, is_terminal, use_colour, use_links

if TYPE_CHECKING:
    from collections.abc import Callable


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("choice", "environment", "on_terminal", "elsewhere"),
    [
        ("auto", {}, True, False),
        ("auto", {"TERM": "dumb"}, False, False),
        ("auto", {"NO_COLOR": "1"}, False, False),
        ("auto", {"NO_COLOR": ""}, True, False),
        ("auto", {"FORCE_COLOR": "1"}, True, True),
        ("auto", {"FORCE_COLOR": "0"}, True, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ("always", {"NO_COLOR": "1"}, True, True),
        ("never", {"FORCE_COLOR": "1"}, False, False),
    ],
)
def test_colour(
    choice: str, environment: dict[str, str], on_terminal: bool, elsewhere: bool
) -> None:
    assert use_colour(choice, Terminal(), environment) is on_terminal
    assert use_colour(choice, io.StringIO(), environment) is elsewhere
    assert use_colour(choice, None, environment) is elsewhere


@pytest.mark.parametrize(
    ("choice", "environment", "on_terminal", "elsewhere"),
    [
        # A terminal that nobody knows may print what it does not know.
        ("auto", {}, False, False),
        ("auto", {"TERM": "xterm-256color"}, False, False),
        ("auto", {"TERM": "xterm-kitty"}, True, False),
        ("auto", {"TERM_PROGRAM": "WezTerm"}, True, False),
        ("auto", {"TERM_PROGRAM": "Apple_Terminal"}, False, False),
        ("auto", {"WT_SESSION": "x"}, True, False),
        ("auto", {"VTE_VERSION": "6003"}, True, False),
        ("auto", {"VTE_VERSION": "5000"}, False, False),
        ("auto", {"VTE_VERSION": "new"}, False, False),
        ("auto", {"TERM": "dumb", "WT_SESSION": "x"}, False, False),
        ("auto", {"NO_COLOR": "1", "WT_SESSION": "x"}, False, False),
        ("auto", {"FORCE_COLOR": "1"}, False, False),
        ("auto", {"FORCE_COLOR": "1", "WT_SESSION": "x"}, True, False),
        ("always", {"WT_SESSION": "x"}, True, False),
        ("never", {"WT_SESSION": "x"}, False, False),
        ("auto", {"FORCE_HYPERLINK": "1"}, True, True),
        ("auto", {"FORCE_HYPERLINK": "1", "NO_COLOR": "1"}, True, True),
        ("auto", {"FORCE_HYPERLINK": "0", "WT_SESSION": "x"}, False, False),
        ("never", {"FORCE_HYPERLINK": "1"}, False, False),
    ],
)
def test_links(
    choice: str, environment: dict[str, str], on_terminal: bool, elsewhere: bool
) -> None:
    assert use_links(choice, Terminal(), environment) is on_terminal
    assert use_links(choice, io.StringIO(), environment) is elsewhere
    assert use_links(choice, None, environment) is elsewhere


def test_no_stream_is_no_terminal() -> None:
    assert not is_terminal(None)


def refusing(monkeypatch: pytest.MonkeyPatch, name: str) -> TextIO:
    """Put a stream in place of a standard one that takes nothing: its disk is full."""
    stream = Path("/dev/full").open("w", encoding="utf-8")  # noqa: SIM115 - who asks closes it
    monkeypatch.setattr(sys, name, stream)
    return stream


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
class TestFull:
    def test_output_that_is_lost_is_said_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with refusing(monkeypatch, "stdout"):
            with pytest.raises(OutputError, match="standard output: No space left on device"):
                streams.write("a\n")
            # What is still in the buffer goes nowhere: the interpreter does not fail at its end.
            streams.write("b\n")
            streams.write_bytes(b"c\n")

    def test_bytes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with refusing(monkeypatch, "stdout"):
            with pytest.raises(OutputError, match="standard output: No space left on device"):
                streams.write_bytes(b"a\n")
            streams.write_bytes(b"b\n")

    def test_complaints_are_lost(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with refusing(monkeypatch, "stderr"):
            streams.complain("error: nobody will know")
            streams.complain("error: nobody will know")

    def test_a_page(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with refusing(monkeypatch, "stdout"):
            assert main(["rule", "JDP204"]) == 2
        assert capsys.readouterr().err == "error: standard output: No space left on device\n"


@pytest.mark.parametrize("write", [lambda: streams.write("a"), lambda: streams.write_bytes(b"a")])
def test_a_reader_that_has_gone_is_no_error(
    write: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        write()
        write()


def test_without_streams_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `pythonw` starts programs on Windows."""
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    streams.write("a")
    streams.write_bytes(b"a")
    streams.complain("a")
    assert main(["rule", "JDP204"]) == 0


def test_a_file_that_cannot_be_replaced_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.txt"
    path.write_text("before", encoding="utf-8")

    def fail(source: str, target: str) -> None:
        Path(source).unlink()
        raise OSError(5, "Input/output error", target)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OutputError, match="Input/output error"):
        streams.write_file(str(path), "after")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("out.txt", "before")]
