"""Constructs of which there can be ever more: in a file, in files, inside of one another, in a row.

A `Growing` makes the files of a project for a number. Time must grow no faster than their size.
"""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    Files: TypeAlias = dict[str, str]

FILE_SIZE, FILES, NESTING, REPETITION = "file size", "number of files", "nesting", "repetition"
DIMENSIONS = (FILE_SIZE, FILES, NESTING, REPETITION)

HEAD = """\
import functools, os, contextlib, dataclasses
import numpy as np
import jax
import jax.numpy as jnp
cpu = jax.devices("cpu")[0]
with jax.default_device(cpu):
    data = jnp.zeros((8, 8))
x = data
obj = functools.partial(len)
d, l, c = {}, [], os.environ.get("C")
def f19999(v): return v
class C19999:
    def m(self, v): return v
A19999 = B19999 = C19999
jax.device_put(data)
"""
"""Passes the filter, and has an array that is not where arrays are by default."""
IMPORTING = "import functools, os\nimport jax\nimport jax.numpy as jnp\n"
NAMES = "data, cpu, x, obj, d, l, c"

STATEMENTS: dict[str, str] = {
    "import": "import p{i}.q\n",
    "import from": "from p{i} import a{i} as b{i}, c{i}\n",
    "relative import": "from .p{i} import a{i}\n",
    "import in try": "try:\n    import p{i}\nexcept ImportError:\n    p{i} = None\n",
    "assignment": "a{i} = jnp.zeros({i})\n",
    "assignment to one name": "a = jnp.zeros({i})\n",
    "alias": "a{i} = x\n",
    "alias of the one before": "a{i} = a{j}\n",
    "alias of a module": "n{i} = jax.numpy\nn{i}.zeros({i})\n",
    "alias of modules by one name": "n = jax.m{i}\nn.zeros({i})\n",
    "chained assignment": "a{i} = b{i} = c{i} = data\n",
    "annotated assignment": "a{i}: jax.Array = data\n",
    "unpacking": "a{i}, (b{i}, *c{i}) = data, (1, 2, 3)\n",
    "augmented assignment": "x += data\n",
    "walrus": "if (y{i} := data) is not None: pass\n",
    "deletion": "a{i} = data\ndel a{i}\n",
    "attribute": "obj.a{i}.b{i}\n",
    "attribute set": "obj.a{i} = data\n",
    "attribute of the one before": "obj.a{i} = obj.a{j}\n",
    "method call": "obj.m{i}(data)\n",
    "subscript": "x[{i}]\n",
    "subscript set": "d['k{i}'] = data\n",
    "list append": "l.append(data)\n",
    "dict update": "d.update(k{i}=data)\n",
    "arithmetic": "a{i} = data * {i} + x - data @ x\n",
    "comparison": "a{i} = data < x\n",
    "branch": "if c == {i}:\n    a{i} = data\nelse:\n    a{i} = 1\n",
    "branch that returns": "def f{i}(v):\n    if v:\n        return data\n    return v\n",
    "for": "for k{i} in range(3):\n    a{i} = x[k{i}]\n",
    "for that carries": "for _ in range(3):\n    a{i} = b{i} = x\n    x = a{i}\n",
    "while": "while c:\n    x = x + {i}\n",
    "try": "try:\n    a{i} = data\nexcept OSError:\n    a{i} = None\nfinally:\n    b{i} = 1\n",
    "with": "with jax.default_device(cpu):\n    a{i} = jnp.ones({i})\n",
    "with a mesh": "with jax.sharding.Mesh(d, 'm{i}'):\n    a{i} = data\n",
    "match": (
        "match x:\n    case [a{i}, *_]:\n        b{i} = a{i}\n    case _:\n        b{i} = data\n"
    ),
    "function": "def f{i}(v):\n    return v + data\n",
    "function called": "def f{i}(v):\n    return v + data\na{i} = f{i}(x)\n",
    "function that calls the next": "def f{i}(v):\n    return f{k}(v + {i})\n",
    "function that calls the one before": "def f{i}(v):\n    return f{j}(v + {i})\n",
    "function that calls the first": "def f{i}(v):\n    return f{first}(v + {i})\n",
    "functions that call each other": (
        "def f{i}(v):\n    return g{i}(v)\ndef g{i}(v):\n    return f{i}(v)\na{i} = f{i}(data)\n"
    ),
    "function of one name": "def f(v):\n    return v + {i}\n",
    "function that sets a global": "def f{i}():\n    global g{i}\n    g{i} = data\nf{i}()\n",
    "function that sets the same global": "def f{i}():\n    global g\n    g = data\nf{i}()\n",
    "function called with each": "def h(v):\n    return v\na{i} = h(data + {i})\n",
    "closure": (
        "def o{i}():\n    v = data\n    def n():\n        return v\n    return n\na{i} = o{i}()()\n"
    ),
    "lambda": "f{i} = lambda v: v + data\nf{i}(x)\n",
    "partial": "p{i} = functools.partial(jnp.add, data)\np{i}(x)\n",
    "generator": "def g{i}():\n    yield data\nfor a{i} in g{i}(): pass\n",
    "coroutine": "async def f{i}():\n    return await f{j}(data)\n",
    "decorator": "@jax.jit\ndef f{i}(v):\n    return v + data\nf{i}(x)\n",
    "decorator with arguments": (
        "@functools.partial(jax.jit, static_argnums={i})\ndef f{i}(v):\n    return v\n"
    ),
    "jit": "f{i} = jax.jit(lambda v: v)\nf{i}(data)\n",
    "vmap of grad": "a{i} = jax.vmap(jax.grad(jnp.sum))(data)\n",
    "tree map": "a{i} = jax.tree.map(lambda v: v + {i}, {{'a': data, 'b': x}})\n",
    "scan": "a{i} = jax.lax.scan(lambda v, w: (v, w), data, x)\n",
    "class": "class C{i}:\n    def m(self):\n        return data\n",
    "class with a state": (
        "class C{i}:\n    def __init__(self, v):\n        self.v = v\n"
        "    def m(self):\n        return self.v\na{i} = C{i}(data).m()\n"
    ),
    "class of the one before": (
        "class C{i}(C{j}):\n    def m(self, v):\n        return super().m(v)\n"
    ),
    "class of the two before": (
        "class A{i}(A{j}, B{j}):\n    def m(self, v):\n        return super().m(v)\n"
        "class B{i}(A{j}):\n    def m(self, v):\n        return super().m(v)\n"
    ),
    "dataclass": "@dataclasses.dataclass\nclass D{i}:\n    v: object = data\na{i} = D{i}().v\n",
    "property": (
        "class P{i}:\n    @property\n    def v(self):\n        return data\na{i} = P{i}().v\n"
    ),
    "comprehension": "a{i} = [v + data for v in range(3) if v]\n",
    "dict comprehension": "a{i} = {{k: data for k in range(3)}}\n",
    "generator expression": "a{i} = sum(v for v in (data, x))\n",
    "f-string": "print(f'{{data.shape}} {i} {{x!r:>{{c}}}}')\n",
    "assert": "assert data.sum() > {i}\n",
    "conditional": "a{i} = data if c else x\n",
    "transfer": "a{i} = jax.device_put(data, cpu)\n",
    "transfer without use": "jax.device_put(data)\n",
    "host transfer": "a{i} = np.asarray(data)\n",
    "item": "a{i} = data.sum().item()\n",
    "devices": "a{i} = jax.devices('cpu')[0]\n",
    "platform": "if jax.default_backend() == 'cuda': pass\n",
    "configuration": "jax.config.update('jax_platforms', 'cpu')\n",
    "configuration by attribute": "jax.config.jax_enable_x64 = True\n",
    "environment": "os.environ['XLA_FLAGS'] = '{i}'\n",
    "callback": "a{i} = jax.pure_callback(lambda v: v, data, data)\n",
    "suppression": "jax.device_put(data)  # noqa: JDP204\n",
    "suppression of ours": "jax.device_put(data)  # placement-lint: ignore[JDP204]\n",
    "unused suppression": "a{i} = 1  # noqa: JDP101, E501\n",
    "comment": "# jax.device_put(data) in {i}\n",
    "docstring": 'def f{i}():\n    """Put on jax.devices, {i}."""\n',
}
"""By name, what is repeated: `{i}` is its number, `{j}` the one before, `{k}` the one behind, and
`{first}` the first."""

ROWS: dict[str, Callable[[int], str]] = {
    "attributes": lambda n: "x" + ".a" * n,
    "calls": lambda n: "x" + ".a()" * n,
    "subscripts": lambda n: "x" + "[0]" * n,
    "sums": lambda n: "a = " + " + ".join(["data"] * n),
    "conjunctions": lambda n: "a = " + " and ".join(["data"] * n),
    "comparisons": lambda n: "a = " + " < ".join(["data"] * n),
    "conditionals": lambda n: "a = " + "data if c else " * min(n, 3_000) + "x",
    "strings": lambda n: "a = " + "'b' " * min(n, 2_900),
    "list items": lambda n: "a = [" + "data, " * n + "]",
    "dict items": lambda n: "a = {" + "".join(f"'k{i}': data, " for i in range(n)) + "}\na['k1']",
    "set items": lambda n: "a = {" + "".join(f"{i}, " for i in range(n)) + "}",
    "arguments": lambda n: "f(" + "data, " * n + ")",
    "keyword arguments": lambda n: "f(" + "".join(f"k{i}=data, " for i in range(n)) + ")",
    "starred arguments": lambda n: "f(" + "*data, " * n + ")",
    "parameters": lambda n: "def f(" + "".join(f"p{i}=data, " for i in range(n)) + "): pass\nf()",
    "targets": lambda n: "a = " * n + "data",
    "tuple of targets": lambda n: ", ".join(f"a{i}" for i in range(n)) + " = data",
    "statements on a line": lambda n: "a = data; " * n + "b",
    "with items": lambda n: "with " + ", ".join(["c"] * n) + ": pass",
    "imported names": lambda n: "from p import " + ", ".join(f"a{i}" for i in range(n)),
    "decorators": lambda n: "@jax.jit\n" * n + "def f(v): return v\nf(data)",
    "decorators of one's own": (
        lambda n: "def w(f): return f\n" + "@w\n" * n + "def f(v): return v\nf(data)"
    ),
    "elifs": lambda n: "if c: x = 1\n" + "elif c: x = data\n" * min(n, 4_000),
    "elifs with names": lambda n: (
        "if c: x = 1\n" + "".join(f"elif c == {i}: x{i} = data\n" for i in range(min(n, 4_000)))
    ),
    "handlers": lambda n: "try: x\n" + "except OSError: x = data\n" * n,
    "cases": lambda n: "match x:\n" + "  case c.d: x = data\n" * n,
    "bases": lambda n: (
        "".join(f"class B{i}:\n  def m(self): return data\n" for i in range(n))
        + f"class C({', '.join(f'B{i}' for i in range(n))}): pass\nC().m()"
    ),
    "methods": lambda n: (
        "class C:\n  def m0(self): return data\n"
        + "".join(f"  def m{i}(self): return self.m{i - 1}()\n" for i in range(1, n))
        + f"C().m{n - 1}()"
    ),
    "class attributes": lambda n: (
        "class C:\n" + "".join(f"  a{i} = data\n" for i in range(n)) + "C.a1"
    ),
    "comprehension clauses": lambda n: "a = [x " + "for x in data " * min(n, 2_900) + "]",
    "globals": lambda n: (
        "def f():\n  global " + ", ".join(f"a{i}" for i in range(n)) + "\n  a1 = 1"
    ),
    "nested tuples to unpack": lambda n: (
        "a = data\n" + "a = (a, a)\n" * min(n, 300) + "b, c = a\n" * n
    ),
    "lines of a docstring": lambda n: '"""\n' + "Of jax.devices.\n" * n + '"""',
    "fields": lambda n: "a = f'" + "{data}" * n + "'",
    "codes": lambda n: "jax.device_put(x)  # noqa: " + ", ".join(f"JDP{i % 900}" for i in range(n)),
    "rules": lambda n: "jax.device_put(x)  # placement-lint: ignore[" + "JDP204," * n + "]",
}
"""By name, a statement with so many of something."""

TOWERS: dict[str, Callable[[int], str]] = {
    "calls": lambda n: f"a = {'f(' * n}data{')' * n}\n",
    "lists": lambda n: f"a = {'[' * n}data{']' * n}\n",
    "tuples": lambda n: f"a = {'(' * n}data{',)' * n}\n",
    "dicts": lambda n: f"a = {'{1: ' * n}data{'}' * n}\n",
    "lambdas": lambda n: f"a = {'(lambda: ' * n}data{')' * n}\n",
    "comprehensions": lambda n: f"a = {'[v for v in ' * n}data{']' * n}\n",
    "conditionals": lambda n: f"a = {'(data if c else ' * n}x{')' * n}\n",
    "subscripts": lambda n: f"a = {'x[' * n}0{']' * n}\n",
    "partials": lambda n: f"a = {'functools.partial(' * n}jnp.add{', data)' * n}\na(x)\n",
    "jits": lambda n: f"a = {'jax.jit(' * n}jnp.sum{')' * n}(data)\n",
    "ifs": lambda n: _blocks("if c:", n),
    "fors": lambda n: _blocks("for v{i} in x:", n),
    "whiles": lambda n: _blocks("while c:", n),
    "withs": lambda n: _blocks("with jax.default_device(cpu):", n),
    "tries": lambda n: _blocks("try:", n, "except OSError: x = data"),
    "ifs with others": lambda n: _blocks("if c:", n, "else: x = data"),
    "functions": lambda n: _blocks("def f{i}(v):", n, "f{i}(x)"),
    "functions that return": lambda n: _blocks("def f{i}(v):", n, "return f{i}"),
    "classes": lambda n: _blocks("class C{i}:", n),
    "loops that carry": lambda n: _blocks("for v in x:", n, "x = x + data"),
    "matches": lambda n: "".join(
        f"{'  ' * i}match x:\n{'  ' * i} case [x]:\n" for i in range(min(n, 45))
    ) + "  " * min(n, 45) + "x = data\n",
}  # fmt: skip
"""By name, something so deep inside of itself."""


_FIRST = 20_000
"""Numbers have a fixed width, so that twice as many statements are twice as much text."""


def _blocks(header: str, depth: int, footer: str = "") -> str:
    depth = min(depth, 95)
    lines = [f"{' ' * level}{header.format(i=level)}\n" for level in range(depth)]
    lines.append(f"{' ' * depth}x = data\n")
    if footer:
        lines += [f"{' ' * level}{footer.format(i=level)}\n" for level in reversed(range(depth))]
    return "".join(lines)


UNITS = (
    ".", ". ", "a.", "a .", ")\n.", "a).", "(", ")", "()", "a(", "a(b).", "[", "]", "{", "}",
    "{a: ", "\\\n", "a\\\n.", "#\n", "# a.b\n.", "#", "'", '"', "'''", '"""', "f'", "f'{", "f'''{",
    "}'", "\\'", "rb'\\", "import ", "import a, ", "import (", "from a import b\n", "from . ",
    "from a import b as c;", "=", "==", "a=", "a = ", "a = b.c\n", "a = b.c(d)\n", "a: b = ",
    "f(a=b, ", "a = b = c\n", ":=", ",", ";", "with ", "with a: ", "with jax.m", "lambda ",
    "lambda: ", "def a(", "def a(b): c\n", "class a: ", "environ[", "environ ", "environ[a] = ",
    "jax.", "jax.config.", "jax.config.jax_a: ", "as a", "as (", "device=", "device = ", ".device",
    ".device(", "device_put(", "jax.device_put(", "jax.device_put(a, ", "jax.jit(device=",
    "jax.pure_callback(a, ", "jax.pure_callback(", "getattr(", "'cpu' == ", "in ['gpu',",
    "noqa: JDP204 ", "# noqa: JDP1,", "#noqa:jdp", "# placement-lint: ignore[", "devices(",
    "devices()[", "__name__ ", "tensorflow ", "import tensorflow ", "a = import_module('b')\n",
    "import_module(", "@", "\t", "\f", " ", "\r", "\r\n", "é", "\ufeff", "\u2028", "%", "%a\n",
    "?", "!a\n", "# %%\n", "0_", "1.", "1e", "elif a:\n", "if a:\n ", "case [", "match a:\n", "\n",
    "\0", "-", "**", "not ", "a b ",
)  # fmt: skip
"""Text that is repeated as it stands; most of it is no Python."""


@dataclass(frozen=True)
class Growing:
    """One construct in one dimension."""

    construct: str
    dimension: str
    make: Callable[[int], Files]
    """Gives the files for a number."""
    start: int = 100
    """The least number to begin with."""
    most: int = 1 << 30
    """The largest number of which there is more than of the half of it."""

    @property
    def name(self) -> str:
        return f"{self.construct}, {self.dimension}"


def every() -> list[Growing]:
    """Give every construct in each dimension that it has."""
    found: list[Growing] = []
    for name, text in STATEMENTS.items():
        found += [
            Growing(name, FILE_SIZE, partial(_in_a_row, text)),
            Growing(name, REPETITION, partial(_again_and_again, text)),
            Growing(name, FILES, partial(_chain, text), start=10),
            # Before that, each level adds one more thing that a name may be; 12 are told apart.
            Growing(name, NESTING, partial(_towers, text), start=20, most=80),
        ]
    for name, make in ROWS.items():
        found.append(Growing(f"row of {name}", REPETITION, partial(_row, make)))
    for name, make in TOWERS.items():
        found.append(Growing(f"tower of {name}", NESTING, partial(_tower, make), start=5, most=60))
    for unit in UNITS:
        found += [
            Growing(ascii(unit), FILE_SIZE, partial(_units, unit + "\n")),
            Growing(ascii(unit), REPETITION, partial(_units, unit)),
            Growing(ascii(unit), FILES, partial(_units_in_files, unit), start=10),
            Growing(ascii(unit), NESTING, partial(_units_in_brackets, unit)),
        ]
    return [*found, *_projects()]


def _in_a_row(text: str, count: int) -> Files:
    return {"a.py": HEAD + _numbered(text, range(count))}


def _row(make: Callable[[int], str], count: int) -> Files:
    return {"a.py": f"{HEAD}{make(count)}\n"}


def _tower(make: Callable[[int], str], depth: int) -> Files:
    return {"a.py": HEAD + make(depth) * 40}


def _units(unit: str, count: int) -> Files:
    return {"a.py": f"{HEAD}{unit * count}\n"}


def _units_in_files(unit: str, count: int) -> Files:
    return {f"m{i}.py": f"{HEAD}{unit * 200}\n" for i in range(count)}


def _units_in_brackets(unit: str, depth: int) -> Files:
    return {"a.py": f"{HEAD}{f'({unit}' * depth}{')' * depth}\n"}


def _numbered(text: str, numbers: range) -> str:
    return "".join(
        text.format(i=_FIRST + i, j=_FIRST + i - 1, k=_FIRST + i + 1, first=_FIRST) for i in numbers
    )


def _again_and_again(text: str, count: int) -> Files:
    """Repeat a statement with the same names, in one function."""
    body = textwrap.indent(_numbered(text, range(1)) * count + "pass\n", "    ")
    return {"a.py": f"{HEAD}def whole(x, c):\n{body}whole(data, 1)\n"}


def _towers(text: str, depth: int) -> Files:
    """Put a statement on every floor of some towers of blocks."""
    headers = ("if c:", "for v in x:", "while c:", "with c:", "try:")
    made = []
    for tower in range(5):
        footers: list[str] = []
        for level in range(depth):
            inside = " " * level
            header = headers[(level + tower) % len(headers)]
            number = tower * depth + level
            made.append(textwrap.indent(_numbered(text, range(number, number + 1)), inside))
            made.append(f"{inside}{header}\n")
            if header == "try:":
                footers.append(f"{inside}except OSError: pass\n")
        made.append(f"{' ' * depth}x = data\n")
        made += reversed(footers)
    return {"a.py": HEAD + "".join(made)}


def _chain(text: str, count: int) -> Files:
    """Give files of which each imports what it needs from the one before."""
    files = {"m00000.py": HEAD + _numbered(text, range(1))}
    for i in range(1, count):
        head = f"{IMPORTING}from m{i - 1:05} import {NAMES}\njax.device_put(data)\n"
        files[f"m{i:05}.py"] = head + _numbered(text, range(i, i + 1))
    return files


def _projects() -> list[Growing]:
    """Give what grows beside the code: what files import of one another, settings, notebooks."""
    use = "x[0]\n"

    def hub(n: int) -> Files:
        return {"hub.py": HEAD} | {
            f"m{i}.py": f"from hub import data\ndata[{i}]\n" for i in range(n)
        }

    def spokes(n: int) -> Files:
        names = "".join(f"from m{i} import data as d{i}\nd{i}[0]\n" for i in range(n))
        return {f"m{i}.py": HEAD for i in range(n)} | {"hub.py": names}

    def stars(n: int) -> Files:
        return {"m0.py": HEAD} | {
            f"m{i}.py": f"from m{i - 1} import *\njnp.zeros(1)\n{use}" for i in range(1, n)
        }

    def aliases(n: int) -> Files:
        return {"m0.py": "import jax.numpy as np0\n"} | {
            f"m{i}.py": f"from m{i - 1} import np{i - 1} as np{i}\nnp{i}.zeros(1)\n"
            for i in range(1, n)
        }

    def circle(n: int) -> Files:
        return {f"m{i}.py": f"{HEAD}from m{(i + 1) % n} import x as y\ny[0]\n" for i in range(n)}

    def deep(n: int) -> Files:
        files = {"a.py": HEAD}
        folder = ""
        for i in range(n):
            folder += f"p{i % 10}/"
            files[f"{folder}__init__.py"] = "from jax import numpy\n"
            files[f"{folder}a.py"] = "from . import numpy\nnumpy.zeros(1)\n"
        return files

    def package(n: int) -> Files:
        names = "".join(f"from .m{i} import f{i}\n" for i in range(n))
        return {"p/__init__.py": names} | {
            f"p/m{i}.py": f"{IMPORTING}from p import f{(i * 7) % n}\ndef f{i}(v):\n    return v\n"
            for i in range(n)
        }

    def functions(n: int) -> Files:
        return {"m0.py": f"{HEAD}def f0(v):\n    return v\n"} | {
            f"m{i}.py": (
                f"{IMPORTING}from m{i - 1} import f{i - 1}, data\n"
                f"def f{i}(v):\n    return f{i - 1}(v)\nf{i}(data)[0]\n"
            )
            for i in range(1, n)
        }

    def classes(n: int) -> Files:
        return {"m0.py": f"{HEAD}class C0:\n    def m(self):\n        return data\n"} | {
            f"m{i}.py": (
                f"import jax\nfrom m{i - 1} import C{i - 1}\n"
                f"class C{i}(C{i - 1}): pass\nC{i}().m()[0]\n"
            )
            for i in range(1, n)
        }

    def notebook(n: int) -> Files:
        cells = [HEAD, *(f"a{i} = data[{i}]\n" for i in range(n))]
        made: list[dict[str, object]] = [
            {"cell_type": "code", "metadata": {}, "outputs": [{"data": "x" * 50}], "source": [cell],
             "execution_count": None}
            for cell in cells
        ]  # fmt: skip
        whole = {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
        return {"a.ipynb": json.dumps(whole, indent=1)}

    def text(name: str, unit: str, head: str = "", tail: str = "") -> Callable[[int], Files]:
        def make(n: int) -> Files:
            body = "".join(unit.replace("{i}", str(100_000 + i)) for i in range(n))
            return {"a.py": HEAD, name: f"{head}{body}{tail}"}

        return make

    settings = "placement-lint.toml"
    return [
        Growing("files that import one", FILES, hub, start=20),
        Growing("file that imports all", FILES, spokes, start=20),
        Growing("star imports of one another", FILES, stars, start=20),
        Growing("aliases of one another", FILES, aliases, start=20),
        Growing("imports in a circle", FILES, circle, start=20),
        Growing("folders in folders", FILES, deep, start=10, most=160),
        Growing("package that imports all", FILES, package, start=20),
        Growing("functions of one another", FILES, functions, start=20),
        Growing("classes of one another", FILES, classes, start=20),
        Growing("cells of a notebook", FILE_SIZE, notebook),
        Growing("cells of a script", FILE_SIZE, text("b.py", "# %%\n!ls {i}\n%time x\n", HEAD)),
        Growing("globs in .gitignore", FILE_SIZE, text(".gitignore", "a{i}*b/c\n")),
        Growing("stars in .gitignore", REPETITION, text(".gitignore", "*a")),
        Growing("folders in .gitignore", REPETITION, text(".gitignore", "**/a/")),
        Growing("sets in .gitignore", REPETITION, text(".gitignore", "[a-c]")),
        Growing("excludes", FILE_SIZE, text(settings, "'a{i}*b',\n", "extend-exclude = [", "]")),
        Growing("braces", REPETITION, text(settings, "{,", "extend-exclude = ['", "']")),
        Growing("alternatives", REPETITION, text(settings, "a,", "extend-exclude = ['{", "}']")),
        Growing(
            "per-file ignores", FILE_SIZE,
            text(settings, "'a{i}*' = ['JDP204']\n", "[per-file-ignores]\n"),
        ),
        Growing("rules of an ignore", FILE_SIZE, text(settings, "'JDP204',\n", "ignore = [", "]")),
        Growing("parts of a key", REPETITION, text(settings, "a.", "", "a = 1")),
        Growing("keys", FILE_SIZE, text("pyproject.toml", "a{i} = 1\n", "", "jax = 1")),
        Growing("requirements", FILE_SIZE, text("requirements.txt", "jax>=0.4.{i}\n")),
        Growing("same requirement", REPETITION, text("requirements.txt", "jax>=0.4.30\n")),
        Growing("bounds", REPETITION, text("requirements.txt", ",>=0.4.{i}", "jax>=0.4")),
        Growing("spaces in setup.cfg", REPETITION, text("setup.cfg", " ", "[a]\nx", "jax\n")),
        Growing("options of setup.cfg", FILE_SIZE, text("setup.cfg", "a{i}\n", "[a]\n", "jax\n")),
    ]  # fmt: skip
