"""Places, as the protocol counts them and as findings do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import (
    Position,
    PositionEncodingKind,
    Range,
    TextDocumentContentChangePartial,
    TextDocumentContentChangeWholeDocument,
)

from placement_lint.files.source import Source
from placement_lint.findings import Span
from placement_lint.integrations.lsp.positions import Places
from placement_lint.integrations.lsp.text_documents import Text
from placement_lint.integrations.lsp.workspace_edits import least
from tests.integrations.lsp.editor import applied

KINDS = [PositionEncodingKind.Utf8, PositionEncodingKind.Utf16, PositionEncodingKind.Utf32]
TEXTS = st.text(alphabet="ab \n\r\x0c\u2028\x85\u00e9\u20ac\N{GRINNING FACE}", max_size=40)
CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


@given(TEXTS, st.sampled_from(KINDS), st.data())
def test_every_place_of_a_text_is_found_again(
    text: str, kind: PositionEncodingKind, data: st.DataObject
) -> None:
    places, source = Places(text, kind), Source("x.py", text)
    offset = data.draw(st.integers(0, len(text)))
    line, column = source.position(offset)
    position = places.position(line, column)
    # The units, by the codec that the encoding is named after.
    codec, width = CODECS[kind.value]
    before = text[source.line_starts[line - 1] : offset].rstrip("\r\n")
    assert position == Position(line - 1, len(before.encode(codec)) // width)
    if text[source.line_starts[line - 1] : offset] == before:
        assert places.offset(position) == offset
        assert places.line_and_column(position) == (line, column)


@given(TEXTS, TEXTS)
def test_the_least_edit_makes_one_text_of_the_other(before: str, after: str) -> None:
    edit = least(Places(before), after)
    assert (before if edit is None else applied(before, [edit])) == after


def test_the_least_edit_leaves_other_lines_alone() -> None:
    edit = least(Places("a\r\nb\r\nc\r\n"), "a\r\nB\r\nc\r\n")
    assert edit is not None
    assert (edit.range, edit.new_text) == (Range(Position(1, 0), Position(2, 0)), "B\r\n")
    assert least(Places("a\n"), "a\n") is None


@given(TEXTS, TEXTS, st.sampled_from(KINDS), st.data())
def test_a_change_of_a_part_is_what_the_editor_did(
    text: str, new: str, kind: PositionEncodingKind, data: st.DataObject
) -> None:
    source, places = Source("x.py", text), Places(text, kind)
    ends = [data.draw(st.integers(0, len(text))) for _ in range(2)]
    # A place inside of a line end is none.
    start, end = sorted(places.offset(places.position(*source.position(end))) for end in ends)
    stretch = places.stretch(start, end)
    change = TextDocumentContentChangePartial(stretch, new)
    document = Text("file:///x.py", 1, "python", text, kind).changed(2, [change])
    assert document.text == text[:start] + new + text[end:]
    assert document.version == 2
    whole = TextDocumentContentChangeWholeDocument("all of it")
    assert document.changed(3, [whole, change]).version == 3


def test_a_place_in_the_middle_of_a_character_is_before_it() -> None:
    places = Places("a\N{GRINNING FACE}b\n")
    assert [places.offset(Position(0, units)) for units in range(6)] == [0, 1, 1, 2, 3, 3]
    assert places.offset(Position(7, 0)) == 4
    assert places.line_and_column(Position(7, 3)) == (2, 1)


def test_a_byte_order_mark_is_no_column_of_findings() -> None:
    places = Places("\ufeffimport jax\nx\n")
    assert places.range(Span(1, 1, 1, 7)) == Range(Position(0, 1), Position(0, 7))
    assert places.line_and_column(Position(0, 1)) == (1, 1)
    assert places.range(Span(2, 1, 2, 2)) == Range(Position(1, 0), Position(1, 1))


def test_a_document_is_written_in_the_encoding_that_it_declares() -> None:
    def data(text: str) -> bytes:
        return Text("file:///x.py", 1, "python", text).data

    assert data("# coding: latin-1\n# \u00e9\n") == "# coding: latin-1\n# \u00e9\n".encode(
        "latin-1"
    )
    # What that cannot hold keeps its width: columns stay where they are.
    assert data("# coding: latin-1\n# \u20ac\n") == b"# coding: latin-1\n# ?\n"
    for name in ("no-such", "idna"):
        text = f"# coding: {name}\n# \u20ac..\n"
        assert data(text) == text.encode()
    assert data("x = '\ud800'\n") == b"x = '?'\n"
