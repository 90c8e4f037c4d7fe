"""Methods of other files that call what their object has compiled, in loops (JDP405, JDP406)."""

from pathlib import Path

import pytest

from placement_lint.config.settings import Settings
from placement_lint.lint.linter import Linter
from tests.test_programs import write

AGENTS = """
import abc
import time

import jax
import jax.numpy as jnp
import numpy as np


class Agent(abc.ABC):
    def __init__(self):
        self.params = None
        self._update = None

    def learn(self, batch):
        self.params, info = self._update(self.params, batch)
        return info

    def looked_at(self, batch):
        self.params, info = self._update(self.params, batch)
        info["loss"].block_until_ready()
        return info

    def sometimes(self, batch):
        info = {}
        if batch is not None:
            self.params, info = self._update(self.params, batch)
        return info


class Linear(Agent):
    def build(self, width):
        self.params = jnp.zeros((width, width))
        self._update = jax.jit(self._step)
        self._apply = jax.jit(lambda params, x: x @ params)
        self._weigh = jax.jit(lambda x, table: x * table)
        self._shaped = jax.jit(lambda x, n: x[:n], static_argnums=1)
        self._on_host = jax.jit(lambda params, x: x @ params, backend="cpu")

    @staticmethod
    def _step(params, batch):
        return params - batch, {"loss": batch.sum()}

    def values(self, x):
        return self._apply(self.params, x)

    def scores(self, x):
        return self.values(x)

    def __call__(self, x):
        return {"values": self._apply(self.params, x), "norm": jnp.linalg.norm(self.params)}

    def with_name(self, x):
        return self._apply(self.params, x), "linear"

    def on_host(self, x):
        return self._on_host(self.params, x)

    def in_block(self, x):
        with jax.default_device(jax.devices("cpu")[0]):
            return self._apply(self.params, x)

    def action(self, x):
        return int(jnp.argmax(self._apply(self.params, x)))

    def weigh(self, x, table):
        return self._weigh(x, table)

    def weigh_all(self, x, *, table):
        print(table.shape)
        return self.weigh(x, table)

    def weigh_changed(self, x, table):
        table = table + 1
        return self._weigh(x, table)

    def weigh_in_place(self, x, table):
        table[0] = 1
        return self._weigh(x, table)

    def weigh_if(self, x, table):
        return self._weigh(x, table) if x is not None else x

    def shaped(self, x, n):
        return self._shaped(x, n)

    def host_weigh(self, x, table):
        with jax.default_device(jax.devices("cpu")[0]):
            return self._weigh(x, table)

    def close_to(self, x, table):
        return np.allclose(x, table)


class Averaging(Linear):
    def build(self, width):
        super().build(width)
        self._weigh = lambda x, table: np.mean(table)


class Timer:
    def __init__(self):
        self.seconds = []

    def tick(self):
        self.seconds.append(time.perf_counter())

    def tick_sometimes(self, step):
        if step % 10 == 0:
            self.seconds.append(time.perf_counter())
"""

LOOPS = """
import numpy as np


def read(agent, batches, timer):
    losses = []
    for batch in batches:
        info = agent.learn(batch)
        losses.append(float(info["loss"]))  # finds
    for batch in batches:
        losses.append(agent.scores(batch).item())  # finds
    for batch in batches:
        out = agent(batch)
        losses.append(np.asarray(out["values"]).argmax(-1))  # finds
    for step, batch in enumerate(batches):
        info = agent.learn(batch)
        timer.tick_sometimes(step)
        losses.append(float(info["loss"]))  # finds
    return losses


def not_read(agent, batches, timer):
    losses = []
    for batch in batches:
        info = agent.looked_at(batch)
        losses.append(float(info["loss"]))
    for batch in batches:
        info = agent.sometimes(batch)
        losses.append(float(info["loss"]))
    for batch in batches:
        values, name = agent.with_name(batch)
        losses.append(str(name))
    for batch in batches:
        losses.append(float(agent.on_host(batch).sum()))
    for batch in batches:
        losses.append(float(agent.in_block(batch).sum()))
    for batch in batches:
        losses.append(agent.action(batch))
    for batch in batches:
        timer.tick()
        info = agent.learn(batch)
        losses.append(float(info["loss"]))
    return losses


def resent(agent, batches):
    table = np.load("table.npy")
    out = []
    for batch in batches:
        out.append(agent.weigh(batch, table))  # finds
    out += [agent.weigh_all(batch, table=table) for batch in batches]  # finds
    return out


def changed(agent, batches):
    table = np.load("table.npy")
    return [agent.weigh_changed(batch, table) for batch in batches]


def filled(agent, batches):
    table = np.zeros((1024, 1024))
    return [agent.weigh_in_place(batch, table) for batch in batches]


def not_resent(agent, batches):
    table = np.load("table.npy")
    number = np.load("n.npy")
    for batch in batches:
        agent.weigh_if(batch, table)
        agent.host_weigh(batch, table)
        agent.shaped(batch, number)
        agent.close_to(batch, table)
    for batch in batches:
        if batch.sum() > 0:
            agent.weigh(batch, table)


def fresh(agent, batches):
    for batch in batches:
        table = np.load("table.npy")
        agent.weigh(batch, table)


def either(agent, batches):
    table = np.load("table.npy")
    for batch in batches:
        agent.weigh(batch, table)
"""

MAIN = """
import sys

import numpy as np

from agents import Averaging, Linear, Timer
from loops import changed, either, filled, fresh, not_read, not_resent, read, resent


def main(average):
    agent = Linear()
    agent.build(1024)
    batches = [np.ones(1024)] * 10
    read(agent, batches, Timer())
    not_read(agent, batches, Timer())
    resent(agent, batches)
    changed(agent, batches)
    filled(agent, batches)
    not_resent(agent, batches)
    fresh(agent, batches)
    other = Averaging() if average else Linear()
    other.build(1024)
    either(other, batches)


if __name__ == "__main__":
    main("--average" in sys.argv)
"""


def test_methods_of_other_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    # In a folder whose name is not that of a test.
    files = {"agents.py": AGENTS, "loops.py": LOOPS, "main.py": MAIN}
    paths = write(tmp_path_factory.mktemp("run"), files)
    found = Linter(lambda _: Settings(select=("JDP405", "JDP406"))).check(paths).findings
    due = [number for number, line in enumerate(LOOPS.splitlines(), 1) if "# finds" in line]
    assert [(Path(each.path).name, each.span.line) for each in found] == [
        ("loops.py", number) for number in due
    ]
