"""What the tool says of a folder of files, in a form that holds nothing of the files themselves."""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from placement_lint.config.settings import Settings
from placement_lint.fingerprint import fingerprints
from placement_lint.lint.linter import Linter
from placement_lint.lint.results import FixMode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NEWEST = "0.12"
"""The JAX that the packages are linted for, so that a newer one on the machine changes nothing."""


@dataclass(frozen=True)
class Looked:
    """What was found in a package, and what fixing it gave."""

    files: int
    parsed: int
    findings: Mapping[str, str]
    """From a fingerprint to what it stands for: the place, and the code of the rule."""
    fixes: Mapping[str, str]
    """From the path of a file that fixes change to a digest of what they make of it."""
    left: int
    """How many findings are there after fixing."""

    def as_json(self) -> dict[str, Any]:
        """Give it as an object."""
        return asdict(self)


def look(folder: Path, jobs: int = 1) -> tuple[Looked, Mapping[str, str]]:
    """Lint the files below a folder with every rule, and fix them without writing.

    Gives with it what each finding says, by its fingerprint. No settings are read.
    """
    with _in_folder(folder):
        return _look_here(jobs)


@contextlib.contextmanager
def _in_folder(folder: Path) -> Iterator[None]:
    # `contextlib.chdir` came with Python 3.11.
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _look_here(jobs: int) -> tuple[Looked, Mapping[str, str]]:
    files = sorted(str(path) for path in Path().rglob("*.py"))
    settings = Settings(select=("ALL",), target_jax=NEWEST, unsafe_fixes=True)
    found = Linter(lambda _: settings, jobs=jobs, folders=True).check(files)
    marks = fingerprints(found.findings, found.sources)
    places, messages = {}, {}
    for mark, finding in zip(marks, found.findings, strict=True):
        place = f"{finding.path.replace(os.sep, '/')}:{finding.span.line}"
        places[mark] = f"{place} {finding.code}"
        messages[mark] = f"{place}:{finding.span.column}: {finding.code} {finding.message}"
    fixes: dict[str, str] = {}
    left = len(found.findings)
    if any(finding.fix is not None for finding in found.findings):
        fixed = Linter(lambda _: settings, jobs=jobs, fix=FixMode.DIFF, folders=True).check(files)
        fixes = {file.path.replace(os.sep, "/"): _digest(file.after) for file in fixed.fixed}
        left = len(fixed.findings)
    looked = Looked(
        len(files), found.parsed, dict(sorted(places.items())), dict(sorted(fixes.items())), left
    )
    return looked, messages


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
