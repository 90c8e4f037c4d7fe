"""What the tests of verify share."""

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from placement_lint.verify.proofs import Proof
from placement_lint.verify.runner import Runner


@pytest.fixture
def runner() -> Iterator[Runner]:
    with Runner(time_limit=100) as runner:
        yield runner


@pytest.fixture
def needs_jax() -> None:
    for package in ("jax", "safetensors"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f'{package} is not installed: pip install "placement-lint[verify]"')


@pytest.fixture
def write_proof(tmp_path: Path) -> Callable[[str], Proof]:
    def write(source: str) -> Proof:
        folder = tmp_path / "JDP999"
        folder.mkdir(exist_ok=True)
        path = folder / "proof.py"
        path.write_text(source, encoding="utf-8")
        return Proof("JDP999", path)

    return write
