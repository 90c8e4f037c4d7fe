"""A run that is killed while it writes leaves every file whole: as it was, or as it is to be."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")

TIMES = 50
FILES = 500
SECONDS = 600
"""After which a run that has written nothing is a failure."""

LONGEST = 3.0
"""Seconds to let a run write, where the disk is so slow that writing all takes longer."""


class Tree:
    """Files that are to be fixed, and what comes of each."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder = folder
        self.texts: dict[Path, tuple[bytes, bytes]] = {}
        folder.mkdir()
        for number in range(count):
            filler = f"# {number} é\r\n".encode() * (number % 7 * 200)
            put = b"jax.device_put(x)\n"
            text = b"import jax\nx = 1\n%b" + filler
            self.texts[folder / f"f{number:03}.py"] = (text % put, text % (b"x = " + put))
        self.restore()

    def restore(self) -> None:
        for path, (before, _) in self.texts.items():
            path.write_bytes(before)

    def fixed(self) -> int:
        """Give how many files are fixed; fail where one is neither that nor as it was."""
        count = 0
        for path, whole in self.texts.items():
            text = path.read_bytes()
            assert text in whole, path.name
            count += text == whole[1]
        return count

    def remains(self) -> list[Path]:
        """Give what else lies in the folder."""
        return [path for path in self.folder.iterdir() if path not in self.texts]

    def has_begun(self) -> bool:
        """Tell whether the first file, in the order of writing, is fixed."""
        path, (before, _) = next(iter(self.texts.items()))
        return path.read_bytes() != before

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "placement_lint", str(self.folder), "--fix", "--isolated"]
        return subprocess.Popen(
            [*command, "--select", "JDP204", "-j", "2"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def interrupt(self, number: int, delay: float) -> int:
        """Send a signal some time after the first file was written; give the exit code."""
        with self.start() as process:
            end = time.monotonic() + SECONDS
            while not self.has_begun() and process.poll() is None:
                assert time.monotonic() < end
                time.sleep(0.002)
            time.sleep(delay)
            process.send_signal(number)
            return process.wait(timeout=SECONDS)


def kill(tree: Tree, times: int) -> int:
    """Kill runs at random moments of their writing; give how many had written a part by then."""
    dice = random.Random("kill")  # noqa: S311 - moments to be killed at
    longest, midway = 0.4, 0
    for _ in range(times):
        tree.restore()
        delay = dice.uniform(0, longest)
        tree.interrupt(signal.SIGKILL, delay)
        fixed, every = tree.fixed(), len(tree.texts)
        remains = tree.remains()
        assert len(remains) <= 1, "more than the file that was being written"
        for path in remains:
            assert path.name.startswith(".placement-lint-"), path.name
            path.unlink()
        if 0 < fixed < every:
            midway += 1
            longest = min((longest + delay * every / fixed) / 2, LONGEST)
        else:
            longest = min(longest * (0.6 if fixed else 1.5), LONGEST)
        print(f"{fixed} of {every} fixed after {delay:.3f} s, {len(remains)} left beside them")
    return midway


def test_killed_while_it_writes(tmp_path: Path) -> None:
    kill(Tree(tmp_path / "tree", 60), 2)


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
def test_killed_at_fifty_moments(tmp_path: Path) -> None:
    midway = kill(Tree(tmp_path / "tree", FILES), TIMES)
    assert midway > TIMES / 2, "the runs were over before they were killed"


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_asked_to_end_midway(name: str, tmp_path: Path) -> None:
    tree = Tree(tmp_path / "tree", 60)
    code = tree.interrupt(getattr(signal, name), 0.01)
    tree.fixed()
    assert tree.remains() == []
    assert code in {0, 130, -getattr(signal, name)}


@pytest.mark.every
def test_a_second_run_goes_on_where_a_killed_one_stopped(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "tree", 60)
    tree.interrupt(signal.SIGKILL, 0.0)
    with tree.start() as process:
        assert process.wait(timeout=SECONDS) == 0
    assert tree.fixed() == len(tree.texts)
