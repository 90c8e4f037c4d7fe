"""What rules ask of a module that was executed."""

from __future__ import annotations

import libcst as cst
import pytest

from placement_lint.placement.domain.devices import SYSTEM_DEFAULT, Device
from placement_lint.placement.domain.values import UNKNOWN, Array
from placement_lint.placement.flow import Flow, interpret_alone
from placement_lint.syntax.names import Names
from placement_lint.syntax.tree import Tree

HEAD = """\
import jax
import jax.numpy as jnp
import numpy as np
cpu = jax.devices("cpu")[0]
"""
CPU = Device("cpu", 0)


def flow(text: str, *, accelerator: bool = True, head: str = HEAD) -> Flow:
    tree = Tree(cst.parse_module(head + text))
    return interpret_alone("main", tree, Names(tree), accelerator=accelerator)


def the_call(found: Flow) -> cst.Call:
    """Give the call of `f`."""
    calls = (node for node in found.tree.nodes if isinstance(node, cst.Call))
    return next(
        call for call in calls if isinstance(call.func, cst.Name) and call.func.value == "f"
    )


def array(found: Flow) -> Array:
    """Give what the name `x` is bound to at first."""
    name = next(n for n in found.tree.nodes if isinstance(n, cst.Name) and n.value == "x")
    (held,) = found.value(name)
    assert isinstance(held, Array)
    return held


DEFAULTS = {
    "nobody chose": ("f()\n", {SYSTEM_DEFAULT}, True),
    "reset": (
        'jax.config.update("jax_default_device", None)\nf()\n',
        {SYSTEM_DEFAULT},
        True,
    ),
    "in a block": ("with jax.default_device(cpu):\n    f()\n", {CPU}, False),
    "in a block of nothing": (
        "with jax.default_device(None):\n    f()\n",
        {SYSTEM_DEFAULT},
        False,
    ),
    "on one of two ways": (
        'if f:\n    jax.config.update("jax_default_device", cpu)\nf()\n',
        {CPU, SYSTEM_DEFAULT},
        False,
    ),
    "once in a block and once not": (
        "def g():\n    f()\nwith jax.default_device(cpu):\n    g()\ng()\n",
        {CPU, SYSTEM_DEFAULT},
        False,
    ),
    "in a lambda that nobody calls": ("g = lambda: f()\n", set(), False),
    "in one of two blocks": (
        "for d in (cpu, None):\n    with jax.default_device(d):\n        f()\n",
        {CPU, SYSTEM_DEFAULT},
        False,
    ),
    "never": ("if False:\n    f()\n", set(), False),
}


@pytest.mark.parametrize(("text", "devices", "is_system"), DEFAULTS.values(), ids=DEFAULTS)
def test_default_devices(text: str, devices: set[Device], is_system: bool) -> None:
    found = flow(text)
    call = the_call(found)
    assert found.default_devices(call) == devices
    assert found.runs_on_system_default(call) is is_system


def test_without_an_accelerator_the_system_default_is_the_host() -> None:
    found = flow("f()\n", accelerator=False)
    assert not found.runs_on_system_default(the_call(found))
    pin = 'jax.config.update("jax_platforms", "cpu")\n'
    pinned = flow(f"{pin}f()\n", head="import jax\n")
    assert not pinned.runs_on_system_default(the_call(pinned))
    # The backend has started, with the devices of the head: JAX ignores it.
    late = flow(f"{pin}f()\n")
    assert late.runs_on_system_default(the_call(late))


HAZARD = "with jax.default_device(cpu):\n    x = jnp.ones(3)\n"
USES = {
    "always": ("x + 1\n", [True]),
    "not away": ("with jax.default_device(cpu):\n    x + 1\n", []),
    "on one way": ("y = x if f() else 1\ny + 1\n", [False]),
    "where names mean other things": ('exec("x = 1")\nx + 1\n', [False]),
    "in source order": ("def g(y):\n    return y + 1\nz = x * 2\ng(x)\n", [True, True]),
}


@pytest.mark.parametrize(("text", "always"), USES.values(), ids=USES)
def test_uses(text: str, always: list[bool]) -> None:
    found = [*flow(HAZARD + text).uses()]
    assert [use.always for use in found] == always
    assert [use.node for use in found] == sorted(use.node for use in found)


def test_on_the_cpu_alone_nothing_is_copied() -> None:
    assert [*flow(HAZARD + "x + 1\n", accelerator=False).uses()] == []


def test_what_comes_in_the_place_of_an_array() -> None:
    found = flow(HAZARD + "for _ in range(3):\n    x = x + 1\n")
    (use,) = found.uses()
    made = array(found)
    (places,) = found.replaced(use).values()
    assert [type(found.tree.nodes[place.node]) for place in places] == [cst.BinaryOperation]
    assert found.is_replaced(made)
    kept = flow(HAZARD + "for _ in range(3):\n    y = x + 1\n")
    (use,) = kept.uses()
    assert kept.replaced(use) == {}
    assert not kept.is_replaced(array(kept))
    assert not kept.is_replaced(Array(CPU, committed=True))


def test_values() -> None:
    found = flow("x = jnp.ones(3)\ny = x if x else 1\n")
    first, second = [node for node in found.tree.nodes if isinstance(node, cst.Assign)][-2:]
    assert found.is_array(first.value)
    assert not found.is_array(second.value)
    assert not found.is_array(cst.Name("x"))
    assert found.value(cst.Name("x")) == UNKNOWN
    assert not found.is_array(first)


def test_what_is_traced() -> None:
    found = flow("@jax.jit\ndef f(x):\n    def g():\n        pass\ndef h():\n    pass\n")
    functions = [node for node in found.tree.nodes if isinstance(node, cst.FunctionDef)]
    assert [found.is_traced(node) for node in functions] == [True, True, False]
