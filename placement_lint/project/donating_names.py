"""Which names of the files of a run may donate, by their words alone: more than do."""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from placement_lint.files.python_nodes import ANNOTATED, children, walk, without_attributes
from placement_lint.files.test_paths import is_init
from placement_lint.project.bindings import STAR_NAME
from placement_lint.project.file_facts import TopStatement
from placement_lint.project.large_packages import large_packages
from placement_lint.syntax.deep_stack import run_deep
from placement_lint.syntax.python_parser import python_tree

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from placement_lint.files.store import FileStore
    from placement_lint.project.modules import Modules

_KEYWORDS = frozenset({"donate", "donate_argnames", "donate_argnums"})
_DONATING = re.compile(r"\bdonate(?:_argnums|_argnames)?\s*=(?!=)")
_WORD = re.compile(r"[^\W\d]\w*")
_DOTTED = re.compile(r"(?<![\w.])[^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*)*")
_GLOBAL = re.compile(r"\bglobal\s")
_PACKAGE = "__init__"
_MOST_STEPS = 8
"""Packages that hand one module on."""
_ANNOTATIONS = ("annotation", "returns")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class DonatingNames:
    """What may donate in the files of a run.

    A name is one of a module. Where no part of a file that may donate has the name, and none that
    uses such a part, by its name, in any number of steps, then neither what the name stands for
    donates, nor what that returns, nor an attribute of it.
    """

    names: dict[str, frozenset[str]]
    """By file: the names of its module that may, or stand for what may by an import."""
    bringing: frozenset[str]
    """The files that use such a name of a file that says what it donates, of a package, or of a
    module that a package imports."""

    def may_donate(self, path: str, name: str) -> bool:
        """Return whether a name of a file may, or an attribute of what has it."""
        return name.partition(".")[0] in self.names.get(path, ())


def donating_names(modules: Modules) -> DonatingNames:
    """Find the names in a run: from the files that say so to those that import from them."""
    return _Search(modules).done()


class _Search:
    """Goes from files that may donate to those that import what may."""

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._using: dict[str, dict[str, list[int]]] = {}
        self._found: dict[str, frozenset[str]] = {}
        self._bringing: set[str] = set()
        self._importers: dict[str, set[str]] = {}
        self._of_packages: set[str] = set()
        """The files that a package itself imports."""
        if modules.donating:
            for importer, imported, _ in modules.imports:
                self._importers.setdefault(imported, set()).add(importer)
                if is_init(importer):
                    self._of_packages.add(imported)

    def done(self) -> DonatingNames:
        pending = deque(sorted(self._modules.donating))
        waiting = set(pending)
        while pending:
            path = pending.popleft()
            waiting.discard(path)
            found = self._names_in(path)
            if found == self._found.get(path, frozenset()):
                continue
            self._found[path] = found
            for importer in sorted(self._importing(path) - waiting):
                waiting.add(importer)
                pending.append(importer)
        names = {path: found for path, found in self._found.items() if found}
        return DonatingNames(names, frozenset(self._bringing))

    def _importing(self, path: str) -> set[str]:
        """Return the files that may have a name of another one, also by way of packages."""
        found: set[str] = set()
        pending = [path]
        while pending:
            for importer in self._importers.get(pending.pop(), set()) - found:
                found.add(importer)
                if is_init(importer):
                    pending.append(importer)
        return found

    def _names_in(self, path: str) -> frozenset[str]:
        """Return the names of a file that may donate, by what is known of the others."""
        bound: set[str] = set()
        brought: set[str] = set()
        directly: set[str] = set()
        for _, imported, name in self._modules.imports_of(path):
            uses: set[str] = set()
            self._take_import(path, imported, name, bound, uses)
            brought |= uses
            is_handed_on = imported in self._of_packages
            if is_handed_on:
                # What a large package imports of its own modules is not followed.
                large = self._modules.fact(large_packages)
                is_handed_on = large.isdisjoint(self._modules.packages_above(imported))
            if imported in self._modules.donating or is_init(imported) or is_handed_on:
                directly |= uses
        if not directly and path not in self._modules.donating:
            # Whoever imports from it does not hear of what that imports from others.
            return frozenset()
        statements, using = self._read(path)
        pending = [number for use in brought for number in using.get(use, ())]
        if not directly.isdisjoint(using):
            self._bringing.add(path)
        pending += [number for number, each in enumerate(statements) if each.donates]
        reached = set(pending)
        while pending:
            for name in statements[pending.pop()].names:
                if name not in bound:
                    bound.add(name)
                    further = set(using.get(name, ())) - reached
                    reached |= further
                    pending += further
        return frozenset(bound)

    def _take_import(
        self, path: str, imported: str, name: str, bound: set[str], brought: set[str]
    ) -> None:
        """Note what an import binds that may donate, and how statements say that they use it."""
        if not name:
            self._take_module(path, imported, _module_name(imported), bound, brought)
            return
        found = self._found.get(imported, frozenset())
        if name.endswith(STAR_NAME):
            bound |= found
            brought |= found
            return
        top, _, rest = name.partition(".")
        modules = [*self._modules_behind(imported, top)]
        for module in modules:
            if not rest:
                self._take_module(path, module, top, bound, brought)
            elif (head := rest.partition(".")[0]) in self._found.get(module, ()):
                self._take_name(path, top, head, rest, bound, brought)
        if not modules and top in found:
            self._take_name(path, _module_name(imported), top, name, bound, brought)

    def _take_name(
        self, path: str, module: str, top: str, name: str, bound: set[str], brought: set[str]
    ) -> None:
        brought.add(f"{module}.{top}")
        for local in self._locally(path, name.rpartition(".")[2]):
            bound.add(local)
            brought.add(_first(local))

    def _take_module(
        self, path: str, module: str, name: str, bound: set[str], brought: set[str]
    ) -> None:
        found = self._found.get(module)
        if not found:
            return
        for local in {name, *self._locally(path, name)}:
            bound.add(local)
            # By itself it is assigned, or given to something.
            brought.add(_last(local))
            brought.update(f"{local}.{each}" for each in found)

    def _locally(self, path: str, name: str) -> Iterator[str]:
        """Yield the names by which a file has something that it imports."""
        for local, targets in (self._modules.facts_by_file[path].imports or {}).items():
            if any(target.rpartition(".")[2] == name for target in targets):
                yield local

    def _modules_behind(self, path: str, name: str) -> Iterator[str]:
        """Yield the modules that a name of a package stands for, as it imports them."""
        for _ in range(_MOST_STEPS):
            if not is_init(path):
                return
            following = None
            for _, imported, rest in self._modules.imports_of(path):
                if not rest and _module_name(imported) == name:
                    yield imported
                elif rest == name and is_init(imported):
                    following = imported
            if following is None or following == path:
                return
            path = following

    def _read(self, path: str) -> tuple[list[TopStatement], dict[str, list[int]]]:
        """Return the statements of a file, and by what they use their numbers."""
        facts = self._modules.facts_by_file[path]
        if facts.statements is None:
            nothing: list[TopStatement] = []
            imports = facts.imports or {}
            read = functools.partial(run_deep, _read, path, self._modules.store, imports)
            facts.statements = nothing
            with self._modules.isolating(path):
                facts.statements = self._modules.expenses.of(path, read, nothing)
        if path not in self._using:
            using = self._using[path] = {}
            for number, statement in enumerate(facts.statements):
                for use in statement.uses:
                    using.setdefault(use, []).append(number)
        return facts.statements, self._using[path]


def _module_name(path: str) -> str:
    place = Path(path)
    return place.parent.name if place.stem == _PACKAGE else place.stem


def _first(name: str) -> str:
    """Return how a dotted name is noted that begins with a name of an import."""
    return f"{name}."


def _last(name: str) -> str:
    """Return how a dotted name is noted that ends with a name."""
    return f".{name}"


def _read(path: str, store: FileStore, imports: Collection[str]) -> list[TopStatement]:
    """Read what the statements of a file bind and use."""
    source = store.source_if_readable(path)
    if source is None:
        return []
    text = source.text
    tree = python_tree(source, store)
    if tree is None:
        every = tuple(sorted({*_WORD.findall(text)}))
        donates = _DONATING.search(text) is not None
        return [TopStatement(every, donates, (*every, *sorted(_said_of(imports, text))))]
    lines = text.splitlines(keepends=True)
    parts: list[tuple[ast.stmt, str, set[str]]] = []
    for statement in tree.body:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            decorators = getattr(statement, "decorator_list", ())
            first = min([statement.lineno, *(each.lineno for each in decorators)])
            own = "".join(lines[first - 1 : statement.end_lineno])
            parts.append((statement, own, {*_bound(statement, own)}))
    names = {name for _, _, bound in parts for name in bound}
    is_open = STAR_NAME in imports
    found: list[TopStatement] = []
    for statement, own, bound in parts:
        words, chains = _used(statement)
        uses = (words if is_open else words & names) | _said_in(imports, chains)
        donates = _DONATING.search(own) is not None and _donates(statement)
        found.append(TopStatement(tuple(sorted(bound)), donates, tuple(sorted(uses))))
    return found


def _used(statement: ast.stmt) -> tuple[set[str], set[tuple[str, ...]]]:
    """Return the words by which a statement may use what a module binds, and its dotted names.

    A word may be one of a text, but not of one that nothing reads, as a docstring is. The dotted
    names are not those of annotations: an object of a class of another file is none by what is said
    of a parameter.
    """
    words: set[str] = set()
    chains: set[tuple[str, ...]] = set()
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name | ast.Attribute):
            first, parts = without_attributes(node)
            if isinstance(first, ast.Name):
                chains.add((first.id, *parts))
            else:
                pending.append(first)
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                words.update(_WORD.findall(node.value))
        elif isinstance(node, ANNOTATED):
            types = [getattr(node, field, None) for field in _ANNOTATIONS]
            for each in types:
                words |= set() if each is None else _words_of(each)
            pending += [child for child in children(node) if child not in types]
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            pending += children(node)
    words.update(chain[0] for chain in chains)
    return words, chains


def _words_of(annotation: ast.AST) -> set[str]:
    """Return the words of an annotation, which may be a text, or have one."""
    found: set[str] = set()
    for node in walk(annotation):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.update(_WORD.findall(node.value))
    return found


def _said_of(imports: Collection[str], text: str) -> set[str]:
    """Return what a text says of imported names: see `_said_in`."""
    return _said_in(imports, {tuple(_WORD.findall(chain)) for chain in _DOTTED.findall(text)})


def _said_in(imports: Collection[str], chains: set[tuple[str, ...]]) -> set[str]:
    """Return what dotted names say of imported ones: the pairs and both ends."""
    found: set[str] = set()
    for parts in chains:
        if parts[0] in imports:
            found.add(_first(parts[0]))
            found.add(_last(parts[-1]))
            found.update(f"{before}.{after}" for before, after in itertools.pairwise(parts))
    return found


def _bound(statement: ast.stmt, text: str) -> Iterator[str]:
    """Yield the names that a statement may bind in its module, or by which others get at it."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
        if _GLOBAL.search(text) is not None:
            for node in walk(statement):
                if isinstance(node, ast.Global):
                    yield from node.names
        return
    for node in walk(statement):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute | ast.Subscript):
            if not isinstance(node.ctx, ast.Load):
                yield from (each.id for each in walk(node) if isinstance(each, ast.Name))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)


def _donates(statement: ast.stmt) -> bool:
    """Return whether a call in a statement says what it donates, in a way that can be read."""
    nothing: frozenset[str] = frozenset()
    pending: list[tuple[ast.AST, frozenset[str]]] = [(statement, nothing)]
    while pending:
        node, given = pending.pop()
        if isinstance(node, ast.Call) and any(
            keyword.arg in _KEYWORDS and _may_be_chosen(keyword.value, given)
            for keyword in node.keywords
        ):
            return True
        inner = given
        if isinstance(node, _FUNCTIONS):
            inner = (given - _stored_in(node)) | _parameters(node)
        outside = {id(each) for each in getattr(node, "decorator_list", ())}
        for child in children(node):
            is_outside = id(child) in outside or isinstance(child, ast.arguments)
            pending.append((child, given if is_outside else inner))
    return False


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """Return what only callers choose: parameters without a default that is written out."""
    arguments = function.args
    by_position = [*arguments.posonlyargs, *arguments.args]
    defaults = [
        *zip(reversed(by_position), reversed(arguments.defaults), strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    written = {
        each.arg
        for each, default in defaults
        if default is not None and _may_be_chosen(default, frozenset())
    }
    return {each.arg for each in walk(arguments) if isinstance(each, ast.arg)} - written


def _stored_in(function: ast.AST) -> set[str]:
    """Return what a function binds itself, not those in it."""
    found: set[str] = set()
    pending = [*children(function)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        if not isinstance(node, _FUNCTIONS):
            pending += children(node)
    return found


def _may_be_chosen(value: ast.expr, given: frozenset[str]) -> bool:
    """Return whether positions or names of arguments may be written out, and none is a parameter.

    What a caller chooses, an attribute or a computation has, nobody reads.
    """
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Tuple | ast.List):
            pending += node.elts
        elif isinstance(node, ast.IfExp):
            pending += [node.body, node.orelse]
        elif isinstance(node, ast.Name):
            if node.id not in given:
                return True
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, int | str) and not isinstance(node.value, bool):
                return True
        elif isinstance(node, ast.UnaryOp):
            return True
    return False
