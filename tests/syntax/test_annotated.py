"""Annotated targets in parentheses, which LibCST does not know."""

import ast

import libcst as cst
import pytest

from placement_lint.syntax.annotated import without_parentheses


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("(x): int\n", "x  : int\n"),
        ("(x): int = 3", "x  : int = 3"),
        ("( ((x)) ) : int = 3\r\n", "x         : int = 3\r\n"),
        ("(a.b): int\n", "a.b  : int\n"),
        ("(a[(0)]): int = 1\n", "a[(0)]  : int = 1\n"),
        ("class A:\n\t(x): 'int'\n", "class A:\n\tx  : 'int'\n"),
        ("if y: (x): int = f(1)\n", "if y: x  : int = f(1)\n"),
        ("é = 1; (x): int; (ö): int = 2\n", "é = 1; x  : int; ö  : int = 2\n"),
        ("(x): (int) = (yield)\n", "x  : (int) = (yield)\n"),
        ("(x): Dict[\n    int] = {\n}\n(y): int\n", "x  : Dict[\n    int] = {\n}\ny  : int\n"),
    ],
)
def test_the_target_stands_alone(text: str, after: str) -> None:
    assert without_parentheses(text) == after
    assert len(text) == len(after)
    assert cst.parse_module(after).code == after
    ast.parse(after)


@pytest.mark.parametrize(
    "text",
    [
        "x: int\n",
        "(a).b: int\n",
        "(f)(x).y: int = 1\n",
        "f(x)\n",
        "lambda x: (x)\n",
        "x = {(y): z}\n",
        "(x)[0]: int\n",
        "(x): int = (\n",  # not Python
        "(\n x\n): int\n",
        '"""\n(x): int\n"""\n',
        "",
    ],
)
def test_what_is_left_as_it_is(text: str) -> None:
    assert without_parentheses(text) is None
