"""The tests run as well where signals are ignored: under `nohup`, and behind an `&`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_where_signals_are_ignored_from_the_beginning() -> None:
    tests = ["tests/cli/test_main.py::test_interrupted_for_real"]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    shell = 'trap "" INT HUP QUIT; exec "$@"'
    done = subprocess.run(
        ["/bin/sh", "-c", shell, "sh", *command],
        cwd=TOP,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode()
