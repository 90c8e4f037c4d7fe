"""A module that is put together of pieces is the one that LibCST parses, node for node."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import libcst as cst
import pytest

from placement_lint.files.source import Source
from placement_lint.files.store import FileStore
from placement_lint.syntax import pieces
from placement_lint.syntax.parse import ParsedFile, parse

if TYPE_CHECKING:
    from placement_lint.syntax.pieces import Pieces

TOP = Path(__file__).parents[2]
FILES = sorted((TOP / "placement_lint").rglob("*.py")) + sorted((TOP / "tests").rglob("*.py"))
LONG = 8_000
"""Bytes of a file that has lines enough to be cut."""
LINES = [
    *("", "   ", "# c", "    # c", "\tpass", "    pass", "x = 1", "x = 1; y = 2", "@d", "'''"),
    *("if x: pass", "else: pass", "async def f(): pass", "x = \\", "x = (", "match x:", "\x0c"),
]


def check(known: dict[str, Pieces | None], path: str, text: str) -> bool:
    """Compare both ways; tell whether the text was one that is cut."""
    before = known.pop(path, None)
    try:
        whole = cst.parse_module(text)
    except Exception as error:
        with pytest.raises(type(error)):
            pieces.parse(text, before)
        return False
    assembled, known[path] = pieces.parse(text, before)
    assert whole.deep_equals(assembled)
    assert whole.code == assembled.code
    # No node stands in two places.
    assert len({id(each) for each in assembled.body}) == len(assembled.body)
    return known[path] is not None


def edited(text: str, chance: random.Random) -> str:
    """Do to a text what somebody does who types."""
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    what = chance.randrange(4)
    if what == 0:
        lines.insert(at, chance.choice(LINES))
    elif what == 1:
        del lines[at]
    elif what == 2:
        lines[at:at] = lines[at : at + 12]
    else:
        lines[at] = chance.choice([lines[at] + " ", lines[at] + "  # c", " " + lines[at], ""])
    return "\n".join(lines)


def compare(subtests: pytest.Subtests, files: list[Path], rounds: int) -> None:
    chance = random.Random(1)  # noqa: S311 - the same each time
    known: dict[str, Pieces | None] = {}
    cut = 0
    for path in files:
        text = path.read_text(encoding="utf-8")
        for number in range(rounds):
            with subtests.test(f"{path.name} {number}"):
                cut += check(known, str(path), text)
            if number == 1:
                text = text.replace("\n", "\r\n")
            text = edited(text, chance)
    assert cut > len(files) / 4


def test_it_is_the_same_module(subtests: pytest.Subtests) -> None:
    """`pytest -m every -k same_module` compares them for every file of this project."""
    # Short files are not cut.
    long = [path for path in FILES if path.stat().st_size > LONG]
    compare(subtests, long[:: len(long) // 6], 3)


@pytest.mark.every
def test_it_is_the_same_module_for_every_file(subtests: pytest.Subtests) -> None:
    compare(subtests, FILES, 6)


TEXT = "".join(f"def f{number}(x):\n    return x + {number}\n\n\n" for number in range(40))


def module_of(text: str, store: FileStore) -> cst.Module:
    parsed = parse(Source("a.py", text), store, is_lean=False)
    assert isinstance(parsed, ParsedFile)
    return parsed.module


def test_what_has_not_changed_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = cst.parse_module

    def counted(text: str) -> cst.Module:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(cst, "parse_module", counted)
    store = FileStore(is_lasting=True)
    first = module_of(TEXT, store)
    assert len(parsed) == 40
    assert module_of(TEXT, store) is first
    parsed.clear()
    second = module_of(TEXT.replace("x + 17", "x - 17"), store)
    # The first and the last statement stand beside the edges of the file.
    assert len(parsed) == 3
    assert sum(one is other for one, other in zip(first.body, second.body, strict=True)) == 37
    store.keep_only([])
    parsed.clear()
    module_of(TEXT, store)
    assert len(parsed) == 40


def test_what_stands_twice_has_nodes_of_its_own_each_time() -> None:
    text = "x = 1\n" + "y = 2\n" * 150
    known: dict[str, Pieces | None] = {}
    for _ in range(3):
        assert check(known, "a.py", text)
        text += "y = 2\n"


def test_a_plain_run_parses_a_text_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "parse", None)
    store = FileStore()
    first = module_of(TEXT, store)
    assert module_of(TEXT, store) is first
    assert module_of(TEXT, FileStore()) is not first


PADDING = "y = 2\n" * 120


@pytest.mark.parametrize(
    ("text", "is_cut"),
    [
        ("a = 1; b = 2\n" + PADDING, True),
        (PADDING + "a = 1; b = 2; c = 3\n", True),
        # A backslash at the end of a comment joins nothing.
        (PADDING + "path = 1  # C:\\\nx = 2\n", False),
        ("match x:\n\tcase 1:\n\t\tpass\n" + PADDING, False),
        ("if x: a = 1\nelse:\n  b = 2\n" + PADDING, False),
        ("if x: a = 1\n" + PADDING + "if x:\n  b = 2\n", True),
        ("def f(): pass\n" + PADDING + "try: a\nexcept E:\n  b\n", False),
        ("a = 1; b = 2; c = 3; d = 4\n" + "# c\n" * 120, False),
        ("import a\n  # indented\nb = 1\n" + PADDING, False),
    ],
)
def test_where_a_text_is_cut(text: str, *, is_cut: bool) -> None:
    assert check({}, "a.py", text) is is_cut
