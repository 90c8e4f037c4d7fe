"""Tests that leave something in the repository's own folder are told."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
LEAVING = """\
from pathlib import Path


def test_it():
    for name in ("tokens.npy", "noted.txt", ".of_a_tool"):
        Path(name).touch()
"""


def test_what_is_left_fails_the_run(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "noted.txt").touch()
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n", encoding="utf-8")
    shutil.copy(TESTS / "conftest.py", tmp_path / "tests")
    (tmp_path / "tests" / "test_it.py").write_text(LEAVING, encoding="utf-8")
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout
    assert "1 passed" in done.stdout
    assert f"the tests left in {tmp_path}: tokens.npy\n" in done.stdout
