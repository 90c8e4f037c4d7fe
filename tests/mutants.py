"""Breaks the code at random places and counts how many of these mistakes a test sees.

`python -m tests.mutants --sample 150 --seed 1` does so for each of three parts; mutmut, which has
to be installed, says what the mutants are, and `tests/mutant_runs.py` runs them. `[tool.mutmut]` in
pyproject.toml says which tests they are held to. What came of it goes into today's record in
`fixtures/records/`: how many there are, which were tried, and which survived. `--show NAME` shows
one of them, `--survivors` each that survives; `--file placement/flow.py` tries those of one file,
and records nothing.
"""

from __future__ import annotations

import argparse
import datetime as dt
import difflib
import importlib.metadata
import json
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.mutant_runs import Mutant, definitions, mutants_of, try_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

VERSION = 1
ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "fixtures" / "records"
SUFFIX = "-mutants.json"
PACKAGE = ROOT / "placement_lint"
PARTS = {
    "interpreter": ("placement/",),
    "names": (
        *(f"syntax/{name}.py" for name in ("names", "imports", "definitions")),
        "prefilter/name_scan.py",
    ),
    "fixes": (
        "syntax/edits.py",
        "lint/fixes/apply.py",
        "lint/fixes/write_back.py",
        "files/write.py",
    ),
}
"""Of the package: files, or the beginnings of their names."""

KILLED, SURVIVED, UNSEEN, TIMEOUT = "killed", "survived", "in no test", "timeout"
_OUTCOMES = {0: SURVIVED, 1: KILLED, 3: KILLED, 5: UNSEEN, 33: UNSEEN, 24: TIMEOUT, 36: TIMEOUT}


def outcome_of(code: int) -> str:
    """Say what mutmut's exit code for a mutant means: a process that died saw it, too."""
    return _OUTCOMES.get(code, KILLED)


def files_of(part: str) -> list[Path]:
    """Give the files of a part."""
    beginnings = tuple(str(PACKAGE / beginning) for beginning in PARTS[part])
    return [path for path in sorted(PACKAGE.rglob("*.py")) if str(path).startswith(beginnings)]


def module_of(path: Path) -> str:
    """Give the name under which a file is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def tests() -> list[str]:
    """Give the arguments that select the tests."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutmut"]
    return [*told["pytest_add_cli_args"], *told["pytest_add_cli_args_test_selection"]]


def sampled(names: Iterable[str], count: int, seed: int) -> list[str]:
    """Choose so many of them; a larger count with the same seed has the smaller one's, too."""
    ordered = sorted(names)
    random.Random(seed).shuffle(ordered)  # noqa: S311 - not a secret
    return sorted(ordered[:count])


def judged(count: int, codes: Mapping[str, int]) -> dict[str, Any]:
    """Count what came of those that were tried, of so many of a part."""
    outcomes = {name: outcome_of(code) for name, code in codes.items()}
    counts = {
        what: sum(outcome == what for outcome in outcomes.values())
        for what in (KILLED, TIMEOUT, SURVIVED, UNSEEN)
    }
    seen = counts[KILLED] + counts[TIMEOUT]
    return {
        "mutants": count,
        "tried": len(outcomes),
        **counts,
        "share": round(seen / len(outcomes), 3) if outcomes else None,
        "survivors": sorted(n for n, what in outcomes.items() if what in {SURVIVED, UNSEEN}),
    }


def shown(mutant: Mutant) -> str:
    """Give the lines in which a mutant differs from what it is one of."""
    path = ROOT.joinpath(*mutant.module.split(".")).with_suffix(".py")
    original = definitions(path.read_text(encoding="utf-8"), mutant.path[:-1])[mutant.path[-1]]
    made = mutant.text.replace(f" {mutant.function}(", f" {mutant.path[-1]}(", 1)
    lines = difflib.unified_diff(original.split("\n"), made.split("\n"), lineterm="", n=2)
    return "\n".join([mutant.name, *(line for line in lines if line[:3] not in {"---", "+++"})])


def main(arguments: Sequence[str]) -> int:
    """Try a sample of each part, and note what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=150, help="how many of each part")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=PARTS, action="append", default=[])
    parser.add_argument("--file", metavar="PATH", help="inside of the package")
    parser.add_argument("--survivors", action="store_true", help="show them")
    parser.add_argument("--show", metavar="NAME")
    args = parser.parse_args(arguments)
    if args.show:
        module = args.show.rpartition(".")[0]
        path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
        print(*(shown(m) for m in mutants_of(path, module) if m.name == args.show))
        return 0
    parts = args.part or [*PARTS]
    files = {part: files_of(part) for part in parts}
    if args.file:
        files = {args.file: [PACKAGE / args.file]}
    mutants = {
        part: {m.name: m for path in paths for m in mutants_of(path, module_of(path))}
        for part, paths in files.items()
    }
    chosen = {part: sampled(known, args.sample, args.seed) for part, known in mutants.items()}
    every = [mutants[part][name] for part, names in chosen.items() for name in names]
    codes = try_out(every, tests())
    results = {
        part: judged(len(mutants[part]), {name: codes[name] for name in names})
        for part, names in chosen.items()
    }
    if args.survivors:
        surviving = {name for result in results.values() for name in result["survivors"]}
        print(*(shown(mutant) for mutant in every if mutant.name in surviving), sep="\n\n")
    if not args.file:
        record(results, args.seed)
    for part, result in results.items():
        left_out = {"survivors", "equivalent"}
        print(part, {key: value for key, value in result.items() if key not in left_out})
    return 0


def record(results: dict[str, dict[str, Any]], seed: int) -> None:
    """Write what came of the mutants of parts into today's record."""
    date = dt.datetime.now(tz=dt.timezone.utc).date().isoformat()
    path = RECORDS / (date + SUFFIX)
    before = json.loads(path.read_text(encoding="utf-8"))["parts"] if path.exists() else {}
    for part, result in results.items():
        # What people found of survivors that change nothing stays, as long as they survive.
        same = before.get(part, {}).get("equivalent", {})
        result["equivalent"] = {n: why for n, why in same.items() if n in result["survivors"]}
        result["seed"] = seed
    noted = {
        "version": VERSION,
        "date": date,
        "tool": f"mutmut {importlib.metadata.version('mutmut')}",
        "parts": {**before, **results},
    }
    path.write_text(json.dumps(noted, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
