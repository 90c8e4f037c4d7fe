"""The VS Code extension: what it declares, and (with npm) its own tests and its package."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from placement_lint.config.options import BY_NAME, OptionKind
from placement_lint.integrations.lsp.settings import read_settings
from placement_lint.version import __version__

TOP = Path(__file__).parents[2]
EXTENSION = TOP / "editors" / "vscode"
PACKAGE: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text("utf-8"))
TYPES = {
    OptionKind.STRINGS: "array",
    OptionKind.MAP: "object",
    OptionKind.BOOLEAN: "boolean",
    OptionKind.CHOICE: "string",
    OptionKind.VERSION: "string",
}
EXAMPLES: dict[OptionKind, object] = {
    OptionKind.STRINGS: ["JDP201"],
    OptionKind.MAP: {"tests/**": ["JDP4"]},
    OptionKind.BOOLEAN: False,
    OptionKind.CHOICE: "likely",
    OptionKind.VERSION: "0.7.2",
}


def sent() -> list[str]:
    """Return the names of the settings that the extension sends to the server."""
    text = (EXTENSION / "src" / "settings.ts").read_text("utf-8")
    names = text.partition("OF_SERVER = [")[2].partition("]")[0]
    return re.findall(r'"(\w+)"', names)


def kebab(name: str) -> str:
    return re.sub(r"[A-Z]", lambda found: f"-{found[0].lower()}", name)


def test_its_version_is_that_of_the_server() -> None:
    assert PACKAGE["version"] == __version__


def test_each_setting_is_one_of_the_server_and_has_no_value_of_its_own() -> None:
    declared = PACKAGE["contributes"]["configuration"]["properties"]
    for name in sent():
        told = declared[f"placement-lint.{name}"]
        if name in {"inlayHints", "diagnosticMode"}:
            read_settings({name: told["default"]})
            continue
        option = BY_NAME[kebab(name)]
        assert told["default"] is None, "the project's setting holds"
        assert told["type"] == [TYPES[option.kind], "null"]
        assert read_settings({name: EXAMPLES[option.kind]}).options
    of_client = {"path", "interpreter", "trace.server"}
    assert {*declared} == {f"placement-lint.{name}" for name in {*sent(), *of_client}}


def test_its_commands_are_not_those_that_the_client_registers_for_the_server() -> None:
    commands = {each["command"].partition(".")[2] for each in PACKAGE["contributes"]["commands"]}
    text = (EXTENSION / "src" / "extension.ts").read_text("utf-8")
    assert commands == {*re.findall(r'command\("(\w+)"', text)}
    assert not commands & {"fixAll", "explain", "rules"}


def test_versions_are_exact_where_no_lock_file_keeps_them() -> None:
    assert all(re.fullmatch(r"[\d.]+", each) for each in PACKAGE["devDependencies"].values())
    assert not (EXTENSION / "package-lock.json").exists()


@pytest.mark.vscode
def test_its_own_tests_and_its_package(tmp_path: Path) -> None:
    """Run them: `pytest -m vscode tests/editors`, which installs from npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm here")
    copy = tmp_path / "editors" / "vscode"
    ignored = shutil.ignore_patterns("node_modules", "dist", "bundled")
    shutil.copytree(EXTENSION, copy, ignore=ignored)
    around = {**os.environ, "PYTHON": sys.executable}

    def run(*arguments: str) -> None:
        subprocess.run([npm, *arguments], cwd=copy, env=around, check=True)

    run("install", "--no-audit", "--no-fund")
    run("test")
    (copy / "bundle.mjs").write_text(
        (copy / "bundle.mjs")
        .read_text("utf-8")
        .replace('new URL("../../", import.meta.url).pathname', json.dumps(f"{TOP}/")),
        encoding="utf-8",
    )
    run("run", "package")
    with zipfile.ZipFile(copy / "dist" / "placement-lint.vsix") as package:
        names = {name.removeprefix("extension/") for name in package.namelist()}
    assert {"dist/extension.js", "package.json", "readme.md", "LICENSE.txt", "icon.png"} <= names
    assert any(name.startswith("bundled/placement_lint-") for name in names)
    assert not any("node_modules" in name or "test" in name for name in names)
