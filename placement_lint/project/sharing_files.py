"""Which files of a run share a mesh, or a function that puts arrays, and are interpreted together.

What is known of a mesh in one file ends where another file makes it, and what compiled code does
where another file does it. To interpret all files of a large program together takes too long, so
these are only those that name what is shared: the file that defines it, and the files that import
it and use it in a way that a rule asks about. Tests are left out, whatever they use.
"""

from __future__ import annotations

import ast
import re
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from placement_lint.files.python_nodes import walk
from placement_lint.files.test_paths import is_test_path
from placement_lint.project.graph import closure
from placement_lint.syntax.python_parser import python_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from placement_lint.files.source import Source
    from placement_lint.files.store import FileStore

_SHARING = re.compile(rb"\bdevice_put\b|\b(?:make_mesh|Mesh)\s*\(")
_PUT = "device_put"
_MESHES = frozenset({"Mesh", "make_mesh"})
_SPECS = frozenset({"P", "PartitionSpec"})
_COMPILING = frozenset({
    "cond", "filter_jit", "fori_loop", "jit", "pjit", "scan", "switch", "while_loop",
})  # fmt: skip
_COMPILES = re.compile(rf"\b(?:{'|'.join(sorted(_COMPILING))})\b")
_SEVERAL = re.compile(r"\bprocess_(?:count|index)\b|\bdistributed\.initialize\b|\bpinned_host\b")
_WRITES = re.compile(rf"\b(?:{'|'.join(sorted(_SPECS))})\b")
_NOTHING: frozenset[str] = frozenset()
_NO_NODES = frozenset({type(None), bool, bytes, int, str, ast.Del, ast.Load, ast.Store})
"""Types of what is in the fields of nodes, and has nothing in it."""


_Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
Names: TypeAlias = "tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]"
"""The functions of a file that put arrays somewhere, what a mesh comes by, and the functions that
make a mesh with axes that they are given; sorted."""


def shared_names(path: str, data: bytes, store: FileStore) -> Names:
    """Return the names by which others may come by what a file puts, and by its meshes.

    It is parsed only where its bytes have a word of these.
    """
    if b"jax" not in data or _SHARING.search(data) is None:
        return (), (), ()
    text = _Text(store.source(path), store)
    return tuple(sorted(text.putting)), tuple(sorted(text.meshes)), tuple(sorted(text.makers))


def sharing(
    defined: Mapping[str, Names], imports: Iterable[tuple[str, str, str]], store: FileStore
) -> set[str]:
    """Return the files that share something with another one, and those that they share it with.

    `defined`: for files, what others may share of them; `imports`: who imports what from where.
    """
    return _Sharing(imports, store).found_from(defined)


class _Sharing:
    """What the files of a run share, worked out file by file where it is asked for."""

    def __init__(self, imports: Iterable[tuple[str, str, str]], store: FileStore) -> None:
        self._store = store
        self._texts: dict[str, _Text | None] = {}
        self._importers: dict[str, list[tuple[str, str]]] = {}
        for importer, imported, name in imports:
            if not is_test_path(importer):
                self._importers.setdefault(imported, []).append((importer, name))

    def found_from(self, defined: Mapping[str, Names]) -> set[str]:
        found: set[str] = set()
        shared = {
            path: (frozenset(putting), frozenset(meshes), frozenset(makers))
            for path, (putting, meshes, makers) in defined.items()
        }
        behind = {path: {path} for path in shared}
        """From each file to those whose names it has, itself among them."""
        pending = [*shared]
        while pending:
            path = pending.pop()
            putting, meshes, makers = shared[path]
            of_putting: set[str] = set()
            is_compiled = False
            for importer, name in self._importers.get(path, ()):
                text = self._text(importer)
                if text is None:
                    continue
                puts, spans = text.brought(name, putting), text.brought(name, meshes)
                making = text.brought(name, makers)
                if puts:
                    of_putting.add(importer)
                    is_compiled |= not puts.isdisjoint(text.compiled)
                makes = spans or not making.isdisjoint(text.called_with_text if making else ())
                if makes and (text.writes_specs or text.has_several_places):
                    found |= {*behind[path], importer}
                if PurePath(importer).name == "__init__.py" and (puts or spans or making):
                    # It hands them on to those who import them from there.
                    before = shared.get(importer, (_NOTHING, _NOTHING, _NOTHING))
                    after = (before[0] | puts, before[1] | spans, before[2] | making)
                    known = behind.setdefault(importer, {importer})
                    if after != before or not behind[path] <= known:
                        shared[importer] = after
                        known |= behind[path]
                        pending.append(importer)
            if is_compiled:
                # Also those who call it as it is: then it is not only compiled.
                found |= {*behind[path], *of_putting}
        return found

    def _text(self, path: str) -> _Text | None:
        if path not in self._texts:
            source = self._store.source_if_readable(path)
            self._texts[path] = None if source is None else _Text(source, self._store)
        return self._texts[path]


class _Nodes:
    """The nodes of a tree, and the functions that they are in."""

    def __init__(self, tree: ast.Module) -> None:
        """Walk the tree once."""
        self.nodes: list[ast.AST] = [tree]
        """In the order of `ast.walk`, without the contexts of names."""
        owners = [-1]
        """Of each node, the place of the function around it."""
        functions: list[int] = []
        for place, node in enumerate(self.nodes):
            if isinstance(node, _FUNCTIONS):
                functions.append(place)
                owner = place
            else:
                owner = owners[place]
            for name in node._fields:
                value: Any = getattr(node, name, None)
                kind = type(value)
                if kind is list:
                    nodes = [each for each in value if isinstance(each, ast.AST)]
                    self.nodes += nodes
                    owners += [owner] * len(nodes)
                elif kind not in _NO_NODES and isinstance(value, ast.AST):
                    self.nodes.append(value)
                    owners.append(owner)
        self._owners = owners
        self._functions = functions

    @cached_property
    def functions(self) -> dict[str, int]:
        """The places of the functions by their names, the last one of each name."""
        found = {}
        for place in self._functions:
            node = self.nodes[place]
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found[node.name] = place
        return found

    @cached_property
    def names(self) -> dict[int, set[str]]:
        """For each function, the names in it and in the functions in it."""
        found: dict[int, set[str]] = {place: set() for place in self._functions}
        for place, node in enumerate(self.nodes):
            name = node.id if isinstance(node, ast.Name) else None
            name = node.attr if isinstance(node, ast.Attribute) else name
            if name is not None and self._owners[place] >= 0:
                found[self._owners[place]].add(name)
        for place in reversed(self._functions):
            around = self._owners[place]
            if around >= 0:
                found[around] |= found[place]
        return found

    def doing(self, does: Callable[[ast.AST], bool]) -> set[int]:
        """Return the functions with a node in them that does something."""
        found: set[int] = set()
        for place, node in enumerate(self.nodes):
            if does(node):
                owner = self._owners[place]
                while owner >= 0 and owner not in found:
                    found.add(owner)
                    owner = self._owners[owner]
        return found


class _Text:
    """What the text of one file says of this. It is parsed where words do not tell."""

    def __init__(self, source: Source, store: FileStore) -> None:
        self._source = source
        self._store = store

    @cached_property
    def _tree(self) -> ast.Module:
        return python_tree(self._source, self._store) or ast.Module([], [])

    @cached_property
    def _nodes(self) -> _Nodes:
        return _Nodes(self._tree)

    @cached_property
    def _named(self) -> dict[str, set[str]]:
        """For each function, the names in it."""
        nodes = self._nodes
        return {name: nodes.names[place] for name, place in nodes.functions.items()}

    @cached_property
    def putting(self) -> frozenset[str]:
        """The functions of the file that put arrays somewhere."""
        return self._doing(_puts, {_PUT})

    @cached_property
    def meshes(self) -> frozenset[str]:
        """The functions and variables by which a mesh comes."""
        if not any(word in self._source.text for word in _MESHES):
            return _NOTHING
        return self._doing(self._names_axes, _MESHES) | frozenset(self._mesh_variables())

    @cached_property
    def makers(self) -> frozenset[str]:
        """The functions that make a mesh whose axes the file does not name: their callers may."""
        if not any(word in self._source.text for word in _MESHES):
            return _NOTHING
        return self._doing(_makes_mesh, _MESHES) - self.meshes

    @cached_property
    def called_with_text(self) -> frozenset[str]:
        """The last parts of the names of what is called with a text, or with a list of some.

        Not with what a text only finds: `make(config.get("axes"))`.
        """
        return frozenset(
            _last(node.func)
            for node in self._nodes.nodes
            if isinstance(node, ast.Call)
            and any(_is_text(given, self._texts) for given in _given(node))
        )

    @cached_property
    def _texts(self) -> set[str]:
        """The names that stand for what has a text in it, wherever in the file: `.x` of objects."""
        found: set[str] = set()
        for node in self._nodes.nodes:
            if isinstance(node, ast.Assign) and _is_text(node.value, found):
                found.update(map(_key, node.targets))
            elif isinstance(node, ast.AnnAssign | ast.AugAssign) and _is_text(node.value, found):
                # The field of a class has the name of a variable here.
                found |= {_key(node.target), f".{_last(node.target)}"}
        return found

    @cached_property
    def _by_default(self) -> set[int]:
        """The calls that make a mesh with axes which a parameter of their function has by default,
        by id.
        """
        found: set[int] = set()
        for function in _functions(self._tree):
            texts = set(_with_text_by_default(function.args))
            calls = filter(_makes_mesh, walk(function)) if texts else ()
            found.update(id(call) for call in calls if _has_text(call, texts))
        return found

    def _names_axes(self, node: ast.AST) -> bool:
        """Return whether a call makes a mesh with a name for an axis that the file writes out."""
        return _makes_mesh(node) and (_has_text(node, self._texts) or id(node) in self._by_default)

    def _mesh_variables(self) -> Iterator[str]:
        for statement in self._tree.body:
            if isinstance(statement, ast.Assign) and any(
                map(self._names_axes, walk(statement.value))
            ):
                yield from (each.id for each in statement.targets if isinstance(each, ast.Name))

    @cached_property
    def _lines(self) -> list[str]:
        return self._source.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    def _says(self, function: _Function, words: Collection[str]) -> bool:
        """Return whether there is one of some words in the lines of a function."""
        start = min(each.lineno for each in (function, *function.decorator_list))
        lines = self._lines[start - 1 : function.end_lineno]
        return any(word in line for line in lines for word in words)

    def _doing(self, does: Callable[[ast.AST], bool], words: Collection[str]) -> frozenset[str]:
        """Return the functions at the top that do something, or use one that does.

        `words`: what does it has one of them in its text.
        """
        top = {each.name for each in self._tree.body if isinstance(each, _FUNCTIONS)}
        last = {each.name: each for each in _functions(self._tree)} if top else {}
        if not any(self._says(last[name], words) for name in top):
            return _NOTHING
        nodes = self._nodes
        found = nodes.doing(does)
        doing = [name for name in top if nodes.functions[name] in found]
        if not doing:
            return _NOTHING
        users: dict[str, set[str]] = {}
        for name, names in self._named.items():
            for other in names & top:
                users.setdefault(other, set()).add(name)
        return frozenset(closure(doing, users)) & top

    @cached_property
    def compiled(self) -> frozenset[str]:
        """The names that compiled functions use, and the functions of the file that they use."""
        if _COMPILES.search(self._source.text) is None:
            return _NOTHING
        return frozenset(closure(_compiled(self._nodes.nodes), self._named))

    @cached_property
    def writes_specs(self) -> bool:
        """Whether an axis is written out in a spec."""
        return _WRITES.search(self._source.text) is not None and any(
            isinstance(node, ast.Call) and _last(node.func) in _SPECS and _has_text(node)
            for node in self._nodes.nodes
        )

    @cached_property
    def has_several_places(self) -> bool:
        """Whether it knows of several processes, or of the memory of the host."""
        return _SEVERAL.search(self._source.text) is not None

    def brought(self, imported: str, names: frozenset[str]) -> frozenset[str]:
        """Return those of some names that an import brings: "" is a module, "*" all its names."""
        first = imported.partition(".")[0]
        if first not in {"", "*"}:
            return names & {first}
        return frozenset(name for name in names if name in self._source.text)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = frozenset({"body", "cases", "finalbody", "handlers", "orelse"})


def _functions(tree: ast.Module) -> Iterator[_Function]:
    """Yield the functions of a tree, in the order of `ast.walk`."""
    pending: list[Any] = [tree]
    for node in pending:
        if isinstance(node, _FUNCTIONS):
            yield node
        for name in node._fields:
            if name in _BLOCKS:
                pending += getattr(node, name)


def _names(node: ast.AST) -> Iterator[str]:
    for part in walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr


def _compiled(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names of the functions that are compiled, and those in lambdas that are."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if any(not _COMPILING.isdisjoint(_names(each)) for each in node.decorator_list):
                yield node.name
        elif isinstance(node, ast.Call) and _last(node.func) in _COMPILING:
            for given in (*node.args, *(keyword.value for keyword in node.keywords)):
                yield from _names(given)


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _puts(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and _last(node.func) == _PUT
        and len(node.args) + len(node.keywords) > 1
    )


def _key(target: ast.expr) -> str:
    """Return by what the texts are known that are bound to a name, or to an attribute."""
    return f".{target.attr}" if isinstance(target, ast.Attribute) else _last(target)


def _makes_mesh(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and _last(node.func) in _MESHES


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _has_text(call: ast.Call, texts: Collection[str] = ()) -> bool:
    """Return whether a text is written in what a call is given, or it is given one of some names
    that stand for texts.
    """
    return any(
        isinstance(node, ast.Constant) and isinstance(node.value, str)
        for given in _given(call)
        for node in walk(given)
    ) or any(_is_text(given, texts) for given in _given(call))


_WRAPPING = frozenset({"dict", "frozenset", "list", "set", "sorted", "tuple"})


def _is_text(expression: ast.expr | None, texts: Collection[str]) -> bool:
    """Return whether an expression is a text, or a list of some, be it by one of some names."""
    pending: list[ast.expr | None] = [expression]
    while pending:
        node = pending.pop()
        match node:
            case ast.Constant(value=str()):
                return True
            case ast.Name() | ast.Attribute() if _key(node) in texts:
                return True
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                pending += parts
            case ast.Dict(keys=keys, values=parts):
                pending += (*keys, *parts)
            case ast.BinOp(left=one, right=other) | ast.IfExp(body=one, orelse=other):
                pending += (one, other)
            case ast.Starred(value=part) | ast.Subscript(value=part):
                pending.append(part)
            case ast.Call(func=ast.Attribute(value=part)):
                pending.append(part)
            case ast.Call(func=ast.Name(id=name), args=parts) if name in _WRAPPING:
                pending += parts
            case _:
                pass
    return False


def _with_text_by_default(arguments: ast.arguments) -> Iterator[str]:
    named = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(reversed(named), reversed(arguments.defaults), strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    for parameter, default in pairs:
        if default is not None and _is_text(default, ()):
            yield parameter.arg
