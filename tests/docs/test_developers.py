"""The documents for developers name only what exists, and limits with the values that they have.

A name in back quotes, or in a block of `text`, is a module, a class, a function or a constant of
the package, by the end of its qualified name: `values.join`, `Statements.if_`, `lint.run`. A path
is relative to the repository, to the package, or to one of its directories.
"""

from __future__ import annotations

import ast
import builtins
import functools
import keyword
import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import DOCS, TOP, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACKAGE = TOP / "placement_lint"
PAGES = [*sorted((DOCS / "developers").glob("*.md")), TOP / "CONTRIBUTING.md"]
OTHERS = frozenset(
    "conftest cst jax jnp lax libcst mkdocs mypy noqa np numpy optax pytest ruff".split()
)
"""The first parts of names of others, beside those of Python's own modules."""

_FENCED = re.compile(r"^```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"`([^`\n]+)`")
_NAME = re.compile(r"_*[A-Za-z]\w*(?:\.\w+)*(?:\(\))?")
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*/?")
_IN_TEXT = re.compile(r"(?<![\w./\"'-])_?[A-Za-z]\w*(?:\.\w+)+(?![\w/\"])")
_LIMIT = re.compile(r"^\| `(?P<name>[\w.]+)` \| (?P<value>[\d_,. ]+) \|", re.MULTILINE)
_SUFFIXES = (".py", ".md", ".txt", ".toml", ".yml", ".json", ".csv")


@dataclass
class Definitions:
    """What the text of a module or a class defines."""

    names: set[str] = field(default_factory=set)
    classes: dict[str, list[Definitions]] = field(default_factory=dict)
    values: dict[str, object] = field(default_factory=dict)

    def has(self, parts: list[str]) -> bool:
        if len(parts) == 1:
            return parts[0] in self.names
        return any(each.has(parts[1:]) for each in self.classes.get(parts[0], ()))

    def add(self, other: Definitions) -> None:
        self.names |= other.names
        for name, classes in other.classes.items():
            self.classes.setdefault(name, []).extend(classes)


def definitions(body: list[ast.stmt]) -> Definitions:
    found = Definitions()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.names.add(node.name)
            # `self.x = …` defines an attribute.
            found.names |= {
                each.attr
                for each in ast.walk(node)
                if isinstance(each, ast.Attribute)
                and isinstance(each.ctx, ast.Store)
                and isinstance(each.value, ast.Name)
                and each.value.id == "self"
            }
        elif isinstance(node, ast.ClassDef):
            found.names.add(node.name)
            found.classes.setdefault(node.name, []).append(definitions(node.body))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (each.id for each in targets if isinstance(each, ast.Name)):
                found.names.add(name)
                if isinstance(node.value, ast.Constant):
                    found.values[name] = node.value.value
        elif isinstance(node, ast.If | ast.Try | ast.With):
            found.add(definitions(node.body))
    return found


def modules_below(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(TOP).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@functools.cache
def modules_by_suffix() -> dict[str, list[Path]]:
    """From the last parts of the name of a module to the modules of that name."""
    found: dict[str, list[Path]] = {}
    for folder in (PACKAGE, TOP / "tests", TOP / "website"):
        for name, path in modules_below(folder):
            parts = name.split(".")
            # What a test defines is named in full: the documents are about the package.
            starts = range(len(parts)) if folder == PACKAGE else (0,)
            for start in starts:
                found.setdefault(".".join(parts[start:]), []).append(path)
    return found


@functools.cache
def defined_in(path: Path) -> Definitions:
    return definitions(ast.parse(path.read_text(encoding="utf-8")).body)


def by_suffix(name: str) -> list[Definitions]:
    """Return what the modules define of which these are the last parts of the name."""
    return [defined_in(path) for path in modules_by_suffix().get(name, ())]


@functools.cache
def everywhere() -> Definitions:
    """Return what any module of the package defines."""
    every = Definitions()
    for _, path in modules_below(PACKAGE):
        every.add(defined_in(path))
    return every


@functools.cache
def members() -> frozenset[str]:
    """Return the methods and attributes of all classes."""
    every = [each.names for classes in everywhere().classes.values() for each in classes]
    return frozenset().union(*every)


@functools.cache
def is_defined(name: str) -> bool:
    parts = name.split(".")
    if name in modules_by_suffix() or everywhere().has(parts):
        return True
    if len(parts) == 1 and name in members():
        return True
    return any(
        defined.has(parts[count:])
        for count in range(1, len(parts))
        for defined in by_suffix(".".join(parts[:count]))
    )


def is_path(name: str) -> bool:
    return "/" in name or name.endswith(_SUFFIXES)


@functools.cache
def folders() -> tuple[Path, ...]:
    return (TOP, PACKAGE, *(each for each in PACKAGE.rglob("*") if each.is_dir()))


@functools.cache
def exists(path: str) -> bool:
    return any((folder / path).exists() for folder in folders())


def of_the_example(page: Path) -> frozenset[str]:
    """Return the names in a page's own programs, and the files of those of all pages."""
    found = {block.title for each in PAGES for block in blocks(each) if block.title}
    for block in blocks(page):
        if block.language == "python" and block.title:
            found.update(re.findall(r"\w+", block.text))
    return frozenset(found)


def of_others(name: str) -> bool:
    first = name.partition(".")[0]
    return (
        first in OTHERS
        or first in sys.stdlib_module_names
        or keyword.iskeyword(name)
        or hasattr(builtins, name)
    )


def unknown_names(page: Path, text: str) -> list[str]:
    """Return what a page names that is not there."""
    own = of_the_example(page)
    spans = _QUOTED.findall(_FENCED.sub("", text))
    wanted = [
        each.removesuffix("()")
        for each in spans
        if _NAME.fullmatch(each) or (_PATH.fullmatch(each) and is_path(each))
    ]
    for each in _FENCED.finditer(text):
        if each["language"] == "text":
            wanted += _IN_TEXT.findall(each["text"])
    for command in (each for each in spans if each.startswith("python -m ")):
        wanted.append(command.split()[2])
    return [
        name
        for name in dict.fromkeys(wanted)
        if name not in own
        and not of_others(name)
        and not (exists(name) if is_path(name) else is_defined(name))
    ]


def name_of(page: Path) -> str:
    return page.name


def test_there_is_a_page_for_each_subject() -> None:
    names = {page.stem for page in PAGES}
    assert names >= {"architecture", "interpreter", "project", "incremental", "overlays"}
    assert names >= {"follow-one-file", "follow-one-array"}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_name_exists(page: Path) -> None:
    assert unknown_names(page, page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_page_is_short(page: Path) -> None:
    assert page.read_text(encoding="utf-8").count("\n") <= 160


def test_every_limit_has_the_value_that_is_written() -> None:
    seen = 0
    for page in PAGES:
        for found in _LIMIT.finditer(page.read_text(encoding="utf-8")):
            module, _, name = found["name"].rpartition(".")
            values = [each.values[name] for each in by_suffix(module) if name in each.values]
            assert values == [ast.literal_eval(found["value"].strip().replace(",", ""))], name
            seen += 1
    assert seen > 15


def test_every_directory_of_the_package_is_explained() -> None:
    text = (DOCS / "developers" / "architecture.md").read_text(encoding="utf-8")
    folders = {path.parent for path in PACKAGE.rglob("__init__.py")} - {PACKAGE}
    families = {folder for folder in folders if folder.parent == PACKAGE / "rules"}
    explained = set(re.findall(r"^\| `([\w/]+)/`", text, re.MULTILINE))
    assert explained == {each.relative_to(PACKAGE).as_posix() for each in folders - families}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`lint.run.check_files`, `run.check_files()`, `Functions.call`", []),
        ("`placement/interpreter.py`, `engine/statements.py`, `tests/test_layers.py`", []),
        ("`jax.device_put`, `with`, `len`, `x = f(y)`, `python -m tests.readme`", []),
        ("`lint.run.check_everything`", ["lint.run.check_everything"]),
        ("`Program.no_such_method`", ["Program.no_such_method"]),
        ("`engine/no_such_module.py`", ["engine/no_such_module.py"]),
        ("`NoSuchClass`", ["NoSuchClass"]),
        ("`python -m tests.no_such_module`", ["tests.no_such_module"]),
        ("```text\nlint.run.check_files -> lint.run.nothing\n```", ["lint.run.nothing"]),
        ("```console\n$ no.such.command\n```", []),
    ],
)
def test_names_that_do_not_exist_are_found(text: str, expected: list[str]) -> None:
    assert unknown_names(PAGES[0], text) == expected
