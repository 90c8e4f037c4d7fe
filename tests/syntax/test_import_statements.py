"""What import statements run, and what they bind."""

from __future__ import annotations

import libcst as cst
import pytest

from placement_lint.syntax.import_statements import modules_named, names_bound, star_import

CASES = {
    "import a": (["a"], [("a", "a")], None),
    "import a.b.c, d": (["a", "a.b", "a.b.c", "d"], [("a", "a"), ("d", "d")], None),
    "import a.b as c": (["a", "a.b"], [("c", "a.b")], None),
    "from a.b import c, d as e": (
        ["a", "a.b", "a.b.c", "a.b.d"],
        [("c", "a.b.c"), ("e", "a.b.d")],
        None,
    ),
    "from . import a": ([".a"], [("a", ".a")], None),
    "from ..a import b": (["..a", "..a.b"], [("b", "..a.b")], None),
    "from .a import *": ([".a"], [], ".a"),
}


@pytest.mark.parametrize("text", CASES)
def test_statement(text: str) -> None:
    line = cst.parse_module(text + "\n").body[0]
    assert isinstance(line, cst.SimpleStatementLine)
    node = line.body[0]
    assert isinstance(node, cst.Import | cst.ImportFrom)
    run, bound, star = CASES[text]
    assert list(modules_named(node)) == run
    assert list(names_bound(node)) == bound
    assert star_import(node) == star
