"""The process that runs programs for the judge, and says where each of their operations ran.

It is the oracle of `tests.differential`, with several accelerators, and with other eyes: for each
computation that JAX executes it notes the devices that it runs on and what its operands are; for
each array that is left when the program has ended, where it is, what is in it, and which
expression of the program gave it first.

An operation is *indexing* where what the program called takes a part of an array and does nothing
else: `x[i]`, iteration, `jnp.take`, `lax.dynamic_slice`, `jnp.split` and the like. What is taken
remembers the array that it was taken from, through any number of such operations.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import hashlib
import os
import random
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.differential.instrument import Place, place_of
from tests.differential.oracle import SCHEME, Observer, Oracle, serve
from tests.fix_oracle.stand_ins import give_files, put_dlpack_on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tests.differential.instrument import Program

ACCELERATORS = 4
HOSTS = 2
DEVICES = ACCELERATORS + HOSTS

_MAX_EVENTS = 3000
_MAX_LEFT = 400
_MAX_DEPTH = 8
_MAX_BYTES = 1 << 20
_JAX = f"{os.sep}jax{os.sep}"
_WRAPPER = "traceback_util.py"
_INDEXING = frozenset({
    "__getitem__", "_chunk_iter", "_rewriting_take", "_split", "_take", "_unstack", "array_split",
    "dsplit", "dynamic_index_in_dim", "dynamic_slice", "dynamic_slice_in_dim", "get", "hsplit",
    "index_in_dim", "rewriting_take", "slice", "slice_in_dim", "split", "take", "take_along_axis",
    "unstack", "vsplit",
})  # fmt: skip
"""The functions of JAX that only take a part of an array, by the name of their code."""
_INDEXING_NAMES = frozenset({"jit(dynamic_index_in_dim)", "jit(unstack)"})
"""Those of them that are compiled functions, and leave no frame of their own."""
_ITERATION = f"{os.sep}array.py"


@dataclasses.dataclass(frozen=True)
class _Origin:
    """Where an array was before parts were taken of it."""

    serial: int
    devices: tuple[int, ...]
    committed: bool
    passed: tuple[tuple[int, ...], ...]
    """Where it was, and each part of which another part was taken."""


class Watcher(Observer):
    """Sees one execution of one program, for the judge."""

    started_as = "__main__"

    def __init__(
        self,
        programs: dict[str, Program],
        array_type: type[Any],
        library: str,
        asked: set[tuple[str, Place]],
    ) -> None:
        """Watch these modules; note which arrays the expressions at the asked places give."""
        super().__init__(programs, array_type, library)
        self.asked = asked
        self.events: list[list[Any]] = []
        self.puts: list[list[Any]] = []
        self.left: list[list[Any]] = []
        self.given: dict[tuple[str, Place], set[int]] = {}
        self._first: dict[int, tuple[str, Place]] = {}
        """Which expression gave an array first, by its identity."""
        self._serials: dict[int, int] = {}
        self._origins: dict[int, _Origin] = {}
        self._kept: list[Any] = []
        self._puts = 0
        """In how many explicit `device_put` it is: they may cut an array to pieces themselves."""

    def executed(self, buffers: Sequence[Any], shardings: Sequence[Any]) -> None:
        """See nothing here: `computing` sees it with its results."""

    def probe_for(self, program: Program) -> Any:
        """Give the probe of one module, which also notes who gave an array first."""
        probe, name = super().probe_for(program), program.name
        places = [place_of(node) for node in program.nodes]

        def noting(number: int, value: Any) -> Any:
            probe(number, value)
            place = (name, places[number])
            for array in self.latest[name, number][1]:
                self._first.setdefault(id(array), place)
                if place in self.asked:
                    self.given.setdefault(place, set()).add(self.serial(array))
            return value

        return noting

    def serial(self, array: Any) -> int:
        """Give the number by which an array is known."""
        if id(array) not in self._serials:
            self._serials[id(array)] = len(self._serials)
            self._kept.append(array)
        return self._serials[id(array)]

    # -- computations ---------------------------------------------------------------------------

    def computing(
        self,
        name: str,
        devices: Sequence[Any],
        operands: Sequence[tuple[Any, Any]],
        compute: Callable[[], Any],
    ) -> Any:
        """Note a computation, with its operands and the shardings that it wants; compute."""
        found = self._frames()
        if found is None or self._puts or len(self.events) >= _MAX_EVENTS:
            return compute()
        frame, called = found
        program, place, number = self.operation_of(frame)
        for iteration in reversed(self.iterating):
            if any(buffer is iteration.array for buffer, _ in operands):
                # An iterator that was made elsewhere, perhaps long before.
                _, place, _ = iteration.made
                program = self.programs[iteration.made[0]]
                number = program.number_at(place)
                break
        if number >= 0:
            place = place_of(program.nodes[number])
        indexing = called is not None and _is_indexing(called.f_code, name)
        arrays = [
            self._operand(buffer, sharding)
            for buffer, sharding in operands
            if isinstance(buffer, self.array_type)
        ]
        on = sorted(device.id for device in devices)
        event = [program.name, place, _statement(program, number), name, indexing, on, arrays]
        self.events.append(event)
        results = compute()
        if indexing:
            self._remember(operands, results)
        return results

    def _frames(self) -> tuple[types.FrameType, types.FrameType | None] | None:
        """Give the innermost frame of the program, and the frame of JAX that it called."""
        frame: types.FrameType | None = sys._getframe(3)
        called: types.FrameType | None = None
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith(SCHEME):
                return frame, called
            if _JAX in file and not file.endswith(_WRAPPER):
                called = frame
            frame = frame.f_back
        return None

    def _operand(self, array: Any, sharding: Any) -> list[Any]:
        devices = array.devices()
        origin = self._origin(array)
        return [
            self.serial(array),
            sorted(device.id for device in devices),
            array.committed,
            devices != sharding.device_set,
            array.ndim == 0 or array.dtype.name.startswith("key"),
            id(array) in self.seen,
            array.nbytes,
            [origin.serial, origin.devices, origin.committed, origin.passed],
            self._first.get(id(array), (None,))[0],
        ]

    def _origin(self, array: Any) -> _Origin:
        devices = tuple(sorted(device.id for device in array.devices()))
        origin = self._origins.get(id(array))
        if origin is None:
            return _Origin(self.serial(array), devices, array.committed, (devices,))
        if devices in origin.passed:
            return origin
        return dataclasses.replace(origin, passed=(*origin.passed, devices))

    def _remember(self, operands: Sequence[tuple[Any, Any]], results: Any) -> None:
        """Note what parts of an array were taken from: its largest operand."""
        arrays = [buffer for buffer, _ in operands if isinstance(buffer, self.array_type)]
        if not arrays:
            return
        origin = self._origin(max(arrays, key=lambda array: array.nbytes))
        for result in results:
            if isinstance(result, self.array_type):
                self.serial(result)
                self._origins.setdefault(id(result), origin)

    # -- what is left -----------------------------------------------------------------------------

    def finish(self) -> None:
        """Note the arrays that outlive the program: what its modules reach."""
        walk = _Walk(self.array_type, {*self.programs, self.started_as})
        for name in self.programs:
            module = sys.modules.get(name)
            if module is not None:
                walk.namespace(name, vars(module))
        self.left = [[path, *self._described(array)] for path, array in walk.found]

    def _described(self, array: Any) -> list[Any]:
        if array.is_deleted():
            return ["deleted", [], False, "", None, self.serial(array)]
        kind = f"{array.dtype.name}{list(array.shape)}{' weak' if array.weak_type else ''}"
        devices = sorted(device.id for device in array.devices())
        first = self._first.get(id(array))
        return [kind, devices, array.committed, _digest(array), first, self.serial(array)]

    def encoded(self) -> dict[str, Any]:
        """Give what was seen, as JSON takes it."""
        return {
            "printed": self.run.printed,
            "error": self.run.error,
            "error_places": self.run.error_places,
            "steps": self.steps,
            "whole": len(self.events) < _MAX_EVENTS,
            "events": self.events,
            "puts": self.puts,
            "left": self.left,
            "given": [[*place, sorted(serials)] for place, serials in self.given.items()],
        }

    def putting(self, value: Any, put: Callable[[], Any]) -> Any:
        """Note an explicit `device_put`; put."""
        found = self._frames()
        if found is not None:
            program, place, number = self.operation_of(found[0])
            if number >= 0:
                place = place_of(program.nodes[number])
            if len(self.puts) < _MAX_EVENTS:
                self.puts.append([program.name, place, _sizes(value)])
        self._puts += 1
        try:
            return put()
        finally:
            self._puts -= 1


def _sizes(value: Any) -> list[int]:
    """Give the bytes of each array in a tree."""
    import jax

    return [getattr(leaf, "nbytes", 0) for leaf in jax.tree.leaves(value)]


def _is_indexing(code: types.CodeType, name: str) -> bool:
    if code.co_name == "cache_miss":
        return name in _INDEXING_NAMES
    if code.co_name == "<genexpr>":
        return code.co_filename.endswith(_ITERATION)
    return code.co_name in _INDEXING


def _statement(program: Program, number: int) -> Place | None:
    """Give the statement around a node."""
    while number >= 0:
        node = program.nodes[number]
        if isinstance(node, ast.stmt):
            return place_of(node)
        number = program.parents.get(number, -1)
    return None


def _digest(array: Any) -> str:
    """Give a digest of what is in an array; of a large one, of a part of it."""
    import jax
    import numpy as np

    data = jax.random.key_data(array) if array.dtype.name.startswith("key") else array
    flat = np.asarray(data).reshape(-1)
    if flat.nbytes > _MAX_BYTES:
        flat = flat[:: flat.nbytes // _MAX_BYTES + 1]
    return hashlib.blake2b(flat.tobytes(), digest_size=8).hexdigest()


class _Walk:
    """Looks for arrays in what a module holds: containers, objects, closures."""

    def __init__(self, array_type: type[Any], modules: set[str]) -> None:
        self.array_type = array_type
        self.modules = modules
        self.found: list[tuple[str, Any]] = []
        self._inside: set[int] = set()

    def namespace(self, path: str, names: Mapping[str, Any]) -> None:
        for name, value in list(names.items()):
            if not name.startswith("__"):
                self.value(f"{path}.{name}", value, _MAX_DEPTH)

    def value(self, path: str, value: Any, depth: int) -> None:
        if len(self.found) >= _MAX_LEFT or not depth or id(value) in self._inside:
            return
        if isinstance(value, self.array_type):
            self.found.append((path, value))
            return
        self._inside.add(id(value))
        for name, part in self._parts(value):
            self.value(f"{path}{name}", part, depth - 1)
        self._inside.remove(id(value))

    def _parts(self, value: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(value, list | tuple):
            for number, item in enumerate(value):
                yield f"[{number}]", item
        if isinstance(value, dict):
            for key, item in list(value.items()):
                yield f"[{key!r}]", item
        elif isinstance(value, types.FunctionType):
            if value.__module__ not in self.modules:
                return
            names = value.__code__.co_freevars
            for name, cell in zip(names, value.__closure__ or (), strict=True):
                with contextlib.suppress(ValueError):  # not bound yet
                    yield f"<{name}>", cell.cell_contents
            for number, item in enumerate(value.__defaults__ or ()):
                yield f"({number})", item
        elif isinstance(value, functools.partial):
            yield "", (value.func, value.args, value.keywords)
        elif isinstance(value, types.MethodType):
            yield "", value.__self__
        elif isinstance(value, type):
            if value.__module__ in self.modules:
                yield from _attributes(vars(value))
        elif type(value).__module__ in self.modules or isinstance(value, types.SimpleNamespace):
            slots = getattr(type(value), "__slots__", ())
            yield from _attributes({name: getattr(value, name, None) for name in slots})
            yield from _attributes(getattr(value, "__dict__", {}))
        elif hasattr(value, "__wrapped__") and not isinstance(value, types.ModuleType):
            yield "", value.__wrapped__


def _attributes(names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, item in list(names.items()):
        if not name.startswith("__"):
            yield f".{name}", item


class FixOracle(Oracle):
    """Runs programs for the judge."""

    accelerators = ACCELERATORS

    def __init__(self, folder: Path) -> None:
        """Set the stage and hook JAX."""
        super().__init__(folder)
        from jax._src.interpreters import pxla

        self._asked: set[tuple[str, Place]] = set()
        self._clean = _State()
        call, put = pxla.ExecuteReplicated.__call__, self.jax.device_put

        def called(executable: Any, *args: Any) -> Any:
            watcher = self.observer
            if not isinstance(watcher, Watcher):
                return call(executable, *args)
            kept = executable.kept_var_idx
            operands = [arg for number, arg in enumerate(args) if number in kept]
            # There may be more shardings: of what the function reads and writes beside them.
            wanted = list(zip(operands, executable.in_handler.in_shardings, strict=False))
            return watcher.computing(
                executable.name, executable._local_devices, wanted,
                lambda: call(executable, *args),
            )  # fmt: skip

        @functools.wraps(put)
        def putting(x: Any, *args: Any, **keywords: Any) -> Any:
            watcher = self.observer
            if not isinstance(watcher, Watcher):
                return put(x, *args, **keywords)
            return watcher.putting(x, lambda: put(x, *args, **keywords))

        pxla.ExecuteReplicated.__call__ = called
        self.jax.device_put = putting
        give_files()
        put_dlpack_on(self.stage.host, put)
        self._clean.keep()

    def answer(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """Run a program once for each seed, and note what the asked expressions give."""
        self._asked = {(module, (a, b, c, d)) for module, (a, b, c, d) in request["asked"]}
        return super().answer(request)

    def observe(self, programs: dict[str, Program]) -> Watcher:
        """Give what is to see one run of a program."""
        library = str(Path(self.jax.__file__).parent)
        return Watcher(programs, self.array_type, library, self._asked)

    def run(self, observer: Observer, seed: int) -> dict[str, Any]:
        """Run a program once, as if it were the first in this process."""
        import numpy as np

        random.seed(0)
        np.random.seed(0)
        started = sys.modules["__main__"]
        try:
            return super().run(observer, seed)
        finally:
            sys.modules["__main__"] = started
            self._clean.restore()

    def _execute(self, observer: Observer) -> None:
        super()._execute(observer)
        if isinstance(observer, Watcher):
            observer.finish()


class _State:
    """What programs may change for those after them: names of JAX, its settings, variables."""

    def keep(self) -> None:
        import jax

        self._names = dict(vars(jax))
        self._settings = dict(jax.config.values)
        self._environment = dict(os.environ)
        self._folder = os.getcwd()  # noqa: PTH109

    def restore(self) -> None:
        import jax

        for name in vars(jax).keys() - self._names.keys():
            # A module that was imported meanwhile stays.
            if not isinstance(vars(jax)[name], types.ModuleType):
                delattr(jax, name)
        for name, value in self._names.items():
            if vars(jax).get(name) is not value:
                setattr(jax, name, value)
        # Each look at the settings makes a dictionary of all of them.
        settings = jax.config.values
        for name, value in self._settings.items():
            if settings.get(name) != value:
                jax.config.update(name, value)
        if os.environ != self._environment:
            os.environ.clear()
            os.environ.update(self._environment)
        os.chdir(self._folder)


if __name__ == "__main__":
    serve(FixOracle)
