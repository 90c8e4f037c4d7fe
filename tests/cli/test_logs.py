"""What is printed is obeyed by no terminal, and by no log of a build."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import warm

if TYPE_CHECKING:
    from collections.abc import Callable

    Lint = Callable[..., tuple[int, str, str]]
    Process = Callable[..., subprocess.CompletedProcess[bytes]]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="names as POSIX has them")

VARIABLES = ("CI", "GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION")
EVIL = "\x1b[31m\u202e\u200b##vso[task.x y=z]##[add-matcher]a"
CODE = f'''import jax
"""
::stop-commands::token
 {EVIL.replace(chr(27), "")}
"""
name = "{EVIL.replace(chr(27), "")}"
x = jax.device_put(name)
jax.device_put(x)
x["##[error]b"]  # reveal: x
"""
   ::error::y
"""
'''
NAMES = (
    *("::stop-commands::token.py", " ::error::x.py", "##vso[task.x y=z]b.py", "a ##[x]b.py"),
    *("\x1b[31m.py", "\u202e.py", "a\n::error::b.py", "a\r.py", "\u200b::x.py", "-x.py"),
)
OBEYED = re.compile(
    r"^\s*::(?!error file=|warning file=|notice file=)|##\w*\[|"
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f]",
    re.MULTILINE,
)


@pytest.fixture
def nasty(files: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    for name in NAMES:
        (files / name).write_text(CODE, encoding="utf-8")
        (files / f"{name}.broken.py").write_text("import jax\n" + name, encoding="utf-8")
        (files / f"{name}.gone.py").symlink_to(f"{name}.nowhere")
    (files / "::x::y").mkdir()
    (files / "::x::y" / "placement-lint.toml").write_text(
        'select = 3\n"##[error]\\u202e" = 1\n', encoding="utf-8"
    )
    return files


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--output-format", "full", "--target-jax", "0.7"),
        ("--output-format", "json"),
        ("--output-format", "jsonl"),
        ("--output-format", "sarif"),
        ("--output-format", "gitlab"),
        ("--output-format", "junit"),
        ("--output-format", "rdjson"),
        ("--output-format", "markdown"),
        ("--output-format", "github"),
        ("--statistics",),
        ("--show-files",),
        ("--show-settings",),
        ("--show-settings", "--extend-exclude", "x\u202e##[y"),
        ("--reveal",),
        ("--fix", "--show-fixes"),
        ("--add-noqa",),
        ("--write-baseline", "##[b]\u202e.json"),
        ("--baseline", "##[b]\u202e.json"),
        ("--config", "##[b]\u202e.toml"),
        ("--config", "select = ['##[b]\u202e']"),
        ("--select", "##[b]\u202e"),
        ("--##[b]\u202e",),
        ("##[b]\u202e.py", "-v"),
        ("--output-file", "##[b]\u202e/x"),
    ],
    ids=" ".join,
)
def test_nothing_is_obeyed(nasty: Path, process: Process, arguments: tuple[str, ...]) -> None:
    done = process("--no-cache", *arguments)
    assert done.returncode in {0, 1, 2}
    for stream in (done.stdout, done.stderr):
        found = OBEYED.search(stream.decode("utf-8"))
        if "github" in arguments:
            # Behind the first `::` of a command of ours, GitHub looks for no other one.
            found = re.search("[\x1b\u202e]", stream.decode("utf-8"))
        assert found is None, stream[max(found.start() - 80, 0) :][:200]
    assert b"please report" not in done.stderr


def hunk(files: Path, text: str) -> tuple[str, str]:
    """Plant a file that can be fixed, with some text beside; give it before and after."""
    before = f"import jax\n{text}\nx = 1\njax.device_put(x)\n"
    (files / "mended.py").write_text(before, encoding="utf-8", newline="")
    return before, before.replace("\njax.", "\nx = jax.")


@pytest.mark.parametrize("text", ["'plain'", f'"""\n{EVIL}\x0c\r\n::error::x"""'])
def test_a_diff_in_a_pipe_is_exact(files: Path, process: Process, text: str) -> None:
    if shutil.which("patch") is None:
        pytest.skip("there is no patch here")
    before, after = hunk(files, text)
    diff = process("--diff", "mended.py", "--isolated").stdout
    subprocess.run(["patch", "-p0", "--binary"], input=diff, check=True, stdout=subprocess.DEVNULL)
    assert (files / "mended.py").read_bytes() == after.encode() != before.encode()


@pytest.mark.parametrize("variable", [None, *VARIABLES])
def test_a_diff_that_is_read_is_not_obeyed(
    files: Path, lint: Lint, monkeypatch: pytest.MonkeyPatch, variable: str | None
) -> None:
    """On a terminal, and in the log of a build; a file that is asked for has it as it is."""
    monkeypatch.setenv("NO_COLOR", "1")
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    hunk(files, "'plain'")
    plain = lint("--diff", "mended.py", "--isolated")[1]
    hunk(files, f'"""\n{EVIL}\n::error::x"""')
    exact = lint("--diff", "mended.py", "--isolated")[1]
    assert "\u202e" in exact
    if variable is None:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    else:
        monkeypatch.setenv(variable, "true")
    code, out, _ = lint("--diff", "mended.py", "--isolated")
    assert code == 1
    assert OBEYED.search(out) is None
    assert '\n \\x3a:error::x"""\n' in out
    lint("--diff", "mended.py", "--isolated", "--output-file", "x.patch")
    assert Path("x.patch").read_text(encoding="utf-8") == exact
    hunk(files, "'plain'")
    assert lint("--diff", "mended.py", "--isolated")[1] == plain


def test_messages_for_flake8_are_written_out(nasty: Path) -> None:
    done = subprocess.run(
        warm.command("flake8", "--isolated", "--select", "JDP", "##vso[task.x y=z]b.py"),
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    if "No module named flake8" in done.stderr:
        pytest.skip("there is no flake8 here")
    for line in done.stdout.splitlines():
        # The path is flake8's to write.
        assert OBEYED.search(line.partition(".py:")[2]) is None
