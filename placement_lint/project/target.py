"""Which versions of JAX the files of a run are meant for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from placement_lint.config.dependencies import Requirements
from placement_lint.config.line_length import LineLengths
from placement_lint.config.listings import Listings
from placement_lint.jaxmodel.versions import (
    NEWEST,
    TargetVersions,
    parse_version,
    target_of,
    written,
)

if TYPE_CHECKING:
    from placement_lint.config.dependencies import Requirement

AUTO = "auto"
NEWEST_KNOWN = "newest"


@dataclass(frozen=True)
class Chosen:
    """A target, and where it is from."""

    target: TargetVersions
    origin: str

    def __str__(self) -> str:
        """Return it as one line for the user."""
        low, high = written(self.target.lowest), written(self.target.highest)
        return f"{low if low == high else f'{low} to {high}'} ({self.origin})"


class ProjectMetadata:
    """What the files of projects say of these, each read once. A run has one, in its store."""

    def __init__(self) -> None:
        """Read nothing yet."""
        listings = Listings()
        self._requirements = Requirements(listings)
        self._lengths = LineLengths(listings)
        self._of_folder: dict[str, Chosen] = {}

    def target(self, setting: str, path: str) -> Chosen:
        """Return the target of a file by its setting: a version, or `auto` for its project's."""
        if setting == NEWEST_KNOWN:
            return Chosen(TargetVersions(), "the newest known")
        if setting != AUTO:
            version = parse_version(setting) or NEWEST
            return Chosen(TargetVersions(version, version), "by the settings")
        folder = os.path.dirname(os.path.abspath(path))
        if folder not in self._of_folder:
            self._of_folder[folder] = _chosen(self._requirements.of(folder))
        return self._of_folder[folder]

    def deciding_text(self, setting: str, path: str) -> str:
        """Return what decides the target of a file, which takes less time than the target."""
        if setting != AUTO:
            return setting
        requirements = self._requirements.of(os.path.dirname(os.path.abspath(path)))
        return " or ".join(each.text for each in requirements)

    def line_length(self, path: str) -> int | None:
        """Return how long the project lets the lines of a file be; None where it does not say."""
        return self._lengths.of(path)

    @property
    def unreadable(self) -> dict[str, str]:
        """The files that are there and could not be read, each with the reason."""
        return dict(sorted(self._requirements.unreadable.items()))


def _chosen(requirements: tuple[Requirement, ...]) -> Chosen:
    target = target_of([requirement.bounds for requirement in requirements])
    if target is None:
        return Chosen(TargetVersions(), "the newest known: no requirement of jax was found")
    source = os.path.relpath(requirements[0].source)
    lines = " or ".join(dict.fromkeys(each.text for each in requirements if each.bounds))
    return Chosen(target, f"{lines} in {source}")
