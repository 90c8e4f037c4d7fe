"""Makes parts of the package fail, at one file or at all: in this process, or in those started.

A fault is a text, so that it can be handed to another process by the environment: what is to
fail, how, and the file at which it is to. `within` has the processes that a command starts, and
those that these start, import this module first.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import importlib
import inspect
import os
import signal
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_for_good = contextlib.ExitStack()

VARIABLE = "PLACEMENT_LINT_TEST_FAULT"
EVERYWHERE = "*"
LEAK = "a text of the user's"


_INHERITED = object()


class InjectedError(Exception):
    """What no part of the package expects."""


def _loop() -> None:
    _loop()


def _die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _crash(*_: object) -> None:
    import ctypes

    # What a parser in C does to itself.
    ctypes.string_at(0)


def _leave(*_: object) -> None:
    os._exit(7)


def _never_end() -> None:
    while True:
        pass


def _raising(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


KINDS: dict[str, Callable[[], None]] = {
    "unexpected": _raising(InjectedError(LEAK)),
    "memory": _raising(MemoryError()),
    "recursion": _raising(RecursionError("maximum recursion depth exceeded")),
    "key": _raising(KeyError(LEAK)),
    "io": _raising(OSError(errno.EIO, "Input/output error")),
    "gone": _raising(FileNotFoundError(errno.ENOENT, "No such file or directory")),
    "forbidden": _raising(PermissionError(errno.EACCES, "Permission denied")),
    "full": _raising(OSError(errno.ENOSPC, "No space left on device")),
    "readonly": _raising(OSError(errno.EROFS, "Read-only file system")),
    "again": _raising(BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")),
    "thread": _raising(RuntimeError("can't start new thread")),
    "killed": _die,
    "crashed": _crash,
    "left": _leave,
    "endless": _never_end,
}
RAISING = tuple(sorted(KINDS.keys() - {"killed", "crashed", "left", "endless"}))


@dataclass(frozen=True)
class Fault:
    """Something that fails."""

    what: str
    """`module:name` or `module:Class.method`, or a name of `RULES`: something of every rule, each
    at the file that is named after it."""
    kind: str = "unexpected"
    file: str = EVERYWHERE
    """The name of the file at which it fails, of whatever folder."""
    after: int = 0
    """How many times it works before."""

    def __str__(self) -> str:
        return f"{self.what} {self.kind} {self.file} {self.after}"

    @classmethod
    def parse(cls, text: str) -> Fault:
        what, kind, file, after = text.split(" ")
        return cls(what, kind, file, int(after))


@contextlib.contextmanager
def injected(*faults: Fault) -> Iterator[None]:
    """Have something fail in this process, in the block."""
    undo: list[tuple[Any, str, Any]] = []
    try:
        _forget_visitors()
        for fault in faults:
            if fault.what in RULES:
                RULES[fault.what](fault, undo)
            else:
                _fail_at(fault, undo)
        yield
    finally:
        for home, name, before in reversed(undo):
            if before is _INHERITED:
                delattr(home, name)
            else:
                setattr(home, name, before)
        _forget_visitors()


def within(folder: Path, *faults: Fault, parallel: bool = False) -> dict[str, str]:
    """Give the environment of processes in which something fails from the beginning.

    `parallel`: processes are started whatever the size of the files.
    """
    folder.mkdir(exist_ok=True)
    start = "from tests.faults import injection\ninjection.from_environment()\n"
    (folder / "sitecustomize.py").write_text(start, encoding="utf-8")
    top = Path(__file__).parents[2]
    told = [*map(str, faults), *(["parallel"] if parallel else [])]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), str(top)]),
        VARIABLE: "\n".join(told),
    }


def from_environment() -> None:
    """Have fail, from now on, what the environment says."""
    told = os.environ.get(VARIABLE, "").splitlines()
    if "parallel" in told:
        from placement_lint.lint import run

        (run.check_files.__kwdefaults__ or {})["parallel_bytes"] = 0
    faults = [Fault.parse(line) for line in told if line != "parallel"]
    if faults:
        _for_good.enter_context(injected(*faults))


# -- anything ---------------------------------------------------------------------------------


def _fail_at(fault: Fault, undo: list[tuple[Any, str, Any]]) -> None:
    module_name, _, path = fault.what.partition(":")
    home: Any = importlib.import_module(module_name)
    *owners, name = path.split(".")
    for owner in owners:
        home = getattr(home, owner)
    real = inspect.getattr_static(home, name)
    function = real.__func__ if isinstance(real, classmethod | staticmethod) else real
    if isinstance(function, functools.cached_property):
        failing: Any = functools.cached_property(_wrapped(function.func, fault))
        failing.__set_name__(home, name)
    elif isinstance(function, property) and function.fget:
        failing = property(_wrapped(function.fget, fault))
    else:
        failing = _wrapped(function, fault)
    if isinstance(real, classmethod | staticmethod):
        failing = type(real)(failing)
    homes = [home]
    if not owners:
        # Whoever has imported it by name has it too.
        homes += [
            module
            for key, module in [*sys.modules.items()]
            if key.startswith("placement_lint") and vars(module).get(name) is real
            if module is not home
        ]
    for each in homes:
        undo.append((each, name, real))
        setattr(each, name, failing)


def _wrapped(function: Callable[..., Any], fault: Fault) -> Callable[..., Any]:
    calls = 0

    @functools.wraps(function)
    def failing(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        if fault.file == EVERYWHERE or any(_is_about(each, fault.file) for each in args):
            calls += 1
            if calls > fault.after:
                KINDS[fault.kind]()
        return function(*args, **kwargs)

    return failing


def _is_about(argument: Any, file: str) -> bool:
    """Tell whether an argument is a file, or something that belongs to one."""
    if isinstance(argument, str | os.PathLike):
        return os.path.basename(os.fspath(argument)) == file  # noqa: PTH119 - not only paths
    if isinstance(argument, list | tuple | set | frozenset | dict):
        return any(_is_about(each, file) for each in argument)
    return any(
        _is_about(getattr(argument, name, None), file)
        for name in (
            "path",
            "_path",
            "name",
            "source",
            "editor",
            "_editor",
            "module",
            "replacement",
        )
        if isinstance(getattr(type(argument), "__module__", None), str)
        and type(argument).__module__.startswith("placement_lint")
    )


# -- of every rule ----------------------------------------------------------------------------


def _is_named_after(path: str, rule: Any) -> bool:
    return bool(Path(path).stem == rule.code.lower())


def _forget_visitors() -> None:
    if "placement_lint.lint.check_file" in sys.modules:
        from placement_lint.lint import check_file

        check_file.dispatch_table.cache_clear()
        check_file._VISITORS.clear()


def _visitors_fail(fault: Fault, undo: list[tuple[Any, str, Any]]) -> None:
    from placement_lint.rules.registry import all_rules

    def failing(rule: Any, visit: Callable[..., None]) -> Callable[..., None]:
        def visit_or_fail(self: Any, node: Any, ctx: Any) -> None:
            if _is_named_after(ctx.module.path, rule):
                KINDS[fault.kind]()
            visit(self, node, ctx)

        return visit_or_fail

    for rule in all_rules():
        for name in [name for name in dir(rule) if name.startswith("visit_")]:
            undo.append((rule, name, vars(rule).get(name, _INHERITED)))
            setattr(rule, name, failing(rule, getattr(rule, name)))


def _reports_fail(
    fault: Fault,
    undo: list[tuple[Any, str, Any]],
    worsened: Callable[[Fault, Any, dict[str, Any]], tuple[Any, dict[str, Any]]],
) -> None:
    from placement_lint.rules.context import Context

    report = Context.report

    def report_badly(self: Any, node: Any, message: str, **options: Any) -> None:
        if _is_named_after(self.module.path, self._rule):
            node, options = worsened(fault, node, options)
        report(self, node, message, **options)

    undo.append((Context, "report", report))
    Context.report = report_badly  # type: ignore[method-assign]


def _without_a_fix(fault: Fault, node: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    plan = options.get("fix")
    if callable(plan):
        # It is worked out when all rules have looked.
        options = {**options, "fix": lambda: _failing(plan(), fault)}
    elif plan is not None:
        options = {**options, "fix": _failing(plan, fault)}
    return node, options


def _failing(plan: Any, fault: Fault) -> Any:
    if plan is None:
        return None
    return replace(plan, build=lambda _: KINDS[fault.kind](), otherwise=None)


def _without_a_place(_: Fault, node: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    import libcst as cst

    return cst.Name("nowhere"), options


def _needs_fail(fault: Fault, undo: list[tuple[Any, str, Any]]) -> None:
    from placement_lint.prefilter.conditions import FileText, Needs
    from placement_lint.rules.registry import all_rules

    class Failing(Needs):
        def __init__(self, rule: Any) -> None:
            self.rule = rule
            self.real: Needs = rule.needs

        def met_by(self, text: FileText) -> bool:
            if text.path is not None and _is_named_after(text.path, self.rule):
                KINDS[fault.kind]()
            return text.meets(self.real)

    for rule in all_rules():
        undo.append((rule, "needs", rule.needs))
        rule.needs = Failing(rule)


RULES: dict[str, Callable[[Fault, list[tuple[Any, str, Any]]], None]] = {
    "visitors": _visitors_fail,
    "fixes": functools.partial(_reports_fail, worsened=_without_a_fix),
    "places": functools.partial(_reports_fail, worsened=_without_a_place),
    "needs": _needs_fail,
}
