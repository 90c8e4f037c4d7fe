"""The site as it is built: complete, with no link into nothing, and of one piece.

`pytest -m every tests/docs` builds it, which takes ten seconds.
"""

from __future__ import annotations

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest

from placement_lint.report.site import VARIABLE, rule_url
from placement_lint.rules.pages import all_pages
from tests.docs.pages import DOCS, PAGES, TOP

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("mkdocs", reason="the extra `docs` is not installed")


class Document(HTMLParser):
    """What a page refers to, what it fetches, and what can be referred to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = {name: value or "" for name, value in attrs}
        self.anchors |= {facts[name] for name in ("id", "name") if name in facts}
        if tag == "a" and "href" in facts:
            self.links.append(facts["href"])
        if "src" in facts:
            self.fetched.append(facts["src"])
        if tag == "link" and facts.get("rel") in {"stylesheet", "icon"}:
            self.fetched.append(facts["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=TOP,
        env={
            **{name: value for name, value in os.environ.items() if name != "PLACEMENT_LINT_DOCS"},
            "NO_MKDOCS_2_WARNING": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return folder


@pytest.fixture(scope="module")
def documents(site: Path) -> dict[Path, Document]:
    return {
        path: Document(path.read_text(encoding="utf-8"))
        for path in site.rglob("*.html")
        if path.name != "404.html"
    }


@pytest.mark.every
def test_every_page_is_built_and_found_from_the_first(
    site: Path, documents: dict[Path, Document]
) -> None:
    wanted = {_built(site, page.relative_to(DOCS).as_posix()) for page in PAGES}
    wanted |= {site / "rules" / rule.code / "index.html" for rule in all_pages()}
    assert wanted <= documents.keys()
    home = site / "index.html"
    named = {target for _, target, _ in _links(site, {home: documents[home]})}
    assert named >= documents.keys() - {home}


@pytest.mark.every
def test_the_addresses_in_reports_are_those_of_the_site(site: Path) -> None:
    for rule in all_pages():
        address = rule_url(rule.code, {VARIABLE: site.as_uri()})
        assert address == (site / "rules" / rule.code).as_uri() + "/"
        assert (site / "rules" / rule.code / "index.html").is_file()


@pytest.mark.every
def test_every_link_leads_somewhere(site: Path, documents: dict[Path, Document]) -> None:
    seen = 0
    for path, target, anchor in _links(site, documents):
        seen += 1
        assert target.exists(), f"{path}: {target}"
        if target in documents:
            assert anchor in documents[target].anchors, f"{path}: {target}#{anchor}"
    assert seen > 1000


@pytest.mark.every
def test_nothing_is_fetched_from_elsewhere(site: Path, documents: dict[Path, Document]) -> None:
    for path, document in documents.items():
        assert document.fetched
        for address in document.fetched:
            parts = urlsplit(address)
            assert not parts.scheme or parts.scheme == "data", f"{path}: {address}"
            if not parts.scheme:
                assert (path.parent / unquote(parts.path)).resolve().is_file(), address


@pytest.mark.every
def test_everything_is_filled_in(documents: dict[Path, Document]) -> None:
    for path in documents:
        assert "<!-- generated" not in path.read_text(encoding="utf-8"), path


def test_a_name_of_nothing_is_refused() -> None:
    from mkdocs.exceptions import PluginError

    from website import hooks

    with pytest.raises(PluginError, match="nothing is called `other`"):
        hooks._part("other")


def _built(site: Path, address: str) -> Path:
    page = Path(address)
    return site / (page.with_suffix("") if page.stem != "index" else page.parent) / "index.html"


def _links(site: Path, documents: dict[Path, Document]) -> Iterator[tuple[Path, Path, str]]:
    """Yield each link within the site: its page, the file it leads to, and the anchor."""
    for path, document in documents.items():
        for link in document.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            yield path, target, unquote(parts.fragment)
