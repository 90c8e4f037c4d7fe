"""Which files of a run share a mesh, or a function that puts arrays, and are interpreted together.

What is known of a mesh in one file ends where another file makes it, and what compiled code does
where another file does it. To interpret all files of a large program together takes too long, so
these are only those that name what is shared: the file that defines it, and the files that import
it and use it in a way that a rule asks about.
"""

from __future__ import annotations

import ast
import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from placement_lint.syntax.python_parser import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.files.store import FileStore

_SHARING = re.compile(rb"\bdevice_put\b|\b(?:make_mesh|Mesh)\s*\(")
_MESHES = frozenset({"Mesh", "make_mesh"})
_COMPILES = re.compile(
    r"\b(?:jit|pjit|filter_jit|scan|fori_loop|while_loop|cond|switch)\b(?=\s*[(,)\n@])"
)
_SPLITS = re.compile(r"\b(?:NamedSharding|with_sharding_constraint|shard_map|device_put)\b")


def may_share(data: bytes) -> bool:
    """Return whether a file may define something that others share, by its bytes."""
    return b"jax" in data and _SHARING.search(data) is not None


def sharing(
    paths: Iterable[str], imports: Iterable[tuple[str, str, str]], store: FileStore
) -> set[str]:
    """Return the files that share something with another one, and those that they share it with.

    `paths`: those that may define it; `imports`: who imports what from where.
    """
    importers: dict[str, list[tuple[str, str]]] = {}
    for importer, imported, name in imports:
        importers.setdefault(imported, []).append((importer, name))
    shared = {path: _shared_names(path, store) for path in paths if path in importers}
    behind: dict[str, set[str]] = {path: {path} for path in shared}
    """From each file to those whose names it has, itself among them."""
    found: set[str] = set()
    pending = [*shared]
    while pending:
        path = pending.pop()
        using = [
            (importer, name, [_used(name, names, store.text(importer)) for names in shared[path]])
            for importer, name in importers.get(path, ())
            if any(shared[path])
        ]
        of_putting = [importer for importer, _, (putting, _) in using if putting]
        if any(_COMPILES.search(store.text(importer)) is not None for importer in of_putting):
            # Also those who call it as it is: then it is not only compiled.
            found |= {*behind[path], *of_putting}
        for importer, _, (putting, meshes) in using:
            if meshes and _SPLITS.search(store.text(importer)) is not None:
                found |= {*behind[path], importer}
            if PurePath(importer).name == "__init__.py" and (putting or meshes):
                # It hands it on to those who import it from there.
                before = shared.get(importer, (frozenset(), frozenset()))
                after = (before[0] | putting, before[1] | meshes)
                known = behind.setdefault(importer, {importer})
                if after != before or not behind[path] <= known:
                    shared[importer] = after
                    known |= behind[path]
                    pending.append(importer)
    return found


def _used(imported: str, names: frozenset[str], text: str) -> frozenset[str]:
    """Return those of some names that an import brings: "" is a module, "*" all its names."""
    first = imported.partition(".")[0]
    if first not in {"", "*"}:
        return names & {first}
    return frozenset(name for name in names if name in text)


def _shared_names(path: str, store: FileStore) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of a file by which others come by what puts arrays, and by meshes."""
    source = store.source_if_readable(path)
    tree = None if source is None else python_tree(source, store)
    if tree is None:
        return frozenset(), frozenset()
    putting: set[str] = set()
    meshes: set[str] = set()
    uses: dict[str, set[str]] = {}
    for name, statement in _bound(tree):
        used = uses.setdefault(name, set())
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                used.add(node.id)
            elif isinstance(node, ast.Attribute):
                used.add(node.attr)
            elif isinstance(node, ast.Call):
                if _puts(node) and not isinstance(statement, ast.Assign | ast.AnnAssign):
                    putting.add(name)
                if _makes_mesh(node):
                    meshes.add(name)
    return _with_users(putting, uses), _with_users(meshes, uses)


def _bound(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Yield the names that statements of a module bind: functions, classes and variables."""
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield statement.name, statement
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    yield target.id, statement
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id, statement


def _with_users(names: set[str], uses: dict[str, set[str]]) -> frozenset[str]:
    """Return names with those whose statements use them, in any number of steps."""
    found, pending = set(names), list(names)
    users: dict[str, list[str]] = {}
    for name, used in uses.items():
        for other in used & uses.keys():
            users.setdefault(other, []).append(name)
    while pending:
        for user in users.get(pending.pop(), ()):
            if user not in found:
                found.add(user)
                pending.append(user)
    return frozenset(found)


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _puts(call: ast.Call) -> bool:
    return _last(call.func) == "device_put" and len(call.args) + len(call.keywords) > 1


def _makes_mesh(call: ast.Call) -> bool:
    """Return whether a call makes a mesh with a name for an axis that is written out."""
    return _last(call.func) in _MESHES and any(
        isinstance(node, ast.Constant) and isinstance(node.value, str)
        for given in (*call.args, *(keyword.value for keyword in call.keywords))
        for node in ast.walk(given)
    )
