"""What is printed about settings that cannot be used: the place, and the line itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

Lint = Callable[..., tuple[int, str, str]]
SECTION = "[tool.placement-lint]\n"


@pytest.mark.parametrize(
    ("name", "text", "place", "message", "mark"),
    [
        (
            "pyproject.toml",
            f"ignroe = 1\n{SECTION}select = []\nignroe = []\n",
            "4:1",
            "unknown setting `ignroe`; did you mean `ignore`?",
            "^^^^^^",
        ),
        (
            "pyproject.toml",
            f'{SECTION}per-file-ignores = {{ "a" = ["JDP999"] }}\n',
            "2:30",
            "unknown rule `JDP999`",
            "^^^^^^",
        ),
        ("placement-lint.toml", "select = [\n", "1:1", "not valid TOML: ", ""),
        ("placement-lint.toml", "\tselect = 1", "1:2", "`select` must be a list", "\t^^^^^^"),
        (
            "placement-lint.toml",
            f"{SECTION}select = []\n",
            "1:7",
            "this file needs no table: remove [tool.placement-lint]",
            "^^^^^^^^^^^^^^",
        ),
        (
            "pyproject.toml",
            "[tool.placement_lint]\n",
            "1:2",
            "unknown table [tool.placement_lint]; did you mean [tool.placement-lint]?",
            "^^^^^^^^^^^^^^^^^^^",
        ),
        (
            "pyproject.toml",
            "[placement-lint]\n",
            "1:2",
            "unknown table [placement-lint]; did you mean [tool.placement-lint]?",
            "^^^^^^^^^^^^^^",
        ),
        (
            "pyproject.toml",
            "[tool.placement-lint.lint]\nselect = []\n",
            "1:17",
            "unknown setting `lint`: unlike in ruff, all settings are in one table",
            "^^^^",
        ),
        (
            "placement-lint.toml",
            "required-version = '0.x'\n",
            "1:21",
            "`required-version` must be versions, such as `>=0.1,<0.2`, as a string, not `0.x`",
            "^^^",
        ),
        (
            "placement-lint.toml",
            "required-version = '>=99'\n",
            "1:1",
            "placement-lint >=99 is required",
            "^" * 16,
        ),
        ("setup.cfg", "[x]\n[tool:placement-lint]\n", "2:1", "settings are not read from", "^"),
        ("tox.ini", "[placement-lint]\nselect = JDP2\n", "1:1", "settings are not read from", "^"),
    ],
)
def test_the_place_and_the_line(
    name: str, text: str, place: str, message: str, mark: str, files: Path, lint: Lint
) -> None:
    (files / name).write_text(text, encoding="utf-8")
    code, _, err = lint("hazard.py")
    first, *frame = err.splitlines()
    assert code == 2
    assert first.startswith(f"error: {files / name}:{place}: {message}")
    assert "(at line" not in first
    if mark:
        assert frame[1].startswith(f"{place.split(':', maxsplit=1)[0]} | ")
        assert frame[2].endswith(f" {mark}")


def test_a_hidden_file_is_read_first(files: Path, lint: Lint) -> None:
    (files / "placement-lint.toml").write_text("select = ['JDP2']\n", encoding="utf-8")
    (files / ".placement-lint.toml").write_text("select = ['JDP1']\n", encoding="utf-8")
    assert 'select = ["JDP1"]\n' in lint("hazard.py", "--show-settings")[1]


def test_another_tool_s_sections_are_its_own(files: Path, lint: Lint) -> None:
    (files / "setup.cfg").write_text("[flake8]\n# see [placement-lint]\n", encoding="utf-8")
    (files / "tox.ini").mkdir()
    assert lint("clean.py")[0] == 0
