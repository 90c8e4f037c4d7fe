"""What a run writes is written again where nothing has changed, and nowhere else."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from placement_lint import cli
from placement_lint.cli import check, repeated, run_record
from placement_lint.config import load
from placement_lint.files import folders, store
from placement_lint.files.folders import OWN as FOLDER
from placement_lint.lint.incremental import cache_folder, tool_identity
from placement_lint.lint.incremental.cache_folder import WRITTEN, CacheFolder
from placement_lint.report import site
from tests.cli.conftest import HAZARD, MENDED
from tests.cli.test_start_up import HEAVY, imported_by, ours

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.cli.conftest import Result

OPTIONS = {
    "by default": ("src",),
    "here": (),
    "quietly": ("src", "-q", "--exit-zero", "--isolated"),
    "one file": ("src/pkg/hazard.py",),
    "elsewhere": ("src", "--cache-dir", "../cache"),
    "in full": ("src", "--output-format=full"),
    "in colour": ("src", "--output-format=full", "--color=always"),
}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder of a project, in which the command is called."""
    top = tmp_path / "project"
    package = top / "src" / "pkg"
    package.mkdir(parents=True)
    (package / "hazard.py").write_text(HAZARD)
    (package / "other.py").write_text(HAZARD)
    (package / "plain.py").write_text("import os\n")
    (top / ".git" / "info").mkdir(parents=True)
    monkeypatch.chdir(top)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    # Files are as if they had long been there.
    monkeypatch.setattr(store, "SETTLED", -(10**15))
    return top


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """Note the runs that find out something for themselves."""
    found: list[Sequence[str]] = []
    real = check.main

    def main(arguments: Sequence[str]) -> int:
        found.append(arguments)
        return real(arguments)

    monkeypatch.setattr(check, "main", main)
    return found


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    def lint(*arguments: str) -> Result:
        code = cli.main([*arguments])
        return (code, *capsys.readouterr())

    return lint


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_run_after_which_nothing_has_changed(
    options: tuple[str, ...], run: Callable[..., Result], done: list[Sequence[str]]
) -> None:
    first = run(*options)
    if len(done) == 1:
        run(*options)  # what makes its own folder in a folder that it looks at changes that one
    count = len(done)
    assert run(*options) == first
    assert run(*options) == first
    assert len(done) == count
    assert first[1].count("JDP204") == (1 if options[:1] == OPTIONS["one file"] else 2)
    assert run(*options, "--no-cache") == first


CHANGES: dict[str, tuple[str, str]] = {
    "another text": ("src/pkg/hazard.py", MENDED),
    "a file more": ("src/pkg/more.py", HAZARD),
    "a file in a folder more": ("src/pkg/inner/more.py", HAZARD),
    "a package": ("src/pkg/__init__.py", ""),
    "a package around": ("__init__.py", ""),
    "a package above": ("../__init__.py", ""),
    "settings": ("placement-lint.toml", 'ignore = ["JDP204"]\n'),
    "settings in the folder": (
        "src/pkg/pyproject.toml",
        '[tool.placement-lint]\nignore=["JDP2"]\n',
    ),
    "settings above": ("../.placement-lint.toml", 'ignore = ["JDP204"]\n'),
    "settings of the user": ("../config/placement-lint/placement-lint.toml", 'ignore = ["JDP2"]\n'),
    "settings that nobody reads": ("tox.ini", "[placement-lint]\nignore = JDP204\n"),
    "a requirement": ("requirements.txt", "jax==0.4.20\n"),
    "a length of lines": ("../ruff.toml", "line-length = 40\n"),
    "what git ignores": (".gitignore", "hazard.py\n"),
    "what git ignores in the folder": ("src/pkg/.gitignore", "hazard.py\n"),
    "what git ignores in this clone": (".git/info/exclude", "other.py\n"),
}


@pytest.mark.parametrize(("path", "text"), CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("options", [("src",), ("src/pkg/hazard.py",)], ids=["folder", "file"])
def test_what_has_changed_is_seen(
    options: tuple[str, ...],
    path: str,
    text: str,
    run: Callable[..., Result],
    done: list[Sequence[str]],
) -> None:
    matters = options == ("src",) or not path.endswith(("/more.py", "/exclude"))
    for content in (text, text + "\n\n", None):
        run(*options)
        run(*options)
        before = len(done)
        result = run(*options, "--no-cache")
        assert run(*options) == result
        # A run that has failed is not repeated.
        assert len(done) == before + (2 if result[0] == cli.FAILURE else 1)
        if content is None:
            Path(path).unlink()
        else:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(content)
        before = len(done)
        assert run(*options) == run(*options, "--no-cache")
        if content is not None:  # else all may be as it was once before
            assert len(done) == before + (2 if matters else 1)


def test_a_file_that_is_gone(run: Callable[..., Result], done: list[Sequence[str]]) -> None:
    assert run("src")[1].count("JDP204") == 2
    Path("src/pkg/hazard.py").unlink()
    assert run("src")[1].count("JDP204") == 1
    assert len(done) == 2


def test_another_tool(
    run: Callable[..., Result], done: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run("src")
    monkeypatch.setattr(run_record, "__file__", "elsewhere/run_record.py")
    run("src")
    assert len(done) == 2


def test_a_tool_with_a_module_more(
    run: Callable[..., Result],
    done: list[Sequence[str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    package = tmp_path / "package"
    (package / "rules").mkdir(parents=True)
    (package / "rules" / "one.py").write_text("")
    monkeypatch.setattr(tool_identity, "package_folder", lambda: str(package))
    run("src")
    run("src")
    assert len(done) == 1
    (package / "rules" / "two.py").write_text("")
    run("src")
    assert len(done) == 2


LOOPING = """import jax
import jax.numpy as jnp

cpu = jax.devices("cpu")[0]
with jax.default_device(cpu):
    rows = jnp.ones((1000, 8))
for i in range(3):
    print(float(rows[i, 0]))
"""


@pytest.mark.parametrize("place", ["src/pkg/train.py", "src/train.py"])
def test_what_lies_beside_a_file_decides_how_safe_its_fix_is(
    place: str, run: Callable[..., Result], done: list[Sequence[str]]
) -> None:
    Path("src/pkg/looping.py").write_text(LOOPING)
    Path(place).write_text("import os\n")
    alone = run("src/pkg/looping.py")
    assert run("src/pkg/looping.py") == alone
    Path(place).write_text("import looping\n")
    imported = run("src/pkg/looping.py")
    assert imported == run("src/pkg/looping.py", "--no-cache") != alone
    assert "unsafe" in imported[2]
    Path(place).unlink()
    assert run("src/pkg/looping.py") == alone
    # A run over all files does not depend on others.
    done.clear()
    assert run("src") == run("src")
    assert len(done) == 1


def test_records_of_runs_in_which_nothing_has_changed_are_bounded(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_folder, "_MOST_FILES", 8)
    for number in range(12):
        monkeypatch.setenv("PLACEMENT_LINT_DOCS", f"https://docs{number}.org")
        run("src")
    assert len([*Path(FOLDER).glob(f"*{WRITTEN}")]) <= 8
    assert run("src") == run("src", "--no-cache")


@pytest.mark.parametrize("name", ["FORCE_COLOR", "PLACEMENT_LINT_OUTPUT_FORMAT", "TERM"])
def test_another_environment(
    name: str,
    run: Callable[..., Result],
    done: list[Sequence[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run("src")
    monkeypatch.setenv(name, "json" if name.startswith("PLACEMENT") else "1")
    run("src")
    assert len(done) == 2


@pytest.mark.parametrize(
    "options",
    [
        *(["-v"], ["--timing"], ["--statistics"], ["--no-cache"], ["-o", "report.txt"], ["--diff"]),
        *(["--output-format", "json"], ["--config", "ignore=['JDP201']"], ["--reveal"]),
        ["--baseline", "known.json"],
    ],
    ids=lambda options: options[0].strip("-"),
)
def test_what_says_something_of_the_run_or_depends_on_more(
    options: list[str], run: Callable[..., Result], done: list[Sequence[str]]
) -> None:
    run("src", "--write-baseline", "known.json")
    done.clear()
    for _ in range(3):
        run("src", *options)
    assert len(done) == 3


def test_links_to_files_and_settings_that_extend_others(
    run: Callable[..., Result], done: list[Sequence[str]]
) -> None:
    Path("src/pkg/linked.py").symlink_to("hazard.py")
    for _ in range(3):
        run("src")
    assert len(done) == 3
    Path("src/pkg/linked.py").unlink()
    Path("placement-lint.toml").write_text('extend = "base.toml"\n')
    Path("base.toml").write_text('ignore = ["JDP204"]\n')
    for _ in range(3):
        run("src")
    assert len(done) == 6


def test_what_was_changed_a_moment_ago_may_change_unseen(
    run: Callable[..., Result], done: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "SETTLED", 10**12)
    for _ in range(3):
        run("src")
    assert len(done) == 3
    assert not [*Path(FOLDER).glob(f"*{WRITTEN}")]


@pytest.mark.parametrize("where", [FOLDER, "cache"])
def test_what_another_user_has_written(
    where: str, run: Callable[..., Result], done: list[Sequence[str]]
) -> None:
    options = ("src", *(() if where == FOLDER else ("--cache-dir", where)))
    run(*options)
    (record,) = Path(where).glob(f"*{WRITTEN}")
    signature, _, text = record.read_bytes().partition(b"\n")
    for data in (b"0" * 32 + b"\n" + text, signature + b"\n" + text + b"x", b"", b"\n", signature):
        record.write_bytes(data)
        before = len(done)
        assert run(*options)[0] == 1
        assert len(done) == before + 1


@pytest.mark.parametrize("record", [b"", b"1", b"1 x\n", b"9 9 9 9 9\n", b"-1 0 0 0 0\nabc"])
def test_a_damaged_record(
    record: bytes, run: Callable[..., Result], done: list[Sequence[str]]
) -> None:
    run("src")
    (path,) = Path(FOLDER).glob(f"*{WRITTEN}")
    CacheFolder(FOLDER, is_own=True).write_bytes(path.name, record)
    assert run("src")[0] == 1
    assert len(done) == 2


def test_all_names_that_decide_something_are_known() -> None:
    names = {load.HIDDEN_FILE, load.OWN_FILE, load.PROJECT_FILE, *load._UNREAD_FILES}
    assert names <= folders.DECIDING


def test_all_variables_that_decide_something_are_known() -> None:
    top = Path(repeated.__file__).parents[1]
    pattern = re.compile(r'(?:environ|environment)(?:\.get)?[(\[]"([A-Z_]+)"')
    asked = {
        name
        for folder in ("cli", "config", "files", "lint", "report")
        for path in (top / folder).rglob("*.py")
        for name in pattern.findall(path.read_text(encoding="utf-8"))
    }
    assert "XDG_CONFIG_HOME" in asked
    assert {
        name for name in asked if not name.startswith("PLACEMENT_LINT_")
    } <= run_record.VARIABLES
    assert site.VARIABLE.startswith("PLACEMENT_LINT_")


def test_little_is_imported() -> None:
    top = Path.cwd()
    command = (str(top / "src"), "--cache-dir", str(top.parent / "cache"))
    time.sleep(2.1)  # nothing may have changed a moment ago: see `store.SETTLED`
    assert "placement_lint.cli.check" in ours(imported_by(*command))
    loaded = imported_by(*command)
    assert len(ours(loaded)) <= 13
    assert not loaded & HEAVY
    assert not loaded & {"hashlib", "hmac", "json"}
