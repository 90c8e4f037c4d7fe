"""Which packages are linted, and where their files are."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Sequence

FIXTURES = Path(__file__).parents[2] / "fixtures"
LIST = FIXTURES / "corpus.toml"


@dataclass(frozen=True)
class Package:
    """One distribution on PyPI, in one version."""

    name: str
    version: str
    quick: bool = False
    """Whether it is among the few that every run of CI looks at."""

    @property
    def requirement(self) -> str:
        """What pip is told."""
        return f"{self.name}=={self.version}"


def read_packages(path: Path = LIST) -> list[Package]:
    """Give the packages of a list. Raises TypeError for a key that means nothing."""
    with path.open("rb") as file:
        return [Package(**entry) for entry in tomllib.load(file)["package"]]


def chosen(packages: Sequence[Package], names: Sequence[str], *, quick: bool) -> list[Package]:
    """Give those with these names, or all; of them the quick ones, if so asked.

    Raises LookupError for a name that none has.
    """
    unknown = sorted(set(names) - {package.name for package in packages})
    if unknown:
        message = f"not in {LIST.name}: {', '.join(unknown)}"
        raise LookupError(message)
    named = [package for package in packages if not names or package.name in names]
    return [package for package in named if package.quick or not quick]
