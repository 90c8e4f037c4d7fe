from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.config.load import SettingsLoader
from placement_lint.config.settings import Settings
from placement_lint.config.show import show

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_shown_settings_are_a_settings_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings(
        select=("JDP2", 'a"b'),
        per_file_ignores={"tests/*": ("JDP1",), "é\\ü": (), "😀\x7f\0": ()},
        unsafe_fixes=True,
        root=tmp_path,
        source=tmp_path / "placement-lint.toml",
    )
    (tmp_path / "placement-lint.toml").write_text(show(settings), encoding="utf-8")
    assert SettingsLoader().for_file("x.py") == settings


def test_what_is_unset_is_a_comment() -> None:
    text = show(Settings())
    assert "# select is not set\n" in text
    assert text.startswith("# read from: no settings file\n")
