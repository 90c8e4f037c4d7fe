"""Starting the traced process, waiting for it, and forwarding signals to it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING

from placement_lint.jaxmodel.versions import release_of
from placement_lint.trace.emulation import virtual_environment
from placement_lint.trace.hooks import NEWEST, OLDEST
from placement_lint.version import installing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

AUTO, VIRTUAL, GPU = "auto", "virtual", "gpu"
_BOOTSTRAP = Path(__file__).with_name("bootstrap.py")
_TIME_LIMIT = 120
# The current directory is where a module of that name may lie that is not JAX.
_ASK_JAX = (
    "import sys; sys.path[:] = filter(None, sys.path); import jax; print(jax.default_backend())"
)
_CONTROL = Path(__file__).with_name("control.py")
_FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGCONT")
_FROM_TERMINAL = ("SIGINT", "SIGQUIT")


class CannotTraceError(Exception):
    """The program cannot be traced here; the message says why, and what helps."""


@dataclass(frozen=True)
class TraceTarget:
    """What to run: a file, or with `is_module` a module, and its arguments."""

    name: str
    is_module: bool
    arguments: tuple[str, ...]

    def check(self) -> None:
        """Raise CannotTraceError where there is no such file."""
        path = Path(self.name)
        if self.is_module:
            return
        if path.is_dir():
            msg = f"{self.name} is a directory: name the file in it to run"
            raise CannotTraceError(msg)
        if not path.is_file():
            msg = f"{self.name}: no such file"
            raise CannotTraceError(msg)


def choose_devices(asked: str, environment: Mapping[str, str]) -> str:
    """Return GPU or VIRTUAL. Raises CannotTraceError where JAX, or the accelerator, is not there.

    JAX is asked in a process of its own, and only where it may have an accelerator.
    """
    _check_version()
    if asked == VIRTUAL or (asked == AUTO and not _may_have_accelerator()):
        return VIRTUAL
    try:
        done = _python(["-c", _ASK_JAX], environment)
    except subprocess.TimeoutExpired:
        msg = f"JAX does not start within {_TIME_LIMIT} s"
        raise CannotTraceError(msg) from None
    words = done.stdout.split()
    if done.returncode or not words:
        msg = f"JAX does not start: {_last_words(done)}"
        raise CannotTraceError(msg)
    if words[-1] != "cpu":
        return GPU
    if asked == GPU:
        raise CannotTraceError("JAX sees no accelerator here: use --devices virtual")
    return VIRTUAL


def _check_version() -> None:
    try:
        version = metadata.version("jax")
    except metadata.PackageNotFoundError:
        msg = f"JAX is not installed for {sys.executable}: {installing('verify')}"
        raise CannotTraceError(msg) from None
    numbers = (release_of(version) or ())[:3]
    if numbers < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        msg = f"JAX {version} is too old to be traced: {oldest} or newer is needed"
        raise CannotTraceError(msg)
    if numbers[:2] > NEWEST:
        _check_hooks(version)


def _check_hooks(version: str) -> None:
    """Check that the copies of a JAX that is newer than the tested ones are seen."""
    done = _python([str(_CONTROL)], virtual_environment(dict(os.environ)))
    if done.returncode:
        newest = ".".join(map(str, NEWEST))
        msg = (
            f"JAX {version} is newer than this version of placement-lint knows ({newest}), and "
            f"does not show its copies ({_last_words(done)}): "
            "upgrade placement-lint, or use an older JAX"
        )
        raise CannotTraceError(msg)


def _python(
    arguments: list[str], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env=dict(environment),
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=_TIME_LIMIT,
        check=False,
    )


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr.strip().splitlines() or ["it says nothing"])[-1]


def _may_have_accelerator() -> bool:
    """Return whether a platform other than the CPU may be there, without starting JAX."""
    if any(metadata.entry_points(group="jax_plugins")):
        return True
    if util.find_spec("jax_plugins") is not None or util.find_spec("libtpu") is not None:
        return True
    with contextlib.suppress(metadata.PackageNotFoundError):
        return "+" in metadata.version("jaxlib")  # a build for one platform, such as +cuda12
    return False


def run(target: TraceTarget, folder: Path, devices: str, environment: Mapping[str, str]) -> int:
    """Run the program to its end, and return its status as `subprocess` does."""
    target.check()
    request = {
        "target": target.name,
        "module": target.is_module,
        "arguments": list(target.arguments),
        "devices": devices,
    }
    variables = dict(environment)
    if devices == VIRTUAL:
        variables = virtual_environment(variables)
    command = [sys.executable, str(_BOOTSTRAP), str(folder), json.dumps(request)]
    with _signals() as to:
        process = subprocess.Popen(command, env=variables)
        to.append(process)
        return process.wait()


@contextlib.contextmanager
def _signals() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Forward signals, while it lasts, to the process in the list; end on none of them."""
    processes: list[subprocess.Popen[bytes]] = []

    def hand_on(number: int, _: object) -> None:
        for process in processes:
            process.send_signal(number)

    def from_terminal(number: int, frame: object) -> None:
        # A terminal sends these to both processes by itself.
        if not _in_foreground():
            hand_on(number, frame)

    before = {}
    try:
        for names, act in ((_FORWARDED, hand_on), (_FROM_TERMINAL, from_terminal)):
            for name in names:
                number = getattr(signal, name, None)
                # A signal that is ignored here, as under nohup, is ignored by the program too.
                if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                    before[number] = signal.signal(number, act)
        yield processes
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_foreground() -> bool:
    if not hasattr(os, "tcgetpgrp"):
        return True
    try:
        with open(os.ctermid(), "rb", buffering=0) as terminal:  # noqa: PTH123
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def end_like(status: int) -> int:
    """Return the exit code for a status of `run`; where a signal ended it, let it end this too."""
    if status >= 0:
        return status
    number = -status
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program has left its own core
    with contextlib.suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number


def arguments_of(words: Sequence[str]) -> tuple[list[str], TraceTarget | None]:
    """Split a command line into our options and the program with its own.

    The program begins at the first word that is neither an option of ours nor its value, or
    at `-m`: behind it all is the program's.
    """
    taken: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return taken, TraceTarget(rest[0], False, tuple(rest[1:])) if rest else None
        if word == "-m":
            return taken, TraceTarget(rest[0], True, tuple(rest[1:])) if rest else None
        if word.startswith("-m") and not word.startswith("--"):
            return taken, TraceTarget(word[2:], True, tuple(rest))
        if not word.startswith("-") or word == "-":
            return taken, TraceTarget(word, False, tuple(rest))
        taken.append(word)
        if word in WITH_VALUE and rest:
            taken.append(rest.pop(0))
    return taken, None


WITH_VALUE = frozenset({"--devices", "--output-format", "--output-file", "--report", "--color"})
"""Options that take the next word."""
