"""What names mean: every import style, every way of shadowing, and CPython's own opinion."""

import symtable
import sys
import textwrap
import warnings

import libcst as cst
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from placement_lint.files.source import Source
from placement_lint.syntax.names import Ambiguous, BindingKind, Known, Names, Scope, ScopeKind
from placement_lint.syntax.positions import Spans
from placement_lint.syntax.tree import Tree


def parse(text: str) -> tuple[Tree, Names]:
    tree = Tree(cst.parse_module(textwrap.dedent(text)))
    return tree, Names(tree)


def marked(text: str) -> str | None:
    """Give the qualified name of the argument of the one call of `look` in a text."""
    tree, names = parse(text)
    (call,) = [
        node
        for node in tree.nodes
        if isinstance(node, cst.Call)
        and isinstance(node.func, cst.Name)
        and node.func.value == "look"
    ]
    return names.qualified(call.args[0].value)


# -- import styles ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import jax\nlook(jax.devices)", "jax.devices"),
        ("import jax as j\nlook(j.devices)", "jax.devices"),
        ("import os, jax\nlook(jax.devices)", "jax.devices"),
        ("import jax.numpy as jnp\nlook(jnp.zeros)", "jax.numpy.zeros"),
        ("import jax.numpy\nlook(jax.numpy.zeros)", "jax.numpy.zeros"),
        ("import jax.numpy\nlook(jax.devices)", "jax.devices"),
        ("import jax\nimport jax.numpy\nlook(jax.numpy.zeros)", "jax.numpy.zeros"),
        ("from jax import numpy as jnp\nlook(jnp.zeros)", "jax.numpy.zeros"),
        ("from jax import devices\nlook(devices)", "jax.devices"),
        ("from jax import devices as d\nlook(d)", "jax.devices"),
        ("from jax import (\n    devices,\n    jit,\n)\nlook(devices)", "jax.devices"),
        ("from jax.numpy import zeros\nlook(zeros)", "jax.numpy.zeros"),
        ("from . import compat\nlook(compat.jax)", ".compat.jax"),
        ("from ..a.b import c\nlook(c.d)", "..a.b.c.d"),
        ("def f():\n    import jax\n    look(jax.devices)", "jax.devices"),
        ("import jax\ndef f():\n    look(jax.devices)", "jax.devices"),
        ("class A:\n    import jax\n    look(jax.devices)", "jax.devices"),
        ("if True:\n    import jax\nlook(jax.devices)", "jax.devices"),
        ("try:\n    import jax\nexcept ImportError:\n    jax = None\nlook(jax.jit)", "jax.jit"),
        (
            "try:\n    import jax\nexcept (A, ModuleNotFoundError):\n    jax = None\nlook(jax.jit)",
            "jax.jit",
        ),
        ("try:\n    import jax\nexcept:\n    jax = None\nlook(jax.jit)", "jax.jit"),
        ("import jax\nj = jax\nlook(j.devices)", "jax.devices"),
        ("import jax\nd = jax.devices\nlook(d)", "jax.devices"),
        ("import jax\nd: object = jax.devices\nlook(d)", "jax.devices"),
        ("import importlib\njax = importlib.import_module('jax')\nlook(jax.jit)", "jax.jit"),
        ("import pytest\njax = pytest.importorskip('jax')\nlook(jax.jit)", "jax.jit"),
        ("def f():\n    global jax\n    import jax\nlook(jax.jit)", "jax.jit"),
        ("look(len)", "builtins.len"),
        ("from settings import *\nlook(staticmethod)", "builtins.staticmethod"),
        ("import jax\nf'{look(jax.devices)}'", "jax.devices"),
        ("import jax\n@jax.jit\ndef f():\n    pass\nlook(jax.jit)", "jax.jit"),
    ],
)  # fmt: skip
def test_known(text: str, expected: str) -> None:
    assert marked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        # Bound again, in every way that there is.
        "import jax\njax = f()\nlook(jax.devices)",
        "import jax\nlook(jax.devices)\njax = f()",
        "import jax\nfor jax in f():\n    pass\nlook(jax.devices)",
        "import jax\nfor a, (b, *jax) in f():\n    pass\nlook(jax.devices)",
        "import jax\nwith f() as jax:\n    look(jax.devices)",
        "import jax\nwith f() as (a, jax):\n    look(jax.devices)",
        "import jax\ntry:\n    pass\nexcept E as jax:\n    look(jax.devices)",
        "import jax\nif (jax := f()):\n    look(jax.devices)",
        "import jax\n[jax := 1 for a in b]\nlook(jax.devices)",
        "import jax\njax += 1\nlook(jax.devices)",
        "import jax\na, jax = f()\nlook(jax.devices)",
        "import jax\n[a, *jax] = f()\nlook(jax.devices)",
        "import jax\ndel jax\nlook(jax.devices)",
        "import jax\ndef jax(): ...\nlook(jax.devices)",
        "import jax\nclass jax: ...\nlook(jax.devices)",
        "import jax\nmatch f():\n    case jax:\n        look(jax.devices)",
        "import jax\nmatch f():\n    case [*jax]:\n        look(jax.devices)",
        "import jax\nmatch f():\n    case {'a': 1, **jax}:\n        look(jax.devices)",
        "import jax\nmatch f():\n    case A() as jax:\n        look(jax.devices)",
        "import jax\ntype jax = int\nlook(jax.devices)",
        # Hidden by a nearer scope.
        "import jax\ndef f(jax):\n    look(jax.devices)",
        "import jax\ndef f(*jax):\n    look(jax.devices)",
        "import jax\ndef f(**jax):\n    look(jax.devices)",
        "import jax\ndef f(jax, /):\n    look(jax.devices)",
        "import jax\ndef f(*, jax):\n    look(jax.devices)",
        "import jax\nlambda jax: look(jax.devices)",
        "import jax\n[look(jax.devices) for jax in f()]",
        "import jax\n{look(jax.devices): 1 for jax in f()}",
        "import jax\n{1: look(jax.devices) for jax in f()}",
        "import jax\n[a for jax in f() for a in look(jax.devices)]",
        "import jax\n[a for jax in f() if look(jax.devices)]",
        "import jax\ndef f():\n    look(jax.devices)\n    jax = 1",
        "import jax\ndef f():\n    jax: int\n    look(jax.devices)",
        "import jax\ndef f[jax]():\n    look(jax.devices)",
        # Bound from elsewhere.
        "import jax\ndef f():\n    global jax\n    jax = 1\nlook(jax.devices)",
        "def f():\n  import jax\n  def g():\n    nonlocal jax\n    jax = 1\n  look(jax.devices)",
        "def f():\n  def g():\n    nonlocal jax\n    jax = 1\n  import jax\n  look(jax.devices)",
        # Not visible.
        "class A:\n    import jax\n    def f(self):\n        look(jax.devices)",
        "class A:\n    import jax\n    a = [look(jax.devices) for b in c]",
        "def f():\n    import jax\nlook(jax.devices)",
        # Not known at all.
        "look(jax.devices)",
        "import jax\nlook(jax().devices)",
        "import jax\nlook(jax['a'].devices)",
        "from settings import *\nlook(open)",
        "import jax\njax.devices = 1\nlook(a.jax)",
        "a = b\nb = a\nlook(a)",
        "try:\n    import jax\nexcept ImportError:\n    jax = fallback()\nlook(jax.devices)",
        "try:\n    import jax\nexcept ValueError:\n    jax = None\nlook(jax.devices)",
    ],
)
def test_unknown(text: str) -> None:
    assert marked(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "import jax\nx = [look(jax.devices) for a in jax.devices()]",
        "import jax\n[jax for jax in look(jax.devices)]",
        "import jax\ndef f(a=look(jax.devices), jax=1): ...",
        "import jax\n@look(jax.devices)\ndef f(jax): ...",
        "import jax\nlambda jax=look(jax.devices): 1",
        "import jax\nclass A(look(jax.devices)):\n    jax = 1",
        "import jax\nclass A:\n    jax = 1\n    def f(self):\n        look(jax.devices)",
        "import jax\nf(jax=1)\nlook(jax.devices)",
        "import jax\na.jax = 1\nlook(jax.devices)",
        "import jax\na[jax] = 1\nlook(jax.devices)",
        "import jax\nmatch f():\n    case A(jax=1):\n        look(jax.devices)",
        "import jax\ndef g():\n    jax = 1\nlook(jax.devices)",
        "import jax\njax: object\nlook(jax.devices)",
        "import jax\nfrom settings import *\nlook(jax.devices)",
    ],
)
def test_what_does_not_hide_it(text: str) -> None:
    assert marked(text) == "jax.devices"


def test_one_of_two() -> None:
    tree, names = parse("if a:\n    import jax as j\nelse:\n    import fakejax as j\nj.jit")
    attribute = next(node for node in tree.nodes if isinstance(node, cst.Attribute))
    assert names.resolve(attribute) == Ambiguous(frozenset({"jax.jit", "fakejax.jit"}))
    assert names.qualified(attribute) is None


def test_reexports_are_followed() -> None:
    tree = Tree(cst.parse_module("from .compat import jnp\njnp.zeros"))
    names = Names(tree, {".compat.jnp": "jax.numpy"}.get)
    attribute = next(node for node in tree.nodes if isinstance(node, cst.Attribute))
    assert names.resolve(attribute) == Known("jax.numpy.zeros")


# -- CPython's opinion --------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "c"])
_SIMPLE = (
    "{0} = {1}",
    "{0} += {1}",
    "{0}: int = {1}",
    "{0}, (d, *{1}) = d",
    "import {0}",
    "from m import {0} as {1}",
    "del {0}",
    "({0} := {1})",
    "d = [{0} for {0} in {1}]",
    "d = [{0} for d in {1} if (b := {0})]",
    "d = {{{0}: {1} for {1} in {0}}}",
    "d = lambda {0}, *d: {1}",
    "d = lambda d={0}: {1}",
    "{0}.d = {1}[{0}]",
    "print(d={0}, *{1})",
)
_COMPOUND = (
    "for {0} in {1}:",
    "while {0} < {1}:",
    "with {1} as {0}:",
    "if {0}:",
    "def {0}({1}, d={0}, *e, **f):",
    "async def {0}(*, {1}=d):",
    "class {0}({1}):",
    "@{1}\ndef d({0}):",
)


@st.composite
def suites(draw: st.DrawFn, depth: int = 3) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 4))):
        one, other = draw(NAMES), draw(NAMES)
        if depth and draw(st.integers(0, 2)):
            header = draw(st.sampled_from(_COMPOUND)).format(one, other)
            lines += header.split("\n")
            is_function = "def " in header
            if is_function and draw(st.integers(0, 3)) == 0:
                kind = draw(st.sampled_from(["global", "nonlocal"]))
                lines.append(f"    {kind} {draw(NAMES)}")
            lines += ["    " + line for line in draw(suites(depth - 1))]
        elif draw(st.integers(0, 8)) == 0:
            lines += ["try:", f"    {one}", f"except {other} as {one}:", f"    {other}"]
        elif draw(st.integers(0, 8)) == 0:
            lines += [f"match {one}:", f"    case [{other}, *{one}] if {other}:", f"        {one}"]
        else:
            lines.append(draw(st.sampled_from(_SIMPLE)).format(one, other))
    return lines


class _Tables:
    """CPython's symbol tables, by the line on which their scope begins."""

    def __init__(self, text: str) -> None:
        self.by_line: dict[int, symtable.SymbolTable] = {}
        self.parents: dict[int, symtable.SymbolTable] = {}
        self.annotations: list[symtable.SymbolTable] = []
        self.top = symtable.symtable(text, "case.py", "exec")
        pending = [self.top]
        while pending:
            table = pending.pop()
            for child in table.get_children():
                self.parents[child.get_id()] = table
                if child.get_name() == "__annotate__":
                    self.annotations.append(child)
                    continue
                assert child.get_lineno() not in self.by_line
                self.by_line[child.get_lineno()] = child
                pending.append(child)

    def having(self, table: symtable.SymbolTable, name: str) -> symtable.SymbolTable | None:
        """Give the table in which a name of a scope is: from 3.14 on annotations have their own.

        What a function says of its variables is never evaluated and, with 3.14, in no table.
        """
        inside = [a for a in self.annotations if self.parents[a.get_id()] is table]
        return next((t for t in (table, *inside) if name in t.get_identifiers()), None)

    def owner(self, table: symtable.SymbolTable, name: str) -> symtable.SymbolTable | None:
        """Give the table whose variable code in a table sees; None: global or built in."""
        symbol = table.lookup(name)
        if table is self.top or symbol.is_global():
            return None
        if symbol.is_local():
            return table
        while True:
            table = self.parents[table.get_id()]
            if str(table.get_type()) == "class":
                continue
            if name in table.get_identifiers() and table.lookup(name).is_local():
                return table


@settings(max_examples=60, deadline=None)
@given(suites())
def test_scopes_agree_with_cpython(lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "case.py", "exec", dont_inherit=True)
        except SyntaxError:
            assume(False)
    tables = _Tables(text)
    tree = Tree(cst.parse_module(text))
    names = Names(tree)
    line_of = _lines(tree, text)
    inlined = {
        (line_of.get(id(_outside(scope).node)), name)
        for scope in map(names.scope, tree.every(cst.Name))
        if _is_inlined(scope)
        for name in scope.bindings
    }
    for node in tree.every(cst.Name):
        scope = names.scope(node)
        table = tables.top
        if _is_inlined(scope):
            continue
        if scope.kind is not ScopeKind.MODULE:
            table = tables.by_line[line_of[id(scope.node)]]
        if (having := tables.having(table, node.value)) is None:
            assert sys.version_info >= (3, 14)
            continue
        theirs = tables.owner(having, node.value)
        if theirs and theirs is not having and (theirs.get_lineno(), node.value) in inlined:
            # From 3.12 on CPython says and executes that the comprehension's is seen: NameError.
            continue
        ours = names.owner(node.value, scope)
        where = f"{node.value} in line {line_of.get(id(scope.node), 0)} of\n{text}"
        if theirs is None:
            assert ours is None or ours.kind is ScopeKind.MODULE, where
        elif ours is None or not _is_inlined(ours):
            assert ours is not None, where
            assert tables.by_line[line_of[id(ours.node)]] is theirs, where


def _is_inlined(scope: Scope) -> bool:
    """Tell whether CPython has no table for a scope: from 3.12 on, comprehensions have none."""
    comprehensions = (cst.ListComp, cst.SetComp, cst.DictComp)
    return sys.version_info >= (3, 12) and isinstance(scope.node, comprehensions)


def _outside(scope: Scope) -> Scope:
    """Give the scope into whose table the variables of a comprehension get."""
    while _is_inlined(scope) and scope.parent is not None:
        scope = scope.parent
    return scope


def _lines(tree: Tree, text: str) -> dict[int, int]:
    """Give the line of each node that makes a scope."""
    from placement_lint.files.source import Source
    from placement_lint.syntax.positions import Spans

    source = Source("case.py", text)
    spans = Spans(tree.module, source)
    makers = (
        cst.FunctionDef, cst.ClassDef, cst.Lambda, cst.ListComp, cst.SetComp, cst.DictComp,
        cst.GeneratorExp,
    )  # fmt: skip
    return {
        id(node): source.position(spans.inner(node)[0])[0]
        for node in tree.nodes
        if isinstance(node, makers)
    }


def test_the_scope_of_the_module() -> None:
    tree, names = parse("a = 1")
    assert isinstance(names.module_scope, Scope)
    assert names.scope(tree.nodes[-1]) is names.module_scope


# -- where a variable is used -------------------------------------------------------------------


def lines_of_uses(text: str) -> list[int]:
    """Give the lines of the uses of the variable `x` as the call of `look` sees it."""
    tree, names = parse(text)
    spans = Spans(tree.module, source := Source("a.py", tree.module.code))
    (call,) = [
        node
        for node in tree.every(cst.Call)
        if isinstance(node.func, cst.Name) and node.func.value == "look"
    ]
    found = names.uses("x", names.scope(call))
    return [source.position(spans.inner(node)[0])[0] for node in found]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x = 1\nx\nlook()\nx", [1, 2, 4]),
        ("x = 1\ndef f():\n    x\nlook()", [1, 3]),
        ("x = 1\ndef f():\n    x = 2\n    x\nlook()", [1]),
        ("x = 1\ndef f(x):\n    x\n    look()", [3]),
        ("x = 1\ndef f():\n    global x\n    x = 2\n    look()\nx", [1, 4, 6]),
        (
            "def f():\n    x = 1\n    def g():\n        nonlocal x; x = 2\n    look()",
            [2, 4],
        ),
        ("x = 1\n[x for x in x]\nlook()", [1, 2]),
        ("x = 1\nclass C:\n    x = x\n    def f(self): return x, look()", [1, 4]),
        ("class C:\n    x = 1\n    x\n    look()\n    def f(self): return x", [2, 3]),
        ("x = 1\nf(x=x, y=o.x)\nlook()", [1, 2]),
        ("x = 1\ndel x\nlook()", [1, 2]),
        ("x\nlook()\nx", [1, 3]),
        ("match v:\n    case x: x\nlook()", [2]),
        ("if (x := 1): x\nlook()", [1, 1]),
        ("[(x := y) for y in z]\nx\nlook()", [1, 2]),
        ("import x\nx\nlook()", [2]),
        ("look()", []),
    ],
)
def test_uses(text: str, lines: list[int]) -> None:
    assert lines_of_uses(text) == lines


def test_aliases_by_what_they_stand_for() -> None:
    _, names = parse("import jax\nfrom jax import jit as j, jit as i\nx = 1\nd = jax\nd2 = len")
    assert names.aliases(names.module_scope) == {
        "jax": ["jax", "d"],
        "jax.jit": ["j", "i"],
        "builtins.len": ["d2"],
    }


def test_the_statement_that_binds_the_name_of_a_type() -> None:
    tree, names = parse("type A = int\nx = A")
    (statement,) = tree.every(cst.TypeAlias)
    assert [each.node for each in names.module_scope.bindings["A"]] == [statement]


@pytest.mark.parametrize(
    ("text", "kind", "statement"),
    [
        ("import jax as x", BindingKind.IMPORT, cst.ImportAlias),
        ("import x.y", BindingKind.IMPORT, cst.ImportAlias),
        ("from jax import x", BindingKind.IMPORT, cst.ImportAlias),
        ("x = 1", BindingKind.ASSIGNMENT, cst.Assign),
        ("x: int = 1", BindingKind.ASSIGNMENT, cst.AnnAssign),
        ("x += 1", BindingKind.OTHER, cst.AugAssign),
        ("x, y = 1, 2", BindingKind.OTHER, cst.Assign),
        ("(x := 1)", BindingKind.OTHER, cst.NamedExpr),
        ("for x in y: pass", BindingKind.OTHER, cst.For),
        ("with y as x: pass", BindingKind.OTHER, cst.WithItem),
        ("with y as (z, x): pass", BindingKind.OTHER, cst.WithItem),
        ("try: pass\nexcept E as x: pass", BindingKind.OTHER, cst.ExceptHandler),
        ("match y:\n    case {**x}: pass", BindingKind.OTHER, cst.MatchMapping),
        ("match y:\n    case [*x]: pass", BindingKind.OTHER, cst.MatchStar),
        ("match y:\n    case A(z=x): pass", BindingKind.OTHER, cst.MatchAs),
        ("del x", BindingKind.DELETION, cst.Del),
        ("def x(): pass", BindingKind.FUNCTION, cst.FunctionDef),
        ("class x: pass", BindingKind.CLASS, cst.ClassDef),
    ],
)
def test_how_and_by_what_a_name_is_bound(
    text: str, kind: BindingKind, statement: type[cst.CSTNode]
) -> None:
    _, names = parse(text)
    (binding,) = names.module_scope.bindings["x"]
    assert binding.kind is kind
    assert isinstance(binding.node, statement)


@pytest.mark.parametrize("owner", ["def f()", "class A"])
def test_none_in_a_function_of_a_handler_is_no_failed_import(owner: str) -> None:
    text = f"""
    try:
        import jax
    except ImportError:
        {owner}:
            jax = None
            look(jax.jit)
    """
    assert marked(text) == "builtins.None.jit"


def test_one_of_several_through_another_name() -> None:
    text = """
    if a:
        import numpy as np
    else:
        import jax.numpy as np
    if b:
        x = np
    else:
        import cupy as x
    """
    _, names = parse(text)
    found = names.lookup("x", names.module_scope)
    assert found == Ambiguous(frozenset({"cupy", "jax.numpy", "numpy"}))


@pytest.mark.parametrize(
    "text",
    [
        "from importlib import import_module\nx = import_module('.a', p)\nlook(x)",
        "from importlib import import_module\nx = import_module(b'a')\nlook(x)",
        "def f():\n    nonlocal x\n    import jax as x\n    look(x)",
    ],
)
def test_what_no_import_says(text: str) -> None:
    assert marked(text) is None
