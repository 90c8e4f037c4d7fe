"""Temporary files are nobody else's, and do not stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from placement_lint.cli import main
from placement_lint.files.temporary import PREFIX, SUFFIX, create, sweep, write_whole

posix = pytest.mark.skipif(os.name != "posix", reason="processes and links as POSIX has them")

FIXABLE = "import jax\nx = 1\njax.device_put(x)\n"
KILLED = """
import os, signal, sys
from placement_lint.files import write
write.os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
from placement_lint.cli import main
main([*sys.argv[1:], "--fix", "--isolated", "--no-cache", "-j", "1"])
"""


def left_in(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob(f"{PREFIX}*{SUFFIX}")]


def killed(folder: Path) -> None:
    """Have a run over a folder die while it writes."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert left_in(folder)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / "package").mkdir(parents=True)
    (folder / "package" / "module.py").write_text(FIXABLE, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


@posix
@pytest.mark.parametrize("arguments", [["--fix", "--isolated", "."], ["clean"]])
def test_what_a_killed_run_left_is_swept(project: Path, arguments: list[str]) -> None:
    killed(project)
    assert main(arguments) == 0
    assert left_in(project) == []


@posix
@pytest.mark.parametrize("arguments", [["--isolated"], ["--fix", "--diff"], ["--show-files"]])
def test_who_asked_for_no_fix_deletes_nothing(project: Path, arguments: list[str]) -> None:
    killed(project)
    main([*arguments, "."])
    assert len(left_in(project)) == 1


@posix
def test_what_a_living_process_writes_stays(project: Path) -> None:
    """As long as one can be alive at all."""
    code = "import sys; from placement_lint.files.temporary import create; create(sys.argv[1]); "
    code += "print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(project)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert sweep([str(project)]) == 0
        assert len(left_in(project)) == 1
        process.communicate(b"\n")
    old = time.time() - 2 * 3600
    other = f"{PREFIX}00000000-{os.getpid()}-0123456789abcdef{SUFFIX}"
    (project / other).touch()
    assert sweep([str(project)]) == 1
    assert left_in(project) == [other], "another machine's, whose processes nobody knows here"
    os.utime(other, (old, old))
    assert sweep([str(project), "nowhere"]) == 1


def test_what_only_looks_like_one_stays(project: Path) -> None:
    names = [f"{PREFIX}x", f"x{SUFFIX}", f"{PREFIX}{SUFFIX}"]
    for name in names:
        (project / name).touch()
    (project / f"{PREFIX}folder{SUFFIX}").mkdir()
    if os.name == "posix":
        (project / f"{PREFIX}link{SUFFIX}").symlink_to("package/module.py")
    before = sorted(os.listdir(project))  # noqa: PTH208 - names alone
    assert sweep([str(project)]) == 0
    assert sorted(os.listdir(project)) == before  # noqa: PTH208


def test_names_cannot_be_foreseen(tmp_path: Path) -> None:
    made = [create(str(tmp_path)) for _ in range(20)]
    for descriptor, path in made:
        os.close(descriptor)
        assert Path(path).parent == tmp_path
    assert len({path for _, path in made}) == 20


@posix
def test_a_link_in_place_of_the_file_is_replaced_itself(tmp_path: Path) -> None:
    outside, link = tmp_path / "outside", tmp_path / "link"
    outside.write_bytes(b"before")
    link.symlink_to(outside)
    write_whole(str(link), b"after")
    assert outside.read_bytes() == b"before"
    assert not link.is_symlink()
    with pytest.raises(OSError, match="not a regular file"):
        write_whole("/dev/null", b"after")
