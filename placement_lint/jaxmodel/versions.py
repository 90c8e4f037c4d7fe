"""Versions of JAX: which there are, and which of them a program is meant for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Version: TypeAlias = "tuple[int, ...]"

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_MOST_DIGITS = 9

RELEASES: tuple[str, ...] = tuple(
    """
    0.4.1 0.4.2 0.4.3 0.4.4 0.4.5 0.4.6 0.4.7 0.4.8 0.4.9 0.4.10 0.4.11 0.4.12 0.4.13 0.4.14 0.4.16
    0.4.17 0.4.18 0.4.19 0.4.20 0.4.21 0.4.22 0.4.23 0.4.24 0.4.25 0.4.26 0.4.27 0.4.28 0.4.29
    0.4.30 0.4.31 0.4.33 0.4.34 0.4.35 0.4.36 0.4.37 0.4.38 0.5.0 0.5.1 0.5.2 0.5.3 0.6.0 0.6.1
    0.6.2 0.7.0 0.7.1 0.7.2 0.8.0 0.8.1 0.8.2 0.8.3 0.9.0 0.9.0.1 0.9.1 0.9.2 0.10.0 0.10.1 0.10.2
    0.11.0 0.11.1 0.11.2 0.12.0 0.12.0.1
    """.split()
)
"""The releases that are distinguished, oldest first. What is older than the first is treated as it,
what is newer than the last as that one: the model knows of no difference."""


def parse_version(text: str) -> Version | None:
    """Read the release part of a version: (0, 4, 30) of "0.4.30.dev1"; None for anything else.

    Zeros at the end say nothing: "0.7.0" and "0.7" are the same.
    """
    parts = release_of(text)
    if parts is None:
        return None
    while len(parts) > 1 and not parts[-1]:
        parts = parts[:-1]
    return parts


def release_of(text: str) -> Version | None:
    """Read the release part of a version, with the zeros at its end."""
    number = _NUMBER.match(text.strip().removeprefix("v"))
    if number is None:
        return None
    # A number of more digits is newer than all there is, however many more; Python reads none of
    # thousands (`sys.get_int_max_str_digits`).
    return tuple(int(part[:_MOST_DIGITS]) for part in number.group().split("."))


def _known(text: str) -> Version:
    version = parse_version(text)
    if version is None:
        message = f"{text!r} is no version"
        raise ValueError(message)
    return version


NEWEST = _known(RELEASES[-1])


@dataclass(frozen=True)
class TargetVersions:
    """The versions of JAX that a program is meant for: these two and all between them."""

    lowest: Version = NEWEST
    highest: Version = NEWEST

    def reaches(self, version: str | None) -> bool:
        """Return whether some of the versions are this one or newer. None: no version is."""
        return version is not None and self.highest >= _known(version)

    def all_reach(self, version: str | None) -> bool:
        """Return whether all of the versions are this one or newer. None: no version is."""
        return version is not None and self.lowest >= _known(version)

    def meets(self, since: str | None, until: str | None) -> bool:
        """Return whether one of the versions is `since` or newer, and older than `until`."""
        return (since is None or self.reaches(since)) and not self.all_reach(until)


_FROM = frozenset({">=", ">", "==", "===", "~="})


def target_of(alternatives: Iterable[Sequence[tuple[str, str]]]) -> TargetVersions | None:
    """Return the versions that alternatives of conditions leave; None where there is no condition.

    A condition is an operator of PEP 440 and a version, of which only the release counts. Without
    a lower bound only the newest of them: nobody says that older ones are meant as well. Where no
    known release is left, the version that is named stands for itself.
    """
    bounded = [each for each in alternatives if each]
    if not bounded:
        return None
    from packaging.specifiers import SpecifierSet  # 20 ms, and most runs need no target

    begun = [each for each in bounded if any(operator in _FROM for operator, _ in each)]
    admitted = [
        SpecifierSet(",".join(_condition(*bound) for bound in each)) for each in begun or bounded
    ]
    left = [_known(release) for release in RELEASES if any(release in each for each in admitted)]
    if left:
        return TargetVersions(left[0] if begun else left[-1], left[-1])
    named = [_known(version) for each in begun for operator, version in each if operator in _FROM]
    if named:
        return TargetVersions(max(named), max(named))
    # Something older than all that is known, as `jax<0.2` asks for: not what is new.
    lowest = min(_known(version) for each in bounded for _, version in each)
    return TargetVersions(lowest, lowest)


def _condition(operator: str, version: str) -> str:
    """Write a condition as PEP 440 allows it, for releases."""
    numbers = release_of(version) or ()
    text = ".".join(map(str, numbers))
    if operator in {"==", "===", "!="}:
        return operator[:2] + text + (".*" if version.endswith(".*") else "")
    return f">={text}" if operator == "~=" and len(numbers) == 1 else operator + text


def written(version: Version) -> str:
    """Return a version as text, as JAX writes it: three numbers at least."""
    return ".".join(map(str, (*version, *(0,) * (3 - len(version)))))
