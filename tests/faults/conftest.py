"""A program in which something is to fail, and what is said of it where nothing does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults.program import TEXTS, Said, run, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "run", TEXTS)


@pytest.fixture(scope="module")
def well(tmp_path_factory: pytest.TempPathFactory) -> Said:
    """Give what is found where nothing fails."""
    said = run(write(tmp_path_factory.mktemp("well") / "run", TEXTS), "--no-cache")
    assert said.code == 1
    return said
