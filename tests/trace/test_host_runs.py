"""Trace says what ran on the host because an operand was committed there, line by line.

JAX is started for each program: `pytest -m every tests/trace`.
"""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.fixture_cases import FIXTURES
from tests.marks import COLUMNS, NEEDS_JAX
from tests.trace.running import Traced, trace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [NEEDS_JAX, pytest.mark.every]

PROGRAM = FIXTURES / "trace" / "pulled.py"
TEXT = PROGRAM.read_text(encoding="utf-8")
_EXPECTED = re.compile(r"# on the host: (?P<judgement>[a-z-]+) (?P<count>\d+) (?P<bytes>\d+)$")


def numbered() -> Iterator[tuple[int, str]]:
    return enumerate(TEXT.splitlines(), 1)


EXPECTED = {
    (number, found["judgement"]): (int(found["count"]), int(found["bytes"]))
    for number, line in numbered()
    if (found := _EXPECTED.search(line))
}


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Traced:
    folder = tmp_path_factory.mktemp("pulled")
    shutil.copy(PROGRAM, folder)
    return trace(folder, PROGRAM.name)


def test_the_program_runs(traced: Traced) -> None:
    assert (traced.code, traced.out, traced.err) == (0, "", "")
    assert traced.report["failed"] is None


def test_each_computation_is_seen(traced: Traced) -> None:
    assert len(EXPECTED) == 8
    seen = {
        (each["at"]["line"], each["judgement"]): (each["count"], each["bytes"])
        for each in traced.report["host_runs"]
    }
    assert seen == EXPECTED
    assert traced.report["summary"]["host_runs"] == sum(count for count, _ in EXPECTED.values())
    assert traced.report["summary"]["host_seconds"] > 0


def test_what_committed_is_named(traced: Traced) -> None:
    (commits,) = (number for number, line in numbered() if line.endswith("# commits"))
    for place in traced.report["host_runs"]:
        assert place["seconds"] > 0
        for each in place["computations"]:
            assert each["because"]["made"]["line"] == commits
            assert each["device"] == "cpu:1"
            assert each["function"].startswith("jit")


def test_what_follows_says_so(traced: Traced) -> None:
    after = {
        place["at"]["line"]: {
            each["after"] and each["after"]["line"] for each in place["computations"]
        }
        for place in traced.report["host_runs"]
    }
    by_judgement = {judgement: line for line, judgement in EXPECTED}
    flagged, unflagged = by_judgement["flagged"], by_judgement["not-flagged"]
    # The first time it leaves the accelerator; then it goes on with what it gave.
    assert after[flagged] == {None, flagged}
    assert after[unflagged] == {None, unflagged}
    (blend,) = (number for number, line in numbered() if "= blend(" in line)
    assert after[blend] == {flagged}
    others = {line for line, _ in EXPECTED} - {flagged, unflagged, blend}
    assert {frozenset(after[line]) for line in others} == {frozenset({None})}


def test_the_finding_is_confirmed(traced: Traced) -> None:
    found = {each["code"]: each for each in traced.report["findings"]}
    (line,) = (line for line, judgement in EXPECTED if judgement == "flagged")
    assert found["JDP208"]["line"] == line
    assert (found["JDP208"]["state"], found["JDP208"]["speaks_of_moves"]) == ("confirmed", True)
    assert (found["JDP208"]["host_runs"], found["JDP208"]["bytes"]) == EXPECTED[line, "flagged"]
    assert traced.report["summary"]["confirmed"] == 1
    assert traced.report["summary"]["not_flagged"] == 1


HAZARD = """\
import jax, jax.numpy as jnp, numpy as np
cpu = jax.devices("cpu")[0]
data = jax.device_put(np.ones((4, 8), np.float32), cpu)
step = jax.jit(lambda params, batch: params - jnp.mean(batch))
params = jnp.ones((64, 8))
for i in range(4):
    params = step(params, {})
print(*params.devices())
"""


@pytest.mark.parametrize(
    ("batch", "runs", "device"),
    [
        ("data[i]", 4, 1),
        ("jax.device_put(data[i], jax.devices()[0])", 0, 0),
        ("np.asarray(data[i])", 0, 0),
    ],
)  # fmt: skip
def test_the_cures_are_seen_to_cure(batch: str, runs: int, device: int, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(HAZARD.format(batch), encoding="utf-8")
    traced = trace(tmp_path, "program.py")
    assert (traced.code, traced.err) == (0, "")
    assert traced.out.replace("TFRT_CPU_", "cpu:") == f"cpu:{device}\n"
    assert traced.report["summary"]["host_runs"] == runs
    assert traced.report["summary"]["confirmed"] == bool(runs)
    if runs:
        (seen,) = traced.report["host_runs"]
        assert seen["at"]["column"] == (14 if COLUMNS else None)
