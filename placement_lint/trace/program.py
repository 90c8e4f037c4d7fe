"""Running the user's program as Python itself would: as `__main__`, with its own arguments.

Runs in the traced process.
"""

from __future__ import annotations

import importlib.util
import io
import os
import sys
import types
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class NoProgramError(Exception):
    """There is no such module to run; the message is Python's."""


class TracedProgram(NamedTuple):
    """What is to be run, and what its `__main__` is to hold."""

    load: Callable[[], Any]
    """Returns the code. Raises SyntaxError."""
    path: str
    spec: ModuleSpec | None
    loader: Any


def script(path: str) -> TracedProgram:
    full = os.path.join(os.getcwd(), path)  # noqa: PTH109, PTH118  (as Python does)
    _put_first(str(Path(full).resolve().parent))

    def load() -> Any:
        with io.open_code(full) as file:
            return compile(file.read(), full, "exec", dont_inherit=True)

    return TracedProgram(load, full, None, SourceFileLoader("__main__", full))


def module(name: str) -> TracedProgram:
    """Find `python -m NAME`. Raises NoProgramError, and what importing its package raises."""
    _put_first(str(Path.cwd()))
    spec = _find(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = _find(f"{name}.__main__")
        if spec is None:
            msg = (
                f"No module named {name}.__main__; {name!r} is a package and cannot be directly "
                "executed"
            )
            raise NoProgramError(msg)
    if spec is None:
        msg = f"No module named {name}"
        raise NoProgramError(msg)
    loader: Any = spec.loader
    if not hasattr(loader, "get_code"):
        msg = f"{name} has no code to run"
        raise NoProgramError(msg)
    code = loader.get_code(spec.name)
    if code is None:
        msg_0 = f"{name} has no code to run"
        raise NoProgramError(msg_0)
    return TracedProgram(lambda: code, spec.origin or name, spec, loader)


def _put_first(folder: str) -> None:
    # `python -P` (3.11 and newer) looks in no such folder.
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, folder)


def _find(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if name == error.name or name.startswith(f"{error.name}."):
            return None
        raise


def run(program: TracedProgram, arguments: list[str], argument_0: str) -> None:
    """Run it. What it raises is raised, with a traceback that begins in the program itself."""
    sys.argv = [argument_0, *arguments]
    main = types.ModuleType("__main__")
    vars(main).update(
        __file__=program.path,
        __spec__=program.spec,
        __package__=None if program.spec is None else program.spec.parent,
        __loader__=program.loader,
        __builtins__=sys.modules["builtins"],
        __cached__=None,
    )
    # Code that is to be found under this name, such as a class that is pickled, is the program's.
    sys.modules["__main__"] = main
    exec(program.load(), vars(main))  # noqa: S102


def leave_out_our_frames(explained: Callable[[BaseException], str | None]) -> None:
    """Let the exception that is about to end the process be shown without frames of ours.

    `explained` returns what is to be said before, if anything.
    """
    sys.excepthook = _Hook(sys.excepthook, explained)


class _Hook:
    """Shows an exception that ends the program without the frames that are not the program's.

    Python itself then ends the process as ever: by status 1, or by SIGINT.
    """

    def __init__(
        self, inner: Callable[..., Any], explained: Callable[[BaseException], str | None]
    ) -> None:
        self._inner = inner
        self._explained = explained

    def __call__(self, kind: type[BaseException], error: BaseException, trace: Any) -> None:
        ours = str(Path(__file__).parent) + os.sep
        while trace is not None and trace.tb_frame.f_code.co_filename.startswith(ours):
            trace = trace.tb_next
        said = self._explained(error)
        if said is not None and sys.stderr is not None:
            print(said, file=sys.stderr)
        self._inner(kind, error.with_traceback(trace), trace)
