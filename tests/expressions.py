"""Every regular expression of the package, and what is asked of it."""

from __future__ import annotations

import ast
import functools
import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, AnyStr

import placement_lint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOP = Path(placement_lint.__file__).parent
_ALL_OVER = frozenset({"findall", "finditer", "search", "split", "sub", "subn"})
_METHODS = _ALL_OVER | {"fullmatch", "match"}
_ASKS = re.compile(rf"\.(?:compile|{'|'.join(sorted(_METHODS))})\b")

PUT_TOGETHER: dict[str, tuple[str, ...]] = {
    "files/wildmatch.py": (r"(?s)a.[b-d]a",),
    "project/modules.py": (r"(?<![\w.])(jax|jnp)((?:[ \t]*\.[ \t]*[^\W\d]\w*)+)",),
    "project/platform.py": (r"\b(?:a)\b",),
    "prefilter/conditions.py": (),  # found by asking the rules
    "syntax/code_text.py": (r"(?m)^[ \t\f]{0,4}[^ \t\f\n]",),
    "prefilter/name_scan.py": (
        r"(?<!\w)a\b",
        r"(?<!\w)a\b(?=[\s\\)]*\()",
    ),
}
"""What functions make of a name or a number, by file: with `a`, or 4, in the place of that."""


@dataclass(frozen=True)
class Expression:
    """A regular expression, where it comes from, and what is asked of it."""

    pattern: str | bytes
    flags: int
    name: str
    methods: frozenset[str]

    def apply(self, text: str) -> None:
        """Look at a text as the package does."""
        if isinstance(self.pattern, str):
            _apply(_compiled(self.pattern, self.flags), text, self.methods)
        else:
            _apply(_compiled(self.pattern, self.flags), text.encode(), self.methods)


@functools.cache
def _compiled(pattern: AnyStr, flags: int) -> re.Pattern[AnyStr]:
    return re.compile(pattern, flags)


def _apply(compiled: re.Pattern[AnyStr], text: AnyStr, methods: frozenset[str]) -> None:
    if methods & _ALL_OVER:
        for _ in compiled.finditer(text):
            pass
    if "match" in methods:
        compiled.match(text)
    if "fullmatch" in methods:
        compiled.fullmatch(text)


def all_expressions() -> list[Expression]:
    """Give each expression once, with all that is asked of it anywhere."""
    found: dict[tuple[str | bytes, int], Expression] = {}
    for each in (*_in_variables(), *_in_calls()):
        known = found.get((each.pattern, each.flags), each)
        methods = known.methods | each.methods
        found[each.pattern, each.flags] = replace(known, methods=methods)
    return [*found.values()]


@functools.cache
def trees() -> dict[str, ast.Module]:
    """Give the modules that may ask something of an expression, parsed, by their paths."""
    return {path: ast.parse(text) for path, text in texts().items() if _ASKS.search(text)}


@functools.cache
def texts() -> dict[str, str]:
    """Give the modules of the package by their paths in it."""
    return {
        path.relative_to(TOP).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(TOP.rglob("*.py"))
    }


def _asked(name: str, path: str) -> frozenset[str]:
    """Give which methods are asked of a variable: in its module, or in any if it is for all."""
    looked = {path} & trees().keys() if name.startswith("_") else trees()
    found = {method for each in looked for method in _asked_in(each).get(name, ())}
    # Where it is handed on, anything may be asked of it.
    return frozenset(found) or _METHODS


@functools.cache
def _asked_in(path: str) -> dict[str, set[str]]:
    """Give which methods a module asks of what has each name, in one walk for all of them."""
    asked: dict[str, set[str]] = {}
    for node in ast.walk(trees()[path]):
        if isinstance(node, ast.Attribute) and node.attr in _METHODS:
            name = getattr(node.value, "id", "") or getattr(node.value, "attr", "")
            if name and isinstance(node.value, ast.Name | ast.Attribute):
                asked.setdefault(name, set()).add(node.attr)
    return asked


def _in_variables() -> Iterator[Expression]:
    """Give what the variables of all modules hold, however deep: in classes, and in conditions."""
    seen: set[int] = set()
    for path in texts():
        module = importlib.import_module(_module_name(path))
        for name, value in vars(module).items():
            for pattern, flags in _patterns(value, seen):
                is_plain = isinstance(value, re.Pattern)
                asked = _asked(name, path) if is_plain else _ALL_OVER
                yield Expression(pattern, flags, f"{path}: {name}", asked)


def _module_name(path: str) -> str:
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return f"{placement_lint.__name__}.{name}"


def _patterns(value: object, seen: set[int]) -> Iterator[tuple[str | bytes, int]]:
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, re.Pattern):
        yield value.pattern, value.flags & ~re.UNICODE
    elif type(value).__name__ == "_Expression":
        known = vars(value)
        yield known["_pattern"], known["_flags"]
    else:
        for each in _held(value):
            yield from _patterns(each, seen)


def _held(value: object) -> Iterable[object]:
    """Give what a value of the package's own holds."""
    if isinstance(value, Mapping):
        return [*value.values()]
    if isinstance(value, tuple | list | set | frozenset):
        return value
    kind = value if isinstance(value, type) else type(value)
    if not kind.__module__.startswith(placement_lint.__name__):
        return ()
    return [*getattr(value, "__dict__", {}).values()]


def _in_calls() -> Iterator[Expression]:
    for path, function, pattern in calls():
        if pattern is not None:
            yield Expression(pattern, 0, path, frozenset({function}))
    for path, several in PUT_TOGETHER.items():
        for each in several:
            yield Expression(each, 0, path, _ALL_OVER)


def calls() -> Iterator[tuple[str, str, str | bytes | None]]:
    """Give each call of `re` in a function: the file, what is called, and with which expression.

    None for one that is put together there.
    """
    for path, tree in trees().items():
        for node in _in_functions(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "re"
                and node.func.attr in _METHODS | {"compile"}
            ):
                given = node.args[0]
                pattern = given.value if isinstance(given, ast.Constant) else None
                yield path, node.func.attr, _text_of(pattern)


def _in_functions(tree: ast.Module) -> Iterator[ast.AST]:
    """Give each node in a function once, however many functions it is in."""
    left: list[tuple[ast.AST, bool]] = [(tree, False)]
    while left:
        node, is_inside = left.pop()
        is_inside |= isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if is_inside:
            yield node
        left += [(child, is_inside) for child in ast.iter_child_nodes(node)]


def _text_of(value: object) -> str | bytes | None:
    return value if isinstance(value, str | bytes) else None
