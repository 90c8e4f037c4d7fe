"""A file that is executed for itself is so wherever a rule may find something in it by that.

Rules ask first what a file says. Here each looks at its hazards alone, since another one that
executes the file would hide that it has not, and the names of what makes meshes, specs and
shardings are others than JAX's: then it finds what it finds where nothing is asked first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst
import pytest

from placement_lint.files.source import Source
from placement_lint.files.store import FileStore
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions, Sight
from placement_lint.rules.commitment import (
    commitment_lost,
    committed_devices_mixed,
    computation_pulled_to_host,
)
from placement_lint.rules.commitment.known_devices import may_commit_to_known_devices
from placement_lint.rules.config_state import invalid_device_argument
from placement_lint.rules.meshes import (
    device_sets_mixed,
    malformed_sharding,
    mesh_axis_repeated,
    shardings,
)
from placement_lint.rules.registry import all_rules, rule_by_code
from placement_lint.rules.transfers import device_put_in_traced, staged_through_default_device
from placement_lint.semantic.expressed_words import annotated_words, expressed_words
from placement_lint.semantic.file_view import FileView
from placement_lint.semantic.model import ModuleFacts
from placement_lint.semantic.set_attributes import may_set_attribute
from tests.fixture_cases import Case, all_cases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Shape: TypeAlias = "Callable[[list[str]], tuple[str, dict[str, str]]]"
"""Gives the import of some names of `jax.sharding`, and what each is called then."""

CODES = (
    "JDP108", "JDP205", "JDP206", "JDP208", "JDP303", "JDP402", "JDP403", "JDP701", "JDP702",
    "JDP704", "JDP705", "JDP706", "JDP707", "JDP709", "JDP710", "JDP711", "JDP714", "JDP717",
    "JDP721", "JDP724",
)  # fmt: skip
COMMITTED = (
    commitment_lost, committed_devices_mixed, computation_pulled_to_host, device_sets_mixed,
)  # fmt: skip
STORE = FileStore()
MADE = {
    "Mesh": "m", "NamedSharding": "n", "PartitionSpec": "s", "AbstractMesh": "a",
    "SingleDeviceSharding": "d",
}  # fmt: skip
"""What `jax.sharding` has, with what another file calls it."""
_IMPORT = re.compile(
    r"^(?P<indent> *)from jax\.sharding import (?:\((?P<many>[^)]*)\)|(?P<one>[^\n(#]*))",
    re.MULTILINE,
)
_EXPORTS = {f"compat.{own}": f"jax.sharding.{name}" for name, own in MADE.items()}


def from_another_file(names: list[str]) -> tuple[str, dict[str, str]]:
    return f"from compat import {', '.join(MADE[each] for each in names)}", MADE


def by_star(_names: list[str]) -> tuple[str, dict[str, str]]:
    return "from compat import *", MADE


def of_module(_names: list[str]) -> tuple[str, dict[str, str]]:
    return "import compat", {name: f"compat.{own}" for name, own in MADE.items()}


def of_module_by_another_name(_names: list[str]) -> tuple[str, dict[str, str]]:
    text = "import compat as before; after = before"
    return text, {name: f"after.{own}" for name, own in MADE.items()}


def assigned(names: list[str]) -> tuple[str, dict[str, str]]:
    every = "; ".join(f"{MADE[name]} = jax.sharding.{name}" for name in names)
    return f"import jax.sharding; {every}", MADE


def imported_as(names: list[str]) -> tuple[str, dict[str, str]]:
    every = ", ".join(f"{name} as {MADE[name]}" for name in names)
    return f"from jax.sharding import {every}", MADE


SHAPES = (
    from_another_file, by_star, of_module, of_module_by_another_name, assigned, imported_as,
)  # fmt: skip


def written(text: str, shape: Shape) -> str | None:
    """Write a text with other names for what it imports of `jax.sharding`; None: it does not."""
    found: dict[str, str] = {}
    for match in _IMPORT.finditer(text):
        for each in re.findall(r"(\w+)(?: as (\w+))?", match["many"] or match["one"]):
            found[each[1] or each[0]] = each[0]
    if not found or not {*found.values()} <= MADE.keys():
        return None

    def line(match: re.Match[str]) -> str:
        return match["indent"] + shape(sorted({*found.values()}))[0]

    text = _IMPORT.sub(line, text)
    _, spelled = shape(sorted({*found.values()}))
    for bound, name in found.items():
        text = re.sub(
            rf"(?<![\w.\"'/]){bound}\b(?! as )(?!\")",
            spelled[name],
            text,
        )
    return text.replace(" as Mesh", " as m")


def findings(text: str, code: str) -> list[str]:
    """Return what one rule finds in a file that is executed for itself, if at all."""
    options = FileOptions((rule_by_code(code),), sight=Sight.WHOLE)
    found = lint_source(Source("case.py", text), options, _EXPORTS.get, store=STORE).findings
    return [f"{each.code} {each.span} {each.message} {each.confidence}" for each in found]


@pytest.fixture
def asks_nothing(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], list[str]]:
    """Find the same with every file executed that a rule looks at."""

    def found(text: str, code: str) -> list[str]:
        with monkeypatch.context() as patch:
            patch.setattr(FileView, "may_say", lambda *_: True)
            patch.setattr(shardings, "may_set_attribute", lambda *_: True)
            patch.setattr(mesh_axis_repeated, "_may_repeat", lambda *_, **__: True)
            patch.setattr(malformed_sharding, "_may_be_exchanged", lambda *_: True)
            patch.setattr(invalid_device_argument, "_is_other", lambda *_: False)
            patch.setattr(invalid_device_argument, "is_any_device", lambda *_: False)
            patch.setattr(staged_through_default_device, "is_any_device", lambda *_: False)
            patch.setattr(device_put_in_traced, "_is_called_by_nothing", lambda *_: False)
            for rule in COMMITTED:
                patch.setattr(rule, "may_commit_to_known_devices", lambda *_: True)
            return findings(text, code)

    return found


CASES = [case for case in all_cases() if case.code in CODES and case.kind == "hazards"]


def texts(case: Case, number: int, count: int) -> Iterator[str]:
    yield case.before.text
    for shape in (SHAPES * 2)[number % len(SHAPES) :][:count]:
        if (text := written(case.before.text, shape)) is not None:
            yield text


@pytest.mark.parametrize("code", CODES)
def test_what_is_asked_first_hides_nothing(
    code: str, asks_nothing: Callable[[str, str], list[str]]
) -> None:
    found = 0
    for number, case in enumerate([each for each in CASES if each.code == code][::6]):
        for text in texts(case, number, 1):
            every = asks_nothing(text, code)
            assert findings(text, code) == every, text
            found += len(every)
    assert found


@pytest.mark.every
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_is_asked_first_hides_nothing_in_any_shape(
    case: Case, asks_nothing: Callable[[str, str], list[str]]
) -> None:
    for text in texts(case, 0, len(SHAPES)):
        assert findings(text, case.code) == asks_nothing(text, case.code), text


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_names_of_other_files_are_found(
    shape: Shape,
) -> None:
    """What the tests above compare is something: the rules know the names in each shape."""
    text = """\
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
weights = NamedSharding(mesh, PartitionSpec("model", "model"))
rows = NamedSharding(mesh, PartitionSpec("dta"))
"""
    other = written(text, shape)
    assert other is not None
    assert "Mesh(" not in other
    assert len(findings(other, "JDP701")) == len(findings(other, "JDP702")) == 1


# -- what a file says ------------------------------------------------------------------------------


def facts_of(text: str) -> ModuleFacts:
    return ModuleFacts(cst.parse_module(text), "case.py", exports=_EXPORTS.get)


@pytest.mark.parametrize(
    "text",
    [
        "from jax.sharding import Mesh\nMesh(d, 'x')\n",
        "from jax.sharding import Mesh as M\nM(d, 'x')\n",
        "import jax.sharding as js\njs.Mesh(d, 'x')\n",
        "import jax\ndef f(make=jax.sharding.Mesh): ...\n",
        "from compat import m\nf(m)\n",
        "from compat import m as make\nf(make)\n",
        "import compat\ncompat.m(d, 'x')\n",
        "import compat as c\ndef f():\n    return c.m\n",
        "import importlib\nc = importlib.import_module('compat')\nc.m(d, 'x')\n",
        "from compat import *\nm(d, 'x')\n",
        "def f():\n    from compat import m\n    return m(d, 'x')\n",
        "try:\n    from compat import m as M\nexcept ImportError:\n    from old import M\nM(d)\n",
        "import jax\ngetattr(jax.sharding, 'Mesh')(d, 'x')\n",
        "f(Mesh=1)\n",
    ],
)
def test_words_that_expressions_have(text: str) -> None:
    assert "Mesh" in expressed_words(facts_of(text))


@pytest.mark.parametrize(
    "text",
    [
        "from jax.sharding import Mesh\n",
        "from jax.sharding import Mesh as M\ndef f(mesh: M) -> M: ...\n",
        "import jax\nclass A:\n    mesh: jax.sharding.Mesh\n",
        "def f(mesh: 'Mesh'): ...\n",
        "from compat import n\nn(mesh, s)\n",
        "'''Makes a Mesh.'''\n",
        "x = MeshLike()  # Mesh\n",
    ],
)
def test_words_that_they_have_not(text: str) -> None:
    assert "Mesh" not in expressed_words(facts_of(text))


@pytest.mark.parametrize(
    "text",
    [
        "import jax\ndef f(d: jax.Device): ...\n",
        "from jax import Device as D\ndef f(d: 'D'): ...\n",
    ],
)
def test_words_of_annotations(text: str) -> None:
    assert "Device" in annotated_words(facts_of(text))
    assert "Device" not in expressed_words(facts_of(text))


@pytest.mark.parametrize(
    "text",
    [
        "cfg.axes = 'x'\n",
        "cfg.axes, y = 'x', 1\n",
        "for cfg.axes in y: ...\n",
        "with open(p) as cfg.axes: ...\n",
        "cfg.axes: str = 'x'\n",
        "class C:\n    axes = 'x'\nf(C().axes)\n",
        "class C:\n    axes: str\n",
        "class C:\n    def axes(self): ...\n",
        "make(axes='x')\n",
        "make({'axes': 'x'})\n",
        "C = namedtuple('C', 'size axes')\n",
        "class C:\n    def __getattr__(self, name): ...\n",
        "setattr(cfg, 'axes', 'x')\n",
    ],
)
def test_attributes_that_a_file_may_set(text: str) -> None:
    assert may_set_attribute(facts_of(text), "axes")


@pytest.mark.parametrize("text", ["f(cfg.axes)\n", "cfg.other = my_axes\n", ""])
def test_attributes_that_it_does_not(text: str) -> None:
    assert not may_set_attribute(facts_of(text), "axes")


HEAD = """\
import collections, dataclasses, types
import jax
import ml_collections
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

devices = np.array(jax.devices()).reshape(4, 2)
mesh = Mesh(devices, ("data", "model"))
"""
SETTINGS = (
    "class Config:\n    axes = {value}\nconfig = Config()\n",
    "class Config:\n    def __init__(self):\n        self.axes = {value}\nconfig = Config()\n",
    "class Config: ...\nconfig = Config()\nconfig.axes, config.size = {value}, 8\n",
    "class Config:\n    @property\n    def axes(_):\n        return {value}\nconfig = Config()\n",
    "class Config:\n    def __getattr__(self, name):\n        return {value}\nconfig = Config()\n",
    "@dataclasses.dataclass\nclass Config:\n    axes: tuple\nconfig = Config({value})\n",
    "Config = collections.namedtuple('Config', 'size axes')\nconfig = Config(8, {value})\n",
    "config = types.SimpleNamespace(axes={value})\n",
    "config = ml_collections.ConfigDict({{'axes': {value}}})\n",
)
"""Ways to give an object an attribute."""
READ = {
    "JDP108": ('"cpu"', "jax.device_put(np.ones(8), config.axes)\n"),
    "JDP303": ("jax.devices()[0]", 'config.axes == "cpu"\n'),
    "JDP702": ('("x", "x")', "Mesh(devices, config.axes)\n"),
    "JDP704": ('("x", "y")', "Mesh(jax.devices(), config.axes)\n"),
}
"""By rule: what the attribute is, and what is wrong with it."""


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("code", READ)
def test_an_attribute_that_a_file_sets_is_known(
    code: str, setting: str, asks_nothing: Callable[[str, str], list[str]]
) -> None:
    held, use = READ[code]
    text = HEAD + setting.format(value=held) + use
    assert findings(text, code) == asks_nothing(text, code)
    if code in {"JDP702", "JDP704"}:
        assert findings(text, code)


@pytest.mark.parametrize(
    "text",
    [
        'AXIS = "model"\nNamedSharding(mesh, P(AXIS, AXIS))\n',
        'AXES = ("model", "model")\nNamedSharding(mesh, P(AXES))\n',
        'AXES = ("model", "model")\nNamedSharding(mesh, P(*AXES))\n',
        'NamedSharding(mesh, P(("model", "data"), "model"))\n',
        'AXIS = "x"\nMesh(devices, (AXIS, AXIS))\n',
        'AXES = ["x", "x"]\nMesh(devices, AXES)\n',
        'Mesh(devices, axis_names=("x", "x"))\n',
        'Mesh(*(devices, ("x", "x")))\n',
        'make = P\nNamedSharding(mesh, make("model", "model"))\n',
    ],
)
def test_an_axis_may_be_named_twice_without_a_literal(
    text: str, asks_nothing: Callable[[str, str], list[str]]
) -> None:
    found = findings(HEAD + text, "JDP702")
    assert found == asks_nothing(HEAD + text, "JDP702")
    assert found or "*(" in text


IN_TURN = """\
import jax

devices = jax.devices()

def spread(batches):
    for step, batch in enumerate(batches):
        yield jax.device_put(batch, devices[step % len(devices)])
"""


def test_a_file_that_puts_things_on_devices_in_turn_is_not_executed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every rule that asks where arrays are asks for more than one of all devices."""
    executed: list[ModuleFacts] = []
    monkeypatch.setattr(ModuleFacts, "_interpreted", executed.append)
    assert lint_source(Source("case.py", IN_TURN), FileOptions(all_rules()), store=STORE).parsed
    assert not executed


def test_devices_in_turn_are_not_known() -> None:
    assert not may_commit_to_known_devices(facts_of(IN_TURN))
    own = IN_TURN.replace("devices = jax.devices()\n", "").replace("devices[", "jax.devices()[")
    assert not may_commit_to_known_devices(facts_of(own.replace("len(devices)", "4")))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("step % len(devices)", "0"),
        ("step % len(devices)", "-1"),
        ("step % len(devices)", "FIRST"),
        ("step % len(devices)", "1:"),
        ("jax.devices()", "jax.devices()[2:]"),
        ("jax.devices()", 'jax.devices("cpu")'),
        ("jax.devices()", "other()"),
        ("devices[step % len(devices)]", "devices"),
        ("yield jax.device_put(", "yield other.device_put("),
        ("yield jax.device_put(", "put = jax.device_put; yield put("),
        ("yield jax.device_put(", 'yield getattr(jax, "device_put")('),
        ("import jax\n", "import jax\njax.device_put(x, jax.devices()[1])\n"),
        ("import jax\n", "import jax\nx = jax.numpy.ones(3, device=d)\n"),
        ("import jax\n", "import jax\nf = jax.jit(g, backend=b)\n"),
        ("import jax\n", "import jax\nx = jax.dlpack.from_dlpack(y)\n"),
        ("import jax\n", "import jax\nx = jax.device_put_replicated(y, devices)\n"),
        ("import jax\n", "import jax\njax.sharding.SingleDeviceSharding(d)\n"),
        ("def spread", "devices.append(cpu)\n\ndef spread"),
        ("def spread", "devices[0] = cpu\n\ndef spread"),
        ("def spread", "devices += others\n\ndef spread"),
        ("def spread", "f(devices)\n\ndef spread"),
        ("batch, devices", "*batch, devices"),
    ],
)  # fmt: skip
def test_devices_that_may_be_known(before: str, after: str) -> None:
    assert before in IN_TURN
    assert may_commit_to_known_devices(facts_of(IN_TURN.replace(before, after)))
