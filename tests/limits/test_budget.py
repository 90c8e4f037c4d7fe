"""Processor time and memory of files and runs: what takes too much is interrupted, and named."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from placement_lint.limits import budget as budgets
from placement_lint.limits.budget import (
    RULES_SHARE,
    Budget,
    LimitError,
    Limits,
    MemoryUpError,
    RunOverError,
    TimeUpError,
    bar,
    demand,
    finish,
    give_up,
    interpreting,
    is_left,
    spending,
    unmetered,
    using,
)
from placement_lint.limits.machine import (
    MEGABYTE,
    free_memory,
    memory_in_use,
    memory_of_machine,
    share_of_memory,
)
from placement_lint.syntax.deep_stack import run_deep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(autouse=True)
def _no_collector_callbacks() -> Iterator[None]:
    """Let no callback of the test tools swallow an interruption: what it raises is dropped."""
    callbacks = [*gc.callbacks]
    gc.callbacks.clear()
    yield
    gc.callbacks[:] = callbacks


def work(seconds: float) -> str:
    """Use the processor for so long."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return "done"


NO_LIMITS = Limits()


def run(
    call: Callable[[], object],
    *,
    limits: Limits = NO_LIMITS,
    seconds: float = 0,
    budget: Budget | None = None,
) -> object:
    """Call something in a run in which each of two files may take so long."""
    with using(budget or Budget(limits)) as used:
        for path in ("a.py", "b.py"):
            used.allow(path, seconds)
        return run_deep(call)


def at_expense(path: str, seconds: float) -> str:
    with spending(path):
        return work(seconds)


def test_what_ends_in_time() -> None:
    assert run(lambda: at_expense("a.py", 0.01), seconds=30) == "done"


@pytest.mark.parametrize("seconds", [0, 0.05])
def test_only_work_takes_time(seconds: float) -> None:
    """A process may wait, for a slow disk or for other processes."""

    def wait() -> None:
        with spending("a.py"):
            time.sleep(0.2)

    run(wait, seconds=seconds)


def test_what_takes_too_long() -> None:
    before = sys.getrecursionlimit()
    started = time.process_time()
    with pytest.raises(TimeUpError) as caught:
        run(lambda: at_expense("a.py", 30), seconds=0.05)
    assert caught.value.path == "a.py"
    assert time.process_time() - started < 5
    assert sys.getrecursionlimit() == before


def test_where_nobody_waits_it_is_a_plain_block() -> None:
    assert at_expense("a.py", 0.01) == "done"
    with using(Budget()) as budget:
        budget.allow("a.py", 0.001)
        assert at_expense("a.py", 0.01) == "done"


def test_the_steps_of_a_file_add_up() -> None:
    budget = Budget()
    done: list[int] = []

    def steps() -> None:
        for number in range(100):
            at_expense("a.py", 0.05)
            done.append(number)

    with pytest.raises(TimeUpError):
        run(steps, seconds=0.4, budget=budget)
    assert 1 <= len(done) <= 8
    assert budget.spent("a.py") > 0.39
    # Nothing is left for another call of the run.
    with pytest.raises(TimeUpError):
        run(lambda: at_expense("a.py", 0.001), seconds=0.4, budget=budget)


def test_a_file_pays_for_itself_also_where_another_one_asks() -> None:
    budget = Budget()

    def ask() -> None:
        with spending("a.py"):
            work(0.05)
            at_expense("b.py", 0.3)
            work(0.05)

    run(ask, seconds=30, budget=budget)
    assert 0.09 < budget.spent("a.py") < 0.25
    assert 0.29 < budget.spent("b.py") < 0.45


def test_who_asks_goes_on_when_the_other_runs_out() -> None:
    def ask() -> str:
        with spending("a.py"):
            try:
                at_expense("b.py", 30)
            except TimeUpError as error:
                assert error.path == "b.py"  # noqa: PT017
                give_up(error)
            with pytest.raises(TimeUpError):
                at_expense("b.py", 0.0)
            return work(0.01)

    assert run(ask, seconds=0.2) == "done"


def test_what_has_no_limit_of_its_own_has_that_of_who_asks() -> None:
    def ask() -> str:
        with spending("a.py"):
            with pytest.raises(TimeUpError) as caught:
                at_expense("unknown.py", 30)
            assert caught.value.path == "unknown.py"
            return work(0.01)

    assert run(ask, seconds=0.1) == "done"


def test_nothing_that_shields_from_mistakes_shields_from_the_time() -> None:
    def careful() -> None:
        with spending("a.py"):
            try:
                work(30)
            except Exception:
                pytest.fail("it went on")

    with pytest.raises(TimeUpError):
        run(careful, seconds=0.05)


def test_what_is_deaf_is_told_again_and_again() -> None:
    heard: list[float] = []

    def deaf() -> None:
        with spending("a.py"):
            while len(heard) < 5:
                try:
                    work(30)
                except TimeUpError:
                    heard.append(time.thread_time())

    run(deaf, seconds=0.05)
    assert len(heard) == 5
    assert heard[-1] - heard[0] < 5


def test_after_the_block_nothing_is_heard_of_it() -> None:
    """Whenever the time is up: just before the block ends, while it ends, or just after."""

    def many() -> int:
        interrupted = 0
        for number in range(300):
            try:
                at_expense(f"{number}.py", 0.002)
            except TimeUpError as error:
                assert error.path == f"{number}.py"  # noqa: PT017
                interrupted += 1
            work(0.0005)
        return interrupted

    with using(Budget()) as budget:
        for number in range(300):
            budget.allow(f"{number}.py", 0.002)
        assert run_deep(many) is not None
    assert all(account.spent < 0.5 for account in budget.accounts.values())


def test_a_share_of_the_time() -> None:
    def two_steps() -> str:
        with spending("a.py"):
            try:
                with interpreting("a.py"):
                    work(30)
            except TimeUpError as error:
                bar(error)
            with pytest.raises(TimeUpError), interpreting("a.py"):
                pytest.fail("it was begun again")
            return work(0.02)

    assert run(two_steps, seconds=0.5) == "done"


def test_what_was_found_is_reported_with_what_is_left() -> None:
    def report() -> str:
        with spending("a.py"):
            try:
                with spending("a.py", RULES_SHARE):
                    work(30)
            except TimeUpError as error:
                finish(error)
            with spending("a.py"):
                said = work(0.02)
            with pytest.raises(TimeUpError):
                work(30)
            return said

    assert run(report, seconds=1) == "done"


def test_what_was_found_is_reported_when_the_run_is_over() -> None:
    def report() -> str:
        with spending("a.py"):
            try:
                work(30)
            except RunOverError as error:
                finish(error)
            said = work(0.02)
            with pytest.raises(RunOverError):
                work(30)
        with pytest.raises(RunOverError):
            at_expense("b.py", 0.0)
        return said

    assert run(report, limits=Limits(seconds=0.3)) == "done"


def test_imports_are_at_the_expense_of_nobody() -> None:
    budget = Budget()

    def load() -> str:
        with spending("a.py"):
            with unmetered():
                work(0.3)
            return work(0.01)

    assert run(load, seconds=0.2, budget=budget) == "done"
    assert budget.spent("a.py") < 0.2


def test_the_run_as_a_whole() -> None:
    def all_files() -> None:
        for number in range(1000):
            at_expense(f"{number}.py", 0.02)

    started = time.process_time()
    with pytest.raises(RunOverError) as caught:
        run(all_files, limits=Limits(seconds=0.5))
    assert caught.value.path is None
    assert time.process_time() - started < 3


def test_what_cannot_be_interrupted_is_not_begun() -> None:
    def parse() -> None:
        with spending("a.py"):
            assert is_left(1, 0)
            demand(1, 0)
            assert not is_left(60, 0)
            demand(60, 0)

    with pytest.raises(TimeUpError) as caught:
        run(parse, seconds=30)
    assert caught.value.path == "a.py"

    def grow() -> None:
        with spending("a.py"):
            demand(0, 50 * MEGABYTE)
            demand(0, 10_000 * MEGABYTE)

    with pytest.raises(MemoryUpError):
        run(grow, limits=Limits(memory=memory_in_use() + 500 * MEGABYTE))


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system for the memory in use")
def test_memory() -> None:
    free_memory()
    before = memory_in_use()
    limit = before + 200 * MEGABYTE

    def grow() -> None:
        with spending("a.py"):
            held = []
            while True:
                held.append([*range(100, 1000)])
                if len(held) > 1_000_000:
                    pytest.fail("it was not interrupted")

    def both() -> str:
        most = 0
        try:
            grow()
        except MemoryUpError as error:
            assert error.path == "a.py"  # noqa: PT017
            most = memory_in_use()
            give_up(error)
        # The memory is looked at now and then: meanwhile, a busy machine lets the work go on.
        assert most < limit + 50 * MEGABYTE
        return at_expense("b.py", 0.1)

    assert run(both, limits=Limits(memory=limit)) == "done"
    assert memory_in_use() < before + 100 * MEGABYTE


def test_what_comes_too_late_leaves_nothing_behind() -> None:
    """Python 3.11 would never begin a function that is profiled: it looks for what was sent."""
    code = """
import threading
from placement_lint.limits.budget import Budget, Limits, metering, spending

with metering(Budget(Limits())) as meter:
    with spending("a.py"):
        meter._is_pending = True
    meter._is_pending = True
    with spending("b.py"):
        pass
threading.setprofile(lambda *_: None)
thread = threading.Thread(target=lambda: print("done"), daemon=True)
thread.start()
thread.join(20)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "done\n"


def test_an_interrupt_of_who_waits_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def endless() -> None:
        try:
            at_expense("a.py", 60)
        finally:
            ended.set()

    def interrupted(meter: budgets.Meter) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(budgets.Meter, "check", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(endless)
    assert ended.wait(30)


def test_limits_of_settings() -> None:
    assert budgets.limits_of(7, 30) == Limits(7, 30 * MEGABYTE)
    assert budgets.limits_of(7, 0) == Limits(7, 0)
    share = budgets.limits_of(7, jobs=2).memory
    assert share == share_of_memory(2)
    if sys.platform == "linux":
        assert 0 < share <= memory_of_machine() / 4


def test_threads_have_budgets_of_their_own() -> None:
    seen: list[object] = []

    def other() -> None:
        seen.append(budgets.current_budget())
        with contextlib.suppress(LimitError):
            seen.append(run_deep(budgets.current_budget))

    with using(Budget()):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == [None, None]
