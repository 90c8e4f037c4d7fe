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
READ_BY_USERS = {"cli", "config", "report", "rules", "trace", "verify", "integrations"}
"""The parts of the package whose strings are messages, help and pages."""
_PART = len(TOP.parts) + 1
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
    for name in (
        *("jax_arrays", "jax_lax", "jax_numpy", "numpy_calls", "shapes", "sharded_operations"),
    )
}
"""Words of quotations and of other libraries, by file."""
PLAIN = sorted((TOP / "placement_lint").rglob("*.py"))
"""The modules whose names, comments and docstrings are in the words of the field, too: all."""
RESTATING = re.compile(r"(Give|Gives|Tell|Tells|Say|Says|Look at|Take note)\b")
"""How docstrings begin that say what the name says, or riddle; a contract says what is returned."""


def strings(tree: ast.Module) -> str:
    """Return the strings of a module but for its docstrings; those of rules are their pages."""
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
    found = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if id(node) not in inner - rules
    ]
    return "\n".join(found)


def given_up(text: str) -> set[str]:
    return {found.group().lower() for found in GIVEN_UP.finditer(" ".join(text.split()))}


def name_of(path: Path) -> str:
    return path.relative_to(TOP).as_posix()


def test_no_word_that_is_given_up_on_the_pages() -> None:
    found = {name_of(path): given_up(path.read_text(encoding="utf-8")) for path in PAGES}
    assert {name: words for name, words in found.items() if words} == {}


def test_no_such_word_in_code() -> None:
    """One test of all modules, each parsed once: they are many, and there is little to do in one.

    The strings that users read are read as they see them, too: a phrase may go over two of them.
    """
    found: dict[str, set[str]] = {}
    restating: dict[str, list[str]] = {}
    for path in PLAIN:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        said = [text, strings(tree)] if path.parts[_PART] in READ_BY_USERS else [text]
        words = set().union(*map(given_up, said)) - ALLOWED.get(name_of(path), set())
        docstrings = (
            ast.get_docstring(node)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        )
        begin = [each for each in docstrings if each and RESTATING.match(each)]
        found |= {name_of(path): words} if words else {}
        restating |= {name_of(path): begin} if begin else {}
    assert found == {}
    assert restating == {}


@pytest.mark.parametrize("text", ["what was mended", "at every\nturn", "cpu:0 plays it"])
def test_it_sees_them(text: str) -> None:
    assert given_up(text)
