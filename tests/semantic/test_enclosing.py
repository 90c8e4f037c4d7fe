"""What stands around a node: tests, handlers, exits, and where a function ends."""

import libcst as cst
import pytest

from placement_lint.semantic.enclosing import (
    ancestors_in_function,
    enclosing_tries,
    failure_is_expected,
    is_asserted_to_fail,
    is_caught,
    is_in_test,
    passed_exits,
)
from placement_lint.semantic.leaving import leaves
from tests.rules.helpers import code, context, marked

ERRORS = frozenset({"builtins.RuntimeError", "builtins.Exception"})


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    here()\nexcept RuntimeError: pass",
        "try:\n    here()\nexcept (OSError, RuntimeError) as e: pass",
        "try:\n    here()\nexcept: pass",
        "try:\n    here()\nexcept Exception: pass",
        "try:\n    here()\nexcept* RuntimeError: pass",
        "try:\n    here()\nexcept OSError: pass\nexcept RuntimeError: pass",
        "try:\n    try:\n        here()\n    except OSError: pass\nexcept RuntimeError: pass",
        "try:\n    if c:\n        for x in y:\n            with z: here()\nexcept: pass",
        "try:\n    x = [here() for x in y]\nexcept RuntimeError: pass",
        "try:\n    def f(x=here()): pass\nexcept RuntimeError: pass",
        "try:\n    @here()\n    def f(): pass\nexcept RuntimeError: pass",
        "try:\n    class C:\n        x = here()\nexcept RuntimeError: pass",
        "with contextlib.suppress(RuntimeError): here()",
        "with a, contextlib.suppress(OSError, RuntimeError): here()",
        "Failure = RuntimeError\ntry:\n    here()\nexcept Failure: pass",
        "Failures = (OSError, RuntimeError)\ntry:\n    here()\nexcept Failures: pass",
        "A = (OSError,)\nB = A + (RuntimeError,)\ntry:\n    here()\nexcept (*B, KeyError): pass",
        "Failures = (RuntimeError,)\nwith contextlib.suppress(*Failures): here()",
        # Nobody knows what these are.
        "def f(kinds):\n    try:\n        here()\n    except kinds: pass",
        "try:\n    here()\nexcept errors: pass",
        "from failures import TOLERATED\ntry:\n    here()\nexcept TOLERATED: pass",
        # All calls of a small function are there.
        "def f(): return here()\ntry:\n    f()\nexcept RuntimeError: pass",
        "def f():\n    x\n    here()\nwith contextlib.suppress(RuntimeError): y = f()",
        "def f(): here()\ndef g(): f()\ntry:\n    g()\nexcept: pass\ntry:\n    g()\nexcept: pass",
        "class C:\n    def f(self): here()\n    def g(self):\n        try:\n            self.f()\n"
        "        except RuntimeError: pass",
        "class C:\n    @staticmethod\n    def f(): here()\ntry:\n    C.f()\nexcept: pass",
    ],
)
def test_caught(text: str) -> None:
    ctx = context(text)
    assert is_caught(marked(ctx), ctx, ERRORS)


@pytest.mark.parametrize(
    "text",
    [
        "here()",
        "try:\n    here()\nexcept OSError: pass",
        "try:\n    here()\nfinally: pass",
        "try:\n    x\nexcept RuntimeError: here()",
        "try:\n    x\nexcept RuntimeError: pass\nelse: here()",
        "try:\n    x\nexcept RuntimeError: pass\nfinally: here()",
        "try:\n    def f():\n        here()\nexcept RuntimeError: pass",
        "try:\n    f = lambda: here()\nexcept RuntimeError: pass",
        "with contextlib.suppress(OSError): here()",
        "with contextlib.suppress(RuntimeError): pass\nhere()",
        "with contextlib.suppress(RuntimeError):\n    def f(): here()",
        "with suppress(RuntimeError): here()",
        "class RuntimeError(Exception): pass\ntry:\n    here()\nexcept RuntimeError: pass",
        "Failures = (OSError, KeyError)\ntry:\n    here()\nexcept Failures: pass",
        "from failures import Failure\ntry:\n    here()\nexcept Failure: pass",
        "class Failure(Exception): pass\ntry:\n    here()\nexcept Failure: pass",
        "def f(g): g()\nf(lambda: here())",
        "def f(): here()\ntry:\n    f()\nexcept RuntimeError: pass\nf()",
        "def f(): here()\ntry:\n    f()\nexcept OSError: pass",
        "def f(): here()\ntry:\n    g(f)\nexcept RuntimeError: pass",
        "def f(): here()\ntry:\n    f()\nexcept RuntimeError: pass\ng = f",
        "def f(): here() or f()",
        "@register\ndef f(): here()\ntry:\n    f()\nexcept RuntimeError: pass",
        "class C:\n    def f(self): here()\n    g = property(f)\ntry:\n    C().f()\nexcept: pass",
        "def f():\n    a\n    b\n    c\n    here()\ntry:\n    f()\nexcept RuntimeError: pass",
        "def f(): here()\ntry:\n    a\n    b\n    c\n    f()\nexcept RuntimeError: pass",
    ],
)
def test_not_caught(text: str) -> None:
    ctx = context(text)
    assert not is_caught(marked(ctx), ctx, ERRORS)


def test_tries_from_the_inside() -> None:
    ctx = context(
        "try:\n  def f():\n    try:\n      try: here()\n      finally: a\n    except B: pass\n"
        "except C: pass\n"
    )
    found = [
        [code(handler.type) for handler in each.handlers]
        for each in enclosing_tries(marked(ctx), ctx)
    ]
    assert found == [[], ["B"]]


@pytest.mark.parametrize(
    ("text", "exits"),
    [
        ("if a: raise E\nhere()", ["a"]),
        ("def f():\n    if a:\n        x\n        return\n    here()", ["a"]),
        ("if a: raise E\ndef f():\n    if b: return\n    here()", ["b", "a"]),
        ("for x in y:\n    if a: continue\n    if b: break\n    here()", ["a", "b"]),
        ("if a: x\nhere()", []),
        ("here()\nif a: raise E", []),
        ("if a: raise E\nelif b: return_()\nhere()", ["a"]),
        ("if a:\n    x\nelse: raise E\nhere()", []),
        ("if a: raise here()", []),
        ("if a:\n    raise E\nelse:\n    here()", []),
        ("for x in y:\n    if a: break\nhere()", []),
        ("try:\n    if a: raise E\n    here()\nfinally: pass", ["a"]),
        ("match v:\n    case 1:\n        if a: raise E\n        here()", ["a"]),
        ("class C:\n    if a: raise E\n    x = here()", ["a"]),
        ("if a: raise E\nlambda: here()", ["a"]),
    ],
)
def test_exits_above(text: str, exits: list[str]) -> None:
    ctx = context(text)
    assert [code(each.test) for each in passed_exits(marked(ctx), ctx)] == exits


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return", True), ("raise", True), ("x; break", True), ("continue", True), ("x", False),
        ("return; x", False), ("if b: return", False), ("...", False),
        ("import sys; sys.exit(1)", True), ("parser.error(x)", True), ("log.error(x)", False),
        ("raises(x)", True), ("warns(x)", False), ("again(x)", False), ("(lambda: 1)()", False),
    ],
)  # fmt: skip
def test_leaving(body: str, expected: bool) -> None:
    head = "def raises(e): raise e\ndef warns(e):\n    if e: raise e\ndef again(e): again(e)\n"
    ctx = context(f"for x in y:\n    if a:\n        {body}\n", head=head)
    first = next(ctx.tree.every(cst.For)).body.body[0]
    assert isinstance(first, cst.If)
    assert leaves(first.body, ctx) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import pytest\nwith pytest.raises(E): here()", True),
        ("import pytest as p\nwith p.raises(E) as info: here()", True),
        ("from pytest import raises\nwith raises(E): x, here()", True),
        ("import pytest\nwith pytest.warns(W), other: here()", True),
        ("def f(self):\n    with self.assertRaises(E): here()", True),
        ("def f(self):\n    with self.assertRaisesRegex(E, 'x'): here()", True),
        ("import pytest\nwith pytest.raises(E):\n    @here()\n    def f(): pass", True),
        ("import pytest\nwith pytest.raises(E):\n    def f(x=here()): pass", True),
        ("import pytest\nwith pytest.raises(E):\n    def f(): here()", True),
        ("import pytest\nwith pytest.raises(E):\n    f = lambda: here()", True),
        ("import pytest\ndef f(): here()\nwith pytest.raises(E): f()", True),
        (
            "import pytest\nclass C:\n    def f(self): here()\n    def test_a(self):\n"
            "        with pytest.raises(E): self.f(1)",
            True,
        ),
        (
            "import pytest\ndef f(): here()\ndef g(): f()\n@pytest.mark.xfail\ndef test_a(): g()",
            True,
        ),
        ("import pytest\ndef f(): here()\nwith pytest.raises(E): f()\nf()", False),
        ("import pytest\ndef f(): here()\nwith pytest.raises(E): g(f)", False),
        ("import pytest\nwith pytest.raises(E): pass\nhere()", False),
        ("with pytest.raises(E): here()", False),
        ("def f(self):\n    self.assertRaises(E, here())", False),
        ("import pytest\nwith pytest.raises(here()): pass", False),
        ("try:\n    here()\nexcept E: pass", False),
    ],
)
def test_asserted_to_fail(text: str, expected: bool) -> None:
    ctx = context(text)
    assert is_asserted_to_fail(marked(ctx), ctx) == expected
    assert failure_is_expected(marked(ctx), ctx) == expected


def test_in_a_test_every_try_expects_failure() -> None:
    text = "def {}():\n    try:\n        here()\n    except E: pass"
    for name, path, expected in (
        ("test_it", "code.py", True),
        ("check", "code.py", False),
        ("check", "test_code.py", True),
        ("check", "tests/code.py", True),
    ):
        ctx = context(text.format(name), path=path)
        assert failure_is_expected(marked(ctx), ctx) == expected
        assert is_in_test(marked(ctx), ctx) == expected


def test_a_function_in_a_test_is_in_it() -> None:
    ctx = context("class A:\n    async def test_a(self):\n        def f(): lambda: here()")
    assert is_in_test(marked(ctx), ctx)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("def f():\n    if a: here()", ["If", "IndentedBlock"]),
        ("lambda: here()", []),
        ("def f(x=here()): pass", ["FunctionDef", "Module"]),
        ("@here()\ndef f(): pass", ["FunctionDef", "Module"]),
        ("class C:\n    x = here()", ["ClassDef", "Module"]),
        ("def f[T: here()](): pass", ["FunctionDef", "Module"]),
        ("[here() for x in y]", ["ListComp", "Module"]),
    ],
)
def test_where_a_function_ends(text: str, kinds: list[str]) -> None:
    ctx = context(text)
    found = [type(each).__name__ for _, each in ancestors_in_function(marked(ctx), ctx)]
    assert [name for name in found if name in kinds][-2:] == kinds
    assert found[-1:] in ([], ["Module"], ["IndentedBlock"])
