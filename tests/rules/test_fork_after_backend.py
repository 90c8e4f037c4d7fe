"""JDP506 asks last for what is costly: what all imports before a fork do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from placement_lint.files.source import Source
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions
from placement_lint.rules.startup import fork_after_backend
from placement_lint.semantic.execution_order import timeline

if TYPE_CHECKING:
    from placement_lint.semantic.execution_order import Timeline
    from placement_lint.semantic.model import ModuleFacts

PROGRAM = """\
import multiprocessing
import jax.numpy as jnp
print(jnp.ones(3))
def work():
    {body}
multiprocessing.Process(target=work).start()
"""


@pytest.mark.parametrize(
    ("body", "asked"), [("pass", 0), ("jnp.ones(3)", 1)], ids=["without JAX", "with JAX"]
)
def test_imports_are_executed_only_where_the_child_runs_jax(
    body: str, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = 0

    def counted(facts: ModuleFacts) -> Timeline:
        nonlocal times
        times += 1
        return timeline(facts)

    monkeypatch.setattr(fork_after_backend, "timeline", counted)
    options = FileOptions((fork_after_backend.ForkAfterBackend,))
    result = lint_source(Source("train.py", PROGRAM.format(body=body)), options)
    assert (times, len(result.findings)) == (asked, asked)
