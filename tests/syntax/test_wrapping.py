from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement_lint.config.line_length import LineLengths
from placement_lint.files.source import Source
from placement_lint.lint.file_results import FileOptions
from placement_lint.lint.fixes.apply import fix_source
from placement_lint.rules.registry import all_rules
from placement_lint.syntax.wrapping import wrapped

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS = FileOptions(tuple(rule for rule in all_rules() if not rule.pedantic))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x = f(aaaa, bbbb, cc)", "x = f(\n  aaaa, bbbb, cc\n)"),
        ("\tx = f(aaaaaa, g(b), c)", "\tx = f(\n\t  aaaaaa,\n\t  g(b),\n\t  c,\n\t)"),
        ("x = f(aaaaa, bbbbb, ccccc, d)", "x = f(\n  aaaaa,\n  bbbbb,\n  ccccc,\n  d,\n)"),
        (
            "x = f(a, [bbbbbbbb, ccccccccc])",
            "x = f(\n  a,\n  [\n    bbbbbbbb,\n    ccccccccc,\n  ],\n)",
        ),
        ("x = f(a)[bbbbbbbbbbb, c]", "x = f(a)[\n  bbbbbbbbbbb, c\n]"),
        ("x = f('a, (b', cccccccc)", "x = f(\n  'a, (b', cccccccc\n)"),
        ("x = f(a for a, b in cccc)", "x = f(\n  a for a, b in cccc\n)"),
        ("x = f(a for a, bbbb in ccccccccccc)", "x = f(a for a, bbbb in ccccccccccc)"),
        ("x = f(lambda a, bbbbbbb: cccccccc)", "x = f(lambda a, bbbbbbb: cccccccc)"),
        ("bbbbbbbbb)(aaaaaaaa, ccccccccc", "bbbbbbbbb)(aaaaaaaa, ccccccccc"),
        ("x = aaaaaaaaaaaaaaaaaaaaaa()", "x = aaaaaaaaaaaaaaaaaaaaaa()"),
        ("x = aaaaaaaaaaaaaaaaaaaaaaaaa", "x = aaaaaaaaaaaaaaaaaaaaaaaaa"),
        ("x = f(aaaaaaaaaaa); y = bbbbbb", "x = f(aaaaaaaaaaa); y = bbbbbb"),
    ],
)
def test_in_its_widest_brackets(line: str, expected: str) -> None:
    assert wrapped(line, 20, "  ") == expected


_expression = st.recursive(
    st.sampled_from(["a", "bbbb", "'c, ('", "x.y", "1", "[i for i, j in k]", "(lambda p, q: p)"]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda each: f"f({', '.join(each)})"),
        st.lists(inner, min_size=1, max_size=3).map(lambda each: f"g[{', '.join(each)}]"),
        st.lists(inner, max_size=3).map(lambda each: f"{{{', '.join(each)}}}"),
        inner.map(lambda each: f"({each})"),
        inner.map(lambda each: f"f(*{each}, k={each}, **{each})"),
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(_expression, st.integers(8, 60))
def test_nothing_else_is_changed(expression: str, limit: int) -> None:
    line = f"    x = {expression}"
    split = wrapped(line, limit, "    ")
    assert ast.dump(ast.parse(split.replace("\n    ", "\n").strip())) == ast.dump(
        ast.parse(line.strip())
    )
    assert split == line or all(len(each) <= limit for each in split.split("\n"))


LONG = (
    "import jax\n\n\ndef load(path_of_the_table):\n"
    "    jax.default_device = first_device_of(path_of_the_table, platform='cpu')\n"
)
SPLIT = (
    "import jax\n\n\ndef load(path_of_the_table):\n    jax.config.update(\n"
    "        'jax_default_device', first_device_of(path_of_the_table, platform='cpu')\n    )\n"
)
WHOLE = LONG.replace("default_device = ", "config.update('jax_default_device', ")[:-1] + ")\n"


@pytest.mark.parametrize(
    ("name", "settings_text", "expected"),
    [
        ("pyproject.toml", "[tool.ruff]\nline-length = 88\n", SPLIT),
        ("pyproject.toml", "[tool.black]\nline-length = 88\n", SPLIT),
        ("pyproject.toml", "[tool.ruff]\nline-length = 100\n", WHOLE),
        ("ruff.toml", "line-length = 88\n", SPLIT),
        (".ruff.toml", "line-length = 100\n", WHOLE),
        ("pyproject.toml", "[tool.ruff]\nline-length = 'x'\n", SPLIT),
        ("pyproject.toml", "line-length = [\n", SPLIT),
    ],
)
def test_to_the_length_that_the_project_sets(
    tmp_path: Path, name: str, settings_text: str, expected: str
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text(settings_text)
    for newline in ("\n", "\r\n"):
        source = Source(str(tmp_path / "a.py"), LONG.replace("\n", newline))
        assert fix_source(source, OPTIONS, unsafe=False).text == expected.replace("\n", newline)


def test_a_file_that_keeps_to_no_length_is_not_wrapped(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    path = str(tmp_path / "a.py")
    assert LineLengths().of(path) is None
    assert fix_source(Source(path, LONG), OPTIONS, unsafe=False).text == SPLIT
    long = f"# {'x' * 100}\n"
    assert fix_source(Source(path, long + LONG), OPTIONS, unsafe=False).text == long + WHOLE


def test_a_line_that_was_too_long_stays_one(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "ruff.toml").write_text("line-length = 60\n")
    source = Source(str(tmp_path / "a.py"), LONG)
    assert fix_source(source, OPTIONS, unsafe=False).text == WHOLE


def test_a_line_within_a_statement_is_split_in_its_own_brackets(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    text = (
        "import jax\n\n\ndef build(act):\n    return Agent(\n        number=1,\n"
        "        act=jax.jit(act, static_argnums=0, backend='cpu'),  # said\n"
        "        other=jax.jit(act, static_argnums=1, backend='cpu'),\n"
        '        text=""" f(aaaaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb)\n'
        '        """,\n    )\n'
    )
    device = "jax.local_devices(backend='cpu')[0]"
    sharding = "out_shardings=jax.sharding.SingleDeviceSharding"
    expected = text.replace("0, backend='cpu'", f"0, {sharding}({device})").replace(
        "jax.jit(act, static_argnums=1, backend='cpu'),",
        f"jax.jit(\n            act,\n            static_argnums=1,\n            {sharding}(\n"
        f"                {device}\n            ),\n        ),",
    )
    source = Source(str(tmp_path / "a.py"), text)
    assert fix_source(source, OPTIONS, unsafe=True).text == expected
