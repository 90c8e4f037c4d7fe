"""Calls what may start the backend, and says whether it did.

Run as a program: `python -m tests.jaxmodel.backend_start_child`. It prints one JSON object: the
version of JAX, and for each call how it was looked at, and what came of it.

`alone` is each expression in a process of its own, forked before the backend was started: whether
it is started afterwards. `trapped` is the same with what starts the backend replaced by an
exception: whether it was reached. The calls of the transfer table, of which there are many, are
trapped only, in this process; the others show that both ways agree.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import json
import os
import signal
import socket
import sys
import tempfile
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np

from placement_lint.jaxmodel.transfer import ROWS
from placement_lint.verify.transfers.calls import GENERIC
from tests.jaxmodel.backend_start_calls import CALLS
from tests.jaxmodel.removed_child import resolve
from tests.jaxmodel.transfer_recipes import recipes_of

_BRIDGE: Any = importlib.import_module("jax._src.xla_bridge")

if TYPE_CHECKING:
    from collections.abc import Callable


class StartedError(Exception):
    """The backend would have been started."""


class Trap:
    """Stands in for the function that starts the backend."""

    def __init__(self) -> None:
        self.reached = False

    def __call__(self, *_: Any, **__: Any) -> Any:
        self.reached = True
        raise StartedError


def names_for(function: Any, folder: Path) -> dict[str, Any]:
    """Give the names of an expression: every operand is NumPy's."""
    square = np.eye(4, dtype=np.float32) + 0.1
    vector = np.array([0.15, 0.2, 0.3, 0.35], np.float32)
    key = np.zeros(2, np.uint32)
    return {
        "f": function,
        "jax": jax,
        "jnp": jax.numpy,
        "np": np,
        "folder": folder,
        "port": free_port(),
        "load": importlib.import_module,
        "own": lambda dtype: np.ones(4, jax.numpy.dtype(dtype)),
        "silent": io.StringIO(),
        "x": square,
        "v": vector,
        "p": vector,
        "n": np.array([3, 1, 2, 0], np.int32),
        "m": np.array([True, False, True, True]),
        "z": square.astype(np.complex64),
        "b": np.array([1, 2, 3, 4], np.uint8),
        "s": np.full((), 0.5, np.float32),
        "i": np.full((), 1, np.int32),
        "image": np.ones((1, 1, 4, 4), np.float32),
        "signal": np.ones(64, np.float32),
        "t": {"w": square, "b": (vector,)},
        "k": key,
        "raw": key,
    }


def free_port() -> int:
    """Give a port that nothing listens on."""
    with socket.socket() as listening:
        listening.bind(("localhost", 0))
        port: int = listening.getsockname()[1]
    return port


def call(expression: str, names: dict[str, Any]) -> str:
    """Evaluate an expression; give the error that it raises, if any."""
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            eval(expression, names)  # noqa: S307
    except Exception as error:  # whatever a call raises is reported of it
        return f"{type(error).__name__}: {str(error)[:120]}"
    return ""


def look(expression: str, names: dict[str, Any]) -> tuple[bool, str]:
    """Evaluate an expression; tell whether that started the backend, and the error."""
    error = call(expression, names)
    return _BRIDGE.backends_are_initialized(), error


def trapped(expression: str, names: dict[str, Any]) -> tuple[bool, str]:
    """Evaluate an expression; tell whether that would start the backend, and the error."""
    trap, original = Trap(), _BRIDGE.backends
    _BRIDGE.backends = trap
    try:
        error = call(expression, names)
    finally:
        _BRIDGE.backends = original
    return trap.reached, "" if trap.reached else error


def alone(
    way: Callable[[str, dict[str, Any]], tuple[bool, str]], expression: str, names: dict[str, Any]
) -> tuple[bool, str]:
    """Do so in a fork, which keeps what the call changes from the others."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        signal.alarm(30)
        os.write(writer, json.dumps(way(expression, names)).encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:  # noqa: PTH123
        answer = pipe.read()
    _, status = os.wait()
    if status:
        return False, f"the process ended with status {status}"
    started, error = json.loads(answer)
    return started, error


def main() -> None:
    """Look at every call."""
    warnings.simplefilter("ignore")
    found: dict[str, Any] = {"alone": {}, "trapped": {}, "rows": {}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "array.npy", np.ones(4))
        if importlib.util.find_spec("safetensors") is not None:
            file = importlib.import_module("safetensors.numpy")
            file.save_file({"a": np.ones(4)}, folder / "one.safetensors")
        for function, expressions in CALLS.items():
            for expression in expressions:
                try:
                    names = names_for(resolve(function), folder)
                except (AttributeError, ImportError):
                    continue
                title = f"{function}: {expression}"
                found["alone"][title] = alone(look, expression, names)
                found["trapped"][title] = alone(trapped, expression, names)
        for row in ROWS:
            if row.name.startswith(("jax.Array.", "jax.jit.", "jax.grad.", "jax.hessian.")):
                continue
            try:
                names = names_for(resolve(row.name), folder)
            except (AttributeError, ImportError):
                continue
            calls = found["rows"].setdefault(row.name, [])
            for recipe in recipes_of(row):
                calls.append((recipe.expression, *trapped(recipe.expression, names)))
            if not calls:
                tried = ((each, *trapped(each, names)) for each in GENERIC)
                calls.extend(one for one in [next((t for t in tried if not t[2]), None)] if one)
    json.dump({"jax": jax.__version__, **found}, sys.stdout)


if __name__ == "__main__":
    main()
