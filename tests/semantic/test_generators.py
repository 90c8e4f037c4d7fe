"""What suspends a function, and what only looks as if it did."""

import libcst as cst
import pytest

from placement_lint.semantic.generators import kind_of, suspensions
from placement_lint.syntax.definitions import is_generator
from placement_lint.syntax.names import Names
from placement_lint.syntax.tree import Tree
from tests.rules.helpers import code


def function(body: str, head: str = "def f():") -> tuple[cst.FunctionDef, Names]:
    lines = "\n".join("    " + line for line in body.split("\n"))
    module = cst.parse_module(f"{head}\n{lines}\n")
    (statement,) = module.body
    assert isinstance(statement, cst.FunctionDef)
    return statement, Names(Tree(module))


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
    node, names = function(body)
    assert [code(each) for each in suspensions(node.body)] == expected
    assert is_generator(node, names) == bool(expected)
    assert kind_of(node, names) == ("a generator" if expected else None)


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
    node, names = function(body, "async def f():")
    assert [type(each).__name__ for each in suspensions(node.body)] == kinds
    assert not is_generator(node, names)
    assert kind_of(node, names) == "a coroutine"


def test_a_function_that_does_both() -> None:
    node, names = function("await x\nyield 1", "async def f():")
    assert kind_of(node, names) == "an asynchronous generator"


def test_a_generator_stays_one_when_it_is_decorated_or_a_method() -> None:
    text = "class C:\n    @deco(lambda: (yield))\n    def m[T](self, *a, **k):\n        yield T\n"
    module = cst.parse_module(text)
    (owner,) = module.body
    assert isinstance(owner, cst.ClassDef)
    (method,) = owner.body.body
    assert isinstance(method, cst.FunctionDef)
    assert kind_of(method, Names(Tree(module))) == "a generator"
