"""`--new-since` and `--diff-against`, in repositories of git."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from placement_lint.cli.git import _hunks

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

Lint = Callable[..., tuple[int, str, str]]
PUT = "    jax.device_put(x, d)\n"
HEAD = "import jax\n\n\ndef f(x, d):\n"
IDENTITY = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")


def git(*arguments: str) -> str:
    line = ["git", *IDENTITY, *arguments]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


@pytest.fixture(autouse=True)
def _repository(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    (files / "broken.py").unlink()
    git("init", "--quiet", "--initial-branch", "main")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")


class TestNewSince:
    def test_lines_that_have_changed(self, lint: Lint) -> None:
        code, out, err = lint("--new-since", "HEAD", ".")
        assert (code, out) == (0, "")
        assert err == ("1 finding in unchanged lines not shown.\nNo findings in 2 files.\n")
        write("hazard.py", "import os\n" + HEAD + PUT + "    x = x + 1\n" + PUT)
        write("new file.py", HEAD + PUT)
        code, out, _ = lint("--new-since", "HEAD", ".")
        assert code == 1
        assert [line.split(" JDP")[0] for line in out.splitlines()] == [
            "hazard.py:8:5:",
            "new file.py:5:5:",
        ]
        git("add", ".")
        git("commit", "--quiet", "-m", "second")
        assert lint("--new-since", "HEAD", ".")[0] == 0
        assert lint("--new-since", "HEAD~1", ".")[1] == out

    def test_what_the_other_branch_did_is_not_new(self, lint: Lint) -> None:
        git("switch", "--quiet", "-c", "topic")
        write("topic.py", "import os\n")
        git("add", ".")
        git("commit", "--quiet", "-m", "topic")
        git("switch", "--quiet", "main")
        write("hazard.py", "import jax\n")
        git("commit", "--quiet", "-am", "fixed there")
        git("switch", "--quiet", "topic")
        assert lint("--new-since", "main", ".")[0] == 0

    def test_from_a_directory_below_and_odd_names(
        self, lint: Lint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write('sub/\u00e9 "b".py', HEAD + PUT)
        git("add", ".")
        git("commit", "--quiet", "-m", "odd")
        write('sub/\u00e9 "b".py', HEAD + PUT + PUT)
        monkeypatch.chdir("sub")
        code, out, _ = lint("--new-since", "HEAD")
        assert (code, out.count("JDP204")) == (1, 1)
        assert ":6:5: JDP204" in out

    def test_a_place_that_a_finding_goes_back_to(self, lint: Lint) -> None:
        text = (
            "import jax\nimport jax.numpy as jnp\n\ncpu = jax.devices('cpu')[0]\n"
            "with jax.default_device(cpu):\n    x = jnp.zeros({})\n\n\ny = x[0]\n"
        )
        write("made.py", text.format("8"))
        git("add", ".")
        git("commit", "--quiet", "-m", "made")
        assert "JDP201" not in lint("--new-since", "HEAD", "made.py")[1]
        write("made.py", text.format("9"))
        assert "made.py:9:5: JDP201" in lint("--new-since", "HEAD", "made.py")[1]

    def test_what_could_not_be_checked_is_always_said(self, lint: Lint) -> None:
        write("broken.py", "import jax\njax.f(\n")
        git("add", ".")
        git("commit", "--quiet", "-m", "broken")
        code, out, _ = lint("--new-since", "HEAD", ".")
        assert code == 1
        assert "JDP901" in out

    @pytest.mark.parametrize("ref", ["nosuch", "--output=x", "HEAD:hazard.py"])
    def test_a_commit_that_is_not_there(self, lint: Lint, ref: str) -> None:
        code, out, err = lint(f"--new-since={ref}", ".")
        assert (code, out) == (2, "")
        assert f"error: --new-since {ref}: there is no such commit here; in CI, fetch it" in err
        assert not Path("x").exists()

    def test_no_repository(self, lint: Lint) -> None:
        shutil.rmtree(".git")
        code, _, err = lint("--new-since", "HEAD", ".")
        assert code == 2
        assert "error: --new-since HEAD: not a git repository" in err

    @pytest.mark.parametrize("option", ["--fix", "--diff", "--write-baseline=b", "-"])
    def test_what_cannot_go_together(self, lint: Lint, option: str) -> None:
        code, out, err = lint("--new-since", "HEAD", option)
        assert (code, out) == (2, "")
        assert err.startswith("error: --new-since")

    def test_nothing_of_the_repository_is_run(self, lint: Lint) -> None:
        write("evil", "#!/bin/sh\ntouch ran\n")
        Path("evil").chmod(0o755)
        for key in ("diff.external", "core.fsmonitor", "diff.x.textconv", "core.pager"):
            git("config", key, str(Path("evil").absolute()))
        write(".gitattributes", "*.py diff=x\n")
        write("hazard.py", HEAD + PUT + PUT)
        assert lint("--new-since", "HEAD", ".")[0] == 1
        assert not Path("ran").exists()


def test_a_line_that_looks_like_a_header() -> None:
    patch = (
        b"diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1,2 @@ def f\n"
        b"--- a/y.py\n+++ b/y.py\n+@@ -1 +1 @@\n\\ No newline at end of file\n"
        b"@@ -5,2 +7,0 @@\n-a\n-b\n@@ -9 +9 @@\n-a\n+b\n"
        b"--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    )
    assert _hunks(patch) == {b"x.py": ((1, 2), (9, 9))}


class TestDiffAgainst:
    def test_as_text(self, lint: Lint) -> None:
        write("hazard.py", HEAD + PUT + PUT + "    return x\n")
        write("new.py", "import jax\n\njax.default_device = jax.devices('cpu')[0]\n")
        code, out, _ = lint("--statistics", "--diff-against", "HEAD", ".")
        assert code == 1
        assert out.splitlines()[:3] == [
            "  now  before  change",
            "    2       1      +1  JDP204  [*] device-put-discarded",
            "    1       0      +1  JDP101  [*] config-state-assignment",
        ]

    def test_what_is_gone(self, lint: Lint) -> None:
        write("hazard.py", "import os\n")
        code, out, _ = lint("--statistics", "--diff-against", "HEAD", ".")
        line = "    0       1      -1  JDP204      device-put-discarded\n"
        assert (code, out) == (0, "  now  before  change\n" + line)
        assert lint("--statistics", "--diff-against", "HEAD", "clean.py")[:2] == (0, "")

    def test_as_json(self, lint: Lint) -> None:
        write("hazard.py", HEAD + PUT + PUT)
        arguments = ("--statistics", "--output-format", "json", "--diff-against", "HEAD")
        (row,) = json.loads(lint(*arguments)[1])["statistics"]
        assert (row["code"], row["count"], row["before"]) == ("JDP204", 2, 1)

    def test_settings_are_those_of_the_commit(
        self, lint: Lint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write("sub/hazard.py", HEAD + PUT)
        write("sub/placement-lint.toml", 'ignore = ["JDP204"]\n')
        git("add", ".")
        git("commit", "--quiet", "-m", "settings")
        Path("sub/placement-lint.toml").unlink()
        monkeypatch.chdir("sub")
        out = lint("--statistics", "--diff-against", "HEAD")[1]
        assert out.splitlines()[1].startswith("    1       0      +1  JDP204")
        assert Path.cwd().name == "sub"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--diff-against", "HEAD"], "--diff-against compares counts: it needs --statistics"),
            (["--statistics", "--diff-against", "x"], "--diff-against x: there is no such commit"),
            (["--statistics", "--diff-against", "HEAD", ".."], "is outside of the repository"),
            (["--statistics", "--diff-against", "HEAD", "--add-noqa"], "cannot be combined"),
        ],
    )
    def test_what_cannot_be_done(self, lint: Lint, arguments: list[str], message: str) -> None:
        code, out, err = lint(*arguments)
        assert (code, out) == (2, "")
        assert message in err
