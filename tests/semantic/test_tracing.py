"""Which functions surely run on tracers: each way to trace one, and each way not to."""

import libcst as cst
import pytest

from placement_lint.jaxmodel.tracing import TraceKind
from placement_lint.semantic.tracing import TracedBy, TracedFunctions
from tests.rules.helpers import code, context, marked

EVERY = frozenset(TraceKind)


def around(text: str) -> TracedBy | None:
    ctx = context(text)
    return ctx.module.fact(TracedFunctions).around(marked(ctx), EVERY)


@pytest.mark.parametrize(
    ("text", "by", "certain"),
    [
        ("@jax.jit\ndef f(): here()", "jax.jit", True),
        ("@jax.jit\nasync def f(): here()", "jax.jit", True),
        ("@partial(jax.jit, static_argnums=0)\ndef f(): here()", "jax.jit", True),
        ("@jax.jit(donate_argnums=0)\ndef f(): here()", "jax.jit", True),
        ("@other\n@jax.jit\ndef f(): here()", "jax.jit", True),
        ("class C:\n    @jax.jit\n    def m(self): here()", "jax.jit", True),
        ("@jax.jit\ndef f[T](x: T): here()", "jax.jit", True),
        ("def _f(): here()\ng = jax.jit(_f)", "jax.jit", True),
        ("def f(): here()\ng = jax.jit(f)", "jax.jit", False),
        ("def g():\n    def f(): here()\n    return jax.jit(f)", "jax.jit", True),
        ("jax.jit(lambda x: here())", "jax.jit", True),
        ("f = lambda x: here()\njax.jit(f)", "jax.jit", True),
        ("def _f(): here()\njax.jit(jax.vmap(_f))", "jax.", True),
        ("def _f(): here()\njax.lax.scan(_f, 0, xs)", "jax.lax.scan", True),
        ("def _f(): here()\njax.lax.cond(p, _f, _g)", "jax.lax.cond", True),
        ("def _f(): here()\njax.lax.switch(i, [_g, _f])", "jax.lax.switch", True),
        ("def _f(): here()\njax.jit(partial(_f, 1))", "jax.jit", True),
        ("class C:\n    def _m(self): here()\n    def n(self): jax.jit(self._m)", "jax.jit", True),
        ("@jax.jit\ndef f():\n    def g(): here()\n    return g()", "jax.jit", True),
        ("@jax.jit\ndef f():\n    return jax.tree.map(lambda x: here(), t)", "jax.jit", True),
        ("@jax.jit\ndef f():\n    return [here() for x in y]", "jax.jit", True),
        ("@jax.jit\ndef f():\n    if (x := here()): pass", "jax.jit", True),
        ("@jax.jit\ndef f(x):\n    match x:\n        case 1: here()", "jax.jit", True),
        ("@jax.jit\ndef f():\n    try: pass\n    finally: here()", "jax.jit", True),
        ("@jax.jit\ndef f():\n    _g()\ndef _g(): here()\njax.vmap(_g)", "jax.vmap", True),
        ("def _f(n): _f(n - 1); here()\njax.jit(_f)", "jax.jit", True),
    ],
)
def test_traced(text: str, by: str, certain: bool) -> None:
    found = around(text)
    assert found is not None
    assert found.tracing.name.startswith(by)
    assert found.is_certain == certain


@pytest.mark.parametrize(
    "text",
    [
        "here()",
        "def f(): here()",
        "@other\ndef f(): here()",
        "@jax.jit\ndef f(x=here()): pass",
        "@jax.jit\n@other(here())\ndef f(): pass",
        "def _f(): here()\njax.jit(_f)\n_f()",
        "def _f(): here()\nif c: _f = other\njax.jit(_f)",
        "def _f(): here()\ndef _f(): pass\njax.jit(_f)",
        "def _f(): here()\njax.jit(_f())",
        "def _f(): here()\njax.jit(_f.g)",
        "def f(jax):\n    @jax.jit\n    def g(): here()",
        "class jax:\n    jit = staticmethod(lambda f: f)\n@jax.jit\ndef f(): here()",
        "@jax.jit\ndef f():\n    jax.pure_callback(lambda: here(), s)",
        "@jax.jit\ndef f():\n    def g(): here()\n    register(g)",
        "@jax.jit\ndef f():\n    return lambda: here()",
        "@jax.jit\ndef f():\n    @other\n    def g(): here()\n    g()",
        "class C:\n    def m(self): here()\n    def n(self, o): jax.jit(o.m)",
        "class C:\n    @jax.default_device(d)\n    def m(self): here()",
        "jit = lambda f: f\n@jit\ndef f(): here()",
        "'''\n@jax.jit\ndef f(): here()\n'''\nhere()",
        "@jax.jit\ndef f():\n    def g(): here()\n    class C(Base, made_by=g): pass",
        "class C:\n    def m(s, o): s.f = o.f = lambda: here()\n    def n(s): jax.jit(s.f)",
    ],
)
def test_not_surely_traced(text: str) -> None:
    assert around(text) is None


def test_kinds_are_told_apart() -> None:
    ctx = context("def _f(): here()\njax.eval_shape(_f)\n")
    traced = ctx.module.fact(TracedFunctions)
    found = traced.around(marked(ctx), EVERY)
    assert found is not None
    others = EVERY - {found.tracing.kind}
    assert traced.around(marked(ctx), others) is None
    assert traced.around(marked(ctx), frozenset({found.tracing.kind})) == found


def test_a_function_may_be_traced_in_several_ways() -> None:
    ctx = context("@jax.jit\ndef f(): pass\njax.vmap(f)\njax.grad(f)\n")
    function = next(ctx.tree.every(cst.FunctionDef))
    names = [each.tracing.name for each in ctx.module.fact(TracedFunctions).of(function)]
    assert names == ["jax.jit", "jax.vmap", "jax.grad"]
    assert ctx.module.fact(TracedFunctions).of(ctx.tree.module) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("here(jax.jit)", "jax.jit"), ("here(jax.jit(f))", "jax.jit"),
        ("here(partial(jax.jit, x=1))", "jax.jit"), ("here(other)", None),
        ("here(partial())", None), ("here(f().g)", None), ("here(jax.numpy.zeros)", None),
    ],
)  # fmt: skip
def test_what_a_decorator_traces_with(text: str, name: str | None) -> None:
    ctx = context(text)
    tracing = ctx.module.fact(TracedFunctions).tracing(marked(ctx).args[0].value)
    assert (None if tracing is None else tracing.name) == name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(): pass\nhere(jax.jit(f))", "f"),
        ("def f(): pass\nhere(jax.vmap(partial(jax.grad(f), 1)))", "f"),
        ("here(jax.jit(lambda: 7))", "lambda: 7"),
        ("def f(): pass\nhere(jax.lax.cond(p, f, f))", None),
        ("def f(): pass\nhere(other(f))", None),
        ("here(jax.jit(*fs))", None),
    ],
)
def test_the_function_in_what_traces_it(text: str, expected: str | None) -> None:
    ctx = context(text)
    found = ctx.module.fact(TracedFunctions).definition(marked(ctx).args[0].value)
    assert (found.name.value if isinstance(found, cst.FunctionDef) else code(found)) == expected
