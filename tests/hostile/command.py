"""Runs the command over a folder in which good files lie beside others."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests import warm

TOP = Path(__file__).parents[2]
GOOD = "import jax\n\n\ndef f(x, d):\n    jax.device_put(x, d)\n    return x\n"
MENDED = GOOD.replace("    jax.device_put", "    x = jax.device_put")
GOOD_FILES = ("a_first.py", str(Path("package", "middle.py")), "z_last.py")
MEMORY = 1_000_000
"""In kB, for one process."""
SECONDS = 200
"""Of processor time, for one process: by the clock it depends on what else the machine does."""


def plant(folder: Path) -> None:
    """Put the good files into a folder."""
    (folder / "package").mkdir(parents=True)
    for name in GOOD_FILES:
        (folder / name).write_text(GOOD, encoding="utf-8")


def run(folder: Path, *arguments: str, jobs: int = 1) -> tuple[int, dict[str, Any], str]:
    """Give the exit code, what is said in JSON, and what else is said."""
    script = (
        "import resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_CPU, ({SECONDS}, {SECONDS + 10}))\n"
        "from placement_lint.cli import main\n"
        "code = main(sys.argv[1:])\n"
        "own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n"
        "print('PEAK', max(own, children), file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        warm.script(
            *(script, "--isolated", "--no-cache", "-j", str(jobs)),
            *("--output-format", "json", *arguments, "."),
        ),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
    )
    said, _, peak = done.stderr.rpartition("PEAK ")
    assert peak, done.stderr
    assert int(peak) < MEMORY, f"{peak} kB"
    assert "Traceback" not in said
    return done.returncode, json.loads(done.stdout), said
