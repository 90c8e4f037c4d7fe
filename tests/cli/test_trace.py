"""`placement-lint trace` leaves a program as it is: what it reads, says, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from placement_lint.cli import main
from tests.marks import COLUMNS, NEEDS_JAX
from tests.trace.running import command, environment

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = NEEDS_JAX
posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

NO_JAX = (
    "the program never imported JAX (0 confirmed, 0 did not move, 0 not reached, 0 not flagged)\n"
)
HAZARD = """\
import jax, jax.numpy as jnp
with jax.default_device(jax.devices("cpu")[0]):
    x = jnp.ones((8, 4))
for _ in range(3):
    x[0]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


Done = subprocess.CompletedProcess[str]


def traced(folder: Path, *words: str, stdin: str = "") -> Done:
    return subprocess.run(
        command("--devices", "virtual", *words),
        cwd=folder, input=stdin, capture_output=True, text=True, encoding="utf-8",
        env=environment(), check=False,
    )  # fmt: skip


def plain(folder: Path, *words: str, stdin: str = "") -> Done:
    kept = {k: v for k, v in environment().items() if k != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder, input=stdin, capture_output=True, text=True, encoding="utf-8",
        env=kept, check=False,
    )  # fmt: skip


def report_of(folder: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return value


JSON = ("--output-format", "json", "--output-file", "report.json")

PROGRAMS = {
    "exit-code": "import sys; sys.exit(7)",
    "exit-message": "import sys; print('out'); sys.exit('bye')",
    "exit-none": "raise SystemExit",
    "exception": "def f():\n    raise ValueError('mine')\n\nf()\n",
    "chained": "try:\n    1 / 0\nexcept Exception as e:\n    raise KeyError('x') from e\n",
    "syntax-error": "def f(:\n",
    "own-excepthook": (
        "import sys, traceback\n"
        "sys.excepthook = lambda k, e, t: print(k, e, len(traceback.extract_tb(t)))\n"
        "raise ValueError('mine')\n"
    ),
    "os-exit": "import os; print('out', flush=True); os._exit(3)",
    "thread-fails": (
        "import threading\n"
        "t = threading.Thread(target=lambda: 1 / 0, name='t')\nt.start()\nt.join()\n"
    ),
    "atexit": "import atexit, sys\natexit.register(print, 'last')\nsys.exit(4)\n",
    "main": (
        "import sys, pickle, __main__\n"
        "class A: pass\n"
        "pickle.loads(pickle.dumps(A()))\n"
        "print(sys.argv, __name__, __file__, sys.path[0], __spec__, __package__, __main__.A is A)\n"
        "print(sorted(n for n in globals() if n[0] == '_' and n != '__annotations__'))\n"
        "print(sys.stdin.read(), 'PYTHONPATH' in __import__('os').environ)\n"
    ),
    "imports": (
        "import sys\n"
        "names = {'record', 'stage', 'hooks', 'ledger', 'jax', 'libcst', 'numpy'}\n"
        "print(sorted(names & set(sys.modules)))\n"
        "try:\n    import ledger\nexcept ImportError as error:\n    print(error)\n"
    ),
    "interrupted": "raise KeyboardInterrupt",
}
"""Each ends in its own way, which must be the same traced."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_as_without_trace(name: str, folder: Path) -> None:
    (folder / "program.py").write_text(PROGRAMS[name], encoding="utf-8")
    words = ["program.py", "-x", "--devices", "gpu", "--", "-m"]
    expected = plain(folder, *words, stdin="typed")
    done = traced(folder, "--output-file", "report.txt", *words, stdin="typed")
    assert done.stdout == expected.stdout.replace(" False\n", " True\n")  # PYTHONPATH, for the test
    assert done.stderr == expected.stderr
    assert done.returncode == expected.returncode
    assert (folder / "report.txt").read_text(encoding="utf-8") == NO_JAX


def test_a_module_is_run_too(folder: Path) -> None:
    package = folder / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    text = "import sys\nprint(sys.argv, __name__, __package__, __spec__.name, sys.path[0])\n"
    (package / "__main__.py").write_text(text + "from . import other\n")
    (package / "other.py").write_text("print(__name__)\nraise ValueError('mine')\n")
    for name in ("package", "package.other"):
        expected = plain(folder, "-m", name, "a", "-b")
        done = traced(folder, "--output-file", "report.txt", "-m", name, "a", "-b")
        assert (done.returncode, done.stdout) == (expected.returncode, expected.stdout)
        # Python shows frames of runpy above the program's.
        assert done.stderr.splitlines()[-2:] == expected.stderr.splitlines()[-2:]
        assert "placement_lint" not in done.stderr


def test_the_report_goes_beside_the_output(folder: Path) -> None:
    (folder / "program.py").write_text(HAZARD + "print('out')\n")
    done = traced(folder, "program.py")
    assert (done.returncode, done.stdout) == (0, "out\n")
    first, last = done.stderr.splitlines()
    assert first.startswith(
        "program.py:5:5: confirmed JDP201: float32[8,4] copied 3 times, 384 bytes in "
    )
    made = "program.py:3:9" if COLUMNS else "program.py:3"
    assert first.endswith(f", from cpu:1 to cpu:0; made at {made}")
    assert last.startswith("3 implicit copies at 1 place: 384 bytes in ")


@posix
def test_what_was_seen_survives_a_signal(folder: Path) -> None:
    end = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"
    (folder / "program.py").write_text(HAZARD + end)
    done = traced(folder, *JSON, "program.py")
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, "")
    report = report_of(folder)
    assert report["program"]["signal"] == signal.SIGKILL
    assert report["program"]["exit_code"] is None
    assert report["summary"]["copies"] == 3
    assert report["summary"]["confirmed"] == 1


@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["term", "int"])
def test_signals_reach_the_program(folder: Path, number: signal.Signals) -> None:
    (folder / "program.py").write_text(
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: (print('caught'), sys.exit(5)))\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "placement_lint", "trace", "--devices", "virtual"),
            *("--output-file", "report.txt", "program.py"),
        ],
        cwd=folder, stdout=subprocess.PIPE, text=True, env=environment(), start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.read() == "caught\n"
        assert process.wait() == 5


def test_a_program_that_pins_itself_stays_there(folder: Path) -> None:
    pin = "import jax\njax.config.update('jax_platforms', 'cpu')\n"
    (folder / "program.py").write_text(pin + HAZARD + "print(jax.default_backend())\n")
    done = traced(folder, *JSON, "program.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "cpu\n", "")
    report = report_of(folder)
    assert report["lines"] == []
    (stage,) = report["environment"]["stage"]
    assert stage.startswith("the program pins itself to the CPU (jax_platforms)")


def test_names_of_platforms_are_played_too(folder: Path) -> None:
    (folder / "program.py").write_text(
        "import os\nos.environ['JAX_PLATFORMS'] = 'cuda'\n"
        "import jax, jax.numpy as jnp\n"
        "jax.config.update('jax_platforms', 'cuda,cpu')\n"
        "with jax.default_device('cpu'):\n    x = jnp.ones((8, 4))\n"
        "y = x[0]\n"
        "print(*x.devices(), *y.devices(), *(d.platform for d in (*x.devices(), *y.devices())))\n"
        "jax.config.update('jax_default_device', 'cpu')\n"
        "print(*(x + 1).devices())\n"
    )
    done = traced(folder, *JSON, "program.py")
    assert (done.returncode, done.stderr) == (0, "")
    names = done.stdout.replace("TFRT_CPU_", "cpu:")
    assert names == "cpu:1 cpu:0 cpu gpu\ncpu:1\n"
    assert report_of(folder)["summary"]["copies"] == 1


def test_other_processes_are_named(folder: Path) -> None:
    (folder / "program.py").write_text(
        "import multiprocessing, os, subprocess, sys\n"
        "def work(): pass\n"
        "if __name__ == '__main__':\n"
        "    subprocess.run(['true'])\n"
        "    subprocess.run([sys.executable, '-c', ''])\n"
        "    if os.fork() == 0:\n"
        "        os._exit(0)\n"
        "    os.wait()\n"
        "    process = multiprocessing.get_context('spawn').Process(target=work)\n"
        "    process.start(); process.join()\n"
        "    sys.exit(process.exitcode)\n"
    )
    done = traced(folder, *JSON, "program.py")
    assert (done.returncode, done.stderr) == (0, "")
    seen = [(each["what"], each["at"]["line"]) for each in report_of(folder)["not_covered"]]
    assert seen == [("a Python process", 5), ("a forked process", 6),
                    ("a process of multiprocessing", 10)]  # fmt: skip


def test_a_jax_without_what_is_wrapped_is_refused(folder: Path) -> None:
    (folder / "jax").mkdir()
    (folder / "jax" / "__init__.py").write_text("__version__ = '0.99'\nclass Array: pass\n")
    (folder / "program.py").write_text("print('begins')\nimport jax\nprint('goes on')\n")
    done = traced(folder, "program.py")
    assert (done.returncode, done.stdout) == (2, "begins\n")
    assert done.stderr.startswith("error: JAX 0.99 is not supported by trace: ")
    assert "Traceback" not in done.stderr


# -- how it is called -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "a script to run is needed, or -m and a module"),
        (("--devices", "virtual", "nosuch.py"), "nosuch.py: no such file"),
        (("--devices", "virtual", "."), ". is a directory: name the file in it to run"),
        (("--devices", "virtual", "-m", "no.such"), "No module named no.such"),
        (("--device", "gpu", "x.py"), "unknown option `--device`; did you mean `--devices`"),
        (("--devices", "tpu", "x.py"), "unknown value `tpu`"),
        (("--output-file", "no/such/folder", "--devices", "virtual", "a.py"), "no/such/folder: "),
    ],
)  # fmt: skip
def test_wrong_usage(
    words: tuple[str, ...],
    message: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    (folder / "a.py").write_text("print('ran')\n")
    assert main(["trace", *words]) == 2
    out, err = capfd.readouterr()
    assert message in err
    assert (out, err.count("error: ")) == ("", 1)


def test_a_report_that_cannot_be_written_in_the_end(folder: Path) -> None:
    text = "import os, sys\nos.remove('report.txt'); os.mkdir('report.txt')\nsys.exit({})\n"
    for code, expected in ((0, 2), (5, 5)):
        (folder / "program.py").write_text(text.format(code))
        done = traced(folder, "--output-file", "report.txt", "program.py")
        assert done.returncode == expected
        assert done.stderr.startswith("error: report.txt: ")
        (folder / "report.txt").rmdir()


def test_linting_loads_nothing_of_it(folder: Path) -> None:
    code = (
        "import sys\nfrom placement_lint.cli import main\nmain(['.'])\n"
        "print([name for name in sys.modules if 'trace.' in name])\n"
    )
    (folder / "program.py").write_text(HAZARD)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True,
        env=environment(), check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.every
def test_copies_fail_a_run_that_is_to_make_none(folder: Path) -> None:
    (folder / "copies.py").write_text(HAZARD, encoding="utf-8")
    (folder / "fails.py").write_text(f"{HAZARD}raise SystemExit(7)\n", encoding="utf-8")
    done = traced(folder, "--fail-on-copies", "--output-format", "full", "copies.py")
    assert done.returncode == 1
    assert "times are those of a simulated accelerator\n" in done.stderr
    assert re.search(r"3 implicit copies at 1 place: .* in .*, .*% of the run ", done.stderr)
    assert traced(folder, "--fail-on-copies", "fails.py").returncode == 7
    (folder / "commits.py").write_text(HAZARD.replace("x[0]", "x.shape"), encoding="utf-8")
    assert traced(folder, "--fail-on-copies", "commits.py").returncode == 0


def test_a_page_is_written_beside_the_report(folder: Path) -> None:
    (folder / "program.py").write_text("print(1)\n", encoding="utf-8")
    done = traced(folder, "--report", "report.html", "program.py")
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert NO_JAX in done.stderr
    assert "the program never imported JAX" in (folder / "report.html").read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_is_said_before_the_run(folder: Path) -> None:
    (folder / "program.py").write_text("print(1)\n", encoding="utf-8")
    done = traced(folder, "--report", "absent/report.html", "program.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert "absent" in done.stderr
