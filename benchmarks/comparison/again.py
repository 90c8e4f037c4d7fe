"""`python benchmarks/again.py`: runs after an edit of a repository, and a commit hook's."""

from __future__ import annotations

import argparse
import ast
import datetime as dt
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.comparison import command, report
from benchmarks.comparison.measure import Cost, clean_environment, cost_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEPT = command.REPOSITORY / "benchmarks" / "again.json"
SETTLED = 2.2
"""Seconds after which a file that was written counts as it is."""
HOOKS = {
    "nothing can be found": """\
import jax
import jax.numpy as jnp


def loss(params, batch):
    return jnp.mean((batch["x"] @ params["w"] - batch["y"]) ** 2)


def step(params, batch):
    grads = jax.grad(loss)(params, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
""",
    "something is reported": """\
import jax
import jax.numpy as jnp

cpu = jax.devices("cpu")[0]
with jax.default_device(cpu):
    table = jnp.ones((1024, 512))
for row in range(8):
    print(table[row])
""",
}
HOOK_BARS = {"nothing can be found": 130, "something is reported": 250}


@dataclass(frozen=True)
class Edited:
    """Seconds of processor time that the runs over one repository took."""

    name: str
    cold: float
    unchanged: float
    edits: dict[str, float]


@dataclass(frozen=True)
class Again:
    """One run of the measurement."""

    date: str
    machine: str
    edited: tuple[Edited, ...]
    hooks: dict[str, float]
    """Milliseconds of processor time over `python -c pass`."""
    daemon: dict[str, float]
    """Milliseconds by the clock over `python -c pass`, with `--daemon`."""


def read(path: Path) -> Again | None:
    """Give the numbers that are kept in a file; None where there is none."""
    if not path.is_file():
        return None
    data = json.loads(path.read_text(encoding="utf-8"))
    data["edited"] = tuple(Edited(**each) for each in data["edited"])
    return Again(**data)


def part(done: Again | None) -> str:
    """Give the part of the page that is about runs after an edit."""
    if done is None:
        return ""
    kinds = [*done.edited[0].edits] if done.edited else []
    rows = [
        (each.name, *map(report.seconds, (each.cold, each.unchanged, *each.edits.values())))
        for each in done.edited
    ]
    hooks = [
        (f"one file in which {name}", f"≤ {HOOK_BARS[name]} ms", f"{found:.0f} ms")
        for name, found in done.hooks.items()
    ]
    daemon = [
        (f"one file in which {name}", f"≤ {HOOK_BARS[name]} ms", f"{found:.0f} ms")
        for name, found in done.daemon.items()
    ]
    return "\n".join(
        [
            "\n## After an edit\n",
            f"Measured on {done.date} by `python benchmarks/again.py`, on {done.machine}.",
            "Processor time of a run with `-j 1` that has the cache of the run before. The central",
            "file is the one that most other files import, the leaf one that none does; a comment",
            "is a new line at the top, a body has a new statement in its first function.\n",
            *report.table(("repository", "cold", "unchanged", *kinds), rows),
            "",
            "A commit hook, processor time over `python -c pass`:\n",
            *report.table(("what", "bar", "measured"), hooks),
            "",
            "The same with `--daemon`, by the clock, since another process works:\n",
            *report.table(("what", "bar", "measured"), daemon),
            "",
        ]
    )


def central_and_leaf(top: Path) -> tuple[Path, Path]:
    """Return the file of a repository with a function that most others import, and one of none.

    The latter is the largest of these that mentions JAX.
    """
    from placement_lint.files.store import FileStore
    from placement_lint.project.project import Project
    from placement_lint.project.roots import mentions_roots

    paths = sorted(str(path) for path in top.rglob("*.py"))
    store = FileStore()
    mentioning = [path for path in paths if mentions_roots(store.text(path).encode())]
    importers: dict[str, set[str]] = {path: set() for path in paths}
    for importer, imported, _ in Project(paths, mentioning, store=store).imports:
        importers[imported].add(importer)
    editable = [path for path in mentioning if _with_statement(store.text(path)) is not None]
    central = max(editable, key=lambda path: (len(importers[path]), path))
    leaves = [
        path
        for path in editable
        if not importers[path] and "test" not in str(Path(path).relative_to(top))
    ]
    return Path(central), Path(max(leaves, key=lambda path: (len(store.text(path)), path)))


def _with_comment(text: str) -> str:
    return f"# A comment.\n{text}"


def _with_statement(text: str) -> str | None:
    """Return a text with a statement more in its first function; None where there is none."""
    try:
        functions = [
            each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef)
        ]
    except SyntaxError:
        return None
    last = next((each.body[-1] for each in functions if len(each.body) > 1), None)
    if last is None:
        return None
    lines = text.split("\n")
    lines.insert(last.lineno - 1, f"{' ' * last.col_offset}print('edited')")
    return "\n".join(lines)


def _cost(folder: Path, *arguments: str) -> Cost:
    """Return what Python takes in a folder."""
    environment = clean_environment(Path(sys.executable).parent)
    # The directory of the socket; a short name, as sockets need it.
    environment["XDG_RUNTIME_DIR"] = os.environ.get("XDG_RUNTIME_DIR", tempfile.gettempdir())
    return cost_of([sys.executable, *arguments], folder, environment, {0, 1})


class _Runs:
    """Runs over a copy of one repository."""

    def __init__(self, top: Path, work: Path) -> None:
        self.folder = work / "edited" / top.name
        shutil.rmtree(self.folder, ignore_errors=True)
        ignored = shutil.ignore_patterns(".git", ".placement_lint_cache")
        shutil.copytree(top, self.folder, ignore=ignored)

    def seconds(self) -> float:
        """Return what a run over all of it takes, after files count as they are."""
        time.sleep(SETTLED)
        lint = [sys.executable, "-m", "placement_lint", "-j", "1", "--output-format", "json", "."]
        return cost_of(
            lint, self.folder, clean_environment(Path(sys.executable).parent), {0, 1}
        ).cpu

    def after(self, path: Path, edit: Callable[[str], str | None]) -> float:
        """Return what a run takes after an edit, which is undone."""
        before = path.read_text(encoding="utf-8")
        path.write_text(edit(before) or before, encoding="utf-8")
        found = self.seconds()
        path.write_text(before, encoding="utf-8")
        self.seconds()
        return found


def measured(top: Path, work: Path) -> Edited:
    """Measure the runs over one repository."""
    runs = _Runs(top, work)
    central, leaf = central_and_leaf(runs.folder)
    cold, unchanged = runs.seconds(), runs.seconds()
    edits = {
        "a comment, central": runs.after(central, _with_comment),
        "a comment, leaf": runs.after(leaf, _with_comment),
        "a body, central": runs.after(central, _with_statement),
        "a body, leaf": runs.after(leaf, _with_statement),
    }
    shutil.rmtree(runs.folder)
    return Edited(top.name, cold, unchanged, edits)


def hooks(work: Path, rounds: int, *options: str) -> dict[str, Cost]:
    """Return what one file takes over `python -c pass`, by what is found in it."""

    def median(*arguments: str) -> Cost:
        costs = [_cost(work, *arguments) for _ in range(rounds)]
        return Cost(
            statistics.median(each.wall for each in costs),
            statistics.median(each.cpu for each in costs),
            max(each.peak for each in costs),
        )

    empty = median("-c", "pass")
    taken = {}
    for name, text in HOOKS.items():
        path = work / "hook.py"
        path.write_text(text, encoding="utf-8")
        found = median("-m", "placement_lint", "--no-cache", *options, str(path))
        taken[name] = Cost(found.wall - empty.wall, found.cpu - empty.cpu, found.peak)
    return taken


def hooks_of_daemon(work: Path, rounds: int) -> dict[str, Cost]:
    """Return the same where a background process checks."""
    _cost(work, "-m", "placement_lint", "daemon", "start")
    try:
        return hooks(work, rounds, "--daemon")
    finally:
        _cost(work, "-m", "placement_lint", "daemon", "stop")


def main(arguments: Sequence[str]) -> int:
    """Run the command and give its exit code."""
    parser = argparse.ArgumentParser(prog="benchmarks/again.py", description=__doc__)
    parser.add_argument("directory", type=Path, help="folder with one repository in each folder")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="these repositories")
    parser.add_argument("--rounds", type=int, default=7, help="runs of the hook (default: 7)")
    parser.add_argument("--work", type=Path, default=command.REPOSITORY / ".benchmarks")
    args = parser.parse_args(arguments)
    work = args.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    hook = {name: 1000 * each.cpu for name, each in hooks(work, args.rounds).items()}
    daemon = {name: 1000 * each.wall for name, each in hooks_of_daemon(work, args.rounds).items()}
    tops = [top for top in sorted(args.directory.resolve().iterdir()) if top.is_dir()]
    edited = tuple(
        measured(top, work) for top in tops if args.only is None or top.name in args.only
    )
    date = dt.datetime.now(dt.timezone.utc).date().isoformat()
    found = Again(date, command.machine(), edited, hook, daemon)
    KEPT.write_text(json.dumps(asdict(found), indent=1) + "\n", encoding="utf-8")
    from benchmarks.comparison import publish

    publish.publish(command.KEPT, command.REPOSITORY)
    return 0
