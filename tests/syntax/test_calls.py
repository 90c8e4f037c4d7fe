from __future__ import annotations

import warnings

import libcst as cst
import pytest

from placement_lint.syntax.calls import integer_value, string_value


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("'cpu'", "cpu"),
        ("'c' \"pu\"", "cpu"),
        ("r'\\d'", "\\d"),
        ("'\\x41'", "A"),
        ("b'cpu'", None),
        ("f'cpu'", None),
        ("cpu", None),
        # Python refuses these.
        ("'\\x1'", None),
        ("'a' '\\uXX'", None),
        ("'\\N{no such character}'", None),
    ],
)
def test_strings(code: str, value: str | None) -> None:
    assert string_value(cst.parse_expression(code)) == value


def test_an_escape_that_is_none_is_not_warned_of() -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert string_value(cst.parse_expression("'\\d'")) == "\\d"
    assert not warned


@pytest.mark.parametrize(
    ("code", "value"),
    [("7", 7), ("-7", -7), ("0x_ff", 255), ("7.0", None), ("+7", None), ("9" * 5_000, None)],
)
def test_integers(code: str, value: int | None) -> None:
    assert integer_value(cst.parse_expression(code)) == value
