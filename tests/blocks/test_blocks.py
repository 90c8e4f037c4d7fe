"""JDP101's fix moves statements under a `with`: the arrays must be made where it was meant."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from placement_lint.files.source import Source
from placement_lint.lint.file_results import FileOptions
from placement_lint.lint.fixes.apply import FixResult, fix_source
from placement_lint.rules.registry import rule_by_code
from tests.blocks.programs import programs
from tests.test_fixtures import compiles, said

ROOT = Path(__file__).parent.parent.parent
_FEW = 100
_MANY = 1000
_ASSIGNED = re.compile(r"^\s*jax\.default_\w+ =", re.MULTILINE)


def fixed(text: str) -> FixResult:
    return fix_source(Source("a.py", text), FileOptions((rule_by_code("JDP101"),)), unsafe=False)


def run(pairs: list[tuple[str, str]]) -> list[tuple[list[object], list[object]]]:
    """Run programs in a process of their own, with four devices."""
    finished = subprocess.run(
        [sys.executable, "-m", "tests.blocks.child"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        input=json.dumps(pairs),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=600,
    )
    noted: list[tuple[list[object], list[object]]] = json.loads(finished.stdout)
    return noted


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(_FEW, id="few", marks=pytest.mark.every),
        pytest.param(_MANY, id="many", marks=pytest.mark.fuzz),
    ],
)
def test_random_programs_make_their_arrays_where_it_was_meant(
    subtests: pytest.Subtests, count: int
) -> None:
    """The same few with `pytest -m every tests/blocks`; a thousand with `pytest -m fuzz`."""
    pytest.importorskip("jax")
    pairs: list[tuple[str, str]] = []
    blocks = 0
    for number, text in enumerate(programs(count)):
        with subtests.test(f"program {number}"):
            result = fixed(text)
            assert not result.result.findings, (text, result.result.findings)
            assert not _ASSIGNED.search(result.text), result.text
            assert compiles(result.text)
            assert said(result.text) == said(text), result.text
            assert fixed(result.text).text == result.text
            blocks += result.text.count("with jax.default_device(")
            pairs.append((text, result.text))
    assert blocks > count
    for (text, after), (meant, got) in zip(pairs, run(pairs), strict=True):
        with subtests.test(text):
            assert meant == got, f"-- became --\n{after}"
            assert len(meant) > 1
