"""Which tool has written a cache: the code of this package and of LibCST, and which Python."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

from placement_lint.files.stamps import blake2b
from placement_lint.regular import MOST_OF_RECORDS, read_regular
from placement_lint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def tool_identity() -> list[Any]:
    """Return what findings depend on beside the files: this tool, LibCST, Python."""
    ours = package_folder()
    codes = [
        code_of(ours, _modules(ours)),
        *(code_of(os.path.dirname(at), [at]) for at in _libcst()),
    ]
    return [__version__, *codes, sys.implementation.cache_tag, [*sys.version_info[:3]]]


def tool_files() -> list[str]:
    """Return the files by which it is known that the code of these is what it was."""
    return [*_modules(package_folder()), *_libcst()]


def _libcst() -> list[str]:
    import importlib.util

    libcst = importlib.util.find_spec("libcst")
    return [] if libcst is None or libcst.origin is None else [libcst.origin]


def package_folder() -> str:
    """Return the directory of this package."""
    return os.path.dirname(os.path.abspath(sys.modules[__name__.partition(".")[0]].__file__ or ""))


def code_of(folder: str, modules: Iterable[str]) -> str:
    """Return what stands for the code of a package.

    That is what its installer noted of it, which is the same for each installation of one version;
    where it noted nothing, or one of these modules was changed since, when each of them was.
    """
    stamps = sorted(_stamped(path) for path in modules)
    record = _record_of(folder)
    identity = repr(stamps).encode()
    if record is not None and all(changed <= record[1] for _, _, changed in stamps):
        identity = record[0]
    return blake2b(identity, digest_size=8).hexdigest()


def _stamped(path: str) -> tuple[str, int, int]:
    status = os.stat(path)
    return path, status.st_size, status.st_mtime_ns


def _record_of(folder: str) -> tuple[bytes, int] | None:
    """Return the digests that the installer of a package noted of its files, and when it did."""
    place, name = os.path.split(folder)
    start = os.fsencode(f"{name}/")
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            if not (entry.name.startswith(f"{name}-") and entry.name.endswith(".dist-info")):
                continue
            path = os.path.join(entry.path, "RECORD")
            lines = read_regular(path, MOST_OF_RECORDS).splitlines()
            # Others are about what the installer has made, and where.
            own = [line for line in lines if line.startswith(start) and b"sha256=" in line]
            if own:
                return b"\n".join(sorted(own)), os.stat(path).st_mtime_ns
    return None


def _modules(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _modules(entry.path) if entry.name != "__pycache__" else ()
            elif entry.name.endswith((".py", ".json", ".txt")):
                yield entry.path
