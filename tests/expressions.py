"""Every regular expression of the package, and what is asked of it."""

from __future__ import annotations

import ast
import functools
import importlib
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, AnyStr

import placement_lint
from placement_lint.rules.needs import Needs
from placement_lint.rules.registry import all_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

TOP = Path(placement_lint.__file__).parent
_ALL_OVER = frozenset({"findall", "finditer", "search", "split", "sub", "subn"})
_METHODS = _ALL_OVER | {"fullmatch", "match"}

PUT_TOGETHER: dict[str, tuple[str, ...]] = {
    "lint/project.py": (r"(?<![\w.])(jax|jnp)((?:[ \t]*\.[ \t]*[^\W\d]\w*)+)",),
    "rules/needs.py": (),  # found by asking the rules
    "syntax/code_text.py": (r"(?m)^[ \t\f]{0,4}[^ \t\f\n]",),
    "syntax/mentions.py": (
        r"\ba\b[\s\\)]*(?::[^=\n]{0,1000})?=(?!=)",
        r"\bdef[\s\\]+a\b",
        r"a\b[\s\\)]*(?:#[^\n]{0,1000}\n[\s\\)]*){0,40}\(",
        r"(?<![\w.])a\b(?![\s\\]*\.)",
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
    for each in (*_in_variables(), *_in_calls(), *_of_the_filter()):
        known = found.get((each.pattern, each.flags), each)
        methods = known.methods | each.methods
        found[each.pattern, each.flags] = replace(known, methods=methods)
    return [*found.values()]


@functools.cache
def trees() -> dict[str, ast.Module]:
    """Give the modules of the package, parsed, by their paths in it."""
    return {
        path.relative_to(TOP).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(TOP.rglob("*.py"))
    }


def _asked(name: str, path: str) -> frozenset[str]:
    """Give which methods are asked of a variable: in its module, or in any if it is for all."""
    looked = [trees()[path]] if name.startswith("_") else trees().values()
    found = {
        node.attr
        for tree in looked
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in _METHODS
        and isinstance(node.value, ast.Name | ast.Attribute)
        and name in {getattr(node.value, "id", ""), getattr(node.value, "attr", "")}
    }
    # Where it is handed on, anything may be asked of it.
    return frozenset(found) or _METHODS


def _in_variables() -> Iterator[Expression]:
    for path, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and "re.compile(" in ast.unparse(node):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                assert isinstance(target, ast.Name), ast.unparse(node)
                module = importlib.import_module(_module_name(path))
                for each in _patterns(getattr(module, target.id)):
                    flags = each.flags & ~re.UNICODE
                    asked = _asked(target.id, path)
                    yield Expression(each.pattern, flags, f"{path}: {target.id}", asked)


def _module_name(path: str) -> str:
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return f"{placement_lint.__name__}.{name}"


def _patterns(value: object) -> Iterator[re.Pattern[str] | re.Pattern[bytes]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _patterns(each)
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _patterns(each)


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
        for outer in ast.walk(tree):
            if not isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                continue
            for node in ast.walk(outer):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and ast.unparse(node.func.value) == "re"
                    and node.func.attr in _METHODS | {"compile"}
                ):
                    given = node.args[0]
                    pattern = given.value if isinstance(given, ast.Constant) else None
                    yield path, node.func.attr, _text_of(pattern)


def _text_of(value: object) -> str | bytes | None:
    return value if isinstance(value, str | bytes) else None


def _of_the_filter() -> Iterator[Expression]:
    """Give the expressions in the conditions of all rules."""
    seen: set[int] = set()

    def inside(value: object) -> Iterator[Expression]:
        if id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, tuple | list | frozenset):
            for each in value:
                yield from inside(each)
        elif type(value).__name__ == "_Expression":
            known = vars(value)
            yield Expression(known["_pattern"], known["_flags"], "rules/needs.py", _ALL_OVER)
        elif isinstance(value, Needs):
            for each in vars(value).values():
                yield from inside(each)

    for rule in all_rules():
        yield from inside(rule.needs)
