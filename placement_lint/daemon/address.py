"""Where the background process of a user listens: a socket that only this user can reach."""

from __future__ import annotations

import os
import stat
import sys

from placement_lint.version import __version__

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST = 100
"""Bytes of the path of a socket that every system takes (Linux 107, macOS 103)."""


class NoAddressError(Exception):
    """There is no place for a socket that only this user can reach; the message says why."""


def is_supported() -> bool:
    """Return whether this system has what a background process needs: `fork` and file passing."""
    # As mypy knows the platform, so that it reads what follows on each of them.
    return sys.platform != "win32" and hasattr(os, "fork")


def socket_path(environment: Mapping[str, str]) -> str:
    """Return the path of the socket of the user, for this version on this Python.

    Its directory is made. Raises NoAddressError where it belongs to somebody else, can be entered
    by others, or has too long a name.
    """
    folder = _folder(environment)
    code, names = os.path.dirname(__file__), sys.getfilesystemencoding()
    path = os.path.join(folder, f"{_digest(sys.executable, code, names, __version__)}.socket")
    if len(os.fsencode(path)) > _LONGEST:
        message = f"{folder}: the path is too long for a socket"
        raise NoAddressError(message)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        message = f"{folder}: cannot be made: {error.strerror or error}"
        raise NoAddressError(message) from error
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode):
        message = f"{folder}: is no directory"
        raise NoAddressError(message)
    if status.st_uid != _user() or status.st_mode & 0o077:
        message = f"{folder}: other users can write to it or own it"
        raise NoAddressError(message)
    return path


def _folder(environment: Mapping[str, str]) -> str:
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime) and os.path.isdir(runtime):
        return os.path.join(runtime, "placement-lint")
    temporary = environment.get("TMPDIR", "")
    if not (os.path.isabs(temporary) and os.path.isdir(temporary)):
        temporary = "/tmp"  # noqa: S108 - the directory in it is made for this user, and checked
    return os.path.join(temporary, f"placement-lint-{_user()}")


def _user() -> int:
    return os.getuid() if sys.platform != "win32" else 0


def _digest(*parts: str) -> str:
    # Not `hashlib`, which takes longer to import than this takes.
    from zlib import crc32

    data = "\0".join(parts).encode("utf-8", "surrogateescape")
    return f"{crc32(data):08x}{crc32(data[::-1]):08x}"
