from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from placement_lint.config.settings import Settings
from placement_lint.rules.registry import all_rules
from placement_lint.rules.selection import (
    UnknownSelectorError,
    _selected,
    matching_codes,
    select_rules,
)

EVERY = {rule.code for rule in all_rules()}
DEFAULT = {rule.code for rule in all_rules() if not rule.pedantic}
MOVES = {code for code in EVERY if code.startswith("JDP2")}


def selected(path: str = "a/x.py", **settings: Any) -> set[str]:
    codes = [rule.code for rule in select_rules(Settings(**settings), path)]
    assert codes == sorted(set(codes))
    return set(codes)


class TestSelectors:
    @pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
    def test_codes_and_names(self, rule: Any) -> None:
        for selector in (rule.code, rule.code.lower(), rule.name, rule.name.upper()):
            assert matching_codes(selector) == {rule.code}

    def test_prefixes(self) -> None:
        assert {"JDP201", "JDP202", "JDP203", "JDP204"} <= MOVES
        assert matching_codes("JDP2") == matching_codes("jdp2") == MOVES
        assert matching_codes("JDP20") == {code for code in MOVES if code.startswith("JDP20")}
        assert matching_codes("JDP") == EVERY

    def test_all(self) -> None:
        assert matching_codes("ALL") == matching_codes("all") == EVERY

    @pytest.mark.parametrize(
        ("selector", "nearest"),
        [
            ("JDP2041", "JDP204"),
            ("jdp1001", "JDP101"),
            ("JDP299", None),  # nobody can tell which
            ("JPD201", "JDP201"),
            ("device-put-discard", "device-put-discarded"),
            ("Device-Put-Discard", "device-put-discarded"),
            ("Q000", None),
            ("", None),
            ("J", None),
            ("JD", None),
        ],
    )
    def test_unknown(self, selector: str, nearest: str | None) -> None:
        with pytest.raises(UnknownSelectorError) as caught:
            matching_codes(selector)
        hint = f"did you mean `{nearest}`?" if nearest else "`placement-lint rule` lists the rules"
        assert str(caught.value) == f"unknown rule `{selector}`; {hint}"
        assert (caught.value.selector, caught.value.nearest) == (selector, nearest)

    @pytest.mark.parametrize(
        "settings",
        [
            {"select": ("JDP999",)},
            {"extend_select": ("JDP999",)},
            {"ignore": ("JDP999",)},
            {"extend_ignore": ("JDP999",)},
            {"per_file_ignores": {"elsewhere/*": ("JDP999",)}},
        ],
        ids=lambda settings: next(iter(settings)),
    )
    def test_unknown_wherever_it_stands(self, settings: dict[str, Any]) -> None:
        with pytest.raises(UnknownSelectorError, match="JDP999"):
            selected(**settings)


class TestPrecedence:
    def test_defaults(self) -> None:
        assert selected() == DEFAULT
        assert selected(select=()) == set()
        assert selected(select=("ALL",)) == EVERY

    def test_pedantic_rules_are_asked_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(all_rules()[0], "pedantic", True)
        _selected.cache_clear()
        code = all_rules()[0].code
        chosen = [selected(), selected(extend_select=(code,)), selected(select=("ALL",))]
        _selected.cache_clear()
        assert chosen == [DEFAULT - {code}, DEFAULT, EVERY]

    def test_select_and_extend_select(self) -> None:
        assert selected(select=("JDP101", "JDP2")) == {"JDP101", *MOVES}
        assert selected(select=("JDP101",), extend_select=("JDP2",)) == {"JDP101", *MOVES}
        assert selected(extend_select=("JDP2",)) == DEFAULT | MOVES

    def test_the_longer_one_wins(self) -> None:
        assert selected(select=("JDP2",), ignore=("JDP204",)) == MOVES - {"JDP204"}
        assert selected(select=("JDP204",), ignore=("JDP2",)) == {"JDP204"}
        assert selected(select=("ALL",), ignore=("JDP2",)) == EVERY - MOVES
        assert selected(select=("JDP2",), ignore=("ALL",)) == MOVES
        assert selected(select=("JDP",), ignore=("ALL",)) == EVERY
        assert selected(select=("JDP2", "JDP204"), ignore=("JDP20",)) >= {"JDP204"}
        assert "JDP201" not in selected(select=("JDP2", "JDP204"), ignore=("JDP20",))

    def test_where_both_are_equally_long_ignoring_wins(self) -> None:
        assert selected(select=("JDP2",), ignore=("JDP2",)) == set()
        assert selected(select=("ALL",), extend_ignore=("ALL",)) == set()
        assert selected(ignore=("ALL",)) == set()

    def test_a_name_is_as_precise_as_a_code(self) -> None:
        both = [("JDP204", "device-put-discarded"), ("device-put-discarded", "JDP204")]
        for chosen, ignored in both:
            assert selected(select=(chosen,), ignore=(ignored,)) == set()

    def test_ignore_and_extend_ignore(self) -> None:
        without = selected(ignore=("JDP101",), extend_ignore=("JDP204",))
        assert without == DEFAULT - {"JDP101", "JDP204"}


class TestPerFileIgnores:
    @pytest.fixture(autouse=True)
    def _in_tmp(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

    @pytest.mark.parametrize(
        ("pattern", "path", "applies"),
        [
            ("x.py", "a/b/x.py", True),
            ("x.py", "a/b/y.py", False),
            ("/x.py", "a/x.py", False),
            ("a", "a/b/x.py", True),
            ("a/", "a/b/x.py", True),
            ("x.py/", "a/x.py", False),
            ("a/*", "a/b/x.py", True),
            ("a/*.py", "a/b/x.py", False),
            ("a/**", "a/b/x.py", True),
            ("**/b/*.py", "a/b/x.py", True),
            ("*_test.py", "./a/x_test.py", True),
            ("!x.py", "x.py", False),
        ],
    )
    def test_globs(self, pattern: str, path: str, applies: bool) -> None:
        ignored = selected(path, per_file_ignores={pattern: ("JDP2",)})
        assert ignored == (DEFAULT - MOVES if applies else DEFAULT)

    def test_they_are_relative_to_the_root(self) -> None:
        top = Path.cwd()
        ignores = {"/x.py": ("JDP101",)}
        without = DEFAULT - {"JDP101"}
        assert selected("x.py", per_file_ignores=ignores) == without
        assert selected(str(top / "x.py"), per_file_ignores=ignores, root=top) == without
        assert selected("a/x.py", per_file_ignores=ignores, root=top / "a") == without
        assert selected("x.py", per_file_ignores=ignores, root=top / "a") == DEFAULT

    def test_outside_of_the_root_only_names_hold(self) -> None:
        ignores = {"x.py": ("JDP101",), "/*": ("JDP2",), "**/x.py": ("JDP301",)}
        here = Path.cwd() / "here"
        without = DEFAULT - {"JDP101"}
        assert selected("there/x.py", per_file_ignores=ignores, root=here) == without

    def test_they_add_up(self) -> None:
        ignores = {"*.py": ("JDP101",), "a": ("JDP204", "backend-probe-unguarded")}
        assert selected("b/x.py", per_file_ignores=ignores) == DEFAULT - {"JDP101"}
        without = DEFAULT - {"JDP101", "JDP204", "JDP302"}
        assert selected("a/x.py", per_file_ignores=ignores) == without

    def test_they_win_over_any_choice(self) -> None:
        ignores = {"x.py": ("JDP2",)}
        chosen = ("JDP204", "device-put-discarded")
        assert selected("x.py", select=chosen, per_file_ignores=ignores) == set()
        assert selected("x.py", select=chosen, per_file_ignores={"*": ("ALL",)}) == set()
