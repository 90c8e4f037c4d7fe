"""A module that is put together of pieces is the one that LibCST parses, node for node."""

from __future__ import annotations

import random
from pathlib import Path

import libcst as cst
import pytest

from placement_lint.syntax import pieces
from placement_lint.syntax.pieces import Pieces, kept_in
from tests.trials import Trials

TOP = Path(__file__).parents[2]
FILES = sorted((TOP / "placement_lint").rglob("*.py")) + sorted((TOP / "tests").rglob("*.py"))
LINES = [
    *("", "   ", "# c", "    # c", "\tpass", "    pass", "x = 1", "x = 1; y = 2", "@d", "'''"),
    *("if x: pass", "else: pass", "async def f(): pass", "x = \\", "x = (", "match x:", "\x0c"),
]


def outcome(parse: object) -> cst.Module | type[Exception]:
    try:
        module = parse()  # type: ignore[operator]
    except Exception as error:
        return type(error)
    assert isinstance(module, cst.Module)
    return module


def check(known: Pieces, path: str, text: str) -> bool:
    """Compare both ways; tell whether the text was one that is cut."""
    whole = outcome(lambda: cst.parse_module(text))
    assembled = outcome(lambda: known.parse(path, text))
    if isinstance(whole, type) or isinstance(assembled, type):
        assert whole is assembled
        return False
    assert whole.deep_equals(assembled)
    assert whole.code == assembled.code
    # No node stands in two places.
    assert len({id(each) for each in assembled.body}) == len(assembled.body)
    return path in known._statements


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


def compare(files: list[Path], rounds: int) -> None:
    chance = random.Random(1)  # noqa: S311 - the same each time
    known = Pieces()
    cut = 0
    with Trials() as trials:
        for path in files:
            text = path.read_text(encoding="utf-8")
            for number in range(rounds):
                with trials.of(f"{path.name} {number}"):
                    cut += check(known, str(path), text)
                if number == 1:
                    text = text.replace("\n", "\r\n")
                text = edited(text, chance)
    assert cut > len(files) / 4


def test_it_is_the_same_module() -> None:
    """`pytest -m every -k same_module` compares them for every file of this project."""
    compare(FILES[::30], 3)


@pytest.mark.every
def test_it_is_the_same_module_for_every_file() -> None:
    compare(FILES, 6)


TEXT = "".join(f"def f{number}(x):\n    return x + {number}\n\n\n" for number in range(40))


def test_what_has_not_changed_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = cst.parse_module

    def counted(text: str) -> cst.Module:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(cst, "parse_module", counted)
    known = Pieces()
    first = known.parse("a.py", TEXT)
    assert len(parsed) == 40
    assert known.parse("a.py", TEXT) is first
    parsed.clear()
    second = known.parse("a.py", TEXT.replace("x + 17", "x - 17"))
    # The first and the last statement stand beside the edges of the file.
    assert len(parsed) == 3
    assert sum(one is other for one, other in zip(first.body, second.body, strict=True)) == 37
    known.keep_only([])
    parsed.clear()
    known.parse("a.py", TEXT)
    assert len(parsed) == 40


def test_what_stands_twice_has_nodes_of_its_own_each_time() -> None:
    text = "x = 1\n" + "y = 2\n" * 150
    known = Pieces()
    for _ in range(3):
        assert check(known, "a.py", text)
        text += "y = 2\n"


def test_nothing_is_kept_where_nobody_asked_for_it() -> None:
    first = pieces.parse("a.py", TEXT)
    assert pieces.parse("a.py", TEXT) is not first
    with kept_in(Pieces()):
        kept = pieces.parse("a.py", TEXT)
        assert pieces.parse("a.py", TEXT) is kept
    assert pieces.parse("a.py", TEXT) is not kept


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
    assert check(Pieces(), "a.py", text) is is_cut
