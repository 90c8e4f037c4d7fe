from __future__ import annotations

import io

import pytest

from placement_lint.cli.streams import is_terminal, use_colour


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


def test_no_stream_is_no_terminal() -> None:
    assert not is_terminal(None)
