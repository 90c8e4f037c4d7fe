"""Print, as JSON, how much is in a tree, and which files mention jax and pass the rules' filter."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from placement_lint.config.settings import Settings
from placement_lint.lint.check_file import passes_filter
from placement_lint.prefilter.conditions import FileText
from placement_lint.rules.selection import select_rules


def main(top: str) -> int:
    """Look at every file; give the exit code."""
    rules = select_rules(Settings(), "")
    sizes = dict.fromkeys(
        ("files", "lines", "size", "jax_files", "jax_lines", "parsed_files", "parsed_lines"), 0
    )
    mentioning, parsed = [], []
    for path in sorted(Path(top).rglob("*.py")):
        data = path.read_bytes()
        lines = data.count(b"\n")
        sizes["files"] += 1
        sizes["lines"] += lines
        sizes["size"] += len(data)
        with_jax = b"jax" in data
        if with_jax:
            sizes["jax_files"] += 1
            sizes["jax_lines"] += lines
            mentioning.append(str(path))
        if passes_filter(FileText(data, jax=with_jax), rules):
            sizes["parsed_files"] += 1
            sizes["parsed_lines"] += lines
            parsed.append(str(path))
    json.dump({"sizes": sizes, "mentioning": mentioning, "parsed": parsed}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
