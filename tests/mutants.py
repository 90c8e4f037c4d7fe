"""Breaks the code at random places and counts how many of these mistakes a test sees.

`python -m tests.mutants --sample 150 --seed 1` does so for each of three parts with mutmut, which
has to be installed and makes the folder `mutants/`; `[tool.mutmut]` in pyproject.toml says which
files and which tests. What came of it goes into today's record in `fixtures/records/`: how many
there are, which were tried, and which survived. `--show NAME` shows one of them.
"""

from __future__ import annotations

import argparse
import datetime as dt
import importlib.metadata
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

VERSION = 1
ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "fixtures" / "records"
SUFFIX = "-mutants.json"
FOLDER = Path("mutants")
PARTS = {
    "interpreter": ("placement/",),
    "names": tuple(f"syntax/{name}.py" for name in ("names", "imports", "mentions", "definitions")),
    "fixes": ("syntax/edits.py", "lint/fixing.py", "lint/writing.py", "files/write.py"),
}
"""Of the package: files, or the beginnings of their names."""

KILLED, SURVIVED, UNSEEN, TIMEOUT = "killed", "survived", "in no test", "timeout"
_OUTCOMES = {0: SURVIVED, 1: KILLED, 3: KILLED, 5: UNSEEN, 33: UNSEEN, 24: TIMEOUT, 36: TIMEOUT}


def outcome_of(code: int) -> str:
    """Say what mutmut's exit code for a mutant means: a process that died saw it, too."""
    return _OUTCOMES.get(code, KILLED)


def known(folder: Path) -> dict[str, dict[str, int | None]]:
    """Give the mutants of each part, with their exit codes as far as they were tried."""
    found: dict[str, dict[str, int | None]] = {part: {} for part in PARTS}
    for path in sorted((folder / "placement_lint").rglob("*.meta")):
        name = path.relative_to(folder / "placement_lint").as_posix()
        codes = json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
        for part, beginnings in PARTS.items():
            if name.startswith(beginnings):
                found[part].update(codes)
    return found


def sampled(names: Iterable[str], count: int, seed: int) -> list[str]:
    """Choose so many of them; a larger count with the same seed has the smaller one's, too."""
    ordered = sorted(names)
    random.Random(seed).shuffle(ordered)  # noqa: S311 - not a secret
    return sorted(ordered[:count])


def judged(codes: Mapping[str, int | None], chosen: Sequence[str]) -> dict[str, Any]:
    """Count what came of the chosen ones of a part."""
    outcomes = {name: outcome_of(code) for name in chosen if (code := codes[name]) is not None}
    counts = {
        what: sum(outcome == what for outcome in outcomes.values())
        for what in (KILLED, TIMEOUT, SURVIVED, UNSEEN)
    }
    seen = counts[KILLED] + counts[TIMEOUT]
    return {
        "mutants": len(codes),
        "tried": len(outcomes),
        **counts,
        "share": round(seen / len(outcomes), 3) if outcomes else None,
        "survivors": sorted(n for n, what in outcomes.items() if what in {SURVIVED, UNSEEN}),
    }


def _mutmut(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "mutmut", *arguments], check=False)


def main(arguments: Sequence[str]) -> int:
    """Try a sample of each part, and note what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=150, help="how many of each part")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=PARTS, action="append", default=[])
    parser.add_argument("--jobs", default="1")
    parser.add_argument("--show", metavar="NAME")
    args = parser.parse_args(arguments)
    if args.show:
        _mutmut("show", args.show)
        return 0
    parts = args.part or [*PARTS]
    if not (FOLDER / "mutmut-stats.json").exists():
        # Nothing has this name: mutmut makes the mutants, runs the tests once, and complains.
        _mutmut("run", "--max-children", args.jobs, "none")
    mutants = known(FOLDER)
    chosen = {part: sampled(mutants[part], args.sample, args.seed) for part in parts}
    untried = [n for part in parts for n in chosen[part] if mutants[part][n] is None]
    if untried:
        _mutmut("run", "--max-children", args.jobs, *untried)
    mutants = known(FOLDER)
    date = dt.datetime.now(tz=dt.timezone.utc).date().isoformat()
    path = RECORDS / (date + SUFFIX)
    before = json.loads(path.read_text(encoding="utf-8"))["parts"] if path.exists() else {}
    results = {part: judged(mutants[part], chosen[part]) for part in parts}
    for part, result in results.items():
        # What people found of survivors that change nothing stays, as long as they survive.
        same = before.get(part, {}).get("equivalent", {})
        result["equivalent"] = {n: why for n, why in same.items() if n in result["survivors"]}
    record = {
        "version": VERSION,
        "date": date,
        "tool": f"mutmut {importlib.metadata.version('mutmut')}",
        "seed": args.seed,
        "parts": {**before, **results},
    }
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    for part, result in results.items():
        left_out = {"survivors", "equivalent"}
        print(part, {key: value for key, value in result.items() if key not in left_out})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
