"""Where JAX is watched. Runs in the traced process, as soon as it has imported JAX.

JAX has no public way to see an implicit copy each time that it happens: the transfer guards and
`jax.monitoring` fall silent once a call is in the fast path of jaxlib, which copies without asking
Python, and the profiler keeps no lines of code. So a few private functions are wrapped (their
names and what they are given are the same in 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0):

- `pxla.InputsHandler.__call__` is given every operand of an execution that goes through Python,
  with the shardings that the executable wants. An operand that lives elsewhere is copied, whole.
  An explicit `jax.device_put` does not come by this way.
- `pjit._get_fastpath_data` and `pxla.MeshExecutableFastpathData` say whether the next call like
  this one may leave Python out. It may, unless this one moved something: jaxlib keys its fast
  path by the device and the commitment of every argument and by the default device, so a call
  that moved nothing stands for all that will take it. This keeps the program fast.
- `pxla.ExecuteReplicated.__call__` and `dispatch._batched_device_put_impl` give the arrays that
  are made: for the line that an array comes from.
- Between the two, a computation runs. Where one runs on the host because an operand is committed
  there, while another one was copied there from the accelerator or came of such a computation, it
  is timed, and kept out of the fast path as well: it copies nothing any more, but the accelerator
  is idle. So is one that takes the buffer of an argument: for the line that donated an array.
- `pjit._infer_params` is given the function of each call of something jitted that goes through
  Python. An executable that is new is compared with earlier ones of the same function: where only
  the sharding of an operand is another one, it was compiled again for that (`compilations`).
- `pxla.batched_device_put` is how `jnp.zeros(…, device=d)` sends what it built on the default
  device to the one that was asked for. In 0.4.30 that is a `device_put` like any other, and is
  not seen.
"""

from __future__ import annotations

import functools
import operator
import re
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from placement_lint.trace.compilations import Compilations
from placement_lint.trace.recorder import (
    FOLLOWED,
    PULLED,
    STAGED,
    is_replicated,
    size_of,
    size_on,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from placement_lint.trace.compilations import AskedCall
    from placement_lint.trace.recorder import Cause, Recorder

OLDEST, NEWEST = (0, 4, 30), (0, 12)
"""The versions of JAX that this was tried on; newer ones are asked to show that they are seen."""

_LARGE = 4 * 2**20
"""Bytes from which the line that made an array is known each time, and not only the first: making
one takes longer than Python does."""


_INDEXING = re.compile(r"jit[(_](_?(dynamic_(update_)?slice|gather|scatter|take)([-_][a-z]+)?)\)?")
"""Names of operations on a part of an array: JAX makes the indices, and the value of
`x.at[0].set(1.0)`, on the default device (measured on 0.4.30 to 0.12)."""


class HookError(Exception):
    """This JAX has not got what is to be wrapped; the message names it."""


class _Local(threading.local):
    """What a thread is at."""

    def __init__(self) -> None:
        self.moving: set[int] = set()
        """Input handlers whose last call moved something."""
        self.making: set[int] = set()
        """Executables whose last call made something large."""
        self.on_host: set[int] = set()
        """Executables whose last call ran on the host because of a committed operand."""
        self.donating: set[int] = set()
        """Executables whose last call took the buffer of an argument."""
        self.watch_next = False
        """The next call like the last one is to be seen, too."""
        self.inside = False
        """In a transfer that is accounted for, or that was asked for."""
        self.pulled: _Pulled | None = None
        """What is said of the computation whose operands are where it runs."""

    def take_pulled(self) -> _Pulled | None:
        """Return that, once."""
        pulled, self.pulled = self.pulled, None
        return pulled


class _Pulled(NamedTuple):
    """A computation that runs on the host because of operands that are committed there."""

    cause: Cause
    bytes: int
    """What was copied to the host for it."""
    largest: int
    """Bytes of the largest operand that was there."""
    started: int
    """When its operands were there, in nanoseconds."""


def install(recorder: Recorder) -> None:
    """Wrap JAX's functions. Raises HookError, before anything is wrapped."""
    _Hooks(recorder).install()


class _Hooks:
    def __init__(self, recorder: Recorder) -> None:
        import jax

        self.recorder = recorder
        self.local = _Local()
        self.compilations = Compilations()
        self.array: Any = jax.Array
        # `committed` is public from 0.4.35 on.
        public = hasattr(jax.Array, "committed")
        self.committed = operator.attrgetter("committed" if public else "_committed")

    def install(self) -> None:
        try:
            from jax._src import dispatch, pjit
            from jax._src.interpreters import pxla
        except ImportError as error:
            raise HookError(str(error)) from error
        wrappers: list[tuple[Any, str, Callable[[Any], Any]]] = [
            (pxla.InputsHandler, "__call__", self.inputs),
            (pxla.ExecuteReplicated, "__call__", self.execution),
            (pjit, "_get_fastpath_data", self.jit_fast_path),
            (pjit, "_infer_params", self.parameters),
            (pxla, "MeshExecutableFastpathData", self.compiled_fast_path),
            (dispatch, "_batched_device_put_impl", self.device_put),
            (pxla, "batched_device_put", self.transfer),
        ]  # fmt: skip
        for owner, name, _ in wrappers:
            if not callable(getattr(owner, name, None)):
                msg = f"it has no {owner.__name__}.{name}"
                raise HookError(msg)
        # Where it leaves its own frames out of a traceback, JAX is to leave ours out too.
        from jax._src import traceback_util

        if hasattr(traceback_util, "register_exclusion"):
            traceback_util.register_exclusion(__file__)
        put = dispatch._batched_device_put_impl
        for owner, name, wrapper in wrappers:
            setattr(owner, name, wrapper(getattr(owner, name)))
        self.compilations.listen()
        # Up to 0.6.2 the primitive holds the function itself, and nobody looks it up.
        if dispatch.device_put_p.impl is put:
            dispatch.device_put_p.def_impl(dispatch._batched_device_put_impl)

    # -- what moves -------------------------------------------------------------------------------

    def inputs(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap what brings the operands of an execution to its devices."""

        @functools.wraps(real)
        def called(handler: Any, buffers: Sequence[Any]) -> Any:
            local = self.local
            # With input_indices it serves `pmap`, which spreads its operands by definition.
            watched = (
                self.recorder.is_on
                and not local.inside
                and getattr(handler, "input_indices", None) is None
            )
            local.pulled = None
            moving: list[tuple[int, Any, Any]] = []
            cause: Cause | None = None
            if watched:
                with self.recorder.ours():
                    moving += self.moving(buffers, handler.in_shardings)
                    cause = self.cause(buffers, handler.in_shardings, moving)
            local.watch_next = bool(moving) or cause is not None
            if not moving:
                local.moving.discard(id(handler))
                results = real(handler, buffers)
            else:
                results, nanoseconds = self.timed(
                    [array for _, array, _ in moving],
                    lambda: real(handler, buffers),
                    lambda results: [results[index] for index, _, _ in moving],
                )
                with self.recorder.ours():
                    self.count(moving, nanoseconds, pulled=cause is not None)
                local.moving.add(id(handler))
            if cause is not None:
                _wait([buffer for buffer in buffers if isinstance(buffer, self.array)])
                local.pulled = _Pulled(
                    cause,
                    sum(size_of(array) for _, array, _ in moving),
                    max(map(size_of, filter(self.is_committed, buffers))),
                    time.perf_counter_ns(),
                )
            return results

        return called

    def moving(
        self, buffers: Sequence[Any], shardings: Sequence[Any]
    ) -> Iterator[tuple[int, Any, Any]]:
        """Yield the uncommitted arrays that are not where they are wanted, and where that is.

        And NumPy data that is copied whole to each of several devices.
        """
        for index, (buffer, sharding) in enumerate(zip(buffers, shardings, strict=False)):
            if isinstance(buffer, self.array):
                moves = (
                    not self.committed(buffer) and buffer.sharding.device_set != sharding.device_set
                )
            else:
                moves = isinstance(buffer, np.ndarray) and is_replicated(buffer, sharding)
            if moves:
                yield index, buffer, sharding

    def cause(
        self,
        buffers: Sequence[Any],
        shardings: Sequence[Any],
        moving: Sequence[tuple[int, Any, Any]],
    ) -> Cause | None:
        """Return why a computation runs on the host that would run on the accelerator.

        None for one that runs there anyway: under such a default device, or because all that it is
        given is there, and nothing of it came from the accelerator by another such computation.
        """
        committed = [
            (buffer, sharding)
            for buffer, sharding in zip(buffers, shardings, strict=False)
            if self.is_committed(buffer)
        ]
        if not committed:
            return None
        devices = committed[0][1].device_set
        if len(devices) != 1 or not self.recorder.is_host(next(iter(devices))):
            return None
        return self.recorder.cause(
            [buffer for buffer, _ in committed], [array for _, array, _ in moving]
        )

    def count(
        self, moving: Sequence[tuple[int, Any, Any]], nanoseconds: int, *, pulled: bool
    ) -> None:
        """Count what moved, the time shared out by size."""
        total = sum(size_of(array) for _, array, _ in moving) or 1
        for _, array, sharding in moving:
            kind = self.recorder.kind_of(array, sharding)
            self.recorder.moved(
                array,
                sorted(sharding.device_set, key=lambda device: device.id),
                PULLED if pulled and kind == FOLLOWED else kind,
                nanoseconds * size_of(array) // total,
                size=size_on(array, sharding),
            )

    def timed(
        self,
        before: Sequence[Any],
        act: Callable[[], Any],
        after: Callable[[Any], Sequence[Any]],
    ) -> tuple[Any, int]:
        """Run a transfer, and return what it returns and how long it took.

        What was still being computed is waited for first, and not counted.
        """
        _wait(before)
        was_inside, self.local.inside = self.local.inside, True
        try:
            started = time.perf_counter_ns()
            results = act()
            _wait(after(results))
            return results, time.perf_counter_ns() - started
        finally:
            self.local.inside = was_inside

    def transfer(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap what puts the pieces of one array on their devices."""

        @functools.wraps(real)
        def called(
            aval: Any, sharding: Any, pieces: Any, devices: Any, *args: Any, **kw: Any
        ) -> Any:
            if self.local.inside or not self.recorder.is_on:
                return real(aval, sharding, pieces, devices, *args, **kw)
            pieces, devices = list(pieces), list(devices)
            moving: list[tuple[Any, Any]] = []
            with self.recorder.ours():
                moving += [
                    (piece, device)
                    for piece, device in zip(pieces, devices, strict=False)
                    if isinstance(piece, self.array)
                    and not self.committed(piece)
                    and piece.sharding.device_set != {device}
                ]
            if not moving:
                return real(aval, sharding, pieces, devices, *args, **kw)
            result, nanoseconds = self.timed(
                [piece for piece, _ in moving],
                lambda: real(aval, sharding, pieces, devices, *args, **kw),
                lambda result: [result],
            )
            with self.recorder.ours():
                for piece, device in moving:
                    self.recorder.moved(piece, [device], STAGED, nanoseconds // len(moving))
            return result

        return called

    # -- what goes on being watched ---------------------------------------------------------------

    def jit_fast_path(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap what decides whether a jitted function may leave Python out."""

        @functools.wraps(real)
        def called(executable: Any, *args: Any, **kw: Any) -> Any:
            call = getattr(executable, "unsafe_call", None)
            if (
                id(getattr(call, "in_handler", None)) in self.local.moving
                or id(call) in self.local.making
                or id(call) in self.local.on_host
                or id(call) in self.local.donating
            ):
                return None
            return real(executable, *args, **kw)

        return called

    def compiled_fast_path(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap the same for `jax.jit(f).lower(…).compile()`."""

        @functools.wraps(real)
        def called(*args: Any, **kw: Any) -> Any:
            return None if self.local.watch_next else real(*args, **kw)

        return called

    # -- what is compiled -------------------------------------------------------------------------

    def parameters(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap what prepares the call of something jitted; it traces the function, if need be."""

        @functools.wraps(real)
        def called(function: Any, *args: Any, **kw: Any) -> Any:
            results = real(function, *args, **kw)
            if self.recorder.is_on:
                # In 0.4.30 the function is in what is known of the jitted one.
                self.compilations.asked(getattr(function, "fun", function))
            return results

        return called

    def note_compilation(
        self, compiled: AskedCall, execute: Any, name: str, args: Sequence[Any]
    ) -> None:
        why = self.compilations.because_of(compiled, execute, args, self.recorder.maker)
        if why is not None:
            self.recorder.compiled_again(name, why, compiled.nanoseconds)

    # -- what is made -----------------------------------------------------------------------------

    def execution(self, real: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(real)
        def called(execute: Any, *args: Any) -> Any:
            local = self.local
            # Where the operands do not come by the hook above, nothing is known of them.
            local.take_pulled()
            compiled = self.compilations.take()
            results = real(execute, *args)
            pulled = local.take_pulled()
            name = str(getattr(execute, "name", ""))
            if pulled is not None and pulled.bytes < pulled.largest and _INDEXING.fullmatch(name):
                # What it puts into an array of the host, or the indices of what it takes out.
                pulled = None
            if self.recorder.is_on:
                large, gone = False, list[Any]()
                arrays = [result for result in results if isinstance(result, self.array)]
                if pulled is not None:
                    _wait(arrays)
                    nanoseconds = time.perf_counter_ns() - pulled.started
                with self.recorder.ours():
                    self.recorder.ran()
                    self.note_compilation(compiled, execute, name, args)
                    made = [result for result in arrays if self.note_result(result, args)]
                    large = any(size_of(result) >= _LARGE for result in made)
                    if pulled is not None:
                        self.recorder.ran_on_host(
                            name, pulled.cause, arrays, pulled.bytes, nanoseconds
                        )
                    gone = [a for a in args if isinstance(a, self.array) and a.is_deleted()]
                    self.recorder.took(gone)
                (local.donating.add if gone else local.donating.discard)(id(execute))
                local.watch_next |= bool(gone)
                (local.making.add if large else local.making.discard)(id(execute))
                (local.on_host.discard if pulled is None else local.on_host.add)(id(execute))
            return results

        return called

    def device_put(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap `jax.device_put`: it was asked for, so it is no implicit move."""

        @functools.wraps(real)
        def called(*args: Any, **kw: Any) -> Any:
            was_inside, self.local.inside = self.local.inside, True
            try:
                results = real(*args, **kw)
            finally:
                self.local.inside = was_inside
            if self.recorder.is_on:
                given = set(map(id, args))
                with self.recorder.ours():
                    self.recorder.ran()
                    for result in results:
                        if id(result) not in given and isinstance(result, self.array):
                            self.note_result(result, ())
            return results

        return called

    def note_result(self, result: Any, operands: Sequence[Any]) -> bool:
        """Note an array that was made, of which operands; return whether its copies are noted."""
        if self.is_to_note(result):
            self.recorder.made(result)
            return True
        if self.recorder.is_away(result):
            self.recorder.holds(result, operands)
        else:
            self.recorder.alone(result)
        return False

    def is_committed(self, value: Any) -> bool:
        return isinstance(value, self.array) and bool(self.committed(value))

    def is_to_note(self, value: Any) -> bool:
        """Return whether a value is an array that the next operation may copy."""
        return (
            isinstance(value, self.array)
            and not self.committed(value)
            and self.recorder.is_away(value)
        )


def _wait(arrays: Sequence[Any]) -> None:
    for array in arrays:
        # Donated ones are gone; JAX's own error for their use is the program's to see.
        if not isinstance(array, np.ndarray) and not array.is_deleted():
            array.block_until_ready()
