"""Deep recursion, exceptions and settings of `run_deep`."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time

import pytest

from placement_lint.syntax.deep_stack import (
    RECURSION_LIMIT,
    TimeUpError,
    run_deep,
    run_within,
)


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


def work(seconds: float) -> str:
    """Use the processor for so long."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return "done"


def test_what_ends_in_time() -> None:
    assert run_within(30, work, 0.01) == "done"


@pytest.mark.parametrize("seconds", [0, 0.05])
def test_only_work_takes_time(seconds: float) -> None:
    """A process may wait, for a slow disk or for other processes."""
    run_within(seconds, time.sleep, 0.2)


def test_what_takes_too_long() -> None:
    before = sys.getrecursionlimit()
    started = time.process_time()
    with pytest.raises(TimeUpError):
        run_within(0.05, work, 30)
    assert time.process_time() - started < 5
    assert sys.getrecursionlimit() == before


def test_part_of_the_work_may_be_given_up() -> None:
    stopped: list[int] = []

    def all_of_it() -> str:
        for number in range(2):
            try:
                work(30)
            except TimeUpError:
                stopped.append(number)
        return work(0.01)

    assert run_within(0.05, all_of_it) == "done"
    assert stopped == [0, 1]


def test_nothing_that_shields_from_mistakes_shields_from_the_time() -> None:
    def careful() -> None:
        try:
            work(30)
        except Exception:
            pytest.fail("it went on")

    with pytest.raises(TimeUpError):
        run_within(0.05, careful)


def test_what_is_deaf_is_waited_for_no_longer() -> None:
    end = time.process_time() + 0.5

    def deaf() -> None:
        while time.process_time() < end:
            with contextlib.suppress(BaseException):
                work(0.5)

    with pytest.raises(TimeUpError):
        run_within(0.02, deaf)
    assert time.process_time() < end


def test_the_time_is_that_of_the_outermost_call() -> None:
    assert run_within(30, run_within, 0.01, work, 0.1) == "done"
    with pytest.raises(TimeUpError):
        run_within(0.05, run_within, 0, work, 30)
