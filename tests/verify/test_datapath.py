"""The token file is a real safetensors file."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from placement_lint.verify.datapath_run import LABELS
from placement_lint.verify.environment import VIRTUAL
from placement_lint.verify.proofs import Proof
from placement_lint.verify.runner import Runner, run_side

pytestmark = pytest.mark.usefixtures("needs_jax")


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("size", [33 * 2**20 + 77, 1, 2**20])
def test_the_token_file_is_what_safetensors_reads(
    runner: Runner, tmp_path: Path, size: int
) -> None:
    from safetensors.numpy import load_file

    path = tmp_path / "train.safetensors"
    task = {"task": "datapath", "way": "write", "file": str(path), "size": size}
    answer, _ = runner.run(task, devices=VIRTUAL, folder=tmp_path)
    (tokens,) = load_file(path).values()
    assert tokens.shape == (answer["rows"], 1024)
    assert str(tokens.dtype) == "uint16"
    assert answer["rows"] == 8 * max(2, size // 2048 // 8)
    assert len({row.tobytes() for row in tokens[:50]}) == min(50, answer["rows"])


PROOF = '''"""Try the library as a program would."""
import itertools
import jax, numpy as np
from safetensors.numpy import load_file
from placement_lint.verify import datapath
from placement_lint.verify.observation import Observation
def hazard(accelerator, host): return accelerator
def fixed(accelerator, host): ...
def observe(run):
    accelerator = run()
    rows = datapath.write_tokens("t.safetensors", 40 * datapath.BATCH_BYTES)
    whole = load_file("t.safetensors")["tokens"]
    answers = {}
    # What `assigned` breaks stays broken, so it comes last.
    for way, load in sorted(datapath.WAYS.items(), key=lambda item: item[0] == "assigned"):
        tokens = load("t.safetensors", run.host)
        items = list(datapath.items_of(way, tokens, accelerator))
        answers[way] = (
            len(items),
            all(item.devices() == {accelerator} for item in items),
            bool(np.array_equal(np.concatenate([np.asarray(item) for item in items]), whole)),
        )
    mapped = datapath.map_tokens("t.safetensors")
    counted = itertools.count()
    def source():
        for item in datapath.batches(mapped, 4):
            next(counted)
            yield item
    ahead = datapath.prefetched(source(), accelerator, ahead=3)
    first = next(ahead)
    asked = next(counted)
    odd = [len(item) for item in datapath.batches(mapped[:30])]
    short = len(list(datapath.prefetched(iter([mapped[:8]]), accelerator, ahead=5)))
    answers["library"] = (rows, type(mapped).__name__, first.shape, asked, odd, short)
    return Observation("python", "answers", repr(answers), "-", True, "-")
'''


def test_every_way_gives_the_same_batches_on_the_accelerator(
    runner: Runner, write_proof: Callable[[str], Proof]
) -> None:
    outcome = run_side(runner, write_proof(PROOF), "hazard", VIRTUAL)
    assert outcome.failure == ""
    answers = ast.literal_eval(str(outcome.observations[0].measured))
    assert answers.pop("library") == (320, "memmap", (4, 1024), 4, [8, 8, 8], 1)
    assert answers == dict.fromkeys(LABELS, (40, True, True))


def test_an_unknown_way_is_refused(runner: Runner, tmp_path: Path) -> None:
    from placement_lint.verify.runner import ChildError

    task = {"task": "datapath", "way": "sideways", "file": "x", "size": 1}
    with pytest.raises(ChildError, match="raised KeyError: 'sideways'"):
        runner.run(task, devices=VIRTUAL, folder=tmp_path)
