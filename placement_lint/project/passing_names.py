"""By which names a file may pass on what it has from other files, by its text alone.

Interpretation tells it exactly, and takes much longer. This says beforehand which files it will
lead to, so that they are interpreted together at once, not in a round for each step of imports.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from placement_lint.files.python_tree import blocks
from placement_lint.syntax.python_parser import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from placement_lint.files.store import FileStore

_Statement = tuple[frozenset[str], frozenset[str]]
"""What a statement binds, and what it names."""


class PassingNames:
    """The names by which files pass on what they have from others; each file is read once."""

    def __init__(self, store: FileStore, importers: Mapping[str, list[tuple[str, str]]]) -> None:
        """Take the files that import each file, with the name that they import of it.

        "" is the whole module, "*" all its names.
        """
        self._store = store
        self._importers = importers
        self._statements: dict[str, list[_Statement]] = {}

    def importing(self, entering: Mapping[str, frozenset[str]]) -> set[str]:
        """Return the files into which something may get from some files, these included.

        `entering`: for each of those, by which names something comes in.
        """
        passed = {path: {*names} for path, names in entering.items()}
        pending = [*passed]
        while pending:
            path = pending.pop()
            names = passed[path]
            if not self._pass_on(path, names):
                continue
            for importer, imported in self._importers.get(path, ()):
                brought = names if imported in {"", "*"} else names & {imported}
                there = passed.setdefault(importer, set())
                if not brought <= there:
                    there |= brought
                    pending.append(importer)
        return {path for path, names in passed.items() if names}

    def uses(self, path: str, names: Iterable[str]) -> bool:
        """Return whether a file does anything with one of the names, or hands one on.

        Where a name only says of which type something is, nothing is done with what has it.
        """
        sought = {*names}
        is_used = any(
            bound != named and not sought.isdisjoint(named) for bound, named in self._of(path)
        )
        handed_on = (name for _, name in self._importers.get(path, ()))
        return is_used or any(name in {"", "*"} or name in sought for name in handed_on)

    def _pass_on(self, path: str, names: set[str]) -> bool:
        """Add the names that a file binds to something of these; false where it names none."""
        statements = self._of(path)
        before = len(names)
        is_named, left = False, statements
        while True:
            rest = []
            for statement in left:
                bound, named = statement
                if names.isdisjoint(named):
                    rest.append(statement)
                else:
                    is_named = True
                    names |= bound
            if len(rest) == len(left) or len(names) == before:
                return is_named
            left, before = rest, len(names)

    def _of(self, path: str) -> list[_Statement]:
        found = self._statements.get(path)
        if found is None:
            source = self._store.source_if_readable(path)
            tree = None if source is None else python_tree(source, self._store)
            found = self._statements[path] = [] if tree is None else [*_statements(tree.body)]
        return found


def _statements(body: list[ast.stmt]) -> Iterator[_Statement]:
    """Yield the statements of a module that bind or name something, those in blocks included."""
    for statement in body:
        if isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.While | ast.Match):
            for block in blocks(statement):
                yield from _statements(block)
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield frozenset({statement.name}), frozenset(_names_in(statement))
        else:
            names = frozenset(_names_in(statement))
            if isinstance(statement, ast.Import | ast.ImportFrom):
                bound = (alias.asname or alias.name.partition(".")[0] for alias in statement.names)
                yield frozenset(bound), names
            else:
                yield frozenset(_targets(statement)), names


def _targets(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement assigns to, itself or parts of what they hold."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            held: ast.expr = node
            while isinstance(held, ast.Attribute | ast.Subscript):
                held = held.value
            if isinstance(held, ast.Name):
                yield held.id


def _names_in(statement: ast.stmt) -> Iterator[str]:
    """Yield the names in a statement, but for those that only say of which type something is."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        types = (getattr(node, "annotation", None), getattr(node, "returns", None))
        pending += (child for child in ast.iter_child_nodes(node) if child not in types)
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield from node.name.split(".")
