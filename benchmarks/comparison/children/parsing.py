"""A floor: let LibCST parse the files of a list, one after the other, and do nothing with them."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import libcst as cst


def main(listed: str) -> int:
    """Parse the files; give the exit code."""
    # As placement-lint does: trees have no cycles, and are gone when the last name of them is.
    gc.disable()
    for path in Path(listed).read_text(encoding="utf-8").splitlines():
        try:
            cst.parse_module(Path(path).read_bytes())
        except cst.ParserSyntaxError:
            continue
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
