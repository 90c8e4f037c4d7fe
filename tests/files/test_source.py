"""Bytes to text and back, and places in a text."""

from __future__ import annotations

import codecs

import pytest

from placement_lint.files.source import Cell, Source, UnreadableError


@pytest.mark.parametrize(
    ("data", "text", "encoding", "bom"),
    [
        (b"", "", "utf-8", False),
        (b"x = 1\n", "x = 1\n", "utf-8", False),
        ("é = 'λ'".encode(), "é = 'λ'", "utf-8", False),
        (codecs.BOM_UTF8 + "é\n".encode(), "é\n", "utf-8", True),
        (b"# coding: latin-1\n\xe9\n", "# coding: latin-1\né\n", "iso-8859-1", False),
        (
            b"#!x\n# -*- coding: cp1252 -*-\n\x80",
            "#!x\n# -*- coding: cp1252 -*-\n€",
            "cp1252",
            False,
        ),
        (b"a\r\nb\rc\n\x0cd", "a\r\nb\rc\n\x0cd", "utf-8", False),
    ],
)
def test_decodes_and_encodes_back(data: bytes, text: str, encoding: str, bom: bool) -> None:
    source = Source.from_bytes("code.py", data)
    assert (source.text, source.encoding, source.bom) == (text, encoding, bom)
    assert source.encode(source.text) == data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"x = 1\ny = '\xe9'\n", "not valid utf-8 at byte 11 (line 2)"),
        (b"\xff\xfe", "not valid utf-8 at byte 0 (line 1)"),
        (b"a\nb\nc\rd\r\ne \x80\n", "not valid utf-8 at byte 11 (line 5)"),
        (b"# coding: nonsense\n", "unknown encoding: nonsense"),
        (b"# coding: base64\n", "cannot be decoded: 'base64' is not a text encoding"),
        (b"# coding: rot13\nk\n", "cannot be decoded: 'rot13' is not a text encoding"),
        (b"# coding: ascii\n\n\xe9\n", "not valid ascii at byte 17 (line 3)"),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", "encoding problem: utf-8"),
        (b"# coding: idna\n\n\xe9\n", "idna"),
    ],
)
def test_unreadable(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        Source.from_bytes("code.py", data)
    assert reason in str(caught.value)


def test_text_that_the_encoding_cannot_hold() -> None:
    source = Source.from_bytes("code.py", b"# coding: latin-1\n")
    with pytest.raises(UnicodeEncodeError):
        source.encode("λ")


@pytest.mark.parametrize("text", ["a..b", "x" * 80])
def test_encodings_that_refuse_more_than_single_characters(text: str) -> None:
    data = f"# coding: idna\n# {text}\n".encode()
    source = Source.from_bytes("code.py", data)
    assert source.text == data.decode()
    assert not source.rewritable


def test_places() -> None:
    source = Source("code.py", "ab\r\nc\rλd\n\x0ce\u2028f")
    assert source.line_starts == [0, 4, 6, 9]
    for offset in (0, 1, 4, 6, 7, 9, 10, 12):
        assert source.offset(*source.position(offset)) == offset
    assert source.position(7) == (3, 2)
    assert source.position(len(source.text)) == (4, 5)
    assert [source.line_text(line) for line in (1, 2, 3, 4)] == ["ab", "c", "λd", "\x0ce\u2028f"]


@pytest.mark.parametrize(
    ("text", "newline"), [("a\r\nb\n", "\r\n"), ("a\nb\r\n", "\n"), ("a\rb", "\r"), ("a", "\n")]
)
def test_newline_is_that_of_the_first_line(text: str, newline: str) -> None:
    assert Source("code.py", text).newline == newline


def test_cells() -> None:
    source = Source("a.ipynb", "a\nb\nc\n", cells=(Cell(2, 1, 2), Cell(5, 3, 1)))
    numbers = [cell.number for line in (1, 2, 3) if (cell := source.cell_at(line))]
    assert numbers == [2, 2, 5]
    assert Source("code.py", "a").cell_at(1) is None
