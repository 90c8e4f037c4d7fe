"""A file is replaced whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from placement_lint.files.write import FileChangedError, WriteError, replace_file

posix = pytest.mark.skipif(os.name != "posix", reason="modes and links as POSIX has them")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "code.py"
    path.write_bytes(b"before")
    return path


def assert_left_alone(file: Path, content: bytes = b"before") -> None:
    assert file.read_bytes() == content
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_replaces_the_bytes_and_leaves_nothing_behind(file: Path) -> None:
    replace_file(str(file), b"before", b"after\r\n\xff")
    assert_left_alone(file, b"after\r\n\xff")


@posix
@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600, 0o664, 0o200])
def test_mode_is_kept(file: Path, mode: int) -> None:
    file.chmod(mode)
    if mode == 0o200 and os.geteuid() != 0:
        with pytest.raises(WriteError):
            replace_file(str(file), b"before", b"after")
        return
    replace_file(str(file), b"before", b"after")
    assert stat.S_IMODE(file.stat().st_mode) == mode


@posix
def test_link_stays_and_its_target_is_replaced(file: Path) -> None:
    folder = file.parent / "folder"
    folder.mkdir()
    target = folder / "target.py"
    file.rename(target)
    middle = folder / "middle.py"
    middle.symlink_to("target.py")
    file.symlink_to(middle)
    replace_file(str(file), b"before", b"after")
    assert file.is_symlink()
    assert middle.is_symlink()
    assert not target.is_symlink()
    assert target.read_bytes() == b"after"


def test_relative_path(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    replace_file("code.py", b"before", b"after")
    assert_left_alone(file, b"after")


def test_file_that_changed_is_not_written(file: Path) -> None:
    with pytest.raises(FileChangedError, match="changed since it was read"):
        replace_file(str(file), b"something else", b"after")
    assert_left_alone(file)


@posix
def test_read_only_file_is_not_written(file: Path) -> None:
    file.chmod(0o444)
    with pytest.raises(WriteError, match="read-only"):
        replace_file(str(file), b"before", b"after")
    assert_left_alone(file)


def test_file_that_is_gone(file: Path) -> None:
    file.unlink()
    with pytest.raises(WriteError, match="No such file"):
        replace_file(str(file), b"before", b"after")
    assert [*file.parent.iterdir()] == []


def test_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="not a regular file"):
        replace_file(str(tmp_path), b"before", b"after")


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
def test_failure_on_the_way_leaves_the_original(
    file: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    owner = os if step == "fsync" else Path
    monkeypatch.setattr(owner, step, fail)
    with pytest.raises(WriteError, match="No space left"):
        replace_file(str(file), b"before", b"after")
    monkeypatch.undo()
    assert_left_alone(file)


def test_interrupt_on_the_way_leaves_the_original(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        replace_file(str(file), b"before", b"after")
    monkeypatch.undo()
    assert_left_alone(file)


@posix
def test_owner_is_kept_as_far_as_the_system_lets_us(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []

    def refuse(_: Path, user: int, group: int) -> None:
        asked.append((user, group))
        raise PermissionError(1, "Operation not permitted")

    real = Path.stat

    def of_another(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        status = real(path, follow_symlinks=follow_symlinks)
        if path.name != "code.py":
            return status
        return os.stat_result((*status[:4], 4711, 4712, *status[6:]))

    monkeypatch.setattr(os, "chown", refuse)
    monkeypatch.setattr(Path, "stat", of_another)
    replace_file(str(file), b"before", b"after")
    monkeypatch.undo()
    assert asked == [(4711, 4712), (-1, 4712)]
    assert_left_alone(file, b"after")


def test_long_name(tmp_path: Path) -> None:
    file = tmp_path / f"{'x' * 240}.py"
    file.write_bytes(b"before")
    replace_file(str(file), b"before", b"after")
    assert_left_alone(file, b"after")
