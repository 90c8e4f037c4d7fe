"""The key by which a user's runs know their own records: nobody else can have written them.

A repository can bring along whatever lies in its folders, a cache too. That a folder is the one in
which a record was written cannot be told from outside: numbers of inodes are given again. So what
is written where nobody asked for it is signed with a random key that lies in the user's own cache
folder, outside of all projects.
"""

from __future__ import annotations

import os
import stat
import sys

from placement_lint.regular import open_regular

_SIZE = 32
_NAME = "key"


class KeyProblemError(Exception):
    """There is no key to be had; the message says why."""


def key_for(project: str) -> bytes:
    """Return the user's key, which is made where there is none.

    Raises KeyProblemError; also where it would lie in the project, which could bring it along.
    """
    folder = _folder()
    if _is_inside(folder, project):
        message = f"{folder} is inside of the project"
        raise KeyProblemError(message)
    path = os.path.join(folder, _NAME)
    try:
        found = _read(path)
        return _made(folder, path) if found is None else found
    except OSError as error:
        message = f"{path}: {error.strerror or error}"
        raise KeyProblemError(message) from error


def _folder() -> str:
    given = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(given):
        home = os.path.expanduser("~")
        given = os.path.join(home, ".cache")
        if sys.platform == "win32":
            given = os.environ.get("LOCALAPPDATA") or home
        elif sys.platform == "darwin":
            given = os.path.join(home, "Library", "Caches")
        if not os.path.isabs(given):
            raise KeyProblemError("this user has no home directory")
    return os.path.join(given, "placement-lint")


def _is_inside(folder: str, project: str) -> bool:
    try:
        real, above = os.path.realpath(folder), os.path.realpath(project)
        return os.path.commonpath([real, above]) == above
    except ValueError:  # on another drive
        return False


def _read(path: str) -> bytes | None:
    """Read the key; None where there is none. Raises OSError, also for one that is not private."""
    try:
        descriptor = open_regular(path, getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(descriptor)
        key = os.read(descriptor, _SIZE + 1)
    finally:
        os.close(descriptor)
    is_own = os.name != "posix" or (
        status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o077
    )
    if len(key) != _SIZE or not is_own:
        raise OSError("not a key of this user: delete it")
    return key


def _made(folder: str, path: str) -> bytes:
    from placement_lint.files.temporary import create

    os.makedirs(folder, mode=0o700, exist_ok=True)
    key = os.urandom(_SIZE)
    descriptor, temporary = create(folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(key)
        # Of two runs that begin together, one makes it.
        os.link(temporary, path)
    except FileExistsError:
        found = _read(path)
        return key if found is None else found
    finally:
        os.unlink(temporary)
    return key
