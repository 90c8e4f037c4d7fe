from __future__ import annotations

import pytest

from placement_lint.report import site
from placement_lint.report.site import VARIABLE, rule_url


def test_there_is_no_page_before_there_is_a_site() -> None:
    assert rule_url("JDP204", {}) == (site.SITE and f"{site.SITE}rules/JDP204/")


@pytest.mark.parametrize("told", ["http://127.0.0.1:8000", "https://docs.example/a/", "file:///x/"])
def test_a_copy_of_the_site(told: str) -> None:
    assert rule_url("JDP204", {VARIABLE: told}) == f"{told.rstrip('/')}/rules/JDP204/"


@pytest.mark.parametrize(
    "told", ["docs.example", "javascript:x", "https://a b", "https://a\x1b[0m", "https://ü"]
)
def test_what_is_no_address_is_no_site(told: str) -> None:
    assert rule_url("JDP204", {VARIABLE: told}) is None


def test_where_it_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "SITE", "https://docs.example/")
    assert rule_url("JDP204", {}) == "https://docs.example/rules/JDP204/"
    assert rule_url("JDP204", {VARIABLE: "http://own"}) == "http://own/rules/JDP204/"
