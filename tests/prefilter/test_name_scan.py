"""What names a text may hold: never fewer than the names that are resolved in it."""

import random
import re

import libcst as cst
import pytest

from placement_lint.prefilter import name_scan
from placement_lint.prefilter.name_scan import Mentions, _names_that_end_in
from placement_lint.syntax import code_text
from placement_lint.syntax.names import Names
from placement_lint.syntax.tree import Tree
from tests.fixture_cases import all_cases

DEVICES = [
    "import jax\njax.devices",
    "import jax as j\nj.devices",
    "import jax.numpy\njax.devices()",
    "from jax import devices\ndevices()",
    "from jax import (\n    jit,  # one\n    devices as d,\n)\nd",
    "from jax import \\\n    devices as d\nd",
    "import os, jax as j; j.devices",
    "import jax\nj = jax\nk = j\nk.devices",
    "import jax\nd: object = jax.devices\nd",
    "import jax\nd: dict[f(a=1), int] = jax.devices\nd",
    "import jax\na = b = jax\nb.devices",
    "import jax\na = b = jax\na.devices",
    "import jax\nif x: j = jax\nj.devices",
    "import jax\nx = 1; j = jax\nj.devices",
    "import jax\nj = (\n    jax\n)\nj.devices",
    "import jax\n(jax).devices",
    "import jax\n(jax\n .devices)",
    "import jax\n(jax  # the package\n .  # and\n devices)",
    "import jax\njax \\\n  .devices",
    "import jax\njax . devices",
    "import jax\nf(jax.devices).x",
    "import jax\nf'{jax.devices()}'",
    "import jax\nf'''\n{jax.devices()}'''",
    'import jax\nrf"""\n{jax.devices()}"""',
    "import jax\nf'{x[\"a\"]}{jax.devices()}'",
    "import importlib\nj = importlib.import_module('jax')\nj.devices",
    "import pytest\nj = pytest.importorskip(\n    'jax'\n)\nj.devices",
    "from importlib import import_module as load\nj: M = load('jax')\nj.devices",
    "import jax\r\nj = jax\r\nj.devices\r\n",
    "try:\n    import jax\nexcept ImportError:\n    jax = None\njax.devices",
    "import jax as jäx\njäx.devices",
    "def f():\n    import jax\n    return lambda d=jax.devices: d",
    "import jax\nx = '#'; jax.devices",
    "import jax\nx = 'it''s'; jax.devices",
    'import jax\nx = \'"""\'; jax.devices; y = \'"""\'',
    'import jax\nx = "\\""; jax.devices',
    "if True:\n\timport jax\n\tjax.devices",
    "import jax.\\\n numpy as n, jax \\\n as j\nj.devices",
    "from jax import (\n  devices # the one\n  as d,\n)\nd",
    "import jax\nj \\\n\\\n = jax\nj.devices",
    "import jax\n(j) = jax\nj.devices",
    "import jax\nif not(\n\njax\n\n).devices(): pass",
    "import jax\nx = (\t(jax\n# as in\n)).\\\n devices",
    "import jax\nx = [jax.#, (=\ndevices]",
    "import jax\nlen(#, (=\n(\fjax\n). \\\n  devices())",
    "import jax\nlen((# so, it is\n\njax\n).devices())",
]
NOT_DEVICES = [
    "import jax\n# jax.devices",
    'import jax\n"""Of jax.devices."""',
    "import jax\nmesh.devices",
    "import jaxtyping\njaxtyping.devices",
    "import jax\njax.local_devices()",
    "import torch as jax\njax.devices",
    "import jax\nx = f(jax)\nx.devices",
    "import jax\nx = f(\n  jax\n).devices",
    "",
]


@pytest.mark.parametrize("text", DEVICES)
def test_a_name_is_found(text: str) -> None:
    assert "jax.devices" in Mentions(text).names
    assert "devices" in Mentions(text).words


def test_any_name_may_be_bound_in_brackets_over_lines() -> None:
    mentions = Mentions("import jax\n(\n j\n) = jax\nj.devices")
    assert mentions.is_open
    assert "devices" in mentions.words


def test_a_module_whose_name_is_written_on_two_lines() -> None:
    mentions = Mentions("import jax.\\\n numpy as jnp\njnp.zeros")
    assert mentions.names >= {"jax.numpy", "jax.numpy.zeros"}


@pytest.mark.parametrize("text", NOT_DEVICES)
def test_another_name_is_not_taken_for_it(text: str) -> None:
    mentions = Mentions(text)
    assert "jax.devices" not in mentions.names
    assert not mentions.is_open


@pytest.mark.parametrize("lines", ["x = \\\n", "x = (", "x =\\\n \\\n", "x = 1; "])
def test_an_assignment_far_behind_the_beginning_of_its_line(lines: str) -> None:
    text = f"import jax\n{lines * 9999}y = jax\n"
    assert Mentions(f"{text}y.devices\n").names >= {"jax", "jax.devices"} or lines == "x = ("


def test_names_that_nothing_binds_stand_for_themselves() -> None:
    text = "import jax\nopen(jax.devices)\nx.y\n"
    assert Mentions(text).names == {"jax", "jax.devices", "import", "open", "x.y"}


def test_what_other_files_tell_is_added_to_what_is_known() -> None:
    mentions = Mentions("from compat import jax\r\nx = jax\r\nx.devices\r\n")
    assert "jax.devices" not in mentions.names
    knowing = mentions.knowing(lambda name: ["jax"] * (name == "compat.jax"))
    assert knowing.names >= {"compat.jax", "compat.jax.devices"}


def test_words_of_comments_and_docstrings_are_not_words() -> None:
    text = '# one\ndef two():\n    """Three is it."""\n    four = "five"  # six\n'
    assert Mentions(text).words == {"def", "two", "four", "five"}


@pytest.mark.parametrize(
    ("text", "is_entered"),
    [
        ("with Mesh(d, 'x'):\n    pass", True),
        ("mesh = Mesh(d, 'x')\nwith mesh:\n    pass", True),
        ("mesh: Mesh = Mesh(d, 'x')\nwith open(p) as f, mesh:\n    pass", True),
        ("with (\n    open(p) as f,\n    Mesh(d, 'x'),\n):\n    pass", True),
        ("async def f():\n    async with a(), Mesh(d): pass", True),
        ("mesh\\\n= Mesh(d, 'x')\nwith mesh:\n    pass", True),
        ("import jax\nmesh = jax .\tsharding. Mesh(d, 'x')\nwith(mesh): pass", True),
        ("mesh = Mesh(d, 'x')\nwith other:\n    pass", False),
        ("with open(p):\n    pass", False),
        ("mesh = Mesh(d, 'x')", False),
    ],
)
def test_what_is_entered(text: str, is_entered: bool) -> None:
    mentions = Mentions(f"from jax.sharding import Mesh\n{text}\n")
    assert mentions.enters(frozenset({"jax.sharding.Mesh"})) is is_entered


def test_what_is_called_in_a_part() -> None:
    text = "import jax.numpy as jnp\nx = jnp.zeros(3)\ndef f(): return jnp.ones(3)\n"
    mentions = Mentions(text)
    assert mentions.called_in("x = jnp.zeros(3)\ndef f(") == {"jax.numpy.zeros"}


@pytest.mark.parametrize("first", ["x = x.next", "a = b.c\nb = a.c", "x = x.x.x.x.x.x.x.x"])
def test_names_that_stand_for_parts_of_themselves_end(first: str) -> None:
    text = f"import jax\nx = a = b = jax\n{first}\nx.devices\n"
    mentions = Mentions(text)
    assert "jax.devices" in mentions.names
    assert len(mentions.names) < 1_000


def test_so_many_meanings_that_any_is_possible() -> None:
    text = "import jax\n" + "".join(f"x = jax.m{number}\n" for number in range(200))
    assert Mentions(text).is_open


@pytest.mark.parametrize("one_in", [8, pytest.param(1, marks=pytest.mark.every)])
def test_every_name_that_is_resolved_is_found(one_in: int) -> None:
    """In one case in eight; in all with `pytest -m every tests/prefilter`."""
    found = 0
    for case in all_cases()[::one_in]:
        names = Names(Tree(cst.parse_module(case.before.text)))
        mentions = Mentions(case.before.text)
        for node in names.tree.nodes:
            if isinstance(node, cst.Name | cst.Attribute):
                name = names.qualified(node)
                if name is not None and not name.startswith("builtins."):
                    found += 1
                    known = name in mentions.names or is_part(node, names, mentions)
                    assert known, (case.id, name)
    assert found * one_in > 9_000


def is_part(node: cst.CSTNode, names: Names, mentions: Mentions) -> bool:
    """Return whether a name is the beginning of a longer one, which is found instead."""
    parent = names.tree.parent(node)
    if not isinstance(parent, cst.Attribute | cst.ImportAlias | cst.ImportFrom):
        return False
    whole = names.qualified(parent) if isinstance(parent, cst.Attribute) else None
    return whole is None or whole in mentions.names or is_part(parent, names, mentions)


PUT = frozenset({"jax.device_put"})


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("jax.device_put(x)", ["x"]),
        ("put(x, put(y)[0])", ["x, put(y)[0]"]),
        ("put(x)[put(y)]; put(z)", ["x", "y", "z"]),
        ("jax.device_put (\n  x,  # )\n)", ["\n  x,  \n"]),
        ("(jax.device_put)(x)", ["x"]),
        ("(jax.device_put  # so\n)(x)", ["x"]),
        ("put(')', \"(\", '''\n)''')", ['\')\', "(", ""']),
        ("put(rb')', x)", ["rb')', x"]),
        ("put(f'{x[\")\"]}')", ["f'{x[\")\"]}'"]),
        ("put(f'{x[')']}')", ["f'{x[')']}'"]),
        ("put(x", [None]),
        ("(jax\n .device_put(x))", [None]),
        ("f'{put(x)}'", ["x"]),
        ("device_put(x); jax.device_get(x); put", []),
    ],
)
def test_what_calls_are_given(text: str, given: list[str | None]) -> None:
    mentions = Mentions(f"import jax\nfrom jax import device_put as put\npass\n{text}\n")
    assert list(mentions.arguments_of(PUT)) == given


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("put(x)", True),
        ("  jax.device_put(x)", True),
        ("x = 1; put(x)", True),
        ("if x: put(x)", True),
        ("if x: \\\n  put(x)", True),
        ("((put(x)))", True),
        ("(  # so\n put(x))", True),
        ("(jax\n .device_put(x))", True),
        ("x = put(x)", False),
        ("return put(x)", False),
        ("f(put(x))", False),
    ],
)
def test_what_begins_a_statement(text: str, begins: bool) -> None:
    mentions = Mentions(f"import jax\nfrom jax import device_put as put\n{text}\n")
    assert mentions.begins_statement(PUT) is begins


@pytest.mark.parametrize(
    ("given", "may_be"),
    [
        ("f, x", True),
        ("lambda: f, x", True),
        ("lambda: 1, x", True),
        ("self.g", True),
        ("partial(f, x), y", True),
        ("numpy.save", True),
        ("made, x", True),
        ("*a", True),
        ("(f)", True),
        ("given, f", False),
        ("self.given", False),
        ("given[0](x, y), f", False),
        ("partial(given, x), f", False),
        ("functools.partial(given, x), f", False),
        ("(given, f), f", True),
    ],
)
def test_what_may_be_a_function_of_the_file(given: str, may_be: bool) -> None:
    text = (
        "import functools\nimport numpy\nfrom functools import partial\nmade = other.made\n"
        "def f(): pass\nclass A:\n    def g(self, given): pass\n"
    )
    names = frozenset({"jax.pure_callback"})
    for call in (
        f"jax.pure_callback({given})",
        f"jax.pure_callback(1, jax.pure_callback({given}))",
    ):
        assert Mentions(f"import jax\n{text}{call}\n").gives_function(names) is may_be


@pytest.mark.parametrize(
    ("text", "called", "is_read"),
    [
        ("x.device", False, True),
        ("x.device()", True, True),
        ("x.device", True, False),
        ("x[0].device", False, True),
        ("f().device", False, True),
        ("x.y.device", False, True),
        ("(x\n .device)", False, True),
        ("(x.  # so\n device)", False, True),
        ("(x.device)  ()", True, True),
        ("torch.device('cpu')", False, False),
        ("nn.device('cpu')", False, False),
        ("nn.a.device('cpu')", False, False),
        ("nn.bc.device('cpu')", False, False),
        ("torch.device('cpu'); x.device", False, True),
        ("def f(torch): torch.device", False, True),
        ("for torch in x: torch.device", False, True),
        ("device = 1; x.devices; x.my_device", False, False),
    ],
)
def test_what_is_read_of_a_value(text: str, called: bool, is_read: bool) -> None:
    mentions = Mentions(f"import torch\nfrom torch import nn\n{text}\n")
    assert mentions.reads_of_value("device", called=called) is is_read


@pytest.mark.parametrize("end", ["", r"(?=[\s\\)]*\()"])
def test_names_that_end_in_a_word_are_those_that_one_expression_finds(end: str) -> None:
    chance = random.Random(1)  # noqa: S311
    whole = re.compile(rf"(?<![\w.])([\w.]*(?<!\w)a)\b{end}")
    pieces = ["a", "b", ".", "_", "(", " ", ")", "é", "\\\n", "ab", "a.a", "x.a("]
    for _ in range(3_000):
        code = "".join(chance.choices(pieces, k=chance.randrange(1, 14)))
        found = [*_names_that_end_in(rf"(?<!\w)a\b{end}", code)]
        assert found == [match.span(1) for match in whole.finditer(code)], code


@pytest.mark.parametrize(
    ("text", "imported"),
    [
        ("import numpy as np\nnp.ones\nx.y\n", {"numpy", "numpy.ones"}),
        ("from .compat import put\nf = put\nf.g\n", {".compat.put", ".compat.put.g"}),
        ("import a.b\na.b.c\nlocal.d\n", {"a", "a.b", "a.b.c"}),
        ("x = 1\nx.y\n", set()),
        ("from a \\\n    import b\nb.c\n", {"a.b", "a.b.c"}),
        ("x = 1\nfrom a \\\n  \\\n    import b\n", {"a.b"}),
        ("\nfrom a import b\n", {"a.b"}),
    ],
)
def test_names_that_come_of_imports(text: str, imported: set[str]) -> None:
    assert Mentions(text).imported == frozenset(imported)


@pytest.mark.parametrize("text", ["from compat import *\nput(1)\n", "from a import (  # all\n*)\n"])
def test_names_that_may_come_unnamed(text: str) -> None:
    assert Mentions(text).imported is None


def test_what_is_outside_of_functions_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where other files are known later."""
    read: list[str] = []
    outside = code_text.outside_functions

    def noted(code: str) -> str:
        read.append(code)
        return outside(code)

    monkeypatch.setattr(name_scan, "outside_functions", noted)
    mentions = Mentions("import jax\ndef f(): ...\nf()\njax.devices()\n")
    assert "jax.devices" in mentions.called_at_import
    assert mentions.calls_own_function_at_import
    other = mentions.knowing(lambda name: [name])
    assert other.calls_own_function_at_import
    assert len(read) == 1
