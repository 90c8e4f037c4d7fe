"""Which versions of JAX the files of a run are meant for."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass

from placement_lint.config import dependencies, line_length
from placement_lint.jaxmodel.versions import (
    NEWEST,
    TargetVersions,
    parse_version,
    target_of,
    written,
)

AUTO = "auto"
NEWEST_KNOWN = "newest"


@dataclass(frozen=True)
class Chosen:
    """A target, and where it is from."""

    target: TargetVersions
    origin: str

    def __str__(self) -> str:
        """Say it in one line."""
        low, high = written(self.target.lowest), written(self.target.highest)
        return f"{low if low == high else f'{low} to {high}'} ({self.origin})"


def target_for(setting: str, path: str) -> Chosen:
    """Give the target of a file by its setting: a version, or `auto` for what its project says."""
    if setting == NEWEST_KNOWN:
        return Chosen(TargetVersions(), "the newest known")
    if setting != AUTO:
        version = parse_version(setting) or NEWEST
        return Chosen(TargetVersions(version, version), "by the settings")
    return _of_folder(os.path.dirname(os.path.abspath(path)))


def deciding_text(setting: str, path: str) -> str:
    """Return what decides the target of a file, which takes less time than the target itself."""
    if setting != AUTO:
        return setting
    requirements = dependencies.jax_requirements(os.path.dirname(os.path.abspath(path)))
    return " or ".join(each.text for each in requirements)


def forget() -> None:
    """Find out anew what the projects say: a new run has begun."""
    _of_folder.cache_clear()
    dependencies.forget()
    line_length.forget()


@functools.lru_cache(maxsize=65536)
def _of_folder(folder: str) -> Chosen:
    requirements = dependencies.jax_requirements(folder)
    target = target_of([requirement.bounds for requirement in requirements])
    if target is None:
        return Chosen(TargetVersions(), "the newest known: no requirement of jax was found")
    source = os.path.relpath(requirements[0].source)
    lines = " or ".join(dict.fromkeys(each.text for each in requirements if each.bounds))
    return Chosen(target, f"{lines} in {source}")
