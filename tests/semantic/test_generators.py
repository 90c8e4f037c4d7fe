"""What suspends a function, and what only looks as if it did."""

import libcst as cst
import pytest

from placement_lint.semantic.generators import is_generator, kind_of, suspensions
from tests.rules.helpers import code


def function(body: str, head: str = "def f():") -> cst.FunctionDef:
    lines = "\n".join("    " + line for line in body.split("\n"))
    (statement,) = cst.parse_module(f"{head}\n{lines}\n").body
    assert isinstance(statement, cst.FunctionDef)
    return statement


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("yield", ["yield"]),
        ("yield from g()", ["yield from g()"]),
        ("x = yield 1\ny = yield 2", ["yield 1", "yield 2"]),
        ("return (yield)", ["(yield)"]),
        ("if c:\n    yield 1\nelse:\n    yield 2", ["yield 1", "yield 2"]),
        ("try:\n    yield 1\nfinally:\n    yield 2", ["yield 1", "yield 2"]),
        ("with a: yield 1", ["yield 1"]),
        ("match v:\n    case 1:\n        yield 1", ["yield 1"]),
        ("if (x := (yield 1)): pass", ["(yield 1)"]),
        ("f(*(yield 1), **(yield 2))", ["(yield 1)", "(yield 2)"]),
        ("yield (yield 1)", ["yield (yield 1)", "(yield 1)"]),
        ("def g(x=(yield 1)): pass", ["(yield 1)"]),
        ("@(yield 1)\ndef g(): pass", ["(yield 1)"]),
        ("lambda x=(yield 1): x", ["(yield 1)"]),
        ("class C((yield 1)): pass", ["(yield 1)"]),
        ("g = (x for x in (yield 1))", ["(yield 1)"]),
        ("def g():\n    yield 1", []),
        ("async def g():\n    await x", []),
        ("lambda: (yield 1)", []),
        ("g = (x for x in y)", []),
        ("class C:\n    def m(self): yield", []),
        ("x = 'yield'", []),
    ],
)
def test_yield(body: str, expected: list[str]) -> None:
    node = function(body)
    assert [code(each) for each in suspensions(node.body)] == expected
    assert is_generator(node) == bool(expected)
    assert kind_of(node) == ("a generator" if expected else None)


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        ("await g()", ["Await"]),
        ("async for x in y: pass", ["For"]),
        ("async with a, b: pass", ["With"]),
        ("return [x async for x in y]", ["CompFor"]),
        ("return [await x for x in y]", ["Await"]),
        ("async for x in await y: pass", ["For", "Await"]),
        ("return (await x for x in y)", []),
        ("return (x async for x in y)", []),
        ("for x in y: pass", []),
        ("async def g():\n    await x", []),
    ],
)
def test_await(body: str, kinds: list[str]) -> None:
    node = function(body, "async def f():")
    assert [type(each).__name__ for each in suspensions(node.body)] == kinds
    assert not is_generator(node)
    assert kind_of(node) == "a coroutine"


def test_a_function_that_does_both() -> None:
    node = function("await x\nyield 1", "async def f():")
    assert kind_of(node) == "an asynchronous generator"


def test_a_generator_stays_one_when_it_is_decorated_or_a_method() -> None:
    text = "class C:\n    @deco(lambda: (yield))\n    def m[T](self, *a, **k):\n        yield T\n"
    (owner,) = cst.parse_module(text).body
    assert isinstance(owner, cst.ClassDef)
    (method,) = owner.body.body
    assert isinstance(method, cst.FunctionDef)
    assert kind_of(method) == "a generator"
