from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from placement_lint.cli import main
from tests import warm

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HAZARD = "import jax\n\n\ndef f(x, d):\n    jax.device_put(x, d)\n    return x\n"
MENDED = HAZARD.replace("    jax.device_put", "    x = jax.device_put")
CLEAN = "import os\n"
BROKEN = "import jax\n\njax.device_put(x, d\n"

Result = tuple[int, str, str]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the current folder, with a file of each kind in it."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    texts = {"hazard.py": HAZARD, "clean.py": CLEAN, "broken.py": BROKEN}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def lint(files: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Give the command: arguments to exit code, output and error output."""

    def run(*arguments: str) -> Result:
        code = main([*arguments, "-j", "1"])
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def process(files: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Give the command in another process."""

    def run(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        line = warm.command("placement_lint", *arguments)
        return subprocess.run(line, input=stdin, capture_output=True, check=False)

    return run
