"""`python benchmarks/peers.py`: measure, keep the numbers, and write what they say."""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.comparison import results, tools, trees
from benchmarks.comparison.rounds import alternate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.comparison.tools import Installed, Tool

REPOSITORY = Path(__file__).resolve().parents[2]
KEPT = REPOSITORY / "benchmarks" / "results.json"
PEERS = REPOSITORY / "benchmarks" / "peers.txt"
_COMPARED = ("placement-lint", "ruff", "flake8", "fixit", "libcst")
_WITH_JAX = REPOSITORY / "fixtures" / "seeds" / "commitment.py"
_PLAIN = '"""A file that has nothing to do with it."""\n\nimport os\n\nprint(os.name)\n'


def main(arguments: Sequence[str]) -> int:
    """Run the command and give its exit code: 1 where a bar is not met."""
    args = _parser().parse_args(arguments)
    if not args.report:
        _Comparison(args).run()
    from benchmarks.comparison import publish

    return publish.publish(KEPT if args.results is None else args.results, REPOSITORY)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks/peers.py", description=__doc__)
    parser.add_argument(
        "--work",
        type=Path,
        default=REPOSITORY / ".benchmarks",
        help="folder for the environment, the trees and the caches (default: .benchmarks)",
    )
    parser.add_argument("--venv", type=Path, help="environment for the tools (default: in --work)")
    parser.add_argument("--wheels", type=Path, help="folder with the packages, not to download")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each tool (default: 5)")
    parser.add_argument(
        "--slow-rounds", type=int, default=1, help="turns of flake8 and Fixit (default: 1)"
    )
    parser.add_argument(
        "--quick-rounds", type=int, default=5, help="turns of runs of under 5 s (default: 5)"
    )
    parser.add_argument(
        "--start-rounds", type=int, default=21, help="turns of what only starts (default: 21)"
    )
    parser.add_argument("--trees", nargs="*", choices=trees.NAMES, default=trees.NAMES)
    parser.add_argument("--scale", type=float, default=1.0, help="smaller trees, to try it out")
    parser.add_argument(
        "--without", nargs="*", default=[], metavar="TOOL", help="tools to leave out, as: fixit"
    )
    parser.add_argument("--skip-growth", action="store_true", help="do not run growth.py")
    parser.add_argument(
        "--results",
        type=Path,
        help="write the numbers there, and the page beside them, not into the repository",
    )
    parser.add_argument(
        "--report", action="store_true", help="measure nothing: write the page from the numbers"
    )
    return parser


def install(folder: Path, *packages: str) -> Installed:
    """Make an environment where there is none, with the tools, other packages, and this one."""
    if not folder.is_dir():
        venv.create(folder, with_pip=True)
    installed = tools.Installed(folder, REPOSITORY)
    pip = [installed.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--requirement", str(PEERS), *packages], check=True)
    # Not editable: as users have it.
    ours = [*pip, "--force-reinstall", "--no-deps", str(REPOSITORY)]
    subprocess.run(ours, check=True)
    # Whatever the surroundings say of byte code, users have it.
    compiled = ["-m", "compileall", "-q", str(next(folder.glob("lib/python*/site-packages")))]
    subprocess.run([installed.python, *compiled], check=False, env=installed.environment)
    return installed


class _Comparison:
    """One run of everything."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.work: Path = args.work.resolve()
        self.started = time.monotonic()

    def run(self) -> None:
        self.work.mkdir(parents=True, exist_ok=True)
        installed = self._install()
        done = results.Results(
            date=dt.datetime.now(dt.timezone.utc).date().isoformat(),
            machine=machine(),
            versions=_versions(installed),
            start_up=self._start_up(installed),
            trees=tuple(self._tree(name, installed) for name in self.args.trees),
            growth=() if self.args.skip_growth else self._growth(installed),
        )
        target = self.args.results or KEPT
        target.write_text(results.written(done), encoding="utf-8")

    def _install(self) -> Installed:
        """Make the environment, or take the one that is named, and put this package in."""
        folder = (self.args.venv or self.work / "venv").resolve()
        if not folder.is_dir():
            self._say("making the environment of the tools")
        return install(folder)

    def _start_up(self, installed: Installed) -> tuple[results.Row, ...]:
        folder = self._empty("start-up")
        plain, with_jax = folder / "plain.py", folder / "with_jax.py"
        plain.write_text(_PLAIN, encoding="utf-8")
        shutil.copy(_WITH_JAX, with_jax)
        started = tools.starts(installed, plain, with_jax, self._empty("start-up-caches"))
        return self._measured(started, folder, installed, self.args.start_rounds)

    def _tree(self, name: str, installed: Installed) -> results.Tree:
        self._say(f"making the tree: {name}")
        wheels = None if self.args.wheels is None else self.args.wheels.resolve()
        tree = trees.make_tree(name, self.work, wheels=wheels, scale=self.args.scale)
        answer = json.loads(installed.said(*installed.child("sizes", str(tree))))
        parsed: list[str] = answer["parsed"]
        listed = self.work / "mentioning.txt"
        listed.write_text("\n".join(answer["mentioning"]), encoding="utf-8")
        # One of middle size, so that neither the largest nor an empty one speaks for all.
        by_size = sorted(parsed, key=lambda path: (Path(path).stat().st_size, path))
        many = len(by_size) > 1
        changing = tools.Changing(Path(by_size[len(by_size) // 2])) if many else None
        caches = self._empty("caches")
        left_out = tuple(name.lower() for name in self.args.without)
        compared = [
            tool
            for tool in tools.tools_on(installed, tree, caches, listed, changing)
            if not (left_out and tool.name.lower().startswith(left_out))
        ]
        rows = self._measured(compared, self._empty("nowhere"), installed, self.args.rounds)
        return results.Tree(name, results.Size(**answer["sizes"]), rows)

    def _measured(
        self, compared: Sequence[Tool], folder: Path, installed: Installed, rounds: int
    ) -> tuple[results.Row, ...]:
        costs = alternate(
            compared,
            lambda tool: installed.cost(tool, folder),
            rounds=rounds,
            slow_rounds=min(rounds, self.args.slow_rounds),
            quick_rounds=self.args.quick_rounds,
            say=self._say,
        )
        return tuple(results.Row.of(tool.name, costs[tool.name]) for tool in compared)

    def _growth(self, installed: Installed) -> tuple[results.Growth, ...]:
        self._say("growth")
        script = str(REPOSITORY / "benchmarks" / "growth.py")
        lines = installed.said(installed.python, script, "--json").splitlines()
        return tuple(results.Growth(**json.loads(line)) for line in lines)

    def _empty(self, name: str) -> Path:
        folder = self.work / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def _say(self, text: str) -> None:
        print(f"[{time.monotonic() - self.started:7.1f} s] {text}", file=sys.stderr, flush=True)


def machine() -> str:
    """Say what this runs on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{platform.system()} {platform.machine()}, {cores} processors"


def _versions(installed: Installed) -> dict[str, str]:
    code = (
        "import importlib.metadata as m, platform, sys\n"
        "print('Python', platform.python_version())\n"
        "for name in sys.argv[1:]: print(name, m.version(name))"
    )
    lines = installed.said(installed.python, "-I", "-c", code, *_COMPARED).splitlines()
    return dict(line.rsplit(" ", 1) for line in lines)
