"""Which names may donate, by the words of files alone: those that do are always among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from placement_lint.project.donating_files import brings_donation, may_donate
from tests.project.test_open_files import project_of

if TYPE_CHECKING:
    from pathlib import Path

STEPS = """
import functools
import jax

step = jax.jit(print, donate_argnums=0)
maker = functools.partial(jax.jit, donate_argnames="x")
made = maker(print)
plain = jax.jit(print)

class Trainer:
    def __init__(self):
        self.step = step

class Quiet:
    def start(self, x):
        return plain(x)

def run(x):
    return Trainer().step(x)

def by_name(x: "Trainer"):
    return x.step(1)

def named():
    return globals()["run"]

def documented(x):
    '''Other than run, and its step.'''
    return x.step(run=1)  # and other than Trainer

def given(fun, donate_argnums=()):
    donate_argnums = tuple(donate_argnums)
    return jax.jit(fun, donate_argnums=donate_argnums)

def sure(fun, donate_argnums):
    def inner():
        donate_argnums = 0
        return jax.jit(fun, donate_argnums=donate_argnums)
    return inner

def by_attribute(self, fun):
    return jax.jit(fun, donate_argnums=self.donated)

def late():
    global later
    later = jax.jit(print, donate_argnums=(0, 1))
"""
DONATING = {"step", "maker", "made", "Trainer", "run", "sure", "late", "later"}
DONATING |= {"by_name", "named"}
OTHERS = {"plain", "documented", "Quiet", "given", "by_attribute"}


def test_what_uses_what_donates_may_donate(tmp_path: Path) -> None:
    program = project_of(tmp_path, {"steps.py": STEPS}, "steps.py")
    (path,) = program.paths
    assert {each for each in DONATING | OTHERS if may_donate(path, each, program)} == DONATING
    assert may_donate(path, "Trainer.step", program)


USES = {
    "from steps import step\n\ndef use(x):\n    return step(x)\n": True,
    "from steps import step as go\n\ndef use(x):\n    return go(x)\n": True,
    "from steps import plain as step\n\ndef use(x):\n    return step(x)\n": False,
    "from steps import plain\n\ndef use(x):\n    return x.step(x)\n": False,
    "from steps import *\n\ndef use(x):\n    return step(x)\n": True,
    "from steps import *\n\ndef use(x):\n    return plain(x)\n": False,
    "import steps\n\ndef use(x):\n    return steps.step(x)\n": True,
    "import steps\n\ndef use(x):\n    return steps.plain(x)\n": False,
    "import steps as s\n\ndef use(x):\n    return s.step(x)\n": True,
    "import steps\n\nothers = steps\n\ndef use(x):\n    return others.step(x)\n": True,
    "def use(x):\n    import steps\n    return steps \\\n        .step(x)\n": True,
    "def use(x):\n    from steps import Trainer\n    return Trainer().step(x)\n": True,
    "import pkg\n\ndef use(x):\n    return pkg.step(x)\n": True,
    "import pkg.inner\n\ndef use(x):\n    return pkg.inner.go(x)\n": True,
    "from pkg import inner\n\ndef use(x):\n    return inner.go(x)\n": True,
    "from pkg import inner as i\n\ndef use(x):\n    return i.go(x)\n": True,
    "from pkg import inner\n\ndef use(x):\n    return inner.stay(x)\n": False,
    "from pkg import plain\n\ndef use(x):\n    return plain(x)\n": False,
    "import pkg\n\ndef use(x):\n    return pkg.inner.go(x)\n": True,
    "from steps import step\n": False,
    'import steps\n\ndef use(x):\n    return f"{steps.step(x)}"\n': True,
    "import steps\n\ndef use(x, go=steps.step):\n    return go(x)\n": True,
    "from steps import Trainer\n\ndef use(x: Trainer) -> Trainer:\n    return x.step(1)\n": False,
    "from steps import Trainer\n\ndef use(x):\n    y: Trainer = x\n    return y\n": False,
    "from steps import Trainer\n\ndef use(x):\n    y: object = Trainer()\n    return y\n": True,
    'from steps import step\n\ndef use(x):\n    """Like step."""\n    return x  # step\n': False,
}


@pytest.mark.parametrize("text", USES)
def test_a_file_brings_donation_where_it_uses_such_a_name(tmp_path: Path, text: str) -> None:
    files = {
        "steps.py": STEPS,
        "pkg/__init__.py": "from steps import plain, step\nfrom . import inner\n",
        "pkg/inner.py": "from steps import step as go, plain as stay\n",
        "user.py": text,
    }
    program = project_of(tmp_path, files, "steps.py")
    (user,) = (path for path in program.paths if path.endswith("user.py"))
    assert brings_donation(user, program) is USES[text]
    assert may_donate(user, "use", program) is USES[text]


def test_a_file_that_python_cannot_parse_may_donate_all_that_it_names(tmp_path: Path) -> None:
    files = {"steps.py": f"{STEPS}\nx = = 1\n", "user.py": "import steps\nsteps.plain(1)\n"}
    program = project_of(tmp_path, files, "steps.py")
    steps, user = sorted(program.paths)
    assert may_donate(steps, "plain", program)
    assert brings_donation(user, program)


def test_files_that_import_one_another_end(tmp_path: Path) -> None:
    files = {
        "a.py": "import jax, b\nstep = jax.jit(print, donate_argnums=0)\n\ndef f():\n    b.g()\n",
        "b.py": "import a\n\ndef g():\n    a.f()\n    a.step(1)\n\ndef h():\n    a.other()\n",
    }
    program = project_of(tmp_path, files, "a.py")
    a, b = sorted(program.paths)
    assert [may_donate(a, each, program) for each in ("step", "f")] == [True, True]
    assert [may_donate(b, each, program) for each in ("g", "h")] == [True, False]
    assert [brings_donation(each, program) for each in (a, b)] == [False, True]
