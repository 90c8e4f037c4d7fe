"""Programs written in other ways: nothing is lost because of how they are written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from placement_lint.lint.linter import Linter
from placement_lint.lint.results import FixMode
from tests.fuzz.oracle import SETTINGS, Input, judge
from tests.fuzz.spellings import spelling


@pytest.mark.parametrize(
    "number", [0, *(pytest.param(number, marks=pytest.mark.every) for number in range(1, 10))]
)
def test_spellings(number: int) -> None:
    """Forty; more with `pytest -m every tests/fuzz`, or `python -m tests.fuzz spellings`."""
    given = [spelling(each) for each in range(number * 40, number * 40 + 40)]
    wrong = {each.origin: problems for each in given if (problems := judge(each).problems)}
    assert wrong == {}
    assert len({each.data for each in given}) > 36


HEAD = "import jax\nimport jax.numpy as jnp\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"{HEAD}with x()as jax.config.jax_platforms: pass\n", "JDP109"),
        (f"{HEAD}with x() as \\\n jax.config.jax_platforms: pass\n", "JDP109"),
        (f"{HEAD}jax.config. \\\n jax_platforms: \\\n str = 'cpu'\n", "JDP109"),
        (f"{HEAD}jax.config.jax_platforms: (\n str) = 'cpu'\n", "JDP109"),
        ("from jax .config\timport config\n", "JDP601"),
        ("import os, jax \\\n .config\n", "JDP601"),
        (f"{HEAD}x = jnp.zeros(3)\nprint(x.  # so\n device_buffer)\n", "JDP601"),
        (f"{HEAD}mesh \\\n = jax. make_mesh((8,), ('x',))\nwith mesh: pass\n", "JDP602"),
        (f"{HEAD}if jax.default_backend() == \\\n '''cuda''': pass\n", "JDP303"),
        (f"{HEAD}if '''cuda''' \\\n == jax.default_backend(): pass\n", "JDP303"),
        (f"{HEAD}f = jax.jit(len, device # (=\n = jax.devices()[0])\n", "JDP404"),
        (
            f"{HEAD}jax.distributed.initialize()\n"
            "x = jnp.arange(8, device #, (=\n = jax.devices()[0])\n",
            "JDP304",
        ),
        (
            f"{HEAD}c = jax.devices('cpu')[0]\nb = jnp.zeros((50_000, 4096), device \\\n = c)\n",
            "JDP402",
        ),
        (
            "import jax; from \\\n tensorflow.data import Dataset\n"
            "def main():\n    print(jax.numpy.ones(3), Dataset.range(3))\n"
            "if __name__ \\\n == '__main__':\n    main()\n",
            "JDP507",
        ),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_filter_passes_it(text: str, code: str, end: str) -> None:
    found, _ = Linter(lambda _: SETTINGS).check_text("train.py", text.replace("\n", end).encode())
    assert code in {finding.code for finding in found.findings}
    assert judge(Input("train.py", text.encode())).problems == ()


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (
            "jax.device_put(batch\n  ['images'], gpu)",
            "jax.device_put(batch\n  ['images'], gpu)",
        ),
        (
            "jax.device_put(batch[\n  'images'], gpu)",
            "batch[\n  'images'] = jax.device_put(batch[\n  'images'], gpu)",
        ),
        (
            "mine = [d for d in jax.\n devices() if d.platform == 'cpu']",
            "mine = [d for d in jax.\n devices('cpu') if d.platform == 'cpu']",
        ),
        (
            "mine = [\n d for d in jax.devices()\n if d.platform == 'cpu']",
            "mine = jax.devices('cpu')",
        ),
    ],
)
def test_lines_that_need_their_brackets(text: str, after: str) -> None:
    head = "import jax\nimport numpy as np\ngpu = jax.devices()[0]\n"
    head += "batch = {'images': np.zeros((8, 8))}\n"
    settings = replace(SETTINGS, unsafe_fixes=True)
    _, fixed = Linter(lambda _: settings, fix=FixMode.DIFF).check_text(
        "a.py", f"{head}{text}\n".encode()
    )
    assert fixed is not None
    assert fixed.decode() == f"{head}{after}\n"
