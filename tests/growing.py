"""Programs that grow: the example of a rule's page, many times, in every surrounding.

The names that an example binds get a number each, of a fixed width, so that ten times as many
examples are ten times as much text and ten times as many variables.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.rules.base import Rule

_EXAMPLE = re.compile(r"^## Example\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Example:
    """The example of a rule, in parts that can be repeated."""

    def __init__(self, rule: type[Rule]) -> None:
        found = _EXAMPLE.search(inspect.cleandoc(rule.__doc__ or ""))
        assert found is not None, rule.code
        lines = found[1].split("\n")
        imports: list[str] = []
        body: list[str] = []
        names: set[str] = set()
        tree = ast.parse(found[1])
        for statement in tree.body:
            decorators = getattr(statement, "decorator_list", [])
            first = min(node.lineno for node in (statement, *decorators))
            part = imports if isinstance(statement, ast.Import | ast.ImportFrom) else body
            part += lines[first - 1 : statement.end_lineno]
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                names.add(node.id)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.arg):
                names.add(node.arg)
        self.whole = found[1]
        self.imports = "\n".join(imports) + "\n"
        self.body = "\n".join(body) + "\n"
        self._names = names

    def numbered(self, number: int) -> str:
        """Give the body with names of its own."""
        return re.sub(
            r"(?<![\w.\"'])[A-Za-z_]\w*\b(?![\"'])",
            lambda match: f"{match[0]}_{number:04}" if match[0] in self._names else match[0],
            self.body,
        )


def in_functions(example: Example, size: int) -> str:
    """Functions that hold an example each."""
    body = textwrap.indent(example.body, "    ")
    return example.imports + "".join(f"def f{i:04}():\n{body}" for i in range(size))


def in_methods(example: Example, size: int) -> str:
    """Methods of one class, which set attributes and call one of their kind."""
    body = textwrap.indent(example.body, "        ")
    methods = (
        f"    def m{i:04}(self, x=None):\n"
        f"        self.a{i:04} = self.m0000(self.a{i - 1:04})\n{body}"
        for i in range(1, size + 1)
    )
    return f"{example.imports}class C:\n    def m0000(self, x): return x\n{''.join(methods)}"


def in_one_function(example: Example, size: int) -> str:
    """Statements of one function."""
    body = "".join(textwrap.indent(example.numbered(i), "    ") for i in range(size))
    return f"{example.imports}def f():\n{body}"


def at_module_level(example: Example, size: int) -> str:
    """Statements of the module, with names of their own."""
    return example.imports + "".join(example.numbered(i) for i in range(size))


def over_again(example: Example, size: int) -> str:
    """Repeat the text, imports and all: every name is bound many times."""
    return example.whole * size


def in_one_loop(example: Example, size: int) -> str:
    """Statements of one loop."""
    body = "".join(textwrap.indent(example.numbered(i), "    ") for i in range(size))
    return f"{example.imports}for each in range(3):\n{body}"


def over_again_in_a_loop(example: Example, size: int) -> str:
    """Repeat the text in one loop, where every name is also read many times."""
    return f"for each in range(3):\n{textwrap.indent(example.whole * size, '    ')}"


def at_the_bottom_of_blocks(example: Example, size: int) -> str:
    """Put each example into eight blocks inside of one another."""
    text = example.imports
    for number in range(size):
        text += "".join(f"{' ' * depth}if c{number:04}:\n" for depth in range(8))
        text += textwrap.indent(example.numbered(number), " " * 8)
    return text


SHAPES: dict[str, Callable[[Example, int], str]] = {
    "functions": in_functions,
    "methods": in_methods,
    "one function": in_one_function,
    "module": at_module_level,
    "over again": over_again,
    "one loop": in_one_loop,
    "over again in a loop": over_again_in_a_loop,
    "blocks": at_the_bottom_of_blocks,
}
