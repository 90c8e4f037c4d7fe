"""Which files may place arrays, so that they are interpreted with those that import them.

Asked of every file of a run, so the bytes come first; only where they hold one of the words is the
file parsed, by Python's own parser, to tell code from strings and comments: a table of JAX's
functions, or a test whose programs are texts, places nothing.
"""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING

from placement_lint.files.python_nodes import walk
from placement_lint.project.graph import closure
from placement_lint.project.roots import ROOTS
from placement_lint.syntax.python_parser import python_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from placement_lint.files.store import FileStore

_NAMED_DEVICE = re.compile(
    rb"""devices\(\s*(?:(?:backend|platform)\s*=\s*)?["']\w+["']\s*\)|"""
    rb"""devices\(\s*\)\s*\[\s*-?[1-9]"""
)
"""A device by name, which may be another one than the default: `devices("cpu")`."""
_DEFAULT_DEVICE = re.compile(rb"devices\(\s*\)\s*\[\s*0")
_OPTION = re.compile(r"(?:jax_)?default_device")
"""What may be read or set by a text: `jax.config.update("jax_default_device", d)`."""


class Placing:
    """What a file says of this: its bytes, and its tree only where these do not tell."""

    def __init__(self, path: str, data: bytes, store: FileStore) -> None:
        """Take the code of a file in UTF-8, and the store that has its text."""
        self._path = path
        self._data = data
        self._store = store

    @cached_property
    def carries(self) -> bool:
        """Whether the file may place arrays elsewhere than on the default device.

        Without a word of this it makes no array on another device that is not committed there, and
        commits none but to devices that it has from elsewhere.
        """
        data = self._data
        if b"default_device" in data:
            return self._is_code(_places)
        # Other packages have words like these.
        return (
            b"jax" in data
            and (
                b"from_dlpack" in data
                or (b"devices" in data and _NAMED_DEVICE.search(data) is not None)
            )
            and self._is_code(_places)
        )

    @cached_property
    def commits(self) -> bool:
        """Whether the file may commit arrays to the default device.

        That matters where another file of the run places some elsewhere.
        """
        data = self._data
        return (
            b"jax" in data
            and b"device_put" in data
            and _DEFAULT_DEVICE.search(data) is not None
            and self._is_code(_puts)
        )

    @property
    def imports_jax(self) -> bool | None:
        """Whether the file imports JAX; None where these bytes alone do not tell."""
        if b"jax" not in self._data:
            return False
        return None if self._tree is None else _names_jax(self._tree)

    def _is_code(self, is_one: Callable[[ast.AST], bool]) -> bool:
        """Return whether any node is one; True if Python cannot parse the code."""
        return self._tree is None or any(is_one(node) for node in walk(self._tree))

    @cached_property
    def _tree(self) -> ast.Module | None:
        return python_tree(self._store.source(self._path), self._store)


def importing_jax(
    paths: Iterable[str],
    imported: Mapping[str, set[str]],
    known: Mapping[str, bool | None],
    store: FileStore,
    isolated: Callable[[str], AbstractContextManager[object]],
) -> set[str]:
    """Return those of the files that import JAX, or what another file may have of it.

    `imported`: for each file of the run, the files that it imports; `known`: for some, whether they
    import JAX, as `Placing` has it. A failure at one file is noted by `isolated`, and the file
    counts as one that does. Without JAX's own functions a file places nothing, whatever
    words it has: their names may be its own.
    """
    pending = [*paths]
    importers: dict[str, set[str]] = {path: set() for path in pending}
    importing: list[str] = []
    while pending:
        path = pending.pop()
        imports = known.get(path)
        if imports is None:
            imports = True
            with isolated(path):
                imports = _imports_jax(path, store)
        if imports:
            importing.append(path)
            continue
        for other in imported.get(path, ()):
            if other not in importers:
                importers[other] = set()
                pending.append(other)
            importers[other].add(path)
    return closure(importing, importers) & {*paths}


def _imports_jax(path: str, store: FileStore) -> bool:
    """Return whether a file may import JAX; so it is taken to where Python cannot tell."""
    source = store.source_if_readable(path)
    if source is None or "jax" not in source.text:
        return False
    tree = python_tree(source, store)
    return tree is None or _names_jax(tree)


def _names_jax(tree: ast.Module) -> bool:
    return any(_may_name_jax(node) for node in walk(tree))


def _may_name_jax(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.partition(".")[0] in ROOTS for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return not node.level and (node.module or "").partition(".")[0] in ROOTS
    # `importlib.import_module("jax")`, `lazy_import("jax.numpy")`
    return (
        isinstance(node, ast.Call)
        and "import" in _last_name(node.func)
        and any(
            isinstance(given, ast.Constant)
            and isinstance(given.value, str)
            and given.value.partition(".")[0] in ROOTS
            for given in _arguments(node)
        )
    )


def _puts(node: ast.AST) -> bool:
    return "device_put" in _names(node)


def _places(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and _OPTION.fullmatch(node.value) is not None
    if isinstance(node, ast.Call):
        return _last_name(node.func).endswith("devices") and any(
            isinstance(given, ast.Constant) and isinstance(given.value, str)
            for given in _arguments(node)
        )
    if isinstance(node, ast.Subscript):
        made = node.value
        return (
            isinstance(made, ast.Call)
            and _last_name(made.func).endswith("devices")
            and not (isinstance(node.slice, ast.Constant) and node.slice.value == 0)
        )
    return any(name == "from_dlpack" or _OPTION.fullmatch(name) for name in _names(node))


def _arguments(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (keyword.value for keyword in call.keywords)


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _names(node: ast.AST) -> Iterator[str]:
    """Return the names that a node has itself, without those of its parts."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.alias):
        # Of a dotted name, the parts.
        yield from node.name.split(".")
    elif isinstance(node, ast.keyword | ast.arg):
        # Without a name: `f(**given)`.
        yield node.arg or ""
