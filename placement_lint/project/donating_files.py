"""Which files may have something that donates by what they import from other files of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from placement_lint.project.donating_names import DonatingNames
    from placement_lint.project.modules import Modules

WORD = b"donate"
"""Part of all keywords by which something is donated."""
NAMES = "donate\njax"
"""What the file filter is to find in a file that uses what may donate in another one."""


def brings_donation(path: str, modules: Modules) -> bool:
    """Return whether a file uses a name of another one that may donate, also by way of packages."""
    return bool(modules.donating) and path in _names(modules).bringing


def may_donate(path: str, name: str, modules: Modules) -> bool:
    """Return whether a name of a file may donate, or stands for what may, by the words alone."""
    return bool(modules.donating) and _names(modules).may_donate(path, name)


def _names(modules: Modules) -> DonatingNames:
    # It loads parsers, which a run without a word of donation does not need.
    from placement_lint.project.donating_names import donating_names

    return modules.fact(donating_names)
