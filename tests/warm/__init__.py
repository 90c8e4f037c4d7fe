"""Runs commands in forks of a process that has imported what they need, not in new processes.

Most of what `placement-lint` takes for a small file is its start. `command("placement_lint", …)`
gives a command line that does what `python -m placement_lint …` does, in a tenth of the time, for
`subprocess`, asyncio or a shell. Where what is tested is the start itself, what is imported, or a
process's own limits and session, use `sys.executable`.

A variable that Python reads when it starts cannot be changed afterwards: each set of them has a
process of its own. `tests/warm/test_warm.py` checks that one does what the other does.
"""

from __future__ import annotations

import atexit
import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

TOP = Path(__file__).parents[2]
CAN_FORK = hasattr(os, "fork") and sys.platform != "darwin"
"""Where forks are safe: libraries of macOS are not meant to survive one."""
_CLIENT = Path(__file__).with_name("client.py")
_READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_")
_READ_LATER = {"PYTHONPATH"}
"""What a fork can still do as it says."""
_PATH = {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}
_LINTING = tuple(
    f"placement_lint.{name}"
    for name in (
        "cli.check", "config", "files", "lint", "placement", "prefilter", "project", "report",
        "rules", "semantic", "syntax",
    )
)  # fmt: skip
_IMPORTED = {
    "placement_lint": _LINTING,
    "flake8": (*_LINTING, "placement_lint.integrations.flake8", "flake8"),
    "server": (*_LINTING, "placement_lint.integrations.lsp"),
}
"""By what is run."""


def command(module: str, *words: str, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Give a command line that does what `python -m MODULE WORDS…` does in this environment."""
    kind = "server" if words[:1] == ("server",) else module.partition(".")[0]
    return [*_client(kind, environment), "-m", module, *words]


def script(code: str, *words: str, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Give a command line that does what `python -c CODE WORDS…` does: code that lints."""
    return [*_client("placement_lint", environment), "-c", code, *words]


def _client(kind: str, environment: Mapping[str, str]) -> list[str]:
    # What a fork runs is not among what is measured of the process that forked.
    if not CAN_FORK or any(name.startswith("COVERAGE_") for name in environment):
        return [sys.executable]
    address = _started(kind, tuple(sorted(interpreter_settings(environment).items())))
    return [sys.executable, "-I", "-S", str(_CLIENT), address]


def interpreter_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Give the variables of an environment that count only when Python starts."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(_READ_AT_START) and name not in _READ_LATER
    }


@functools.cache
def _started(kind: str, settings: tuple[tuple[str, str], ...]) -> str:
    """Start a warm process, and give the address at which it is asked."""
    others = {k: v for k, v in os.environ.items() if not k.startswith(_READ_AT_START)}
    folder = tempfile.TemporaryDirectory(prefix="warm-")
    address = os.path.join(folder.name, "socket")  # noqa: PTH118
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.warm.server", address, *_IMPORTED[kind]],
        cwd=TOP,
        env={**others, **dict(settings), **_PATH},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )

    def stop() -> None:
        server.communicate()
        folder.cleanup()

    atexit.register(stop)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return address
