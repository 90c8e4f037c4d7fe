"""The page that compares: a feature that is there has a test, one that is not says why."""

from __future__ import annotations

import ast
import itertools
import re

import pytest

from tests.docs.features import SHOWN_BY
from tests.docs.pages import DOCS, TOP

PAGE = DOCS / "compared.md"
_ROW = re.compile(r"^\| (?!feature )([^|-][^|]*) \| (yes|partly|no) \|([^|]*)\|$", re.MULTILINE)
ROWS = _ROW.findall(PAGE.read_text(encoding="utf-8").partition("## What linters have")[2])


def test_every_feature_is_there_once() -> None:
    assert [row[0] for row in ROWS] == list(SHOWN_BY)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_is_there_has_a_test_and_what_is_not_says_why(row: tuple[str, str, str]) -> None:
    feature, here, note = row
    assert bool(SHOWN_BY[feature]) == (here != "no")
    assert note.strip() or here == "yes"


def test_no_test_is_named_on_the_page() -> None:
    assert "::" not in PAGE.read_text(encoding="utf-8")


def defined(tree: ast.Module) -> set[str]:
    """Return the tests of a file, as pytest names them behind `::`."""
    bodies = {"": tree.body}
    bodies |= {f"{each.name}::": each.body for each in tree.body if isinstance(each, ast.ClassDef)}
    return {
        f"{start}{node.name}"
        for start, body in bodies.items()
        for node in body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_every_test_is_there() -> None:
    named: dict[str, set[str]] = {}
    for test in itertools.chain.from_iterable(SHOWN_BY.values()):
        file, _, name = test.partition("::")
        named.setdefault(file, set()).add(name)
    assert len(named) > 50
    for file, names in named.items():
        text = (TOP / "tests" / file).read_text(encoding="utf-8")
        assert names <= defined(ast.parse(text)), file
        assert all(name.rpartition("::")[2].startswith("test_") for name in names)
