"""A process that has imported JAX, and forks for each task of `placement_lint.verify.child`.

Run as a program: `python -m tests.verify.warm_server`. Each line of its standard input is a request
(see `WarmRunner`), each line of its output says how the fork ended: its exit status, the negative
number of the signal that ended it, or null where time ran out.

What the fork does is what a process of its own does, from the first statement of `child.main` on:
the stage imports JAX before the proof is loaded, so that JAX is there already, without a backend,
is no difference. It has a session, a folder, a standard input and output of its own.
"""

import contextlib
import gc
import json
import os
import signal
import sys
import time
import warnings
from typing import Any, NoReturn

# Imports JAX, which is what this is for.
import placement_lint.verify.stage  # noqa: F401
from placement_lint.verify import child

_TICK = 0.01


def become(request: dict[str, Any], lifeline: int, printed: int) -> int:
    """Do the task in this fork, as a process that was started for it would."""
    os.setsid()
    os.chdir(request["folder"])
    os.dup2(lifeline, 0)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    sys.stdin = os.fdopen(0, closefd=False)
    # `python -m` puts the folder that it is started in there.
    sys.path[0] = request["folder"]
    return child.main([json.dumps(request["task"]), request["answer"]])


def ended(pid: int, seconds: float) -> int | None:
    """Wait for a fork, and end what it left running; None when time ran out first."""
    deadline = time.monotonic() + seconds
    how = os.WEXITED | os.WNOHANG | os.WNOWAIT
    in_time = True
    while os.waitid(os.P_PID, pid, how) is None:
        if time.monotonic() > deadline:
            in_time = False
            break
        time.sleep(_TICK)
    # One that has not got so far has no group of its own.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) if in_time else None


def end(code: int) -> NoReturn:
    """End this fork with its answer written, without tidying up all that was imported."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main() -> int:
    """Serve requests until there are no more; in a fork, end with its exit code."""
    # What was imported stays for good: a fork need not look through it, and so copy it.
    gc.collect()
    gc.freeze()
    for line in iter(sys.stdin.readline, ""):
        request = json.loads(line)
        printed = os.open(request["printed"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        # Held open as long as we live: with it the fork ends, see `placement_lint.verify.lifeline`.
        reading, writing = os.pipe()
        with warnings.catch_warnings():
            # JAX warns of every fork once it is imported; no backend has started a thread yet.
            warnings.simplefilter("ignore")
            pid = os.fork()
        if pid == 0:
            os.close(writing)
            end(become(request, reading, printed))
        os.close(reading)
        os.close(printed)
        status = ended(pid, request["limit"])
        os.close(writing)
        print(json.dumps(status), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
