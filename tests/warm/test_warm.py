"""What runs in a fork of a warm process is what a process of its own does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests import warm
from tests.warm.client import START_IT
from tests.warm.server import Request

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not warm.CAN_FORK, reason="forks are not safe on this system")

HAZARD = "import jax\n\n\ndef f(x, d):\n    jax.device_put(x, d)\n    return x\n"
Done = tuple[int, bytes, bytes, dict[str, bytes]]

COMMANDS: dict[str, tuple[str, ...]] = {
    "finding": ("placement_lint", "--no-cache", "."),
    "two processes": ("placement_lint", "--no-cache", "-j", "2", "."),
    "fix": ("placement_lint", "--no-cache", "--fix", "hazard.py"),
    "diff": ("placement_lint", "--no-cache", "--diff", "--color", "always", "hazard.py"),
    "sarif": ("placement_lint", "--no-cache", "--output-format", "sarif", "."),
    "cache": ("placement_lint", "--cache-dir", "cache", "-q", "."),
    "stdin": ("placement_lint", "--stdin-filename", "b.py", "-"),
    "syntax error": ("placement_lint", "--no-cache", "broken.py"),
    "no such file": ("placement_lint", "nosuch.py"),
    "wrong usage": ("placement_lint", "--nosuch"),
    "wrong settings": ("placement_lint", "--config", "wrong.toml", "."),
    "help": ("placement_lint", "check", "--help"),
    "version": ("placement_lint", "--version"),
    "rule": ("placement_lint", "rule", "JDP204"),
    "no such module": ("placement_lint.nosuch",),
    "flake8": ("flake8", "--select", "JDP,F", "hazard.py"),
    "flake8 from stdin": ("flake8", "--select", "JDP,F", "-"),
}
SCRIPTS = {
    "exit code": "import sys; sys.exit(7)",
    "exit message": "import sys; print('out'); sys.exit('bye')",
    "exit at once": "import os; print('lost'); os._exit(3)",
    "to its end": "print(input())",
    "exception": "def f():\n    raise ValueError('é')\nf()",
    "interrupted": "raise KeyboardInterrupt",
    "killed": "import os; os.kill(os.getpid(), 9)",
    "at exit": "import atexit, threading\natexit.register(print, 'last')\n"
    "threading.Thread(target=print, args=['thread']).start()",
    "surroundings": "import os, sys\n"
    "print(sys.argv, sys.path, __name__, os.getcwd(), sys.flags)\n"
    "print({k: os.environ[k] for k in os.environ if k not in ('_', 'LC_CTYPE')}, os.umask(0))\n"
    "for s in (sys.stdin, sys.stdout, sys.stderr):\n"
    "    print(s.name, s.mode, s.encoding, s.errors, s.line_buffering, s.isatty(), s.newlines)",
    "closed output": "import os, sys; print('x'); os.close(1)",
    "what Python cannot print": "import sys; sys.stderr.write('\\ud800'); print('\\ud800')",
}


def done(folder: Path, line: list[str]) -> Done:
    """Run a command among some files, and give all that it prints and leaves."""
    folder.mkdir()
    (folder / "hazard.py").write_text(HAZARD, encoding="utf-8")
    (folder / "broken.py").write_text("import jax\njax.device_put(x, d\n", encoding="utf-8")
    (folder / "wrong.toml").write_text("slect = []\n", encoding="utf-8")
    run = subprocess.run(
        line, cwd=folder, input=f"{HAZARD}\n".encode(), capture_output=True, check=False
    )
    files = [path for path in folder.rglob("*") if path.is_file() and "cache" not in path.parts]
    left = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
    return run.returncode, run.stdout, run.stderr, left


def compared(tmp_path: Path, ours: list[str], *words: str) -> None:
    """Compare both, in folders of one name."""
    (tmp_path / "1").mkdir()
    expected = done(tmp_path / "1" / "folder", [sys.executable, *words])
    (tmp_path / "1").rename(tmp_path / "2")
    (tmp_path / "1").mkdir()
    assert done(tmp_path / "1" / "folder", ours) == expected


ALWAYS = {"finding", "no such module", "flake8"}


@pytest.mark.parametrize(
    "name",
    [name if name in ALWAYS else pytest.param(name, marks=pytest.mark.every) for name in COMMANDS],
)
def test_a_command_does_the_same(name: str, tmp_path: Path) -> None:
    """Some of them; all with `pytest -m every tests/warm`."""
    module, *words = COMMANDS[name]
    if module == "flake8":
        pytest.importorskip("flake8", reason="flake8 is not installed; the dev extra brings it")
    compared(tmp_path, warm.command(module, *words), "-m", module, *words)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_does_the_same(name: str, tmp_path: Path) -> None:
    code = SCRIPTS[name]
    compared(tmp_path, warm.script(code, "a", "-b"), "-c", code, "a", "-b")


def modules_of(line: list[str], environment: dict[str, str] | None = None) -> set[str]:
    run = subprocess.run(line, capture_output=True, check=True, env=environment)
    return set(json.loads(run.stdout))


LOADED = "import json, sys; print(json.dumps(sorted(sys.modules)))"


def test_it_has_imported_what_a_run_imports() -> None:
    """Else it is no faster than a start."""
    assert "placement_lint.lint.run" in modules_of(warm.script(LOADED))
    assert "placement_lint" not in modules_of([sys.executable, "-c", LOADED])


def test_what_python_reads_when_it_starts_holds() -> None:
    """Of the variables that a warm process was not started with, it lets Python know."""
    other = {**os.environ, "PYTHONHASHSEED": "7"}
    line = warm.script(LOADED)
    assert "placement_lint.lint.run" not in modules_of(line, other)
    line = warm.script(LOADED, environment=other)
    assert "placement_lint.lint.run" in modules_of(line, other)
    assert "placement_lint.lint.run" not in modules_of(line)


@pytest.mark.parametrize("words", [[], ["-m"], ["-P", "-m", "placement_lint"], ["program.py"]])
def test_what_it_does_not_do_is_left_to_python(words: list[str]) -> None:
    assert not Request(words, dict(os.environ), 0, []).can_be_run
    assert START_IT > 0xFF


WAITING = (
    "import os, signal, sys, time\n"
    "signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'caught'), sys.exit(5)))\n"
    "print(os.getpid(), flush=True)\n"
    "time.sleep(60)\n"
)


def test_a_signal_reaches_it() -> None:
    with subprocess.Popen(warm.script(WAITING), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == "caught"
        assert process.wait() == 5


def test_it_ends_with_the_one_that_asked() -> None:
    with subprocess.Popen(warm.script(WAITING), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.kill()
        deadline = time.monotonic() + 60
        while alive(pid):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_other_folders_to_import_from_hold(tmp_path: Path) -> None:
    """Also what customises Python, by which faults are planted."""
    (tmp_path / "sitecustomize.py").write_text("print('customised')\n", encoding="utf-8")
    code = "import sys; print(sys.path)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(warm.TOP)])}
    said = {
        subprocess.run(line, capture_output=True, check=True, env=environment).stdout
        for line in ([sys.executable, "-c", code], warm.script(code))
    }
    assert len(said) == 1
    assert said.pop().startswith(b"customised\n")
