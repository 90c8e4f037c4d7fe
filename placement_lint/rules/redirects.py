"""What rules were once called: codes and names are a contract, so an old one goes on working."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

REDIRECTS: Mapping[str, str] = {}
"""From a code, or a name, that a rule had in a released version to the code that it has now.

A selector or a suppression with the old one means the rule of today. A rule that is taken away
leaves nothing here: then to select it is a mistake, which is said.
"""


def redirected(selector: str) -> str:
    """Return the current name of what a code or name was replaced by, else the selector itself."""
    return REDIRECTS.get(selector.upper(), REDIRECTS.get(selector.lower(), selector))
