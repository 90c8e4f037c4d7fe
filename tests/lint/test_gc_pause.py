"""When the collector of cyclic garbage runs."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from placement_lint import lint_paths
from placement_lint.files.source import Source
from placement_lint.findings import Severity
from placement_lint.lint import gc_pause
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions
from placement_lint.lint.gc_pause import collect_if_many, collection_paused
from placement_lint.prefilter.conditions import Word
from placement_lint.rules.base import Rule
from placement_lint.semantic.model import ModuleFacts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import libcst as cst

    from placement_lint.rules.context import Context


@pytest.fixture(autouse=True)
def collector_as_it_was() -> Iterator[None]:
    """Let it be as in a process of Python's own, not as seldom as for other tests."""
    enabled, thresholds = gc.isenabled(), gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    gc.enable()
    yield
    (gc.enable if enabled else gc.disable)()
    gc.set_threshold(*thresholds)


def test_paused_in_the_block_and_on_again_after_it() -> None:
    with collection_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_on_again_after_an_exception() -> None:
    with pytest.raises(ValueError, match="no"), collection_paused():
        raise ValueError("no")
    assert gc.isenabled()


def test_the_outer_of_nested_blocks_decides() -> None:
    with collection_paused():
        with collection_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off() -> None:
    gc.disable()
    with collection_paused():
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_no_collection_while_a_file_is_analysed_and_its_tree_is_freed_afterwards() -> None:
    enabled: list[bool] = []

    class Watch(Rule):
        """Notes what it sees."""

        code, name, severity = "JDP999", "watch", Severity.WARNING
        needs = Word(b"x")

        def visit_Name(self, _node: cst.Name, _ctx: Context) -> None:  # noqa: N802
            enabled.append(gc.isenabled())

    # Other tests keep some.
    before = [each for each in gc.get_objects() if isinstance(each, ModuleFacts)]
    assert not lint_source(Source("a.py", "x\n"), FileOptions((Watch,))).findings
    assert enabled == [False]
    assert gc.isenabled()
    after = [each for each in gc.get_objects() if isinstance(each, ModuleFacts)]
    assert len(after) <= len(before), "without a search for circles"


def test_much_that_is_left_in_a_pause_is_searched_between_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched: list[int] = []
    monkeypatch.setattr(gc, "collect", lambda: searched.append(1))
    monkeypatch.setattr(gc_pause, "MOST_UNSEARCHED", gc.get_count()[0] + 5_000)
    collect_if_many()
    kept: list[list[int]] = [[] for _ in range(20_000)]
    collect_if_many()
    assert not searched, "the collector does it outside of a pause"
    with collection_paused():
        collect_if_many()
        assert not searched
        kept += [[] for _ in range(20_000)]
        collect_if_many()
    assert searched == [1]


def test_a_run_over_several_files_does_not_search_after_each(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"file_{number}.py").write_text(
            "import jax\nx = jax.device_put(1, jax.devices('cpu')[0])\n" * 20, encoding="utf-8"
        )
    lint_paths([str(tmp_path)])  # what is imported and kept is made by now
    gc.collect()
    before = [each["collections"] for each in gc.get_stats()]
    lint_paths([str(tmp_path)])
    after = [each["collections"] for each in gc.get_stats()]
    assert after[0] - before[0] < 12
