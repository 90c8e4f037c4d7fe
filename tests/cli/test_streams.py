from __future__ import annotations

import io

import pytest

from placement_lint.cli.streams import is_terminal, use_colour, use_links


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
