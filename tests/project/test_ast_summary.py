"""What Python's own parser shows of a module is what its tree says, or it says nothing."""

from __future__ import annotations

import sys

import libcst as cst
import pytest

from placement_lint.files.python_tree import parsed
from placement_lint.project.ast_summary import outline, without_functions
from placement_lint.semantic.execution_order import timeline
from placement_lint.semantic.model import ModuleFacts
from placement_lint.semantic.module_summary import Does, Either, Imports, Kind, Perhaps, Summary


def by_tree(text: str) -> Summary:
    return timeline(ModuleFacts(cst.parse_module(text), "code.py")).summary()


def outlined(text: str, stands_for: dict[str, str] | None = None) -> Summary | None:
    module = parsed(text)
    assert module is not None
    return outline(module, (stands_for or {}).get)


SEEN = {
    "import a.b\nimport jax\n": (Imports("a.b"), Does(Kind.IMPORTS, "import jax", 2)),
    "from a import b, c as d\nfrom . import e\nfrom .f import *\n": (
        Imports("a.b"), Imports("a.c"), Imports(".e"), Imports(".f"),
    ),
    "if x():\n    import a\nelse:\n    import b\n": (Either((Imports("a"),), (Imports("b"),)),),
    "if x:\n    import a\nelse:\n    pass\n": (Perhaps(("a",)),),
    "if x:\n    import a\n    if y:\n        import b\n": (Perhaps(("a", "b")),),
    "if x:\n    if y:\n        import a\n    else:\n        import b\nelse:\n    import c\n": (
        Either((Either((Imports("a"),), (Imports("b"),)),), (Imports("c"),)),
    ),
    "if __name__ == '__main__':\n    import a\n": (),
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a\n": (
        Imports("typing.TYPE_CHECKING"),
    ),
    "import typing as t\nif t.TYPE_CHECKING:\n    import a\n": (Imports("typing"),),
    "for x in y:\n    import a\nelse:\n    import b\n": (Perhaps(("a", "b")),),
    "while x:\n    import a\nelse:\n    import b\n": (Perhaps(("a", "b")),),
    "try:\n    import a\nexcept E:\n    import b\nelse:\n    import c\nfinally:\n    import d\n": (
        Imports("a"), Imports("d"), Perhaps(("b", "c")),
    ),
    "with x as y:\n    import a\n": (Imports("a"),),
    "@x\nclass A(B, metaclass=C):\n    import a\n    y: int = z\n": (Imports("a"),),
    "match x:\n    case 1:\n        import a\n    case _:\n        import b\n": (
        Perhaps(("a", "b")),
    ),
    "@x\ndef f(a=y, *, b=z):\n    import c\n": (),
    "def f():\n    return 1\nf()\n": (),
    "def f():\n    return g()\ndef g():\n    return f()\nf()\n": (),
    "x: int = 1\ny: str\nassert x\n": (),
    "(x := y)\n": (),
    "a = b\nb = a\na.c()\n": (),
    "for x in y:\n    if __name__ == '__main__':\n        import a\n": (),
    "for x in y:\n    def f():\n        import a\n    import b\n": (Perhaps(("b",)),),
    "for x in y:\n    try:\n        import a\n    except E:\n        import b\n": (
        Perhaps(("a", "b")),
    ),
    "for x in y:\n    if z:\n        import a\n    else:\n        import b\n": (
        Perhaps(("a", "b")),
    ),
    "if x:\n    import jax\n": (),
    "import jax\nx: jax.devices() = 1\n": (Does(Kind.IMPORTS, "import jax", 1),),
}  # fmt: skip


@pytest.mark.parametrize("text", SEEN)
def test_what_is_seen_is_what_the_tree_says(text: str) -> None:
    assert outlined(text) == SEEN[text]
    assert by_tree(text) == SEEN[text]


@pytest.mark.parametrize(
    "text",
    [
        "import jax\njax.devices()\n",
        "import jax\nd = jax.devices\nd()\n",
        "import jax\nd: object = jax.devices\nd()\n",
        "import jax\n(d := jax.devices)()\n",
        "import jax\ndef f():\n    return jax.devices()\nf()\n",
        "import jax\ndef f():\n    return g()\ndef g():\n    return jax.devices()\nf()\n",
        "def f():\n    import a\nf()\n",
        "import os\nos.environ['A'] = 'b'\n",
        "from os import environ\nenviron['A'] = 'b'\n",
        "import os\nenv = os.environ\nenv['A'] = 'b'\n",
        "import jax\nif jax.devices():\n    pass\n",
        "import jax\nfor d in jax.devices():\n    pass\n",
        "import jax\nwhile jax.devices():\n    pass\n",
        "import jax\nwith jax.devices():\n    pass\n",
        "import jax\n@jax.devices()\ndef f():\n    pass\n",
        "import jax\ndef f(a=jax.devices()):\n    pass\n",
        "import jax\ndef f(*, a=jax.devices()):\n    pass\n",
        "import jax\nclass A(jax.devices()):\n    pass\n",
        "import jax\nmatch jax.devices():\n    case _:\n        pass\n",
        "import os\nx = os.environ.get('A')\n",
        "import jax\ntry:\n    pass\nfinally:\n    jax.devices()\n",
        "made.devices()\n",
    ],
)
def test_the_tree_decides_where_more_may_happen(text: str) -> None:
    assert outlined(text) is None


def test_names_of_other_files_that_stand_for_jax() -> None:
    text = "from compat import devices\ndevices()\n"
    assert outlined(text) == (Imports("compat.devices"),)
    assert outlined(text, {"compat.devices": "jax.devices"}) is None
    assert outlined(text, {"compat.devices": "jax.numpy"}) == (Imports("compat.devices"),)


def test_so_many_branches_that_they_are_taken_together() -> None:
    depth = 40
    text = "".join(f"{' ' * level}if x:\n" for level in range(depth)) + " " * depth + "import a\n"
    text += "".join(
        f"{' ' * level}else:\n{' ' * level} import b{level}\n" for level in reversed(range(depth))
    )
    assert outlined(text) == by_tree(text)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="new in Python 3.11")
def test_handlers_of_groups() -> None:
    text = "try:\n    import a\nexcept* E:\n    import b\n"
    assert outlined(text) == by_tree(text) == (Imports("a"), Perhaps(("b",)))


def test_what_python_cannot_parse() -> None:
    assert parsed("x = (\n") is None
    assert parsed("x = '\0'\n") is None


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("def f():\n    a\n    b\nx\n", "def f():\n    pass\n\nx\n"),
        ("def f():\n    a\nf()\n", "def f():\n    a\nf()\n"),
        ("def f():\n    global x\n    x = 1\n", "def f():\n    global x\n    x = 1\n"),
        ("def f():\n    g()\ndef g():\n    a\nf()\n", "def f():\n    g()\ndef g():\n    a\nf()\n"),
        ("def f():\n    @a\n    def g():\n        b\n", "def f():\n    pass\n\n\n"),
        ("def f(): a\nx\n", "def f(): a\nx\n"),
        (
            "def f():\n    global x\n    x = 1\n    f()\nf()\n",
            "def f():\n    global x\n    x = 1\n    f()\nf()\n",
        ),
        ("class A:\n    def f(self):\n        a\n", "class A:\n    def f(self):\n        pass\n"),
        ("if x:\n    def f():\n        a\n", "if x:\n    def f():\n        pass\n"),
    ],
)
def test_bodies_that_nobody_needs(text: str, left: str) -> None:
    module = parsed(text)
    assert module is not None
    assert without_functions(module, text) == left
    assert by_tree(left) == by_tree(text)
