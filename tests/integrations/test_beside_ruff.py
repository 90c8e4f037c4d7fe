"""ruff leaves our comments alone where the README's settings are taken, in a real ruff."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
TEXT = (
    "import os  # noqa: F401, JDP201\n"
    "import jax\n"
    "\n"
    "jax.device_put([], d)  # noqa: JDP204\n"
    "jax.device_put([], d)  # noqa: device-put-discarded\n"
)


def ruff(folder: Path, *arguments: str) -> str:
    program = shutil.which("ruff") or shutil.which("ruff", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("ruff is not installed; the dev extra brings it")
    selected = ["--preview", "--select", "RUF100,RUF102", "--output-format", "concise"]
    done = subprocess.run(
        [program, "check", "--no-cache", *selected, *arguments, "."],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    return done.stdout


def settings_of_the_readme() -> str:
    readme = (TOP / "README.md").read_text(encoding="utf-8")
    (found,) = re.findall(r"```toml\n(\[tool\.ruff\.lint\]\nexternal = .+\n)```", readme)
    return str(found)


def test_the_comments_stay(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TEXT, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(settings_of_the_readme(), encoding="utf-8")
    output = ruff(tmp_path)
    assert "JDP" not in output
    ruff(tmp_path, "--fix")
    after = (tmp_path / "a.py").read_text(encoding="utf-8")
    assert re.findall(r"JDP\d+", after) == ["JDP201", "JDP204"]


def test_without_them_ruff_complains(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TEXT, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    assert "JDP204" in ruff(tmp_path)
