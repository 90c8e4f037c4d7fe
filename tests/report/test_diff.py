from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from placement_lint.lint.results import FixedFile
from placement_lint.report.diff import render

if TYPE_CHECKING:
    from pathlib import Path


def test_nothing() -> None:
    assert render([]) == ""


def test_unified() -> None:
    fixed = FixedFile("a.py", "x\ny\n", "x\nz\n", {"JDP204": 1})
    assert render([fixed]) == "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x\ny", "x\nz"),
        ("x\ny", "x\ny\n"),
        ("x\r\ny\r\n", "x\r\nz\r\n"),
        ("x\ry\n\x0cz\n", "x\ry\n\x0cw\n"),
        ("", "x\n"),
        ("a\u2028b\n", "a\u2028c\n"),
    ],
)
def test_git_applies_it(before: str, after: str, tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(before.encode())
    patch = render([FixedFile("a.py", before, after, {"JDP204": 1})])
    subprocess.run(
        ["git", "apply", "-p0", "--whitespace=nowarn", "-"],
        input=patch.encode(),
        cwd=tmp_path,
        check=True,
        env={
            "GIT_CEILING_DIRECTORIES": str(tmp_path.parent),
            "PATH": "/usr/bin:/bin:/usr/local/bin",
        },
    )
    assert file.read_bytes() == after.encode()
