"""Work in processes, some of which die."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from placement_lint.lint import pool
from placement_lint.lint.pool import Died, map_isolated

DEADLY = 13


def square_or_die(number: int) -> int:
    """Square a number; one of them kills the process, as a fault in the parser would."""
    if number == DEADLY:
        os.abort()
    return number * number


def refuse(number: int) -> int:
    message = f"no {number}"
    raise ValueError(message)


def process_id(_: int) -> int:
    return os.getpid()


def stumble(folder: str) -> str:
    """Die the first time that a folder is given, and never again."""
    seen = Path(folder, "seen")
    if not seen.exists():
        seen.touch()
        os.abort()
    return folder


def test_results_are_in_order() -> None:
    assert map_isolated(square_or_die, range(9), 3) == [n * n for n in range(9)]


def test_work_is_done_in_other_processes() -> None:
    assert os.getpid() not in map_isolated(process_id, range(3), 2)


def test_one_job_and_one_thing_stay_in_this_process() -> None:
    assert map_isolated(process_id, [1, 2], 1) == [os.getpid()] * 2
    assert map_isolated(process_id, [1], 8) == [os.getpid()]
    assert map_isolated(process_id, [], 8) == []


def test_only_the_thing_that_kills_is_lost() -> None:
    results = map_isolated(square_or_die, [*range(20), DEADLY], 2)
    died = [index for index, result in enumerate(results) if isinstance(result, Died)]
    assert died == [DEADLY, 20]
    assert [r for r in results if not isinstance(r, Died)] == [
        n * n for n in range(20) if n != DEADLY
    ]


def test_a_thing_that_kills_once_gets_its_second_chance(tmp_path: Path) -> None:
    folders = [str(tmp_path), str(tmp_path)]
    assert map_isolated(stumble, folders, 2) == folders


def test_what_the_work_raises_is_raised() -> None:
    with pytest.raises(ValueError, match="no"):
        map_isolated(refuse, range(3), 2)
    # The executor's thread may have asked for the end of a process, and not noted it yet.
    deadline = time.monotonic() + 5
    while multiprocessing.active_children() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert multiprocessing.active_children() == []


def test_where_there_are_no_processes_all_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(pool, "ProcessPoolExecutor", refused)
    assert map_isolated(process_id, range(3), 2) == [os.getpid()] * 3


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to a process group")
def test_interrupt_ends_everything_at_once(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
            import os, sys, time
            from pathlib import Path
            from placement_lint.lint.pool import map_isolated

            def sleep(name):
                Path(name).write_text(str(os.getpid()))
                time.sleep(600)

            if __name__ == "__main__":
                try:
                    map_isolated(sleep, sys.argv[1:], 2)
                except KeyboardInterrupt:
                    sys.exit(130)
        """)
    )
    names = [tmp_path / "one", tmp_path / "two"]
    environment = {**os.environ, "PYTHONPATH": str(Path(pool.__file__).parents[2])}
    process = subprocess.Popen(
        [sys.executable, str(program), *map(str, names)],
        env=environment,
        start_new_session=True,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while not all(name.exists() and name.read_text() for name in names):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"Traceback" not in errors
    for name in names:
        worker = int(name.read_text())
        while Path(f"/proc/{worker}").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
