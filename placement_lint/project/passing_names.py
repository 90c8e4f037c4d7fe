"""By which names a file may pass on what it has from other files, by its text alone.

Interpretation tells it exactly, and takes much longer. This says beforehand which files it will
lead to, so that they are interpreted together at once, not in a round for each step of imports.
"""

from __future__ import annotations

import ast
import functools
import re
from typing import TYPE_CHECKING, NamedTuple

from placement_lint.files.python_nodes import ANNOTATED, children, dotted_name, walk
from placement_lint.files.python_tree import blocks
from placement_lint.files.store import digest
from placement_lint.project.graph import closure
from placement_lint.syntax.python_parser import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from placement_lint.files.store import FileStore
    from placement_lint.placement.engine.reach import Ways


_PLACING = frozenset({"default_device", "from_dlpack", "jax_default_device"})
"""What a function names that probably gives arrays which were placed."""
_CONTEXT = "contextmanager"
_PYTREE = re.compile(r"chex|pytree|register_dataclass|struct")
"""What the decorator of a class says whose objects JAX takes apart: a dataclass, or one of JAX."""
_RECORDS = frozenset({"NamedTuple", "PyTreeNode", "TrainState"})
"""Bases of such classes."""


class _Statement(NamedTuple):
    bound: frozenset[str]
    named: frozenset[str]
    texts: frozenset[str] = frozenset()
    """What may be the name of an attribute, as in `getattr(model, "load")`."""
    is_function: bool = False
    is_record: bool = False
    """Whether it defines a class whose objects are made of the arrays in their fields."""


class PassingNames:
    """The names by which files pass on what they have from others; each file is read once."""

    def __init__(self, store: FileStore, importers: Mapping[str, list[tuple[str, str]]]) -> None:
        """Take the files that import each file, with the name that they import of it.

        "" is the whole module, "*" all its names.
        """
        self._store = store
        self._importers = importers
        self._statements: dict[str, list[_Statement]] = {}
        self._named: dict[str, frozenset[str]] = {}
        self._followed: set[str] = set()

    def reached(
        self, entering: Mapping[str, Mapping[str, Ways]], *, directly: bool = False
    ) -> set[str]:
        """Return the files that a placement may get to from some files, these included.

        `entering`: for each of those, by which names something comes in, and in which ways it gets
        out of what has the name. A file of which no importer names such a way, and that names none
        itself, is left out. `directly`: what is bound to a name that has a placement in any way is
        not followed: each of these files uses one itself, or hands it on.
        """
        passed = {path: {**names} for path, names in entering.items()}
        givers: dict[str, set[str]] = {}
        pending = [*passed]
        while pending:
            path = pending.pop()
            names = passed[path]
            if not self._pass_on(path, names, directly=directly):
                continue
            for importer, imported in self._importers.get(path, ()):
                brought = self._brought(names, imported, importer, directly=directly)
                if not brought:
                    continue
                givers.setdefault(importer, set()).add(path)
                there = passed.setdefault(importer, {})
                if add_ways(there, brought):
                    pending.append(importer)
        for names in passed.values():
            self._followed.update(names, *filter(None, names.values()))
        used = {
            path
            for path, names in passed.items()
            if self._is_used(path, names, everywhere=not directly)
        }
        return used | (closure(used, givers) & passed.keys())

    def expected(self, members: Iterable[str], most: int) -> set[str]:
        """Return the files that placements of these files will probably get to later.

        Those are placements that a function makes under a default device: as long as nothing is
        known of what it computes them of, it gives none. And objects of a class hold none before
        the files are executed that put them there, so that classes count of which functions make
        objects that have a placement. Nothing, where it would be more files than `most`.
        """
        passed: dict[str, dict[str, Ways]] = {}
        kept: set[tuple[str, str]] = set()
        pending: list[str] = []
        for path in sorted(members):
            making = [each for each in self._of(path) if _gives_placed(each)]
            names: dict[str, Ways] = {name: None for each in making for name in each.bound}
            pending += self._enter(path, names, passed)
            pending += self._enter_records(path, making, kept, passed)
        while pending and len(passed) <= most:
            path = pending.pop()
            names = passed[path]
            if self._pass_on(path, names, directly=False):
                pending += self._enter(path, names, passed)
                met = [each for each in self._of(path) if not each.named.isdisjoint(names)]
                pending += self._enter_records(path, met, kept, passed)
        for names in passed.values():
            self._followed.update(names, *filter(None, names.values()))
        if pending:
            return set()
        return {
            path for path, names in passed.items() if self._is_used(path, names, everywhere=False)
        }

    def _enter_records(
        self,
        path: str,
        statements: Iterable[_Statement],
        kept: set[tuple[str, str]],
        passed: dict[str, dict[str, Ways]],
    ) -> Iterator[str]:
        """Let the classes whose objects statements of a file make into the files that import them;
        yield those to which they are new. `kept`: the classes so far.
        """
        named = frozenset().union(*(each.named for each in statements))
        for imported, name in self._imports.get(path, ()) if named else ():
            records = self._records(imported)
            # What is named of these later makes a difference.
            self._followed |= records
            for record in sorted(named & records) if name in {"", "*"} else records & {name}:
                if record in named and (imported, record) not in kept:
                    kept.add((imported, record))
                    yield from self._enter(imported, {record: None}, passed)

    def _enter(
        self, path: str, names: Mapping[str, Ways], passed: dict[str, dict[str, Ways]]
    ) -> Iterator[str]:
        """Let names of a file into the files that import them; yield those to which one is new."""
        for importer, imported in self._importers.get(path, ()) if names else ():
            brought = self._brought(names, imported, importer, directly=False)
            if brought and add_ways(passed.setdefault(importer, {}), brought):
                yield importer

    def _records(self, path: str) -> frozenset[str]:
        """Return the classes of a file whose objects are made of the arrays in their fields."""
        every = (each.bound for each in self._of(path) if each.is_record)
        return frozenset().union(*every)

    @functools.cached_property
    def _imports(self) -> dict[str, list[tuple[str, str]]]:
        """From each file to those that it imports, with the name that it imports of each."""
        found: dict[str, list[tuple[str, str]]] = {}
        for path, importers in self._importers.items():
            for importer, name in importers:
                found.setdefault(importer, []).append((path, name))
        return found

    @property
    def followed(self) -> list[str]:
        """The names that were followed so far, with those of their ways."""
        return sorted(self._followed)

    @property
    def read(self) -> list[str]:
        """The files that were read for it."""
        return sorted(self._statements)

    def does_with(self, path: str, names: frozenset[str]) -> str:
        """Return a digest of all that a file does with some names.

        Where that is the same, and these are all names that are followed, so is what is reached.
        """
        rows = {
            (
                tuple(sorted(bound)),
                tuple(sorted(named & names)),
                tuple(sorted(texts & names)),
                bound != named,
            )
            for bound, named, texts, *_ in self._of(path)
            if not (named.isdisjoint(names) and texts.isdisjoint(names))
        }
        said = sorted(rows), sorted(self._records(path))
        return digest(repr(said).encode("utf-8", "surrogatepass"))

    def _brought(
        self, names: Mapping[str, Ways], imported: str, importer: str, *, directly: bool
    ) -> dict[str, Ways]:
        """Return those of a file's names that an import brings, and the ways of each."""
        if imported in {"", "*"}:
            # Of a whole module a file has what it names, if it is known what that is.
            said = self._named_in(importer) if imported == "" else names.keys()
            brought = {name: ways for name, ways in names.items() if ways is None or name in said}
        else:
            brought = {imported: names[imported]} if imported in names else {}
        if directly:
            return {name: ways for name, ways in brought.items() if ways is not None}
        return brought

    def _is_used(self, path: str, names: Mapping[str, Ways], *, everywhere: bool) -> bool:
        """Return whether a file gets a placement out of something that has one of the names."""
        in_any_way = {name for name, ways in names.items() if ways is None}
        if in_any_way and (everywhere or self._uses(path, in_any_way)):
            return True
        said = self._named_in(path)
        called = {
            name for name, ways in names.items() if ways is not None and not ways.isdisjoint(said)
        }
        return bool(called) and self._uses(path, called)

    def _uses(self, path: str, names: set[str]) -> bool:
        """Return whether a file does anything with one of the names, or hands one on.

        Where a name only says of which type something is, nothing is done with what has it.
        """
        is_used = any(
            each.bound != each.named and not names.isdisjoint(each.named) for each in self._of(path)
        )
        handed_on = (name for _, name in self._importers.get(path, ()))
        return is_used or any(name in {"", "*"} or name in names for name in handed_on)

    def _pass_on(self, path: str, names: dict[str, Ways], *, directly: bool) -> bool:
        """Add the names that a file binds to something of these; false where it names none."""
        statements = self._of(path)
        is_named, grows = False, True
        while grows:
            grows = False
            for bound, named, *_ in statements:
                met = {name: names[name] for name in named & names.keys()}
                is_named = is_named or bool(met)
                if directly:
                    met = {name: ways for name, ways in met.items() if ways is not None}
                if not met:
                    continue
                ways = functools.reduce(_either, met.values())
                grows |= add_ways(names, dict.fromkeys(bound, ways))
        return is_named

    def _named_in(self, path: str) -> frozenset[str]:
        """Return all that a file names, also in texts that are names."""
        if path not in self._named:
            every = (each.named | each.texts for each in self._of(path))
            self._named[path] = frozenset().union(*every)
        return self._named[path]

    def _of(self, path: str) -> list[_Statement]:
        found = self._statements.get(path)
        if found is None:
            source = self._store.source_if_readable(path)
            tree = None if source is None else python_tree(source, self._store)
            found = self._statements[path] = [] if tree is None else [*_statements(tree.body)]
        return found


def add_ways(known: dict[str, Ways], more: Mapping[str, Ways]) -> bool:
    """Add names with their ways to others; say whether any of it is new."""
    grows = False
    for name, ways in more.items():
        joined = ways if name not in known else _either(known[name], ways)
        if name not in known or joined != known[name]:
            known[name] = joined
            grows = True
    return grows


def _either(one: Ways, other: Ways) -> Ways:
    return None if one is None or other is None else one | other


def _statements(body: list[ast.stmt]) -> Iterator[_Statement]:
    """Yield the statements of a module that bind or name something, those in blocks included."""
    for statement in body:
        if isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.While | ast.Match):
            head = [each for each in children(statement) if isinstance(each, _HEAD)]
            yield _statement({name for each in head for name in _targets(each)}, *head)
            for block in blocks(statement):
                yield from _statements(block)
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found = _statement({statement.name}, statement)
            if isinstance(statement, ast.ClassDef):
                yield found._replace(is_record=_is_record(statement))
            else:
                yield found._replace(is_function=True)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            bound = (alias.asname or alias.name.partition(".")[0] for alias in statement.names)
            yield _statement(bound, statement)
        else:
            yield _statement(_targets(statement), statement)


_HEAD = ast.expr, ast.withitem
"""What stands before the blocks of a statement."""


def _gives_placed(statement: _Statement) -> bool:
    """Return whether a statement defines a function that probably gives placed arrays.

    A context manager that chooses a device is known as one from the start.
    """
    names_one = not (statement.named.isdisjoint(_PLACING) and statement.texts.isdisjoint(_PLACING))
    return statement.is_function and names_one and _CONTEXT not in statement.named


def _is_record(cls: ast.ClassDef) -> bool:
    """Return whether objects of a class are made of the arrays in their fields."""
    decorators = map(_made_by, cls.decorator_list)
    return any(_PYTREE.search(each) for each in decorators) or any(
        _made_by(base).rpartition(".")[2] in _RECORDS for base in cls.bases
    )


def _made_by(node: ast.expr) -> str:
    """Return the dotted name that an expression is, or calls; "" where there is none."""
    return dotted_name(node.func if isinstance(node, ast.Call) else node)


def _statement(bound: Iterable[str], *parts: ast.AST) -> _Statement:
    names: set[str] = set()
    texts: set[str] = set()
    pending = [*parts]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
            pending.append(node.value)
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str) and node.value.isidentifier():
                texts.add(node.value)
        elif isinstance(node, ast.alias):
            names.update(node.name.split("."))
        elif isinstance(node, ANNOTATED):
            # Those only say of which type something is.
            types = (getattr(node, "annotation", None), getattr(node, "returns", None))
            pending += [child for child in children(node) if child not in types]
        else:
            pending += children(node)
    return _Statement(frozenset(bound), frozenset(names), frozenset(texts))


def _targets(statement: ast.AST) -> Iterator[str]:
    """Yield the names that a statement assigns to, itself or parts of what they hold."""
    for node in walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            held: ast.expr = node
            while isinstance(held, ast.Attribute | ast.Subscript):
                held = held.value
            if isinstance(held, ast.Name):
                yield held.id
