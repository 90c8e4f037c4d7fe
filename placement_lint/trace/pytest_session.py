"""The tests of a pytest run, watched for implicit copies.

Runs in the process of the tests: in each worker of pytest-xdist, too.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from placement_lint.trace import launch, words
from placement_lint.trace.emulation import Emulation, expected_devices, virtual_environment
from placement_lint.trace.frames import Frames, Site
from placement_lint.trace.hooks import HookError, install
from placement_lint.trace.imported import when_imported
from placement_lint.trace.record import Move, TracedPlace
from placement_lint.trace.recorder import DRAGGED, Recorder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.trace.ledger import TraceLedger

ALLOWED = "allow_implicit_copies"
"""The mark of tests that may copy."""


class CopyCounter:
    """Counts implicit copies since it was last asked. Does for a Recorder what a ledger does."""

    def __init__(self) -> None:
        """Begin with none."""
        self._kinds: list[dict[str, Any]] = []
        self._counts: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self.failed: str | None = None
        """Why the watching ended before the tests did: a mistake of ours."""

    @property
    def is_mine(self) -> bool:
        """Whether this process made it: copies in a forked child belong to no test here."""
        return self._owner == os.getpid()

    def write(self, event: str, /, **values: Any) -> None:
        """Take an event; only the end of the watching matters."""
        if event == "failed":
            self.failed = str(values.get("reason"))

    def new_slot(self, event: str, /, **values: Any) -> int:
        """Begin to count a kind of move, or of computation."""
        with self._lock:
            self._kinds.append({"event": event, **values})
            return len(self._kinds) - 1

    def count(self, slot: int, size: int, nanoseconds: int) -> None:
        """Count one."""
        kind = self._kinds[slot]
        if self.is_mine and kind["event"] == "move" and kind["kind"] == DRAGGED:
            with self._lock:
                for at, value in enumerate((1, size, nanoseconds)):
                    self._counts[slot][at] += value

    def taken(self) -> list[Move]:
        """Return the implicit copies since the last call."""
        with self._lock:
            counts, self._counts = self._counts, defaultdict(lambda: [0, 0, 0])
        return [_move(self._kinds[slot], *numbers) for slot, numbers in sorted(counts.items())]


class WatchedTests:
    """The plugin of a run with the option."""

    def __init__(self, counter: CopyCounter) -> None:
        """Take what counts."""
        self._counter = counter

    @classmethod
    def begin(cls) -> WatchedTests:
        """Have JAX watched from its import on, or from now if it is imported already.

        Raises CannotTraceError where JAX is not installed, or too old.
        """
        devices = launch.choose_devices(launch.AUTO, os.environ)
        if devices == launch.VIRTUAL:
            changed = virtual_environment(dict(os.environ))
            for name in os.environ.keys() - changed.keys():
                del os.environ[name]
            os.environ.update(changed)
        counter = CopyCounter()
        frames = Frames()

        def watch() -> None:
            _watch(counter, frames, devices)

        if "jax" in sys.modules:
            watch()
        else:
            when_imported("jax", watch)
        return cls(counter)

    def pytest_configure(self, config: pytest.Config) -> None:
        """Declare the mark."""
        config.addinivalue_line("markers", f"{ALLOWED}: tests that may copy, under the option")

    def pytest_report_header(self) -> str:
        """Report the option: failures may be its own."""
        return "placement-lint: implicit copies of JAX fail the test that makes them"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Fail a test whose fixtures copy."""
        self._counter.taken()  # of what was collected
        yield
        self._check(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Fail a test that copies; one that fails by itself is left as it is."""
        yield
        self._check(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        """Fail the end of a test whose fixtures copy there."""
        self._counter.taken()  # of a test that has failed
        yield
        self._check(item)

    def _check(self, item: pytest.Item) -> None:
        moves = self._counter.taken()
        if self._counter.failed is not None:
            pytest.fail(f"placement-lint cannot watch JAX: {self._counter.failed}", pytrace=False)
        if moves and item.get_closest_marker(ALLOWED) is None:
            pytest.fail(message(moves, item.config.rootpath), pytrace=False)


def message(moves: list[Move], root: Path) -> str:
    """Return what was copied, a line for each place and kind of array."""
    count = words.many(sum(move.count for move in moves), "implicit copy", "implicit copies")
    lines = [f"JAX made {count} (placement-lint trace):"]
    for move in moves:
        made = "" if move.made is None else f"; made at {_at(move.made, root)}"
        lines.append(
            f"{_at(move.site, root)}: {words.array(move)} copied {words.times(move.count)}, "
            f"{words.size(move.bytes)}, from {words.route(move)}{made}"
        )
    return "\n".join(lines)


def _at(place: TracedPlace | None, root: Path) -> str:
    if place is None:
        return "outside of your files"
    path = Path(place.path)
    shown = path.relative_to(root) if path.is_relative_to(root) else path
    return f"{shown}:{place.line}"


def _watch(counter: CopyCounter, frames: Frames, devices: str) -> None:
    import jax

    frames.leave_out(str(Path(jax.__file__).parent))
    try:
        install(Recorder(cast("TraceLedger", counter), frames, lambda _: None))
        if devices == launch.VIRTUAL:
            Emulation(frames, lambda _: None, expected_devices(dict(os.environ))).enter()
    except (HookError, AttributeError) as error:
        message = f"JAX {jax.__version__} is not supported by trace: {error}"
        raise launch.CannotTraceError(message) from error


def _move(kind: dict[str, Any], count: int, size: int, nanoseconds: int) -> Move:
    return Move(
        _place(kind["site"]),
        _place(kind["made"]),
        kind["exact"],
        kind["kind"],
        tuple(kind["shape"]),
        kind["dtype"],
        tuple(kind["source"]),
        tuple(kind["target"]),
        count,
        size,
        nanoseconds / 1e9,
    )


def _place(site: Site | None) -> TracedPlace | None:
    return None if site is None else TracedPlace(site.path, site.line, site.end_line)
