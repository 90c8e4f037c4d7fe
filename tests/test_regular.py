"""What is read is a regular file of bounded size, whatever lies under its name."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from placement_lint import regular
from placement_lint.regular import read_given, read_regular
from tests.special_files import endless, fifo, link_to_itself, sparse, unix_socket

if TYPE_CHECKING:
    from collections.abc import Callable

posix = pytest.mark.skipif(os.name != "posix", reason="files as POSIX has them")


@pytest.mark.parametrize("size", [0, 1, 99, 100])
def test_a_file_up_to_the_limit(tmp_path: Path, size: int) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"\r\n\0x"[:1] * size)
    assert read_regular(str(file), 100) == file.read_bytes() == read_given(file, 100)


def test_a_file_beyond_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * (regular.MOST_OF_SETTINGS + 1))
    for read in (read_regular, read_given):
        with pytest.raises(OSError, match="larger than 4 MiB"):
            read(file, regular.MOST_OF_SETTINGS)


@posix
def test_a_sparse_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    sparse(file)
    monkeypatch.setattr(os, "read", lambda *_: pytest.fail("read"))
    with pytest.raises(OSError, match="larger than 16 MiB"):
        read_regular(file, regular.MOST_OF_SOURCE)


def test_a_file_that_grows_as_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size was asked before: no more than the limit is read all the same."""
    file = tmp_path / "file"
    file.write_bytes(b"x" * 10)
    asked: list[int] = []

    def endless(_: int, count: int) -> bytes:
        asked.append(count)
        return b"x" * count

    monkeypatch.setattr(os, "read", endless)
    with pytest.raises(OSError, match="larger than 4 MiB"):
        read_regular(file, regular.MOST_OF_SETTINGS)
    assert sum(asked) == regular.MOST_OF_SETTINGS + 1


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no /proc")
def test_a_file_without_a_size() -> None:
    """Which the system makes up as it is read."""
    assert Path("/proc/self/maps").stat().st_size == 0
    assert b"python" in read_regular("/proc/self/maps", 2**20).lower()
    with pytest.raises(OSError, match="larger than 0 MiB"):
        read_regular("/proc/self/maps", 100)


def _directory(path: Path) -> None:
    path.mkdir()


@posix
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (fifo, "not a regular file: it is a named pipe"),
        (endless, "not a regular file: it is a device"),
        (unix_socket, "not a regular file"),
        (link_to_itself, "Too many levels of symbolic links"),
        (_directory, "Is a directory"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_no_regular_file(
    tmp_path: Path, make: Callable[[Path], None], message: str
) -> None:
    path = tmp_path / "file"
    make(path)
    before = len([*Path("/proc/self/fd").iterdir()]) if Path("/proc/self/fd").exists() else 0
    with pytest.raises(OSError, match=message) as caught:
        read_regular(path, 100)
    assert message in (caught.value.strerror or "")
    if before:
        assert len([*Path("/proc/self/fd").iterdir()]) == before


@pytest.mark.parametrize("path", ["a\0b", "\ud800" if os.name == "posix" else "\0"])
def test_what_is_no_path(path: str) -> None:
    for read in (read_regular, read_given):
        with pytest.raises(OSError, match="not a path") as caught:
            read(path, 100)
        assert caught.value.errno == errno.EINVAL


@posix
def test_who_names_a_pipe_is_given_what_is_in_it() -> None:
    reading, writing = os.pipe()
    try:
        os.write(writing, b"select = []\n")
        os.close(writing)
        assert read_given(f"/dev/fd/{reading}", 100) == b"select = []\n"
    finally:
        os.close(reading)
    with pytest.raises(OSError, match="larger than 0 MiB"):
        read_given("/dev/zero", 100)
