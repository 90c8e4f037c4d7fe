"""The page that compares: a feature that is there has a test, one that is not says why."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.docs.features import SHOWN_BY
from tests.docs.pages import DOCS, TOP

PAGE = DOCS / "compared.md"
_ROW = re.compile(r"^\| (?!feature )([^|-][^|]*) \| (yes|partly|no) \|([^|]*)\|$", re.MULTILINE)
ROWS = _ROW.findall(PAGE.read_text(encoding="utf-8").partition("## What linters have")[2])


def test_every_feature_is_there_once() -> None:
    assert [row[0] for row in ROWS] == list(SHOWN_BY)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_is_there_has_a_test_and_what_is_not_says_why(row: tuple[str, str, str]) -> None:
    feature, here, note = row
    assert bool(SHOWN_BY[feature]) == (here != "no")
    assert note.strip() or here == "yes"


def test_no_test_is_named_on_the_page() -> None:
    assert "::" not in PAGE.read_text(encoding="utf-8")


@pytest.mark.every
def test_every_test_is_collected() -> None:
    named = sorted({f"tests/{test}" for tests in SHOWN_BY.values() for test in tests})
    line = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "", "-p", "no:xdist"]
    run = subprocess.run(
        # xdist's option is among those of the project.
        [*line, "-o", "addopts=--strict-markers", "-p", "no:cacheprovider", *named],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    collected = {line.partition("[")[0] for line in run.stdout.splitlines() if "::" in line}
    assert collected == set(named)
