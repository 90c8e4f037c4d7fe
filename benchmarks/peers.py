"""What placement-lint costs beside other tools: `python benchmarks/peers.py`.

All tools run on the same files in the same run, in turns. It makes what it needs (an environment
with the tools, the trees of files) below `--work`, writes the numbers to `benchmarks/results.json`,
and from those the table in `benchmarks/RESULTS.md`, its picture, and the README's lines.
"""

from __future__ import annotations

import sys
from pathlib import Path


def run() -> int:
    """Run the comparison."""
    sys.path[0] = str(Path(__file__).resolve().parents[1])

    from benchmarks.comparison.command import main

    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(run())
