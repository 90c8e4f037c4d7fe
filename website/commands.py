"""What each command's `--help` says."""

from __future__ import annotations

import os
import subprocess
import sys

from placement_lint.cli import _COMMANDS

COMMANDS = tuple(_COMMANDS)


def command_line() -> str:
    """Give a section for each command."""
    parts = []
    for command in COMMANDS:
        parts += [f"## {command}", f"```text\n{help_of(command).rstrip()}\n```"]
    return "\n\n".join(parts)


def help_of(command: str) -> str:
    """Give what a command says of itself."""
    run = subprocess.run(
        [sys.executable, "-m", "placement_lint", command, "--help"],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NO_COLOR": "1"},
    )
    return run.stdout
