"""Names that stand for one another: no rule follows them for ever.

Code may bind a name further down, in another turn of a loop or not at all: what is followed from
name to name may come back to where it began.
"""

import pytest

from placement_lint.files.source import Source
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions, Sight
from placement_lint.rules.registry import all_rules

PROGRAMS = {
    "arrays": (
        "import jax\n"
        "import jax.numpy as jnp\n"
        "first = jnp.asarray(second)\n"
        "second = jnp.asarray(first)\n"
        "step = jax.jit(lambda x: x + first)\n"
    ),
    "tensors": (
        "import jax.numpy as jnp\na = b.detach()\nb = a.detach()\nx = jnp.from_dlpack(a)\n"
    ),
    "devices-of-jit": (
        "import jax\na = b if c else d\nb = a if c else d\nf = jax.jit(g, device=a)\n"
    ),
    "backends-of-jit": (
        "import jax\n"
        "def f():\n"
        "  a = b if c else 'cpu'\n"
        "  b = a if c else 'gpu'\n"
        "  return jax.jit(g, backend=a)\n"
    ),
    "copies": (
        "import jax\n"
        "import numpy as np\n"
        "step = jax.jit(lambda x, y: x)\n"
        "a = b.astype(int)\n"
        "b = a.astype(int)\n"
        "for i in range(3):\n"
        "    step(i, a)\n"
    ),
    "conversions": (
        "import jax\n"
        "import numpy as np\n"
        "step = jax.jit(lambda x, y: x)\n"
        "a = np.asarray(b)\n"
        "b = np.asarray(a)\n"
        "for i in range(3):\n"
        "    step(i, a)\n"
    ),
    "literals": (
        "import jax\n"
        "import numpy as np\n"
        "step = jax.jit(lambda x, y: x)\n"
        "a = np.array([b, 1.0])\n"
        "b = np.array([a])\n"
        "for i in range(3):\n"
        "    step(i, a)\n"
    ),
    "put-arrays": (
        "import jax\n"
        "a = jax.device_put(b, jax.devices()[0])\n"
        "b = jax.device_put(a, jax.devices()[0])\n"
        "print(a + b)\n"
    ),
    "default-devices": (
        "import jax\nd = e\ne = d\nwith jax.default_device(d):\n    x = jax.numpy.ones(3)\n"
    ),
    "items-of-devices": (
        "import jax\n"
        "d = e[0]\n"
        "e = d[0]\n"
        "with jax.default_device(d):\n"
        "    x = jax.numpy.ones(3)\n"
        "    cpu = jax.devices()[0]\n"
    ),
    "guards": ("import jax\na = not b\nb = not a\nif a:\n    n = len(jax.devices('gpu'))\n"),
    "guards-of-several": (
        "import jax\n"
        "a = b and c\n"
        "b = a or c\n"
        "c = a and b\n"
        "if a and b:\n"
        "    n = len(jax.devices('gpu'))\n"
    ),
    "platforms": (
        "import jax\n"
        "p = q.lower()\n"
        "q = p.lower()\n"
        "if p == 'cuda':\n"
        "    pass\n"
        "if 'gpu' in str(p): pass\n"
        "d = p.platform\n"
        "p2 = d.platform\n"
    ),
    "results-in-a-loop": (
        "import jax\n"
        "step = jax.jit(lambda x: x)\n"
        "def f(x):\n"
        "    for _ in range(3):\n"
        "        a = step(b)\n"
        "        b = float(a)\n"
        "        a2 = a\n"
        "        print(b)\n"
    ),
    "functions-that-call-each-other": (
        "import jax\n"
        "from jax import numpy as jnp\n"
        "def f(x, y):\n"
        "    return g(x, y)\n"
        "def g(x, y):\n"
        "    return f(x, y)\n"
        "h = jax.jit(f)\n"
        "a = jax.device_put(1.0, jax.devices('cpu')[0])\n"
        "b = jax.device_put(jnp.ones(9), jax.devices()[0])\n"
        "h(a, b)\n"
    ),
    "processes": (
        "import multiprocessing\n"
        "import jax\n"
        "jax.devices()\n"
        "c = d\n"
        "d = c\n"
        "c.Process(target=f)\n"
        "def f():\n"
        "    return f()\n"
        "multiprocessing.Process(target=f)\n"
    ),
    "files": (
        "from safetensors import safe_open\n"
        "import jax\n"
        "with safe_open(p, 'flax', device='cpu') as f:\n"
        "    p = q\n"
        "    q = p\n"
        "    x = f.get_tensor('a')\n"
    ),
    "paths": (
        "import jax.numpy as jnp\np = q\nq = p\ntokens = jnp.load(p)\nfor t in tokens: pass\n"
    ),
    "partials": (
        "import functools, jax\n"
        "f = functools.partial(g, 1)\n"
        "g = functools.partial(f, 1)\n"
        "h = jax.jit(f)\n"
        "jax.pure_callback(f, 1)\n"
    ),
    "compiled-functions": (
        "import jax\n"
        "f = jax.jit(g)\n"
        "g = jax.jit(f)\n"
        "jax.pure_callback(f, 1)\n"
        "for i in range(3):\n"
        "    f(g(i))\n"
    ),
    "environments": ("import os, jax\ne = o\no = e\ne['JAX_PLATFORMS'] = 'cpu'\n"),
    "loaders": (
        "import torch.utils.data as d, jax\n"
        "ds = dt\n"
        "dt = ds\n"
        "d.DataLoader(ds, num_workers=2)\n"
        "def c(b): return c(b)\n"
        "d.DataLoader(ds, num_workers=w, collate_fn=c)\n"
        "w = w2\n"
        "w2 = w\n"
    ),
    "classes": (
        "import jax\n"
        "class A(B): pass\n"
        "class B(A): pass\n"
        "import torch.utils.data as d\n"
        "d.DataLoader(A(), num_workers=2)\n"
        "A().x\n"
    ),
    "parameters": (
        "import jax, optax\np = q\nq = p\nt = optax.adam(r)\nr = t\ns = jax.jit(t.init)(p)\n"
    ),
    "shapes": (
        "import jax\n"
        "import jax.numpy as jnp\n"
        "s = (t, 2)\n"
        "t = s\n"
        "x = jax.device_put(jnp.zeros(s), jax.devices('cpu')[0])\n"
        "y = jnp.zeros_like(z, device=jax.devices('cpu')[0])\n"
        "z = jnp.ones_like(y)\n"
        "w = jax.device_put(v)\n"
        "v = jax.device_put(w)\n"
        "u = jnp.zeros_like(w, device=jax.devices('cpu')[0])\n"
    ),
    "functions": (
        "import jax\nf = lambda x: g(x)\ng = lambda x: f(x)\njax.jit(f)(jax.numpy.ones(3))\n"
    ),
    "branches": ("import jax\na = jax.lax.cond(p, b, c)\nb = jax.tree.map(a, c)\nc = a\n"),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_ends(name: str) -> None:
    options = FileOptions(tuple(all_rules()), sight=Sight.WHOLE)
    result = lint_source(Source("code.py", PROGRAMS[name]), options)
    assert result.parsed
    assert [found.message for found in result.findings if found.code.startswith("JDP90")] == []
