"""When the collector of cyclic garbage runs."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from placement_lint.files.source import Source
from placement_lint.findings import Severity
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions
from placement_lint.lint.gc_pause import collection_paused
from placement_lint.prefilter.conditions import Word
from placement_lint.rules.base import Rule
from placement_lint.semantic.model import ModuleFacts

if TYPE_CHECKING:
    from collections.abc import Iterator

    import libcst as cst

    from placement_lint.rules.context import Context


@pytest.fixture(autouse=True)
def collector_as_it_was() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if enabled else gc.disable)()


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
