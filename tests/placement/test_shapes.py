"""Small programs with the shapes that real ones have: which lines copy an array that is elsewhere.

`shapes.txt` says it of each line: `# moves` on every way that leads there, `# may move` on some;
all others move nothing. `tests.differential` runs the same programs under JAX.
"""

import re
from pathlib import Path

import pytest

from placement_lint.files.source import Source
from placement_lint.findings import Confidence, Finding
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions
from placement_lint.rules.registry import all_rules

HEAD = """\
import jax
import jax.numpy as jnp
import numpy as np
cpu = jax.devices("cpu")[0]
"""
SHAPES = dict(
    re.findall(
        r"^# case: (\S+)\n(.*?)(?=^# case: |\Z)",
        (Path(__file__).parent / "shapes.txt").read_text(),
        re.MULTILINE | re.DOTALL,
    )
)
MARKS = ("# moves", "# may move")
MOVES = frozenset({"JDP201", "JDP202"})


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_what_moves(shape: str) -> None:
    expected = {
        (number, mark)
        for number, line in enumerate((HEAD + shape).splitlines(), 1)
        for mark in MARKS
        if line.endswith(mark)
    }
    findings = lint_source(Source("x.py", HEAD + shape), FileOptions(all_rules())).findings
    # A helper may be called by compiled code alone, where its block does nothing.
    assert {f.code for f in findings} <= MOVES | {"JDP105"}
    findings = tuple(f for f in findings if f.code in MOVES)
    sure = {f.span.line for f in findings if f.confidence is Confidence.DEFINITE}
    got = {(line, "# moves" if line in sure else "# may move") for line in lines_of(findings)}
    assert got == expected


def lines_of(findings: tuple[Finding, ...]) -> set[int]:
    return {finding.span.line for finding in findings}
