"""The scripts that complete our options, in the shells they are for."""

from __future__ import annotations

import functools
import os
import pty
import re
import select
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from placement_lint import cli
from placement_lint.cli.parser import described
from placement_lint.rules.registry import all_rules

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SHELLS = ("bash", "fish", "zsh")
COMMANDS = cli._COMMANDS


def options_of(command: str) -> set[str]:
    """Give the options that the help of a command names."""
    parser = described(lambda: COMMANDS[command]([]))
    return {name for action in parser._actions for name in action.option_strings}


@pytest.fixture
def script(capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    def give(shell: str) -> str:
        assert cli.main(["generate-shell-completion", shell]) == 0
        return capsys.readouterr().out

    return give


def needs(shell: str) -> str:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    return program


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_option_is_in_it(shell: str, script: Callable[[str], str]) -> None:
    text = script(shell)
    for command in COMMANDS:
        assert re.search(rf"\b{command}\b", text)
        for name in options_of(command):
            own = f"-{'l' if name.startswith('--') else 's'} {name.lstrip('-')} "
            assert (own if shell == "fish" else name) in text, f"{command} {name}"
    for rule in all_rules():
        assert rule.code in text


def test_the_options_are_those_of_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        assert cli.main([command, "--help"]) == 0
        out = capsys.readouterr().out.replace("--[no-]", "--")
        assert {name for name in options_of(command) if not name.startswith("--no-")} <= set(
            re.findall(r"--?[a-zA-Z][a-z-]*", out)
        ) | {"--no-cache"}


def test_another_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["generate-shell-completion", "tcsh"]) == 2
    assert "unknown value `tcsh`" in capsys.readouterr().err
    assert cli.main(["generate-shell-completion"]) == 2


def test_a_command_without_a_parser_is_said() -> None:
    with pytest.raises(ValueError, match="without a parser"):
        described(lambda: None)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_reads_it(shell: str, script: Callable[[str], str], tmp_path: Path) -> None:
    path = tmp_path / "script"
    path.write_text(script(shell), encoding="utf-8")
    done = subprocess.run([needs(shell), "-n", str(path)], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_shellcheck_has_nothing_to_say(script: Callable[[str], str], tmp_path: Path) -> None:
    path = tmp_path / "script.bash"
    path.write_text(script("bash"), encoding="utf-8")
    command = [needs("shellcheck"), "-s", "bash", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


# What is typed, and some of what must be offered; nothing that does not begin like it.
LINES = [
    ("placement-lint --outp", {"--output-file", "--output-format"}),
    ("placement-lint --output-format ", {"flake8", "full", "json"}),
    ("placement-lint check --min-confidence ", {"definite", "likely", "possible"}),
    ("placement-lint --select JDP20", {"JDP201", "JDP204"}),
    ("placement-lint --select JDP101,JDP20", {"JDP101,JDP201", "JDP101,JDP204"}),
    ("placement-lint rule JDP20", {"JDP201", "JDP204"}),
    ("placement-lint ver", {"verify"}),
    ("placement-lint verify --dev", {"--devices"}),
    ("placement-lint trac", {"trace"}),
    ("placement-lint train", {"train.py"}),
    ("placement-lint check train", {"train.py"}),
    ("placement-lint trace train", {"train.py"}),
    ("placement-lint generate-shell-completion z", {"zsh"}),
]


def check(line: str, expected: set[str], offered: set[str]) -> None:
    word = line.rpartition(" ")[2]
    # fish also offers what holds the word somewhere, where nothing begins with it.
    assert expected <= offered
    assert {each for each in offered if not each.startswith(word)} == set()


@pytest.fixture
def folder(tmp_path: Path, script: Callable[[str], str]) -> Path:
    for shell in SHELLS:
        (tmp_path / f"script.{shell}").write_text(script(shell), encoding="utf-8")
    (tmp_path / "train.py").write_text("", encoding="utf-8")
    return tmp_path


def test_bash(folder: Path) -> None:
    program = (
        "source script.bash\n"
        'while IFS="" read -r line; do\n'
        '  read -ra COMP_WORDS <<< "$line"; [[ $line == *" " ]] && COMP_WORDS+=("")\n'
        "  COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )); _placement_lint\n"
        '  echo "${COMPREPLY[*]}"\n'
        "done\n"
    )
    lines = [*LINES, ("placement-lint --output-format = f", {"full"})]
    done = subprocess.run(
        [needs("bash"), "--norc", "-c", program],
        cwd=folder,
        input="".join(f"{line}\n" for line, _ in lines),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "error" not in done.stderr
    for (line, expected), out in zip(lines, done.stdout.splitlines(), strict=True):
        check(line, expected, set(out.split()))


def test_fish(folder: Path) -> None:
    program = "source script.fish\n" + "".join(
        f"echo '# {line}'; complete -C '{line}'\n" for line, _ in LINES
    )
    done = subprocess.run(
        [needs("fish"), "--no-config", "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HOME": str(folder)},
    )
    assert done.stderr == ""
    parts = re.split(r"^# .*\n", done.stdout, flags=re.MULTILINE)[1:]
    for (line, expected), out in zip(LINES, parts, strict=True):
        check(line, expected, {each.split("\t")[0] for each in out.splitlines()})


def test_zsh(folder: Path) -> None:
    """In a real terminal: zsh completes nowhere else."""
    program = needs("zsh")
    (folder / ".zshrc").write_text(
        "PS1='READY>'\nunsetopt beep\nautoload -Uz compinit\ncompinit -u -D\n"
        "source ./script.zsh\nzstyle ':completion:*' list-prompt ''\nLISTMAX=10000\n"
        # Nothing is put in: what could be is listed.
        "bindkey '^I' list-choices\n",
        encoding="utf-8",
    )
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover
        os.chdir(folder)
        environment = {"ZDOTDIR": str(folder), "TERM": "dumb", "PATH": os.environ["PATH"]}
        environment |= {"COLUMNS": "200", "LINES": "200"}
        os.execve(program, [program, "-i"], environment)  # noqa: S606 - there is no shell yet
    try:
        read_until(terminal, lambda text: "READY>" in text)
        for line, expected in LINES:
            wanted = {each.rpartition(",")[2] for each in expected}
            # Ctrl-U takes out the line before.
            os.write(terminal, b"\x15" + line.encode() + b"\t")
            read_until(terminal, functools.partial(lists, line, wanted))
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def lists(line: str, wanted: set[str], text: str) -> bool:
    """Tell whether behind the line that was typed everything stands that is to be offered."""
    _, typed, offered = text.partition(line)
    return bool(typed) and wanted <= set(re.findall(r"[\w.-]+", offered))


def read_until(terminal: int, is_there: Callable[[str], bool]) -> None:
    """Read what a terminal shows until something is there; fail where it does not come."""
    text, started = "", time.monotonic()
    while not is_there(text):
        assert time.monotonic() - started < 30, text
        if select.select([terminal], [], [], 1)[0]:
            text += os.read(terminal, 4096).decode(errors="replace")
