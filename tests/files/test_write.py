"""A file is replaced whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from placement_lint.files import write
from placement_lint.files.write import (
    FileChangedError,
    Replacement,
    WriteError,
    replace_file,
    replace_files,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    with pytest.raises(FileChangedError, match=r"\Achanged since it was read\Z"):
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


@pytest.mark.parametrize(
    ("denied", "reason"),
    [("code.py", "no permission to write$"), ("", "no permission to write in its directory$")],
)
def test_what_the_system_does_not_permit(
    file: Path, denied: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By access lists, or to another user than the superuser, whom the modes tell all."""
    real = os.access
    refused = file.parent / denied if denied else file.parent

    def access(path: Path, mode: int) -> bool:
        return Path(path) != refused and real(path, mode)

    monkeypatch.setattr(os, "access", access)
    with pytest.raises(WriteError, match=reason):
        replace_file(str(file), b"before", b"after")
    assert_left_alone(file)


def test_in_another_thread(file: Path) -> None:
    """Where no signal can be made to wait."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(replace_file, str(file), b"before", b"after").result()
    assert_left_alone(file, b"after")


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


@posix
def test_the_group_is_kept_where_the_owner_cannot_be(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[Path, int, int]] = []

    def give(path: Path, user: int, group: int) -> None:
        assert path.exists()
        if user != -1:
            raise PermissionError(1, "Operation not permitted")
        given.append((path, user, group))

    own = file.stat()
    monkeypatch.setattr(os, "chown", give)
    write._keep_owner(file, os.stat_result((*own[:4], own.st_uid, own.st_gid + 1, *own[6:])))
    assert given == [(file, -1, own.st_gid + 1)]
    given.clear()
    write._keep_owner(file, own)
    assert given == []


def test_what_is_left_by_a_process_that_dies_is_hidden_and_says_whose_it_is(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    real = Path.replace

    def replace(path: Path, target: Path) -> Path:
        names.append(path.name)
        return real(path, target)

    monkeypatch.setattr(Path, "replace", replace)
    replace_file(str(file), b"before", b"after")
    (name,) = names
    assert re.fullmatch(r"\.placement-lint-[0-9a-f]{8}-\d+-[0-9a-f]{16}\.tmp", name)


@pytest.mark.parametrize("stem", ["x" * 240, "数" * 80], ids=["ascii", "wide"])
def test_long_name(tmp_path: Path, stem: str) -> None:
    file = tmp_path / f"{stem}.py"
    file.write_bytes(b"before")
    replace_file(str(file), b"before", b"after")
    assert_left_alone(file, b"after")


def test_file_that_has_the_bytes_already_is_done(file: Path) -> None:
    replace_file(str(file), b"something else", b"before")
    assert_left_alone(file)


@posix
def test_file_with_other_names_is_not_written(file: Path) -> None:
    other = file.with_name("other.py")
    other.hardlink_to(file)
    with pytest.raises(
        WriteError, match=r"\Ait has other names \(hard links\), which would keep the old text\Z"
    ):
        replace_file(str(file), b"before", b"after")
    assert {path.name: path.read_bytes() for path in file.parent.iterdir()} == {
        "code.py": b"before",
        "other.py": b"before",
    }
    assert file.samefile(other)


@posix
def test_file_in_a_read_only_folder_is_not_written(file: Path) -> None:
    file.parent.chmod(0o555)
    try:
        with pytest.raises(WriteError, match="directory is read-only"):
            replace_file(str(file), b"before", b"after")
        assert_left_alone(file)
    finally:
        file.parent.chmod(0o755)


def test_extended_attributes_are_kept(file: Path) -> None:
    if not hasattr(os, "setxattr"):
        pytest.skip("no extended attributes on this system")
    try:
        os.setxattr(file, "user.owner", b"me")
    except OSError as error:
        pytest.skip(f"no extended attributes here: {error}")
    replace_file(str(file), b"before", b"after")
    assert os.getxattr(file, "user.owner") == b"me"


# -- several files ------------------------------------------------------------------------------


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    """Files in folders of their own."""
    paths = [tmp_path / name / "code.py" for name in "abc"]
    for path in paths:
        path.parent.mkdir()
        path.write_bytes(b"before")
    return paths


def replacements(paths: list[Path]) -> list[Replacement]:
    return [Replacement(str(path), b"before", b"after") for path in paths]


def test_all_are_replaced(three: list[Path]) -> None:
    replace_files(replacements(three))
    for path in three:
        assert_left_alone(path, b"after")


@posix
def test_each_gets_its_own_text(three: list[Path]) -> None:
    replace_files(Replacement(str(path), b"before", path.parent.name.encode()) for path in three)
    assert [path.read_bytes() for path in three] == [b"a", b"b", b"c"]


def test_one_that_cannot_be_written_keeps_the_others_as_they_are(three: list[Path]) -> None:
    three[2].chmod(0o444)
    with pytest.raises(WriteError, match="read-only") as caught:
        replace_files(replacements(three))
    assert caught.value.path == str(three[2])
    for path in three:
        assert_left_alone(path)


def test_one_that_changed_keeps_the_others_as_they_are(three: list[Path]) -> None:
    three[1].write_bytes(b"someone else's")
    with pytest.raises(FileChangedError) as caught:
        replace_files(replacements(three))
    assert caught.value.path == str(three[1])
    assert_left_alone(three[0])
    assert_left_alone(three[1], b"someone else's")


def failing_replace(monkeypatch: pytest.MonkeyPatch, *fails_at: int) -> None:
    """Have some of the calls of `Path.replace` fail, counted from 1."""
    calls = iter(range(1, 100))
    real = Path.replace

    def replace(path: Path, target: Path) -> Path:
        if next(calls) in fails_at:
            raise PermissionError(1, "Operation not permitted")
        return real(path, target)

    monkeypatch.setattr(Path, "replace", replace)


@posix
def test_those_written_before_one_that_fails_are_put_back(
    three: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    three[0].chmod(0o750)
    failing_replace(monkeypatch, 3)
    with pytest.raises(WriteError, match="not permitted") as caught:
        replace_files(replacements(three))
    assert caught.value.path == str(three[2])
    for path in three:
        assert_left_alone(path)
    assert stat.S_IMODE(three[0].stat().st_mode) == 0o750


def test_one_that_cannot_be_put_back_is_named(
    three: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_replace(monkeypatch, 2, 3)
    with pytest.raises(WriteError, match="already written, cannot be put back") as caught:
        replace_files(replacements(three))
    assert caught.value.path == str(three[0])
    assert_left_alone(three[0], b"after")
    assert_left_alone(three[1])


@posix
def test_names_of_one_file(three: list[Path]) -> None:
    link = three[1].with_name("link.py")
    link.symlink_to(three[0])
    replace_files(replacements([three[0], link]))
    assert three[0].read_bytes() == b"after"
    assert link.is_symlink()
    other = [Replacement(str(three[0]), b"after", b"1"), Replacement(str(link), b"after", b"2")]
    with pytest.raises(WriteError, match="same file as"):
        replace_files(other)
    assert_left_alone(three[0], b"after")


# -- what ends a process ------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_wait_until_all_files_are_written(
    three: list[Path], sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = getattr(signal, sent)
    seen: list[list[bytes]] = []
    sync = os.fsync

    def interrupted(descriptor: int) -> None:
        os.kill(os.getpid(), number)
        sync(descriptor)

    def note(*_: object) -> None:
        seen.append([path.read_bytes() for path in three])

    before = signal.signal(number, note)
    try:
        monkeypatch.setattr(os, "fsync", interrupted)
        replace_files(replacements(three))
    finally:
        signal.signal(number, before)
    assert seen == [[b"after"] * 3]
    for path in three:
        assert_left_alone(path, b"after")


_LIMITED = """
import resource, signal, sys
from placement_lint.files.write import WriteError, replace_file

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    replace_file(sys.argv[1], b"before", b"x" * 2000)
except WriteError as error:
    print(error)
"""


@posix
def test_file_that_grows_over_the_limit_of_the_system_is_not_written(file: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(file)], capture_output=True, text=True, check=True
    )
    assert run.stdout == "File too large\n"
    assert_left_alone(file)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Make a file system of 64 kB."""
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None or os.geteuid() != 0:
        pytest.skip("a file system of its own needs mount and root")
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip(f"no file system may be mounted here: {made.stderr.strip()}")
    yield folder
    subprocess.run([umount, str(folder)], check=True)


@posix
def test_full_disk(small_disk: Path) -> None:
    paths = [small_disk / f"{name}.py" for name in "abc"]
    before = b"before" * 2_000
    for path in paths:
        path.write_bytes(before)
    wanted = [Replacement(str(path), before, b"after" + before) for path in paths]
    with pytest.raises(WriteError, match="No space left"):
        replace_files(wanted)
    assert {path.name: path.read_bytes() for path in small_disk.iterdir()} == dict.fromkeys(
        ["a.py", "b.py", "c.py"], before
    )
