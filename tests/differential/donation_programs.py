"""Random programs that donate arrays, and keep them under other names."""

from __future__ import annotations

import random

HEAD = """\
from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np


@partial(jax.jit, donate_argnums=0)
def step(x):
    return x * 0.5


@partial(jax.jit, donate_argnums=(0, 1))
def both(x, y):
    return x + y, x - y


@partial(jax.jit, donate_argnames=("second",))
def blend(first, second):
    return first * 0.1 + second


@jax.jit
def plain(x):
    return x + 1


@partial(jax.jit, donate_argnums=0)
def tree_step(tree):
    return jax.tree.map(lambda leaf: leaf * 0.9, tree)


@partial(jax.jit, donate_argnums=0)
def total(x):
    return x.sum()


def keep(x):
    return x


def apply(x):
    return step(x)


def make_step(scale):
    def scaled(x):
        return x * scale

    return jax.jit(scaled, donate_argnums=0)


@dataclass
class State:
    params: object
    ema: object


class Trainer:
    def __init__(self, params):
        self.params = params
        self.old = params
        self.update = jax.jit(lambda x: x - 1, donate_argnums=0)

    def fit(self):
        self.params = self.update(self.params)
        return self.params

    def fit_other(self, x):
        return self.update(x)


def main(flag, count):
    made = make_step(0.5)
"""
_ARRAYS = ("a", "b", "c", "d")
_LINES = (
    "{x} = jnp.ones((4, 4))",
    "{x} = jnp.full((4, 4), 2.0)",
    "{x} = {y}",
    "{x} = jnp.asarray({y})",
    "{x} = jnp.array({y})",
    "{x} = jnp.copy({y})",
    "{x} = {y}[:]",
    "{x} = {y}.copy()",
    "{x} = {y} + {z}",
    "{x} = jnp.maximum({y}, 0)",
    "{x} = keep({y})",
    "{x} = jax.device_put({y})",
    "{x}, {y} = {y}, {x}",
    "{x} = step({x})",
    "{x} = step({y})",
    "{x} = step({y})",
    "{x} = apply({y})",
    "{x} = made({y})",
    "{x} = plain({y})",
    "{x}, {y} = both({x}, {y})",
    "{x}, _ = both({y}, {z})",
    "{x} = blend({y}, {z})",
    "{x} = blend({y}, second={z})",
    "{x} = blend(first={y}, second={z})",
    "total({x})",
    "print({x}.shape, {x}.dtype)",
    "print({x}.sum())",
    "print(float({x}[0, 0]))",
    "print(f'{{{x}}}')",
    "print(np.asarray({x}).shape)",
    "{x} = jnp.zeros_like({y})",
    "{x} = {y}.at[0].set(1.0)",
    "{x} = [{y}, {z}][0]",
    "{x} = {y} if flag() else {z}",
    "{t} = {{'p': {x}, 'q': {y}}}",
    "{t} = {{'p': {x}, 'q': jnp.copy({y})}}",
    "{t} = {{**{u}, 'p': {x}}}",
    "{t} = dict({u})",
    "{t} = {u}",
    "{t} = tree_step({t})",
    "{t} = tree_step({u})",
    "{t} = jax.tree.map(jnp.copy, {u})",
    "{t} = jax.tree.map(lambda leaf: leaf, {u})",
    "{t}['p'] = {x}",
    "{t}['q'] = step({t}['q'])",
    "{x} = {t}['p']",
    "{x} = {t}['q']",
    "{x} = step({t}['p'])",
    "{x} = {t}.get('p')",
    "{x} = {t}.pop('p'); {t}['p'] = jnp.ones((4, 4))",
    "{x}, {y} = {t}.values()",
    "for leaf in {t}.values(): print(leaf.sum())",
    "print([leaf.sum() for leaf in jax.tree.leaves({t})])",
    "print(jax.tree.map(jnp.shape, {t}))",
    "{x} = sum([{y}, {z}])",
    "state = State({x}, {y})",
    "state = replace(state, params={x})",
    "state.params = step(state.params)",
    "state.ema = {x}",
    "{x} = state.params",
    "{x} = state.ema",
    "print(state.ema.mean())",
    "trainer = Trainer({x})",
    "trainer.fit()",
    "{x} = trainer.fit()",
    "{x} = trainer.params",
    "{x} = trainer.old",
    "{x} = trainer.fit_other({y})",
    "kept.append({x})",
    "{x} = kept[-1]",
    "{x} = kept[0]",
    "{x}, {y} = kept[0], {z}",
    "pair = ({x}, {y})",
    "{x}, {y} = pair",
    "{x} = pair[1]",
    "{x} = (lambda given: given * 2)({y})",
    "{x} = (lambda given: given)({y})",
    "{x} = jax.block_until_ready({y})",
    "{x} = {y}.reshape(2, 8).reshape(4, 4)",
    "{x} += {y}",
    "{x} = {y}.T",
    "assert {x}.ndim == 2",
    "del {x}; {x} = jnp.ones((4, 4))",
)


def random_program(number: int) -> str:
    """Return the program of a number: always the same."""
    chance = random.Random(number)  # noqa: S311
    lines = [f"    {name} = jnp.full((4, 4), {at}.0)" for at, name in enumerate(_ARRAYS)]
    lines += [
        "    s = {'p': jnp.ones((4, 4)), 'q': jnp.zeros((4, 4))}",
        "    t = {'p': jnp.ones((4, 4)), 'q': jnp.zeros((4, 4))}",
        "    state = State(jnp.ones((4, 4)), jnp.zeros((4, 4)))",
        "    pair = (jnp.ones((4, 4)), jnp.zeros((4, 4)))",
        "    kept = [jnp.ones((4, 4))]",
        "    trainer = Trainer(jnp.ones((4, 4)))",
    ]
    lines += _block(chance, chance.randint(4, 14), 1)
    return HEAD + "\n".join(lines) + "\n"


def _is_of(line: str, depth: int) -> bool:
    """Return whether a line is a statement of a block, and of none inside of it."""
    indent = "    " * depth
    return line.startswith(indent) and not line.startswith(indent + " ")


def _block(chance: random.Random, count: int, depth: int) -> list[str]:
    indent = "    " * depth
    lines: list[str] = []
    for _ in range(count):
        kind = chance.random()
        if depth < 3 and kind < 0.07:
            lines += [f"{indent}if flag():", *_block(chance, chance.randint(1, 3), depth + 1)]
            if chance.random() < 0.5:
                lines += [f"{indent}else:", *_block(chance, chance.randint(1, 3), depth + 1)]
        elif depth < 3 and kind < 0.12:
            head = chance.choice(("range(2)", "range(3)", "range(count)", "(1, 2)"))
            body = _block(chance, chance.randint(1, 3), depth + 1)
            if chance.random() < 0.25:
                early = [f"{indent}    if flag():", f"{indent}        continue"]
                at = chance.choice([i for i, line in enumerate(body) if _is_of(line, depth + 1)])
                body[at + 1 : at + 1] = [] if body[at].endswith(":") else early
            lines += [f"{indent}for _ in {head}:", *body]
            if chance.random() < 0.2:
                lines += [f"{indent}    if flag():", f"{indent}        break"]
        else:
            x, y, z = chance.sample(_ARRAYS, 3)
            if chance.random() < 0.1:
                z = y
            t, u = chance.sample(("s", "t"), 2)
            lines.append(indent + chance.choice(_LINES).format(x=x, y=y, z=z, t=t, u=u))
    return lines
