"""What the traced process writes, and what is read of it."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from placement_lint.trace import ledger as ledgers
from placement_lint.trace.frames import Site
from placement_lint.trace.ledger import EVENTS, TraceLedger
from placement_lint.trace.record import TracedPlace, read

if TYPE_CHECKING:
    from pathlib import Path

SITE = Site("/no/such.py", 3, 4, 5, 6, "f")


def slot_of(ledger: TraceLedger, kind: str = "dragged") -> int:
    return ledger.new_slot(
        "move",
        site=SITE, made=None, exact=False, kind=kind, shape=[8, 4], dtype="float32",
        source=["cpu:1"], target=["cpu:0"], again=False,
    )  # fmt: skip


def test_what_is_written_is_read(tmp_path: Path) -> None:
    ledger = TraceLedger(tmp_path)
    ledger.write("start", python="3.13.0")
    ledger.write("jax", version="0.12.0")
    ledger.write("stage", text="it plays")
    ledger.write("line", path="/a.py", line=3)
    ledger.write("line", path="/a.py", line=5)
    ledger.write("elsewhere", what="a forked process", site=SITE)
    slot = slot_of(ledger)
    for _ in range(3):
        ledger.count(slot, 128, 500_000)
    slot_of(ledger, "never counted")
    record = read(tmp_path)
    assert (record.python, record.jax, record.stage) == ("3.13.0", "0.12.0", ["it plays"])
    assert dict(record.lines) == {"/a.py": {3, 5}}
    assert (record.all_lines, record.refused, record.failed) == (True, None, None)
    place = TracedPlace("/no/such.py", 3, 4, 6, 7, "f")
    assert record.elsewhere == [("a forked process", place)]
    (move,) = record.moves
    assert (move.site, move.made, move.shape, move.kind) == (place, None, (8, 4), "dragged")
    assert (move.count, move.bytes, move.seconds) == (3, 384, 0.0015)


def test_computations_on_the_host_are_read(tmp_path: Path) -> None:
    ledger = TraceLedger(tmp_path)
    slots = [
        ledger.new_slot(
            "host", site=SITE, function="jit(step)", device="cpu:1", after=after, shape=[8],
            dtype="float32", made=SITE, exact=True,
        )
        for after in (None, SITE, SITE)
    ]  # fmt: skip
    ledger.count(slots[0], 128, 500_000)
    ledger.count(slots[1], 0, 250_000)
    place = TracedPlace("/no/such.py", 3, 4, 6, 7, "f")
    first, second = read(tmp_path).host_runs
    assert (first.site, first.after, second.after) == (place, None, place)
    assert (first.function, first.device, first.shape, first.made) == (
        "jit(step)", "cpu:1", (8,), place,
    )  # fmt: skip
    assert (first.count, first.bytes, second.bytes, second.seconds) == (1, 128, 0, 0.00025)


def test_compilations_because_of_a_sharding_are_read(tmp_path: Path) -> None:
    ledger = TraceLedger(tmp_path)
    slot = ledger.new_slot(
        "compiled", site=SITE, function="jit(step)", shape=[8], dtype="float32", before="cpu:0",
        after="P('data') on 8 devices", others=2, made=SITE,
    )  # fmt: skip
    ledger.count(slot, 32, 500_000)
    place = TracedPlace("/no/such.py", 3, 4, 6, 7, "f")
    (again,) = read(tmp_path).recompilations
    assert (again.site, again.made, again.function) == (place, place, "jit(step)")
    assert (again.before, again.after, again.others) == ("cpu:0", "P('data') on 8 devices", 2)
    assert (again.shape, again.count, again.bytes, again.seconds) == ((8,), 1, 32, 0.0005)


def test_the_other_events(tmp_path: Path) -> None:
    ledger = TraceLedger(tmp_path)
    ledger.write("unwatched")
    ledger.write("refused", reason="no")
    ledger.write("failed", reason="oh")
    record = read(tmp_path)
    assert (record.all_lines, record.refused, record.failed) == (False, "no", "oh")


def test_nothing_is_nothing(tmp_path: Path) -> None:
    assert read(tmp_path).moves == []


def test_threads_lose_no_count(tmp_path: Path) -> None:
    ledger = TraceLedger(tmp_path)
    slot = slot_of(ledger)

    def count() -> None:
        for _ in range(2000):
            ledger.count(slot, 1, 1)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (move,) = read(tmp_path).moves
    assert (move.count, move.bytes) == (8000, 8000)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_child_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = TraceLedger(tmp_path)
    slot = slot_of(ledger)
    before = (tmp_path / EVENTS).read_bytes()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert not ledger.is_mine
    ledger.write("line", path="/a.py", line=1)
    ledger.count(slot, 1, 1)
    assert (tmp_path / EVENTS).read_bytes() == before
    assert read(tmp_path).moves == []


def test_too_many_kinds_are_counted_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledgers, "SLOTS", 3)
    ledger = TraceLedger(tmp_path)
    slots = [slot_of(ledger) for _ in range(5)]
    assert slots == [0, 1, 2, 2, 2]
    for slot in slots:
        ledger.count(slot, 10, 0)
    moves = read(tmp_path).moves
    assert [(move.shape, move.count) for move in moves] == [((8, 4), 1), ((8, 4), 1), (None, 3)]


def test_columns_are_code_points(tmp_path: Path) -> None:
    path = tmp_path / "é.py"
    path.write_text('x = {"é€😀": a[0]}\n', encoding="utf-8")
    start = len('x = {"é€😀": '.encode())
    ledger = TraceLedger(tmp_path)
    site = Site(str(path), 1, 1, start, start + 4, "<module>")
    ledger.write("elsewhere", what="", site=site)
    ((_, place),) = read(tmp_path).elsewhere
    assert place is not None
    assert (place.column, place.end_column) == (13, 17)
