"""The oracle: run programs on JAX with virtual devices and see which operands are really moved.

Started as a subprocess, it answers one line of JSON for each line that it is given. It knows
nothing of the transfer table. What it sees, it sees at two places:

- *Executions.* JAX hands every operand of every computation to `InputsHandler.__call__`, with the
  sharding that the executable wants; an operand that lives elsewhere is copied there, whole. The
  C++ fast path, which copies without asking Python, is switched off by giving it no data. An
  explicit `device_put` does not come by this way, nor does an argument that a jitted function does
  not use.
- *Expressions.* Each expression of a program is wrapped in a probe that notes which arrays it
  gave, so that an operand is found again by identity, and which expressions ran at all.

The program's innermost frame at an execution says which operation it was, by the exact range of
columns that CPython keeps for every instruction (3.11 and newer).
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import gc
import importlib
import importlib.abc
import importlib.machinery
import io
import json
import os
import random
import sys
import tempfile
import threading
import traceback
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.differential.instrument import HOST, PROBE, Place, Program, instrument, place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DEVICES = 4
SCHEME = "<program>/"
_DEPTH = 4
_MAX_ANSWERS = 25
MAX_STEPS = 4000
_MAX_ARRAYS = 100
_MAX_PRINTED = 10_000
_MAX_COMPILED = 6000
"""Computations that are kept; one takes 0.3 MB."""
_MAX_LOWERED = 500
"""Computations that are written in one context of MLIR, which keeps what was in them."""


class EndlessError(BaseException):
    """The program goes on too long, or holds too much: it is cut here."""


@dataclass
class Use:
    """One operation that had an array of the program among its operands."""

    module: str
    operation: Place
    operands: list[Place]
    """The expressions that gave the array, of those that the operation reads."""
    moved: bool
    away: bool
    """It did not live on the system's default device."""
    small: bool
    """A PRNG key or a scalar."""
    known: bool = True
    """A probe saw the array; else JAX made it on the way."""
    device: int = 0
    """The device that it is on; of several, one."""
    committed: bool = False
    to_mesh: bool = False
    """It runs on several devices."""


@dataclass
class Run:
    """What was seen of one execution of a program."""

    uses: dict[tuple[str, ...], Use] = field(default_factory=dict)
    evaluated: set[tuple[str, Place]] = field(default_factory=set)
    printed: str = ""
    error: str | None = None
    error_places: list[tuple[str, int]] = field(default_factory=list)


class Inputs(types.ModuleType):
    """What a program cannot know beforehand: `import inputs`."""

    def __init__(self, seed: int) -> None:
        """Choose all answers by a seed; 0 answers yes, 1 answers no."""
        super().__init__("inputs")
        self._random = random.Random(seed)  # noqa: S311
        self._seed = seed
        self._asked = 0
        self.told: list[tuple[str, bool | int | str]] = []
        """The questions, and what was answered."""

    def flag(self) -> bool:
        """Give a truth value; after many, always False, so that loops end."""
        self._asked += 1
        if self._asked > _MAX_ANSWERS:
            answer = False
        else:
            answer = self._seed == 0 if self._seed < 2 else self._random.random() < 0.5
        self.told.append(("flag", answer))
        return answer

    def count(self) -> int:
        """Give a small number of rounds."""
        answer = 2 if self._seed < 2 else self._random.randrange(4)
        self.told.append(("count", answer))
        return answer

    def choice(self) -> str:
        """Give one of three words."""
        answer = self._random.choice(["a", "b", "c"])
        self.told.append(("choice", answer))
        return answer

    def fail(self) -> None:
        """Raise ValueError, or not."""
        if self.flag():
            raise ValueError("asked to fail")


def _tells_the_same(seed: int, told: Inputs) -> bool:
    """Tell whether the inputs of a seed answer as those that a program was told: it does what it
    did then.
    """
    inputs = Inputs(seed)
    return all(getattr(inputs, question)() == answer for question, answer in told.told)


@dataclass
class _Iteration:
    """An iterator over an array of the program."""

    array: Any
    made: tuple[str, Place, list[Place]]
    """Where: the module, the operation, and the expressions that gave it the array."""


class _At(NamedTuple):
    """What a frame of a program is at."""

    program: Program
    place: Place
    number: int


class Observer:
    """Sees one execution of one program."""

    started_as = "main"
    """What the module that is started finds in `__name__`."""

    def __init__(self, programs: dict[str, Program], array_type: type[Any], library: str) -> None:
        """Watch these modules. `library`: the folder of JAX."""
        self.programs = programs
        self.array_type = array_type
        self.library = library
        self.run = Run()
        self.latest: dict[tuple[str, int], list[Any]] = {}
        """What a node gave when it last ran: the value, and the arrays in it."""
        self.positions: dict[int, tuple[types.CodeType, list[tuple[int | None, ...]]]] = {}
        """Of the instructions of what was executed, by its identity: to compare code is slow."""
        self.steps = 0
        self.seen: dict[int, Any] = {}
        """Arrays of the program, kept so that their identities are not used again."""
        self.iterating: list[_Iteration] = []
        """The iterators over arrays that are asked for an item now, the innermost last."""

    def probe_for(self, program: Program) -> Any:
        """Give the probe of one module."""
        name = program.name
        places = [place_of(node) for node in program.nodes]

        def probe(number: int, value: Any) -> Any:
            found = list(self.arrays(value))
            self.steps += 1
            if self.steps > MAX_STEPS or len(found) > _MAX_ARRAYS:
                raise EndlessError(f"cut after {self.steps} steps")
            for array in found:
                self.seen[id(array)] = array
            self.gave(name, places[number], found)
            self.latest[name, number] = [value, found]
            self.run.evaluated.add((name, places[number]))
            return value

        return probe

    def gave(self, module: str, place: Place, arrays: list[Any]) -> None:
        """Note which arrays an expression gave."""

    def encoded(self) -> dict[str, Any]:
        """Give what was seen, as JSON takes it."""
        return {
            "printed": self.run.printed,
            "error": self.run.error,
            "error_places": self.run.error_places,
            "evaluated": sorted(self.run.evaluated),
            "uses": [vars(use) for use in self.run.uses.values()],
        }

    def arrays(self, value: Any, depth: int = _DEPTH) -> Iterator[Any]:
        """Give the concrete arrays in a value and in its containers."""
        if isinstance(value, self.array_type):
            yield value
        elif depth and isinstance(value, list | tuple | set):
            for item in value:
                yield from self.arrays(item, depth - 1)
        elif depth and isinstance(value, dict):
            for item in value.values():
                yield from self.arrays(item, depth - 1)
        elif depth and dataclasses.is_dataclass(value) and not isinstance(value, type):
            for each in dataclasses.fields(value):
                yield from self.arrays(getattr(value, each.name, None), depth - 1)

    def operations(self) -> Iterator[_At]:
        """Give the operation that the program's innermost frame is at.

        Where JAX called that, as `vmap` does, then also that of the frame that called JAX.
        """
        frame: Any = sys._getframe(2)
        while frame is not None:
            if frame.f_code.co_filename.startswith(SCHEME):
                yield self.operation_of(frame)
                caller = frame.f_back
                if caller is None or not caller.f_code.co_filename.startswith(self.library):
                    return
            frame = frame.f_back

    def operation_of(self, frame: Any) -> _At:
        """Give the operation that a frame of the program is at."""
        program = self.programs[frame.f_code.co_filename.removeprefix(SCHEME)]
        code = frame.f_code
        if id(code) not in self.positions:
            self.positions[id(code)] = (code, list(code.co_positions()))
        _, positions = self.positions[id(code)]
        line, end_line, column, end_column = positions[frame.f_lasti // 2]
        place = (line or 0, column or 0, end_line or 0, end_column or 0)
        return _At(program, place, program.number_at(place))

    def executed(self, buffers: Sequence[Any], shardings: Sequence[Any]) -> None:
        """Note what JAX executes a computation with."""
        around = list(self.operations())
        if not around:
            return
        buffer: Any
        for buffer, sharding in zip(buffers, shardings, strict=True):
            if isinstance(buffer, self.array_type):
                wanted = sharding.device_set
                moved = buffer.devices() != wanted
                known = id(buffer) in self.seen
                if known or moved:
                    many = len(wanted) > 1
                    self._use(around, buffer, moved=moved, known=known, to_mesh=many)

    def _use(
        self, around: list[_At], array: Any, *, moved: bool, known: bool, to_mesh: bool
    ) -> None:
        at = around[0]
        operands = self._operands(at.program, at.number, array)
        if not operands and known and not any(each.array is array for each in self.iterating):
            # A function that `jax.vmap` calls has tracers, where its caller has the arrays.
            for outer in around[1:]:
                operands = self._operands(outer.program, outer.number, array)
                if operands:
                    at = outer
                    break
        module, place = at.program.name, at.place
        if not operands:
            # It was handed to an iterator elsewhere, perhaps long before it is asked for this item.
            for iteration in reversed(self.iterating):
                if iteration.array is array:
                    module, place, operands = iteration.made
                    break
        away = all(device.id != 0 for device in array.devices())
        small = array.ndim == 0 or array.dtype.name.startswith("key")
        device = min(device.id for device in array.devices())
        committed = array.committed
        use = Use(module, place, operands, moved, away, small, known, device, committed, to_mesh)
        key = tuple(map(str, vars(use).values()))
        self.run.uses[key] = use

    def _operands(self, program: Program, number: int, array: Any) -> list[Place]:
        """Find the expressions that gave an array to an operation."""
        while number >= 0:
            found = list(self._within(program, number, array))
            if found:
                return found
            if isinstance(program.nodes[number], ast.stmt):
                return []
            number = program.parents.get(number, -1)
        return []

    def _within(self, program: Program, number: int, array: Any) -> Iterator[Place]:
        for part in program.parts(number):
            node = program.nodes[part]
            latest = self.latest.get((program.name, part))
            if latest is None:
                if not isinstance(node, ast.Lambda | ast.Constant):
                    yield from self._within(program, part, array)
                continue
            value, arrays = latest
            if any(each is array for each in arrays):
                if program.is_literal(part):
                    yield from self._within(program, part, array)
                else:
                    yield place_of(node)
            elif not arrays and not isinstance(value, int | float | str | bytes | None):
                yield from self._within(program, part, array)

    def iterates(self, array: Any, items: Iterator[Any]) -> Iterator[Any]:
        """Note that an iterator is made: it computes when it is asked for items, and gives them."""
        at = next(self.operations(), None)
        if at is None or id(array) not in self.seen:
            return items
        made = (at.program.name, at.place, self._operands(at.program, at.number, array))
        return self._iterate(_Iteration(array, made), items)

    def _iterate(self, iteration: _Iteration, items: Iterator[Any]) -> Iterator[Any]:
        while True:
            self.iterating.append(iteration)
            try:
                item = next(items)
            except StopIteration:
                return
            finally:
                self.iterating.pop()
            yield item


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the modules of one program from memory."""

    def __init__(self, observer: Observer, host: Any) -> None:
        self.observer = observer
        self.host = host

    def _is_package(self, name: str) -> bool:
        return any(other.startswith(name + ".") for other in self.observer.programs)

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:  # noqa: ARG002
        if fullname not in self.observer.programs:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=self._is_package(fullname))

    def create_module(self, spec: Any) -> None:  # noqa: ARG002
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        program = self.observer.programs[module.__name__]
        vars(module)[PROBE] = self.observer.probe_for(program)
        vars(module)[HOST] = self.host
        if module.__name__ == "main":
            module.__name__ = self.observer.started_as
        exec(program.code(SCHEME), vars(module))  # noqa: S102


class _Compiled:
    """What XLA made of each computation, by its text: to compile it again takes most of the time.

    A program is run several times, and many compute the same.
    """

    def __init__(self, compiled: Callable[..., Any]) -> None:
        """Take the function of JAX that compiles a computation."""
        self._compile = compiled
        self._known: dict[tuple[str, tuple[int, ...], bytes], Any] = {}

    def __call__(
        self, backend: Any, computation: Any, devices: Any, options: Any, callbacks: Any,
        *rest: Any, **more: Any,
    ) -> Any:  # fmt: skip
        """Give what is executed."""
        if callbacks:
            return self._compile(backend, computation, devices, options, callbacks, *rest, **more)
        ids = tuple(device.id for device in devices.flat)
        key = (str(computation), ids, options.SerializeAsString())
        made = self._known.pop(key, None)
        if made is None:
            made = self._compile(backend, computation, devices, options, callbacks, *rest, **more)
            if len(self._known) >= _MAX_COMPILED:
                del self._known[next(iter(self._known))]
        self._known[key] = made
        return made


class _Contexts:
    """Gives contexts of MLIR: JAX makes one for each computation, which takes as long as to write
    the computation.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        """Take the function of JAX that makes one."""
        self._make = make
        self._kept: Any = None
        self._given = 0
        self.thread: threading.Thread | None = None
        """The one that runs the program: only it is given the context that is kept."""

    def __call__(self) -> Any:
        """Give one."""
        if threading.current_thread() is not self.thread:
            return self._make()
        if self._given % _MAX_LOWERED == 0:
            self._kept = self._make()
        self._given += 1
        return self._kept


class Oracle:
    """Runs programs. One for a process, whose JAX it changes."""

    accelerators = 1
    """How many of the virtual devices play accelerators."""

    def __init__(self, folder: Path) -> None:
        """Set the stage and hook JAX. Imports it: the environment must be set.

        Programs run in the folder, in which they find files of tensors.
        """
        os.chdir(folder)
        import jax
        import numpy as np
        from jax._src import compiler, pjit
        from jax._src.interpreters import mlir, pxla
        from safetensors.numpy import save_file

        from placement_lint.verify.stage import enter_stage

        self.jax = jax
        self.stage = enter_stage(plain=False, accelerators=self.accelerators)
        self.array_type = type(jax.numpy.zeros(1))
        self.observer: Observer | None = None
        self.inputs = Inputs(0)
        """What the program that ran last was told."""
        table = np.arange(16, dtype=np.float32).reshape(4, 4)
        save_file({"tokens": table}, "tokens.safetensors")
        np.save("tokens.npy", table)

        handle, iterate = pxla.InputsHandler.__call__, self.array_type.__iter__

        def handled(handler: Any, buffers: Any) -> Any:
            if self.observer is not None:
                self.observer.executed(buffers, handler.in_shardings)
            return handle(handler, buffers)

        def iterated(array: Any) -> Any:
            items = iterate(array)
            return items if self.observer is None else self.observer.iterates(array, items)

        pjit._get_fastpath_data = lambda *_, **__: None
        compiler.compile_or_get_cached = _Compiled(compiler.compile_or_get_cached)
        self.contexts = mlir.make_ir_context = _Contexts(mlir.make_ir_context)
        pxla.InputsHandler.__call__ = handled
        self.array_type.__iter__ = iterated

    def answer(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """Run a program once for each seed. The module named `main` is the one that is started."""
        programs = {name: instrument(name, text) for name, text in request["modules"].items()}
        runs: list[dict[str, Any]] = []
        known: list[tuple[Inputs, dict[str, Any]]] = []
        for seed in request["seeds"]:
            again = next((run for told, run in known if _tells_the_same(seed, told)), None)
            if again is None:
                again = self.run(self.observe(programs), seed)
                known.append((self.inputs, again))
            runs.append(again)
        return runs

    def observe(self, programs: dict[str, Program]) -> Observer:
        """Give what is to see one run of a program."""
        return Observer(programs, self.array_type, str(Path(self.jax.__file__).parent))

    def run(self, observer: Observer, seed: int) -> dict[str, Any]:
        """Run a program once, and give what was seen, as JSON takes it."""
        programs = observer.programs
        finder = _Finder(observer, self.stage.host)
        sys.meta_path.insert(0, finder)
        sys.modules["inputs"] = self.inputs = Inputs(seed)
        before = set(sys.modules)
        # The default device of `with` blocks is a thread's own: a new thread forgets every leak.
        thread = threading.Thread(target=self._execute, args=(observer,))
        self.contexts.thread = thread
        try:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                thread.start()
                thread.join()
            observer.run.printed = printed.getvalue()[:_MAX_PRINTED]
        finally:
            self.observer = None
            sys.meta_path.remove(finder)
            for name in [name for name in sys.modules if name in programs]:
                if name not in before:
                    del sys.modules[name]
            self.jax.config.update("jax_default_device", None)
        return observer.encoded()

    def _execute(self, observer: Observer) -> None:
        self.observer = observer
        try:
            importlib.import_module("main")
        except (Exception, EndlessError) as error:  # the program's own: it is cut here
            observer.run.error = f"{type(error).__name__}: {error}"
            observer.run.error_places = [
                (frame.filename.removeprefix(SCHEME), frame.lineno or 0)
                for frame in traceback.extract_tb(error.__traceback__)
                if frame.filename.startswith(SCHEME)
            ]


def serve(kind: type[Oracle] = Oracle) -> None:
    """Answer requests until there are no more."""
    # What a program prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    requests = sys.stdin
    with tempfile.TemporaryDirectory() as folder:
        root = str(Path.cwd())
        if root not in sys.path:
            sys.path.insert(0, root)
        oracle = kind(Path(folder))
        # What importing JAX made stays for good: there is no use in looking through it.
        gc.freeze()
        for line in requests:
            request = json.loads(line)
            try:
                answer: dict[str, Any] = {"runs": oracle.answer(request)}
            except Exception:  # ours: say so, and go on
                answer = {"failure": traceback.format_exc()}
            answers.write(json.dumps(answer) + "\n")
            answers.flush()
        os.chdir(root)


if __name__ == "__main__":
    serve()
