"""Calls functions with arrays in known places, and sees what moves and where the results are.

There are four virtual CPU devices; 0 is the system default. Each call is made in some of these
situations: with arrays of device 2 that are not committed, inside a block of device 1 ("away");
with such arrays of device 1, inside that block ("home") and outside of it ("outside"); with arrays
committed to device 1, outside of any block ("committed"); with NumPy arrays inside the block of
device 1 ("numpy"). So nearly all is computed on device 1, for which it is compiled once.

All calls are first made while JAX forbids implicit copies between devices, which shows whether an
operand is moved; those that were refused are made again without that, which shows what they give.
The guard is on from the start, since it does not see a call that once went through without it.

JAX must not be imported before there are as many devices.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import traceback
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from placement_lint.verify.transfers.calls import (
    AWAY,
    COMMITTED,
    HOME,
    NUMPY,
    OUTSIDE,
    Recipe,
)
from placement_lint.verify.transfers.claims import CallOutcome

if TYPE_CHECKING:
    from pathlib import Path

GUARD = "jax_transfer_guard_device_to_device"
_REFUSED = "Disallowed device-to-device transfer"


class AbsentError(Exception):
    """What a row names is not there."""


def place_of(array: Any) -> tuple[tuple[int, ...], bool]:
    """Return the devices of an array, and whether it is committed."""
    committed = getattr(array, "committed", None)
    return (
        tuple(sorted(device.id for device in array.devices())),
        bool(array._committed if committed is None else committed),
    )


class Bench:
    """Operands of every kind, and the calls upon them."""

    def __init__(self, folder: Path) -> None:
        self.devices = jax.devices()
        self.folder = folder
        square = np.array(
            [
                [4.0, 1.0, 0.5, 0.2],
                [1.0, 3.0, 0.3, 0.1],
                [0.5, 0.3, 2.0, 0.4],
                [0.2, 0.1, 0.4, 1.5],
            ],
            np.float32,
        )
        self.values: dict[str, Any] = {
            "x": square,
            "v": np.array([0.15, 0.2, 0.3, 0.35], np.float32),
            "p": np.array([0.1, 0.2, 0.3, 0.4], np.float32),
            "n": np.array([3, 1, 2, 0], np.int32),
            "m": np.array([True, False, True, True]),
            "z": (square + 1j * square.T).astype(np.complex64),
            "b": np.array([1, 2, 3, 4], np.uint8),
            "s": np.full((), 0.5, np.float32),
            "i": np.full((), 1, np.int32),
            "image": np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4),
            "signal": np.sin(np.arange(64, dtype=np.float32)),
        }
        self.operands = {
            AWAY: self._uncommitted(2),
            HOME: self._uncommitted(1),
            COMMITTED: jax.tree_util.tree_map(
                lambda array: jax.device_put(array, self.devices[1]), self._uncommitted(1)
            ),
            NUMPY: dict(self.values),
        }
        self.operands[OUTSIDE] = self.operands[HOME]
        for operands in self.operands.values():
            operands["t"] = {"w": operands["x"], "b": (operands["v"],)}
        self._staged: list[Any] = []
        self._watch_staging()

    def _uncommitted(self, device: int) -> dict[str, Any]:
        with jax.default_device(self.devices[device]):
            made = {name: jnp.asarray(value) for name, value in self.values.items()}
            return {**made, "k": jax.random.key(0), "raw": jax.random.PRNGKey(0)}

    def _own(self, situation: str, dtype: Any) -> Any:
        """Return an operand that nothing else uses."""
        value = np.ones(4, jnp.dtype(dtype))
        if situation == NUMPY:
            return value
        with jax.default_device(self.devices[2 if situation == AWAY else 1]):
            made = jnp.asarray(value)
        return jax.device_put(made, self.devices[1]) if situation == COMMITTED else made

    def _watch_staging(self) -> None:
        """Note the arrays from which others, on a device that was asked for, are filled."""
        module: Any = importlib.import_module("jax._src.array")
        original = module.make_array_from_callback

        def watched(shape: Any, sharding: Any, data_callback: Any, *rest: Any, **more: Any) -> Any:
            def callback(index: Any) -> Any:
                shard = data_callback(index)
                if isinstance(shard, jax.Array):
                    self._staged.append(shard)
                return shard

            return original(shape, sharding, callback, *rest, **more)

        module.make_array_from_callback = watched

    def run(self, recipe: Recipe, situation: str, function: Any) -> CallOutcome:
        """Call as the recipe says."""
        names = {
            "f": function,
            "jax": jax,
            "jnp": jnp,
            "np": np,
            "d0": self.devices[0],
            "d1": self.devices[1],
            "d2": self.devices[2],
            "d3": self.devices[3],
            "folder": self.folder,
            "load": importlib.import_module,
            "own": lambda dtype: self._own(situation, dtype),
            "silent": io.StringIO(),
            **self.operands[situation],
        }
        block: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
        if situation in {AWAY, HOME, NUMPY}:
            block = jax.default_device(self.devices[1])
        self._staged.clear()
        outcome = CallOutcome()
        try:
            with block, contextlib.redirect_stdout(io.StringIO()):
                result = eval(recipe.expression, names)  # noqa: S307
                leaves = jax.tree_util.tree_leaves(result)
            outcome.is_array = isinstance(result, jax.Array)
            outcome.places = {place_of(leaf) for leaf in leaves if isinstance(leaf, jax.Array)}
        except Exception as error:  # whatever a call raises is reported of it
            if any(_REFUSED in str(each) for each in _chain(error)):
                outcome.moved = True
            else:
                place = traceback.extract_tb(error.__traceback__)[-1].name
                outcome.error = f"{type(error).__name__}: {str(error)[:200]} (in {place})"
        outcome.staged = bool(self._staged)
        return outcome


def _chain(error: BaseException | None) -> list[BaseException]:
    found = []
    while error is not None:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def resolve(name: str) -> Any:
    """Return what a qualified name names.

    Raises AbsentError where there is no such thing, ModuleNotFoundError where there is no such
    package.
    """
    parts = name.split(".")
    importlib.import_module(parts[0])
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            try:
                found = getattr(found, part)
            except AttributeError:
                raise AbsentError(name) from None
        return found
    raise AbsentError(name)


def write_samples(folder: Path) -> None:
    """Write the files that expressions read: raw.bin, array.npy, text.txt, one.safetensors."""
    np.ones(4).tofile(folder / "raw.bin")
    np.save(folder / "array.npy", np.ones(4))
    (folder / "text.txt").write_text("1 2 3\n", encoding="utf-8")
    if importlib.util.find_spec("safetensors") is not None:
        file = importlib.import_module("safetensors.numpy")
        file.save_file({"a": np.ones(4)}, folder / "one.safetensors")
