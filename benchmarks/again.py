"""What a run costs after an edit: `python benchmarks/again.py DIRECTORY`.

Each folder of the directory is one repository, of which a copy is edited. It also measures what a
commit hook takes on one file, over `python -c pass`. The numbers go into `benchmarks/again.json`
and a part of `benchmarks/RESULTS.md`.
"""

from __future__ import annotations

import sys
from pathlib import Path


def run() -> int:
    """Run the measurement."""
    sys.path[0] = str(Path(__file__).resolve().parents[1])

    from benchmarks.comparison.again import main

    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(run())
