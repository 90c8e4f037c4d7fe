"""Every way to set an environment variable by name, and what only looks like one."""

import libcst as cst
import pytest

from placement_lint.syntax.environ import settings, variables_set
from tests.rules.helpers import code, context


def found(text: str) -> list[tuple[str, str | None]]:
    ctx = context(text, head="import os\nfrom os import environ\nfrom os import environ as e\n")
    return [
        (setting.name, code(setting.value))
        for node in ctx.tree.nodes
        for setting in settings(node, ctx.names)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("os.environ['A'] = 'x'", [("A", "'x'")]),
        ("environ['A'] = e['B'] = 'x'", [("A", "'x'"), ("B", "'x'")]),
        ('os.environ["A" "B"] = f()', [("AB", "f()")]),
        ("os.environ['A'] += 'x'", [("A", None)]),
        ("os.environ |= {'A': 'x', **more, k: 'y'}", [("A", "'x'")]),
        ("os.environ |= dict(A='x', **more)", [("A", "'x'")]),
        ("os.environ.setdefault('A', 'x')", [("A", "'x'")]),
        ("os.environ.setdefault(key='A', value='x')", [("A", "'x'")]),
        ("os.putenv('A', 'x')", [("A", "'x'")]),
        ("os.environ.update({'A': 'x'}, B='y')", [("A", "'x'"), ("B", "'y'")]),
        ("os.environ.update(dict(A='x'))", [("A", "'x'")]),
        ("os.environ.update(**more, A='x')", [("A", "'x'")]),
        ("if c:\n    async def f():\n        environ['A'] = await g()", [("A", "await g()")]),
        ("class C:\n    os.environ['A'] = 'x'", [("A", "'x'")]),
        ("v = os.environ\nv['A'] = 'x'", [("A", "'x'")]),
        ("[os.environ.setdefault('A', v) for v in vs]", [("A", "v")]),
        ("match v:\n    case 1:\n        os.environ['A'] = 'x'", [("A", "'x'")]),
    ],
)
def test_what_sets(text: str, expected: list[tuple[str, str | None]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "x = os.environ['A']",
        "os.environ.get('A', 'x')",
        "os.environ[name] = 'x'",
        "os.environ[b'A'] = 'x'",
        "os.environ[f'A{n}'] = 'x'",
        "os.environ['A':'B'] = 'x'",
        "os.environ |= more",
        "os.environ.update(more)",
        "os.environ.update(*more)",
        "os.environ.update(zip(a, b))",
        "os.environ.setdefault(*more)",
        "os.environ.setdefault(name, 'x')",
        "os.environ.pop('A')",
        "del os.environ['A']",
        "def f(os):\n    os.environ['A'] = 'x'",
        "def f(environ):\n    environ['A'] = 'x'",
        "env = dict(os.environ)\nenv['A'] = 'x'",
        "env = {**os.environ, 'A': 'x'}",
        "monkeypatch.setenv('A', 'x')",
        "self.environ['A'] = 'x'",
        "for os in modules:\n    os.environ['A'] = 'x'",
        "'''\n>>> os.environ['A'] = 'x'\n'''",
    ],
)
def test_what_sets_nothing_that_is_known(text: str) -> None:
    assert found(text) == []


def test_the_names_alone() -> None:
    ctx = context("os.environ.update({'A': 'x'}, B='y')")
    (call,) = ctx.tree.every(cst.Call)
    assert variables_set(call, ctx.names) == ["A", "B"]


def test_the_key_is_where_the_name_stands() -> None:
    ctx = context("os.environ.update({'A': 'x'}, B='y')")
    (call,) = ctx.tree.every(cst.Call)
    assert [code(setting.key) for setting in settings(call, ctx.names)] == ["'A'", "B='y'"]
