"""Run what a page shows, as its reader would: on a terminal, in a folder with the page's files."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from typing import TYPE_CHECKING

from tests import warm
from tests.docs.pages import TOP, blocks

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.docs.pages import Block

_COLUMNS = 100
_FOLDER = "/home/me/project"
"""What pages call the folder in which their commands run."""
_NUMBER = re.compile(r"\d[\d.,]*(?: (?:[mµ]?s|[kMG]?B)\b)?")


class Terminal:
    """A shell in a folder, with `placement-lint` and `python` on its path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve() / "project"
        self.folder.mkdir()
        tools = folder / "bin"
        tools.mkdir()
        self.environment = around = {
            **{name: value for name, value in os.environ.items() if not _of_others(name)},
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": f"{TOP}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_COLOR": "1",
            "TERM": "xterm",
            "COLUMNS": str(_COLUMNS),
        }
        lines = {
            "placement-lint": warm.command("placement_lint", environment=around),
            "python": [sys.executable],
        }
        for name, line in lines.items():
            tool = tools / name
            tool.write_text(f'#!/bin/sh\nexec {shlex.join(line)} "$@"\n', encoding="utf-8")
            tool.chmod(0o755)

    def write(self, title: str, text: str) -> None:
        path = self.folder / title
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run(self, command: str) -> tuple[int, str]:
        """Return a command's exit code, and what it shows."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, _COLUMNS, 0, 0))
        with subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        ) as process:
            os.close(theirs)
            shown = bytearray()
            # Linux says that the other side of a terminal was closed by an error.
            with contextlib.suppress(OSError):
                while data := os.read(ours, 65536):
                    shown += data
            os.close(ours)
        text = shown.decode("utf-8").replace("\r\n", "\n")
        lines = [_seen(line) for line in text.replace(str(self.folder), _FOLDER).split("\n")]
        return process.returncode, "\n".join(lines)


def _seen(line: str) -> str:
    """Return what is left of a line whose beginning was written over."""
    written = ""
    for part in line.split("\r"):
        written = part + written[len(part) :]
    return written.rstrip() if "\r" in line else line


def _of_others(name: str) -> bool:
    return name.startswith(("JAX_", "XLA_", "PYTEST_", "PLACEMENT_LINT")) or name == "FORCE_COLOR"


def commands(block: Block) -> list[tuple[str, str]]:
    first, *rest = re.split(r"^\$ (.+)\n", block.text, flags=re.MULTILINE)
    assert not first, f"{block.name}: begins with no command"
    return list(zip(rest[::2], rest[1::2], strict=True))


def shown(page: Path, terminal: Terminal, installed: Iterable[str]) -> dict[int, str]:
    """Run a page's commands from top to bottom; give what its blocks should show, by line."""
    result = {}
    for block in blocks(page):
        if block.title:
            terminal.write(block.title, block.text)
        needed = block.marks.get("needs")
        if block.language != "console" or "not run" in block.marks:
            continue
        if needed is not None and needed not in installed:
            continue
        text = ""
        for command, _ in commands(block):
            _, output = terminal.run(command)
            text += f"$ {command}\n{output}"
        result[block.line] = text
    return result


def comparable(block: Block, text: str) -> str:
    """Return what is compared of what a block shows."""
    if "numbers vary" in block.marks:
        return re.sub(r"[ ]+", " ", _NUMBER.sub("0", text))
    return text
