"""The token file is a real safetensors file."""

from pathlib import Path

import pytest

from placement_lint.verify.environment import VIRTUAL
from placement_lint.verify.runner import Runner

pytestmark = pytest.mark.usefixtures("needs_jax")


@pytest.mark.parametrize("size", [1, 2**20, 33 * 2**20 + 77])
def test_the_token_file_is_what_safetensors_reads(
    runner: Runner, tmp_path: Path, size: int
) -> None:
    from safetensors.numpy import load_file

    path = tmp_path / "train.safetensors"
    task = {"task": "datapath", "way": "write", "file": str(path), "size": size}
    answer, _ = runner.run(task, devices=VIRTUAL, folder=tmp_path)
    (tokens,) = load_file(path).values()
    assert tokens.shape == (answer["items"], 1024)
    assert str(tokens.dtype) == "uint16"
    assert answer["items"] == max(2, size // 2048)
    assert len({row.tobytes() for row in tokens[:50]}) == min(50, answer["items"])


def test_an_unknown_way_is_refused(runner: Runner, tmp_path: Path) -> None:
    from placement_lint.verify.runner import ChildError

    task = {"task": "datapath", "way": "sideways", "file": "x", "size": 1}
    with pytest.raises(ChildError, match="raised KeyError: 'sideways'"):
        runner.run(task, devices=VIRTUAL, folder=tmp_path)
