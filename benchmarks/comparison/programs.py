"""Programs of several files, as large as they are wanted: one component of a run each.

`parts` is what applications look like: common helpers, sources of data on the host, models, and the
training of each, under one main program. `chain` is a line of objects in files of their own, each
calling the next one, with one object that all of them change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_COMMON = '''\
"""Where things are, and what all parts of the program use."""

import dataclasses
import functools

import jax
import jax.numpy as jnp

HOST = jax.devices("cpu")[0]


@dataclasses.dataclass
class Config:
    width: int = 64
    depth: int = 4
    rate: float = 0.1
    on_host: bool = True


def standardise(x, eps=1e-6):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    var = jnp.var(x, axis=-1, keepdims=True)
    return (x - mean) / jnp.sqrt(var + eps)


def tree_of(params, config):
    if config.on_host:
        return jax.device_put(params, HOST)
    return params
'''
_SOURCE = '''\
"""Rows of source {i}, kept on the host."""

import jax
import jax.numpy as jnp
import numpy as np

from common import HOST, Config, standardise
{imports}


class Source{i}:
    def __init__(self, config: Config, name="{i}"):
        self.config = config
        self.name = name
        self.cache = {{}}
        with jax.default_device(HOST):
            self.table = jnp.ones((1024, config.width))

    def __len__(self):
        return len(self.table)

    def rows(self, start, count):
        key = (start, count)
        if key not in self.cache:
            self.cache[key] = self.table[start : start + count]
        return self.cache[key]

    def batches(self, size=8):
        for start in range(0, len(self), size):
            yield {{"x": self.rows(start, size), "y": np.arange(size)}}


def load_{i}(config):
    source = Source{i}(config)
    scale = {scale}
    return source, standardise(source.table) * scale


def scale_{i}(config):
    with jax.default_device(HOST):
        return jnp.full((config.width,), {number} + 1.0)
'''
_MODEL = '''\
"""Layers of part {i}."""

import jax
import jax.numpy as jnp

from common import Config, standardise, tree_of
{imports}


class Block{i}{base}:
    def __init__(self, config: Config):
        self.config = config
        self.params = None

    def init(self, key):
        keys = jax.random.split(key, self.config.depth)
        self.params = {{
            f"layer_{{n}}": {{"w": jax.random.normal(k, (self.config.width, self.config.width))}}
            for n, k in enumerate(keys)
        }}
        return tree_of(self.params, self.config)

    def apply(self, params, x):
        for n in range(self.config.depth):
            layer = params[f"layer_{{n}}"]
            y = x @ layer["w"]
            if self.config.rate > 0:
                y = y * (1 - self.config.rate)
            x = standardise(x + jax.nn.relu(y))
        return x


def make_block_{i}(config):
    return Block{i}(config)
'''
_TRAIN = '''\
"""Training of part {i}."""

import jax
import jax.numpy as jnp

from common import HOST, Config
from model_{i} import make_block_{i}
from source_{i} import load_{i}


def loss(block, params, batch):
    out = block.apply(params, batch["x"])
    return jnp.mean((out - batch["y"][:, None]) ** 2)


def step(block, params, batch, rate):
    value, grads = jax.value_and_grad(lambda p: loss(block, p, batch))(params)
    return jax.tree.map(lambda p, g: p - rate * g, params, grads), value


def evaluate(block, params, table):
    total = jnp.zeros(())
    for n in range(8):
        total += jnp.sum(block.apply(params, table[n : n + 1]))
    return total


def run_{i}(config: Config, key):
    block = make_block_{i}(config)
    params = block.init(key)
    source, table = load_{i}(config)
    history = []
    for batch in source.batches():
        params, value = step(block, params, batch, config.rate)
        history.append(value)
        if len(history) % 10 == 0:
            print("part {i}", float(value))
    with jax.default_device(HOST):
        summary = jnp.stack(history)
    return evaluate(block, params, table), summary
'''
_MAIN = """\
import jax

from common import Config
{imports}


def main():
    key = jax.random.key(0)
    results = {{}}
{calls}
    print(results)


if __name__ == "__main__":
    main()
"""
_STATE = """\
import jax
import jax.numpy as jnp

HOST = jax.devices("cpu")[0]
REGISTRY = {}


class State:
    def __init__(self, width):
        self.width = width
        with jax.default_device(HOST):
            self.rows = jnp.ones((128, width))
        self.step = 0
        self.history = []


def register(name):
    def wrap(cls):
        REGISTRY[name] = cls
        return cls
    return wrap
"""
_STAGE = """\
import jax
import jax.numpy as jnp

from state import HOST, State, register
{imports}


@register("stage_{i}")
class Stage{i}:
    def __init__(self, state: State, scale=1.0):
        self.state = state
        self.scale = scale
        self.next = {next}

    def prepare(self, x):
        with jax.default_device(HOST):
            self.state.part_{i} = jnp.asarray(x) * self.scale
        return self.state.part_{i}

    def run(self, x):
        y = self.prepare(x)
        self.state.step += 1
        self.state.history.append(y)
        if self.next is not None:
            y = self.next.run(y + self.state.rows[self.state.step])
        return jax.nn.relu(y)
"""
_LINE = """\
from stage_000 import Stage000
from state import State


def main():
    state = State(64)
    stage = Stage000(state)
    for row in state.rows:
        print(stage.run(row))


main()
"""


def parts(count: int) -> dict[str, str]:
    """Return the files of a program of some parts: three for each, and two more."""
    files = {"common.py": _COMMON}
    for number in range(count):
        i, previous = f"{number:03}", f"{number - 1:03}"
        is_scaled, is_derived = number % 4 > 0, number % 3 > 0
        files[f"source_{i}.py"] = _SOURCE.format(
            i=i,
            number=number,
            imports=f"from source_{previous} import scale_{previous}" if is_scaled else "",
            scale=f"scale_{previous}(config)" if is_scaled else "1.0",
        )
        files[f"model_{i}.py"] = _MODEL.format(
            i=i,
            imports=f"from model_{previous} import Block{previous}" if is_derived else "",
            base=f"(Block{previous})" if is_derived else "",
        )
        files[f"train_{i}.py"] = _TRAIN.format(i=i)
    every = [f"{number:03}" for number in range(count)]
    files["main.py"] = _MAIN.format(
        imports="\n".join(f"from train_{i} import run_{i}" for i in every),
        calls="\n".join(f'    results["{i}"], _ = run_{i}(Config(), key)' for i in every),
    )
    return files


def chain(count: int) -> dict[str, str]:
    """Return the files of a program of some stages: one for each, and two more."""
    files = {"state.py": _STATE}
    for number in range(count):
        following = f"{number + 1:03}"
        is_last = number == count - 1
        files[f"stage_{number:03}.py"] = _STAGE.format(
            i=f"{number:03}",
            imports="" if is_last else f"from stage_{following} import Stage{following}",
            next="None" if is_last else f"Stage{following}(state, scale / 2)",
        )
    files["main.py"] = _LINE
    return files


PROGRAMS: dict[str, Callable[[int], dict[str, str]]] = {
    "one program of several parts": parts,
    "one program, a chain of calls": chain,
}
