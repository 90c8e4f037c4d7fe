"""Records of long runs of random programs: how they are made, named, found, and by what."""

from __future__ import annotations

import concurrent.futures
import datetime as dt
import hashlib
import importlib.metadata
import platform
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "fixtures" / "records"
_TOOLS = ("jax", "jaxlib", "numpy", "safetensors", "libcst", "placement-lint")

Batch = TypeVar("Batch")
Result = TypeVar("Result")


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
    with (
        tempfile.TemporaryDirectory() as cache,
        concurrent.futures.ProcessPoolExecutor(jobs, initializer=start, initargs=(cache,)) as pool,
    ):
        for done, result in enumerate(pool.map(work, batches), 1):
            yield result
            if progress is not None:
                progress(done, len(batches))


def today() -> str:
    """Give the date of a record."""
    return dt.datetime.now(dt.timezone.utc).date().isoformat()


def tools() -> dict[str, str]:
    """Give the versions of what a record is made with."""
    versions = {"python": platform.python_version()}
    for name in _TOOLS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "from the source tree"
    return versions


def source() -> str:
    """Give a digest of the analyser."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "placement_lint").rglob("*.py")):
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def write(text: str, date: str, suffix: str, folder: Path) -> Path:
    """Write a record: one for a day."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{date}{suffix}"
    path.write_text(text, encoding="utf-8")
    return path


def newest(suffix: str, folder: Path) -> Path | None:
    """Give the newest record, by its date."""
    return max(folder.glob(f"*{suffix}"), default=None, key=lambda path: path.name)
