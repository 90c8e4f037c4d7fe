"""Which meshes are in force at a point of a program, by example."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from placement_lint.placement.domain.mesh_contexts import MeshSource
from placement_lint.placement.engine import memo
from tests.placement.test_interpreter import interpreted

if TYPE_CHECKING:
    from placement_lint.placement.domain.sharding import Mesh

HEAD = """\
import contextlib, threading
import jax
import numpy as np
from concurrent.futures import ThreadPoolExecutor
from jax.sharding import Mesh, PartitionSpec as P
x = np.ones(8)
a, b = Mesh(jax.devices(), ("a",)), Mesh(jax.devices(), ("b",))
"""
PUT = "def put():\n    return jax.device_put(x, P())\n"
CASES = {
    "nothing is entered": ("put()", "none none"),
    "in a with": ("with a:\n put()", "none a"),
    "behind it": ("with a:\n pass\nput()", "none none"),
    "one in another": ("with a:\n with b:\n  put()", "none b"),
    "behind the inner one": ("with a:\n with b:\n  pass\n put()", "none a"),
    "several at once": ("with a, open('f'), b:\n put()", "none b"),
    "with as": ("with a as m:\n with b:\n  pass\n with m:\n  put()", "none a"),
    "set by a with": ("with jax.set_mesh(a):\n put()", "a none"),
    "behind it again": ("with jax.set_mesh(a):\n pass\nput()", "none none"),
    "used by a with": ("with jax.sharding.use_mesh(a):\n put()", "a none"),
    "used without one": ("jax.sharding.use_mesh(a)\nput()", "none none"),
    "set by a statement": ("jax.set_mesh(a)\nput()", "a none"),
    "by a statement in a with": ("with open('f'):\n jax.set_mesh(a)\nput()", "a none"),
    "by a statement in a with of a mesh": ("with b:\n jax.set_mesh(a)\nput()", "a none"),
    "both kinds": ("with jax.set_mesh(a), b:\n put()", "a b"),
    "set before it is entered": ("c = jax.set_mesh(a)\nwith c:\n pass\nput()", "? ?"),
    "one of two": ("m = a if x.any() else b\nwith m:\n put()", "none a|b"),
    "perhaps none": (
        "m = a if x.any() else contextlib.nullcontext()\nwith m:\n put()",
        "none a|none",
    ),
    "set on one way": ("if x.any():\n jax.set_mesh(a)\nput()", "a|none none"),
    "set in a loop": ("for i in x:\n put()\n jax.set_mesh(a)", "a|none none"),
    "an unknown context": ("with make():\n put()", "? ?"),
    "an unknown mesh": ("with jax.set_mesh(make()):\n put()", "? none"),
    "an abstract mesh": ("with jax.sharding.use_abstract_mesh(a):\n put()", "? ?"),
    "a stack": ("s = contextlib.ExitStack()\ns.enter_context(a)\nput()", "? ?"),
    "a stack of files": (
        "s = contextlib.ExitStack()\ns.enter_context(open('f'))\nput()",
        "none none",
    ),
    "by hand": ("a.__enter__()\nput()", "? ?"),
    "a function of the program": (
        "@contextlib.contextmanager\ndef using(m):\n with m:\n  yield m\nwith using(a):\n put()",
        "none a",
    ),
    "behind that": (
        "@contextlib.contextmanager\ndef using(m):\n with m:\n  yield m\n"
        "with using(a):\n pass\nput()",
        "none none",
    ),
    "set by a function": ("def setup():\n jax.set_mesh(a)\nsetup()\nput()", "a none"),
    "a with in a function": ("def setup():\n with a:\n  pass\nsetup()\nput()", "none none"),
    "an object": (
        "class C:\n def __init__(self):\n  self.m = a\n def go(self):\n  with self.m:\n   put()\n"
        "C().go()",
        "none a",
    ),
    "called from outside": ("def f():\n put()", "outside outside"),
    "called from outside, in a with": ("def f():\n with a:\n  put()", "outside a"),
    "called from outside, after a mesh was set": ("jax.set_mesh(a)\ndef f():\n put()", "a outside"),
    "in a thread": ("with a:\n threading.Thread(target=put).start()", "none left|none|thread"),
    "in a thread of a pool": (
        "with a:\n ThreadPoolExecutor().submit(put)",
        "none left|none|thread",
    ),
    "behind a thread": ("with a:\n threading.Thread(target=id).start()\n put()", "none a"),
    "traced": ("f = jax.jit(lambda y: jax.device_put(y, P()))\nwith a:\n f(x)", "none a"),
    "decorated": ("@jax.jit\ndef f(y):\n return jax.device_put(y, P())\nwith a:\n f(x)", "none a"),
    "traced elsewhere": (
        "with a:\n f = jax.jit(lambda y: jax.device_put(y, P()))\nf(x)",
        "left|none left|none",
    ),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_meshes_in_force(text: str, expected: str) -> None:
    found = interpreted(HEAD + PUT * ("put" in text.replace("device_put", "")) + text + "\n")
    every = [call for calls in found.record.sharded_calls.seen.values() for call in calls]
    sets = frozenset().union(*(call.meshes.by_set for call in every))
    withs = frozenset().union(*(call.meshes.by_with for call in every))
    assert f"{written(sets)} {written(withs)}" == expected


def written(meshes: frozenset[Mesh | MeshSource]) -> str:
    words = {MeshSource.NOWHERE: "none", MeshSource.UNKNOWN: "?"}
    return "|".join(
        sorted(
            words.get(each, each.name.lower())
            if isinstance(each, MeshSource)
            else str(each).strip("()")
            for each in meshes
        )
    )


def test_a_mesh_is_another_way_to_call_a_function() -> None:
    found = interpreted(HEAD + PUT + "put()\nwith a:\n    put()\n    put()\n")
    assert found.program.now.executions == 2


ASKING = {
    "nothing": ("return x", 1),
    "arithmetic": ("return jax.numpy.ones(3) + x", 1),
    "a spec": ("return jax.device_put(x, P())", 3),
    "a call of what has a spec": ("return put()", 6),
    "a compiled function is made": ("return jax.jit(lambda y: y)", 3),
    "one is entered": ("with a:\n  pass", 3),
    "one is set": ("jax.set_mesh(a)", 3),
    "one is entered by hand": ("a.__enter__()", 3),
    "one is entered by a stack": ("contextlib.ExitStack().enter_context(a)", 3),
    "committed arrays": ("return jax.device_put(x, jax.devices()[1]) + 1", 3),
    "a context manager that is left elsewhere": ("return opened()", 4),
    "a file is entered": ("with open('f'):\n  pass", 1),
    "it calls itself": ("return f(1) if x else put()", 15),
}
OPENED = "@contextlib.contextmanager\ndef opened():\n yield\n print()\n"


@pytest.mark.parametrize(("body", "executions"), ASKING.values(), ids=ASKING)
def test_only_what_asks_for_meshes_is_executed_for_each(body: str, executions: int) -> None:
    found = interpreted(
        f"{HEAD}{PUT}{OPENED}def f(x):\n {body}\nf(1)\nwith a:\n    f(1)\nwith b:\n    f(1)\n"
    )
    assert found.program.now.executions == executions


@pytest.mark.parametrize("text", [case[0] for case in CASES.values()], ids=CASES)
def test_meshes_are_the_same_whatever_is_used_again(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = "\n".join(f" {line}" for line in text.splitlines())
    program = (
        f"{HEAD}{PUT}def go():\n{inner}\ndef each():\n go()\n"
        "each()\nwith a:\n each()\nwith b, jax.set_mesh(b):\n each()\n"
    )
    quick = interpreted(program).record
    monkeypatch.setattr(memo, "_whatever_meshes", lambda key: key)
    slow = interpreted(program).record
    assert quick.sharded_calls.seen == slow.sharded_calls.seen
    assert quick.values == slow.values
