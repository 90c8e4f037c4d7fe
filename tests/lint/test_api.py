"""The public functions of the package, and that they cost nothing before they are called."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import placement_lint
from placement_lint.findings import Finding
from placement_lint.rules.base import Rule

DISCARDED = "import jax\nx = 1\njax.device_put(x)\n"


def test_public_names() -> None:
    assert placement_lint.Finding is Finding
    assert placement_lint.Rule is Rule
    assert all(hasattr(placement_lint, name) for name in placement_lint.__all__)
    assert not hasattr(placement_lint, "nothing")


def test_version_costs_nothing() -> None:
    code = (
        "import sys; before = {*sys.modules}; import placement_lint; placement_lint.__version__; "
        "print(*sorted({*sys.modules} - before))"
    )
    root = Path(placement_lint.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    ours = [name for name in done.stdout.split() if name.startswith("placement_lint")]
    assert ours == ["placement_lint", "placement_lint.version"]
    assert not {"argparse", "libcst", "json", "dataclasses"} & set(done.stdout.split())


def test_lint_source() -> None:
    (finding,) = placement_lint.lint_source(DISCARDED, path="train.py")
    assert (finding.code, finding.path, finding.span.line) == ("JDP204", "train.py", 3)
    assert placement_lint.lint_source("x = 1") == ()
    # The text is text already, whatever it says of its encoding.
    (finding,) = placement_lint.lint_source(f"# coding: latin-1\ny = 'λ'\n{DISCARDED}")
    assert finding.span.line == 5


def test_lint_paths(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(DISCARDED)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.py").write_text(DISCARDED)
    (tmp_path / "sub" / "placement-lint.toml").write_text('ignore = ["JDP204"]\n')
    (finding,) = placement_lint.lint_paths([str(tmp_path)])
    assert finding.path.endswith("a.py")
    assert placement_lint.lint_paths([str(tmp_path / "sub" / "b.py")]) == ()


def test_lint_paths_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"gone\.py"):
        placement_lint.lint_paths([str(tmp_path / "gone.py")])


@pytest.mark.parametrize(
    "newer",
    [
        "type Pair[T] = tuple[T, T]",
        "def first[T](x: list[T]) -> T:\n    return x[0]",
        "name = f'{f'{1}'}'",
        "template = t'{1}'",
    ],
)
def test_syntax_that_is_newer_than_this_python(newer: str) -> None:
    found = placement_lint.lint_source(f"{newer}\n{DISCARDED}")
    assert [finding.code for finding in found] == ["JDP204"]
