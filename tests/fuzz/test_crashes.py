"""What once broke something, in `fixtures/crashes`: files, and what else is read, by its ending."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fixture_cases import FIXTURES
from tests.fuzz.oracle import Input, judge
from tests.fuzz.readers import READERS

if TYPE_CHECKING:
    from pathlib import Path

CRASHES = sorted((FIXTURES / "crashes").iterdir())
READ = [path for path in CRASHES if path.suffix[1:] in READERS]
LINTED = [path for path in CRASHES if path.suffix in {".py", ".ipynb"}]


def test_each_is_one_or_the_other() -> None:
    assert sorted([*READ, *LINTED]) == CRASHES
    assert len(LINTED) > 2
    assert len(READ) > 2


@pytest.mark.parametrize("path", LINTED, ids=lambda path: path.name)
def test_what_is_linted(path: Path) -> None:
    assert judge(Input(f"fuzzed{path.suffix}", path.read_bytes())).problems == ()


@pytest.mark.parametrize("path", READ, ids=lambda path: path.name)
def test_what_is_read(path: Path) -> None:
    READERS[path.suffix[1:]](path.read_bytes())
