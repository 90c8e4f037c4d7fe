"""What `# reveal: name` asks for, and what only looks like it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from placement_lint.config.settings import Settings
from placement_lint.lint.linter import Linter

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "import jax\nimport jax.numpy as jnp\ncpu = jax.devices('cpu')[0]\n"
COMMITTED = 'a JAX array, committed to jax.devices("cpu")[0]'


def revealed(folder: Path, text: str) -> list[tuple[int, int, str, str]]:
    path = folder / "a.py"
    path.write_text(HEAD + text)
    found = Linter(lambda _: Settings(), reveal=True).check([str(path)]).revealed
    return [
        (each.line, each.column, each.name, each.description.partition(", made at")[0])
        for each in found
    ]


def test_names_and_attributes_of_one_line(tmp_path: Path) -> None:
    text = (
        "x = jax.device_put(jnp.ones(8), cpu)  # reveal: x, nothing_here\n"
        "# what stands here is no question\n"
        "state.x = x  # reveal: state.x, x\n"
        "made().x = x\n"
    )
    assert revealed(tmp_path, text) == [
        (4, 1, "nothing_here", "there is no such name on this line"),
        (4, 1, "x", COMMITTED),
        (6, 1, "state.x", COMMITTED),
        (6, 11, "x", COMMITTED),
    ]


@pytest.mark.parametrize(
    "text", ["x = 1  # reveal:\n", "x = '# reveal: x'\n", "x = 1  # do not reveal: x\n"]
)
def test_what_asks_for_nothing(tmp_path: Path, text: str) -> None:
    assert revealed(tmp_path, text) == []


def test_where_an_array_was_donated(tmp_path: Path) -> None:
    text = (
        "step = jax.jit(lambda x: x * 2, donate_argnums=0)\n"
        "def train(state, skips):\n"
        "    if not skips:\n"
        "        new = step(state)\n"
        "    print(state.shape)  # reveal: state\n"
        "def fit(state):\n"
        "    new = step(state)\n"
        "    return new, state.shape  # reveal: new, state\n"
    )
    assert revealed(tmp_path, text) == [
        (8, 11, "state", "unknown, perhaps deleted: donated to `step` on line 7"),
        (11, 12, "new", "a tree of (a JAX array, uncommitted on jax.devices()[0]"),
        (11, 17, "state", "unknown, deleted: donated to `step` on line 10"),
    ]
