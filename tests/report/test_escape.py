from __future__ import annotations

import json
import unicodedata

import pytest

from placement_lint.report.escape import (
    escape,
    escape_characters,
    escape_line,
    escape_path,
    inert_json,
    inert_toml,
    inert_xml,
    shortened,
)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain é 日本 🙂", "plain é 日本 🙂"),
        ("a\nb\rc\td", "a\\nb\\rc\\td"),
        ("\x1b[31mred\x07\x00\x7f\x9b", "\\x1b[31mred\\x07\\x00\\x7f\\x9b"),
        ("\u202eevil\u2066\u2028", "\\u202eevil\\u2066\\u2028"),
        ("\udcff.py", "\\xff.py"),
        ("\ud800", "\\ud800"),
        ("a\u200b\u2060\ufeff\xad\U000e0041b", "a\\u200b\\u2060\\ufeff\\xad\\U000e0041b"),
        ("##vso[task.setvariable variable=a]b", "\\x23#vso[task.setvariable variable=a]b"),
        ("x ##[stop-commands]y", "x \\x23#[stop-commands]y"),
        ("####[a]", "##\\x23#[a]"),
        ("## [a], #[b], # noqa: X[1]", "## [a], #[b], # noqa: X[1]"),
    ],
)
def test_escape(text: str, escaped: str) -> None:
    assert escape(text) == escaped
    escaped.encode("utf-8")


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("a.py", "a.py"),
        ("./a.py", "./a.py"),
        ("../a.py", "../a.py"),
        ("/a.py", "/a.py"),
        ("C:/a.py", "C:/a.py"),
        ("_a.py", "_a.py"),
        ("数.py", "数.py"),
        ("::stop-commands::x.py", "./::stop-commands::x.py"),
        (" ::error::x.py", "./ ::error::x.py"),
        ("\xa0::error::x.py", "./\xa0::error::x.py"),
        ("##vso[x]y.py", "\\x23#vso[x]y.py"),
        ("\u200b::x.py", "\\u200b::x.py"),
        ("-x.py", "./-x.py"),
        ("--- x.py", "./--- x.py"),
        ("", ""),
    ],
)
def test_a_path_begins_no_command(path: str, shown: str) -> None:
    assert escape_path(path) == shown


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("+\tx\r", "+\tx"),
        (" ::error::x", " \\x3a:error::x"),
        (" \t ::error::x", " \t \\x3a:error::x"),
        ("+::error::x", "+::error::x"),
        (" x\u202e ##vso[a]b", " x\\u202e \\x23#vso[a]b"),
        ("-\x1b[31m", "-\\x1b[31m"),
    ],
)
def test_a_line_of_a_file_begins_none_either(line: str, shown: str) -> None:
    assert escape_line(line) == shown


def test_what_programs_read_says_the_same() -> None:
    value = {"a ##vso[b]": ["\\##[c]", "###teamcity[d] # e", "\u202e"]}
    text = inert_json(json.dumps(value))
    assert "##" not in text.replace("###", "")
    assert json.loads(text) == value
    assert inert_xml("<a b='##vso[c]'/>") == "<a b='&#35;#vso[c]'/>"
    toml = inert_toml('a = "\u202e##[b]"\n')
    assert toml == 'a = "\\U0000202e\\u0023#[b]"\n'


def test_no_character_is_shown_that_is_not_to_be_seen() -> None:
    every = map(chr, range(0x110000))
    hidden = [char for char in every if unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}]
    assert len(hidden) > 2_000
    assert [char for char in hidden if char in escape_characters(f"a{char}b")] == []
    assert [
        char for char in "\xad\u200b\u202e\ufeff\U000e0041" if char in escape_characters(char)
    ] == []


def test_what_nobody_would_read_is_left_out() -> None:
    assert shortened("x" * 2_000) == "x" * 2_000
    long = shortened("begin" + "x" * 10**6 + "end")
    assert long.startswith("begin")
    assert long.endswith("end")
    assert len(long) < 2_000
