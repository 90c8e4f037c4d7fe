"""What the bytes of a file must contain."""

import pytest

from placement_lint.prefilter.conditions import (
    DEVICE_ARGUMENT,
    SETS_VARIABLES,
    AllOf,
    AnyOf,
    AnyWord,
    ArgumentMatches,
    AtImport,
    Begins,
    FileText,
    Jax,
    Needs,
    Pattern,
    Placed,
    Uses,
)
from placement_lint.rules.registry import rule_by_code


@pytest.mark.parametrize(
    ("data", "met"),
    [
        (b'f(device="cpu")', True),
        (b'f(device  =\n "cpu")', True),
        (b"f(device=cpu)", False),
        (b'"device"', False),
        (b"", False),
    ],
)
def test_a_pattern_is_searched_for(data: bytes, met: bool) -> None:
    assert Pattern(rb'\bdevice\s*=\s*"', word=b"device").met_by(FileText(data, jax=True)) is met


def test_conditions_combine() -> None:
    needs = AllOf(Jax(), AnyOf(b"device_put", Pattern(rb"de\w+_device", word=b"_device")))
    assert needs.met_by(FileText(b"default_device", jax=True))
    assert needs.met_by(FileText(b"device_put", jax=True))
    assert not needs.met_by(FileText(b"device_put", jax=False))
    assert not needs.met_by(FileText(b"device", jax=True))


@pytest.mark.parametrize(
    ("text", "met"),
    [
        (b"from jax.sharding import Mesh\n", True),
        (b"# Mesh\n", True),
        (b"from compat import m\n", False),
        (b"RemeshedMesh = Meshes\n", False),
    ],
)
def test_a_word_is_a_whole_one(text: bytes, met: bool) -> None:
    needs, said_here = AnyWord("Mesh", "make_mesh"), FileText(text, jax=True)
    assert needs.met_by(said_here) is met
    assert needs.met_by(said_here.knowing("jax.sharding.Mesh", None)), "what comes by imports"


NUMPY = "import jax.numpy as jnp\nimport numpy as np\nfrom jax.sharding import "
ARRAYS = NUMPY + "NamedSharding\nx = jnp.stack([jnp.asarray(y)])\nprint(np.asarray(x), x.item())\n"
"""What nearly each program does, and no rule is about, without a file, a mesh or a spec."""


@pytest.mark.parametrize(
    ("more", "codes"),
    [
        ("", set()),
        ("x = np.load(path)\n", {"JDP401"}),
        ("x = jnp.load(path)\n", {"JDP401"}),
        ("mesh = jax.make_mesh((8,), ('x',))\n", set()),
        ("from jax.sharding import PartitionSpec as P, Mesh\n", {"JDP721"}),
        ("self.memory = memory(Explicit=1)\nput(x)\n", set()),
        ("jax.device_put(x, jax.memory.Space.Host)\n", {"JDP204", "JDP812"}),
        ("def f(x):\n    y = jax.device_put(x)\nput(x)\n", {"JDP204"}),
        ("jax.make_mesh((8,), ('x',), (Explicit,))\n", {"JDP713"}),
    ],
)
def test_arrays_alone_are_nothing_to_look_at(more: str, codes: set[str]) -> None:
    text = FileText(f"{ARRAYS}{more}".encode(), jax=True)
    about = {
        "JDP204",
        "JDP401",
        "JDP706",
        "JDP707",
        "JDP710",
        "JDP713",
        "JDP714",
        "JDP721",
        "JDP812",
    }
    assert {code for code in about if text.meets(rule_by_code(code).needs)} == codes


def said(text: str, path: str | None = None) -> FileText:
    return FileText(f"import jax, os\n{text}\n".encode(), jax=True, path=path)


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ('jax.devices("gpu")', True),
        ('d = jax.devices\nd("gpu")', True),
        ('(jax\n .devices)("gpu")', True),
        ("jax.devices()", False),
        ('devices("gpu")', False),
    ],
)
def test_what_a_call_must_be_given(text: str, met: bool) -> None:
    assert ArgumentMatches(("jax.devices",), "[\"']").met_by(said(text)) is met


def test_where_names_are_open_any_call_counts() -> None:
    text = said('x[\n 0\n] = jax\nx.devices("gpu")\ny.device_put(x)')
    assert text.mentions.is_open
    assert ArgumentMatches(("jax.devices",), "never").met_by(text)
    assert Begins("jax.devices").met_by(text)


def test_what_an_import_calls_where_names_are_open() -> None:
    needs = AtImport(["jax.devices"])
    assert needs.met_by(said("jax.devices()"))
    assert not needs.met_by(said("def f():\n    jax.devices()"))
    opened = "x[\n 0\n] = jax\n"
    assert needs.met_by(said(opened + "x.devices()"))
    assert not needs.met_by(said(opened + "x.device_count()"))
    assert not needs.met_by(said(opened + "def f():\n    x.devices()"))


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("from pkg import nodes\nTABLE = nodes.table(3)", True),
        ("from .nodes import table\nTABLE = table(3)", True),
        ("from .nodes import table\ndef f(x=table(3)):\n    pass", True),
        ("from .nodes import table\ndef f():\n    table(3)", False),
        ("import logging\nlog = logging.getLogger()", False),
        ("import numpy as np\nTABLE = np.ones(3)", False),
        ("from .nodes import SIZE\nlarge = str(SIZE)", False),
    ],
)
def test_what_an_import_calls_of_another_file(text: str, met: bool) -> None:
    assert AtImport(["jax.devices"]).met_by(said(f"import jax\n{text}")) is met


def test_the_path_counts_where_it_is_known() -> None:
    needs = Placed(lambda path: path.endswith("_test.py"))
    assert needs.met_by(said(""))
    assert needs.met_by(said("", "a_test.py"))
    assert not needs.met_by(said("", "a.py"))


def test_a_condition_that_rules_share_is_looked_at_once() -> None:
    looked: list[FileText] = []

    class Counting(Needs):
        def met_by(self, text: FileText) -> bool:
            looked.append(text)
            return True

    shared = Counting()
    text = said("")
    assert text.meets(AllOf(shared, AnyOf(shared)))
    assert text.meets(shared)
    assert looked == [text]


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("os.environ['A'] = 'b'", True),
        ("os.environ[\n  'A'\n] = 'b'", True),
        ("(os.environ)['A'] += 'b'", True),
        ("x = os.environ['A'] = 'b'", True),
        ("os.environ |= x", True),
        ("os.environ.update(x)", True),
        ("(os.environ\n .setdefault('A', 'b'))", True),
        ("os.putenv('A', 'b')", True),
        ("e = os.environ\ne['A'] = 'b'", True),
        ("from os import environ as e\ne['A'] = 'b'", True),
        ("f(os.environ)", True),
        ("x = os.environ['A'] == 'b'", False),
        ("os.environ.get('A')", False),
        ("x = os.environ['A']", False),
    ],
)
def test_what_sets_variables(text: str, met: bool) -> None:
    assert SETS_VARIABLES.met_by(said(text)) is met


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("jax.numpy.zeros(3, device=d)", True),
        ("jax.numpy.zeros(3, device = d)", True),
        ("jax.numpy.zeros(3, **{'device': d})", True),
        ("x.device == d", False),
        ("for device in devices: pass", False),
    ],
)
def test_what_passes_a_device(text: str, met: bool) -> None:
    assert DEVICE_ARGUMENT.met_by(said(text)) is met


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("import jax\njax.devices()\n", True),
        ("from jax import devices as all_of_them\n", True),
        ("from numpy import devices\n", False),
        ("devices = ones = None\n", False),
        ("import jax\nx = device\n", False),
    ],
)
def test_names_are_looked_for_where_their_first_and_last_part_are(text: str, met: bool) -> None:
    looked_into = FileText(text.encode(), jax="jax" in text)
    assert Uses("jax.devices", "optax.adam").met_by(looked_into) == met
    assert looked_into.knows_names == met, "without both there is no need to work the names out"


def test_a_name_of_another_file_needs_no_first_part() -> None:
    text = FileText(b"from compat import devices\n", jax=False)
    exports = {"compat.devices": ["jax.devices"]}
    assert not Uses("jax.devices").met_by(text)
    assert Uses("jax.devices").met_by(text.knowing("", lambda name: exports.get(name, [])))
    assert Uses("jax.devices").met_by(
        text.knowing("jax.devices", lambda name: exports.get(name, []))
    )
