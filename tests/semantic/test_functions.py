"""What runs when a function is called, and the methods that are called on a result."""

import libcst as cst
import pytest

from placement_lint.semantic.functions import calls_inside, method_calls_on_result
from placement_lint.syntax.definitions import function_of
from tests.rules.helpers import code, context, marked


def inside(text: str) -> list[str | None]:
    """Return what is called when the argument of `here` is called."""
    ctx = context(text)
    function = function_of(marked(ctx).args[0].value, ctx.names)
    assert function is not None
    return [code(call.func) for call in calls_inside(function, ctx)]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("def f():\n    a()\n    b(c())\nhere(f)", ["a", "b", "c"]),
        ("here(lambda x: a(x))", ["a"]),
        ("here(partial(lambda: a()))", ["a"]),
        ("f = lambda: a()\nhere(f)", ["a"]),
        ("async def f():\n    async with a(): await b()\nhere(f)", ["a", "b"]),
        ("def f():\n    if (x := a()): return [b() for _ in c()]\nhere(f)", ["a", "b", "c"]),
        ("def f():\n    match a():\n        case 1 if b(): c()\nhere(f)", ["a", "b", "c"]),
        ("def f():\n    try: a()\n    except E: b()\n    finally: c()\nhere(f)", ["a", "b", "c"]),
        ("def f():\n    g()\ndef g():\n    a()\nhere(f)", ["g", "a"]),
        ("def f():\n    g()\ndef g():\n    f()\nhere(f)", ["g", "f"]),
        ("def f():\n    f()\nhere(f)", ["f"]),
        ("def f():\n    def g(): a()\n    b()\nhere(f)", ["b"]),
        ("def f():\n    def g(): a()\n    g()\nhere(f)", ["g", "a"]),
        ("def f():\n    lambda: a()\nhere(f)", []),
        ("def f():\n    map(lambda x: a(x), y)\nhere(f)", ["map", "a"]),
        ("def f():\n    each(key=g)\ndef g(): a()\nhere(f)", ["each", "a"]),
        ("def f():\n    g()\n@deco\ndef g(): a()\nhere(f)", ["g"]),
        ("def f(x=a()):\n    b()\nhere(f)", ["b"]),
        ("def f():\n    class C:\n        x = a()\nhere(f)", ["a"]),
        ("def f(*a, **k):\n    g(*a, **k)\ndef g(*a): b(*a)\nhere(f)", ["g", "b"]),
        (
            "class C:\n    def m(self):\n        self.n()\n    def n(self): a()\n"
            "    def o(self): here(self.m)",
            ["self.n", "a"],
        ),
    ],
)
def test_what_runs(text: str, calls: list[str]) -> None:
    assert inside(text) == calls


def test_long_chains_end() -> None:
    text = "".join(f"def f{i}():\n    f{i + 1}()\n" for i in range(200)) + "here(f0)\n"
    assert 60 < len(inside(text)) < 70


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("with here() as p:\n    p.a(1)\n    p.b.c(2)\n    d(p)", ["p.a(1)"]),
        ("with x, here() as p: p.a()", ["p.a()"]),
        ("async def f():\n    async with here() as p: await p.a()", ["p.a()"]),
        ("with here() as p: pass\np.a()", []),
        ("with here() as p:\n    def f(): p.a()\n    [p.b() for _ in x]", ["p.a()", "p.b()"]),
        ("p = here()\np.a()\ndef f(): p.b()", ["p.a()", "p.b()"]),
        ("p = q = here()\np.a()\nq.b()", ["p.a()", "q.b()"]),
        ("p = here()\ndef f(p): p.a()", []),
        ("def f():\n    p = here()\n    p.a()\np.b()", ["p.a()"]),
        ("p = here()\np.a\np()", []),
        ("self.p = here()\nself.p.a()", []),
        ("with here() as (p, q): p.a()", []),
        ("here().a()", []),
        ("p = [here()]\np.a()", []),
    ],
)
def test_methods_of_a_result(text: str, calls: list[str]) -> None:
    ctx = context(text)
    assert [code(each) for each in method_calls_on_result(marked(ctx), ctx)] == calls


def test_the_blocks_of_one_name_are_told_apart() -> None:
    ctx = context("with first() as p: p.a()\nwith here() as p: p.b()\nwith last() as p: p.c()\n")
    found = [method_calls_on_result(marked(ctx, name), ctx) for name in ("first", "here", "last")]
    assert [[code(each) for each in calls] for calls in found] == [["p.a()"], ["p.b()"], ["p.c()"]]


def test_no_function_of_something_else() -> None:
    ctx = context("here(f())\n")
    assert function_of(marked(ctx).args[0].value, ctx.names) is None
    assert function_of(None, ctx.names) is None
    assert isinstance(
        function_of(cst.Lambda(cst.Parameters(), cst.Name("a")), ctx.names), cst.Lambda
    )
