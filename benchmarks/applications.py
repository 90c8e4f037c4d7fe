"""What a first run costs on whole repositories: `python benchmarks/applications.py DIRECTORY`.

Each folder of the directory is one repository. For each it measures, in turns, placement-lint
without a cache, LibCST's parse of all files that mention jax, and mypy, and puts the numbers into
`benchmarks/applications.json` and a part of `benchmarks/RESULTS.md`.
"""

from __future__ import annotations

import sys
from pathlib import Path


def run() -> int:
    """Run the comparison."""
    sys.path[0] = str(Path(__file__).resolve().parents[1])

    from benchmarks.comparison.applications import main

    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(run())
