"""Options that environment variables set."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from placement_lint.cli import main

Lint = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _without_what_is_broken(files: Path) -> None:
    (files / "broken.py").unlink()


def test_a_format_and_a_file(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACEMENT_LINT_OUTPUT_FORMAT", "json")
    assert json.loads(lint(".")[1])["findings"]
    assert lint("--output-format", "flake8", ".")[1].startswith("hazard.py:5:5: JDP204")
    monkeypatch.setenv("PLACEMENT_LINT_OUTPUT_FILE", "found.json")
    assert lint(".")[1] == ""
    assert json.loads(Path("found.json").read_text(encoding="utf-8"))["findings"]


def test_the_variable_overrides_a_settings_file(
    lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("placement-lint.toml").write_text('output-format = "json"\n', encoding="utf-8")
    monkeypatch.setenv("PLACEMENT_LINT_OUTPUT_FORMAT", "flake8")
    assert lint(".")[1].startswith("hazard.py:5:5: JDP204")


def test_a_settings_file(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("ci.toml").write_text('ignore = ["JDP204"]\n', encoding="utf-8")
    Path("other.toml").write_text("", encoding="utf-8")
    monkeypatch.setenv("PLACEMENT_LINT_CONFIG", "ci.toml")
    assert lint(".")[0] == 0
    assert lint("--config", "unsafe-fixes = true", ".")[0] == 0
    assert lint("--config", "other.toml", ".")[0] == 1
    assert lint("--isolated", ".")[0] == 1


def test_the_cache(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACEMENT_LINT_CACHE_DIR", "kept")
    monkeypatch.setenv("PLACEMENT_LINT_NO_CACHE", "true")
    lint(".")
    assert not Path("kept").exists()
    monkeypatch.setenv("PLACEMENT_LINT_NO_CACHE", "0")
    lint(".")
    assert Path("kept").is_dir()
    assert main(["clean"]) == 0
    assert not Path("kept").exists()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("OUTPUT_FORMAT", "jsn", "PLACEMENT_LINT_OUTPUT_FORMAT: unknown format `jsn`; did you"),
        ("NO_CACHE", "maybe", "PLACEMENT_LINT_NO_CACHE: `maybe` is neither true nor false"),
        ("CONFIG", "a=b", "PLACEMENT_LINT_CONFIG: there is no settings file a=b"),
        ("CONFIG", "nosuch.toml", "nosuch.toml: cannot be read"),
    ],
)
def test_what_cannot_be_used_is_said(
    lint: Lint, monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    monkeypatch.setenv(f"PLACEMENT_LINT_{name}", value)
    code, out, err = lint(".")
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {message}")


def test_an_empty_one_is_none(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OUTPUT_FORMAT", "NO_CACHE", "CONFIG", "CACHE_DIR", "OUTPUT_FILE"):
        monkeypatch.setenv(f"PLACEMENT_LINT_{name}", "")
    assert lint(".")[0] == 1


class TestSettingsOfTheUser:
    @pytest.fixture(autouse=True)
    def _folder(
        self, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        base = tmp_path_factory.mktemp("user")
        for name in ("XDG_CONFIG_HOME", "APPDATA"):
            monkeypatch.setenv(name, str(base))
        self.own = base / "placement-lint" / "placement-lint.toml"
        self.own.parent.mkdir()
        self.own.write_text('per-file-ignores = {"/hazard.py" = ["JDP204"]}\n', encoding="utf-8")

    def test_they_hold_where_there_are_no_others(self, lint: Lint) -> None:
        assert lint(".")[0] == 0
        assert f"# read from: {self.own}" in lint("--show-settings", "hazard.py")[1]
        Path("placement-lint.toml").write_text("", encoding="utf-8")
        assert lint(".")[0] == 1

    def test_isolated_reads_none(self, lint: Lint) -> None:
        assert lint("--isolated", ".")[0] == 1

    def test_a_project_file(self, lint: Lint) -> None:
        self.own.rename(self.own.with_name("pyproject.toml"))
        assert lint(".")[0] == 1
        self.own.with_name("pyproject.toml").write_text(
            '[tool.placement-lint]\nignore = ["JDP204"]\n', encoding="utf-8"
        )
        assert lint(".")[0] == 0

    def test_what_is_wrong_is_said(self, lint: Lint) -> None:
        self.own.write_text("selekt = []\n", encoding="utf-8")
        code, _, err = lint(".")
        assert code == 2
        assert f"{self.own}:1:1: unknown setting `selekt`" in err

    @pytest.mark.skipif("sys.platform == 'win32'")
    def test_a_relative_folder_is_not_read(
        self, lint: Lint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = Path("x", "placement-lint")
        folder.mkdir(parents=True)
        (folder / "placement-lint.toml").write_text('ignore = ["JDP204"]\n', encoding="utf-8")
        monkeypatch.setenv("XDG_CONFIG_HOME", "x")
        monkeypatch.setenv("HOME", str(Path("home").absolute()))
        assert lint(".")[0] == 1
