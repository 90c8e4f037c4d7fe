"""Writing the cells of a notebook back: everything that is not their code stays byte for byte.

The bytes of a notebook are somebody's formatting: indentation, order of keys, escapes, final
newline. To parse it and write it out again would change all of that, so the text of each changed
cell is put where it stood, in the way that the file writes its strings.
"""

from __future__ import annotations

import bisect
import json
import re
from dataclasses import dataclass
from json import decoder
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"[^\s,\]}]+")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_ESCAPED = re.compile(r"(?<!\\)(?:\\\\)*\\u(?!00[0-7])[0-9a-f]{4}", re.IGNORECASE)

# What `json` itself reads strings by: from behind the opening quote to behind the closing one.
_scan = cast("Callable[[str, int], tuple[str, int]]", vars(decoder)["scanstring"])


class NotRewritableError(Exception):
    """A notebook whose bytes cannot be given back exactly; the message says why."""


@dataclass(frozen=True)
class _Value:
    """One JSON value: where it stands, and what is in it."""

    start: int
    end: int
    members: tuple[tuple[str, _Value], ...] = ()
    elements: tuple[_Value, ...] = ()
    text: str | None = None
    """What a string says."""

    def get(self, key: str) -> _Value | None:
        """Return the member of an object that a reader gets: the last one of its name."""
        return next((value for name, value in reversed(self.members) if name == key), None)


def rewrite(data: bytes, texts: Mapping[int, str]) -> bytes:
    """Return the bytes of a notebook with other texts in some of its cells, which count from 1.

    A text may have one line end more than a cell whose last line had none. Raises
    NotRewritableError.
    """
    document, encoding = _decoded(data)
    cells = _cells(document)
    pieces: list[str] = []
    position = 0
    for number, text in sorted(texts.items()):
        source = cells[number - 1].get("source")
        if source is None:
            message = f"cell {number} has no source"
            raise NotRewritableError(message)
        old = _text(source)
        new = text if old.endswith(("\n", "\r")) else text.removesuffix("\n")
        # Before a cell that begins with a line end, the reader ends one that has "\r" once more.
        if new == old or (old.endswith("\r") and text == f"{old}\n"):
            continue
        pieces += (document[position : source.start], _written(document, source, new))
        position = source.end
    return _encoded("".join([*pieces, document[position:]]), encoding)


def demand_rewritable(data: bytes) -> None:
    """Raise NotRewritableError for bytes in which no cell could be changed."""
    document, encoding = _decoded(data)
    if _encoded(document, encoding) != data:
        raise NotRewritableError("its encoding does not give back the same bytes")
    _cells(document)


def lines_in_file(data: bytes) -> dict[int, list[int]]:
    """Return, for each cell of a notebook, on which line of the file each of its lines begins.

    Raises NotRewritableError.
    """
    document, _ = _decoded(data)
    ends = [found.start() for found in re.finditer("\n", document)]
    found: dict[int, list[int]] = {}
    for number, cell in enumerate(_cells(document), 1):
        source = cell.get("source")
        if source is None:
            continue
        lines: list[int] = []
        begins = True
        for piece in source.elements or (source,):
            for line in _LINE.findall(piece.text or ""):
                if begins:
                    lines.append(bisect.bisect_left(ends, piece.start) + 1)
                begins = line.endswith(("\n", "\r"))
        found[number] = lines
    return found


def _decoded(data: bytes) -> tuple[str, str]:
    encoding = json.detect_encoding(data)
    return data.decode(encoding, "surrogatepass"), encoding


def _encoded(document: str, encoding: str) -> bytes:
    return document.encode(encoding, "surrogatepass")


def _cells(document: str) -> tuple[_Value, ...]:
    try:
        cells = _parsed(document).get("cells")
    except (IndexError, ValueError) as error:
        message = f"not JSON as it is written: {error}"
        raise NotRewritableError(message) from error
    return () if cells is None else cells.elements


def _text(source: _Value) -> str:
    if source.text is not None:
        return source.text
    return "".join(element.text or "" for element in source.elements)


# -- writing ----------------------------------------------------------------------------------


def _written(document: str, source: _Value, text: str) -> str:
    if source.text is not None:
        return _string(document, text)
    return _list(document, source, _LINE.findall(text))


def _string(document: str, text: str) -> str:
    return json.dumps(text, ensure_ascii=_escapes(document))


def _escapes(document: str) -> bool:
    """Return whether a file writes what is not ASCII as escapes."""
    return document.isascii() and _ESCAPED.search(document) is not None


def _list(document: str, source: _Value, lines: list[str]) -> str:
    """Write a list of lines; those at its beginning and end that are as before stay as they are."""
    old = source.elements
    if not lines:
        return "[]"
    if not old:
        opening, between, closing = "", _separator(document), ""
    else:
        opening = document[source.start + 1 : old[0].start]
        closing = document[old[-1].end : source.end - 1]
        between = (
            document[old[0].end : old[1].start]
            if len(old) > 1
            else f",{opening}"
            if opening
            else _separator(document)
        )
    most = min(len(old), len(lines))
    head = 0
    while head < most and old[head].text == lines[head]:
        head += 1
    tail = 0
    while tail < most - head and old[-1 - tail].text == lines[-1 - tail]:
        tail += 1
    pieces: list[str] = []
    if head:
        pieces.append(document[old[0].start : old[head - 1].end])
    pieces += [_string(document, line) for line in lines[head : len(lines) - tail]]
    if tail:
        pieces.append(document[old[-tail].start : old[-1].end])
    return f"[{opening}{between.join(pieces)}{closing}]"


def _separator(document: str) -> str:
    """Return what a file writes between values on one line."""
    return ", " if re.search(r'"[ ]*:[ ]', document) else ","


# -- reading ----------------------------------------------------------------------------------


def _parsed(document: str) -> _Value:
    """Read a JSON text that `json` has read, noting where each value stands. Not recursive."""
    at = _skip(document, 0)
    if document[at] not in "{[":
        return _plain(document, at)
    stack: list[_Open] = [_Open(at, is_object=document[at] == "{")]
    at += 1
    while True:
        top = stack[-1]
        at = _skip(document, at)
        if document[at] in "}]":
            done = top.value(at + 1)
            stack.pop()
            if not stack:
                return done
            stack[-1].add(done)
            at += 1
            continue
        if document[at] == ",":
            at = _skip(document, at + 1)
        if top.is_object:
            top.key, at = _scan(document, at + 1)
            at = _skip(document, _skip(document, at) + 1)
        if document[at] in "{[":
            stack.append(_Open(at, is_object=document[at] == "{"))
            at += 1
        else:
            value = _plain(document, at)
            top.add(value)
            at = value.end


class _Open:
    """An object or a list whose end has not been read."""

    def __init__(self, start: int, *, is_object: bool) -> None:
        self.start = start
        self.is_object = is_object
        self.key = ""
        self.members: list[tuple[str, _Value]] = []
        self.elements: list[_Value] = []

    def add(self, value: _Value) -> None:
        if self.is_object:
            self.members.append((self.key, value))
        else:
            self.elements.append(value)

    def value(self, end: int) -> _Value:
        return _Value(self.start, end, tuple(self.members), tuple(self.elements))


def _plain(document: str, at: int) -> _Value:
    if document[at] == '"':
        text, end = _scan(document, at + 1)
        return _Value(at, end, text=text)
    scalar = _SCALAR.match(document, at)
    if scalar is None:
        message = f"no value at character {at}"
        raise ValueError(message)
    return _Value(at, scalar.end())


def _skip(document: str, at: int) -> int:
    space = _SPACE.match(document, at)
    return at if space is None else space.end()
