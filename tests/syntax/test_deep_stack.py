"""Deep recursion, exceptions and settings of `run_deep`."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest

from placement_lint.syntax.deep_stack import RECURSION_LIMIT, run_deep


def descend(depth: int) -> int:
    return 0 if depth == 0 else 1 + descend(depth - 1)


def test_gives_the_result_of_positional_and_keyword_arguments() -> None:
    def join(first: str, *, second: str) -> str:
        return first + second

    assert run_deep(join, "a", second="b") == "ab"


def test_recursion_far_beyond_the_usual_limit() -> None:
    assert run_deep(descend, 100_000) == 100_000


def test_endless_recursion_is_a_recursion_error_and_no_crash() -> None:
    with pytest.raises(RecursionError):
        run_deep(descend, 10 * RECURSION_LIMIT)


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(3)])
def test_raises_the_same_exception(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        run_deep(fail)
    assert caught.value is error
    assert "fail" in [entry.name for entry in caught.traceback]


def test_settings_are_those_of_before_also_after_a_failure() -> None:
    before = sys.getrecursionlimit(), threading.stack_size()
    run_deep(len, "")
    with pytest.raises(ZeroDivisionError):
        run_deep(divmod, 1, 0)
    assert (sys.getrecursionlimit(), threading.stack_size()) == before


def test_the_limit_stays_raised_until_the_last_of_several_calls_ends() -> None:
    before = sys.getrecursionlimit()
    release = threading.Event()
    started = threading.Event()
    seen: list[int] = []

    def wait() -> None:
        started.set()
        release.wait(30)
        seen.append(sys.getrecursionlimit())

    waiting = threading.Thread(target=run_deep, args=(wait,))
    waiting.start()
    assert started.wait(30)
    run_deep(len, "")
    release.set()
    waiting.join()
    assert seen == [max(RECURSION_LIMIT, before)]
    assert sys.getrecursionlimit() == before


def test_a_call_inside_a_call_stays_in_its_thread() -> None:
    def inner() -> int:
        return threading.get_ident()

    def outer() -> tuple[int, int]:
        return threading.get_ident(), run_deep(inner)

    first, second = run_deep(outer)
    assert first == second != threading.get_ident()


def test_leaves_no_thread_behind() -> None:
    before = threading.active_count()
    for _ in range(50):
        run_deep(len, "")
    assert threading.active_count() == before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_an_interrupt_reaches_the_main_thread_at_once() -> None:
    program = (
        "import time\n"
        "from placement_lint.syntax.deep_stack import run_deep\n"
        "def wait():\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(120)\n"
        "try:\n"
        "    run_deep(wait)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        begin = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
        assert child.wait(30) == 0
        assert time.monotonic() - begin < 30


NARROW = """
import resource, sys
from placement_lint.syntax.deep_stack import run_deep, stack_share
from placement_lint.syntax.parser_guard import too_deep

def descend(depth):
    return 0 if depth == 0 else 1 + descend(depth - 1)

share = stack_share()
depth = int(400_000 * share)
assert run_deep(descend, depth) == depth
try:
    run_deep(descend, 10 * 500_000)
except RecursionError:
    print(share, too_deep("x = " + " and ".join("a" * 11_000) + "\\n") is None)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
@pytest.mark.parametrize(
    ("megabytes", "expected"), [(400, "0.125 False"), (1200, "0.5 False"), (None, "1.0 True")]
)
def test_a_smaller_stack_where_memory_is_short(megabytes: int | None, expected: str) -> None:
    """And what is parsed there is then nested less."""
    limit = "" if megabytes is None else f"ulimit -v {megabytes * 1024}; "
    done = subprocess.run(
        ["bash", "-c", f'{limit}exec "$0" -c "$1"', sys.executable, NARROW],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout.strip() == expected, done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts the faults of a thread")
def test_no_depth_of_calls_takes_memory_from_the_system_again_and_again() -> None:
    import resource

    def most_faults(depth: int) -> int:
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
        for _ in range(500):
            descend(1)
        faults = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before
        return max(faults, most_faults(depth - 1) if depth else 0)

    assert run_deep(most_faults, 300) < 250
