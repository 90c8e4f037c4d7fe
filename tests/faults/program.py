"""A program in which every rule finds something, and what a run says of it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from placement_lint.rules.registry import all_rules
from placement_lint.version import __version__
from tests import warm
from tests.faults.injection import Fault, within
from tests.fixture_cases import FIXTURES, Case, read_cases

if TYPE_CHECKING:
    from collections.abc import Iterable

TOP = Path(__file__).parents[2]
ABOUT_COMMENTS = {"JDP902", "JDP904"}

PUT = "import jax\n\n\ndef f(x, d):\n    jax.device_put(x, d)\n    return x\n"
PLACED = "import jax\nimport jax.numpy as jnp\n\nwith jax.default_device(jax.devices('cpu')[0]):\n"
TEXTS = {
    "alone.py": PLACED + "    table = jnp.ones((8, 4))\ntable[0]\n",
    "names.py": "from jax import device_put as put\n" + PUT + "g = f  # noqa: JDP101\n",
    "uses.py": "from names import put\n\n\ndef g(x, d):\n    put(x, d)\n    return x\n",
    "data.py": PLACED + "    table = jnp.ones((8, 4))\n",
    "train.py": "from data import table\n\nfor i in range(8):\n    table[i]\n",
    "started.py": "import jax\n\nDEVICES = jax.devices()\n",
    "main.py": (
        'import os\nimport started\nos.environ["JAX_PLATFORMS"] = "cpu"\nimport jax\n' + PUT[11:]
    ),
    "early.py": "import jax\n\nON_HOST = jax.device_put(range(9), jax.devices('cpu')[0])\n",
    "late.py": "import jax\nimport early\n\njax.distributed.initialize()\n",
    "plain.py": "import os\n",
    "z_last.py": PUT,
}
"""Files that have to do with one another, and some that have not."""

USERS = {
    "names.py": {"uses.py"}, "data.py": {"train.py"}, "train.py": {"data.py"},
    "started.py": {"main.py"}, "early.py": {"late.py"}, "late.py": {"early.py"},
}  # fmt: skip
"""Of which files what is found in others depends on."""


def hazards() -> dict[str, str]:
    """Give a file for each rule in which it finds something, named after it: one that it mends,
    if there is one.
    """
    texts = {}
    for rule in all_rules():
        path = FIXTURES / rule.code / "hazards.py"
        cases = [case for case in read_cases(path) if _is_found(case)] if path.exists() else []
        if cases:
            chosen = next((case for case in cases if case.becomes is not None), cases[0])
            texts[f"{rule.code.lower()}.py"] = chosen.before.text
    return texts


def _is_found(case: Case) -> bool:
    here = case.needs_python <= sys.version_info[:2]
    return here and case.code in {expected.code for expected in case.before.findings}


def write(folder: Path, texts: dict[str, str]) -> Path:
    """Make a folder with these files."""
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def texts_in(folder: Path) -> dict[str, str]:
    """Give what the files of a folder hold, whatever their names."""
    return {path.name: path.read_bytes().decode() for path in folder.iterdir() if path.is_file()}


Place = tuple[str, int, int, str, str]


@dataclass(frozen=True)
class Said:
    """What a run says."""

    code: int
    findings: list[dict[str, Any]]
    errors: str

    def places(self, *, but: Iterable[str] = ()) -> list[Place]:
        """Give where what is found, but for some codes and for what failed."""
        left_out = {"JDP903", *but}
        return [
            (each["path"], each["line"], each["column"], each["code"], each["message"])
            for each in self.findings
            if each["code"] not in left_out
        ]

    @property
    def failed(self) -> dict[str, list[str]]:
        """From the files on which something failed to what is said of it."""
        found: dict[str, list[str]] = {}
        for each in self.findings:
            if each["code"] == "JDP903":
                found.setdefault(each["path"], []).append(each["message"])
                assert __version__ in each["message"]
        return found


def understood(code: int, output: str, errors: str) -> Said:
    """Read a report in JSON."""
    assert "Traceback" not in errors, errors
    return Said(code, json.loads(output)["findings"], errors)


def run(
    folder: Path, *arguments: str, faults: tuple[Fault, ...] = (), jobs: int = 1, seconds: int = 240
) -> Said:
    """Check a folder in another process, in which something fails."""
    done = subprocess.run(
        warm.command(
            *("placement_lint", ".", "--isolated", "--select", "ALL"),
            *("--target-jax", "0.12", "--output-format", "json", "-j", str(jobs), *arguments),
        ),
        cwd=folder,
        env=within(folder.parent / "site", *faults, parallel=jobs > 1),
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.stdout, done.stderr
    return understood(done.returncode, done.stdout, done.stderr)
