"""What MkDocs calls while it builds the site: `mkdocs.yml` names this file."""

from __future__ import annotations

import functools
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

# MkDocs loads this file by its path; the site is about the tree in which it stands.
sys.path.insert(0, str(Path(__file__).parents[1]))

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

from placement_lint.report.site import SITE, VARIABLE
from placement_lint.rules.pages import all_pages
from website import commands, links, measured, rules, settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

    from placement_lint.rules.pages import Page as RulePage


@functools.cache
def _pages() -> list[RulePage]:
    """Return the rules' pages, read once for each time that the site is built."""
    return all_pages()


_PARTS: dict[str, Callable[[], str]] = {
    "command-line": commands.command_line,
    "data-path": measured.data_path_table,
    "rules": lambda: rules.index(_pages()),
    "settings": settings.settings,
}
"""What stands in place of `<!-- generated: NAME -->` in a page."""
_MARKER = re.compile(r"^<!-- generated: (.+) -->$", re.MULTILINE)
_PICTURE = "pictures/data-path.png"
_MEASURED = "benchmarks.md"
_WHEN_THERE = (_MEASURED, "ci.md", "editors.md")
"""Pages that the navigation names and does without."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Set the address of the site, of which its pages' canonical links are made.

    That is where it is published, or where the variable says that a copy will be.
    """
    _pages.cache_clear()
    site = os.environ.get(VARIABLE) or SITE
    if site is not None:
        config.site_url = site.rstrip("/") + "/"
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that no file holds, and the pictures; complete the navigation."""
    pages = _pages()
    for page in pages:
        _add(files, config, rules.address(page.code), rules.page(page))
    picture = measured.data_path().with_suffix(".png")
    _add(files, config, _PICTURE, picture.read_bytes())
    comparison = measured.comparison()
    if comparison is not None:
        text, pictures = comparison
        _add(files, config, _MEASURED, text)
        for picture in pictures:
            _add(files, config, picture.name, picture.read_bytes())
    missing = {address for address in _WHEN_THERE if files.get_file_from_path(address) is None}
    config.nav = _with_rules(_without(config.nav or [], missing), pages)
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Fill in what is generated, and link codes to their rules."""
    filled = _MARKER.sub(lambda found: _part(found[1]), markdown)
    return links.with_links(filled, page.file.src_uri, {rule.code for rule in _pages()})


def _part(name: str) -> str:
    if name not in _PARTS:
        message = f"nothing is called `{name}` that could be generated"
        raise PluginError(message)
    return _PARTS[name]()


def _add(files: Files, config: MkDocsConfig, address: str, content: str | bytes) -> None:
    files.append(File.generated(config, address, content=content))


def _without(nav: list[Any], missing: set[str]) -> list[Any]:
    """Give a navigation without the pages that are not there."""
    kept = []
    for entry in nav:
        ((title, what),) = entry.items()
        if isinstance(what, list):
            kept.append({title: _without(what, missing)})
        elif what not in missing:
            kept.append(entry)
    return kept


def _short(about: str) -> str:
    """Give the beginning of what a family is about: a navigation is narrow."""
    prefix, _, what = about.partition(": ")
    return f"{prefix}: " + re.split(r"[,:]", what)[0]


def _with_rules(nav: list[Any], pages: list[Any]) -> list[Any]:
    """Give a navigation with every rule's page behind their index, by family."""
    index = "rules/index.md"
    families = [
        {
            _short(about): [
                {f"{rule.code} {rule.name}": rules.address(rule.code)} for rule in members
            ]
        }
        for about, members in rules.families(pages).items()
    ]
    return [
        {title: [index, *families]} if what == index else {title: what}
        for entry in nav
        for title, what in entry.items()
    ]
