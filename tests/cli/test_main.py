from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from placement_lint import cli
from placement_lint.cli import check, main
from placement_lint.cli.hints import COMMANDS
from placement_lint.version import __version__

Process = Callable[..., "subprocess.CompletedProcess[bytes]"]
TOP = str(Path(__file__).parents[2])


def test_version(process: Process) -> None:
    run = process("--version")
    assert (run.returncode, run.stdout) == (0, f"placement-lint {__version__}\n".encode())


def test_help_names_every_command_and_is_short(process: Process) -> None:
    text = process("--help").stdout.decode()
    for word in ("rule", "verify", "--select", "--fix", "--diff", "--output-format", "--config"):
        assert word in text
    assert max(map(len, text.splitlines())) <= 100
    assert len(text.splitlines()) < 115


@pytest.mark.parametrize("command", ["check", "rule", "verify"])
def test_every_command_has_help(command: str, process: Process) -> None:
    run = process(command, "--help")
    assert run.returncode == 0
    assert run.stdout.startswith(b"usage: placement-lint")


def test_the_last_resort(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> int:
        message = "a\nb"
        raise ValueError(message)

    monkeypatch.setattr(check, "main", fail)
    assert main(["x.py"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: placement-lint {__version__} failed: ValueError: a\\nb (in ")
    assert err.endswith("; please report this\n")
    assert err.count("\n") == 1


def test_help_that_nobody_has_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    kept = capsys.readouterr()
    monkeypatch.setattr("placement_lint.cli.help.FILE", os.devnull + "/none")
    assert main(["--help"]) == 0
    assert capsys.readouterr() == kept


def test_interrupted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "main", interrupt)
    assert main([]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(os.name == "nt", reason="a signal of POSIX")
def test_interrupted_for_real(files: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "placement_lint", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": TOP},
    ) as running:
        # It waits for its standard input by now, or is still starting: then it is sent again.
        time.sleep(1)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
    assert (running.returncode, out, err) == (130, b"", b"")


def test_a_reader_that_goes_away(files: Path) -> None:
    for number in range(300):
        (files / f"{'long' * 20}{number}.py").touch()
    lister = f'"{sys.executable}" -m placement_lint --show-files'
    command = f"{lister} | head -n 1; echo ${{PIPESTATUS[0]}}"
    run = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": TOP},
    )
    assert run.stdout == "broken.py\n0\n"
    assert run.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_a_full_disk(files: Path) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        run = subprocess.run(
            [sys.executable, "-m", "placement_lint", "--show-files"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": TOP},
        )
    assert run.returncode == 2
    assert run.stderr == "error: standard output: No space left on device\n"


def test_output_that_the_terminal_cannot_show(files: Path) -> None:
    (files / "é日.py").touch()
    run = subprocess.run(
        [sys.executable, "-m", "placement_lint", "--show-files"],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": TOP, "PYTHONIOENCODING": "ascii"},
    )
    assert b"\\xe9\\u65e5.py\n" in run.stdout


def test_nothing_is_imported_from_the_current_folder(files: Path) -> None:
    for name in ("argparse", "dataclasses", "difflib", "libcst", "jax", "json", "pathlib"):
        (files / f"{name}.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "placement_lint", "hazard.py", "--output-format", "json"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": TOP},
    )
    assert (run.returncode, run.stderr[:5]) == (1, b"Found")


def test_what_is_suggested_are_commands() -> None:
    assert (*cli._COMMANDS,) == COMMANDS


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("chekc", "; did you mean `placement-lint check`?"),
        ("lint", "; use `placement-lint [PATH ...]`"),
        ("help", "; use `placement-lint --help`"),
        ("baseline", ""),
        ("src/chekc", ""),
        ("train.py", ""),
    ],
)
def test_a_path_that_is_meant_as_a_command(
    path: str,
    hint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([path]) == 2
    assert capsys.readouterr().err == f"error: {path}: No such file or directory{hint}\n"
