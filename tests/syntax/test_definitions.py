"""Which function an expression stands for: each way to name one, and each way to be unsure."""

from __future__ import annotations

import textwrap

import libcst as cst
import pytest

from placement_lint.syntax.definitions import Function, function_of, named_function
from placement_lint.syntax.names import Names
from placement_lint.syntax.tree import Tree

HEAD = "import functools\nfrom functools import partial\nimport jax\n"


def looked_at(text: str) -> tuple[cst.BaseExpression, Names]:
    """Give the argument of the last call of `look` in a text."""
    tree = Tree(cst.parse_module(HEAD + textwrap.dedent(text)))
    calls = [
        node
        for node in tree.every(cst.Call)
        if isinstance(node.func, cst.Name) and node.func.value == "look"
    ]
    return calls[-1].args[0].value, Names(tree)


def answer(found: Function | None) -> str | None:
    """Say which function was found: a name, or what a lambda gives."""
    if isinstance(found, cst.Lambda):
        return cst.Module([]).code_for_node(found.body)
    return None if found is None else found.name.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("look(lambda: 7)", "7"),
        ("def f(): ...\nlook(f)", "f"),
        ("async def f(): ...\nlook(f)", "f"),
        ("@deco\ndef f(): ...\nlook(f)", "f"),
        ("if c:\n    def f(): ...\nlook(f)", "f"),
        ("def f[T](): ...\nlook(f)", "f"),
        ("f = lambda: 7\nlook(f)", "7"),
        ("f: object = lambda: 7\nlook(f)", "7"),
        ("def g():\n    def f(): ...\n    def h():\n        look(f)", "f"),
        ("def f(): ...\n[look(f) for x in y]", "f"),
        ("def f(): ...\ndef g(x=look(f)): ...", "f"),
        ("class C:\n    def f(): ...\n    look(f)", "f"),
    ],
)
def test_a_name_of_a_function(text: str, expected: str) -> None:
    node, names = looked_at(text)
    assert answer(named_function(node, names)) == expected
    assert answer(function_of(node, names)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "look(f)",
        "look(len)",
        "look(f())",
        "look(a or b)",
        "def f(): ...\ndef f(): ...\nlook(f)",
        "if c:\n    def f(): ...\nelse:\n    f = None\nlook(f)",
        "try:\n    from m import f\nexcept ImportError:\n    def f(): ...\nlook(f)",
        "def f(): ...\nf = deco(f)\nlook(f)",
        "def f(): ...\nfor f in fs: look(f)",
        "def f(): ...\n(f := g)\nlook(f)",
        "def f(): ...\ndel f\nlook(f)",
        "def f(): ...\ndef g(f):\n    look(f)",
        "def f(): ...\n[look(f) for f in fs]",
        "def f(): ...\nlook(lambda f: f)\nlambda f: look(f)",
        "def f(): ...\nwith c as f: look(f)",
        "def f(): ...\nmatch v:\n    case {'f': f}: look(f)",
        "def f(): ...\ndef g():\n    global f\n    f = h\nlook(f)",
        "class f: ...\nlook(f)",
        "f, g = lambda: 1, lambda: 2\nlook(f)",
        "class C:\n    def f(self): ...\n    def g(self): look(f)",
    ],
)
def test_no_name_of_one_function(text: str) -> None:
    node, names = looked_at(text)
    assert named_function(node, names) is None
    assert function_of(node, names) is None


@pytest.mark.parametrize(
    "text",
    [
        "def g(self): look(self.m)",
        "def g(this): look(this.m)",
        "def g(self, /): look(self.m)",
        "async def g(self): look(self.m)",
        "@classmethod\n    def g(cls): look(cls.m)",
        "@property\n    def g(self): return look(self.m)",
        "def g(self): return lambda: look(self.m)",
        "def g(self): return [look(self.m) for x in self.xs]",
        "def g(self):\n        def inner(x):\n            look(self.m)",
        "def g[T](self: T): look(self.m)",
    ],
)
def test_a_method_of_the_class_around(text: str) -> None:
    node, names = looked_at(f"class C(B):\n    def m(self): ...\n    {text}\n")
    assert answer(function_of(node, names)) == "m"
    assert named_function(node, names) is None


@pytest.mark.parametrize(
    "text",
    [
        "class C:\n    def m(self): ...\n    def g(self, other): look(other.m)",
        "class C:\n    def m(self): ...\n    def g(self): look(self.missing)",
        "class C:\n    def m(self): ...\n    def g(self): look(self.m.n)",
        "class C:\n    def m(self): ...\n    def g(self):\n        self = d\n        look(self.m)",
        "class C:\n    def m(self): ...\n    def g(self):\n        lambda self: look(self.m)",
        "class C:\n    def m(self): ...\n    @staticmethod\n    def g(self): look(self.m)",
        "class C:\n    def m(self): ...\n    def g(): look(self.m)",
        "class C:\n    def m(self): ...\n    def g(*self): look(self.m)",
        "class C:\n    def m(self): ...\n    m = jax.jit(m)\n    def g(self): look(self.m)",
        "class C:\n    if c:\n        def m(self): ...\n    else:\n        m = None\n"
        "    def g(self): look(self.m)",
        "class C:\n    m: object\n    def g(self): look(self.m)",
        "class C:\n    class m: ...\n    def g(self): look(self.m)",
        "class C:\n    def m(self): ...\ndef g(self): look(self.m)",
        "class C:\n    def m(self): ...\n    class D:\n        def g(self): look(self.m)",
        "self = C()\nlook(self.m)",
        "class C:\n    def m(self): ...\n    def g(self): look(super().m)",
    ],
)
def test_no_method_that_is_known(text: str) -> None:
    node, names = looked_at(text)
    assert function_of(node, names) is None


_BASE = "class C:\n    def m(self): ...\n    def g(self): look(self.m)\n"


@pytest.mark.parametrize(
    "others",
    [
        "class D(C):\n    def m(self): ...",
        "class D(C):\n    m = None",
        "class D(C): ...\nclass E(D):\n    def m(self): ...",
        "class D(C): ...\nclass E(C):\n    def m(self): ...",
        "class D(Mixin, C):\n    def m(self): ...",
    ],
)
def test_a_method_that_derived_classes_may_override(others: str) -> None:
    node, names = looked_at(f"{_BASE}{others}\n")
    assert function_of(node, names) is None
    assert answer(function_of(node, names, or_overriding=True)) == "m"


@pytest.mark.parametrize(
    "others",
    [
        "class D(C):\n    def other(self): ...",
        "class D(B):\n    def m(self): ...",
        "class D(C):\n    class E:\n        def m(self): ...",
        "class D:\n    def m(self): ...",
    ],
)
def test_a_method_that_no_derived_class_overrides(others: str) -> None:
    node, names = looked_at(f"{_BASE}{others}\n")
    assert answer(function_of(node, names)) == "m"


def test_the_own_method_of_a_derived_class() -> None:
    node, names = looked_at(
        "class C:\n    def m(self): ...\nclass D(C):\n    def m(self): 8\n"
        "    def g(self): look(self.m)\n"
    )
    assert function_of(node, names) is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(): ...\nlook(partial(f, 1))", "f"),
        ("def f(): ...\nlook(functools.partial(func=f))", "f"),
        ("def f(): ...\nlook(partial(partial(f, 1), 2))", "f"),
        ("look(partial(lambda x: 7, 1))", "7"),
        ("def f(): ...\nlook(partial(f, *args, **kwargs))", "f"),
        ("class C:\n    def m(self): ...\n    def g(self): look(partial(self.m, 1))", "m"),
        ("def f(): ...\nlook(jax.jit(f))", None),
        ("def f(): ...\nlook(partial(*f))", None),
        ("def f(): ...\nlook(partial())", None),
        ("def partial(f): ...\ndef f(): ...\nlook(partial(f))", None),
    ],
)
def test_through_partial(text: str, expected: str | None) -> None:
    node, names = looked_at(text)
    assert answer(function_of(node, names)) == expected
    assert named_function(node, names) is None


def test_through_other_calls() -> None:
    node, names = looked_at("def f(): ...\nlook(jax.vmap(partial(jax.jit(fun=f), 1)))")
    assert answer(function_of(node, names, {"jax.jit", "jax.vmap"})) == "f"
    assert function_of(node, names, {"jax.vmap"}) is None


def test_endless_nesting_ends() -> None:
    node, names = looked_at("def f(): ...\nlook(" + "partial(" * 20 + "f" + ")" * 20 + ")")
    assert function_of(node, names) is None
