"""The texts that users read hold none of the words that the project has given up."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import placement_lint
from tests.docs.pages import DOCS

TOP = Path(placement_lint.__file__).parent.parent
PAGES = [TOP / "README.md", *sorted(path for path in DOCS.glob("*.md"))]
STRINGS = [
    path
    for folder in ("cli", "config", "report", "rules", "trace", "verify", "integrations")
    for path in sorted((TOP / "placement_lint" / folder).rglob("*.py"))
]
GIVEN_UP = re.compile(
    r"\b(mend(s|ed|ing)?|house|floors?|turns? of (the|a) loop|every turn|stands? still"
    r"|stops? for ever|no word says|in the part of|plays?|on trial|instrument that is blind"
    r"|traps that raise nothing|left again before|the project admits|data sets?"
    r"|anew|sift(s|ed|ing)?|recollections?|desk|telling|for ever|handed on"
    r"|not proved|proved on|(is|was|claims) proved)\b",
    re.IGNORECASE,
)
ALLOWED: dict[str, set[str]] = {
    f"placement_lint/jaxmodel/{name}.py": {"floor"}
    for name in ("jax_arrays", "jax_lax", "jax_numpy", "numpy_calls", "sharded_operations")
}
"""Words of quotations and of other libraries, by file."""
PLAIN = sorted((TOP / "placement_lint").rglob("*.py"))
"""The modules whose names, comments and docstrings are in the words of the field, too: all."""
RESTATING = re.compile(r"(Give|Gives|Tell|Tells|Say|Says|Look at|Take note)\b")
"""How docstrings begin that say what the name says, or riddle; a contract says what is returned."""


def texts(path: Path) -> str:
    """Return what a page says, or the strings of a module but for its docstrings."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return text
    tree = ast.parse(text)
    inner = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    rules = {
        id(node.body[0].value)
        for node in tree.body
        if isinstance(node, ast.ClassDef) and isinstance(node.body[0], ast.Expr)
        if any(isinstance(base, ast.Name) and base.id == "Rule" for base in node.bases)
    }
    strings = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if id(node) not in inner - rules
    ]
    return "\n".join(strings)


def given_up(text: str) -> set[str]:
    return {found.group().lower() for found in GIVEN_UP.finditer(" ".join(text.split()))}


@pytest.mark.parametrize("path", [*PAGES, *STRINGS], ids=lambda path: str(path.relative_to(TOP)))
def test_no_word_that_is_given_up(path: Path) -> None:
    assert given_up(texts(path)) <= ALLOWED.get(path.relative_to(TOP).as_posix(), set())


@pytest.mark.parametrize("path", PLAIN, ids=lambda path: str(path.relative_to(TOP)))
def test_no_such_word_in_code(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert given_up(text) <= ALLOWED.get(path.relative_to(TOP).as_posix(), set())
    docstrings = (
        ast.get_docstring(node)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    assert [each for each in docstrings if each and RESTATING.match(each)] == []


@pytest.mark.parametrize("text", ["what was mended", "at every\nturn", "cpu:0 plays it"])
def test_it_sees_them(text: str) -> None:
    assert given_up(text)
