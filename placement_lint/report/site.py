"""Where a rule's page can be read on the web: the only module that says so."""

from __future__ import annotations

import os

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping

SITE: str | None = None
"""Where the documentation is published, with a slash at its end; None: nowhere yet. As long as it
is None no report has a link to a page, for there is none that could be opened; `placement-lint
rule` has them all."""

VARIABLE = "PLACEMENT_LINT_DOCS"
"""An environment variable that names a copy of the site: one's own, or one that MkDocs serves."""

_SCHEMES = ("https://", "http://", "file://")


def rule_url(code: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the URL of a rule's page; None where there is no site.

    A variable that holds no address of one word in ASCII counts as none.
    """
    site = environment.get(VARIABLE) or SITE
    if site is None or not site.startswith(_SCHEMES):
        return None
    if not site.isascii() or not site.isprintable() or " " in site:
        return None
    return f"{site.rstrip('/')}/rules/{code}/"
