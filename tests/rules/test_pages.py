"""The pages that are read from the rules' files are those that the rules have."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import pytest

from placement_lint.rules import pages
from placement_lint.rules.registry import all_rules, rule_by_code

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from placement_lint.rules.base import Rule

Facts = tuple[str, str, str, str | None, bool, str]


def facts(page: pages.Page) -> Facts:
    return (page.code, page.name, page.severity, page.fix, page.pedantic, page.text)


def facts_of(rule: type[Rule]) -> Facts:
    fix = None if rule.fix is None else rule.fix.value
    text = inspect.cleandoc(rule.__doc__ or "")
    return (rule.code, rule.name, rule.severity.value, fix, rule.pedantic, text)


def test_every_rule_has_its_page() -> None:
    assert [facts(page) for page in pages.all_pages()] == [facts_of(rule) for rule in all_rules()]


@pytest.mark.parametrize("word", ["JDP204", "jdp204", "Device-Put-Discarded"])
def test_a_rule_is_found_by_code_and_by_name(word: str) -> None:
    page = pages.find_page(word)
    assert page is not None
    assert facts(page) == facts_of(rule_by_code("JDP204"))


def test_the_file_of_a_rule_is_known_by_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_: list[bytes]) -> Iterator[pages.Page]:
        return iter(())

    monkeypatch.setattr(pages, "_read", nothing)
    rule = rule_by_code("JDP204")
    for word in ("JDP204", "jdp204"):
        page = pages.find_page(word)
        assert page is not None
        assert facts(page) == facts_of(rule)
    assert pages.find_page(rule.name) is None


@pytest.mark.parametrize("word", ["JDP2", "JDP999", "", "safe", 'JDP204"', "\udc80"])
def test_what_names_no_rule_has_no_page(word: str) -> None:
    assert pages.find_page(word) is None


def test_without_the_sources_the_classes_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = all_rules()
    (tmp_path / "family").mkdir()
    (tmp_path / "family" / "rule.pyc").touch()
    monkeypatch.setattr(pages, "_FOLDER", str(tmp_path))
    assert pages.find_page("JDP204") is None
    assert [facts(page) for page in pages.all_pages()] == [facts_of(rule) for rule in rules]
    found = pages.pages_of(["JDP204", "JDP999"])
    assert [facts(page) for page in found.values()] == [
        facts_of(rule) for rule in rules if rule.code == "JDP204"
    ]
