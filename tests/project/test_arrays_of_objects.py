"""Arrays of NumPy that objects and modules of other files hold (JDP406, JDP407)."""

from pathlib import Path

import pytest

from placement_lint.config.settings import Settings
from placement_lint.lint.linter import Linter
from tests.test_programs import write

MARKS = {"# sent": "JDP406", "# captured": "JDP407"}

DATA = """
import functools

import jax
import numpy as np

MASK = np.ones((512, 512), np.float32)
TINY = np.ones((4, 4), np.float32)
NOISE = np.random.rand(512, 512)
GROWN = np.ones((512, 512), np.float32)
CHOSEN = np.ones((512, 512), np.float32)


def choose(rows):
    global CHOSEN
    CHOSEN = rows


def grow():
    GROWN[0] = 1.0


@jax.jit
def step(state, rows):
    return state + rows.mean()


@functools.partial(jax.jit, static_argnames="rows")
def step_by_constant(state, rows):
    return state


moved = jax.jit(lambda state, rows: state + rows.mean())


def plain(state, rows):
    return state + rows.mean()


def load_table(path):
    return np.asarray(np.load(path))


def window(size):
    return np.hanning(size)


def keep(rows):
    KEPT.append(rows)


KEPT = []


class Store:
    def __init__(self, path, given):
        self.rows = np.load(path)["rows"]
        self.table = np.linspace(0.0, 1.0, 100_000)
        self.few = np.arange(21)
        self.given = given
        self.filled = np.zeros((512, 512))
        self.shuffled = np.ones((512, 512))
        self.replaced = np.ones((512, 512))
        self.put = jax.device_put(np.ones((512, 512)))
        self.noise = np.random.rand(512, 512)
        self.constant = np.random.rand(512, 512)
        self.kept_by_others = np.random.rand(512, 512)
        keep(self.kept_by_others)

    def fill(self, number):
        self.filled[number] = number

    def shape(self):
        return self.rows.shape

    def on_device(self):
        return jax.device_put(self.rows)


class Growing(Store):
    def renew(self):
        self.noise = np.random.rand(512, 512)
"""

LOOPS = """
import random

import jax
import numpy as np

import data
from data import CHOSEN, GROWN, MASK, TINY, Store, moved, plain, step, step_by_constant


class Loop:
    def __init__(self, store: Store):
        self.store = store
        self.own = Store("own.npz", None)

    def run(self, state, batches):
        for batch in batches:
            state = step(state, self.store.rows)  # sent
            state = moved(state, self.own.table)  # sent
            state = step(state, self.store.few)
            state = step(state, self.store.given)
            state = step(state, self.store.filled)
            state = step(state, self.store.shuffled)
            state = step(state, self.store.replaced)
            state = step(state, self.store.put)
            state = step(state, self.store.noise)
            state = plain(state, self.store.table)
            state = step_by_constant(state, rows=self.own.constant)
            state = step(state, self.own.kept_by_others)
        return state

    def shuffle(self):
        random.shuffle(self.store.shuffled)
        self.store.replaced = np.ones((512, 512))

    def of_modules(self, state, batches):
        for batch in batches:
            state = step(state, MASK)  # sent
            state = step(state, data.NOISE)  # sent
            state = step(state, TINY)
            state = step(state, GROWN)
            state = step(state, CHOSEN)
        return state

    def once_on_the_device(self, state, batches):
        rows = self.store.on_device()
        for batch in batches:
            state = step(state, rows)
        return state


def repeated(state, batches, rows):
    for batch in batches:
        state = step(state, rows)  # sent
    return state


def repeated_for_some(state, batches, rows):
    for batch in batches:
        state = step(state, rows)
    return state


def repeated_while_it_changes(state, batches, rows):
    for batch in batches:
        state = step(state, rows)
        rows[0] = batch
    return state


def repeated_by_default(state, batches, rows=None):
    for batch in batches:
        state = step(state, rows)
    return state


def repeated_as_it_is_given(state, batches, rows):
    for batch in batches:
        state = step(state, rows)
    return state


def rebound(state, batches, rows):
    for batch in batches:
        state = step(state, rows)
        rows = batch
    return state
"""

DERIVED = """
import jax

from data import Growing, Store, step


class Reader(Store):
    def run(self, state, batches):
        for batch in batches:
            state = step(state, self.table)  # sent
            state = step(state, self.noise)  # sent
            state = step(state, self.few)
            state = step(state, self.filled)
            state = step(state, self.replaced)
            state = step(state, self.given)
        return state


class Renewed(Growing):
    def run(self, state, batches):
        for batch in batches:
            state = step(state, self.noise)
        return state
"""

RUN = """
import functools

import jax
import numpy as np

import derived
from loops import (
    Loop, rebound, repeated, repeated_as_it_is_given, repeated_by_default, repeated_for_some,
    repeated_while_it_changes,
)


def main(state, batches):
    rows = np.load("rows.npy")
    put = jax.device_put(rows)
    state = repeated(state, batches, rows)
    state = repeated(state, batches, rows=rows)
    state = repeated_for_some(state, batches, rows)
    state = repeated_for_some(state, batches, put)
    state = repeated_while_it_changes(state, batches, np.ones((512, 512)))
    state = repeated_by_default(state, batches)
    state = rebound(state, batches, rows)
    chosen = functools.partial(repeated_as_it_is_given, state, batches)
    return chosen(np.ones((512, 512)))
"""

MODEL = """
import functools

import jax
import numpy as np

from data import Store, load_table, window


class Model:
    def __init__(self, store: Store):
        self.store = store
        self.forward = jax.jit(self._forward)
        self.bound = jax.jit(functools.partial(self._bound, np.random.rand(300, 300)))  # captured
        self.small = jax.jit(functools.partial(self._bound, np.random.rand(16, 16)))

    def _forward(self, x):
        return x @ self.store.rows  # captured

    def _bound(self, table, x):
        return table @ x

    @functools.partial(jax.jit, static_argnums=0)
    def refine(self, x):
        return x * self.store.table + self.store.rows.shape[0]  # captured

    @functools.partial(jax.jit, static_argnums=0)
    def of_few(self, x):
        return x[self.store.few] + self.store.given

    @jax.jit
    def as_an_argument(self, x):
        return x * self.store.table

    def eager(self, x):
        return x * self.store.table

    @functools.partial(jax.jit, static_argnums=0)
    def replaced(self, x):
        return x * self.store.replaced


@jax.jit
def of_a_tree(store: Store, x):
    return x * store.table


@functools.partial(jax.jit, static_argnames="path")
def of_its_own(path, x):
    store = Store(path, None)
    return x * store.table


def make(store: Store):
    @jax.jit
    def look_up(x):
        return x * store.table  # captured

    return look_up


def make_loaded(path):
    table, taper = load_table(path), window(16)

    @jax.jit
    def look_up(x):
        return x * table * taper  # captured

    return look_up


def make_with(store: Store):
    @jax.jit
    def look_up(store, x):
        return x * store.table

    return functools.partial(look_up, store)
"""


@pytest.mark.parametrize("code", sorted(MARKS.values()))
@pytest.mark.parametrize("alone", [True, False])
def test_what_other_files_hold(tmp_path: Path, code: str, *, alone: bool) -> None:
    files = {"data.py": DATA, "loops.py": LOOPS, "run.py": RUN, "model.py": MODEL}
    files["derived.py"] = DERIVED
    due = {
        (name, number)
        for name, text in files.items()
        for number, line in enumerate(text.splitlines(), 1)
        for mark, of in MARKS.items()
        if of == code and line.endswith(mark)
    }
    # Whether other rules are asked as well is nothing to it.
    settings = Settings(select=(code,) if alone else ("ALL",))
    paths = write(tmp_path, files)
    found = Linter(lambda _: settings, jobs=1).check(paths).findings
    assert {(Path(f.path).name, f.span.line) for f in found if f.code == code} == due
