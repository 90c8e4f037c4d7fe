from __future__ import annotations

import pytest

from placement_lint.report.escape import escape


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain é 日本 🙂", "plain é 日本 🙂"),
        ("a\nb\rc\td", "a\\nb\\rc\\td"),
        ("\x1b[31mred\x07\x00\x7f\x9b", "\\x1b[31mred\\x07\\x00\\x7f\\x9b"),
        ("\u202eevil\u2066\u2028", "\\u202eevil\\u2066\\u2028"),
        ("\udcff.py", "\\xff.py"),
        ("\ud800", "\\ud800"),
    ],
)
def test_escape(text: str, escaped: str) -> None:
    assert escape(text) == escaped
    escaped.encode("utf-8")
