"""The cost of one process: how long, how much processor time, how much memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

_UNIT = 1 if sys.platform == "darwin" else 1024
"""Of `ru_maxrss`: bytes on macOS, kibibytes elsewhere."""


class FailedError(Exception):
    """A command that did not do what is measured; the message has the end of what it said."""


@dataclass(frozen=True)
class Cost:
    """What a process cost, with all that it started and waited for."""

    wall: float
    """Seconds."""
    cpu: float
    """Seconds, of the user and of the system."""
    peak: int
    """Bytes that the largest of its processes held at once."""


def cost_of(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], allowed: Collection[int]
) -> Cost:
    """Run a command in a folder, its output thrown away. Raises FailedError for other exit codes.

    The process that measures must stay small: what a process is forked from counts as its own
    memory until the new program starts.
    """
    with tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        # It is waited for below, to learn what it cost.
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in allowed:
            errors.seek(0)
            said = errors.read().decode("utf-8", "replace")[-2000:]
            message = f"{' '.join(command)}: exit code {process.returncode}\n{said}"
            raise FailedError(message)
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * _UNIT)


def clean_environment(binaries: Path) -> dict[str, str]:
    """Give an environment without what changes how Python starts, with some programs first."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PATH": os.pathsep.join([str(binaries), kept.get("PATH", "")])}
