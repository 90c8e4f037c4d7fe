"""However verify ends, nothing that it started is left."""

import contextlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from placement_lint.verify.interrupts import stopped_by_signals
from placement_lint.verify.proofs import Proof
from tests.verify.test_runner import is_running

WriteProof = Callable[[str], Proof]

# The hazard hangs, and so does a process that it started itself.
HANGS = '''"""Hangs."""
import os, subprocess, sys, time
STAGE = "none"
def hazard(accelerator, host):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
    with open({folder!r} + f"/{{os.getpid()}}-{{child.pid}}.part", "w") as file:
        pass
    os.rename(file.name, file.name.replace(".part", ".pids"))
    time.sleep(100)
def fixed(accelerator, host): ...
def observe(run): run()
'''
# The command, but for the search for JAX and for the proofs.
MAIN = """
import sys
from pathlib import Path
from placement_lint.cli import main
from placement_lint.verify import command
from placement_lint.verify.runner import Environment
command.proof_folder = lambda: Path(sys.argv[1])
command.probe = lambda runner: Environment("3", "1", "1", "1", "cpu", ("cpu:0",))
sys.exit(main(["verify", "JDP999", "--devices", "virtual"]))
"""


@pytest.mark.parametrize(
    ("how", "status"),
    [
        (signal.SIGTERM, 128 + signal.SIGTERM),
        (signal.SIGINT, 130),
        (signal.SIGHUP, 128 + signal.SIGHUP),
        # Nobody can catch this one; the subprocesses see their lifeline cut.
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_a_run_that_is_ended_leaves_no_process(
    write_proof: WriteProof, tmp_path: Path, how: signal.Signals, status: int
) -> None:
    proof = write_proof(HANGS.format(folder=str(tmp_path)))
    command = [sys.executable, "-c", MAIN, str(proof.path.parent.parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        started = time.monotonic()
        while not (begun := list(tmp_path.glob("*.pids"))):
            assert time.monotonic() - started < 30
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(how)
        printed, _ = process.communicate(timeout=30)
    assert process.returncode == status
    assert b"Traceback" not in printed
    left = [int(pid) for pid in begun[0].stem.split("-")]
    assert len(left) == 2
    assert not any(map(is_running, left))


def test_the_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stopped_by_signals():
        assert signal.getsignal(signal.SIGTERM) is not before
        with pytest.raises(SystemExit) as stop:
            signal.raise_signal(signal.SIGTERM)
        assert stop.value.code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopped_by_signals():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_thread_sets_no_handlers() -> None:
    seen: list[bool] = []

    def look() -> None:
        before = signal.getsignal(signal.SIGTERM)
        with contextlib.ExitStack() as stack:
            stack.enter_context(stopped_by_signals())
            seen.append(signal.getsignal(signal.SIGTERM) is before)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [True]
