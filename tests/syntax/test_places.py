"""What Python's parser made is kept for a few texts only, and made again for the others."""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING

from placement_lint.syntax.lean import places
from placement_lint.syntax.lean.places import KnownPlaces
from placement_lint.syntax.lean.statements import StatementMaker
from placement_lint.syntax.lean.text import LocatedText
from placement_lint.syntax.lean.tree import module_of
from placement_lint.syntax.tree import Tree

if TYPE_CHECKING:
    import pytest

TEXT = "import jax\nx = jax.device_put(\n    1)\n\n\ndef f():\n    return x\n"


def test_those_that_were_asked_for_longest_ago_are_parsed_again() -> None:
    parsed: list[str] = []

    def again(text: str) -> ast.Module:
        parsed.append(text)
        return ast.parse(text)

    texts = [f"n = {number}\n{TEXT}" for number in range(places._MOST_KEPT + 1)]
    known = [KnownPlaces(ast.parse(text), text, functools.partial(again, text)) for text in texts]
    trees = [
        Tree(module_of(ast.parse(text), StatementMaker(LocatedText(text), {}))) for text in texts
    ]
    lines = [
        [each.line(n, tree) for n in range(len(tree.nodes))]
        for each, tree in zip(known, trees, strict=True)
    ]
    # Each one puts out the next.
    assert parsed == texts
    assert lines[0] == lines[-1]
    assert {1, 2, 3, 4, 7, 8} <= set(lines[0])


def _never() -> None:
    return None


def test_few_are_kept_of_large_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "_MOST_CHARACTERS", 100)
    texts = [f"n = {number}\n{TEXT}" for number in range(3)]
    known = [KnownPlaces(ast.parse(text), text, _never) for text in texts]
    assert len(TEXT) < 100 < 2 * len(TEXT), "the newest, and one before it"
    assert [each._statements is not None for each in known] == [False, True, True]
