"""The shapes that a statement can have: what a fix does to one must suit them all.

Each shape is a way to write a program so that some of its statements stand in another place: on one
line with others, in an f-string, under a decorator, between comments. What is found in it may
differ. What fixing makes of it must not be worse for it.
"""

import ast
import io
import textwrap
import tokenize
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tests.variants import Layout, with_crlf, wrapped

STEP = "    "


@dataclass(frozen=True)
class Statement:
    """One small statement that is alone on its lines, with an expression that matters in it."""

    text: str
    margin: str
    before: str
    """What stands before the expression: `target = `, `return `, or nothing."""
    value: str
    after: str

    def with_value(self, value: str) -> str:
        """Give the statement with another expression."""
        return f"{self.before}{value}{self.after}"


Shape = Callable[[Statement], str | None]


def _valued(form: str) -> Shape:
    """Put the expression into another one."""
    return lambda each: each.with_value(form.replace("E", _in_brackets(each)))


def _instead(form: str) -> Shape:
    """Put the expression into another statement, after which the first one has its result."""

    def shape(each: Statement) -> str | None:
        if each.before.startswith("return"):
            return None
        body = form.replace("E", _in_brackets(each))
        return textwrap.indent(body, each.margin).removeprefix(each.margin)

    return shape


def _in_brackets(each: Statement) -> str:
    # Anything may follow it then, and it may go on in other lines.
    return each.value if each.value[-1:] == ")" and "\n" not in each.value else f"({each.value})"


def _flat(form: str) -> Shape:
    """Put a statement that is one line into a line of several."""
    return lambda each: None if "\n" in each.text else form.replace("S", each.text)


def _around(form: str) -> Shape:
    """Put other lines around a statement."""

    def shape(each: Statement) -> str:
        lines = form.split("\n")
        first = lines.index("S")
        above = [each.margin + line if line else "" for line in lines[:first]]
        below = [each.margin + line if line else "" for line in lines[first + 1 :]]
        return "\n".join([*above, each.margin + each.text, *below]).removeprefix(each.margin)

    return shape


def _continued(each: Statement) -> str | None:
    if not each.before.endswith("= "):
        return None
    return f"{each.before.rstrip()} \\\n{each.margin}{STEP * 2}{each.value}{each.after}"


def _commented(each: Statement) -> str | None:
    """Put a comment behind everything in brackets behind which one can stand."""
    lines = each.text.split("\n")
    tokens = tokenize.generate_tokens(io.StringIO(each.text + "\n").readline)
    depth, places = 0, []
    for token in tokens:
        name = tokenize.tok_name[token.type]
        if name.startswith(("FSTRING", "TSTRING")):
            return None
        if token.type == tokenize.OP and token.string in "([{":
            depth += 1
        if depth and token.type == tokenize.OP and token.string in "([{,":
            places.append(token.end)
        if token.type == tokenize.OP and token.string in ")]}":
            depth -= 1
    if not places:
        return None
    for number, (line, column) in reversed(list(enumerate(places))):
        text = lines[line - 1]
        if text[column:].strip().startswith("#") or (not text[column:] and line < len(lines)):
            continue
        comment = f"  # said {number}\n{each.margin}{STEP * 2}"
        lines[line - 1] = text[:column] + comment + text[column:].lstrip()
    return "\n".join(lines)


def _formatted(quote: str) -> Shape:
    def shape(each: Statement) -> str | None:
        value = each.value.replace('"', "'") if quote == '"' else each.value.replace("'", '"')
        if "\n" in value or "\\" in value or "#" in value or "{" in value:
            return None
        return each.with_value(f"f{quote}{{{value}}}{quote}")

    return shape


_MANY_LINES = 'shape_text = """one\n  two\n\tthree"""'

STATEMENTS: dict[str, Shape] = {
    "semicolon-after": _flat("S; shape_x = 0"),
    "semicolon-before": _flat("shape_x = 0; S"),
    "semicolon-at-the-end": _flat("S;"),
    "one-line-if": _flat("if len('x'): S"),
    "one-line-if-of-two": _flat("if len('x'): shape_x = 0; S"),
    "one-line-with": _flat("with open('x') as shape_x: S"),
    "one-line-for": _flat("for shape_x in range(3): S"),
    "comment-behind": _flat("S  # said"),
    "comments-around": _around("# said above\nS\n# said below"),
    "text-around": _around(f"{_MANY_LINES}\nS\n{_MANY_LINES}"),
    "blank-lines-around": _around("shape_x = 0\n\n\nS\n\n\nshape_x = 1"),
    "continued": _continued,
    "commented": _commented,
    "parenthesised": _valued("(E)"),
    "parenthesised-with-comments": lambda each: each.with_value(
        f"(  # said before\n{each.margin}{STEP}{each.value}  # said behind\n{each.margin})"
    ),
    "walrus": _valued("(shape_w := E)"),
    "conditional": _valued("E if len('x') else None"),
    "condition": _valued("1 if E else 0"),
    "f-string": _formatted('"'),
    "f-string-single": _formatted("'"),
    "lambda": _valued("(lambda: E)()"),
    "lambda-default": _valued("(lambda shape_p=E: shape_p)()"),
    "comprehension": _valued("[E for shape_i in range(1)]"),
    "generator": _valued("list(E for shape_i in range(1))"),
    "dict": _valued('{"shape": E}'),
    "tuple": _valued("(0, E, 1)"),
    "bare-tuple": _valued("0, E"),
    "starred": _valued("print(0, *[E], *E)"),
    "double-starred": _valued('dict(**{"shape": E})'),
    "keyword": _valued("dict(shape=E)"),
    "only-argument": _valued("print(E)"),
    "subscript": _valued("{}[E]"),
    "sliced": _valued("[0][E:]"),
    "chained-comparison": _valued("0 is not E is not None"),
    "boolean": _valued("0 or E and 1"),
    "negated": _valued("not E"),
    "attribute": _valued("E.shape"),
    "power": _valued("E ** 2"),
    "two-targets": _valued("shape_a = E"),
    "default": _instead("def shape_f(shape_a=E): pass"),
    "decorator": _instead("@print(E)\n@print\ndef shape_f():\n    pass"),
    "class-body": _instead("class Shape:\n    shape_a = E\n    shape_b = 1"),
    "base": _instead("class Shape(print(E), shape=E): pass"),
    "matched": _instead("match E:\n    case _: pass"),
    "guard": _instead("match 1:\n    case _ if E: pass"),
    "with-item": _instead("with print(E) as shape_a, open('x'): pass"),
    "parenthesised-with": _instead("with (\n    print(E) as shape_a,\n    open('x'),\n): pass"),
    "loop": _instead("for shape_i in E: pass"),
    "while": _instead("while E: break"),
    "elif": _instead("if len(''):\n    pass\nelif E:\n    pass\nelse:\n    pass"),
    "asserted": _instead("assert E, E"),
    "raised": _instead("if len(''): raise ValueError(E) from None"),
    "unpacked": _instead("shape_a, *shape_b = E, 0, 1"),
    "annotated": _instead("shape_a: object = E"),
    "augmented": _instead("shape_a = []\nshape_a += E"),
    "returned": _instead("def shape_f():\n    return E"),
    "yielded": _instead("def shape_f():\n    shape_a = yield E"),
    "awaited": _instead("async def shape_f():\n    return await E"),
    "async-with": _instead("async def shape_f():\n    async with E: pass"),
    "async-for": _instead("async def shape_f():\n    return [0 async for shape_i in E]"),
    "global": _instead("def shape_f():\n    global shape_g\n    shape_g = E"),
    "nonlocal": _instead(
        "def shape_f():\n    shape_a = 0\n    def shape_b():\n        nonlocal shape_a\n"
        "        shape_a = E\n    shape_b()"
    ),
    "type-parameters": _instead("def shape_f[T](shape_a: T) -> T:\n    return E"),
}
"""What a statement with a finding is written as."""


def _tabs(text: str) -> str:
    return _reindented(text, "\t")


def _reindented(text: str, step: str) -> str:
    layout = Layout(text)
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        body = line.lstrip(" ")
        depth = (len(line) - len(body)) // len(STEP)
        lines.append(line if number in layout.inside_strings else step * depth + body)
    return "\n".join(lines)


def _below(*headers: str, after: str = "") -> Callable[[str], str]:
    def shape(text: str) -> str:
        for header in reversed(headers):
            text = wrapped(text, header).text
        return text + after

    return shape


TEXTS: dict[str, Callable[[str], str]] = {
    "tabs": _tabs,
    "two-spaces": lambda text: _reindented(text, "  "),
    "tabs-in-a-function": lambda text: _tabs(wrapped(text, "def shape_f():").text),
    "crlf-and-no-last-line-end": lambda text: with_crlf(text).text.removesuffix("\r\n"),
    "no-last-line-end": lambda text: text.removesuffix("\n"),
    "coroutine": _below("async def shape_f():"),
    "nested-functions": _below("def shape_f():", "def shape_g():"),
    "method": _below("class Shape:", "def shape_f(self):"),
    "async-with": _below("async def shape_f():", "async with open('x') as shape_x:"),
    "parenthesised-with": _below("with (open('x') as shape_x, open('y')):"),
    "loop": _below("for shape_i in range(3):", after="    continue\n"),
    "loop-else": _below("while len('x'):", after="    break\nelse:\n    pass\n"),
    "match": _below("match len('x'):", "case 1 if len('y'):"),
    "try": _below("try:", after="finally:\n    pass\n"),
    "else-of-a-try": _below(
        "try:\n    pass\nexcept KeyError:\n    pass\nelse:", after="finally:\n    pass\n"
    ),
    "handler": _below("try:\n    pass\nexcept KeyError as shape_e:"),
    "type-parameters": _below("class Shape[T]:", "def shape_f[U](self):"),
    "comments-before": lambda text: "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n" + text,
    "docstring-and-future": lambda text: (
        '"""One\n\n  two."""\n\nfrom __future__ import annotations\n\n' + text
    ),
    "form-feed": lambda text: f"{text}\n\f\nshape_x = 0\n",
}
"""What a whole text is written as."""


def reshaped(text: str, places: Iterable[tuple[int, int]], shape: Shape) -> str | None:
    """Give a text with another shape of the statements at some places (lines and columns)."""
    lines = text.split("\n")
    changed = False
    for statement, first, last in _statements(text, places):
        new = shape(statement)
        if new is None:
            continue
        changed = True
        head = lines[first][: len(statement.margin)]
        lines[first : last + 1] = [head + new]
    return "\n".join(lines) if changed else None


def _statements(text: str, places: Iterable[tuple[int, int]]) -> list[tuple[Statement, int, int]]:
    """Give the small statements at some places that are alone on their lines, the last one first.

    With each, the indices of its first and last line.
    """
    lines = text.split("\n")
    small = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
    found: dict[int, tuple[Statement, int, int]] = {}
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, small) or node.value is None or node.end_lineno is None:
            continue
        start = (node.lineno, _column(lines, node.lineno, node.col_offset))
        end = (node.end_lineno, _column(lines, node.end_lineno, node.end_col_offset or 0))
        if not any(start <= (line, column) <= end for line, column in places):
            continue
        margin = lines[start[0] - 1][: start[1] - 1]
        behind = lines[end[0] - 1][end[1] - 1 :]
        if margin.strip() or behind.strip():
            continue
        whole = _between(lines, start, end)
        value = node.value
        value_start = (value.lineno, _column(lines, value.lineno, value.col_offset))
        value_end = (
            value.end_lineno or value.lineno,
            _column(lines, value.end_lineno or value.lineno, value.end_col_offset or 0),
        )
        statement = Statement(
            whole,
            margin,
            _between(lines, start, value_start),
            _between(lines, value_start, value_end),
            _between(lines, value_end, end),
        )
        found[start[0]] = (statement, start[0] - 1, end[0] - 1)
    return [found[line] for line in sorted(found, reverse=True)]


def _column(lines: list[str], line: int, offset: int) -> int:
    return len(lines[line - 1].encode()[:offset].decode()) + 1


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] - 1 : end[1] - 1]
    middle = lines[start[0] : end[0] - 1]
    return "\n".join(
        [lines[start[0] - 1][start[1] - 1 :], *middle, lines[end[0] - 1][: end[1] - 1]]
    )
