"""The oracle itself: programs whose moves are known, and JAX's own transfer guard."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.marks import RUNS_PROGRAMS

if TYPE_CHECKING:
    from tests.differential.oracle_client import OracleClient, Run

pytestmark = RUNS_PROGRAMS

_HEADER = """\
import jax
import jax.numpy as jnp
import numpy as np
import inputs
cpu = jax.devices("cpu")[0]
with jax.default_device(cpu):
    x = jnp.arange(16.0).reshape(4, 4)
    y = jnp.ones((4, 4))
    key = jax.random.key(0)
near = jnp.ones((4, 4))
pinned = jax.device_put(np.ones((4, 4), np.float32), cpu)
"""

# What is moved by each statement: the expressions, as they are written.
_MOVES = {
    "x[0]": ["x"],
    "x[:, 0]": ["x"],
    "float(x[0, 0])": ["x"],
    "print(f'{x[0]}')": ["x"],
    "for row in x: x.shape": ["x"],
    "[row for row in x]": ["x"],
    "{i: row for i, row in enumerate(x)}": ["x"],
    "sum(row for row in x)": ["x"],
    "list(x)": ["x"],
    "iterator = iter(x); next(iterator)": ["x"],
    "first, *rest = x": ["x"],
    "for a, b in zip(x, near): pass": ["x"],
    "x + y": ["x", "y"],
    "x + near": ["x"],
    "x += 1": ["x"],
    "x @ x.T": ["x", "x"],
    "x < near": ["x"],
    "-x": ["x"],
    "jnp.sum(x)": ["x"],
    "np.sum(x)": ["x"],
    "x.sum()": ["x"],
    "x.T": ["x"],
    "jnp.stack([x, near])": ["x"],
    "jnp.concatenate((near, *[x]))": ["x"],
    "jax.tree.map(lambda leaf: leaf * 2, {'a': x})": ["leaf"],
    "jax.jit(lambda a: a * 2)(x)": ["x"],
    "jax.vmap(lambda a: a * 2)(x)": ["x"],
    "x.at[0].set(1.0)": ["x"],
    "d = {'a': x}; d['a'][0]": ["d['a']"],
    "pinned + near": ["near"],
    "if inputs.flag(): x[0]": ["x"],
    "def f(a): return a[0]\nf(x)": ["a"],
    "[(lambda: x[0])()]": ["x"],
    "@jax.default_device('cpu')\ndef f(): return near[0]\nf()": ["near"],
    "with jax.default_device('cpu'): near[0]": ["near"],
    # The same array comes back, or nothing is computed.
    "x[:]": [],
    "x[...]": [],
    "x.reshape(4, 4)": [],
    "jnp.asarray(x)": [],
    "jax.block_until_ready(x)": [],
    "jax.device_put(x)": [],
    "jax.device_put(x, jax.devices()[0])": [],
    "x.to_device(jax.devices()[0])": [],
    "np.asarray(x)[0]": [],
    "np.add(x, 1)": [],
    "len(x), x.shape, str(x)": [],
    "x.item(0)": [],
    "jax.jit(lambda a: a.shape[0])(x)": [],
    "jnp.zeros_like(x)": [],
    "pinned[0]": [],
    "pinned + x": [],
    "near[0]": [],
    "jax.random.normal(key, (4,))": [],
    "with jax.default_device(cpu): x[0]": [],
    "jax.config.update('jax_default_device', cpu); x[0]": [],
}


def _program(statement: str) -> dict[str, str]:
    return {"main": _HEADER + statement + "\n"}


def _moved(program: dict[str, str], run: Run) -> list[str]:
    lines = program["main"].split("\n")
    return [
        lines[line - 1][column:end_column]
        for use in run.uses
        if use.moved and not use.small
        for line, column, _, end_column in use.operands
    ]


@pytest.mark.parametrize("statement", _MOVES)
def test_what_is_moved(oracle: OracleClient, statement: str) -> None:
    program = _program(statement)
    (run,) = oracle.run(program, [0])
    assert run.error is None
    assert _moved(program, run) == _MOVES[statement]


def test_the_guard_agrees() -> None:
    """The guard raises at the statements that move something, and at no others."""
    # A key is small, and the guard sees it move.
    apart = ("inputs", "config", "key", "'cpu'")
    cases = [case for case in _MOVES if not any(word in case for word in apart)]
    script = [
        "import jax",
        'jax.config.update("jax_transfer_guard_device_to_device", "disallow")',
        "from placement_lint.verify.stage import enter_stage",
        "enter_stage(plain=False)",
        f"HEADER = {_HEADER.replace('import inputs', '')!r}",
        f"for case in {cases!r}:",
        "    names = {}",
        "    exec(HEADER, names)",
        "    try:",
        "        exec(case, names)",
        "    except Exception as error:",
        '        assert "Disallowed device-to-device" in str(error), (case, error)',
        "        print(case.encode())",
    ]
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "\n".join(script)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    raised = done.stdout.split("\n")[:-1]
    assert raised == [str(case.encode()) for case in cases if _MOVES[case]]


def test_every_way_is_taken(oracle: OracleClient) -> None:
    program = _program("if inputs.flag():\n    x[0]\nelse:\n    y[0]")
    runs = oracle.run(program, [0, 1])
    assert [_moved(program, run) for run in runs] == [["x"], ["y"]]


def test_an_error_cuts_a_program(oracle: OracleClient) -> None:
    (run,) = oracle.run(_program("x[0]\nraise KeyError('k')\ny[0]"), [0])
    assert run.error == "KeyError: 'k'"
    assert run.error_places == (("main", 13),)
    assert len([use for use in run.uses if use.moved]) == 1


def test_an_endless_program_is_cut(oracle: OracleClient) -> None:
    (run,) = oracle.run(_program("a = [x]\nfor b in a:\n    a.append(b)"), [0])
    assert run.error is not None
    assert run.error.startswith("EndlessError")


def test_nothing_is_left_behind(oracle: OracleClient) -> None:
    """One program's default device, or its modules, are not the next one's."""
    leaking = "jax.config.update('jax_default_device', cpu)\njax.default_device(cpu).__enter__()"
    oracle.run({**_program(leaking), "other": "z = 1\n"}, [0])
    program = _program("x[0]\ntry:\n    import other\nexcept ImportError:\n    near[0]")
    (run,) = oracle.run(program, [0])
    assert run.error is None
    assert _moved(program, run) == ["x"]
    assert any(use.operation[0] == 16 for use in run.uses)


def test_modules(oracle: OracleClient) -> None:
    program = {
        "pkg": "from .data import load\n",
        "pkg.data": "from . import base\ndef load():\n    return base.x[0]\n",
        "pkg.base": _HEADER,
        "main": "import pkg\nprint(pkg.load())\n",
    }
    (run,) = oracle.run(program, [0])
    assert run.error is None
    (use,) = [use for use in run.uses if use.moved]
    assert (use.module, use.operands) == ("pkg.data", ((3, 11, 3, 17),))
