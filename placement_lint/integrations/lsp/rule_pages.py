"""Where an editor can open the page of a rule: on the web, or as a file."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from placement_lint.report.site import rule_url
from placement_lint.rules.pages import all_pages, find_page

if TYPE_CHECKING:
    from placement_lint.rules.pages import Page


def page_of(code: str) -> str | None:
    """Return a rule's page as Markdown; None if there is no such rule."""
    page = find_page(code)
    return None if page is None else _markdown(page)


def listed() -> list[dict[str, str]]:
    """Return the code, name and summary of each rule, sorted by code."""
    return [{"code": page.code, "name": page.name, "summary": page.summary} for page in all_pages()]


class RulePages:
    """The links to the pages of rules that one session with an editor hands out."""

    def __init__(self) -> None:
        """Begin without files: a page is written when its link is first asked for."""
        self._directory: Path | None = None
        self._links: dict[str, str | None] = {}

    def link(self, code: str) -> str | None:
        """Return the URL of a rule's page; None if there is no such rule, or no place for it.

        Where the documentation has no site, the page is written to a temporary directory: not into
        the workspace, which is the user's.
        """
        url = rule_url(code)
        if url is not None:
            return url
        if code not in self._links:
            self._links[code] = self._written(code)
        return self._links[code]

    def file(self, code: str) -> str | None:
        """Return the URL of a file with a rule's page; None as for `link`."""
        return self._written(code)

    def _written(self, code: str) -> str | None:
        page = find_page(code)
        if page is None:
            return None
        try:
            if self._directory is None:
                self._directory = Path(tempfile.mkdtemp(prefix="placement-lint-"))
            path = self._directory / f"{page.code}.md"
            path.write_text(_markdown(page), encoding="utf-8")
        except OSError:
            return None  # a full disk costs the link, not the diagnostics
        return path.as_uri()

    def delete(self) -> None:
        """Delete the files."""
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)


def _markdown(page: Page) -> str:
    fix = "no fix" if page.fix is None else f"{page.fix} fix"
    return f"# {page.code} `{page.name}`\n\n*{page.severity}, {fix}*\n\n{page.text}\n"
