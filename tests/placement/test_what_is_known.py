"""What the interpreter knows of a name, construct by construct, as `--reveal` says it."""

from __future__ import annotations

import textwrap

import pytest

from placement_lint.files.source import Source
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions

HEAD = """\
import contextlib
import jax
import jax.numpy as jnp
import numpy as np

cpu = jax.devices("cpu")[0]
gpu = jax.devices("gpu")[1]
with jax.default_device(cpu):
    on_host = jnp.zeros((8, 8))
"""
ON_HOST = 'a JAX array, uncommitted on jax.devices("cpu")[0], made at x.py:9'
DEFAULT = "a JAX array, uncommitted on jax.devices()[0], made at x.py:{}"

UNKNOWN_DEVICE = "a JAX array, committed to an unknown device"

CASES = {
    "device": ("cpu  # reveal: cpu", 'the device jax.devices("cpu")[0]'),
    "creation": ("y = on_host  # reveal: y", ON_HOST),
    "operation": ("y = jnp.ones(3) + 1  # reveal: y", DEFAULT.format(10)),
    "commit": (
        "y = jax.device_put(on_host, cpu)  # reveal: y",
        'a JAX array, committed to jax.devices("cpu")[0], made at x.py:9',
    ),
    "commit elsewhere": (
        "y = jax.device_put(np.ones(3), gpu)  # reveal: y",
        'a JAX array, committed to jax.devices("gpu")[1]',
    ),
    "identity": ("y = jnp.asarray(on_host)  # reveal: y", ON_HOST),
    "whole slice": ("y = on_host[:]  # reveal: y", ON_HOST),
    "host": ("y = np.asarray(on_host)  # reveal: y", "a NumPy array"),
    "plain": ("y = on_host.shape  # reveal: y", "no array"),
    "unknown": ("y = unknown()  # reveal: y", "unknown"),
    "conditional": (
        "y = on_host if unknown() else None  # reveal: y",
        f"{ON_HOST} or no array",
    ),
    "branch": (
        "y = None\nif unknown():\n    y = on_host\ny  # reveal: y",
        f"{ON_HOST} or no array",
    ),
    "loop": (
        "y = None\nfor _ in range(n):\n    y = on_host\ny  # reveal: y",
        f"{ON_HOST} or no array",
    ),
    "loop that runs": (
        "y = None\nfor _ in range(3):\n    y = on_host\ny  # reveal: y",
        ON_HOST,
    ),
    "try": (
        "try:\n    y = on_host\nexcept OSError:\n    y = None\ny  # reveal: y",
        f"{ON_HOST} or no array",
    ),
    "match": (
        "match unknown():\n    case 1:\n        y = on_host\n    case _:\n        y = None\n"
        "y  # reveal: y",
        f"{ON_HOST} or no array",
    ),
    "unpacking": ("a, *b = (on_host, 1, 2)\na  # reveal: a", ON_HOST),
    "walrus": ("print(y := on_host)\ny  # reveal: y", ON_HOST),
    "list": ("y = [on_host]  # reveal: y", f"a sequence of ({ON_HOST})"),
    "dict": ('d = {"x": on_host, "n": 1}\ny = d["x"]  # reveal: y', ON_HOST),
    "comprehension": ("y = [on_host for _ in range(3)]  # reveal: y", f"a sequence of ({ON_HOST})"),
    "block": (
        "with jax.default_device(gpu):\n    y = jnp.ones(3)  # reveal: y",
        'a JAX array, uncommitted on jax.devices("gpu")[1], made at x.py:11',
    ),
    "nested blocks": (
        "with jax.default_device(gpu), jax.default_device(None):\n    y = jnp.ones(3)  # reveal: y",
        DEFAULT.format(11),
    ),
    "exit stack": (
        "with contextlib.ExitStack() as stack:\n"
        "    stack.enter_context(jax.default_device(gpu))\n"
        "    y = jnp.ones(3)  # reveal: y",
        'a JAX array, uncommitted on jax.devices("gpu")[1], made at x.py:12',
    ),
    "after the block": (
        "with jax.default_device(gpu):\n    pass\ny = jnp.ones(3)  # reveal: y",
        DEFAULT.format(12),
    ),
    "configuration": (
        'jax.config.update("jax_default_device", gpu)\ny = jnp.ones(3)  # reveal: y',
        'a JAX array, uncommitted on jax.devices("gpu")[1], made at x.py:11',
    ),
    "function": (
        "def f(x):\n    return x\ny = f(on_host)  # reveal: y",
        ON_HOST,
    ),
    "recursion": (
        "def f(x, n):\n    return x if n == 0 else f(x, n - 1)\ny = f(on_host, 3)  # reveal: y",
        ON_HOST,
    ),
    "lambda": ("f = lambda x: [x]\ny = f(on_host)[0]  # reveal: y", ON_HOST),
    "keywords": (
        "def f(*, a, **rest):\n    return rest['b']\ny = f(a=1, b=on_host)  # reveal: y",
        ON_HOST,
    ),
    "star arguments": (
        "def f(*xs):\n    return xs[1]\ny = f(*[1, on_host])  # reveal: y",
        ON_HOST,
    ),
    "attribute": (
        "class C:\n    def __init__(self, x):\n        self.x = x\n"
        "c = C(on_host)\nc.x  # reveal: c.x",
        ON_HOST,
    ),
    "caller's default device": (
        "def make():\n    return jnp.ones(3)\n"
        "with jax.default_device(gpu):\n    y = make()  # reveal: y",
        'a JAX array, uncommitted on jax.devices("gpu")[1], made at x.py:11',
    ),
    "jit": (
        "f = jax.jit(lambda x: x)  # reveal: f",
        "a function that computes on the default device",
    ),
    "list of devices": ("y = jax.devices()  # reveal: y", "a list of devices"),
    "some device": ("y = jax.devices()[unknown()]  # reveal: y", "the device jax.devices()[…]"),
    "unknown device": ("y = jax.device_put(1, unknown())  # reveal: y", UNKNOWN_DEVICE),
    "context": (
        "y = jax.default_device(cpu if unknown() else gpu)  # reveal: y",
        'a context in which the default device is jax.devices("cpu")[0] or jax.devices("gpu")[1]',
    ),
    "context of an unknown device": (
        "y = jax.default_device(unknown())  # reveal: y",
        "a context in which the default device is unknown",
    ),
    "other context": ("y = contextlib.nullcontext()  # reveal: y", "a context manager"),
    "defined function": ("def y():\n    pass\ny  # reveal: y", "a function defined at x.py:10"),
    "class": ("class y:\n    pass\ny  # reveal: y", "a class defined at x.py:10"),
    "object": (
        "class C:\n    pass\ny = C()  # reveal: y",
        "an object of the class at x.py:10",
    ),
    "method": ("class C:\n    def f(self):\n        pass\ny = C().f  # reveal: y", "a method"),
    "coroutine": (
        "async def f():\n    return on_host\ny = f()  # reveal: y",
        f"a coroutine that gives ({ON_HOST})",
    ),
    "generator": ("def f():\n    yield 1\ny = f()  # reveal: y", "a generator"),
    "iterator": ("y = (x for x in [1])  # reveal: y", "an iterator"),
    "mapping": ("y = {'a': 1, 'b': on_host}  # reveal: y", f"a mapping of ({ON_HOST} or no array)"),
    "empty": ("y = []  # reveal: y", "a sequence, empty"),
    "empty dict": ("y = {}  # reveal: y", "a mapping, empty"),
    "nested": (
        "y = [[[[on_host]]]]  # reveal: y",
        "a sequence of (a sequence of (a sequence of (a container)))",
    ),
    "sharding": ("y = jax.sharding.PositionalSharding(1)  # reveal: y", "a sharding"),
    "mesh": (
        'y = jax.make_mesh((4, 2), ("data", "model"))  # reveal: y',
        "a mesh (data=4, model=2)",
    ),
    "unknown-mesh": ("y = jax.sharding.Mesh(*given)  # reveal: y", "a mesh (…)"),
    "spec": (
        'y = jax.P("data", ("a", "b"), None, axis)  # reveal: y',
        'the spec P("data", ("a", "b"), None, …)',
    ),
    "named-sharding": (
        'm = jax.sharding.Mesh(devices, ("data",))\n'
        'y = jax.NamedSharding(m, jax.P("data"))  # reveal: y',
        'a sharding on mesh (data), P("data")',
    ),
    "array-on-a-mesh": (
        'm = jax.sharding.Mesh(devices, ("data",))\n'
        "x = jax.device_put(images, jax.NamedSharding(m, jax.P(None)))\n"
        "y = x  # reveal: y",
        "a JAX array on mesh (data), P(None)",
    ),
    "computed-on-a-mesh": (
        'm = jax.sharding.Mesh(devices, ("data",))\n'
        'x = jax.device_put(images, jax.NamedSharding(m, jax.P("data")))\n'
        "y = x + 1  # reveal: y",
        'a JAX array on mesh (data), P("data")',
    ),
    "type-and-shape-on-a-mesh": (
        'm = jax.make_mesh((4, 2), ("data", "model"))\n'
        "w = np.zeros((512, 4096), jax.numpy.bfloat16)\n"
        'y = jax.device_put(w, jax.NamedSharding(m, jax.P("data", None)))  # reveal: y',
        'bf16[512, 4096] on mesh (data=4, model=2), P("data", None)',
    ),
    "shape-on-a-mesh": (
        'm = jax.sharding.Mesh(devices, ("data",))\n'
        "n = 64\n"
        'x = jax.device_put(np.ones((n, 8)), jax.NamedSharding(m, jax.P("data")))\n'
        "y = 2 * x  # reveal: y",
        '[64, 8] on mesh (data), P("data")',
    ),
    "other-type-on-a-mesh": (
        'm = jax.sharding.Mesh(devices, ("data",))\n'
        "x = jnp.full((16,), 1, dtype='int32').astype(jnp.float16)\n"
        'y = jax.device_put(x / 2.0, jax.NamedSharding(m, jax.P("data")))  # reveal: y',
        'f16[16] on mesh (data), P("data"), made at x.py:12',
    ),
    "unwritten-shape-on-a-mesh": (
        'm = jax.sharding.Mesh(devices, ("data",))\n'
        'y = jax.device_put(jnp.ones((n, 8)), jax.NamedSharding(m, jax.P("data")))  # reveal: y',
        'a JAX array on mesh (data), P("data"), made at x.py:11',
    ),
    "row-of-a-mesh": (
        'm = jax.sharding.Mesh(devices, ("data",))\n'
        'x = jax.device_put(images, jax.NamedSharding(m, jax.P("data")))\n'
        "for y in x:  # reveal: y\n    pass",
        "a JAX array, uncommitted on jax.devices()[0], made at x.py:12",
    ),
    "axes-of-a-mesh": (
        'm = jax.make_mesh((4, 2), ("data", "model"))\ny = jax.P(*m.axis_names)  # reveal: y',
        'the spec P("data", "model")',
    ),
    "partial": (
        "import functools\ndef f(x):\n    pass\ny = functools.partial(f, 1)  # reveal: y",
        "a partial",
    ),
    "missing": ("pass  # reveal: y", "there is no such name on this line"),
}


@pytest.mark.parametrize(("code", "expected"), CASES.values(), ids=CASES.keys())
def test_what_is_known(code: str, expected: str) -> None:
    result = lint_source(Source("x.py", HEAD + textwrap.dedent(code) + "\n"), REVEAL)
    assert result.findings == ()
    assert [each.description for each in result.revealed] == [expected]


REVEAL = FileOptions((), reveal=True)


def test_nothing_is_said_unasked() -> None:
    text = HEAD + "y = on_host  # reveal: y\n"
    assert lint_source(Source("x.py", text), FileOptions(())).revealed == ()
