from __future__ import annotations

import os
import socket
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from placement_lint.files.discovery import (
    Found,
    Passed,
    display_path,
    find_files,
    is_excluded,
    is_matched,
)


@dataclass(frozen=True)
class Filters:
    exclude: tuple[str, ...] = (".git", ".venv", "site-packages", "__pycache__")
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    respect_gitignore: bool = True
    root: Path | None = field(default=None)


@pytest.fixture(autouse=True)
def _in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def make(*paths: str) -> None:
    for path in paths:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).touch()


def ignore(path: str, *lines: str) -> None:
    make(path)
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def find(*paths: str, filters: Filters | None = None) -> Found:
    chosen = filters or Filters()
    return find_files(paths or (".",), lambda _: chosen)


def test_a_folder_is_walked_in_order() -> None:
    make("b.py", "a/z.pyi", "a/b/c.ipynb", "a.txt", "noext", "a/b.pyc", "c.PY")
    assert find().files == ("a/b/c.ipynb", "a/z.pyi", "b.py")


def test_paths_are_shown_as_given() -> None:
    make("a/x.py")
    top = Path.cwd()
    assert find("./a/x.py").files == ("a/x.py",)
    assert find("./a/").files == ("a/x.py",)
    assert find(f"{top}/a").files == (f"{top}/a/x.py",)
    os.chdir("a")
    assert find(".").files == ("x.py",)
    assert find("../a").files == ("../a/x.py",)


def test_display_path() -> None:
    shown = [display_path(path) for path in (".", "./x.py", "a//b", "../x", "/a/./b")]
    assert shown == [".", "x.py", "a/b", "../x", "/a/b"]


def test_a_file_twice_is_linted_once_whatever_the_order() -> None:
    make("a/x.py", "a/y.py")
    arguments = [".", "a", "a/x.py", "./a/x.py", str(Path("a/x.py").absolute())]
    found = find(*arguments)
    assert found.files == ("a/x.py", "a/y.py")
    assert find(*reversed(arguments)) == found


def test_a_named_file_is_linted_whatever_it_is_called() -> None:
    make("script", ".venv/x.py")
    ignore(".gitignore", "script")
    assert find("script", ".venv/x.py").files == (".venv/x.py", "script")


class TestExcludes:
    def test_defaults(self) -> None:
        make("x.py", ".venv/y.py", "a/__pycache__/z.py", ".git/hooks/w.py", "build/b.py")
        assert find().files == ("build/b.py", "x.py")

    def test_globs_are_relative_to_the_root(self) -> None:
        make("a/x.py", "a/gen/y.py", "gen/y.py", "a/z_pb2.py")
        filters = Filters(extend_exclude=("/gen", "*_pb2.py"))
        assert find(filters=filters).files == ("a/gen/y.py", "a/x.py")
        filters = Filters(extend_exclude=("/gen",), root=Path("a").absolute())
        assert find("a", filters=filters).files == ("a/x.py", "a/z_pb2.py")

    def test_from_inside(self, monkeypatch: pytest.MonkeyPatch) -> None:
        make("a/gen/y.py", "a/x.py")
        filters = Filters(extend_exclude=("a/gen",), root=Path.cwd())
        monkeypatch.chdir("a")
        assert find(filters=filters).files == ("x.py",)

    def test_a_named_folder_is_walked_though_it_is_excluded(self) -> None:
        make(".venv/lib/site-packages/p/x.py", ".venv/lib/site-packages/p/__pycache__/y.py")
        for folder in (".venv", ".venv/lib/site-packages", ".venv/lib/site-packages/p"):
            filters = Filters(exclude=(".venv", "__pycache__", "/.venv/lib/site-packages"))
            expected = () if folder == ".venv" else (".venv/lib/site-packages/p/x.py",)
            assert find(folder, filters=filters).files == expected

    def test_a_folder_outside_the_root(self) -> None:
        make("here/x.py", "there/.venv/y.py", "there/z.py", "there/gen/w.py")
        root = Path("here").absolute()
        filters = Filters(exclude=(".venv", "there/gen", "/*"), root=root)
        assert find("there", filters=filters).files == ("there/gen/w.py", "there/z.py")

    def test_force(self) -> None:
        make("x.py", ".venv/y.py", "a/gen.py")
        filters = Filters(extend_exclude=("gen.py",), force_exclude=True)
        found = find("x.py", ".venv/y.py", "a/gen.py", ".venv", filters=filters)
        assert found.files == ("x.py",)
        assert found.excluded == (".venv", ".venv/y.py", "a/gen.py")
        assert not found.excluded_only
        assert find("a/gen.py", ".venv", filters=filters).excluded_only
        make("empty/none.txt")
        assert not find("a/gen.py", "empty", filters=filters).excluded_only

    def test_is_excluded_needs_no_file(self) -> None:
        assert is_excluded("a/.venv/x.py", Filters())
        assert not is_excluded("a/x.py", Filters())
        assert is_excluded("../elsewhere/.venv/x.py", Filters())

    def test_is_matched(self) -> None:
        top = Path.cwd()
        assert is_matched("tests/unit/x.py", ("tests/",), None)
        assert is_matched("a/x.py", ("/x.py",), top / "a")
        assert not is_matched("a/x.py", ("/x.py",), None)
        assert not is_matched("a/x.py", ("*.py", "!x.py"), None)
        assert not is_matched("../x.py", ("/*",), top)

    def test_settings_of_the_folder_hold(self) -> None:
        make("a/gen.py", "b/gen.py")
        strict = Filters(extend_exclude=("gen.py",))
        found = find_files(["."], lambda folder: strict if folder == "a" else Filters())
        assert found.files == ("b/gen.py",)


class TestGitignore:
    def test_every_level(self) -> None:
        make("x.py", "gen.py", "a/gen.py", "a/y.py", "a/b/y.py", "a/b/keep.py", "out/z.py")
        ignore(".gitignore", "gen.py", "out/")
        ignore("a/.gitignore", "y.py", "!gen.py")
        ignore("a/b/.gitignore", "!y.py")
        assert find().files == ("a/b/keep.py", "a/b/y.py", "a/gen.py", "x.py")

    def test_not_respected(self) -> None:
        make("x.py")
        ignore(".gitignore", "*")
        assert find().files == ()
        assert find(filters=Filters(respect_gitignore=False)).files == ("x.py",)

    def test_the_repository_above_and_its_own_excludes(self) -> None:
        make("src/a/x.py", "src/a/gen.py", "src/a/local.py", "src/a/deep.py", "src/a/kept.py")
        ignore(".gitignore", "gen.py", "kept.py")
        ignore(".git/info/exclude", "local.py")
        ignore("src/.gitignore", "/a/deep.py", "!kept.py")
        assert find("src/a").files == ("src/a/kept.py", "src/a/x.py")

    def test_without_a_repository_nothing_above_holds(self) -> None:
        make("a/x.py")
        ignore(".gitignore", "x.py")
        assert find("a").files == ("a/x.py",)

    def test_a_repository_inside_starts_anew(self) -> None:
        make("x.py", "inner/x.py", "inner/y.py", "sub/x.py")
        ignore(".gitignore", "x.py")
        ignore("inner/.git/info/exclude", "y.py")
        make("sub/.git")
        assert find().files == ("inner/x.py", "sub/x.py")

    def test_a_named_folder_is_walked_though_it_is_ignored(self) -> None:
        make("out/x.py", "out/gen.py", "out/in/y.py")
        Path(".git").mkdir()
        ignore(".gitignore", "out", "gen.py", "in")
        assert find("out").files == ("out/x.py",)
        assert find("out/in").files == ("out/in/y.py",)
        ignore("out/.gitignore", "*")
        assert find("out/in").files == ("out/in/y.py",)

    def test_one_that_is_no_text_or_a_folder(self) -> None:
        make("x.py", "a/y.py")
        Path("a/.gitignore").mkdir()
        Path(".gitignore").write_bytes(b"\xef\xbb\xbf\xff\xfe\r\nx.py\r\n")
        assert find().files == ("a/y.py",)

    def test_the_same_as_git(self) -> None:
        make("a/x.py", "a/b/y.py", "b/x.py", "c/d/x.py", "c/x.py", "c/d/e/z.py")
        subprocess.run(["git", "init", "-q"], check=True)
        ignore(".gitignore", "x.py", "!b/x.py", "/c/*", "!/c/d", "**/e")
        listing = subprocess.run(
            ["git", "ls-files", "-o", "--exclude-standard", "*.py"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert find().files == tuple(listing.stdout.split()) == ("a/b/y.py", "b/x.py")


class TestLinks:
    def test_links_to_folders_are_not_followed_but_a_named_one_is(self) -> None:
        make("real/x.py")
        Path("link").symlink_to("real")
        Path("real/loop").symlink_to("..")
        reason = "a link to a directory is not followed"
        found = find()
        assert found.files == ("real/x.py",)
        assert found.skipped == (Passed("link", reason), Passed("real/loop", reason))
        assert find("link").files == ("link/x.py",)
        assert find("link", "real").files == ("link/x.py",)

    def test_links_to_files_are_followed_once_under_the_true_name(self) -> None:
        make("long_name.py", "elsewhere.txt")
        Path("l.py").symlink_to("long_name.py")
        Path("m.py").symlink_to("elsewhere.txt")
        assert find().files == ("long_name.py", "m.py")
        assert find("l.py").files == ("l.py",)

    def test_a_link_to_nothing(self) -> None:
        Path("x.py").symlink_to("nosuch")
        Path("y.py").symlink_to("y.py")
        found = find()
        assert found.files == ()
        assert [skip.path for skip in found.skipped] == ["x.py", "y.py"]
        assert found.skipped[0].reason == "a link to nothing"
        assert find("x.py").failed == (Passed("x.py", "No such file or directory"),)


class TestHostile:
    def test_a_missing_path_does_not_stop_the_rest(self) -> None:
        make("x.py")
        found = find("nosuch", "x.py", "x.py/inside", "a\0b")
        assert found.files == ("x.py",)
        assert [failed.path for failed in found.failed] == ["a\0b", "nosuch", "x.py/inside"]

    def test_what_is_no_file(self) -> None:
        os.mkfifo("pipe.py")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket.py")
            found = find()
        assert found.files == ()
        assert found.skipped == (
            Passed("pipe.py", "not a regular file"),
            Passed("socket.py", "not a regular file"),
        )
        assert find("pipe.py").failed == (Passed("pipe.py", "not a regular file"),)

    def test_an_unreadable_folder(self, monkeypatch: pytest.MonkeyPatch) -> None:
        make("a/x.py", "b/y.py")
        scan = os.scandir

        def refuse(path: str) -> object:
            if path.endswith("a"):
                raise PermissionError(13, "Permission denied")
            return scan(path)

        monkeypatch.setattr(os, "scandir", refuse)
        found = find()
        assert found.files == ("b/y.py",)
        assert found.failed == (Passed("a", "Permission denied"),)

    def test_names_that_are_no_text(self) -> None:
        make("a\nb.py", "tab\t.py")
        with open(b"\xff.py", "wb"):  # noqa: PTH123 - a path of bytes
            pass
        assert find().files == ("a\nb.py", "tab\t.py", "\udcff.py")
        assert find("\udcff.py").files == ("\udcff.py",)

    def test_very_deep_folders(self) -> None:
        top = Path.cwd()
        for _ in range(300):
            Path("d" * 20).mkdir()
            os.chdir("d" * 20)
        Path("x.py").touch()
        os.chdir(top)
        found = find()
        assert found.files == ()
        (failed,) = found.failed
        assert "too long" in failed.reason

    def test_many_levels(self) -> None:
        path = "/".join(["d"] * 900)
        Path(path).mkdir(parents=True)
        Path(path, "x.py").touch()
        assert find().files == (f"{path}/x.py",)


def test_only_some_suffixes() -> None:
    make("x.py", "x.ipynb")
    assert find_files(["."], lambda _: Filters(), suffixes=(".ipynb",)).files == ("x.ipynb",)
