"""Records of long runs of random programs: how they are made, named, found, and by what."""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import datetime as dt
import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from _typeshed import DataclassInstance

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "fixtures" / "records"
_TOOLS = ("jax", "jaxlib", "numpy", "safetensors", "libcst", "placement-lint")
_ASKED = ("jax", "jaxlib", "numpy", "safetensors")
"""What an oracle works with."""
_CIRCUMSTANCES = ("date", "seconds", "jobs", "tools", "source")

_sources_begun_with: list[str] = []
"""Digests of the analyser as it was when runs began: processes import parts of it as they go."""

Batch = TypeVar("Batch")
Result = TypeVar("Result")


class Recorded(Protocol):
    """What every record of random programs says beside what came of them."""

    seed: int
    date: str
    seconds: float
    jobs: int
    tools: dict[str, str]
    source: str
    """A digest of the analyser that was run."""

    @property
    def programs(self) -> int:
        """How many programs were run."""


def add_counts(to: DataclassInstance, more: object, *, key: str) -> None:
    """Add the counts that something has to those of the same name; `key` says of what they are."""
    for each in dataclasses.fields(to):
        new = getattr(more, each.name, None)
        if each.name != key and isinstance(new, int | Counter):
            setattr(to, each.name, getattr(to, each.name) + new)


def parser(package: str, description: str | None, programs: str) -> argparse.ArgumentParser:
    """Give a parser of what every run of random programs may be told; which these are is said."""
    made = argparse.ArgumentParser(f"python -m {package}", description=description)
    made.add_argument("--programs", type=int, default=10_000, help=f"{programs} (%(default)s)")
    made.add_argument("--seed", type=int, default=0, help="which ones (%(default)s)")
    made.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes (%(default)s)"
    )
    made.add_argument(
        "--record", type=Path, nargs="?", const=RECORDS, metavar="FOLDER",
        help="write a record; without a folder, where the tests look for the newest one",
    )  # fmt: skip
    return made


def say_progress(done: int, of: int) -> None:
    """Say how many batches are done: each on a terminal, else now and then."""
    if sys.stderr.isatty() or done == of or done % 20 == 0:
        print(f"{done} of {of} batches", file=sys.stderr)


def in_parallel(
    batches: Sequence[Batch],
    work: Callable[[Batch], Result],
    start: Callable[[str], None],
    jobs: int,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Result]:
    """Give what comes of each batch, in their order, from so many processes.

    `start` is called in each of them, with a folder that they share.
    """
    _sources_begun_with.append(source())
    with (
        tempfile.TemporaryDirectory() as cache,
        concurrent.futures.ProcessPoolExecutor(jobs, initializer=start, initargs=(cache,)) as pool,
    ):
        try:
            for done, result in enumerate(pool.map(work, batches), 1):
                yield result
                if progress is not None:
                    progress(done, len(batches))
        finally:
            # Who wants no more does not wait for what has not begun.
            pool.shutdown(wait=False, cancel_futures=True)


def today() -> str:
    """Give the date of a record."""
    return dt.datetime.now(dt.timezone.utc).date().isoformat()


def tools(names: Iterable[str] = _TOOLS) -> dict[str, str]:
    """Give the versions of what a record is made with, of what is installed."""
    versions = {"python": platform.python_version()}
    for name in names:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            if name == "placement-lint":
                versions[name] = "from the source tree"
    return versions


def source() -> str:
    """Give a digest of the analyser."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "placement_lint").rglob("*.py")):
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def tools_of(python: str) -> dict[str, str]:
    """Give the versions of what a record is made with where another Python runs JAX."""
    code = "import json; from tests.records import tools; print(json.dumps(tools()))"
    answer = subprocess.run([python, "-c", code], cwd=ROOT, capture_output=True, check=True)
    there: dict[str, str] = json.loads(answer.stdout)
    return {**tools(), **{name: there[name] for name in _ASKED if name in there}}


class ChangedError(Exception):
    """The analyser was edited while it was run: nobody can say what was measured."""


def circumstances(started: float, jobs: int) -> dict[str, Any]:
    """Give what is said of a run that started at a time of `time.monotonic`, by field.

    Raises ChangedError where the source is not what it was when the run began.
    """
    if _sources_begun_with and _sources_begun_with[-1] != source():
        raise ChangedError("the analyser was edited during the run: start it from a copy")
    seconds = round(time.monotonic() - started, 1)
    return dict(zip(_CIRCUMSTANCES, (today(), seconds, jobs, tools(), source()), strict=True))


def circumstances_of(whole: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a record says in the same fields."""
    return {name: whole[name] for name in _CIRCUMSTANCES}


def as_json(
    record: Recorded, version: int, totals: Mapping[str, object], parts: Mapping[str, object]
) -> str:
    """Give the text of a record: `totals` stand beside the number of programs, `parts` last."""
    return as_text(
        {
            "version": version,
            "date": record.date,
            "seed": record.seed,
            "programs": record.programs,
            **totals,
            "tools": record.tools,
            "source": record.source,
            "seconds": record.seconds,
            "jobs": record.jobs,
            **parts,
        }
    )


def as_text(whole: Mapping[str, object]) -> str:
    """Give the text of any record."""
    return json.dumps(whole, indent=1) + "\n"


def read(path: Path, version: int) -> dict[str, Any]:
    """Read any record. Raises ValueError for another version of its format."""
    whole: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if whole["version"] != version:
        message = f"{path}: version {whole['version']}, not {version}"
        raise ValueError(message)
    return whole


def write(text: str, date: str, suffix: str, folder: Path) -> Path:
    """Write a record: one for a day."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{date}{suffix}"
    path.write_text(text, encoding="utf-8")
    return path


def newest(suffix: str, folder: Path) -> Path | None:
    """Give the newest record, by its date."""
    return max(folder.glob(f"*{suffix}"), default=None, key=lambda path: path.name)
