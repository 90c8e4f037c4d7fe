"""Trace the fixtures' programs where there is a GPU, and record what came of it.

`python -m tests.trace.programs_record --devices gpu --record`. The tests do the same on virtual
devices: this shows that what stands in for a GPU there behaves as one. Left out are programs that
want a mesh, since a machine may have one GPU, and programs of a library that is not installed.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from placement_lint.trace.launch import GPU, VIRTUAL
from tests import records
from tests.trace.test_programs import HAZARDS, dragged, traced, wanted

if TYPE_CHECKING:
    from tests.program_cases import ProgramCase

VERSION = 1
SUFFIX = "-traced-programs.json"
_MANY_DEVICES = ("Mesh", "make_mesh", "jax_num_cpu_devices")
_KIND = "import jax; print(jax.devices()[0].device_kind)"


def chosen() -> list[ProgramCase]:
    """Give the programs that move something, and that one accelerator and a host can run."""
    return [
        program
        for program in HAZARDS
        if wanted(program.files)
        and not any(
            word in text.expected.text for text in program.files.values() for word in _MANY_DEVICES
        )
        and all(importlib.util.find_spec(each) for each in program.needs)
    ]


def run(programs: list[ProgramCase], devices: str) -> dict[str, dict[str, Any]]:
    """Give, by program, the lines at which something should move and at which it does.

    Raises RuntimeError where a program of them fails: then nothing is known of any.
    """
    with tempfile.TemporaryDirectory() as folder:
        seen = traced(Path(folder).resolve(), [(each, each.files) for each in programs], devices)
        if seen.status:
            message = f"the programs ended with {seen.status}"
            raise RuntimeError(message)
        return {
            each.id: {
                "expected": [f"{path}:{line}" for path, line in sorted(wanted(each.files))],
                "moved": [f"{path}:{line}" for path, line in sorted(dragged(each, seen))],
            }
            for each in programs
        }


def main() -> int:
    """Run them all, print where JAX disagrees, and write the record if asked to."""
    made = argparse.ArgumentParser("python -m tests.trace.programs_record", description=__doc__)
    made.add_argument("--devices", choices=(VIRTUAL, GPU), default=VIRTUAL)
    made.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1))
    made.add_argument("--record", type=Path, nargs="?", const=records.RECORDS, metavar="FOLDER")
    options = made.parse_args()
    programs = chosen()
    parts = [programs[start :: options.jobs] for start in range(options.jobs)]
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        done = pool.map(run, parts, [options.devices] * options.jobs)
        found = {name: lines for part in done for name, lines in part.items()}
    differing = {
        name: lines for name, lines in sorted(found.items()) if lines["expected"] != lines["moved"]
    }
    print(f"{len(found)} programs, {len(differing)} differ", *differing.items(), sep="\n")
    if options.record is not None:
        kind = subprocess.run([sys.executable, "-c", _KIND], capture_output=True, check=True)
        whole = {
            "version": VERSION,
            "date": records.today(),
            "devices": options.devices,
            "accelerator": kind.stdout.decode().strip() if options.devices == GPU else None,
            "programs": len(found),
            "lines": sum(len(lines["expected"]) for lines in found.values()),
            "differing": differing,
            "tools": records.tools(),
            "source": records.source(),
        }
        print(records.write(records.as_text(whole), whole["date"], SUFFIX, options.record))
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
