"""The tools that are compared, each in the ways it is used: commands, and what comes before."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.comparison.measure import clean_environment, cost_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from benchmarks.comparison.measure import Cost

OURS_COLD_1, OURS_COLD_2 = "placement-lint, cold, -j 1", "placement-lint, cold, -j 2"
OURS_WARM, OURS_CHANGED = "placement-lint, warm", "placement-lint, one file changed"
RUFF_COLD, RUFF_WARM = "ruff E,F, cold", "ruff E,F, warm"
RUFF_CHANGED = "ruff E,F, one file changed"
FLAKE8, FIXIT = "flake8", "Fixit, one rule"
READING, PARSING = "floor: reading the bytes", "floor: LibCST parses what mentions jax"
_FIXIT_RULE = "fixit.rules.no_inherit_from_object:NoInheritFromObject"
_CHILDREN = "benchmarks/comparison/children"


def _nothing() -> None:
    """Leave things as they are."""


@dataclass(frozen=True)
class Tool:
    """One way to run a tool on a tree."""

    name: str
    command: tuple[str, ...]
    allowed: frozenset[int] = frozenset({0})
    """The exit codes of a run that did its work."""
    slow: bool = False
    primed: bool = False
    """It is run once before it is measured: what it remembers is what is measured."""
    unchanged: bool = False
    """It is run before each turn: since then nothing has changed, no date either."""
    before: Callable[[], None] = field(default=_nothing)
    after: Callable[[], None] = field(default=_nothing)


class Changing:
    """A file that is another one at each turn, and afterwards what it was, its date included."""

    def __init__(self, path: Path) -> None:
        """Take the file."""
        self._path = path
        self._turn = 0

    def change(self) -> None:
        """Add a line that the file never had."""
        self._data, self._stat = self._path.read_bytes(), self._path.stat()
        self._turn += 1
        line = f"\nTURN_{os.getpid()}_{self._turn} = {self._turn}\n"
        self._path.write_bytes(self._data + line.encode())

    def restore(self) -> None:
        """Put back what it was."""
        self._path.write_bytes(self._data)
        os.utime(self._path, ns=(self._stat.st_atime_ns, self._stat.st_mtime_ns))


class Installed:
    """An environment that has all tools."""

    def __init__(self, folder: Path, repository: Path) -> None:
        """Take where it is, and where this repository is."""
        self.binaries = folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = str(self.binaries / "python")
        self.repository = repository
        self.environment = clean_environment(self.binaries)

    def program(self, name: str) -> str:
        """Give the path of a program."""
        return str(self.binaries / name)

    def child(self, name: str, *arguments: str) -> list[str]:
        """Give the command that runs one of our scripts, which sees nothing but the environment."""
        return [self.python, "-I", str(self.repository / _CHILDREN / f"{name}.py"), *arguments]

    def said(self, *command: str) -> str:
        """Give what a command prints."""
        run = subprocess.run(
            command, capture_output=True, text=True, check=True, env=self.environment
        )
        return run.stdout

    def cost(self, tool: Tool, folder: Path) -> Cost:
        """Measure one run of a tool in a folder."""
        tool.before()
        try:
            return cost_of(tool.command, folder, self.environment, tool.allowed)
        finally:
            tool.after()


def tools_on(
    installed: Installed, tree: Path, caches: Path, mentioning: Path, changing: Changing | None
) -> list[Tool]:
    """Give all tools for a tree.

    `caches` is an empty folder for what tools remember, and `mentioning` names a file that lists
    the files which mention jax. `changing` is the file to change; None: nothing is changed.
    """
    target = str(tree)
    ours = [installed.program("placement-lint"), "check", target, "--isolated", "--exit-zero", "-q"]
    ruff = [installed.program("ruff"), "check", target, "--isolated", "--exit-zero", "--quiet"]
    ruff += ["--select", "E,F", "--output-format", "concise"]
    knows_cache = "--no-cache" in installed.said(ours[0], "--help")
    cold = [*ours, "--no-cache"] if knows_cache else ours

    def with_cache(command: Sequence[str], name: str) -> tuple[str, ...]:
        return (*command, "--cache-dir", str(caches / name))

    tools = [
        Tool(READING, (*installed.child("reading", target),)),
        Tool(PARSING, (*installed.child("parsing", str(mentioning)),), slow=True),
        Tool(OURS_COLD_1, (*cold, "-j", "1")),
        Tool(OURS_COLD_2, (*cold, "-j", "2")),
        Tool(RUFF_COLD, (*ruff, "--no-cache")),
    ]
    if knows_cache:
        tools.append(Tool(OURS_WARM, with_cache(ours, "ours"), unchanged=True))
    tools.append(Tool(RUFF_WARM, with_cache(ruff, "ruff"), unchanged=True))
    if changing is not None:
        before, after = changing.change, changing.restore
        if knows_cache:
            command = with_cache(ours, "ours-changed")
            tools.append(Tool(OURS_CHANGED, command, primed=True, before=before, after=after))
        command = with_cache(ruff, "ruff-changed")
        tools.append(Tool(RUFF_CHANGED, command, primed=True, before=before, after=after))
    flake8 = (installed.program("flake8"), "--isolated", "--exit-zero", target)
    fixit = (installed.program("fixit"), "--quiet", "--rules", _FIXIT_RULE, "lint", target)
    tools.append(Tool(FLAKE8, flake8, slow=True))
    # Violations are 1, and files that it cannot parse 2.
    tools.append(Tool(FIXIT, fixit, frozenset({0, 1, 2, 3}), slow=True))
    return tools


PASS = "python -c pass"  # noqa: S105
VERSION, HELP, RULE = "--version", "--help", "rule JDP201"
HOOK_PLAIN, HOOK_JAX = "one file without jax", "one file with jax"
HOOK_PLAIN_WARM, HOOK_JAX_WARM = f"{HOOK_PLAIN}, seen before", f"{HOOK_JAX}, seen before"
HOOK_RUFF = "ruff E,F, one file"


def starts(installed: Installed, plain: Path, with_jax: Path, caches: Path) -> list[Tool]:
    """Give what is measured of starting: what takes no time but that."""
    ours = installed.program("placement-lint")
    isolated = ("--isolated", "--exit-zero", "-q")
    knows_cache = "--no-cache" in installed.said(ours, "--help")
    cold = ("--no-cache",) if knows_cache else ()
    ruff = (installed.program("ruff"), "check", str(with_jax), "--isolated", "--exit-zero", "-q")
    tools = [
        Tool(PASS, (installed.python, "-c", "pass")),
        Tool(VERSION, (ours, "--version")),
        Tool(HELP, (ours, "--help")),
        Tool(RULE, (ours, "rule", "JDP201")),
        Tool(HOOK_PLAIN, (ours, str(plain), *isolated, *cold)),
        Tool(HOOK_JAX, (ours, str(with_jax), *isolated, *cold)),
        Tool(HOOK_RUFF, (*ruff, "--select", "E,F", "--no-cache")),
    ]
    if knows_cache:
        for name, path in ((HOOK_PLAIN_WARM, plain), (HOOK_JAX_WARM, with_jax)):
            cache = ("--cache-dir", str(caches / f"hook-{path.stem}"))
            tools.append(Tool(name, (ours, str(path), *isolated, *cache), unchanged=True))
    return tools
