from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement_lint.files.notebook_json import (
    NotRewritableError,
    demand_rewritable,
    lines_in_file,
    rewrite,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def cells_of(data: bytes) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(data)["cells"]
    return cells


def test_only_the_lines_that_differ_are_written() -> None:
    before = """{
 "cells": [
  {"source": [
    "a = '\\u00e9'\\n",
    "b = \\u0022x\\u0022\\n",
    "c\\/d"
   ], "outputs": ["a = 1"]},
  {"source": "x = 1\\ny = 2", "cell_type": "code"}
 ],   "nbformat": 4}

"""
    after = rewrite(before.encode(), {1: "a = 'é'\nB\nC = 'ü'\nc/d", 2: "x = 1\ny = 'ö'\n"})
    assert after.decode() == (
        before.replace('"b = \\u0022x\\u0022\\n",', '"B\\n",\n    "C = \'\\u00fc\'\\n",').replace(
            '"x = 1\\ny = 2"', "\"x = 1\\ny = '\\u00f6'\""
        )
    )


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ('["a"]', "a\nb", '["a\\n", "b"]'),
        ("[]", "a\nb", '["a\\n", "b"]'),
        ('["a\\n",\n  "b"]', "", "[]"),
        ('["a\\n",\n  "b"]', "a\n", '["a"]'),
        ('[\n  "a"\n ]', "a\nb", '[\n  "a\\n",\n  "b"\n ]'),
        ('["a\\nb\\n", "c"]', "a\nb\nd", '["a\\n", "b\\n", "d"]'),
        ('["a\\r\\n", "b"]', "a\r\nc", '["a\\r\\n", "c"]'),
        ('["é"]', "éü", '["éü"]'),
        ('["a"]', "é", '["é"]'),
        ('["a"]', "a\n", '["a"]'),
        ('["a\\n"]', "a\n\n", '["a\\n", "\\n"]'),
    ],
)
def test_lists_of_lines(source: str, text: str, expected: str) -> None:
    before = f'{{"cells": [{{"source": {source}}}]}}'
    assert (
        rewrite(before.encode(), {1: text}).decode() == f'{{"cells": [{{"source": {expected}}}]}}'
    )


def test_a_file_without_spaces_stays_without() -> None:
    before = b'{"cells":[{"source":["a"]}]}'
    assert rewrite(before, {1: "a\nb"}) == b'{"cells":[{"source":["a\\n","b"]}]}'


def test_of_several_members_of_one_name_the_last_one_counts() -> None:
    before = b'{"cells": 1, "cells": [{"source": "a", "source": "b"}]}'
    assert rewrite(before, {1: "c"}) == b'{"cells": 1, "cells": [{"source": "a", "source": "c"}]}'


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-le", "utf-32-be"])
def test_the_encoding_is_kept(encoding: str) -> None:
    before = '{"cells": [{"source": "é"}]}'
    assert rewrite(before.encode(encoding), {1: "ü"}) == before.replace("é", "ü").encode(encoding)
    demand_rewritable(before.encode(encoding))


def test_bytes_that_do_not_come_back_are_refused() -> None:
    with pytest.raises(NotRewritableError):
        demand_rewritable(b"\xfe\xff" + '{"cells": []}'.encode("utf-16-be"))


@pytest.mark.parametrize("data", [b'{"cells": [', b"", b'{"cells": [{"a": }]}'])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(NotRewritableError, match="not JSON as it is written"):
        demand_rewritable(data)


def test_cells_without_source() -> None:
    data = b'{"cells": [{"cell_type": "code"}, {"source": ["a\\n",\n "b"]}]}'
    assert lines_in_file(data) == {2: [1, 2]}
    assert b'["a\\n",\n "c"]' in rewrite(data, {2: "a\nc"})
    with pytest.raises(NotRewritableError, match="cell 1 has no source"):
        rewrite(data, {1: "x"})


@pytest.mark.parametrize("data", [b"7", b'"cells"', b"[]", b"{}", b'{"cells": 7}'])
def test_json_without_cells(data: bytes) -> None:
    demand_rewritable(data)
    assert lines_in_file(data) == {}


# -- any notebook, in any formatting ----------------------------------------------------------

_SPACES = ("", " ", "\n", "\r\n ", "\t", "  ")
_text = st.text(st.sampled_from("ab\n\r\t\"\\/é\u2028😀\x00\x7f'{}[],:"), max_size=12)
_line = st.text(st.sampled_from("ab \"\\/é😀'{}[],:"), max_size=6)
_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_text, inner, max_size=3),
    max_leaves=6,
)
_source = _text | st.lists(st.tuples(_line, st.just("\n")).map("".join), max_size=4)
_cell = st.builds(
    lambda source, more: {**more, "source": source},
    _source,
    st.dictionaries(_text, _value, max_size=2),
)
_notebook = st.builds(
    lambda cells, more: {**more, "cells": cells},
    st.lists(_cell, min_size=1, max_size=3),
    st.dictionaries(_text, _value, max_size=2),
)


def written(value: object, space: Callable[[], str], string: Callable[[str], str]) -> str:
    """Write JSON with any spaces and escapes."""
    if isinstance(value, str):
        return string(value)
    if isinstance(value, dict):
        members = [
            f"{space()}{string(key)}{space()}:{space()}{written(each, space, string)}{space()}"
            for key, each in value.items()
        ]
        return f"{{{','.join(members) or space()}}}"
    if isinstance(value, list):
        elements = [f"{space()}{written(each, space, string)}{space()}" for each in value]
        return f"[{','.join(elements) or space()}]"
    return json.dumps(value)


@settings(deadline=None)
@given(_notebook, _text, st.integers(0, 1 << 32))
def test_everything_else_stays_byte_for_byte(
    notebook: dict[str, Any], text: str, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret

    def string(text: str) -> str:
        return json.dumps(text, ensure_ascii=chance.random() < 0.5)

    document = written(notebook, lambda: chance.choice(_SPACES), string)
    before = document.encode()
    number = chance.randint(1, len(notebook["cells"]))
    after = rewrite(before, {number: text})
    cells = cells_of(after)
    was = notebook["cells"][number - 1]["source"]
    whole = was if isinstance(was, str) else "".join(was)
    source = cells[number - 1]["source"]
    assert type(source) is type(was)
    joined = source if isinstance(source, str) else "".join(source)
    is_ended = text.endswith("\n") and not whole.endswith(("\n", "\r"))
    is_ended = is_ended or (whole.endswith("\r") and text == f"{whole}\n")
    assert joined == (text.removesuffix("\n") if is_ended else text)
    cells[number - 1]["source"] = was
    assert cells == notebook["cells"]
    if was and source:
        # But for the cell itself, the bytes are what they were.
        marker = "\x01 no other text"
        assert rewrite(after, {number: marker}) == rewrite(before, {number: marker})
    assert rewrite(before, {number: whole}) == before
