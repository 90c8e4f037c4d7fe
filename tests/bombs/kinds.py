"""Programs that take as much time or memory as a linter lets them, by kind and name.

Each is a folder of files. None of them is meant to be parsed by anything else: what they would do,
nobody runs. Some are harmless today, because what they blew up is bounded now: they stay.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

Files: TypeAlias = "dict[str, str]"
Make: TypeAlias = "Callable[[], Files]"

HEAD = """\
import contextlib, functools, itertools, operator, threading
from collections import namedtuple
import jax
import jax.numpy as jnp

cpu = jax.devices("cpu")[0]
with jax.default_device(cpu):
    t = jnp.ones((10, 10))
s = "a"
x = [t, t]
d = {"a": t}
"""
USE = "t[0]\nx[0]\nprint(d)\n"
NAME = "bomb.py"
"""The file of a bomb that has one."""


def _lines(count: int, line: str) -> str:
    return "".join(line.replace("%d", str(number)) for number in range(count))


def _one(body: str) -> Files:
    return {NAME: HEAD + body + USE}


def _repeated(count: int, line: str) -> Make:
    return lambda: _one(_lines(count, line))


def _text(make: Callable[[], str]) -> Make:
    return lambda: _one(make())


GROWING = {
    "a list added to itself": "x = x + x\n",
    "a list extended by itself": "x += x\n",
    "a list and its method extend": "x.extend(x)\n",
    "a list unpacked twice": "x = [*x, *x]\n",
    "a tuple unpacked twice": "x = (*x, *x)\n",
    "a list times a number": "x = x * 1000000\n",
    "a list times a huge number": "x = [t] * 1000000000\n",
    "a pair of itself": "x = (x, x)\n",
    "a list of itself": "x = [x, x]\n",
    "a set of itself": "x = {x, x}\n",
    "a dict of itself": 'd = {"a": d, "b": d}\n',
    "dicts joined": 'd = d | {"%d": d}\n',
    "dicts joined in place": 'd |= {"%d": d, "b": d}\n',
    "a dict updated": 'd.update({"%d": d})\n',
    "a dict unpacked": 'd = {**d, "%d": d}\n',
    "a nested comprehension": "x = [(y, z) for y in x for z in x]\n",
    "a dict comprehension": "d = {k: (d, d) for k in d}\n",
    "zip": "x = list(zip(x, x))\n",
    "map": "x = list(map(lambda a: (a, a), x))\n",
    "tee": "x = itertools.tee(x, 100000000)\n",
    "repeat": "x = list(itertools.repeat(x, 10**9))\n",
    "product": "x = list(itertools.product(x, x))\n",
    "chain": "x = list(itertools.chain(x, x))\n",
    "partial": "x = functools.partial(x, x, x)\n",
    "generators": "def g%d(a, b):\n    yield a\n    yield b\nx = g%d(x, x)\n",
    "iterators": "x = map(lambda a: a, x, x)\n",
    "default arguments": "x = (lambda a=x, b=x: (a, b))()\n",
    "a string times a number": 's = "a" * 1000000000\ns = s + s\n',
    "a format of great width": 's = "%1000000000d" % 1\n',
    "a number to the power of numbers": "n = 9 ** 9 ** 9 ** 9\n",
    "a shift": "n = 1 << 10 ** 12\n",
    "starred arguments": "def h%d(*a):\n    return a + a\nx = h%d(*x, *x)\n",
    "keyword arguments": "def k%d(**a):\n    return a\nd = k%d(x=d, y=d)\n",
    "slices": "x = x[:] + x[::-1]\n",
    "a list in itself": "x[0] = x\nx.append(x)\nx.insert(0, x)\n",
    "sum": "x = sum([x, x], [])\n",
    "reversed": "x = x + list(reversed(x))\n",
    "named tuples": 'N%d = namedtuple("N", "a b")\nx = N%d(x, x)\n',
    "device_put": "x = jax.device_put([x, x], cpu)\n",
    "a tree": "x = jax.tree.map(lambda a: (a, a), x)\n",
    "objects": "class C%d:\n    def __init__(self, a):\n        self.a = (a, a)\nx = C%d(x)\n",
    "coroutines": "async def f%d(a):\n    return (a, a)\nx = f%d(x)\n",
    "threads": "x = threading.Thread(target=print, args=(x, x))\n",
    "contexts": "x = contextlib.nullcontext((x, x))\n",
    "a starred target": "a, *b = x\nx = [*b, *b, a]\n",
    "a loop": "for i in range(10):\n    x = x + x\n",
    "a branch": "x = x + x if t.sum() else (x, x)\n",
    "getters": "x = operator.itemgetter(0, 0, 0, 1)(x)\n",
}
"""Lines that make what they assign larger by a factor, each time."""


def containers() -> dict[str, Make]:
    return {name: _repeated(60, line) for name, line in GROWING.items()}


def nesting() -> dict[str, Make]:
    """Give what LibCST parses by recursion, or copies for each part of it."""

    def nested(opening: str, closing: str, depth: int, times: int) -> Make:
        return _text(lambda: f"x = {opening * depth}1{closing * depth}\n" * times)

    def chain(first: str, link: str, count: int) -> Make:
        return _text(lambda: f"x = {first}{link * count}\n")

    def blocks(head: str, depth: int, times: int) -> Make:
        levels = "".join(" " * level + head + "\n" for level in range(depth))
        return _text(lambda: (levels + " " * depth + "pass\n") * times)

    def pattern(depth: int, times: int) -> Make:
        case = f"match x:\n    case {'[' * depth}b{']' * depth}:\n        pass\n"
        return _text(lambda: case * times)

    found: dict[str, Make] = {}
    for name, opening, closing in [
        ("lists", "[", "]"), ("calls", "f(", ")"), ("dicts", "{1: ", "}"), ("lambdas", "(lambda: ", ")"),  # noqa: E501
    ]:  # fmt: skip
        for depth, times in [(199, 1), (199, 30), (60, 900), (5_000, 1)]:
            found[f"{name}, {depth} deep, {times} times"] = nested(opening, closing, depth, times)
    for name, first, link, counts in [
        ("sum", "1", " + 1", (2_000, 6_500, 50_000)),
        ("attributes", "t", ".T", (2_000, 5_000, 50_000)),
        ("calls in a row", "t", "(1)", (500, 1_700)),
        ("subscripts in a row", "t", "[0]", (500, 1_700)),
        ("comparisons", "t", " < t", (11_000,)),
        ("conditions", "t", " if t else t", (1_000, 5_000)),
        ("strings in a row", '"a"', ' "a"', (2_900,)),
        ("powers", "2", " ** 2", (1_000,)),
    ]:
        for count in counts:
            found[f"{name}, {count} links"] = chain(first, link, count)
    for name, head in [("ifs", "if t.sum():"), ("loops", "for i in t:"), ("functions", "def f():")]:
        for depth, times in [(18, 40), (90, 1)]:
            found[f"{name}, {depth} levels, {times} times"] = blocks(head, depth, times)
    found["elifs"] = _text(lambda: "if t:\n    pass\n" + "elif t:\n    x = t\n" * 4_400)
    found["patterns"] = pattern(14, 60)
    return found


def literals() -> dict[str, Make]:
    return {
        "a list of 200,000 bytes": _text(lambda: f"x = [{'1,' * 100_000}]\n"),
        "a list of 1,000,000 numbers": _text(lambda: f"x = [{'1,' * 1_000_000}]\n"),
        "a list of 100,000 arrays": _text(lambda: f"x = [{'t,' * 100_000}]\nx = x + x\n"),
        "a dict of 60,000 items": _text(
            lambda: "d = {" + "".join(f"{n}: t," for n in range(60_000)) + "}\n"
        ),
        "a string of 20 MB": _text(lambda: f's = """{"a" * 20_000_000}"""\n'),
        "a string of 15 MB on one line": _text(lambda: f's = "{"ab " * 5_000_000}"\n'),
        "a string of escapes": _text(lambda: 's = "' + "\\x41" * 1_000_000 + '"\n'),
        "a string of backslashes": _text(lambda: 's = "' + "\\\\" * 2_000_000 + '"\n'),
        "30 MB of comments": _text(lambda: f"# {'jax ' * 25}\n" * 300_000),
        "a comment of 20 MB": _text(lambda: f"# {'jax.numpy ' * 2_000_000}\n"),
        "5 million blank lines": _text(lambda: "\n" * 5_000_000),
        "2 million spaces": _text(lambda: f"x = 1{' ' * 2_000_000}\n"),
        "200,000 continued lines": _text(lambda: "x = 1" + " \\\n" * 200_000 + "\n"),
        "a number of 4 million digits": _text(lambda: f"n = {'9' * 4_000_000}\n"),
        "a hexadecimal number of 4 million digits": _text(lambda: f"n = 0x{'f' * 4_000_000}\n"),
        "a name of 4 million letters": _text(lambda: f"{'a' * 4_000_000} = t\n"),
        "names of letters beyond ASCII": _text(lambda: f"{'é' * 1_000_000} = t\n"),
        "an f-string of 70,000 fields": _text(lambda: f"s = f'{'{t}' * 70_000}'\n"),
        "70,000 statements": _text(lambda: "x = t\n" * 70_000),
        "40,000 names": _text(lambda: _lines(40_000, "a%d = t\n")),
        "20,000 uses of an array": _text(lambda: "t[0]\n" * 20_000),
        "20,000 parameters": _text(
            lambda: f"def f({', '.join(f'a{n}' for n in range(20_000))}):\n    return a1\n"
        ),
        "20,000 functions": _text(lambda: _lines(20_000, "def f%d(a):\n    return a[0]\n")),
        "10,000 classes": _text(lambda: _lines(10_000, "class C%d:\n    a = t\n")),
        "50,000 decorators": _text(lambda: "@jax.jit\n" * 50_000 + "def f(a):\n    return a\n"),
        "20,000 suppressions": _text(lambda: "t[0]  # noqa: JDP201\n" * 20_000),
        "100,000 targets": _text(lambda: "a = " * 100_000 + "t\n"),
        "80,000 arguments": _text(lambda: f"jax.jit(t)({'t,' * 80_000})\n"),
        "20,000 with items": _text(
            lambda: f"with {', '.join(['jax.default_device(cpu)'] * 20_000)}:\n    t[0]\n"
        ),
        "null bytes": _text(lambda: "\0" * 1_000_000),
        "one line of 8 MB": _text(lambda: "x = t;" * 1_300_000 + "\n"),
    }


def prefilter() -> dict[str, Make]:
    """Give what is read by regular expressions before, or in place of, a parser."""
    repeated = {
        "dots": ".", "brackets": "(", "closing brackets": ")", "quotes": "'", "triple quotes": '"""',  # noqa: E501
        "backslashes": "\\", "escaped quotes": "\\'", "hashes": "#", "spaces": " ", "tabs": "\t",
        "carriage returns": "\r", "form feeds": "\f", "commas": ",", "equals signs": "=",
        "words": "jax ", "dotted words": "jax.numpy.", "imports": "import jax;", "braces": "{", "at signs": "@",  # noqa: E501
    }  # fmt: skip
    found: dict[str, Make] = {
        f"{count:,} {name}".replace(",", " "): _text(
            lambda unit=unit, count=count: f"\n{unit * count}\n"  # type: ignore[misc]
        )
        for name, unit in repeated.items()
        for count in (10_000,)
    }
    found |= {
        "an import of 40,000 names": _text(
            lambda: f"from jax import ({', '.join(f'a{n}' for n in range(40_000))})\n"
        ),
        "an import that does not end": _text(
            lambda: f"from jax import ({', '.join(f'a{n}' for n in range(40_000))}\n"
        ),
        "30,000 imports": _text(lambda: _lines(30_000, "from jax.a%d import b%d as c%d\n")),
        "30,000 renamings": _text(lambda: "a0 = jax\n" + _lines(30_000, "a%d1 = a%d\n")),
        "a chain of renamings": _text(
            lambda: "a0 = jax\n" + "".join(f"a{n + 1} = a{n}.b\n" for n in range(20_000))
        ),
        "a name of 20,000 parts": _text(lambda: f"jax{'.a' * 20_000}\n"),
        "an import of 20,000 parts": _text(lambda: f"import jax{'.a' * 20_000}\n"),
        "tuples of targets": _text(lambda: _lines(10_000, "a%d, (b%d, *c%d) = jax, (jax, jax)\n")),
        "stars": _text(lambda: _lines(20_000, "from jax.a%d import *\n")),
        "strings with words": _text(lambda: _lines(20_000, "s%d = 'jax.device_put default_device'\n")),  # noqa: E501
    }  # fmt: skip
    return found


def calls() -> dict[str, Make]:
    def graph(count: int, line: str, last: str = "") -> Make:
        def body() -> str:
            text = "".join(
                line.replace("%n", str(n + 1)).replace("%d", str(n)) for n in range(count)
            )
            return text + (last or f"def f{count}(*a):\n    return a\n") + "f0(t, x)\n"

        return _text(body)

    diamond = "".join(f"class C{n + 1}(C{n}, B{n}):\n    pass\nclass B{n + 1}(C{n}):\n    pass\n" for n in range(200))  # fmt: skip  # noqa: E501
    chain = _lines(
        400,
        "class C%d1(C%d0):\n    def m(self, a):\n        return super().m((a, t))\n",
    ).replace("C00", "C")
    linked = "".join(
        f"class L{n + 1}(L{n}):\n    def m(self, a):\n        return super().m((a, t))\n"
        for n in range(400)
    )
    found = {
        "two calls each": graph(200, "def f%d(a, b):\n    return f%n(a, b), f%n(b, a)\n"),
        "two calls each, other arguments": graph(
            200, "def f%d(a, b):\n    return f%n((a, b), a), f%n(b, [a, b])\n"
        ),
        "three calls each": graph(
            60, "def f%d(a, b):\n    return f%n(a, t), f%n(t, b), f%n((a, b), x)\n"
        ),
        "calls in a loop": graph(
            100, "def f%d(a, b):\n    for i in b:\n        a = f%n(a, i), f%n(i, a)\n    return a\n"
        ),
        "calls under devices": graph(
            60,
            "def f%d(a, b):\n    with jax.default_device(cpu):\n        a = f%n(a, b)\n"
            "    with jax.default_device(jax.devices()[%d]):\n        return f%n(a, b)\n",
        ),
        "methods": graph(
            100,
            "class K%d:\n    def __init__(self, a):\n        self.a = a\n    def m(self, b):\n"
            "        return f%n(self.a, b)\ndef f%d(a, b):\n    return K%d(a).m(b), K%d(b).m(a)\n",
        ),
        "donations in loops": _text(
            lambda: (
                "@functools.partial(jax.jit, donate_argnums=0)\ndef f0(a, b):\n    return a + b\n"
                + "".join(
                    f"def f{n + 1}(a, b):\n    for i in b:\n        if i:\n"
                    f"            a = f{n}(a, b)\n"
                    f"        else:\n            a = f{n}(a, i)\n            continue\n"
                    f"    return f{n}(a, b)\n"
                    for n in range(20)
                )
                + "f20(t, x)\n"
            )
        ),
        "donations under conditions": _text(
            lambda: (
                "@functools.partial(jax.jit, donate_argnums=0)\ndef f0(a, b):\n    return a + b\n"
                "def f1(a, b):\n"
                + "".join(f"    if b[{n}]:\n        a = f0(a, b)\n" for n in range(600))
                + "    return a\nf1(t, x)\n"
            )
        ),
        "recursion": _text(
            lambda: (
                "def f0(a, b):\n    if a:\n        return f0((a, b), b)\n    return f0(b, [a, t])\n"
                * 1
                + "f0(t, x)\n"
            )
        ),
        "recursion among many": _text(
            lambda: (
                "".join(
                    f"def f{n}(a, b):\n    return f{(n + 1) % 60}((a, t), b), f{(n + 7) % 60}(b, [a])\n"  # noqa: E501
                    for n in range(60)
                )
                + "f0(t, x)\n"
            )
        ),
        "a list that grows in recursion": _text(
            lambda: (
                "def f0(a, b):\n    b.append(a)\n    f0((a, t), b)\n    f0([a], [*b, a])\nf0(t, x)\n"  # noqa: E501
            )
        ),
        "closures": graph(
            100, "def f%d(a, b):\n    def g():\n        return f%n(a, b)\n    return g(), g\n"
        ),
        "lambdas": _text(
            lambda: (
                "f0 = lambda a: a\n"
                + "".join(f"f{n + 1} = lambda a: (f{n}(a), f{n}((a, t)))\n" for n in range(200))
                + "f200(t)\n"
            )
        ),
        "partials": _text(
            lambda: (
                "def f0(*a):\n    return a\n"
                + "".join(f"f{n + 1} = functools.partial(f{n}, f{n}, t)\n" for n in range(300))
                + "f300(t)\n"
            )
        ),
        "decorators of the program": graph(
            60,
            "def w%d(g):\n    def inner(*a):\n        return g(*a), g(t, *a)\n    return inner\n"
            "@w%d\ndef f%d(a, b):\n    return f%n(a, b)\n",
        ),
        "generators": graph(
            100, "def f%d(a, b):\n    yield from f%n(a, b)\n    yield from f%n(b, a)\n"
        ),
        "context managers": graph(
            60,
            "@contextlib.contextmanager\ndef c%d(a):\n    with jax.default_device(cpu):\n"
            "        yield a\ndef f%d(a, b):\n    with c%d(a) as y, c%d(b) as z:\n"
            "        return f%n(y, z)\n",
        ),
        "computations": graph(200, "@jax.jit\ndef f%d(a, b):\n    return f%n(a, b) + f%n(b, a)\n"),
        "mapped functions": graph(
            60, "def f%d(a, b):\n    return list(map(lambda y: f%n(y, a), [a, b, (a, b)]))\n"
        ),
        "a diamond of classes": _text(
            lambda: (
                "class C0:\n    def m(self):\n        return t\nclass B0:\n    pass\n"
                + diamond
                + "C200().m()\n"
            )
        ),
        "a chain of super": _text(
            lambda: "class L0:\n    def m(self, a):\n        return a\n" + linked + "L400().m(t)\n"
        ),
        "properties": _text(
            lambda: (
                "class P0:\n    q = t\n"
                + "".join(
                    f"class P{n + 1}:\n    @property\n    def q(self):\n        return P{n}().q, P{n}().q\n"  # noqa: E501
                    for n in range(200)
                )
                + "P200().q\n"
            )
        ),
        "attributes that hold one another": _text(
            lambda: (
                "class A:\n    pass\n"
                + _lines(300, "a%d = A()\na%d.b = a0\na0.c%d = a%d\na0.d = a%d.b.c%d\n")
            )
        ),
        "globals that functions change": _text(
            lambda: (
                "g = t\n"
                + "".join(
                    f"def f{n}():\n    global g\n    g = (g, t)\n    f{n + 1}()\n    f{n + 1}()\n"
                    for n in range(60)
                )
                + "def f60():\n    pass\nf0()\n"
            )
        ),
    }
    assert chain
    return found


def imports() -> dict[str, Make]:
    """Files that import one another; each places arrays, so that they are one program."""

    def files(count: int, line: Callable[[int], str]) -> Make:
        return lambda: {f"bomb{n}.py": HEAD + line(n) + USE for n in range(count)}

    def all_of(count: int, form: str) -> Callable[[int], str]:
        return lambda n: "".join(form.replace("%d", str(m)) for m in range(count) if m != n)

    found: dict[str, Make] = {}
    for count in (20, 60):
        found |= {
            f"{count} files, each imports all": files(count, all_of(count, "import bomb%d\n")),
            f"{count} files, each imports a name of all": files(
                count, all_of(count, "from bomb%d import x as x%d\n")
            ),
            f"{count} files, each imports all by star": files(
                count, all_of(count, "from bomb%d import *\n")
            ),
            f"{count} files, each imports the three before it by star": files(
                count,
                lambda n: (
                    "".join(f"from bomb{m} import *\n" for m in range(max(0, n - 3), n))
                    + f"def f{n}(a):\n    return {f'f{n - 1}(a), f0(a)' if n else 'a'}\nf{n}(t)\n"
                ),
            ),
            f"{count} files, each calls all": files(
                count,
                lambda n, count=count: (
                    f"def f{n}(a):\n    return a\n"  # type: ignore[misc]
                    + all_of(count, "import bomb%d\ny%d = bomb%d.f%d(t)\n")(n)
                ),
            ),
            f"{count} files, each changes all": files(
                count, all_of(count, "import bomb%d\nbomb%d.x = (bomb%d.x, t)\n")
            ),
            f"{count} files in a circle": files(
                count,
                lambda n, count=count: f"from bomb{(n + 1) % count} import x, d, t\n",  # type: ignore[misc]
            ),
            f"{count} files in a chain that grows": files(
                count, lambda n: f"from bomb{n + 1} import x as y\nx = (y, y)\n"
            ),
            f"{count} files of functions that call two others": files(
                count,
                lambda n, count=count: (
                    f"from bomb{(n + 1) % count} import f as g\n"  # type: ignore[misc]
                    "def f(a):\n    return g((a, t)), g([a])\nf(t)\n"
                ),
            ),
            f"{count} files, of which one ends in no time": lambda count=count: {  # type: ignore[misc]
                **{f"bomb{n}.py": HEAD + "import bomb0\n" + USE for n in range(1, count)},
                "bomb0.py": HEAD + _lines(300, "for i in x:\n    x, d = (x, d), [d, x]\n") + USE,
            },
        }
    found |= {
        "a chain of 600 files": files(
            600, lambda n: f"from bomb{n + 1} import x as y\nz = y[0]\n"
        ),
        "600 files that one imports": lambda: {
            **{f"bomb{n}.py": f"{HEAD}y{n} = t\n" for n in range(600)},
            "bomb.py": HEAD + _lines(600, "from bomb%d import y%d\ny%d[0]\n"),
        },
        "names handed on by 300 files": lambda: {
            "bomb0.py": "from jax import *\nfrom jax import numpy as n0\n",
            **{
                f"bomb{n}.py": f"from bomb{n - 1} import *\nfrom bomb{n - 1} import n{n - 1} as n{n}\n"  # noqa: E501
                for n in range(1, 300)
            },
            "bomb300.py": "from bomb299 import *\nn299.zeros(3)\ndevice_put(1)\n",
        },
        "names that two files hand to one another": lambda: {
            **{
                f"bomb{n}.py": "".join(
                    f"from bomb{m} import a{k}\n" for m in range(40) for k in range(40)
                )
                for n in range(40)
            },
        },
        "40 packages in one another": lambda: {
            **{
                f"{'p/' * depth}__init__.py": f"from .{'p' if depth < 40 else 'm'} import *\n"
                for depth in range(1, 41)
            },
            f"{'p/' * 40}m.py": HEAD,
            "bomb.py": f"import p\nfrom {'.'.join(['p'] * 40)}.m import t\nt[0]\n",
        },
    }  # fmt: skip
    return found


def loops() -> dict[str, Make]:
    """Give what is executed again and again until nothing is new."""

    def shifting(count: int, head: str) -> Make:
        names = [f"a{n}" for n in range(count)]
        setting = "".join(f"{name} = None\n" for name in names)
        shift = "".join(f"    {one} = {other}\n" for one, other in itertools.pairwise(names))
        return _text(lambda: f"{setting}{head}\n{shift}    {names[-1]} = (t, {names[0]})\n")

    def nested(depth: int, head: str, body: str) -> Make:
        levels = "".join("    " * n + head.replace("%d", str(n)) + "\n" for n in range(depth))
        inner = "".join("    " * depth + line + "\n" for line in body.splitlines())
        return _text(lambda: levels + inner)

    def branches(count: int, branch: str) -> Make:
        return _text(lambda: _lines(count, branch))

    found: dict[str, Make] = {}
    for count in (30, 200, 600):
        found[f"{count} variables that shift, while"] = shifting(count, "while t.sum():")
        found[f"{count} variables that shift, for"] = shifting(count, "for i in range(9):")
    for depth in (8, 16):
        for name, head in [("for", "for i%d in x:"), ("while", "while t[%d]:")]:
            found[f"{depth} {name} loops that grow a list"] = nested(
                depth, head, "x = [*x, (x, t)]\nd = {'a': x, **d}"
            )
            found[f"{depth} {name} loops with calls"] = nested(
                depth, head, "x.append(jnp.sin(t))\nt = t + 1\nd[str(x)] = x"
            )
    found |= {
        "8 loops with try": nested(
            8, "for i%d in x:", "try:\n    x = (x, d)\nexcept ValueError:\n    d = [d, x]\n"
            "finally:\n    t = t[0]",
        ),
        "16 withs in loops": nested(
            16, "with jax.default_device(jax.devices()[%d]):", "for i in x:\n    x = x, jnp.ones(3)"
        ),
        "400 branches": branches(400, "if t.sum():\n    x = (x, %d)\nelse:\n    x = [t, %d]\n"),
        "400 branches of devices": branches(
            400, "if t.sum():\n    x%d = jax.device_put(t, jax.devices()[%d])\nelse:\n"
            "    x%d = jnp.ones(%d)\nx = x + [x%d]\n",
        ),
        "300 conditional expressions": branches(300, "x = (x, t) if t[%d] else ([x], t)\n"),
        "300 loops in a row": branches(300, "for i in x:\n    x, d = (x, d), [d, x]\n"),
        "300 loops over one another": branches(300, "a%d = [(a, t) for a in x]\nfor x in a%d:\n    x = [x]\n"),  # noqa: E501
        "200 matches": branches(
            200, "match x:\n    case [a, *b]:\n        x = [b, a, t]\n    case {'a': c}:\n        x = c\n"  # noqa: E501
            "    case _:\n        x = (x, %d)\n",
        ),
        "200 returns": _text(
            lambda: "def f(a):\n"
            + "".join(f"    if a[{n}]:\n        return (a, t, {n})\n    a = [a]\n" for n in range(200))  # noqa: E501
            + "f(x)\n"
        ),
        "a loop with 300 breaks": _text(
            lambda: "while t.sum():\n"
            + "".join(f"    if t[{n}]:\n        x = (x, t)\n        break\n" for n in range(300))
        ),
        "a class in a loop": nested(
            4, "for i%d in x:", "class C:\n    a = x\n    def m(self):\n        self.a = (self.a, t)\n"  # noqa: E501
            "x = [C(), C().m(), x]",
        ),
        "generators in loops": nested(
            6, "for i%d in x:", "x = ((a, b) for a in x for b in x)\nx = list(x)"
        ),
    }  # fmt: skip
    return found


KINDS: dict[str, dict[str, Make]] = {
    "containers": containers(),
    "nesting": nesting(),
    "literals": literals(),
    "prefilter": prefilter(),
    "calls": calls(),
    "imports": imports(),
    "loops": loops(),
}
"""From kinds to bombs, by name."""
