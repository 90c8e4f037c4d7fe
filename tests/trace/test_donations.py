"""Trace on a program that uses an array which it has donated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.marks import NEEDS_JAX
from tests.trace.running import trace

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = NEEDS_JAX
PROGRAM = """\
import jax
import jax.numpy as jnp

step = jax.jit(lambda state: {"w": state["w"] * 2}, donate_argnums=0)
norm = jax.jit(lambda w: (w**2).sum())


def main():
    state = {"w": jnp.ones(3)}
    norm(state["w"])
    for _ in range(3):
        state = step(state)
    new = step(state)
    return norm(state["w"]) - norm(new["w"])


main()
"""


def test_the_line_that_donated_an_array_is_said_before_the_traceback(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    done = trace(tmp_path, "train.py")
    lines = done.err.splitlines()
    said = [line for line in lines if line.startswith("placement-lint trace: ")]
    assert done.code == 1
    assert said == [
        "placement-lint trace: train.py:14 uses an array that is deleted: it was donated at "
        "train.py:13"
    ]
    assert lines.index(said[0]) + 1 == lines.index("Traceback (most recent call last):")
    assert "deleted" in lines[-1]
