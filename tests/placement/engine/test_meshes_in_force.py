"""Which meshes are in force at a point of a program, by example."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from placement_lint.placement.domain.mesh_contexts import MeshSource
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
