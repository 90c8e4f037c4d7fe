from __future__ import annotations

from pathlib import Path

import pytest

from placement_lint.config.rebase import alternatives, written_in

HERE = Path("/project/src")


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("a.py", "a.py"),
        ("./a.py", "/a.py"),
        ("!./a.py", "!/a.py"),
        ("/project/src/a/*.py", "/a/*.py"),
        ("!/project/src/a", "!/a"),
        ("/project/source/a.py", "/project/source/a.py"),
        ("/a.py", "/a.py"),
        ("../a.py", "../a.py"),
    ],
)
def test_paths_are_made_relative_to_the_folder(written: str, plain: str) -> None:
    given: dict[str, object] = {"exclude": (written,), "per_file_ignores": {written: ("JDP2",)}}
    assert written_in(HERE, given) == {"exclude": (plain,), "per_file_ignores": {plain: ("JDP2",)}}


def test_other_settings_are_left_alone() -> None:
    given: dict[str, object] = {"select": ("./a",), "baseline": "./b.json", "fix": True}
    assert written_in(HERE, given) == given


@pytest.mark.parametrize(
    ("glob", "globs"),
    [
        ("a.py", ["a.py"]),
        ("*.{py,pyi}", ["*.py", "*.pyi"]),
        ("{a,b}/{c,d}", ["a/c", "a/d", "b/c", "b/d"]),
        ("{a,{b,c}}.py", ["a.py", "b.py", "c.py"]),
        ("{a,b/c}/*.py", ["a/*.py", "b/c/*.py"]),
        ("a{,b}.py", ["a.py", "ab.py"]),
        ("{a}.py", ["{a}.py"]),
        ("{a.py", ["{a.py"]),
        (r"\{a,b}.py", [r"\{a,b}.py"]),
        ("{a,b}" * 30, ["{a,b}" * 30]),
    ],
)
def test_alternatives(glob: str, globs: list[str]) -> None:
    assert sorted(alternatives(glob)) == globs


def test_a_list_has_each_alternative_and_a_table_the_whole() -> None:
    given: dict[str, object] = {"exclude": ("{a,b}",), "per_file_ignores": {"!{a,b}": ("JDP2",)}}
    assert written_in(HERE, given) == {
        "exclude": ("a", "b"),
        "per_file_ignores": {"!{a,b}": ("JDP2",)},
    }
