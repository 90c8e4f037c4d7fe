"""What a module certainly did before it comes to a place."""

from __future__ import annotations

import libcst as cst
import pytest

from placement_lint.semantic.execution_order import Timeline, timeline
from placement_lint.semantic.execution_steps import Event, called
from placement_lint.semantic.model import ModuleFacts
from placement_lint.semantic.module_summary import Does, Imports, Kind, Perhaps
from placement_lint.semantic.program_queries import NOTHING, Alone, EffectOrigin, ImportEffects
from placement_lint.syntax.import_statements import imported_names
from tests.rules.helpers import code, context, marked


def before(text: str, kind: Kind = Kind.STARTS) -> str | None:
    """Return what came before the call of `here`."""
    ctx = context(text, head="import os\n")
    event = timeline(ctx.module).before(marked(ctx), kind)
    return None if event is None else event.what


J = "import jax\n"
D = J + "jax.devices()\n"
METHODS = """\
class C:
    def g(self):
        jax.devices()
    def m(self):
        self.g()
        here()
"""


@pytest.mark.parametrize(
    "text",
    [
        D + "here()",
        D + "def f(): here()",
        D + "class C:\n    def m(self): here()",
        D + "lambda: here()",
        D + "[here() for x in y]",
        D + "match v:\n    case 1: here()",
        J + "def f():\n    jax.devices()\n    here()",
        J + "async def f():\n    jax.devices()\n    here()",
        J + "x = jax.devices(); here()",
        J + "(x := jax.devices())\nhere()",
        J + "f(*jax.devices())\nhere()",
        J + "if jax.devices(): pass\nhere()",
        J + "if jax.devices(): here()",
        J + "if c: jax.devices()\nelse: jax.devices()\nhere()",
        J + "for d in jax.devices(): here()",
        J + "while jax.devices(): here()",
        J + "with f(jax.devices()): here()",
        J + "try: jax.devices()\nfinally: pass\nhere()",
        J + "try: jax.devices()\nexcept E: pass\nhere()",
        J + "try: pass\nfinally: jax.devices()\nhere()",
        J + "try: jax.devices()\nexcept E: pass\nelse: here()",
        J + "try: jax.devices()\nfinally: here()",
        J + "match jax.devices():\n    case _: pass\nhere()",
        J + "[x for x in jax.devices()]\nhere()",
        J + "class C:\n    x = jax.devices()\nhere()",
        J + "@jax.devices()\ndef f(): pass\nhere()",
        J + "def f(x=jax.devices()): pass\nhere()",
        J + "def g():\n    jax.devices()\ng()\nhere()",
        J + "def g():\n    h()\ndef h():\n    jax.devices()\ng()\nhere()",
        J + "a = jax.devices() or b\nhere()",
        J + "here(jax.devices())",
        J + "x = 1 if jax.devices() else 2\nhere()",
        J + "from jax import devices as d\nd()\nhere()",
        J + "def f():\n    import jax.numpy as jnp\n    jnp.zeros(3)\n    here()",
        J + "with jax.profiler.trace('x'): here()",
        J + "def g():\n    if c: jax.devices()\n    else: jax.device_count()\ng()\nhere()",
        J + METHODS,
    ],
)
def test_started(text: str) -> None:
    assert before(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        J + "here()\njax.devices()",
        J + "def f(): jax.devices()\nhere()",
        J + "lambda: jax.devices()\nhere()",
        J + "if c: jax.devices()\nhere()",
        J + "if c: jax.devices()\nelse: here()",
        J + "if c: pass\nelif d: jax.devices()\nhere()",
        J + "while c: jax.devices()\nhere()",
        J + "for x in y: jax.devices()\nhere()",
        J + "for x in y:\n    here()\n    jax.devices()",
        J + "try: x\nexcept E: jax.devices()\nhere()",
        J + "try: jax.devices()\nexcept E: here()",
        J + "try: x\nexcept E: pass\nelse: jax.devices()\nhere()",
        J + "match v:\n    case 1: jax.devices()\nhere()",
        J + "a = b or jax.devices()\nhere()",
        J + "x = jax.devices() if c else 1\nhere()",
        J + "[jax.devices() for x in y]\nhere()",
        J + "assert jax.devices()\nhere()",
        J + "x: jax.devices()\nhere()",
        J + "async def g(): jax.devices()\ng()\nhere()",
        J + "def g():\n    yield jax.devices()\ng()\nhere()",
        J + "@deco\ndef g(): jax.devices()\ng()\nhere()",
        J + "def g():\n    if c: return\n    jax.devices()\ng()\nhere()",
        J + "def g(): jax.devices()\nif c:\n    def g(): pass\ng()\nhere()",
        J + "def f(jax):\n    jax.devices()\n    here()",
        J + "jax.eval_shape(f)\nhere()",
        J + "jax.default_device(d)\nhere()",
        D + "jax.clear_backends()\nhere()",
        "import jax as np\nnp.float32\nhere()",
        "jax = stub()\njax.devices()\nhere()",
        "'jax.devices()'\nhere()",
        "class C:\n    import jax\n    def m(self):\n        jax.devices()\n        here()",
        J + "jax.profiler.trace('x')\nhere()",
        J + "def g(): g()\ng()\nhere()",
        J + "def g():\n    if c: jax.devices()\n    else: pass\ng()\nhere()",
        # Another class may have another method of the name.
        J + METHODS + "class D(C):\n    def g(self): pass\n",
        J + METHODS + "C = registered(C)\nclass D(C):\n    def g(self): pass\n",
    ],
)
def test_not_surely_started(text: str) -> None:
    assert before(text) is None


def test_started_anew() -> None:
    assert before(D + "jax.clear_backends()\njax.numpy.zeros(3)\nhere()") == "jax.numpy.zeros(…)"


def test_the_last_one_and_the_first_one() -> None:
    ctx = context(D + "def f():\n    jax.local_devices()\n    here(jax.device_count())\n", head="")
    line = timeline(ctx.module)
    last, first = (
        line.before(marked(ctx), Kind.STARTS),
        line.first_before(marked(ctx), Kind.STARTS),
    )
    assert last is not None
    assert first is not None
    assert (first.what, last.what) == ("jax.devices()", "jax.device_count()")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import jax\nhere()", "import jax"),
        ("import jax.numpy as jnp\nhere()", "import jax"),
        ("from jax import numpy\nhere()", "import jax"),
        ("import os, flax.linen\nhere()", "import flax.linen"),
        ("from safetensors.flax import load_file\nhere()", "import safetensors.flax.load_file"),
        ("from safetensors import safe_open\nhere()", None),
        ("import jaxlib\nhere()", None),
        ("from . import jax\nhere()", None),
        ("try:\n    import jax\nexcept ImportError: pass\nhere()", "import jax"),
        ("if c:\n    import jax\nhere()", None),
        ("if c:\n    import jax\nelse:\n    from jax import x\nhere()", "import jax"),
        ("def f():\n    import jax\nhere()", None),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import jax\nhere()", None),
    ],
)
def test_imports(text: str, expected: str | None) -> None:
    assert before(text, Kind.IMPORTS) == expected


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        ("if c:\n    if d: import a\n    else: import b", ("a", "b")),
        ("if c:\n    if d: import a\n    else: import a", ("a",)),
        ("if c:\n    if d: import a\n    else: import b\nelse: pass", ("a", "b")),
        ("with c:\n    for x in y:\n        with z: import a", ("a",)),
        (
            "for x in y:\n    if d: import a\n    else:\n        import b\n        import c",
            tuple("abc"),
        ),
        ("match v:\n    case 1: import a\n    case _: import b", ("a", "b")),
        ("async def f(): import a", None),
    ],
)
def test_what_may_be_imported_is_summed_up(text: str, modules: tuple[str, ...] | None) -> None:
    summary = Timeline(context(text, head="").module).summary()
    assert summary == (() if modules is None else (Perhaps(modules),))


def test_variables() -> None:
    ctx = context("os.environ['A'] = 'x'\nif c: os.environ['B'] = 'y'\nos.putenv('C', 'z')\n")
    summary = Timeline(ctx.module).summary()
    does = [step for step in summary if isinstance(step, Does) and step.kind is Kind.SETS]
    assert [step.what for step in does] == ["A", "C"]


def at_import(text: str) -> list[str | None]:
    ctx = context(text, head="")
    return [code(event.node) for event in timeline(ctx.module).at_import()]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (J + "if c: x = jax.devices()\nelse: y = jax.device_count()", ["devices", "device_count"]),
        (J + "try:\n    import x\nexcept E: jax.devices()", []),
        (J + "if __name__ == '__main__': jax.devices()", []),
        (J + "def main(): jax.devices()", []),
        (J + "class C:\n    a = jax.devices()\n    def m(self, x=jax.device_count()): pass",
         ["devices", "device_count"]),
        (J + "for x in y: jax.devices()", ["devices"]),
        (J + "with a: jax.devices()", ["devices"]),
        (J + "for x in y:\n    if c: pass\n    else: jax.devices()", ["devices"]),
        (J + "for x in y:\n    if c: jax.devices()\n    elif d: jax.device_count()",
         ["devices", "device_count"]),
        (J + "from typing import TYPE_CHECKING\nif TYPE_CHECKING: jax.devices()", []),
        (J + "f(jax.devices(), jax.device_count())", ["devices"]),
    ],
)  # fmt: skip
def test_what_an_import_may_start(text: str, found: list[str]) -> None:
    assert at_import(text) == [f"jax.{name}()" for name in found]


class Beside(Alone):
    """A run in which the module `other` starts the backend and sets a variable."""

    def importing(self, path: str, name: str) -> ImportEffects:  # noqa: ARG002
        if name.partition(".")[0] != "other":
            return NOTHING
        origin = EffectOrigin("other.py", 3, "jax.devices()")
        return ImportEffects(EffectOrigin("other.py", 1, "import jax"), origin, {"A": origin})


@pytest.mark.parametrize(
    "statement", ["import other", "from other import x", "import other.y as z"]
)
def test_other_modules_of_the_run(statement: str) -> None:
    facts = ModuleFacts(cst.parse_module(f"{statement}\nhere()\n"), "code.py", run=Beside())
    call = next(facts.tree.every(cst.Call))
    event = timeline(facts).before(call, Kind.STARTS)
    assert event is not None
    assert event.origin is not None
    assert event.where == f"{event.what} (jax.devices() in other.py:3)"
    assert timeline(facts).before(call, Kind.IMPORTS) is not None
    variable = timeline(facts).before(call, Kind.SETS)
    assert variable is not None
    assert (variable.what, variable.origin) == ("A", event.origin)
    (step,) = timeline(facts).summary()
    assert isinstance(step, Imports)
    assert step.name.startswith("other")


class Resetting(Alone):
    """A run in which any module that is imported gives the backend up."""

    def importing(self, path: str, name: str) -> ImportEffects:
        origin = EffectOrigin(path, 1, f"jax.clear_backends() for {name}")
        return ImportEffects(gives_backend_up=origin)


def test_a_module_that_gives_the_backend_up() -> None:
    text = D + "first()\nimport other\nsecond()\n"
    facts = ModuleFacts(cst.parse_module(text), "code.py", run=Resetting())
    _, first, second = facts.tree.every(cst.Call)
    assert timeline(facts).before(first, Kind.STARTS) is not None
    assert timeline(facts).before(second, Kind.STARTS) is None


def test_alone_nothing_is_known() -> None:
    alone = Alone()
    assert alone.calls("a.py", "jax.devices") is None
    assert not alone.mentions("a.py", b"jax")
    assert alone.importing("a.py", "other") == NOTHING == ImportEffects()
    assert NOTHING.sets_variables == {}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import a.b, c as d", ["a.b", "c"]),
        ("from a import b as c, d", ["a.b", "a.d"]),
        ("from a import *", ["a"]),
        ("from . import a", [".a"]),
        ("from ..a.b import c", ["..a.b.c"]),
        ("from . import *", ["."]),
    ],
)
def test_names_of_imports(text: str, names: list[str]) -> None:
    ctx = context(text, head="")
    (statement,) = [
        node for node in ctx.tree.nodes if isinstance(node, cst.Import | cst.ImportFrom)
    ]
    assert imported_names(statement) == names


def test_how_calls_are_named() -> None:
    ctx = context("f()\na.b(1)\ng()()\n", head="")
    assert [called(call) for call in ctx.tree.every(cst.Call)] == ["f()", "a.b(…)", "()", "g()"]


def test_an_event_says_where() -> None:
    node = cst.Name("a")
    assert Event(Kind.STARTS, node, "f()").where == "f()"
    assert (
        Event(Kind.STARTS, node, "f()", EffectOrigin("b.py", 2, "g()")).where
        == "f() (g() in b.py:2)"
    )
