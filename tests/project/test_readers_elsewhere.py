"""Functions and methods of other files that read what a loop passes to them (JDP405)."""

from pathlib import Path

import pytest

from placement_lint.config.settings import Settings
from placement_lint.lint.linter import Linter
from tests.test_programs import write

MARK = "# waits"

READERS = """
import threading

import jax
import numpy as np


def show(metrics):
    print(" ".join(f"{k}={float(v):.3f}" for k, v in metrics.items()))


def log_metrics(step, metrics, *, writer):
    for name, value in metrics.items():
        writer.add_scalar(name, float(value), step)


def log_loss(writer, step, loss=None, rate=0.1):
    writer.add_scalar("loss", loss.item(), step)
    writer.add_scalar("rate", rate, step)


def fetched(writer, metrics):
    metrics = jax.device_get(metrics)
    writer.write_scalars(0, metrics)


def mapped(writer, metrics):
    writer.log(jax.tree.map(np.asarray, metrics))


def every_so_many(writer, step, metrics):
    if step % 100 == 0:
        writer.log({k: float(v) for k, v in metrics.items()})


def returns_first(writer, step, metrics):
    if step % 100:
        return
    writer.log({k: float(v) for k, v in metrics.items()})


def kept(history, metrics):
    history.append(metrics)


def in_a_thread(writer, metrics):
    def work():
        writer.log({k: float(v) for k, v in metrics.items()})

    threading.Thread(target=work).start()


def in_a_lambda(pool, writer, metrics):
    pool.submit(lambda: writer.log({k: float(v) for k, v in metrics.items()}))


def stops(metrics):
    loss = float(metrics["loss"])
    if loss != loss:
        raise FloatingPointError


def of_the_shape(writer, metrics):
    writer.log({k: float(v.ndim) for k, v in metrics.items()})


def decorated(function):
    return lambda *args: None


@decorated
def replaced(writer, metrics):
    writer.log({k: float(v) for k, v in metrics.items()})


def drawn_from(writer, metrics):
    for key, value in metrics.items():
        yield writer.log({key: float(value)})


class Writer:
    def __init__(self, writer):
        self.writer, self.last, self.history = writer, {}, []

    def write(self, step, metrics):
        self.writer.log({k: float(v) for k, v in metrics.items()}, step)

    def write_the_last(self, step, metrics):
        metrics, self.last = self.last, metrics
        self.writer.log({k: float(v) for k, v in metrics.items()}, step)

    def keep(self, step, metrics):
        self.history.append((step, metrics))
"""

STEPS = """
import jax


@jax.jit
def step(state, batch):
    return state + batch, {"loss": batch.sum()}
"""

TRAIN = """
import jax

import readers
from readers import Writer, every_so_many, fetched, in_a_lambda, in_a_thread, kept, log_metrics
from readers import decorated, drawn_from, log_loss, mapped, of_the_shape, replaced, returns_first
from readers import show, stops
from steps import step


def read_in_each_step(state, batches, logger):
    for number, batch in enumerate(batches):
        state, metrics = step(state, batch)
        log_metrics(number, metrics, writer=logger)  # waits
    for number, batch in enumerate(batches):
        state, metrics = step(state, batch)
        readers.log_loss(logger, number, metrics["loss"])  # waits
    for number, batch in enumerate(batches):
        state, metrics = step(state, batch)
        log_loss(logger, loss=metrics["loss"], step=number)  # waits
    for batch in batches:
        state, metrics = step(state, batch)
        fetched(logger, metrics)  # waits
    for batch in batches:
        state, metrics = step(state, batch)
        mapped(logger, {"loss": metrics["loss"], "epoch": 1})  # waits
    for batch in batches:
        state, metrics = step(state, batch)
        show(metrics)  # waits
    return state


def read_by_an_object(state, batches, logger):
    writer = Writer(logger)
    for number, batch in enumerate(batches):
        state, metrics = step(state, batch)
        writer.write(number, metrics)  # waits
    for number, batch in enumerate(batches):
        state, metrics = step(state, batch)
        writer.write_the_last(number, metrics)
    for number, batch in enumerate(batches):
        state, metrics = step(state, batch)
        writer.keep(number, metrics)
    return state


class Trainer:
    def __init__(self, logger):
        self.writer = Writer(logger)

    def fit(self, state, batches):
        for number, batch in enumerate(batches):
            state, metrics = step(state, batch)
            self.writer.write(number, metrics)  # waits
        return state


def not_in_each_step(state, batches, logger, pool, history):
    for number, batch in enumerate(batches):
        state, metrics = step(state, batch)
        every_so_many(logger, number, metrics)
        returns_first(logger, number, metrics)
        kept(history, metrics)
        in_a_thread(logger, metrics)
        in_a_lambda(pool, logger, metrics)
        stops(metrics)
        of_the_shape(logger, metrics)
        replaced(logger, metrics)
        drawn_from(logger, metrics)
        if number % 100 == 0:
            show(metrics)
    return state


def of_something_else(state, batches, logger):
    for number, batch in enumerate(batches):
        state, metrics = step(state, batch)
        log_metrics(number, {"number": number}, writer=logger)
        log_loss(logger, number, number, metrics["loss"])
        show(*[metrics])
    for number, batch in enumerate(batches):
        state, metrics = step(state, batch)
        if metrics["loss"] > 3:
            break
        show(metrics)
    for number, batch in enumerate(batches):
        show({"number": number})
    return state
"""


def test_readers_of_other_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    # In a folder whose name is not that of a test.
    files = {"readers.py": READERS, "steps.py": STEPS, "train.py": TRAIN}
    paths = write(tmp_path_factory.mktemp("run"), files)
    found = Linter(lambda _: Settings(select=("JDP405",))).check(paths).findings
    due = [number for number, line in enumerate(TRAIN.splitlines(), 1) if MARK in line]
    assert [(Path(each.path).name, each.span.line) for each in found] == [
        ("train.py", number) for number in due
    ]


CALLBACKS = """
import jax


class History:
    def on_step(self, number, metrics):
        self.rows.append(metrics)


class Printer(History):
    def on_step(self, number, metrics):
        print(number, float(metrics["loss"]))


def log(number, **values):
    if jax.process_index() == 0:
        print(number, {name: float(value) for name, value in values.items()})


def show(*values):
    print(*[f"{float(value):.3f}" for value in values])


class Means:
    def __init__(self):
        self.values = {}

    def __call__(self, metrics):
        for name, value in metrics.items():
            self.values[name].append(float(value))


class Rows:
    def __call__(self, metrics):
        self.rows.append(metrics)
"""
TRAINER = """
import jax

from callbacks import History, log, show


class Trainer:
    def __init__(self, callbacks=()):
        self.callbacks = list(callbacks)
        self.step = jax.jit(lambda state, batch: (state, {"loss": batch.sum()}))

    def fit(self, state, batches):
        for number, batch in enumerate(batches):
            state, metrics = self.step(state, batch)
            for callback in self.callbacks:
                callback.on_step(number, metrics)  # waits
        for number, batch in enumerate(batches):
            state, metrics = self.step(state, batch)
            log(number, **metrics)  # waits
        for number, batch in enumerate(batches):
            state, metrics = self.step(state, batch)
            log(metrics["loss"].shape, number=number)
        for number, batch in enumerate(batches):
            state, metrics = self.step(state, batch)
            show(number, metrics["loss"])  # waits
        return state


class Logging:
    def __init__(self, means, rows):
        self.means, self.rows = means, rows
        self.read = means
        self.kept = rows
        self.step = jax.jit(lambda state, batch: (state, {"loss": batch.sum()}))

    def fit(self, state, batches):
        for batch in batches:
            state, metrics = self.step(state, batch)
            self.kept(metrics)
            self.read(metrics)  # waits
        return state


def train(step, batches, means):
    compiled = jax.jit(lambda state, batch: (state, {"loss": batch.sum()}))
    state = 0.0
    for batch in batches:
        state, metrics = compiled(state, batch)
        means(metrics)  # waits


class Quiet:
    def __init__(self, callbacks):
        self.callbacks = [*callbacks]
        self.kept = callbacks or [History()]
        self.step = jax.jit(lambda state, batch: (state, {"loss": batch.sum()}))

    def fit(self, state, batches):
        for number, batch in enumerate(batches):
            state, metrics = self.step(state, batch)
            for callback in self.callbacks:
                callback.on_step(number, metrics)
            for callback in self.kept:
                callback.on_step(number, metrics)
        return state
"""
MAIN = """
from callbacks import History, Means, Printer, Rows
from trainer import Logging, Quiet, Trainer, train

Trainer([History(), Printer()]).fit(0.0, [])
Quiet([History()]).fit(0.0, [])
Logging(Means(), Rows()).fit(0.0, [])
train(None, [], Means())
"""


def test_callbacks_of_a_list_and_arguments_by_stars(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    files = {"callbacks.py": CALLBACKS, "trainer.py": TRAINER, "main.py": MAIN}
    paths = write(tmp_path_factory.mktemp("run"), files)
    found = Linter(lambda _: Settings(select=("JDP405",))).check(paths).findings
    due = [number for number, line in enumerate(TRAINER.splitlines(), 1) if MARK in line]
    assert [(Path(each.path).name, each.span.line) for each in found] == [
        ("trainer.py", number) for number in due
    ]
