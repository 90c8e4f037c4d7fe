"""Which compilations were needed only because an operand is placed otherwise than before.

Runs in the traced process.
"""

from __future__ import annotations

import functools
import inspect
import threading
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_COMPILING = "/jax/core/compile/backend_compile_duration"
"""What `jax.monitoring` calls the time that a compilation took, in 0.4.30 to 0.12."""


class Recompiled(NamedTuple):
    """The operand because of which something is compiled again: of several, the largest."""

    shape: tuple[int, ...]
    dtype: str
    before: str
    """Where it was when this was compiled before."""
    after: str
    made: Any
    """The line that made the operand of then; None where that is not known."""
    others: int
    """How many other operands are placed otherwise as well."""
    bytes: int


class AskedCall(NamedTuple):
    """What is about to be executed."""

    function: Any
    """The function of the program, or None where that is not known."""
    nanoseconds: int
    """How long compiling took since the last execution."""


class _Operand(NamedTuple):
    sharding: Any
    """None for NumPy data."""
    made: Any


class _Local(threading.local):
    def __init__(self) -> None:
        self.function: Any = None
        """The function that was asked for last."""
        self.seconds = 0.0
        """How long what was compiled since the last execution took."""


class Compilations:
    """Remembers how the operands of each compiled function were placed, by function and shapes."""

    def __init__(self) -> None:
        self._local = _Local()
        self._seen: weakref.WeakSet[Any] = weakref.WeakSet()
        self._placed: weakref.WeakKeyDictionary[Any, dict[Any, list[tuple[_Operand, ...]]]] = (
            weakref.WeakKeyDictionary()
        )

    def listen(self) -> None:
        """Have JAX tell how long compilations take."""
        import jax.monitoring

        def listener(event: str, duration: float, **_: Any) -> None:
            if event == _COMPILING:
                self._local.seconds += duration

        jax.monitoring.register_event_duration_secs_listener(listener)

    def asked(self, function: Any) -> None:
        """Note the function that a call of something jitted has been prepared for."""
        self._local.function = function

    def take(self) -> AskedCall:
        """Return what is about to be executed. Its operands may need other executions first."""
        local = self._local
        taken = AskedCall(local.function, round(local.seconds * 1e9))
        local.function, local.seconds = None, 0.0
        return taken

    def because_of(
        self,
        compiled: AskedCall,
        executable: Any,
        operands: Sequence[Any],
        maker: Callable[[Any], Any],
    ) -> Recompiled | None:
        """Return why an executable had to be compiled beside an earlier one.

        `maker` returns the line that made an array.
        None where it is not new, where nothing like it was there before, and where no operand of
        both has another place on a mesh.
        """
        if executable in self._seen:
            return None
        self._seen.add(executable)
        if compiled.function is None or _is_of_jax(compiled.function):
            return None
        try:
            by_kind = self._placed.setdefault(compiled.function, {})
        except TypeError:  # it has no weak references, or no hash
            return None
        kinds = tuple(map(_kind, operands))
        now = tuple(
            _Operand(sharding, maker(operand))
            if (sharding := getattr(operand, "sharding", None)) is not None
            else _Operand(None, None)
            for operand in operands
        )
        before = by_kind.setdefault(kinds, [])
        changes = [
            [
                index
                for index, (old, new) in enumerate(zip(kept, now, strict=True))
                if _differ(old.sharding, new.sharding, np.ndim(operands[index]))
            ]
            for kept in before
        ]
        before.append(now)
        # The earlier one that is the most like this one says what is new.
        nearest = min(range(len(changes)), key=lambda each: len(changes[each]), default=None)
        if nearest is None or not changes[nearest]:
            return None
        largest = max(changes[nearest], key=lambda index: int(operands[index].nbytes))
        operand, kept = operands[largest], before[nearest][largest]
        return Recompiled(
            tuple(operand.shape),
            str(operand.dtype),
            placement(kept.sharding),
            placement(now[largest].sharding),
            kept.made,
            len(changes[nearest]) - 1,
            int(operand.nbytes),
        )


def placement(sharding: Any) -> str:
    """Return how an array is placed: `P('data') on 8 devices`, `cpu:0`, `NumPy`."""
    from placement_lint.simulated_devices import device_name

    if sharding is None:
        return "NumPy"
    devices = sharding.device_set
    if len(devices) == 1:
        return device_name(next(iter(devices)))
    spec = getattr(sharding, "spec", None)
    if spec is not None:
        return f"P({', '.join(map(repr, spec))}) on {len(devices)} devices"
    how = "whole" if sharding.is_fully_replicated else "split"
    return f"{how} on {len(devices)} devices"


def _kind(operand: Any) -> Any:
    if not hasattr(operand, "dtype"):
        return type(operand)
    return (operand.shape, operand.dtype, getattr(operand, "weak_type", False))


def _differ(one: Any, other: Any, rank: int) -> bool:
    """Return whether two shardings, one of them of a mesh, place an array of a rank otherwise.

    None is that of NumPy data.
    """
    if not any(each is not None and len(each.device_set) > 1 for each in (one, other)):
        return False
    if one is None or other is None or one.device_set != other.device_set:
        return True
    return not one.is_equivalent_to(other, rank)


def _is_of_jax(function: Any) -> bool:
    """Return whether a function is JAX's own, and not one that it made of another."""
    while True:
        function = inspect.unwrap(function)
        if not isinstance(function, functools.partial):
            break
        function = function.func
    return str(getattr(function, "__module__", "")).partition(".")[0] == "jax"
