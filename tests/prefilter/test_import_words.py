"""The words of import statements, by bytes: all that reading the statements finds, and quickly."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from placement_lint.prefilter.import_words import FROM_PACKAGE, RELATIVE, import_words
from placement_lint.syntax.bindings_text import read_imports
from placement_lint.syntax.code_text import code_of
from tests.fixture_cases import all_cases

TOP = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("", set()),
        ("x = 1\n", set()),
        ("import a.b\n", {"a", "b"}),
        ("import a as b, c\n", {"a", "as", "b", "c"}),
        ("from .a import b\n", {"a", "b", RELATIVE}),
        ("from . import b\n", {"b", RELATIVE, FROM_PACKAGE}),
        ("from .. import *\n", {RELATIVE, FROM_PACKAGE}),
        ("from ...a import (b,\n c)\n", {"a", "b", "c", RELATIVE}),
        ("from a import (  # why (not) here\n    b,  # c\n    d)\ne()\n", {"a", "b", "d", "c"}),
        ("if x: import a; from b import (\n    c)\n", {"a", "b", "c"}),
        ("from a \\\n    import b, \\\n    c\n", {"a", "b", "c"}),
        ("from \\\n . import b\n", {"b", RELATIVE, FROM_PACKAGE}),
        ("important = 1; from a import (\n    b)\n", {"a", "b"}),
        ("reimport = 1; from a import (\n    b)\n", {"a", "b"}),
        ("x = 'import'; from a import (\n    b)\n", {"a", "b"}),
        ("# how to import (see\nfrom a import (\n    b)\n", {"a", "b"}),
        ("from a import (\r\n    b,\r\n)\r\n", {"a", "b"}),
        ("from a import (\r    b)\r", {"a", "b"}),
        ("from ä import ö\n", {"ä", "ö"}),
        ("import a", {"a"}),
        ("from a import (\n    b, import_of, reimport,\n    c)\n", {"b", "import_of", "c"}),
        ("from imported.a import b", {"imported", "a", "b"}),
    ],
)
def test_words(code: str, words: set[str]) -> None:
    found = import_words(code.encode())
    assert words <= found
    assert {RELATIVE, FROM_PACKAGE} & found == {RELATIVE, FROM_PACKAGE} & words


def test_other_lines_have_none() -> None:
    assert import_words(b"import a\nb = c.d\n") == {"import", "a"}


def test_no_word_of_a_statement_is_missed() -> None:
    """In the fixtures, and in the sources of the package."""
    files = TOP.glob("placement_lint/**/*.py")
    texts = [path.read_text(encoding="utf-8") for path in files]
    texts += [case.before.text for case in all_cases()]
    checked = 0
    for text in texts:
        found = import_words(text.encode())
        for name, ways in read_imports(code_of(text)).items():
            for way in ways:
                parts = {part for part in way.target.split(".") if part} | {name}
                assert parts - {"*"} <= found, (text, way)
                if way.target.startswith("."):
                    assert RELATIVE in found, (text, way)
                if re.fullmatch(r"\.+(\w+|\*)", way.target):
                    is_of_package = FROM_PACKAGE in found
                    assert is_of_package or f"{way.target} import" in text, (text, way)
                checked += 1
    assert checked > 5_000


@pytest.mark.parametrize(
    "text",
    ["import ", "import(", "import (", "import (#", "from . import (", "import \\\n", "import."],
)
def test_hostile_texts_take_their_share(text: str) -> None:
    """What is scanned anew for each import would take hours."""
    assert len(import_words((text * 60_000).encode())) < 5
