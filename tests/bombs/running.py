"""Runs the command over a bomb and what lies beside it, and measures what that takes."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests import warm
from tests.bombs.kinds import KINDS, NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

TOP = Path(__file__).parents[2]
SENTINELS = {
    "a_sentinel.py": (
        "import jax\n\n\ndef f(x, d):\n    jax.device_put(x, d)\n    return x\n",
        {("JDP204", 5)},
    ),
    "data.py": (
        "import jax\nimport jax.numpy as jnp\n\n"
        'with jax.default_device(jax.devices("cpu")[0]):\n    table = jnp.ones((8, 4))\n',
        set(),
    ),
    "train.py": ("from data import table\n\nprint(table[0])\n", {("JDP201", 3)}),
    "z_sentinel.py": (
        "import jax\nimport jax.numpy as jnp\n\n"
        'with jax.default_device(jax.devices("cpu")[0]):\n    t = jnp.ones((8, 4))\nt[0]\n',
        {("JDP201", 6)},
    ),
}
"""Files beside a bomb, and what is found in them: alone, and as one program of several files."""
FILE_SECONDS, RUN_SECONDS, MEGABYTES = 4, 20, 1000
"""What a file, the run and the process may take."""
PATIENCE = 600


@dataclass(frozen=True)
class Outcome:
    """What a bomb took, and what it left of the files beside it."""

    kind: str
    name: str
    files: int
    size: int
    """Bytes, of all its files."""
    seconds: float
    """Processor time, of all processes."""
    megabytes: float
    """The most memory that a process had."""
    named: int
    """How many files are said not to be checked to the end."""
    lost: tuple[str, ...]
    """Findings beside it that are gone."""
    wrong: str
    """What must not be: an internal error, another exit code."""

    @property
    def seconds_allowed(self) -> float:
        """The limit: of a file for each file, and never more than that of the run."""
        return min(FILE_SECONDS * self.files, RUN_SECONDS)

    @property
    def is_within(self) -> bool:
        """Whether all that is promised was kept."""
        in_time = self.seconds <= 1.2 * self.seconds_allowed + 1
        return in_time and self.megabytes <= MEGABYTES and not (self.lost or self.wrong)


def every() -> list[tuple[str, str]]:
    """Give the kinds and names of all bombs."""
    return [(kind, name) for kind, bombs in KINDS.items() for name in bombs]


def explode(kind: str, name: str, *arguments: str) -> Outcome:
    """Check a bomb, and what lies beside it, with the command."""
    files = KINDS[kind][name]()
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            Path(folder, path).parent.mkdir(parents=True, exist_ok=True)
            tail = "import data\nprint(data.table)\n" if path == NAME else ""
            Path(folder, path).write_text(text + tail, encoding="utf-8", newline="")
        for path, (text, _) in SENTINELS.items():
            Path(folder, path).write_text(text, encoding="utf-8")
        report = Path(folder, "report.json")
        code, seconds, megabytes, said = _run(folder, report, arguments)
        findings = json.loads(report.read_text(encoding="utf-8"))["findings"] if not said else []
    found = {(each["path"], each["code"], each["line"]) for each in findings}
    lost = [
        f"{path}:{line} {code}"
        for path, (_, expected) in SENTINELS.items()
        for code, line in expected
        if (path, code, line) not in found
    ]
    failed = [each["message"] for each in findings if each["code"] == "JDP903"]
    wrong = said or "; ".join(failed) or ("" if code == 1 else f"exit code {code}")
    named = {each["path"] for each in findings if each["code"] == "JDP900"}
    size = sum(len(text) for text in files.values())
    return Outcome(
        kind, name, len(files), size, seconds, megabytes, len(named), tuple(sorted(lost)), wrong
    )


def _run(folder: str, report: Path, arguments: Sequence[str]) -> tuple[int, float, float, str]:
    """Give the exit code, the seconds and megabytes that it took, and what was said wrongly."""
    script = (
        "import sys\n"
        "from placement_lint.cli import main\n"
        "code = main(sys.argv[1:])\n"
        "print('PEAK', open('/proc/self/status').read().split('VmHWM:')[1].split()[0])\n"
        "sys.exit(code)\n"
    )
    command = [
        *warm.script(script, "--isolated", "--no-cache", "-q", "-j", "1"),
        *("--file-time-limit", str(FILE_SECONDS), "--time-limit", str(RUN_SECONDS)),
        *("--memory-limit", str(MEGABYTES), "--output-format", "json"),
        *("--output-file", str(report), "--select", "ALL", *arguments, "."),
    ]
    environment = {**os.environ, "PYTHONPATH": str(TOP)}
    with subprocess.Popen(
        ["timeout", str(PATIENCE), *command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        errors = process.stderr.read()
        said, _, peak = process.stdout.read().rpartition("PEAK ")
        _, status, used = os.wait4(process.pid, 0)
        code = process.returncode = os.waitstatus_to_exitcode(status)
    is_well = report.exists() and peak and not said and "Traceback" not in errors
    wrong = "" if is_well else f"exit code {code}: {said} {errors}"
    # Not what `wait4` says, which counts what this process had when it started the other one.
    return code, used.ru_utime + used.ru_stime, int(peak or 0) / 1e3, wrong[-500:]
