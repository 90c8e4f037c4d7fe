"""What may lie under the name of a file, and is none that can be read: made where POSIX has it."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def fifo(path: Path) -> None:
    """Make a named pipe, which nobody writes to."""
    os.mkfifo(path)


def endless(path: Path) -> None:
    """Make a link to a device that can be read for ever."""
    path.symlink_to("/dev/zero")


def waiting(path: Path) -> None:
    """Make a link to a device that has nothing to read."""
    path.symlink_to("/dev/ptmx")


def unix_socket(path: Path) -> None:
    """Make the name of a socket."""
    # It would be too long for one, but for the relative path.
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)


def sparse(path: Path) -> None:
    """Make a file of a terabyte that takes no place."""
    path.touch()
    os.truncate(path, 2**40)


def link_to_itself(path: Path) -> None:
    """Make a link that leads nowhere."""
    path.symlink_to(path.name)
