"""Trace on three people's programs: the exact lines, counts and bytes; nothing once fixed.

`pytest -m every tests/trace` runs those that are fixed.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.fixture_cases import FIXTURES
from tests.marks import COLUMNS, NEEDS_JAX
from tests.trace.running import Traced, trace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = NEEDS_JAX
ROWS, LOOKUPS, STEPS = 16, 4, 3
BYTES = ROWS * 6 * 1024 * 2
LOOKUP = ["--rows", str(ROWS), "--lookups", str(LOOKUPS)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from safetensors.numpy import save_file

    made = tmp_path_factory.mktemp("seeds")
    for script in (FIXTURES / "seeds").glob("*.py"):
        shutil.copy(script, made)
    rows = np.arange(ROWS * 6 * 1024, dtype=np.uint16).reshape(ROWS, 6, 1024)
    save_file({"tokens": rows}, str(made / "train.safetensors"))
    return made


def line_with(folder: Path, script: str, text: str) -> int:
    (found,) = [
        number
        for number, line in enumerate((folder / script).read_text().splitlines(), 1)
        if text in line
    ]
    return found


def only(done: Traced) -> dict[str, Any]:
    assert (done.code, done.err) == (0, "")
    (line,) = done.report["lines"]
    found: dict[str, Any] = line
    return found


@pytest.mark.parametrize(
    ("script", "arguments", "at", "made", "count"),
    [
        pytest.param(
            "commitment.py",
            LOOKUP,
            "JDP201:16",
            "array = jax.random.randint(",
            LOOKUPS,
            marks=pytest.mark.every,
        ),
        (
            "backends_and_devices.py",
            ["--dataset-dir", ".", "--way", "block"],
            "JDP201:31",
            '        tokens = load_file(dataset_dir / "train.safetensors")["tokens"]\n',
            STEPS,
        ),
    ],
    ids=["commitment", "backends"],
)
def test_the_hazard(
    folder: Path, script: str, arguments: Sequence[str], at: str, made: str, count: int
) -> None:
    done = trace(folder, script, *arguments)
    line = only(done)
    expected = line_with(folder, script, at)
    assert (line["at"]["path"], line["at"]["line"]) == (script, expected)
    assert line["at"]["column"] == (int(at.partition(":")[2]) if COLUMNS else None)
    assert (line["count"], line["bytes"], line["kind"]) == (count, count * BYTES, "dragged")
    assert line["judgement"] == "flagged"
    assert 0 < line["seconds"] < done.report["program"]["seconds"]
    (array,) = line["arrays"]
    assert array["shape"] == [ROWS, 6, 1024]
    assert (array["dtype"], array["from"], array["to"]) == ("uint16", ["cpu:1"], ["cpu:0"])
    text = (folder / script).read_text().splitlines(keepends=True)
    places = [n for n, each in enumerate(text, 1) if made.strip() == each.strip()]
    assert (array["made"]["line"], array["made_exactly"]) == (places[-1], True)
    confirmed = [f for f in done.report["findings"] if f["state"] == "confirmed"]
    assert [(f["code"], f["line"], f["count"], f["bytes"]) for f in confirmed] == [
        ("JDP201", expected, count, count * BYTES)
    ]
    assert done.report["summary"]["not_flagged"] == 0


@pytest.mark.every
@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        ("commitment_fixed.py", LOOKUP),
        ("backends_and_devices_fixed.py", ["--dataset-dir", ".", "--way", "block"]),
    ],
    ids=["commitment", "backends"],
)
def test_fixed_nothing_moves(folder: Path, script: str, arguments: Sequence[str]) -> None:
    done = trace(folder, script, *arguments)
    assert (done.code, done.err, done.report["lines"]) == (0, "", [])
    assert done.report["environment"]["jax"]
    assert {found["state"] for found in done.report["findings"]} <= {"reached", "not-reached"}
    # Its stage was set all the same: what it printed is what it printed with a GPU.
    assert len(done.report["environment"]["stage"]) == 2
