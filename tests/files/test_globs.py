from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from placement_lint.config.settings import DEFAULT_EXCLUDES
from placement_lint.files.globs import Globs, parse

if TYPE_CHECKING:
    from pathlib import Path


def verdict(lines: list[str], path: str) -> bool | None:
    parts = tuple(path.rstrip("/").split("/"))
    return Globs.parse(lines).verdict(parts, is_folder=path.endswith("/"))


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("a", ["a", "x/a", "a/"], ["b", "ab", "a/b"]),
        ("a/", ["a/", "x/a/"], ["a"]),
        ("/a", ["a", "a/"], ["x/a"]),
        ("x/a", ["x/a"], ["y/x/a", "x/a/b"]),
        ("*.py", ["a.py", "x/.py"], ["a.pyi"]),
        ("x/*", ["x/a", "x/b/"], ["x", "x/a/b"]),
        ("**/a", ["a", "x/a", "x/y/a"], ["a/b"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "a/"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["b", "a/x"]),
        ("a?c", ["abc"], ["ac", "a/c"]),
        ("a[b-d]e", ["abe", "ade"], ["aee", "ae"]),
        ("a[!b]c", ["aac"], ["abc"]),
        ("[]x]", ["]", "x"], ["["]),
        ("[z-a]", ["z"], ["a", "y"]),
        ("[!z-a]", ["a", "y"], ["z", "aa"]),
        ("[[:alpha:]-]", ["a", "-"], ["1", "aa"]),
        ("a\\b\\*", ["ab*"], ["abc"]),
        ("***/a", ["a", "x/y/a"], ["a/b"]),
        ("a[/]b", [], ["a/b", "a[/]b"]),
        ("\\#a", ["#a"], ["\\#a"]),
        ("\\!a", ["!a"], ["a"]),
        ("a\\ ", ["a "], ["a"]),
        ("a  ", ["a"], ["a  "]),
        ("f*o*o", ["foo", "fxoyo"], ["fo", "foox"]),
        ("a/**/", ["a/b/", "a/b/c/"], ["a/", "a/b", "a/b/c"]),
        ("a b/", ["a b/", "x/a b/"], ["a b", "a"]),
        ("**", ["a", "a/", "a/b"], []),
        ("/**", ["a", "a/", "a/b"], []),
    ],
)
def test_syntax(glob: str, yes: list[str], no: list[str]) -> None:
    assert [verdict([glob], path) for path in yes] == [True] * len(yes)
    assert [verdict([glob], path) for path in no] == [None] * len(no)


@pytest.mark.parametrize(
    "line", ["", "   ", "# a", "/", "!", "//", "!/", "a\\", "[]", "a//b", "[[:x:]]"]
)
def test_no_glob(line: str) -> None:
    assert parse(line) is None


STARS = "*a" * 30 + "b"


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        (STARS, "a" * 250),
        (STARS.replace("a", "[a]"), "a" * 250),
        (STARS.replace("a", "?"), "a" * 250),
        ("*" * 20_000 + "b", "a" * 250),
        ("*a" * 100_000 + "b", "a" * 250),
        ("x/" + STARS, "x/" + "a" * 250),
        ("**/a/" * 30 + "b", "a/" * 250 + "c"),
        ("**/*a/" * 30 + "b", "a/" * 250 + "c"),
        ("**/**/" * 10_000 + "b", "a/" * 250 + "c"),
        ("[" + "a" * 200_000, "a"),
        ("[[:" * 100_000 + "]", "a"),
        ("[" * 200_000, "a"),
        ("\\" * 200_000, "a"),
        ("?" * 200_000, "a" * 250),
    ],
    ids=lambda text: text[:12],
)
def test_no_glob_takes_long(glob: str, path: str) -> None:
    started = time.process_time()
    assert verdict([glob], path) is None
    # Each glob tried for every name would take 400 million attempts.
    assert time.process_time() - started < 20


def test_stars_match_as_they_should() -> None:
    for glob, name in (("*a*b", "xaayb"), ("*ab*ab", "abab"), ("a*b*c", "abbc"), ("*?*", "a")):
        assert verdict([glob], name) is True, glob
    for glob, name in (("*a*b", "ba"), ("*ab*ab", "abxb"), ("ab*ba", "aba"), ("*?*?", "a")):
        assert verdict([glob], name) is None, glob


def test_many_globs_are_not_tried_for_every_name() -> None:
    lines = [f"{number}*" for number in range(10_000)]
    lines += [f"*{number}.py" for number in range(10_000)]
    lines += ["a*", "!*.py", "*7.py"]
    globs = Globs.parse(lines)
    started = time.process_time()
    for number in range(500):
        assert globs.verdict((f"x{number}7.py",), is_folder=False) is True
        assert globs.verdict((f"a{number}8.py",), is_folder=False) is False
        assert globs.verdict((f"a{number}",), is_folder=False) is True
        assert globs.verdict((f"x{number}",), is_folder=False) is None
    assert time.process_time() - started < 1


def test_the_last_one_decides() -> None:
    assert verdict(["*.py", "!a.py"], "a.py") is False
    assert verdict(["!a.py", "*.py"], "a.py") is True
    assert verdict(["*.py", "!a.py"], "a.txt") is None


def test_covers_what_is_inside() -> None:
    globs = Globs.parse(["a/", "*.pyi"])
    assert globs.covers(("a", "b", "c.py"), is_folder=False)
    assert globs.covers(("b", "c.pyi"), is_folder=False)
    assert not globs.covers(("b", "a"), is_folder=False)


def test_setting_aside_what_ignores_a_folder() -> None:
    globs = Globs.parse(["a", "*.py", "/x/", "!b"]).without_those_that_match(("x", "a"))
    assert globs == Globs.parse(["*.py", "!b"])


@pytest.mark.parametrize("lines", [["*", "!*/", "!*.py"], ["a/**", "*.*", "!a/**/", "!*.py"]])
def test_all_but_some(lines: list[str]) -> None:
    assert [verdict(lines, path) for path in ("a/b/", "a/b/x.py")] == [False, False]
    assert [verdict(lines, path) for path in ("a/x.txt", "a/b/x.txt")] == [True, True]


def test_what_a_folder_decides_is_not_decided_for_what_is_in_it() -> None:
    assert verdict(["*.py", "!src/"], "src/") is False
    assert verdict(["*.py", "!src/"], "src/x.py") is True


def test_names_only() -> None:
    lines = ["a", "b/", "*.py", "!c"]
    assert Globs.parse([*lines, "/d", "e/f", "**/g"]).names_only() == Globs.parse(lines)


@pytest.mark.parametrize(
    ("lines", "imported"),
    [
        (DEFAULT_EXCLUDES, False),
        (("a", "b/", "a b.c", "", "# d", "-+,@~{e}"), False),
        (("a", "*.py"), True),
        (("/a",), True),
        (("!a",), True),
    ],
)
def test_plain_names_need_no_library(lines: tuple[str, ...], imported: bool) -> None:
    code = (
        "import sys; from placement_lint.files.globs import Globs;"
        f"Globs.parse({lines!r}).covers(('x', 'a'), is_folder=False);"
        "print('placement_lint.files.wildmatch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == f"{imported}\n"


NAMES = ["a", "b", "foo", "*.py", "x.py", "*", "**", "f*", "?", "[ab]", "[!a]", "[^x]*", "[a-b]"]
NAMES += ["\\a", "x.p\\y", "*o*", "f*o", "*.p*", "[]a]", "[a", "x.py ", "#a", "[a-]", "[--z]"]
NAMES += ["\\#a", "\\!a", "*x*.*y", "[z-a]", "x[.]py", "x.py\\", "a//x.py"]
NAMES += ["[[:alpha:]]", "[[:punct:]x]*", "[[:nothing:]]", "[[:alpha", "[a\\]]", "[!]a]", "[]-a]"]
NAMES += [
    "***",
    "x.py\t",
    "x.py ",
    "a\\ ",
    "*o*o*",
    "f?o",
    "[[]a]",
    "[a-]*",
    "[\\a-\\b]",
    "***/x.py",
]
NAMES += ["**/x.py", "a/**", "a/**/x.py", "foo/**/foo", "**/**/x.py", "foo/*"]


def random_glob(chance: random.Random) -> str:
    glob = chance.choice(NAMES)
    if chance.random() < 0.3:
        glob += "/" + chance.choice(["a", "b", "*.py", "x.py", "foo", "*"])
    if chance.random() < 0.2:
        glob = "/" + glob
    if chance.random() < 0.2:
        glob += "/"
    return "!" + glob if chance.random() < 0.3 else glob


def walk(folder: Path, globs: Globs) -> set[str]:
    found = set()
    pending: list[tuple[str, ...]] = [()]
    while pending:
        parts = pending.pop()
        entries = [*os.scandir(folder.joinpath(*parts))]
        suspects = globs.suspects({entry.name for entry in entries})
        for entry in entries:
            inside = (*parts, entry.name)
            verdict = globs.verdict(inside, is_folder=entry.is_dir())
            assert verdict is None or entry.name in suspects
            if entry.name == ".git" or verdict:
                continue
            if entry.is_dir():
                pending.append(inside)
            else:
                found.add("/".join(inside))
    return found


@pytest.mark.skipif(shutil.which("git") is None, reason="compares with git")
@pytest.mark.parametrize("seed", range(4))
def test_the_same_files_as_git(seed: int, tmp_path: Path) -> None:
    r"""Random globs over a small tree: what is left must be what git lists as untracked.

    `a**/b` is left out: git skips the literal `a` before it matches, takes the stars for a leading
    `**/` and lets them cross slashes, against its own documentation; for us they are `*`.
    """
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for folder in ["", "a", "b", "foo", "a/b", "a/foo", "foo/a", "a/b/foo"]:
        (tmp_path / folder).mkdir(exist_ok=True)
        for name in ["x.py", "y.py", "k.txt"]:
            (tmp_path / folder / name).touch()
    chance = random.Random(seed)  # noqa: S311 - nothing secret
    compared = 0
    for _ in range(60):
        lines = [random_glob(chance) for _ in range(chance.randint(1, 4))]
        (tmp_path / ".git/info/exclude").write_text("\n".join(lines) + "\n", encoding="utf-8")
        listing = subprocess.run(
            ["git", "-c", "core.excludesFile=", "ls-files", "-o", "--exclude-standard"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert walk(tmp_path, Globs.parse(lines)) == set(listing.stdout.split()), lines
        compared += bool(listing.stdout)
    assert compared > 20
