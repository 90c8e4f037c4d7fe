"""What a file is told of the functions of others, and of who calls its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from placement_lint.project import functions_elsewhere
from placement_lint.semantic.program_queries import (
    UNUSED,
    CallsAsked,
    CallsFromElsewhere,
    FunctionEffects,
)
from tests.project.test_program_view import found, view, write

if TYPE_CHECKING:
    from pathlib import Path

    from placement_lint.project.program_view import WholeRun

LIBRARY = {
    "lib/__init__.py": "from .work import Reader, start as begin\nfrom . import work\n",
    "lib/work.py": """
import functools
import jax
import jax.numpy as jnp
from .deep import ask

def start():
    ask()

def perhaps(x):
    if x:
        jax.devices()

def early(x):
    if x:
        return
    jax.devices()

def compute(x):
    return helper(x)

def helper(x):
    return jax.device_put(jnp.ones(3), x), jnp.zeros(3, device=x), jnp.abs(x)

@jax.jit
def step(x):
    return jnp.abs(x)

@functools.cache
def cached():
    return jnp.ones(3)

def generate():
    yield jax.devices()

def again():
    again()
    return jax.devices()

class Base:
    def read(self, x):
        return jnp.sin(x)

class Reader(Base):
    def __init__(self):
        jax.devices()

partial = functools.partial(compute, 3)
number = 3
""",
    "lib/deep.py": "import jax\nfrom . import work\n\ndef ask():\n    return jax.device_count()\n",
    "stub.pyi": "import jax\ndef start(): ...\n",
    "broken.py": "import jax\ndef start(:\n",
    "circle.py": "from main import name as start\n",
    "main.py": "from circle import start as name\n",
}


@pytest.fixture(name="effects")
def _effects(tmp_path: Path) -> object:
    paths = write(tmp_path, LIBRARY)
    run, main = view(paths), str(tmp_path / "main.py")

    def of(name: str) -> FunctionEffects | None:
        return run.function(main, name)

    return of


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("lib.begin", 5),
        ("lib.work.start", 5),
        ("lib.work.perhaps", None),
        ("lib.work.early", None),
        ("lib.Reader", 46),
        ("lib.work.again", 38),
        ("lib.work.generate", None),
    ],
)
def test_what_starts_the_backend(effects: object, name: str, line: int | None) -> None:
    given = effects(name)  # type: ignore[operator]
    assert given is not None
    start = given.starts_backend
    assert (None if start is None else start.line) == line


def test_what_is_computed(effects: object) -> None:
    given = effects("lib.work.compute")  # type: ignore[operator]
    assert [(call.name.rpartition(".")[2], call.is_placed) for call in given.calls] == [
        ("device_put", False), ("ones", True), ("zeros", True), ("abs", False),
    ]  # fmt: skip
    assert str(given.origin(given.calls[1])).endswith("work.py:23")
    assert [c.name for c in effects("lib.Reader.read").calls] == ["jax.numpy.sin"]  # type: ignore[operator]
    assert effects("lib.work.step").is_traced  # type: ignore[operator]
    assert effects("lib.work.partial").calls == given.calls  # type: ignore[operator]


def test_a_cached_function_starts_the_backend_when_it_is_called_first(effects: object) -> None:
    """Where else it is called, it may compute nothing."""
    found = effects("lib.work.cached")  # type: ignore[operator]
    assert (found.calls, found.starts_backend.what) == ((), "jnp.ones(…)")


@pytest.mark.parametrize(
    "name",
    ["lib.work.number", "lib.work.missing", "lib.work", "lib.Reader.missing",
     "stub.start", "broken.start", "circle.start", "os.path.join"],
)  # fmt: skip
def test_what_is_not_known(effects: object, name: str) -> None:
    assert effects(name) is None  # type: ignore[operator]


def _calls(run: WholeRun, folder: Path, asked: CallsAsked) -> CallsFromElsewhere:
    return run.calls_from_elsewhere(str(folder / "lib.py"), "work", asked)


CALLED = "import jax\n\n\ndef work():\n    jax.distributed.initialize()\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import jax, lib\njax.devices()\nlib.work()\n", 2),
        ("import jax, lib\ndef main():\n    jax.devices()\n    lib.work()\nmain()\n", 3),
        ("import jax\nfrom lib import work as w\njax.devices()\nw()\n", 3),
        ("import jax\nfrom lib import work as w\nw()\njax.devices()\n", None),
        ("import jax\nfrom lib import *\njax.devices()\nwork()\n", None),
        ("import jax, lib\nlib.work()\njax.devices()\n", None),
        ("import jax, lib\njax.devices()\nlib.work()\nf = lib.work\n", None),
        ("import jax, lib\njax.devices()\nlib.other.work()\n", UNUSED),
        ("import jax, lib\n", UNUSED),
    ],
)
def test_who_calls_a_function(tmp_path: Path, text: str, expected: object) -> None:
    paths = write(tmp_path, {"lib.py": CALLED, "main.py": text})
    given = _calls(view(paths), tmp_path, CallsAsked.STARTS)
    if isinstance(expected, CallsFromElsewhere):
        assert given == expected
    else:
        assert given.is_used
        assert (None if given.before is None else given.before.line) == expected
    codes = [code for _, _, code, _ in found(paths)]
    assert ("JDP504" in codes) == isinstance(expected, int)


def test_a_function_that_is_handed_on_by_another_name(tmp_path: Path) -> None:
    files = {
        "lib.py": CALLED,
        "names.py": "import jax\nfrom lib import work as run\njax.devices()\nrun()\n",
        "main.py": "import names\nnames.run()\n",
    }
    given = _calls(view(write(tmp_path, files)), tmp_path, CallsAsked.STARTS)
    assert given == CallsFromElsewhere(True)


def test_a_call_in_compiled_code(tmp_path: Path) -> None:
    text = "import jax, lib\n@jax.jit\ndef step():\n    return lib.work()\n"
    paths = write(tmp_path, {"lib.py": CALLED, "main.py": text})
    run = view(paths)
    assert _calls(run, tmp_path, CallsAsked.COMPILES).traced_by == "jax.jit"
    assert _calls(run, tmp_path, CallsAsked.STARTS) == CallsFromElsewhere(True)


def test_only_what_is_asked_of_calls_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes before a call takes long to find out, in any file that has one."""
    text = "import jax, lib\njax.devices()\n@jax.jit\ndef step():\n    return lib.work()\n"
    paths = write(tmp_path, {"lib.py": CALLED, "main.py": text})
    monkeypatch.setattr(functions_elsewhere, "timeline", None)
    run = view(paths)
    assert _calls(run, tmp_path, CallsAsked.COMPILES).traced_by == "jax.jit"
    assert _calls(run, tmp_path, CallsAsked.USES).is_used


def test_functions_that_call_one_another(tmp_path: Path) -> None:
    files = {
        "a.py": "import b, jax\n\ndef f():\n    b.g()\n    jax.distributed.initialize()\n",
        "b.py": "import a, jax\n\ndef g():\n    a.f()\n    jax.devices()\n",
    }
    paths = write(tmp_path, files)
    assert [code for _, _, code, _ in found(paths)] == ["JDP504"]
